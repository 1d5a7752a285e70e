"""Where the frames of a zstd file begin and end, without decompressing them (RFC 8878, 3.1)."""

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from pregao.io.compression import ZSTD_MAGIC, ZSTD_SKIPPABLE_MAGIC

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
