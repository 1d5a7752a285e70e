"""What a killed recorder left, made whole: frames that are whole stay, the tables are written, the file
gets its name. A part that another process still writes is left alone, and so is what is not a recording."""

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

import zstandard

from pregao.io.recording import PART, closing_tables, publish
from pregao.io.seek_table import FrameSizes, FrameTimes
from pregao.io.zstd_frames import whole_frames

SUFFIX = f".pcap.zst{PART}"

Describe = Callable[[bytes], FrameTimes | None]  # of the records of a frame; None: they are no records
IsHeader = Callable[[bytes], bool]


class Outcome(Enum):
    REPAIRED = "repaired"
    EMPTY = "held no packet, removed"
    IN_USE = "still being written"
    FOREIGN = "is not a recording, left alone"
    NAME_TAKEN = "left alone: its name is taken"


@dataclass(frozen=True, slots=True)
class Repair:
    part: Path
    outcome: Outcome
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
            return Repair(part, Outcome.IN_USE)
        if path.exists():
            return Repair(part, Outcome.NAME_TAKEN)
        return _repair_open(file, part, path, is_header, describe)


def _repair_open(file: BinaryIO, part: Path, path: Path, is_header: IsHeader, describe: Describe) -> Repair:
    size = os.fstat(file.fileno()).st_size
    frames, times = _sound_frames(file, size, is_header, describe)
    end = sum(frame.compressed for frame in frames)
    if not frames and size:
        return Repair(part, Outcome.FOREIGN)
    lost = size - max([end, *(span.offset + span.size for span in whole_frames(file, size))])
    if not times:
        part.unlink()
        return Repair(part, Outcome.EMPTY, lost_bytes=lost)
    file.truncate(end)
    file.seek(end)
    file.write(closing_tables(frames, times))
    file.flush()
    publish(file.fileno(), path)
    return Repair(part, Outcome.REPAIRED, sum(each.packets for each in times), lost)


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
