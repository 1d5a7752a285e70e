"""Columns back to values: one leaf of a table at a time, from raw arrays and what is null in them.

Written apart from `codecs.sbe.values` on purpose: the columns must say everything by themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np

from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.codecs.sbe.plan import SchemaColumn
from pregao.feeds.binary.batch import TableColumns

_EXACT = Context(prec=400, Emin=-1000, Emax=1000)

Layouts = dict[int, BlockLayout]  # by epoch


@dataclass(slots=True)
class Leaf:
    """A column as Python values: `raw` as sent (strings as bytes), and which rows have a value."""

    raw: list[Any]
    valid: list[bool]

    def values(self, epochs: list[int], converters: dict[int, Callable[[Any], Any]]) -> list[Any]:
        rows = zip(self.raw, self.valid, epochs, strict=True)
        return [converters[epoch](raw) if valid else None for raw, valid, epoch in rows]


def read_leaf(table: TableColumns, column: SchemaColumn) -> Leaf:
    """The raw values of a column and which of them are there, by `validity` alone."""
    validity = table.validity(column.name)
    array = table[column.name]
    if validity is None:
        return Leaf([None] * len(table), [False] * len(table))
    valid = np.ones(len(table), bool) if validity.present is None else validity.present
    if array.dtype.kind == "V":
        width, everything = array.dtype.itemsize, array.tobytes()
        raw = [everything[at : at + width] for at in range(0, len(everything), width)]
        texts = [_is_text(value, validity.null) for value in raw]
        return Leaf(raw, [a and b for a, b in zip(valid.tolist(), texts, strict=True)])
    if validity.null is not None:
        null = validity.null
        same = np.isnan(array) if null != null else array == array.dtype.type(null)
        valid = valid & ~(same.all(axis=1) if array.ndim > 1 else same)
    raw = array.tolist()
    return Leaf([tuple(v) for v in raw] if array.ndim > 1 else raw, valid.tolist())


def _is_text(raw: bytes, null: float | None) -> bool:
    """An empty string is null; one character may have a null of its own."""
    return raw[0] != 0 and not (len(raw) == 1 and null is not None and raw[0] == null)


def leaf_of(layout: BlockLayout, path: str) -> FieldLayout | None:
    """The leaf of a dotted name as a version has it; None where it does not."""
    first, *rest = path.split(".")
    found = next((f for f in layout.fields if f.name == first), None)
    for name in rest:
        found = None if found is None else next((m for m in found.members if m.name == name), None)
    return found if found is not None and found.present else None


def converter(leaf: FieldLayout) -> Callable[[Any], Any]:
    """From a raw value to what a person reads, as a version has it."""
    if leaf.kind is ValueKind.STRING:
        return lambda raw: text(raw, leaf.encoding)
    if leaf.kind is ValueKind.DECIMAL:
        return lambda raw: Decimal(raw).scaleb(leaf.exponent, _EXACT)
    if leaf.kind is ValueKind.TIME:
        return lambda raw: raw * leaf.nanoseconds
    if leaf.kind is ValueKind.ENUM:
        names = dict(leaf.names)
        return lambda raw: names.get(raw, raw)
    if leaf.kind is ValueKind.SET:
        names = dict(leaf.names)
        bits = range(8 * leaf.size)
        return lambda raw: _choices(raw, names, bits)
    return lambda raw: raw


def text(raw: bytes, encoding: str) -> str | None:
    body = raw.split(b"\0")[0]
    return body.decode(encoding, "backslashreplace") if body else None


def data_value(raw: bytes, encoding: str | None) -> str | bytes | None:
    """A data field: bytes, or text that ends at the first NUL character."""
    if encoding is None:
        return raw or None
    return raw.decode(encoding, "backslashreplace").split("\0")[0] or None


def _choices(raw: int, names: dict[int, str], bits: range) -> tuple[str | int, ...]:
    chosen = [bit for bit in bits if raw >> bit & 1]
    return (*(names[b] for b in chosen if b in names), *(b for b in chosen if b not in names))


def scaled(mantissa: int | None, exponent: int | None) -> Decimal | None:
    """A number that brings its own exponent."""
    return None if mantissa is None or exponent is None else Decimal(mantissa).scaleb(exponent, _EXACT)
