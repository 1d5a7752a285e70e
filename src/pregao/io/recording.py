"""Recordings written: independent zstd frames, tables at the end, the name only when the file is whole.

    writer = RecordingWriter(path, header=pcap_header())
    writer.append(records, FrameTimes(first_ns, last_ns, packets))     # one frame; begins with a record
    writer.close()                                                     # tables, fsync, rename

Until then the file is called `….part`. What is in it up to its last whole frame is good at any time, and
`pregao.io.recording` makes a whole file of what a killed writer left. The writer keeps the file
locked, so that a repair leaves it alone while it lives.
"""

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Final

import zstandard

from pregao.io.seek_table import FrameSizes, FrameTimes, encode_seek_table, encode_time_table, whole_frames
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


# What a killed recorder left, made whole: frames that are whole stay, the tables are written, the file gets
# its name. A part that another process still writes is left alone, and so is what is not a recording.


SUFFIX = f".pcap.zst{PART}"

Describe = Callable[[bytes], FrameTimes | None]  # of the records of a frame; None: they are no records
IsHeader = Callable[[bytes], bool]


class RepairOutcome(Enum):
    REPAIRED = "repaired"
    EMPTY = "held no packet, removed"
    IN_USE = "still being written"
    FOREIGN = "is not a recording, left alone"
    NAME_TAKEN = "left alone: its name is taken"


@dataclass(frozen=True, slots=True)
class Repair:
    part: Path
    outcome: RepairOutcome
    packets: int = 0
    lost_bytes: int = 0  # behind the last whole frame


def repair_folder(folder: Path, is_header: IsHeader, describe: Describe) -> list[Repair]:
    """Every part in a folder, in order of name."""
    parts = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return [repair(part, is_header, describe) for part in parts]


def repair(part: Path, is_header: IsHeader, describe: Describe) -> Repair:
    path = part.with_name(part.name.removesuffix(PART))
    with part.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return Repair(part, RepairOutcome.IN_USE)
        if path.exists():
            return Repair(part, RepairOutcome.NAME_TAKEN)
        return _repair_open(file, part, path, is_header, describe)


def _repair_open(file: BinaryIO, part: Path, path: Path, is_header: IsHeader, describe: Describe) -> Repair:
    size = os.fstat(file.fileno()).st_size
    frames, times = _sound_frames(file, size, is_header, describe)
    end = sum(frame.compressed for frame in frames)
    if not frames and size:
        return Repair(part, RepairOutcome.FOREIGN)
    lost = size - max([end, *(span.offset + span.size for span in whole_frames(file, size))])
    if not times:
        part.unlink()
        return Repair(part, RepairOutcome.EMPTY, lost_bytes=lost)
    file.truncate(end)
    file.seek(end)
    file.write(closing_tables(frames, times))
    file.flush()
    publish(file.fileno(), path)
    return Repair(part, RepairOutcome.REPAIRED, sum(each.packets for each in times), lost)


def _sound_frames(
    file: BinaryIO, size: int, is_header: IsHeader, describe: Describe
) -> tuple[list[FrameSizes], list[FrameTimes]]:
    """Frames up to the first that is cut off, damaged or a table (killed between tables and name)."""
    frames: list[FrameSizes] = []
    times: list[FrameTimes] = []
    for span in whole_frames(file, size):
        content = _content(file, span.offset, span.size) if span.is_data else None
        if content is None:
            break
        if frames:
            described = describe(content)
            if described is None:
                break
            times.append(described)
        elif not is_header(content):
            break
        frames.append(FrameSizes(span.size, len(content)))
    return frames, times


def _content(file: BinaryIO, offset: int, size: int) -> bytes | None:
    file.seek(offset)
    try:
        return bytes(zstandard.ZstdDecompressor().decompress(file.read(size)))
    except (zstandard.ZstdError, MemoryError):
        return None
