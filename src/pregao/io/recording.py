"""Recordings written: independent zstd frames, tables at the end, the name only when the file is whole.

    writer = RecordingWriter(path, header=pcap_header())
    writer.append(records, FrameTimes(first_ns, last_ns, packets))     # one frame; begins with a record
    writer.close()                                                     # tables, fsync, rename

Until then the file is called `….part`. What is in it up to its last whole frame is good at any time, and
`pregao.io.recording_repair` makes a whole file of what a killed writer left. The writer keeps the file
locked, so that a repair leaves it alone while it lives.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

import zstandard

from pregao.io.seek_table import FrameSizes, FrameTimes, encode_seek_table, encode_time_table
from pregao.model.errors import CaptureError

PART: Final = ".part"
DEFAULT_LEVEL: Final = 3


def part_of(path: Path) -> Path:
    return path.with_name(path.name + PART)


class RecordingWriter:
    """One file. `size` counts bytes on disk, `content` what they decompress to."""

    def __init__(self, path: Path, header: bytes, level: int = DEFAULT_LEVEL) -> None:
        self.path = path
        self.size = self.content = self.packets = 0
        self._frames: list[FrameSizes] = []
        self._times: list[FrameTimes] = []
        # The check value lets a repair tell a whole frame from one that the disk has not got yet.
        self._compressor = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                raise FileExistsError(None, "file exists", str(path))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            self._descriptor: int | None = os.open(part_of(path), flags, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _failed(path, error) from error
        self._compress(header)

    def append(self, content: bytes | memoryview, times: FrameTimes) -> None:
        """One more frame, with the operating system when this returns."""
        self._compress(content)
        self._times.append(times)
        self.packets += times.packets

    def _compress(self, content: bytes | memoryview) -> None:
        frame = self._compressor.compress(content)
        self._write(frame)
        self._frames.append(FrameSizes(len(frame), len(content)))
        self.content += len(content)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._open_descriptor(), view) :]
        except OSError as error:
            self.abandon()  # a frame may be there in part: nothing may come behind it
            raise _failed(self.path, error) from error
        self.size += len(data)

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise CaptureError("is closed", file=str(self.path))
        return self._descriptor

    def close(self) -> None:
        """The file is whole: it gets its tables, reaches the disk, then gets its name. One that could
        not be written to keeps the name of a part."""
        if self._descriptor is None:
            return
        self._write(closing_tables(self._frames, self._times))
        try:
            publish(self._descriptor, self.path)
        except OSError as error:
            raise _failed(self.path, error) from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the file as it is; a `.part` stays for the repair."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def closing_tables(frames: list[FrameSizes], times: list[FrameTimes]) -> bytes:
    """What comes behind the last frame with content."""
    table = encode_time_table(times)
    # The seek table lists every frame before it, those without content too.
    return table + encode_seek_table([*frames, FrameSizes(len(table), 0)])


def publish(descriptor: int, path: Path) -> None:
    """Name a whole part: its bytes reach the disk first, and the folder's entry is on it afterwards."""
    os.fsync(descriptor)
    os.rename(part_of(path), path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _failed(path: Path, error: OSError) -> CaptureError:
    return CaptureError((error.strerror or str(error)).lower(), file=str(path))
