"""Streams of multicast channels, the feeds that carry them, and where they are sent."""

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

MOST_CHANNEL: Final = 255  # B3 numbers the channels of its multicast systems up to here
_PORT_BITS: Final = 16
_GROUP_MASK: Final = (1 << 46) - 1  # of IPv6: what tells groups apart, so that a flow has 64 bits


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

    @property
    def flow(self) -> int:
        """The destination as one number, as kernels tell flows apart: of IPv6 below zero, with what tells
        groups apart."""
        if self.ip_version == 4:
            return self.address << _PORT_BITS | self.port
        return -((self.address & _GROUP_MASK) << _PORT_BITS | self.port)

    @classmethod
    def of_flow(cls, flow: int) -> "Destination":
        """Of IPv6 without the first bits of its address."""
        number = abs(flow)
        return cls(4 if flow >= 0 else 6, number >> _PORT_BITS, number & ((1 << _PORT_BITS) - 1))
