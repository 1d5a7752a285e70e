"""Parquet's headers and footers: structures in Thrift's compact protocol, as far as Parquet needs it.

A structure is a list of fields by number; what is None is left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_TRUE, _FALSE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 5, 6, 8, 9, 12
_BYTE: Final = 3
_LONG_LIST: Final = 15
_SEVEN_BITS: Final = 127


@dataclass(slots=True)
class Long:
    """A number of 64 bits; plain ones have 32."""

    value: int


@dataclass(slots=True)
class Byte:
    value: int


@dataclass(slots=True)
class Struct:
    fields: tuple[tuple[int, "Value"], ...]


Value = int | bool | str | bytes | Long | Byte | Struct | Sequence["Value"] | None


def encoded(struct: Struct) -> bytes:
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


def varint(value: int) -> bytes:
    out = bytearray()
    _put_varint(out, value)
    return bytes(out)


def _put_varint(out: bytearray, value: int) -> None:
    while value > _SEVEN_BITS:
        out.append(value & _SEVEN_BITS | 128)
        value >>= 7
    out.append(value)


def _put_number(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _put_struct(out: bytearray, struct: Struct) -> None:
    """Numbers of fields rise by less than 16."""
    before = 0
    for number, value in struct.fields:
        if value is not None:
            out.append(number - before << 4 | _kind(value))
            _put(out, value)
            before = number
    out.append(0)


def _kind(value: Value) -> int:
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    return _KINDS.get(type(value), _LIST)


def _put(out: bytearray, value: Value) -> None:
    """What a field is, the kind of which is told: of True and False that is all."""
    kind = type(value)
    if kind is int:
        _put_number(out, value)  # type: ignore[arg-type]
    elif kind is Struct:
        _put_struct(out, value)  # type: ignore[arg-type]
    elif isinstance(value, Long):
        _put_number(out, value.value)
    elif isinstance(value, Byte):
        out += value.value.to_bytes(1, "little", signed=True)
    elif isinstance(value, str | bytes):
        text = value.encode() if isinstance(value, str) else value
        _put_varint(out, len(text))
        out += text
    elif isinstance(value, list):
        _put_list(out, value)


def _put_list(out: bytearray, values: Sequence[Value]) -> None:
    kind = _kind(values[0]) if values else _I32
    if len(values) < _LONG_LIST:
        out.append(len(values) << 4 | kind)
    else:
        out.append(_LONG_LIST << 4 | kind)
        _put_varint(out, len(values))
    for value in values:
        _put(out, value)


_KINDS: Final[dict[type, int]] = {
    int: _I32, Long: _I64, Byte: _BYTE, str: _BINARY, bytes: _BINARY, Struct: _STRUCT
}  # fmt: skip
