"""Where a market's packets come from: captures that are played, or sockets."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pregao.feeds.port import Came, Header, MulticastSystem
from pregao.feeds.wire import WiredSystem, open_wire
from pregao.handler.replays import Asker
from pregao.market.live import Reception
from pregao.model.packets import Int64s, PacketBatch, Units
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import Event


class PacketSource(Protocol):
    """`take` waits for `timeout_s` at most, and not past `due_ns`: then somebody's time has come. None
    says that nothing came. A batch is valid until the next is asked for."""

    speed: float | None  # None: live

    @property
    def replayer(self) -> Asker | None:
        """Who can be asked for units that no feed brought."""

    @property
    def lines(self) -> Sequence[StreamId]:
        """What the sources of batches are; there may be more later, never others."""

    @property
    def now_ns(self) -> int:
        """The time that the last `take` brought: packets are not older, nor is anything waiting."""

    @property
    def ended(self) -> bool: ...

    @property
    def findings(self) -> int:
        """How many things were wrong with the captures."""

    def start(self) -> None:
        """Let packets come. Called once, when everything is ready for them."""

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None: ...

    def follow(self, events: Sequence[Event]) -> None:
        """Join and leave what a channel asks for."""

    def reception(self) -> Reception | None:
        """How receiving goes; None where nothing is received."""

    def close(self) -> None: ...


# A batch cut before each unit that is not a duplicate, so that a book can be looked at as it was after every
# one of them. Repetitions, heartbeats and recovery streams go with the packet before them, but no further
# than a tenth of a second: what they bring about has a time, too.


_LONGEST_NS: Final = 100_000_000


def feeds_of(lines: Sequence[StreamId]) -> Int64s:
    """The feed of each source that carries an incremental stream; 0 of the others."""
    feeds = [int(line.feed) or 1 if line.stream is Stream.INCREMENTAL else 0 for line in lines]
    return np.array(feeds or [0], np.int64)


class Slicer:
    """Remembers the newest unit of each channel."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}

    def cut(self, batch: PacketBatch, units: Units, feed_of_source: Int64s) -> Iterator[PacketBatch]:
        steps = np.flatnonzero(np.diff(batch.arrival_ns[: batch.count] // _LONGEST_NS)) + 1
        starts = sorted({0, *self._new_rows(batch, units, feed_of_source), *steps.tolist(), batch.count})
        for start, end in pairwise(starts):
            if end > start:
                yield PacketBatch(
                    batch.buffer, end - start, batch.offset[start:end], batch.length[start:end],
                    batch.source[start:end], batch.arrival_ns[start:end],
                )  # fmt: skip

    def _new_rows(self, batch: PacketBatch, units: Units, feed_of_source: Int64s) -> list[int]:
        count = units.count
        rows, numbers = units.row[:count], units.number[:count]
        numbered = (numbers > 0) & (feed_of_source[batch.source[rows]] > 0)
        channels, new = units.channel[:count], []
        for channel in np.unique(channels[numbered]).tolist():
            mine = numbered & (channels == channel)
            # Epoch above number: a later unit is greater, but for a rollover, where a slice is longer.
            places = units.epoch[:count][mine] << 32 | numbers[mine]
            before = np.maximum.accumulate(np.concatenate(([self._newest.get(channel, -1)], places)))
            new.append(rows[mine][places > before[:-1]])
            self._newest[channel] = int(before[-1])
        return np.sort(np.concatenate(new)).tolist() if new else []


class ChannelUnits:
    """The units of batches, without handling them. Where packets do not say their channel, those of each
    channel are read by themselves."""

    def __init__(self, system: MulticastSystem) -> None:
        self._headers, self._units = system.headers(), Units(1)
        # Asked once: to hold a class to a protocol takes as long as handling a batch.
        self._wired_system = system if isinstance(system, WiredSystem) else None
        self._wired: dict[int, Header] = {}
        self._sources: dict[int, NDArray[np.bool_]] = {}  # of the incremental stream of each channel
        self._feeds: NDArray[np.uint8] = np.zeros(1, np.uint8)

    def set_lines(self, lines: Sequence[StreamId]) -> None:
        if self._wired_system is None:
            return
        self._feeds = np.array([int(line.feed or Feed.A) for line in lines] or [0], np.uint8)
        for channel in {line.channel for line in lines if line.channel is not None}:
            mine = [line.channel == channel and line.stream is Stream.INCREMENTAL for line in lines]
            self._sources[channel] = np.array(mine, np.bool_)
            if channel not in self._wired:
                self._wired[channel] = open_wire(self._wired_system, channel).headers(Stream.INCREMENTAL)

    def read(self, batch: PacketBatch) -> Units:
        base, offsets, lengths, sources, arrivals = batch.addresses
        if self._wired_system is None:
            return self._headers.read(base, offsets, lengths, batch.count)
        came = Came(sources, arrivals, self._feeds.ctypes.data)
        parts: list[list[NDArray[Any]]] = []
        for channel, mine in self._sources.items():
            rows = np.flatnonzero(mine[batch.source[: batch.count]]).astype(np.uint32)
            if len(rows):
                headers = self._wired[channel]
                units = headers.read(base, offsets, lengths, len(rows), rows.ctypes.data, came)
                headers.take_faults()  # told by whoever handles them
                parts.append([column[: units.count].copy() for column in units.columns])
        return self._joined(parts)

    def _joined(self, parts: list[list[NDArray[Any]]]) -> Units:
        """In the order of packets."""
        units = self._units
        units.count = sum(len(part[0]) for part in parts)
        if units.count > units.room:
            units.make_room(2 * units.count)
        if parts:
            order = np.argsort(np.concatenate([part[0] for part in parts]), kind="stable")
            for target, pieces in zip(units.columns, zip(*parts, strict=True), strict=True):
                target[: units.count] = np.concatenate(pieces)[order]
        return units
