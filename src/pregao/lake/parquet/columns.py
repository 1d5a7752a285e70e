"""One column of a row group: its pages, and what the footer says of them.

What has one value is a dictionary of that value and one run. Other numbers are packed differences, or codes
of a dictionary where few values repeat; words are codes of those that occur. Whether a value is there is told
by the bits that Arrow has for it: Parquet's levels of a flat column are the same bits.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from pregao.lake.parquet.kernels import (
    BLOCK,
    number_values,
    pack_deltas,
    pack_runs,
    room,
    take_valid,
)
from pregao.lake.parquet.thrift import Byte, Long, Struct, encoded, varint
from pregao.lake.tables.types import Encoding

Array = np.ndarray[Any, np.dtype[Any]]

BOOLEAN, INT32, INT64, BYTE_ARRAY = 0, 1, 2, 6  # physical types
_PLAIN, _RLE, _DELTA, _DICTIONARY = 0, 3, 5, 8  # encodings
_UNCOMPRESSED, _ZSTD = 0, 6  # codecs
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_WORTH_PACKING: Final = 256  # bytes of a page
_HASH_BITS: Final = 13
_MOST_DIFFERENT: Final = 1 << _HASH_BITS - 1
_LEAST_TAKEN: Final = 4  # bytes of a value that `take_valid` knows
_CODEC: Final = pa.Codec("zstd", compression_level=1)


class Physical(NamedTuple):
    """How Parquet stores an Arrow type, and what its schema says of it."""

    type: int
    converted: int | None = None
    logical: Struct | None = None
    scale: int | None = None
    precision: int | None = None


_NOTHING: Final = Struct(())
_UTC_MICROSECONDS: Final = Struct(((1, True), (2, Struct(((2, _NOTHING),)))))


def physical(type_: Any) -> Physical | None:
    """None: not ours to write."""
    if pa.types.is_decimal64(type_):
        logical = Struct(((5, Struct(((1, type_.scale), (2, type_.precision)))),))
        return Physical(INT64, 5, logical, type_.scale, type_.precision)
    if pa.types.is_dictionary(type_):
        return Physical(BYTE_ARRAY, 0, Struct(((1, _NOTHING),))) if type_.value_type == pa.string() else None
    return _SIMPLE.get(type_)


_SIMPLE: Final = {
    pa.bool_(): Physical(BOOLEAN),
    pa.int16(): Physical(INT32, 16, Struct(((10, Struct(((1, Byte(16)), (2, True)))),))),
    pa.int32(): Physical(INT32),
    pa.int64(): Physical(INT64),
    pa.date32(): Physical(INT32, 6, Struct(((6, _NOTHING),))),
    pa.timestamp("us", tz="UTC"): Physical(INT64, None, Struct(((8, _UTC_MICROSECONDS),))),
}


@dataclass(slots=True)
class ColumnPlan:
    """How a column of a file is written."""

    name: str
    physical: Physical
    nullable: bool
    encoding: Encoding
    compressed: bool
    with_statistics: bool


@dataclass(slots=True)
class Pages:
    """Of one column of a row group, as they are in the file from `start` on."""

    start: int
    plan: ColumnPlan
    rows: int
    parts: list[Any] = field(default_factory=list)
    size: int = 0
    unpacked: int = 0
    codec: int = _UNCOMPRESSED
    encodings: list[int] = field(default_factory=list)
    dictionary_at: int | None = None
    data_at: int = 0
    statistics: Struct | None = None

    def add(self, kind: int, values: int, encoding: int, data: Any) -> None:
        """A page. Data pages and dictionaries have one codec."""
        length = len(data)
        if self.codec == _ZSTD:
            data = _CODEC.compress(data)
        told = Struct(((1, values), (2, encoding), (3, _RLE), (4, _RLE)))
        if kind == _DICTIONARY_PAGE:
            told, self.dictionary_at = Struct(((1, values), (2, _PLAIN))), self.start + self.size
        else:
            self.data_at = self.start + self.size
        crc = zlib.crc32(data)
        header = encoded(Struct((
            (1, kind), (2, length), (3, len(data)), (4, crc - (crc >> 31 << 32)),
            (7 if kind == _DICTIONARY_PAGE else 5, told),
        )))  # fmt: skip
        self.parts += (header, data)
        self.size += len(header) + len(data)
        self.unpacked += len(header) + length

    def in_footer(self) -> Struct:
        dictionary = None if self.dictionary_at is None else Long(self.dictionary_at)
        told = Struct((
            (1, self.plan.physical.type), (2, self.encodings), (3, [self.plan.name]), (4, self.codec),
            (5, Long(self.rows)), (6, Long(self.unpacked)), (7, Long(self.size)),
            (9, Long(self.data_at)), (11, dictionary), (12, self.statistics),
        ))  # fmt: skip
        return Struct(((2, Long(self.start)), (3, told)))


def write_column(plan: ColumnPlan, array: Any, start: int) -> Pages:
    """`array` is of one chunk, from a whole byte of its bits on."""
    pages = Pages(start, plan, len(array))
    levels = _levels(plan, array)
    if plan.physical.type == BOOLEAN:
        _write_bits(pages, array, levels)
    elif plan.physical.type == BYTE_ARRAY:
        _write_words(pages, array, levels)
    else:
        _write_numbers(pages, array, levels)
    return pages


def _levels(plan: ColumnPlan, array: Any) -> bytes:
    if not plan.nullable:
        return b""
    count = len(array)
    if array.null_count in (0, count):
        runs = varint(count << 1) + (b"\0" if array.null_count else b"\1")
    else:
        packed = _validity(array)
        runs = varint(len(packed) << 1 | 1) + packed.tobytes()
    return struct.pack("<I", len(runs)) + runs


def _validity(array: Any) -> Array:
    return _bits(array.buffers()[0], array)


def _bits(buffer: Any, array: Any) -> Array:
    first = array.offset // 8
    found: Array = np.frombuffer(buffer, np.uint8)[first : first + (len(array) + 7) // 8]
    return found


def _valid(array: Any) -> Array:
    """Values that are there: all of them as they are, or some as words of 64 bits."""
    if array.null_count == len(array):
        return np.zeros(0, np.int64)
    kind = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[array.type.bit_width]
    values = np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]
    if not array.null_count:
        return values
    if values.itemsize < _LEAST_TAKEN:
        values = values.astype(np.int32)
    validity, found = _validity(array), np.empty(len(array), np.int64)
    count = take_valid(
        values.ctypes.data, values.itemsize, validity.ctypes.data, len(array), found.ctypes.data
    )
    return found[:count]


def _packed(levels: bytes, pack: Callable[[int], int], count: int) -> Any:
    """Levels, and after them what a kernel writes for so many values."""
    before = len(levels)
    out = np.empty(before + room(count), np.uint8)
    out[:before] = np.frombuffer(levels, np.uint8)
    return out[: before + pack(out.ctypes.data + before)].data


def _write_bits(pages: Pages, array: Any, levels: bytes) -> None:
    bits = _bits(array.buffers()[1], array)
    if array.null_count:
        told = np.unpackbits(bits, count=len(array), bitorder="little")
        there = np.unpackbits(_validity(array), count=len(array), bitorder="little")
        bits = np.packbits(told[there != 0], bitorder="little")
    _write_values(pages, _PLAIN, levels + bits.tobytes())


def _write_words(pages: Pages, array: Any, levels: bytes) -> None:
    codes, words = _valid(array.indices), array.dictionary
    used = codes[:1]
    if not _is_constant(codes):
        codes = np.ascontiguousarray(codes, np.int64)
        numbered, places = _numbered(codes)
        if numbered is None:  # as many as there are instruments
            used, places = np.unique(codes, return_inverse=True)
        else:
            used = numbered
        codes = places
    texts = [words[code].as_py().encode() for code in used.tolist()]
    plain = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    if pages.plan.with_statistics:
        pages.statistics = _statistics(array.null_count, min(texts, default=None), max(texts, default=None))
    _write_codes(pages, levels, plain, len(texts), codes)


def _write_numbers(pages: Pages, array: Any, levels: bytes) -> None:
    plan, narrow = pages.plan, pages.plan.physical.type == INT32
    values, width = _valid(array), "<i" if narrow else "<q"
    if plan.with_statistics:
        ends = (values.min(), values.max()) if len(values) else ()
        pages.statistics = _statistics(array.null_count, *(struct.pack(width, int(end)) for end in ends))
    if _is_constant(values):
        _write_codes(pages, levels, values[:1].astype(width).tobytes(), min(1, len(values)), values)
        return
    values = np.ascontiguousarray(values, np.int64)
    if plan.encoding is not Encoding.DELTA:  # what hardly ever changes is told by runs of codes, too
        different, codes = _numbered(values)
        if different is not None:
            _write_codes(pages, levels, different.astype(width).tobytes(), len(different), codes)
            return
    count, scratch = len(values), np.empty(BLOCK, np.int64)
    first, block = values.ctypes.data, scratch.ctypes.data
    _write_values(
        pages, _DELTA, _packed(levels, lambda out: pack_deltas(first, count, narrow, block, out), count)
    )


def _numbered(values: Array) -> tuple[Array | None, Array]:
    """Different values, and for each value which of them it is. None: there are too many."""
    keys, codes = np.empty(_MOST_DIFFERENT, np.int64), np.empty(len(values), np.int64)
    places = np.full(1 << _HASH_BITS, -1)
    found = number_values(
        values.ctypes.data, len(values), keys.ctypes.data, places.ctypes.data, _HASH_BITS, _MOST_DIFFERENT,
        codes.ctypes.data,
    )  # fmt: skip
    return (keys[:found] if found >= 0 else None), codes


def _is_constant(values: Array) -> bool:
    """Also where there is no value at all."""
    return not len(values) or bool(values[0] == values[-1] and (values == values[0]).all())


def _write_codes(pages: Pages, levels: bytes, plain: bytes, different: int, codes: Array) -> None:
    """A dictionary, and places in it; of one value those are not looked at."""
    count, width = len(codes), max(1, (different - 1).bit_length())
    before = levels + bytes((width,))
    if different > 1:
        first = codes.ctypes.data
        data = _packed(before, lambda out: pack_runs(first, count, width, out), count)
    else:
        data = before + (varint(count << 1) + b"\0" if count else b"")
    _choose_codec(pages, len(data) + len(plain))
    pages.add(_DICTIONARY_PAGE, different, _PLAIN, plain)
    pages.encodings = [_PLAIN, _RLE, _DICTIONARY]
    pages.add(_DATA_PAGE, pages.rows, _DICTIONARY, data)


def _write_values(pages: Pages, encoding: int, data: Any) -> None:
    _choose_codec(pages, len(data))
    pages.encodings = [_RLE, encoding]
    pages.add(_DATA_PAGE, pages.rows, encoding, data)


def _choose_codec(pages: Pages, size: int) -> None:
    """A compressor costs more than few bytes are worth."""
    pages.codec = _ZSTD if pages.plan.compressed and size >= _WORTH_PACKING else _UNCOMPRESSED


def _statistics(nulls: int, least: bytes | None = None, greatest: bytes | None = None) -> Struct:
    exact = None if least is None else True
    return Struct(((3, Long(nulls)), (5, greatest), (6, least), (7, exact), (8, exact)))
