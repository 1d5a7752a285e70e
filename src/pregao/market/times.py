"""How long packets are on their way, and which of two feeds is earlier. The last few thousand are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pregao.market.kernels import (
    DELAY_RING,
    KEPT,
    LEAD_RING,
    NO_RING,
    NO_SIDE,
    SIDE,
    SIDE_A,
    SIDE_B,
    SLOTS,
    SOURCE_SIZE,
    note_times,
)
from pregao.model.packets import Int64s, PacketBatch, Units
from pregao.model.streams import Feed, Stream, StreamId

_SIDES: Final = {Feed.A: SIDE_A, Feed.B: SIDE_B}
_LEAD: Final = 0  # in place of a feed: the ring of a channel's leads


@dataclass(frozen=True, slots=True)
class Spread:
    """Of some durations, in nanoseconds."""

    count: int
    p50: int
    p99: int
    greatest: int


@dataclass(frozen=True, slots=True)
class Race:
    """A against B: how much later B is (negative: A is later), and how often A was first."""

    lead: Spread
    a_first: float


class FeedTimes:
    """Over all channels. Sources are the indexes of `lines`."""

    def __init__(self, lines: Sequence[StreamId] = ()) -> None:
        self._ring_of: dict[tuple[int, int], int] = {}  # of channel and feed
        self._rings = np.zeros((0, KEPT), np.int64)
        self._counts: Int64s = np.zeros(0, np.int64)
        self._remembered = np.zeros((2, SLOTS, 2), np.int64)
        self.set_lines(lines)

    def set_lines(self, lines: Sequence[StreamId]) -> None:
        """There may be more of them as captures are read; what was counted stays."""
        self._sources = np.full((max(len(lines), 1), SOURCE_SIZE // 8), NO_RING, np.int64)
        for row, line in zip(self._sources, lines, strict=False):
            if line.stream is Stream.INCREMENTAL and line.channel is not None:
                feed = line.feed or Feed.A
                row[DELAY_RING // 8] = self._ring(line.channel, feed)
                row[LEAD_RING // 8] = self._ring(line.channel, _LEAD)
                row[SIDE // 8] = _SIDES.get(feed, NO_SIDE)
        missing = len(self._ring_of) - len(self._counts)
        if missing:
            self._rings = np.concatenate((self._rings, np.zeros((missing, KEPT), np.int64)))
            self._counts = np.concatenate((self._counts, np.zeros(missing, np.int64)))
        # Asking an array for its address takes longer than noting a packet.
        arrays = (self._sources, self._rings, self._counts, self._remembered)
        self._addresses = tuple(array.ctypes.data for array in arrays)

    def take(self, batch: PacketBatch, units: Units) -> None:
        _, _, _, sources, arrivals = batch.addresses
        note_times(*self._addresses, *units.addresses, sources, arrivals, units.count)

    def delay(self, channel: int, feed: int) -> Spread | None:
        """From the sending time that a packet tells to its arrival: clocks have to agree."""
        return self._spread(channel, feed)

    def race(self, channel: int) -> Race | None:
        spread = self._spread(channel, _LEAD)
        return None if spread is None else Race(spread, float((self._kept(channel, _LEAD) > 0).mean()))

    def _ring(self, channel: int, feed: int) -> int:
        return self._ring_of.setdefault((channel, feed), len(self._ring_of))

    def _kept(self, channel: int, feed: int) -> Int64s:
        ring = self._ring_of.get((channel, feed))
        count = 0 if ring is None else min(int(self._counts[ring]), KEPT)
        kept: Int64s = self._rings[ring or 0, :count] if count else np.zeros(0, np.int64)
        return kept

    def _spread(self, channel: int, feed: int) -> Spread | None:
        kept = self._kept(channel, feed)
        if not len(kept):
            return None
        p50, p99 = np.percentile(kept, (50, 99))
        count = int(self._counts[self._ring_of[channel, feed]])
        return Spread(count, int(p50), int(p99), int(kept.max()))
