"""Batches of packets in, frames of rotated files out. No sockets: tests give it batches and times.

recorder = Recorder([subscription.id …], endpoints, settings)
recorder.take(batch, now_ns)
recorder.tick(now_ns)              # now and then, also when nothing comes
recorder.close(now_ns)             # everything flushed, every file named
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from pregao.captures.recording.settings import RecordSettings
from pregao.captures.recording.streams import FileCounts, StreamFiles
from pregao.codecs.pcap.framing import HEAD_SIZE, Endpoints, RecordBuffers
from pregao.io.seek_table import FrameTimes
from pregao.model.errors import CaptureError
from pregao.model.packets import PacketBatch
from pregao.model.streams import StreamId

_MOST_CLOSING = 64  # files; more of them wait for the disk


class Recorder:
    """Packets of source i go to files of `streams[i]`."""

    def __init__(
        self,
        streams: Sequence[StreamId],
        endpoints: Sequence[Endpoints],
        settings: RecordSettings,
        batch_packets: int,
    ) -> None:
        self.counts = FileCounts()
        self._settings = settings
        self._closing = ThreadPoolExecutor(1, thread_name_prefix="pregao-closing")
        self._files = [StreamFiles(each, settings, self.counts, self._closing) for each in streams]
        # A frame that is nearly full must have room for a whole batch of the longest packets.
        room = settings.frame_bytes + batch_packets * (settings.longest + HEAD_SIZE)
        self._buffers = RecordBuffers(list(endpoints), room)
        self._since = np.zeros(len(streams), np.int64)  # when the first record of a frame came; 0: none
        self._pending: list[Future[None]] = []

    def address(self, index: int, endpoints: Endpoints) -> None:
        """From now on packets of this source come from here."""
        self._buffers.address(index, endpoints)

    def take(self, batch: PacketBatch, now_ns: int) -> None:
        self._buffers.put(batch)
        used = self._buffers.used
        self._since[(used > 0) & (self._since == 0)] = now_ns
        for index in np.flatnonzero(used >= self._settings.frame_bytes).tolist():
            self._flush(index, now_ns)

    def tick(self, now_ns: int) -> None:
        """Frames and files that are old enough. Raises CaptureError when a file could not be closed."""
        old = (self._since > 0) & (now_ns - self._since >= self._settings.frame_ns)
        for index in np.flatnonzero(old).tolist():
            self._flush(index, now_ns)
        for index, files in enumerate(self._files):
            if files.is_old(now_ns):
                self._flush(index, now_ns)
                self._closes(files.rotate())
        self._look_at_closed(len(self._pending) > _MOST_CLOSING)

    def _flush(self, index: int, now_ns: int) -> None:
        if self._since[index]:
            times = FrameTimes(*self._buffers.times(index))
            self._closes(self._files[index].append(self._buffers.records(index), times, now_ns))
            self._buffers.clear(index)
            self._since[index] = 0

    def _closes(self, closing: "Future[None] | None") -> None:
        if closing is not None:
            self._pending.append(closing)

    def _look_at_closed(self, wait: bool) -> None:
        pending, self._pending = self._pending, []
        for closing in pending:
            if wait or closing.done():
                closing.result()
            else:
                self._pending.append(closing)

    def close(self, now_ns: int) -> None:
        """Flush everything. One file that fails does not keep the others from it; it is raised then."""
        errors: list[CaptureError] = []
        for index, files in enumerate(self._files):
            try:
                self._flush(index, now_ns)
            except CaptureError as error:
                errors.append(error)
            self._closes(files.rotate())
        for closing in self._pending:
            try:
                closing.result()
            except CaptureError as error:
                errors.append(error)
        self._closing.shutdown()
        if errors:
            raise errors[0]
