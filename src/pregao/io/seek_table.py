"""The tables at the end of a recording: zstd's seek table, and when the packets of each frame came.

The seek table is that of the "zstd seekable format" (contrib/seekable_format of the reference library):
a skippable frame, so that every zstd tool passes over it. Ours with the times is another, in front of it.
docs/recordings.md has the layout of both.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from pregao.io.compression import ZSTD_MAGIC, ZSTD_SKIPPABLE_MAGIC

SEEK_TABLE_MAGIC: Final = 0x184D2A5E
TIME_TABLE_MAGIC: Final = 0x184D2A5D
FOOTER_SIZE: Final = 9
MAX_FRAMES: Final = 0x8000000  # of the format

_SEEKABLE_MAGIC: Final = 0x8F92EAB1
_HAS_CHECKSUMS, _RESERVED_BITS = 0x80, 0x7C
_SKIPPABLE: Final = struct.Struct("<II")
_FOOTER: Final = struct.Struct("<IBI")
_ENTRY: Final = struct.Struct("<II")
_TIMES_HEAD: Final = struct.Struct("<4sB3xI")
_TIMES_ENTRY: Final = struct.Struct("<qqI")
_TIMES_NAME, _TIMES_VERSION = b"PRGT", 1


class FrameSizes(NamedTuple):
    """A frame in the seek table; skippable frames have no content."""

    compressed: int
    content: int


class FrameTimes(NamedTuple):
    """The packets of a frame: the earliest and the latest time, and how many."""

    first_ns: int
    last_ns: int
    packets: int


def encode_seek_table(frames: Sequence[FrameSizes]) -> bytes:
    entries = b"".join(_ENTRY.pack(*frame) for frame in frames)
    footer = _FOOTER.pack(len(frames), 0, _SEEKABLE_MAGIC)
    return _SKIPPABLE.pack(SEEK_TABLE_MAGIC, len(entries) + len(footer)) + entries + footer


def seek_table_size(footer: bytes) -> int | None:
    """How many bytes at the end of a file its seek table takes, from the last `FOOTER_SIZE` of them;
    None when there is none."""
    count: int
    count, flags, magic = _FOOTER.unpack(footer)
    if magic != _SEEKABLE_MAGIC or flags & _RESERVED_BITS or count > MAX_FRAMES:
        return None
    return _SKIPPABLE.size + count * _entry_size(flags) + FOOTER_SIZE


def decode_seek_table(table: bytes) -> list[FrameSizes] | None:
    """The frames, from all bytes of the table; None when they contradict each other."""
    magic, size = _SKIPPABLE.unpack_from(table)
    if magic != SEEK_TABLE_MAGIC or size != len(table) - _SKIPPABLE.size:
        return None
    count, flags, _ = _FOOTER.unpack_from(table, len(table) - FOOTER_SIZE)
    step = _entry_size(flags)
    places = range(_SKIPPABLE.size, _SKIPPABLE.size + count * step, step)
    return [FrameSizes(*_ENTRY.unpack_from(table, place)) for place in places]


def _entry_size(flags: int) -> int:
    return _ENTRY.size + (4 if flags & _HAS_CHECKSUMS else 0)


def encode_time_table(times: Sequence[FrameTimes]) -> bytes:
    content = _TIMES_HEAD.pack(_TIMES_NAME, _TIMES_VERSION, len(times))
    content += b"".join(_TIMES_ENTRY.pack(*frame) for frame in times)
    return _SKIPPABLE.pack(TIME_TABLE_MAGIC, len(content)) + content


def decode_time_table(table: bytes) -> list[FrameTimes] | None:
    """The times of the frames behind the first, from the whole skippable frame; None: not ours."""
    if len(table) < _SKIPPABLE.size + _TIMES_HEAD.size:
        return None
    magic, size = _SKIPPABLE.unpack_from(table)
    name, version, count = _TIMES_HEAD.unpack_from(table, _SKIPPABLE.size)
    start = _SKIPPABLE.size + _TIMES_HEAD.size
    whole = size == len(table) - _SKIPPABLE.size and len(table) == start + count * _TIMES_ENTRY.size
    if magic != TIME_TABLE_MAGIC or (name, version) != (_TIMES_NAME, _TIMES_VERSION) or not whole:
        return None
    return [FrameTimes(*entry) for entry in _TIMES_ENTRY.iter_unpack(table[start:])]


# Where the frames of a zstd file begin and end, without decompressing them (RFC 8878, 3.1).


_SKIPPABLE_MASK: Final = 0xFFFFFFF0
_DICTIONARY_ID_SIZE: Final = (0, 1, 2, 4)
_CONTENT_SIZE_SIZE: Final = (0, 2, 4, 8)
_RLE_BLOCK, _RESERVED_BLOCK = 1, 3


class FrameSpan(NamedTuple):
    """A whole frame of a file; `magic` tells data from the kinds of skippable frames."""

    offset: int
    size: int
    magic: int

    @property
    def is_data(self) -> bool:
        return self.magic == ZSTD_MAGIC


def whole_frames(file: BinaryIO, size: int) -> Iterator[FrameSpan]:
    """The frames of a file of `size` bytes, up to the first that is cut off or is none."""
    offset = 0
    while (span := _frame_at(file, offset, size)) is not None:
        yield span
        offset += span.size


def _frame_at(file: BinaryIO, offset: int, size: int) -> FrameSpan | None:
    head = _read(file, offset, 8)
    if len(head) < 8:
        return None
    magic = int.from_bytes(head[:4], "little")
    if magic & _SKIPPABLE_MASK == ZSTD_SKIPPABLE_MAGIC:
        end = offset + 8 + int.from_bytes(head[4:], "little")
    elif magic == ZSTD_MAGIC:
        end = _end_of_blocks(file, offset + 4, size)
    else:
        return None
    return FrameSpan(offset, end - offset, magic) if offset < end <= size else None


def _end_of_blocks(file: BinaryIO, at: int, size: int) -> int:
    """Where the frame whose descriptor is at `at` ends; 0 when it does not."""
    flags = _read(file, at, 1)[0]
    single_segment = bool(flags & 0x20)
    at += 1 + (not single_segment) + _DICTIONARY_ID_SIZE[flags & 3]
    at += _CONTENT_SIZE_SIZE[flags >> 6] or single_segment
    last = False
    while not last:
        block = _read(file, at, 3)
        if len(block) < 3:
            return 0
        header = int.from_bytes(block, "little")
        last, kind = bool(header & 1), header >> 1 & 3
        if kind == _RESERVED_BLOCK:
            return 0
        at += 3 + (1 if kind == _RLE_BLOCK else header >> 3)
        if at > size:
            return 0
    return at + (4 if flags & 0x04 else 0)


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
