"""A batch cut before each packet that is not a duplicate, so that a book can be looked at as it was after
every one of them. Repetitions, heartbeats and recovery streams go with the packet before them, but no further
than a tenth of a second: what they bring about has a time, too."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from pregao.market.headers import Headers
from pregao.model.packets import PacketBatch

_CHANNELS: Final = 256
_LONGEST_NS: Final = 100_000_000


class Slicer:
    """Remembers the newest packet of each channel."""

    def __init__(self) -> None:
        self._newest = np.full(_CHANNELS, -1, np.int64)

    def cut(self, batch: PacketBatch, headers: Headers) -> Iterator[PacketBatch]:
        steps = np.flatnonzero(np.diff(batch.arrival_ns[: batch.count] // _LONGEST_NS)) + 1
        starts = sorted({0, *self._new_rows(headers), *steps.tolist(), batch.count})
        for start, end in pairwise(starts):
            if end > start:
                yield PacketBatch(
                    batch.buffer, end - start, batch.offset[start:end], batch.length[start:end],
                    batch.source[start:end], batch.arrival_ns[start:end],
                )  # fmt: skip

    def _new_rows(self, headers: Headers) -> list[int]:
        new = []
        for channel in np.unique(headers.words & 0xFF).tolist():
            mine = headers.words & 0xFF == channel
            words = headers.words[mine]
            # Version above number: a later packet is greater, but for a rollover, where a slice is longer.
            places = (words >> 16 & 0xFFFF) << 32 | (words >> 32 & 0xFFFFFFFF)
            before = np.maximum.accumulate(np.concatenate(([self._newest[channel]], places)))
            new.append(headers.rows[mine][places > before[:-1]])
            self._newest[channel] = before[-1]
        return np.sort(np.concatenate(new)).tolist() if new else []
