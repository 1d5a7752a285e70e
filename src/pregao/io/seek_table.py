"""The tables at the end of a recording: zstd's seek table, and when the packets of each frame came.

The seek table is that of the "zstd seekable format" (contrib/seekable_format of the reference library):
a skippable frame, so that every zstd tool passes over it. Ours with the times is another, in front of it.
docs/recordings.md has the layout of both.
"""

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

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
