"""Arrow arrays from typed arrays, which may be overwritten afterwards: Arrow gets its own memory.

A value that is there but that the Arrow type cannot hold (a mantissa of more than 18 digits, a
time past the year 2262) is never wrapped: it becomes null, and `Built.lost` names its rows.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from pregao.codecs.arrow.kernels import (
    bitmap_of_nulls,
    count_outside,
    is_plain_text,
    measure_strings,
    pack_strings,
)
from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.codecs.sbe.values import data_text, text_of

Array = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

_DIGITS = 18
_LARGEST_DECIMAL = 10**_DIGITS - 1
_INT64_MAX = (1 << 63) - 1
_ASCII = bytes(range(1, 0x80))


@dataclass(slots=True)
class BuiltArray:
    """An Arrow array, and the rows whose value it could not hold."""

    array: Any  # pa.Array
    lost: list[int] = field(default_factory=list)


def arrow_type(leaf: FieldLayout) -> Any:
    """The Arrow type of a leaf."""
    if leaf.kind is ValueKind.STRING:
        return pa.string()
    if leaf.kind is ValueKind.ARRAY:
        return pa.list_(_number_type(leaf), leaf.count)
    if leaf.kind is ValueKind.DECIMAL and -_DIGITS <= leaf.exponent <= 0:
        return pa.decimal64(_DIGITS, -leaf.exponent)
    if leaf.kind is ValueKind.TIME:
        return pa.int64()
    return _number_type(leaf)


def _number_type(leaf: FieldLayout) -> Any:
    primitive = leaf.primitive
    if primitive.is_float:
        return pa.float32() if primitive.size == 4 else pa.float64()
    return getattr(pa, f"{'int' if primitive.is_signed else 'uint'}{8 * primitive.size}")()


def build(values: Array, leaf: FieldLayout, null: int | float | None, present: Mask | None) -> BuiltArray:
    """The array of a column. `null` is the raw value that means null, if one does for all rows;
    `present` tells further which rows have a value at all (None: every row)."""
    if leaf.kind is ValueKind.STRING:
        if leaf.size == 1 and null:  # a single character may have a null of its own
            present = _and(present, ~_equal(values.view(np.uint8), null))
        return BuiltArray(strings(values, leaf.encoding, present))
    if leaf.kind is ValueKind.ARRAY:
        if null is not None:  # an array is null when all of it is
            some_there: Mask = np.any(~_equal(values, null), axis=1)
            present = _and(present, some_there)
        return BuiltArray(_lists(values, leaf, present))
    if leaf.primitive.is_float:
        return BuiltArray(_floats(values, leaf, null, present))
    wanted = arrow_type(leaf)
    values, lost = _within(values, leaf, null, present)
    if lost:
        present = np.ones(len(values), np.bool_) if present is None else present.copy()
        present[lost] = False
    bitmap, nulls = _bitmap(values, null, present)
    own = values.copy()
    if leaf.kind in (ValueKind.TIME, ValueKind.DECIMAL) and wanted.bit_width == 64:
        own = _as_int64(own)
        if leaf.nanoseconds != 1:
            own *= leaf.nanoseconds
    return BuiltArray(pa.Array.from_buffers(wanted, len(own), [bitmap, pa.py_buffer(own)], nulls), lost)


_PLAIN_TYPES = {np.dtype(kind): pa.from_numpy_dtype(kind) for kind in ("i1", "i8", "u1", "u2", "u4", "u8")}


def plain(values: Array) -> Any:
    """Numbers as they are. By their buffer: pa.array would look for pandas each time, in vain."""
    return pa.Array.from_buffers(_PLAIN_TYPES[values.dtype], len(values), [None, pa.py_buffer(values)], 0)


def all_null(leaf: FieldLayout, rows: int) -> Any:
    return pa.nulls(rows, arrow_type(leaf))


def _and(present: Mask | None, further: Mask) -> Mask:
    return further if present is None else present & further


def _equal(values: Array, null: int | float) -> Mask:
    mask: Mask = np.isnan(values) if null != null else values == values.dtype.type(null)
    return mask


def _as_int64(values: Array) -> Array:
    return values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(np.int64)


def _within(
    values: Array, leaf: FieldLayout, null: int | float | None, present: Mask | None
) -> tuple[Array, list[int]]:
    """Rows whose value is there but does not fit the Arrow type."""
    if leaf.kind is ValueKind.DECIMAL and values.dtype.itemsize == 8 and -_DIGITS <= leaf.exponent <= 0:
        low, high = -_LARGEST_DECIMAL, _LARGEST_DECIMAL
    elif leaf.kind is ValueKind.TIME and values.dtype.itemsize == 8:  # a narrower one fits in any unit
        low, high = -(_INT64_MAX // leaf.nanoseconds), _INT64_MAX // leaf.nanoseconds
    else:
        return values, []
    if values.dtype.kind == "u":
        low = 0
    kind = values.dtype.type
    sentinel = kind(0 if null is None else null)  # zero is inside every range
    if not count_outside(values, kind(low), kind(high), sentinel):
        return values, []
    outside = (values < kind(low)) | (values > kind(high))
    if null is not None:
        outside &= values != sentinel
    if present is not None:
        outside &= present
    return values, [int(row) for row in np.flatnonzero(outside)]


def _bitmap(values: Array, null: int | float | None, present: Mask | None) -> tuple[Any, int]:
    """Arrow's validity buffer and the number of nulls; no buffer when there are none."""
    rows = len(values)
    if null is None and present is None:
        return None, 0
    bits = np.zeros((rows + 63) // 64 * 8, np.uint8)
    if null is None:
        assert present is not None
        bits[: (rows + 7) // 8] = np.packbits(present, bitorder="little")
        nulls = rows - int(np.count_nonzero(present))
    elif present is None:
        nulls = int(bitmap_of_nulls(values, values.dtype.type(null), bits))
    else:
        valid = present & (values != values.dtype.type(null))
        bits[: (rows + 7) // 8] = np.packbits(valid, bitorder="little")
        nulls = rows - int(np.count_nonzero(valid))
    return (pa.py_buffer(bits), nulls) if nulls else (None, 0)


def _floats(values: Array, leaf: FieldLayout, null: int | float | None, present: Mask | None) -> Any:
    missing = np.zeros(len(values), np.bool_) if present is None else ~present
    if null is not None:
        missing = missing | _equal(values, null)
    return pa.array(values.copy(), _number_type(leaf), mask=missing)


def _lists(values: Array, leaf: FieldLayout, present: Mask | None) -> Any:
    flat = pa.array(values.reshape(-1).copy(), _number_type(leaf))
    mask = None if present is None else pa.array(~present)
    return pa.FixedSizeListArray.from_arrays(flat, leaf.count, mask=mask)


def strings(values: Array, encoding: str, present: Mask | None) -> Any:
    """Strings of fixed bytes: up to the first NUL, empty is null."""
    rows, width = len(values), values.dtype.itemsize
    raw = values.view(np.uint8) if rows else np.zeros(0, np.uint8)
    ends = np.zeros(rows + 1, np.int32)
    total = int(measure_strings(raw, width, rows, ends)) if _ascii_based(encoding) else -1
    if total < 0 or present is not None:  # rare: let the plain decoder's own function do it
        texts = [text_of(value.tobytes(), encoding) for value in values]
        if present is not None:
            texts = [text if there else None for text, there in zip(texts, present, strict=True)]
        return pa.array(texts, pa.string())
    packed = np.empty(total, np.uint8)
    pack_strings(raw, width, rows, ends, packed)
    bitmap, nulls = _bitmap(np.diff(ends), 0, None)
    return pa.Array.from_buffers(pa.string(), rows, [bitmap, pa.py_buffer(ends), pa.py_buffer(packed)], nulls)


@cache
def _ascii_based(encoding: str) -> bool:
    """Whether bytes below 0x80 are always the characters of ASCII: not so in UTF-16 or EBCDIC, nor
    in ISO 2022, whose escapes are such bytes."""
    return not encoding.startswith("iso2022") and _ASCII.decode(encoding, "replace") == _ASCII.decode("ascii")


def variable(ends: Array, contents: Array, encoding: str | None) -> Any:
    """Data fields: `contents` holds the bytes of all rows, `ends` where each ends; empty is null."""
    rows = len(ends) - 1
    if encoding is None or (_ascii_based(encoding) and is_plain_text(contents)):
        bitmap, nulls = _bitmap(np.diff(ends), 0, None)
        kind = pa.binary() if encoding is None else pa.string()
        buffers = [bitmap, pa.py_buffer(ends.copy()), pa.py_buffer(contents.copy())]
        return pa.Array.from_buffers(kind, rows, buffers, nulls)
    raw = contents.tobytes()
    return pa.array([data_text(raw[ends[row] : ends[row + 1]], encoding) for row in range(rows)], pa.string())
