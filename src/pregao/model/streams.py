"""Streams of multicast channels, the feeds that carry them, and where they are sent."""

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple


class Stream(IntEnum):
    """The three streams of a channel (6.1)."""

    UNKNOWN = 0
    INCREMENTAL = 1
    DEFINITION = 2
    SNAPSHOT = 3


class Feed(IntEnum):
    """A has all streams, B only the incremental one; C is sent by the contingency site (6.1)."""

    UNKNOWN = 0
    A = 1
    B = 2
    C = 3


class StreamId(NamedTuple):
    """A stream of a channel on a feed; `channel` is None where it is not known."""

    channel: int | None
    stream: Stream
    feed: Feed


class Destination(NamedTuple):
    """Where packets are sent to; lower ones come first."""

    ip_version: int
    address: int
    port: int

    def __str__(self) -> str:
        shown = IPv4Address(self.address) if self.ip_version == 4 else IPv6Address(self.address)
        return f"{shown} port {self.port}"
