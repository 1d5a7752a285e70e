"""How the bytes of one channel are read: what its streams must know of each other is kept in one place.

In some systems they need not: `PlainWire` is theirs. In others a message says neither its channel nor its
sequence, or a snapshot tells how the incremental stream is to be read: they have a `wire` of their own.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pregao.feeds.port import Header, JoinedPacket, MulticastSystem, NewsDesk, UnitPart, UnitReader
from pregao.model.streams import Stream


class ChannelWire(Protocol):
    def headers(self, stream: Stream) -> Header:
        """Of one stream, over its feeds."""

    def reader(self, stream: Stream) -> UnitReader: ...

    def news_desk(self) -> NewsDesk: ...

    def epoch_at(self, sent_ns: int) -> int | None:
        """The epoch of the incremental stream at a time, where snapshots do not tell whose number they mean;
        None: nobody knows."""

    def book_depth(self) -> int | None:
        """How many price levels a side the channel tells of its books; None: it tells orders, or nobody has
        said yet."""

    def learned(self) -> bytes:
        """What its readers have learned that others of the channel must know; empty: nothing."""

    def learn(self, learned: bytes) -> None:
        """What another has learned, in whichever process."""


@runtime_checkable
class WiredSystem(Protocol):
    def wire(self, channel: int) -> ChannelWire: ...


@runtime_checkable
class JoinsParts(Protocol):
    """A system whose units may be in several packets."""

    def join_parts(self, epoch: int, parts: Sequence[UnitPart]) -> JoinedPacket:
        """All parts of one unit, in order; `epoch`: as its reader is to call its sequence."""


class PlainWire:
    """Of a system whose streams need not know of each other."""

    def __init__(self, system: MulticastSystem, channel: int) -> None:
        self._system, self._channel = system, channel

    def headers(self, stream: Stream) -> Header:
        return self._system.headers()

    def reader(self, stream: Stream) -> UnitReader:
        return self._system.reader(self._channel)

    def news_desk(self) -> NewsDesk:
        return self._system.news_desk(self._channel)

    def epoch_at(self, sent_ns: int) -> int | None:
        return None

    def book_depth(self) -> int | None:
        return None

    def learned(self) -> bytes:
        return b""

    def learn(self, learned: bytes) -> None:
        """Nothing need be known."""


def open_wire(system: MulticastSystem, channel: int) -> ChannelWire:
    return system.wire(channel) if isinstance(system, WiredSystem) else PlainWire(system, channel)
