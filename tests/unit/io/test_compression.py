"""Compressed streams: bounded, complete, and honest about damage."""

import gzip
import io
import random
import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pregao.io.compression import (
    CHUNK_SIZE,
    CompressionError,
    compression_of,
    gzip_chunks,
    zstd_chunks,
)

CONTENT = random.Random(3).randbytes(400_000) + b"PETR4 " * 50_000
SKIPPABLE = struct.pack("<II", 0x184D2A5E, 5) + b"table"

Chunks = Callable[[BinaryIO], Iterator[bytes]]


def zstd(content: bytes, *, write_checksum: bool = False, write_content_size: bool = True) -> bytes:
    compressor = zstandard.ZstdCompressor(
        write_checksum=write_checksum, write_content_size=write_content_size
    )
    return compressor.compress(content)


def read(chunks: Chunks, data: bytes) -> tuple[bytes, CompressionError | None]:
    """All content, and the error that ended it."""
    parts = []
    try:
        for chunk in chunks(io.BytesIO(data)):
            assert 0 < len(chunk) <= CHUNK_SIZE
            parts.append(chunk)
    except CompressionError as error:
        return b"".join(parts), error
    return b"".join(parts), None


@pytest.mark.parametrize(
    ("head", "compression"),
    [
        (b"", "none"),
        (b"\x1f", "none"),
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f", "none"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (SKIPPABLE[:4], "zstd"),
        (b"\xd4\xc3\xb2\xa1", "none"),
    ],
)
def test_compression_by_content(head: bytes, compression: str) -> None:
    assert compression_of(head) == compression


@pytest.mark.parametrize(
    ("chunks", "data"),
    [
        (gzip_chunks, gzip.compress(CONTENT)),
        (gzip_chunks, gzip.compress(CONTENT[:99]) + gzip.compress(b"") + gzip.compress(CONTENT[99:])),
        (gzip_chunks, gzip.compress(CONTENT[:99]) + bytes(99) + gzip.compress(CONTENT[99:]) + bytes(300_000)),
        (zstd_chunks, zstd(CONTENT)),
        (zstd_chunks, zstd(CONTENT, write_checksum=True)),
        (zstd_chunks, zstd(CONTENT, write_content_size=False)),
        (zstd_chunks, zstd(CONTENT[:99]) + SKIPPABLE + zstd(b"") + zstd(CONTENT[99:]) + SKIPPABLE),
    ],
)
def test_all_members_and_frames(chunks: Chunks, data: bytes) -> None:
    content, error = read(chunks, data)
    assert content == CONTENT
    assert error is None


def test_a_streamed_zstd_frame_with_a_flush_after_every_part() -> None:
    compressor = zstandard.ZstdCompressor().compressobj()
    data = b""
    for start in range(0, len(CONTENT), 10_000):
        data += compressor.compress(CONTENT[start : start + 10_000])
        data += compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    data += compressor.flush()
    assert read(zstd_chunks, data) == (CONTENT, None)


@pytest.mark.parametrize(
    ("chunks", "compress"), [(gzip_chunks, gzip.compress), (zstd_chunks, zstd)], ids=["gzip", "zstd"]
)
def test_the_output_is_bounded_whatever_the_ratio(chunks: Chunks, compress: Callable[[bytes], bytes]) -> None:
    content, error = read(chunks, compress(bytes(20 * CHUNK_SIZE)))
    assert (len(content), error) == (20 * CHUNK_SIZE, None)


@pytest.mark.parametrize(
    ("chunks", "compress"), [(gzip_chunks, gzip.compress), (zstd_chunks, zstd)], ids=["gzip", "zstd"]
)
def test_a_cut_stream_gives_its_beginning(chunks: Chunks, compress: Callable[[bytes], bytes]) -> None:
    whole = CONTENT[:2000]
    data = compress(whole)
    for length in range(1, len(data)):
        content, error = read(chunks, data[:length])
        assert whole.startswith(content)
        assert error is not None
        assert error.offset <= length
    content, error = read(chunks, compress(CONTENT)[:-20])
    assert len(content) >= len(CONTENT) - 300_000
    assert error is not None
    assert "ends too early" in error.reason


def test_damaged_gzip_gives_all_that_came_before_the_bad_byte() -> None:
    # Stored blocks, so that content and file go byte for byte: the second block's length is damaged.
    data = bytearray(gzip.compress(CONTENT[:100_000], compresslevel=0))
    first = int.from_bytes(data[11:13], "little")
    at = 10 + 5 + first
    data[at + 1] ^= 0xFF
    content, error = read(gzip_chunks, bytes(data))
    assert content == CONTENT[:first]
    assert error is not None
    assert at < error.offset <= at + 5
    assert "damaged gzip" in error.reason


def test_a_wrong_check_value_comes_after_the_content() -> None:
    data = bytearray(gzip.compress(CONTENT))
    data[-6] ^= 1
    content, error = read(gzip_chunks, bytes(data))
    assert content == CONTENT
    assert error is not None
    assert error.offset >= len(data) - 8
    data = bytearray(zstd(CONTENT, write_checksum=True))
    data[-1] ^= 1
    content, error = read(zstd_chunks, bytes(data))
    assert content == CONTENT
    assert error is not None
    assert error.offset == len(data) - 4


def test_damaged_zstd_loses_only_the_bad_block() -> None:
    parts = [b"A" * 1000, b"B" * 1000, b"C" * 1000]
    compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    data, ends = b"", []
    for part in parts:
        data += compressor.compress(part) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        ends.append(len(data))
    data += compressor.flush()
    damaged = bytearray(data)
    damaged[ends[1]] |= 0x06  # the third block gets a type that is reserved
    content, error = read(zstd_chunks, bytes(damaged))
    assert content == parts[0] + parts[1]
    assert error is not None
    assert error.offset == ends[1]


@pytest.mark.parametrize(
    ("chunks", "data"),
    [(gzip_chunks, gzip.compress(b"good") + b"garbage"), (zstd_chunks, zstd(b"good") + b"garbage")],
    ids=["gzip", "zstd"],
)
def test_garbage_behind_the_end_is_named(chunks: Chunks, data: bytes) -> None:
    content, error = read(chunks, data)
    assert content == b"good"
    assert error is not None
    assert error.offset >= len(data) - 7


@given(st.binary(max_size=200), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=5))
def test_any_bytes_give_content_or_the_error(content: bytes, damages: list[tuple[int, int]]) -> None:
    for chunks, whole in ((gzip_chunks, gzip.compress(content)), (zstd_chunks, zstd(content) + SKIPPABLE)):
        data = bytearray(whole)
        for at, value in damages:
            data[at % len(data)] = value
        _, error = read(chunks, bytes(data))
        assert error is None or error.offset <= len(data)
