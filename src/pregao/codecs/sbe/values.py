"""Raw numbers to the values a person reads: one small converter per kind of field.

A converter takes the unpacked numbers of a block and a list in which it notes what the schema
does not know (an enum value, a bit of a set): kept, flagged, never an error.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from math import isnan
from struct import unpack
from typing import Any

from pregao.codecs.sbe.layout import FieldLayout, ValueKind

Value = int | float | str | Decimal | bytes | None | tuple[Any, ...] | dict[str, Any] | list[Any]
Unknown = tuple[str, int]
Converter = Callable[[Sequence[Any], list[Unknown]], Value]

# Wide enough for any 64-bit mantissa and any 8-bit exponent: arithmetic is exact.
_EXACT = Context(prec=400, Emin=-1000, Emax=1000)


def leaves(field: FieldLayout) -> list[FieldLayout]:
    """The numbers and strings of a field that are on the wire, in order of their place."""
    if field.kind in (ValueKind.COMPOSITE, ValueKind.SCALED):
        return [leaf for member in field.members for leaf in leaves(member)]
    return [field]


def text_of(raw: bytes, encoding: str) -> str | None:
    """A fixed string: up to the first NUL, empty is null; bytes that the encoding does not know
    are shown as escapes, so that nothing is lost and nothing fails."""
    end = raw.find(0)
    body = raw if end < 0 else raw[:end]
    return body.decode(encoding, "backslashreplace") if body else None


def data_text(raw: bytes, encoding: str) -> str | None:
    """The text of a data field, which ends at a NUL too. Cut after decoding: in UTF-16 half of the
    bytes are zero."""
    return raw.decode(encoding, "backslashreplace").partition("\0")[0] or None


def converter(field: FieldLayout, slots: dict[int, int], path: str, order: str) -> Converter:
    """The converter of a field, given the slot of each leaf (by offset) in the unpacked numbers."""
    if field.kind is ValueKind.COMPOSITE:
        return _composite(field, slots, path, order)
    if field.kind is ValueKind.SCALED:
        return _scaled(field, slots)
    slot = slots[field.offset]
    if field.kind is ValueKind.STRING:
        return _string(field, slot)
    if field.kind is ValueKind.ARRAY:
        return _array(field, slot, order)
    if field.kind is ValueKind.DECIMAL:
        return _decimal(field, slot)
    if field.kind is ValueKind.ENUM:
        return _enum(field, slot, path)
    if field.kind is ValueKind.SET:
        return _set(field, slot, path)
    return _number(field, slot)


def _string(field: FieldLayout, slot: int) -> Converter:
    encoding = field.encoding
    if field.count == 1 and field.null:  # a nullValue of its own, beside NUL
        blank = bytes((int(field.null),))
        return lambda raw, _: None if raw[slot] == blank else text_of(raw[slot], encoding)
    return lambda raw, _: text_of(raw[slot], encoding)


def _number(field: FieldLayout, slot: int) -> Converter:
    null, scale = field.null, field.nanoseconds
    if field.kind is ValueKind.FLOAT:
        return lambda raw, _: None if is_null(raw[slot], null) else raw[slot]
    if null is None:
        return lambda raw, _: raw[slot] * scale
    return lambda raw, _: None if raw[slot] == null else raw[slot] * scale


def is_null(value: float, null: float | None) -> bool:
    """Whether a raw number is the null; any NaN is, where the null is NaN."""
    return null is not None and (value == null or (isnan(null) and isnan(value)))


def _decimal(field: FieldLayout, slot: int) -> Converter:
    null, exponent = field.null, field.exponent

    def convert(raw: Sequence[Any], _: list[Unknown]) -> Value:
        mantissa = raw[slot]
        return None if mantissa == null else Decimal(mantissa).scaleb(exponent, _EXACT)

    return convert


def _scaled(field: FieldLayout, slots: dict[int, int]) -> Converter:
    mantissa, exponent = field.members
    first, second = slots[mantissa.offset], slots[exponent.offset]

    def convert(raw: Sequence[Any], _: list[Unknown]) -> Value:
        if raw[first] == mantissa.null or raw[second] == exponent.null:
            return None
        return Decimal(raw[first]).scaleb(raw[second], _EXACT)

    return convert


def _enum(field: FieldLayout, slot: int, path: str) -> Converter:
    names, null = field.names, field.null

    def convert(raw: Sequence[Any], unknown: list[Unknown]) -> Value:
        value = raw[slot]
        name = names.get(value)
        if name is not None:
            return name
        if value == null:
            return None
        unknown.append((path, value))
        return int(value)

    return convert


def _set(field: FieldLayout, slot: int, path: str) -> Converter:
    null, width = field.null, 8 * field.size
    known = [(bit, field.names[bit]) for bit in sorted(field.names)]
    known_mask = sum(1 << bit for bit in field.names)

    def convert(raw: Sequence[Any], unknown: list[Unknown]) -> Value:
        value = raw[slot]
        if value == null:
            return None
        chosen: list[str | int] = [name for bit, name in known if value >> bit & 1]
        rest = value & ~known_mask
        if rest:
            bits = [bit for bit in range(width) if rest >> bit & 1]
            unknown.extend((path, bit) for bit in bits)
            chosen.extend(bits)
        return tuple(chosen)

    return convert


def _array(field: FieldLayout, slot: int, order: str) -> Converter:
    """Elements as sent; an optional array is null when all of them are."""
    form, null = f"{order}{field.count}{field.primitive.code}", field.null

    def convert(raw: Sequence[Any], _: list[Unknown]) -> Value:
        numbers = unpack(form, raw[slot])
        return None if null is not None and all(is_null(n, null) for n in numbers) else numbers

    return convert


def _composite(field: FieldLayout, slots: dict[int, int], path: str, order: str) -> Converter:
    members = [(m.name, converter(m, slots, f"{path}.{m.name}", order)) for m in field.members]
    return lambda raw, unknown: {name: convert(raw, unknown) for name, convert in members}


# A fixed block as one format of the struct module: shared by the decoder and the encoder.


_AS_BYTES = (ValueKind.STRING, ValueKind.ARRAY)


def wire_leaves(fields: Iterable[FieldLayout]) -> list[FieldLayout]:
    """All numbers and strings of some fields, in the order of the wire."""
    return sorted((leaf for field in fields for leaf in leaves(field)), key=lambda leaf: leaf.offset)


def slots_of(wire: Iterable[FieldLayout]) -> dict[int, int]:
    """Which unpacked value lies at which offset."""
    return {leaf.offset: slot for slot, leaf in enumerate(wire)}


def block_format(wire: Iterable[FieldLayout], block_length: int | None = None) -> str:
    """The format without its byte order; padding is `x`, which packs as zeros."""
    parts, end = [], 0
    for leaf in wire:
        parts.append(f"{leaf.offset - end}x" if leaf.offset > end else "")
        parts.append(f"{leaf.size}s" if leaf.kind in _AS_BYTES else leaf.primitive.code)
        end = leaf.offset + leaf.size
    if block_length is not None and block_length > end:
        parts.append(f"{block_length - end}x")
    return "".join(parts)
