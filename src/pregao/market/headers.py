"""The headers of the packets of a batch, by columns (6.5.5.1)."""

from typing import Final

import numpy as np

from pregao.feeds.binary.packets import PacketHeader
from pregao.model.packets import Int64s, PacketBatch
from pregao.model.streams import Stream, StreamId

_EIGHT: Final = np.arange(8)
_MEANS_NOTHING: Final = 0xFF00  # the reserved byte


class Headers:
    """Of the packets of incremental streams that have a number; `rows` are their rows in the batch."""

    def __init__(self, batch: PacketBatch, feed_of_source: Int64s) -> None:
        count = batch.count
        sources = batch.source[:count]
        wanted = (feed_of_source[sources] > 0) & (batch.length[:count] >= PacketHeader.SIZE)
        rows = np.flatnonzero(wanted)
        words = _first_words(batch, rows) & ~_MEANS_NOTHING
        numbered = words >> 32 != 0
        self.rows, self.words = rows[numbered], words[numbered]  # channel, version, number


def feeds_of(lines: list[StreamId]) -> Int64s:
    """The feed of each source that carries an incremental stream; 0 of the others."""
    feeds = [int(line.feed) or 1 if line.stream is Stream.INCREMENTAL else 0 for line in lines]
    return np.array(feeds or [0], np.int64)


def _first_words(batch: PacketBatch, rows: Int64s) -> Int64s:
    if not len(rows):
        return np.zeros(0, np.int64)
    places = batch.offset[rows][:, None] + _EIGHT
    words: Int64s = batch.buffer[places].view("<i8")[:, 0]
    return words
