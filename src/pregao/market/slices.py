"""A batch cut before each unit that is not a duplicate, so that a book can be looked at as it was after every
one of them. Repetitions, heartbeats and recovery streams go with the packet before them, but no further than
a tenth of a second: what they bring about has a time, too."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from pregao.model.packets import Int64s, PacketBatch
from pregao.model.streams import Stream, StreamId
from pregao.model.units import Units

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
