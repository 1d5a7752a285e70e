"""Compressed streams as chunks of bounded size, with everything that can be had from a damaged one.

Both generators give all bytes that decompress before they raise `CompressionError`: a capture
whose disk filled up, or that lost a sector, still has its good part.
"""

import struct
import zlib
from collections.abc import Generator, Iterator
from typing import BinaryIO

import zstandard

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = 0xFD2FB528
ZSTD_SKIPPABLE_MAGIC = 0x184D2A50  # the low four bits are free
_SKIPPABLE_MASK = 0xFFFFFFF0

PIECE_SIZE = 256 * 1024  # read at once
CHUNK_SIZE = 1024 * 1024  # decompressed at once, at most

_GZIP_WINDOW_BITS = 16 + zlib.MAX_WBITS  # with gzip header and check value
_DICTIONARY_ID_SIZE = (0, 1, 2, 4)
_CONTENT_SIZE_SIZE = (0, 2, 4, 8)
_RLE_BLOCK, _RESERVED_BLOCK = 1, 3


class CompressionError(Exception):
    """Compressed bytes that are wrong or end too early, at byte `offset` of the file."""

    def __init__(self, reason: str, offset: int) -> None:
        self.reason, self.offset = reason, offset
        super().__init__(f"{reason} at byte {offset}")


def compression_of(head: bytes) -> str:
    """'gzip', 'zstd' or 'none', from the first four bytes."""
    if head[:2] == GZIP_MAGIC:
        return "gzip"
    if len(head) >= 4:
        magic = int.from_bytes(head[:4], "little")
        if magic == ZSTD_MAGIC or magic & _SKIPPABLE_MASK == ZSTD_SKIPPABLE_MAGIC:
            return "zstd"
    return "none"


def gzip_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The content of all members; zeros after the last one are padding."""
    offset = 0  # of `piece` in the file
    piece = file.read(PIECE_SIZE)
    while piece:
        member = zlib.decompressobj(_GZIP_WINDOW_BITS)
        while not member.eof:
            if not piece:
                if chunk := member.flush():
                    yield chunk
                raise CompressionError("gzip stream ends too early", offset)
            before = member.copy()
            try:
                chunk = member.decompress(piece, CHUNK_SIZE)
            except zlib.error as error:
                good = yield from _salvage(before, piece)
                raise CompressionError(f"damaged gzip stream ({error})", offset + good) from error
            rest = member.unused_data if member.eof else member.unconsumed_tail
            offset += len(piece) - len(rest)
            piece = rest or file.read(PIECE_SIZE)
            if chunk:
                yield chunk
        while piece.startswith(b"\0"):
            rest = piece.lstrip(b"\0")
            offset += len(piece) - len(rest)
            piece = rest or file.read(PIECE_SIZE)


def _salvage(member: "zlib._Decompress", piece: bytes) -> Generator[bytes, None, int]:
    """Give what decompresses of a piece before its bad byte, and return where that is.

    zlib throws away the output of a call that fails, so the bytes go in one by one.
    """
    for at in range(len(piece)):
        try:
            chunk = member.decompress(piece[at : at + 1])
        except zlib.error:
            return at
        if chunk:
            yield chunk
    return len(piece)


def zstd_chunks(file: BinaryIO) -> Iterator[bytes]:
    """The content of all frames; skippable frames (seek tables) are passed over.

    Fed block by block: a block holds at most 128 KiB, so the output is bounded whatever the ratio,
    and only a bad block itself is lost.
    """
    reader = _ExactReader(file)
    while head := file.read(4):
        reader.offset += len(head)
        magic = int.from_bytes(head, "little")
        if len(head) == 4 and magic & _SKIPPABLE_MASK == ZSTD_SKIPPABLE_MAGIC:
            reader.skip(int.from_bytes(reader.take(4), "little"))
        elif magic == ZSTD_MAGIC:
            yield from _zstd_frame(reader, head)
        else:
            raise CompressionError("no zstd frame", reader.offset - len(head))


class _ExactReader:
    """Reads exactly as many bytes as asked for, and knows where it is."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.offset = 0

    def take(self, size: int) -> bytes:
        taken = self._file.read(size)
        self.offset += len(taken)
        if len(taken) < size:
            raise CompressionError("zstd stream ends too early", self.offset)
        return taken

    def skip(self, size: int) -> None:
        while size:
            size -= len(self.take(min(size, PIECE_SIZE)))


def _zstd_frame(reader: _ExactReader, magic: bytes) -> Iterator[bytes]:
    """RFC 8878, 3.1.1: a header, blocks up to the one marked last, perhaps a check value."""
    start = reader.offset - len(magic)
    descriptor = reader.take(1)
    flags = descriptor[0]
    single_segment = bool(flags & 0x20)
    size = 0 if single_segment else 1
    size += _DICTIONARY_ID_SIZE[flags & 3]
    size += _CONTENT_SIZE_SIZE[flags >> 6] or single_segment
    frame = zstandard.ZstdDecompressor().decompressobj()
    yield from _decompress(frame, magic + descriptor + reader.take(size), start)
    last = False
    while not last:
        start = reader.offset
        block = reader.take(3)
        header = struct.unpack("<I", block + b"\0")[0]
        last, kind = bool(header & 1), header >> 1 & 3
        if kind == _RESERVED_BLOCK:
            raise CompressionError("damaged zstd stream (reserved block type)", start)
        content = reader.take(1 if kind == _RLE_BLOCK else header >> 3)
        yield from _decompress(frame, block + content, start)
    if flags & 0x04:
        start = reader.offset
        yield from _decompress(frame, reader.take(4), start)


def _decompress(frame: "zstandard.ZstdDecompressionObj", part: bytes, start: int) -> Iterator[bytes]:
    try:
        chunk = frame.decompress(part)
    except zstandard.ZstdError as error:
        raise CompressionError(f"damaged zstd stream ({error})", start) from error
    if chunk:
        yield chunk
