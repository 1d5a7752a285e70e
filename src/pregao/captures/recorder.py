"""Batches of packets in, frames of rotated files out. No sockets: tests give it batches and times.

recorder = Recorder([subscription.id …], endpoints, settings)
recorder.take(batch, now_ns)
recorder.tick(now_ns)              # now and then, also when nothing comes
recorder.close(now_ns)             # everything flushed, every file named
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np

from pregao.codecs.pcap.framing import HEAD_SIZE, Endpoints, RecordBuffers
from pregao.codecs.pcap.writer import pcap_header
from pregao.io.receive_buffer import RECEIVE_BUFFER
from pregao.io.recording import DEFAULT_LEVEL, RecordingWriter, part_of
from pregao.io.seek_table import FrameTimes
from pregao.model.errors import CaptureError, ConfigurationError
from pregao.model.packets import PacketBatch
from pregao.model.streams import Stream, StreamId

# How recordings are cut.


NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecordSettings:
    out: Path
    rotate_bytes: int = 1 << 30  # on disk
    rotate_ns: int = 3600 * NS_PER_SECOND
    frame_bytes: int = 4 << 20  # before compression
    frame_ns: int = NS_PER_SECOND  # what a power cut may cost
    level: int = DEFAULT_LEVEL
    buffer_bytes: int = RECEIVE_BUFFER
    longest: int = 9216  # payload, a jumbo frame's; longer ones are counted and left out

    def __post_init__(self) -> None:
        for name, low, high in (
            ("rotate_bytes", 1, 1 << 50),
            ("rotate_ns", 1, 1 << 60),
            ("frame_bytes", 1, 1 << 28),
            ("frame_ns", 1, 1 << 60),
            ("level", 1, 22),
            ("buffer_bytes", 4096, 1 << 30),
            ("longest", 64, 65_535),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigurationError(f"must be from {low} to {high}, not {getattr(self, name)}", key=name)


# Names of recordings, as B3 names its own captures, so that `stream_of_file_name` knows them again:
# 084_Incremental_FeedA_20250331T131500Z.pcap.zst is of channel 84 and begins at that time (UTC).


_STREAMS = {
    Stream.INCREMENTAL: "Incremental",
    Stream.DEFINITION: "InstrumentDefinition",
    Stream.SNAPSHOT: "SnapshotRecovery",
}


def recording_path(folder: Path, stream: StreamId, begin_ns: int) -> Path:
    """A name that no file in the folder has, whole or in part."""
    return next(
        path
        for path in _candidates(folder, stream, begin_ns)
        if not path.exists() and not part_of(path).exists()
    )


def _candidates(folder: Path, stream: StreamId, begin_ns: int) -> Iterator[Path]:
    begin = datetime.fromtimestamp(begin_ns // NS_PER_SECOND, UTC)
    stem = f"{stream.channel or 0:03}_{_STREAMS[stream.stream]}_Feed{stream.feed.name}"
    for number in count(1):
        again = "" if number == 1 else f"-{number}"
        yield folder / f"{stem}_{begin:%Y%m%dT%H%M%SZ}{again}.pcap.zst"


# The files of one stream: one is open at a time, and is closed when it is large or old enough.


@dataclass(slots=True)
class FileCounts:
    """Over all streams."""

    opened: int = 0
    closed: int = 0
    bytes: int = 0  # on disk, of frames

    @property
    def open(self) -> int:
        return self.opened - self.closed


class StreamFiles:
    """Writes frames. Closing waits for the disk, so another thread does it: this one has packets to take."""

    def __init__(
        self, stream: StreamId, settings: RecordSettings, counts: FileCounts, closing: Executor
    ) -> None:
        self.stream = stream
        self._settings, self._counts, self._closing = settings, counts, closing
        self._writer: RecordingWriter | None = None
        self._opened_ns = 0

    def append(self, records: memoryview, times: FrameTimes, now_ns: int) -> "Future[None] | None":
        """One frame; if the file is full now, what closing it will come to."""
        writer = self._writer or self._open(times.first_ns, now_ns)
        before = writer.size
        writer.append(records, times)
        self._counts.bytes += writer.size - before
        return self.rotate() if writer.size >= self._settings.rotate_bytes else None

    def _open(self, begin_ns: int, now_ns: int) -> RecordingWriter:
        path = recording_path(self._settings.out, self.stream, begin_ns)
        self._writer = RecordingWriter(path, pcap_header(), self._settings.level)
        self._opened_ns = now_ns
        self._counts.opened += 1
        return self._writer

    def is_old(self, now_ns: int) -> bool:
        return self._writer is not None and now_ns - self._opened_ns >= self._settings.rotate_ns

    def rotate(self) -> "Future[None] | None":
        """Close the open file; the next frame begins another."""
        if self._writer is None:
            return None
        writer, self._writer = self._writer, None
        self._counts.closed += 1
        return self._closing.submit(writer.close)


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
