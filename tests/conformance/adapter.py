"""One plain description of a schema's messages, made from the package and from the oracle.

Both sides say the same things in the same shape, so that a test can compare them with `==`:
what is on the wire (id, name, place, size), how null is written, and what values are called.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from pregao.codecs.sbe import SbeMessageDecoder, SbeMessageEncoder, load_builtin_schema
from pregao.codecs.sbe.declarations import EnumType, SetType
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from tests.twins.sbe_oracle import OracleSchema
from tests.twins.sbe_schema import Block, Field

PART = {ValueKind.DECIMAL: "mantissa", ValueKind.TIME: "time"}


@dataclass(frozen=True)
class FieldView:
    name: str
    id: int
    offset: int
    size: int
    presence: str
    parts: dict[str, tuple[str, int | None]]  # primitive and null; a plain field is the part ""
    exponent: int | None  # of a decimal
    names: dict[int, str]  # of an enum: by value, of a set: by bit


@dataclass(frozen=True)
class DataView:
    name: str
    id: int
    length_size: int
    charset: str | None


@dataclass(frozen=True)
class BlockView:
    name: str
    id: int
    block_length: int
    fields: list[FieldView]
    constants: dict[str, tuple[int, Any]]
    groups: list[BlockView]
    data: list[DataView]
    dimension: tuple[int, int, int] | None  # of a group: size, size of blockLength, size of numInGroup


def our_view(version: int) -> dict[int, BlockView]:
    """The package's own schema as it reads one wire version."""
    return {i: _our_block(block) for i, block in load_builtin_schema().at(version).messages.items()}


def our_named_values(version: int) -> dict[str, dict[str, int]]:
    """Every enum and set of the package's schema, with the values of one wire version."""
    types = load_builtin_schema().types
    return {
        name: {v.name: v.value for v in kind.values if v.span.holds(version)}
        for name, kind in types.items()
        if isinstance(kind, EnumType | SetType)
    }


def reference_view(schema: OracleSchema) -> dict[int, BlockView]:
    """A schema file as the oracle reads it."""
    return {i: _reference_block(block) for i, block in schema.messages.items()}


def our_json(raw: bytes) -> dict[str, Any] | None:
    """A message decoded by the package, in the values the oracle uses."""
    fields = _decoder().decode(raw).fields
    return None if fields is None else {name: _plain(value) for name, value in fields.items()}


def our_bytes(raw: bytes) -> bytes:
    """A message decoded and encoded again by the package, as the same wire version."""
    message = _decoder().decode(raw)
    assert message.fields is not None
    return _encoder(message.version).encode(message.template_id, message.fields)


@cache
def _encoder(version: int) -> SbeMessageEncoder:
    return SbeMessageEncoder(load_builtin_schema(), version)


@cache
def _decoder() -> SbeMessageDecoder:
    return SbeMessageDecoder(load_builtin_schema())


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _our_block(block: BlockLayout) -> BlockView:
    d = block.dimension
    return BlockView(
        name=block.name,
        id=block.id,
        block_length=block.block_length,
        fields=[_our_field(f) for f in block.fields if f.present],
        constants={name: (block.constant_ids[name], value) for name, value in block.constants.items()},
        groups=[_our_block(g) for g in block.groups if g.present],
        data=[DataView(v.name, v.id, v.length.size, _codec(v.encoding)) for v in block.data],
        dimension=(d.size, d.block_length.size, d.num_in_group.size) if d else None,
    )


def _our_field(f: FieldLayout) -> FieldView:
    return FieldView(
        name=f.name,
        id=f.id,
        offset=f.offset,
        size=f.size,
        presence=f.presence.value,
        parts=dict(_our_parts(f)),
        exponent=f.exponent if f.kind is ValueKind.DECIMAL else None,
        names=dict(f.names),
    )


def _our_parts(f: FieldLayout) -> Iterable[tuple[str, tuple[str, int | None]]]:
    for member in f.members:
        yield from ((_dotted(member.name, part), what) for part, what in _our_parts(member))
    if not f.members:
        # A string has no null value of its own: an empty one is null.
        null = None if f.kind is ValueKind.STRING or f.null is None else int(f.null)
        yield PART.get(f.kind, ""), (f.primitive.name, null)


def _reference_block(block: Block) -> BlockView:
    parts = {m.name: m.size for m in block.dimension.members} if block.dimension else {}
    return BlockView(
        name=block.name,
        id=block.id,
        block_length=block.block_length,
        fields=[_reference_field(f) for f in block.fields],
        constants={f.name: (f.id, f.constant) for f in block.constants},
        groups=[_reference_block(g) for g in block.groups],
        data=[DataView(d.name, d.id, d.length.size, _codec(d.charset)) for d in block.data],
        dimension=(sum(parts.values()), parts["blockLength"], parts["numInGroup"]) if parts else None,
    )


def _reference_field(f: Field) -> FieldView:
    names = {value: name for name, value in f.values.items()}
    return FieldView(f.name, f.id, f.offset, f.size, f.presence, dict(_reference_parts(f)), f.exponent, names)


def _reference_parts(f: Field) -> Iterable[tuple[str, tuple[str, int | None]]]:
    for member in (m for m in f.encoding.members if m.presence != "constant"):
        yield from ((_dotted(member.name, part), what) for part, what in _reference_parts(member))
    if not f.encoding.members:
        yield "", (f.encoding.primitive, f.nulls[""])


def _dotted(*names: str) -> str:
    return ".".join(filter(None, names))


def _codec(charset: str | None) -> str | None:
    return None if charset is None else codecs.lookup(charset).name
