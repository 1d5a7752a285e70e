"""The files of one stream: one is open at a time, and is closed when it is large or old enough."""

from concurrent.futures import Executor, Future
from dataclasses import dataclass

from pregao.captures.recording.naming import recording_path
from pregao.captures.recording.settings import RecordSettings
from pregao.codecs.pcap.writer import pcap_header
from pregao.io.recording import RecordingWriter
from pregao.io.seek_table import FrameTimes
from pregao.model.streams import StreamId


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
