"""Which stream and feed of which channel each source of packets is."""

from collections.abc import Sequence

import numpy as np

from pregao.feeds.binary.streams import Feed, Stream, StreamId
from pregao.model.packets import PacketBatch, UInt32s

Feeds = np.ndarray[tuple[int], np.dtype[np.uint8]]


class LineTable:
    """Sources are the indexes of `lines`; the feed of an unknown one is taken for A."""

    def __init__(self, lines: Sequence[StreamId]) -> None:
        self._lines = list(lines)
        self.feeds: Feeds = np.array([int(line.feed or Feed.A) for line in lines] or [0], np.uint8)
        channels = np.array([-1 if line.channel is None else line.channel for line in lines] or [-1])
        streams = np.array([int(line.stream) for line in lines] or [0])
        self._incremental = {
            channel: (channels == channel) & (streams == Stream.INCREMENTAL) for channel in self.channels
        }
        self._recovery = {
            channel: (channels == channel)
            & ((streams == Stream.DEFINITION) | (streams == Stream.SNAPSHOT))
            for channel in self.channels
        }

    @property
    def channels(self) -> list[int]:
        return sorted({line.channel for line in self._lines if line.channel is not None})

    def line(self, source: int) -> tuple[Stream, Feed]:
        return self._lines[source].stream, self._lines[source].feed or Feed.A

    def split(self, batch: PacketBatch, channel: int) -> tuple[UInt32s, UInt32s]:
        """Rows of a batch: of the incremental stream of a channel, and of its recovery streams."""
        sources = batch.source[: batch.count]
        incremental, recovery = self._incremental[channel][sources], self._recovery[channel][sources]
        return np.flatnonzero(incremental).astype(np.uint32), np.flatnonzero(recovery).astype(np.uint32)
