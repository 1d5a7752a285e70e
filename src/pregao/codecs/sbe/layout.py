"""The layouts of one wire version: where each value lies, how null is written, what it means.

Everything that reads or writes messages (one message at a time, columns, the encoder) is driven
by these and by nothing else. Resolving a block also checks what a file can only contradict once
its fields have places: fields past their block, fields over one another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

from pregao.codecs.sbe.declarations import (
    AnyType,
    BlockDeclaration,
    CompositeType,
    DataDeclaration,
    Dimension,
    EncodedType,
    EnumType,
    FieldDeclaration,
    Presence,
    Primitive,
    SetType,
)
from pregao.model.errors import SchemaError

# The TimeUnit of the standard, by name and by value.
_NANOSECONDS_PER_UNIT = {
    "nanosecond": 1,
    "9": 1,
    "microsecond": 1_000,
    "6": 1_000,
    "millisecond": 1_000_000,
    "3": 1_000_000,
}


class ValueKind(Enum):
    """What a value is to a reader."""

    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"
    DECIMAL = "decimal"  # constant exponent
    TIME = "time"  # constant unit
    ENUM = "enum"
    SET = "set"
    ARRAY = "array"  # numbers, repeated
    COMPOSITE = "composite"  # members of its own
    SCALED = "scaled"  # mantissa and exponent, both on the wire: members of its own


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """One value of a block. `offset` is -1 where this wire version does not have the field yet."""

    name: str
    id: int
    kind: ValueKind
    offset: int
    size: int
    presence: Presence
    primitive: Primitive
    null: int | float | None = None  # the raw value that means null; None: cannot be null
    exponent: int = 0
    nanoseconds: int = 1  # per unit of a time; times in seconds are left as sent
    in_seconds: bool = False
    names: Mapping[int, str] = field(default_factory=dict)  # enum value, or bit of a set
    encoding: str = "ascii"
    count: int = 1
    members: tuple["FieldLayout", ...] = ()
    semantic_type: str | None = None
    deprecated: int | None = None

    @property
    def present(self) -> bool:
        return self.offset >= 0

    def fits(self, block_length: int) -> bool:
        """Whether a block of this length holds the field."""
        return self.offset >= 0 and self.offset + self.size <= block_length


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """A message root or a group entry of one wire version."""

    name: str
    id: int
    block_length: int  # as the schema has it; the wire's own always wins
    fields: tuple[FieldLayout, ...]
    groups: tuple["BlockLayout", ...]
    data: tuple[DataDeclaration, ...]
    constants: Mapping[str, int | float | str]
    constant_ids: Mapping[str, int]
    dimension: Dimension | None = None
    present: bool = True  # False: a group that this version does not have yet
    absent_data: tuple[str, ...] = ()
    deprecated: int | None = None


def block_layout(block: BlockDeclaration, version: int) -> BlockLayout:
    """A message or group as one wire version has it."""
    present = [f for f in block.fields if f.span.holds(version)]
    names = {f.name for f in present}
    fields = []
    for declared in block.fields:
        if declared.presence is Presence.CONSTANT:
            continue
        if declared.span.holds(version):
            fields.append(_field(declared, version, declared.offset))
        elif declared.span.since > version and declared.name not in names:
            names.add(declared.name)  # once, though it may change again later
            fields.append(_field(declared, version, -1))
    present_groups = {g.name for g in block.groups if g.span.holds(version)}
    present_data = {d.name for d in block.data if d.span.holds(version)}
    constants = [f for f in present if f.presence is Presence.CONSTANT and f.constant is not None]
    return BlockLayout(
        name=block.name,
        id=block.id,
        block_length=_checked_block_length(block, version, fields),
        fields=tuple(fields),
        groups=tuple(
            block_layout(g, version)
            for g in block.groups
            if g.span.holds(version) or (g.span.since > version and g.name not in present_groups)
        ),
        data=tuple(d for d in block.data if d.span.holds(version)),
        constants={f.name: f.constant for f in constants if f.constant is not None},
        constant_ids={f.name: f.id for f in constants},
        dimension=block.dimension,
        present=block.span.holds(version),
        absent_data=tuple(
            d.name for d in block.data if d.span.since > version and d.name not in present_data
        ),
        deprecated=block.deprecated,
    )


def _checked_block_length(block: BlockDeclaration, version: int, fields: list[FieldLayout]) -> int:
    end = 0
    for placed in sorted((f for f in fields if f.present), key=lambda f: f.offset):
        if placed.offset < end:
            reason = f"field {placed.name!r} lies over the one before it"
            raise SchemaError(reason, line=block.line, element=block.name)
        end = placed.offset + placed.size
    declared = block.declared_block_length(version)
    if declared is not None and end > declared:
        reason = f"fields reach byte {end}, past blockLength {declared}"
        raise SchemaError(reason, line=block.line, element=block.name)
    return end if declared is None else declared


def _field(declared: FieldDeclaration, version: int, offset: int) -> FieldLayout:
    return replace(
        _layout(declared.type, declared.presence, version, offset),
        name=declared.name,
        id=declared.id,
        semantic_type=declared.semantic_type,
        deprecated=declared.deprecated,
    )


def _layout(kind: AnyType, presence: Presence | None, version: int, offset: int) -> FieldLayout:
    if isinstance(kind, EncodedType):
        return _encoded(kind, presence, offset)
    if isinstance(kind, CompositeType):
        return _composite(kind, presence, version, offset)
    return _named(kind, presence, version, offset)


def _encoded(kind: EncodedType, presence: Presence | None, offset: int) -> FieldLayout:
    effective = presence or kind.presence
    primitive = kind.primitive
    if primitive.name == "char":
        category = ValueKind.STRING
    elif kind.length != 1:
        category = ValueKind.ARRAY
    else:
        category = ValueKind.FLOAT if primitive.is_float else ValueKind.INTEGER
    return FieldLayout(
        name=kind.name,
        id=0,
        kind=category,
        offset=offset,
        size=kind.size,
        presence=effective,
        primitive=primitive,
        null=kind.null_value if effective is Presence.OPTIONAL else None,
        encoding=kind.encoding or "ascii",
        count=kind.length,
    )


def _named(kind: EnumType | SetType, presence: Presence | None, version: int, offset: int) -> FieldLayout:
    names = {v.value: v.name for v in kind.values if v.span.holds(version)}
    null: int | float | None = kind.encoding.null_value
    if isinstance(kind, SetType) or null in names:
        null = None  # a set has no null but no bits; a named value cannot also mean null
    return FieldLayout(
        name=kind.name,
        id=0,
        kind=ValueKind.ENUM if isinstance(kind, EnumType) else ValueKind.SET,
        offset=offset,
        size=kind.size,
        # An enum's encoding type says how null is written, not that the field is optional.
        presence=presence or Presence.REQUIRED,
        primitive=kind.encoding.primitive,
        null=null,
        names=MappingProxyType(names),
    )


def _composite(kind: CompositeType, presence: Presence | None, version: int, offset: int) -> FieldLayout:
    members = tuple(
        replace(_layout(m.type, None, version, offset + m.offset if offset >= 0 else -1), name=m.name)
        for m in kind.members
        if not (isinstance(m.type, EncodedType) and m.type.presence is Presence.CONSTANT)
    )
    constants = {
        m.name: m.type.constant
        for m in kind.members
        if isinstance(m.type, EncodedType) and m.type.presence is Presence.CONSTANT
    }
    # Only whole numbers make a decimal or a time; anything else keeps its members.
    names = [m.name for m in members if m.kind is ValueKind.INTEGER] if len(members) <= 2 else []
    if names == ["mantissa"] and len(members) == 1 and isinstance(constants.get("exponent"), int):
        return _single(
            kind, members[0], presence, ValueKind.DECIMAL, exponent=int(constants["exponent"] or 0)
        )
    if names == ["time"] and len(members) == 1 and "unit" in constants:
        unit = str(constants["unit"]).lower()
        nanoseconds = _NANOSECONDS_PER_UNIT.get(unit)
        time = _single(kind, members[0], presence, ValueKind.TIME, nanoseconds=nanoseconds or 1)
        return replace(time, in_seconds=nanoseconds is None)
    category = ValueKind.COMPOSITE
    if names == ["mantissa", "exponent"] and members[1].size == 1:
        category = ValueKind.SCALED
        if presence is Presence.OPTIONAL and members[0].null is None:
            members = (replace(members[0], null=members[0].primitive.null), members[1])
    return FieldLayout(
        name=kind.name,
        id=0,
        kind=category,
        offset=offset,
        size=kind.size,
        presence=presence or Presence.REQUIRED,
        primitive=members[0].primitive if members else _nothing(),
        members=members,
    )


def _single(
    kind: CompositeType,
    member: FieldLayout,
    presence: Presence | None,
    category: ValueKind,
    exponent: int = 0,
    nanoseconds: int = 1,
) -> FieldLayout:
    """A composite that is one number on the wire: the member's null holds, and an optional field of
    a required member has the default null of its primitive."""
    null = member.null
    if null is None and presence is Presence.OPTIONAL:
        null = member.primitive.null
    return FieldLayout(
        name=kind.name,
        id=0,
        kind=category,
        offset=member.offset,
        size=member.size,
        presence=presence or Presence.REQUIRED,
        primitive=member.primitive,
        null=null,
        exponent=exponent,
        nanoseconds=nanoseconds,
    )


def _nothing() -> Primitive:
    return Primitive("none", 0, "x", null=0, minimum=0, maximum=0)
