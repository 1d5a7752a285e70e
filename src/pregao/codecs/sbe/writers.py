"""The values a person reads to raw numbers: the inverse of `values`, one small writer per kind.

A writer puts its numbers into the slots of a block, or raises `UnfitError` with the reason. It takes
what the converter of its kind gives, so that what was decoded can be encoded again, and refuses
whatever would be read back as something else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from struct import pack, unpack
from typing import Any

from pregao.codecs.sbe.decimals import (
    Raw,
    UnfitError,
    Writer,
    checked,
    decimal_raw,
    integer_of,
    refuse,
    scaled,
)
from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.codecs.sbe.values import is_null


def writer(field: FieldLayout, slots: Mapping[int, int], path: str, order: str) -> Writer:
    """The writer of a field, given the slot of each leaf (by offset) in the numbers to pack."""
    if field.kind is ValueKind.COMPOSITE:
        return _composite(field, slots, path, order)
    if field.kind is ValueKind.SCALED:
        return scaled(field, slots, path)
    slot = slots[field.offset]
    null = null_of(field, order)
    convert = _raw(field, path, order)

    def write(value: Any, into: list[Raw]) -> None:
        if value is not None:
            into[slot] = convert(value)
        elif null is not None:
            into[slot] = null
        else:
            raise UnfitError("cannot be null", path)

    return write


def absent(path: str) -> Writer:
    """The writer of a field that this version does not have."""

    def write(value: Any, _: list[Raw]) -> None:
        if value is not None:
            raise UnfitError("this version does not have it", path)

    return write


def null_of(field: FieldLayout, order: str) -> Raw | None:
    """The raw null of a single field, or None where it has none."""
    if field.kind is ValueKind.STRING:
        return b""  # packs as NULs
    if field.kind is ValueKind.ARRAY and field.null is not None:
        return pack(order + field.primitive.code, field.null) * field.count
    return field.null


def _raw(field: FieldLayout, path: str, order: str) -> Callable[[Any], Raw]:
    if field.kind is ValueKind.STRING:
        return _string(field, path)
    if field.kind is ValueKind.ARRAY:
        return _array(field, path, order)
    if field.kind is ValueKind.DECIMAL:
        return decimal_raw(field, path)
    if field.kind is ValueKind.ENUM:
        return _enum(field, path)
    if field.kind is ValueKind.SET:
        return _set(field, path)
    if field.kind is ValueKind.FLOAT:
        return _float(field, path)
    return _integer(field, path)


def _integer(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    check, unit = checked(field, path), field.nanoseconds

    def convert(value: Any) -> Raw:
        number = value if type(value) is int else integer_of(value, path)
        if unit == 1:
            return check(number)
        whole, rest = divmod(number, unit)
        return check(whole) if not rest else refuse(f"{number} ns is no multiple of {unit} ns", path)

    return convert


def _float_of(field: FieldLayout, path: str) -> Callable[[Any], float]:
    """A float as the wire will have it: a 4-byte one is rounded."""
    top, code = field.primitive.maximum, field.primitive.code

    def convert(value: Any) -> float:
        if isinstance(value, bool | str | bytes):
            raise UnfitError(f"{value!r} is not a number", path)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise UnfitError(f"{value!r} is not a number", path) from None
        if isfinite(number) and abs(number) > top:
            raise UnfitError(f"{number} does not fit {field.primitive.name}", path)
        return float(unpack(code, pack(code, number))[0])

    return convert


def _float(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    float_of = _float_of(field, path)

    def convert(value: Any) -> Raw:
        number = float_of(value)
        return refuse(f"{number} would be read as null", path) if is_null(number, field.null) else number

    return convert


def _string(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    encoding, size = field.encoding, field.size
    blank = bytes((int(field.null),)) if field.count == 1 and field.null else b""

    def convert(value: Any) -> Raw:
        if not isinstance(value, str):
            raise UnfitError(f"{value!r} is not a string", path)
        raw = encoded(value, encoding, path)
        if len(raw) > size:
            raise UnfitError(f"{value!r} is longer than {size} bytes", path)
        if 0 in raw:
            raise UnfitError(f"{value!r} has a NUL, which ends a fixed string", path)
        return refuse(f"{value!r} would be read as null", path) if raw in (b"", blank) else raw

    return convert


def encoded(text: str, encoding: str, path: str) -> bytes:
    try:
        return text.encode(encoding)
    except ValueError:
        raise UnfitError(f"{text!r} cannot be written in {encoding}", path) from None


def _array(field: FieldLayout, path: str, order: str) -> Callable[[Any], Raw]:
    form = f"{order}{field.count}{field.primitive.code}"
    low, high = field.primitive.minimum, field.primitive.maximum
    float_of = _float_of(field, path)

    def element(value: Any) -> int | float:
        if field.primitive.is_float:
            return float_of(value)
        number = integer_of(value, path)
        return number if low <= number <= high else refuse(f"{number} does not fit the array", path)

    def convert(value: Any) -> Raw:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != field.count:
            raise UnfitError(f"must be a sequence of {field.count} numbers", path)
        numbers = [element(item) for item in value]
        if all(is_null(number, field.null) for number in numbers):
            raise UnfitError("all elements are null: would be read as null", path)
        return pack(form, *numbers)

    return convert


def _enum(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    by_name = {name: value for value, name in field.names.items()}
    check = checked(field, path)

    def convert(value: Any) -> Raw:
        if isinstance(value, str):
            raw = by_name.get(value)
            return raw if raw is not None else refuse(f"no value is called {value!r}", path)
        return check(integer_of(value, path))

    return convert


def _set(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    by_name = {name: bit for bit, name in field.names.items()}
    check, width = checked(field, path), 8 * field.size

    def convert(value: Any) -> Raw:
        if not isinstance(value, Iterable) or isinstance(value, str | bytes):
            raise UnfitError(f"{value!r} is not a set of names and bits", path)
        raw = 0
        for choice in value:
            bit = by_name.get(choice, -1) if isinstance(choice, str) else integer_of(choice, path)
            if not 0 <= bit < width:
                raise UnfitError(f"no bit {choice!r}", path)
            raw |= 1 << bit
        return check(raw)

    return convert


def _composite(field: FieldLayout, slots: Mapping[int, int], path: str, order: str) -> Writer:
    members = [(m.name, writer(m, slots, f"{path}.{m.name}", order)) for m in field.members]
    known = {name for name, _ in members}

    def write(value: Any, into: list[Raw]) -> None:
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise UnfitError(f"{value!r} is not a mapping of members", path)
        if not value.keys() <= known:
            raise UnfitError(f"unknown members {sorted(map(str, value.keys() - known))}", path)
        for name, write_member in members:
            write_member(value.get(name), into)

    return write
