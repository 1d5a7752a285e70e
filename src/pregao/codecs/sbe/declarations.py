"""What a schema file declares, before any version is chosen.

The words are those of the SBE standard. One thing is ours: every element has a `VersionSpan` of wire
versions (`sinceVersion` of the standard, `untilVersion` of our history attributes).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import nan

# The primitive types of SBE 1.0: size, struct code, range and the value that means null.


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive as the standard defines it. `null` is the default null of its optional form."""

    name: str
    size: int
    code: str  # of the struct module
    null: int | float
    minimum: int | float
    maximum: int | float

    @property
    def is_float(self) -> bool:
        return self.code in "fd"

    @property
    def is_signed(self) -> bool:
        return self.code in "bhiq"


def _signed(name: str, size: int, code: str) -> Primitive:
    half = 1 << (8 * size - 1)
    return Primitive(name, size, code, null=-half, minimum=-half, maximum=half - 1)


def _unsigned(name: str, size: int, code: str) -> Primitive:
    top = (1 << (8 * size)) - 1
    return Primitive(name, size, code, null=top, minimum=0, maximum=top)


_FLOAT_TOP = 3.4028234663852886e38
_DOUBLE_TOP = 1.7976931348623157e308

PRIMITIVES: dict[str, Primitive] = {
    primitive.name: primitive
    for primitive in (
        Primitive("char", 1, "B", null=0, minimum=0, maximum=255),
        _signed("int8", 1, "b"),
        _signed("int16", 2, "h"),
        _signed("int32", 4, "i"),
        _signed("int64", 8, "q"),
        _unsigned("uint8", 1, "B"),
        _unsigned("uint16", 2, "H"),
        _unsigned("uint32", 4, "I"),
        _unsigned("uint64", 8, "Q"),
        Primitive("float", 4, "f", null=nan, minimum=-_FLOAT_TOP, maximum=_FLOAT_TOP),
        Primitive("double", 8, "d", null=nan, minimum=-_DOUBLE_TOP, maximum=_DOUBLE_TOP),
    )
}


FOREVER = 1 << 16  # one more than any version that fits the wire


class Presence(Enum):
    REQUIRED = "required"
    OPTIONAL = "optional"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """The wire versions that have an element: `since <= version < until`."""

    since: int = 0
    until: int = FOREVER

    def holds(self, version: int) -> bool:
        return self.since <= version < self.until

    def overlaps(self, other: "VersionSpan") -> bool:
        return self.since < other.until and other.since < self.until


@dataclass(frozen=True, slots=True)
class EncodedType:
    """A `<type>`: a primitive, perhaps repeated, with its own presence and null."""

    name: str
    primitive: Primitive
    length: int = 1
    presence: Presence = Presence.REQUIRED
    null: int | float | None = None  # declared nullValue
    constant: int | float | str | None = None
    minimum: int | float | None = None  # declared minValue and maxValue
    maximum: int | float | None = None
    encoding: str | None = None
    semantic_type: str | None = None
    deprecated: int | None = None

    @property
    def size(self) -> int:
        return 0 if self.presence is Presence.CONSTANT else self.primitive.size * self.length

    @property
    def null_value(self) -> int | float:
        return self.primitive.null if self.null is None else self.null


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A validValue of an enum, or a choice of a set (then `value` is the bit)."""

    name: str
    value: int
    span: VersionSpan
    deprecated: int | None = None


@dataclass(frozen=True, slots=True)
class EnumType:
    name: str
    encoding: EncodedType
    values: tuple[NamedValue, ...]
    semantic_type: str | None = None

    @property
    def size(self) -> int:
        return self.encoding.primitive.size


@dataclass(frozen=True, slots=True)
class SetType:
    name: str
    encoding: EncodedType
    values: tuple[NamedValue, ...]
    semantic_type: str | None = None

    @property
    def size(self) -> int:
        return self.encoding.primitive.size


@dataclass(frozen=True, slots=True)
class CompositeMember:
    """A member of a composite, at its offset in it."""

    name: str
    offset: int
    type: "AnyType"


@dataclass(frozen=True, slots=True)
class CompositeType:
    name: str
    members: tuple[CompositeMember, ...]
    semantic_type: str | None = None

    @property
    def size(self) -> int:
        return max((member.offset + member.type.size for member in self.members), default=0)

    def member(self, name: str) -> CompositeMember | None:
        return next((member for member in self.members if member.name == name), None)


AnyType = EncodedType | EnumType | SetType | CompositeType


@dataclass(frozen=True, slots=True)
class FieldDeclaration:
    name: str
    id: int
    type: AnyType
    presence: Presence | None  # None: as the type says
    offset: int  # declared, or after the field before
    span: VersionSpan
    constant: int | float | str | None = None
    deprecated: int | None = None
    semantic_type: str | None = None


@dataclass(frozen=True, slots=True)
class DataDeclaration:
    """A `<data>` element: a length and that many bytes."""

    name: str
    id: int
    length: Primitive
    length_offset: int
    header_size: int  # bytes before the data
    maximum: int  # most bytes the length may say, for the encoder
    encoding: str | None  # None: plain bytes
    span: VersionSpan


@dataclass(frozen=True, slots=True)
class Dimension:
    """How a group says its entry size and count."""

    size: int
    block_length: Primitive
    block_length_offset: int
    num_in_group: Primitive
    num_in_group_offset: int


@dataclass(frozen=True, slots=True)
class BlockDeclaration:
    """The fixed block, groups and data of a message root or of a group entry."""

    name: str
    id: int
    span: VersionSpan
    fields: tuple[FieldDeclaration, ...]
    groups: tuple["BlockDeclaration", ...]
    data: tuple[DataDeclaration, ...]
    block_lengths: tuple[tuple[int, int], ...]  # (from version, length), declared; may be empty
    dimension: Dimension | None = None  # of a group
    semantic_type: str | None = None
    deprecated: int | None = None
    line: int = 0  # in the file, for errors that only show once fields have places

    def declared_block_length(self, version: int) -> int | None:
        """The declared length that holds for a version, if the file says one."""
        return next((length for since, length in reversed(self.block_lengths) if since <= version), None)


@dataclass(frozen=True, slots=True)
class HeaderLayout:
    """Where the message header keeps the four numbers a decoder needs."""

    size: int
    block_length: tuple[int, Primitive]
    template_id: tuple[int, Primitive]
    schema_id: tuple[int, Primitive]
    version: tuple[int, Primitive]

    def members(self) -> Iterator[tuple[int, Primitive]]:
        yield from (self.block_length, self.template_id, self.schema_id, self.version)

    @property
    def is_plain(self) -> bool:
        """The eight bytes that B3 and most others use."""
        places = [(offset, primitive.code) for offset, primitive in self.members()]
        return self.size == 8 and places == [(0, "H"), (2, "H"), (4, "H"), (6, "H")]
