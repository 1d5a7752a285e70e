"""What a FAST template file says, as plain data, for the decoder, the encoder and the kernels' plan.

Static template references are already resolved: the instructions of the template stand in their place.
Where an operator has a previous value, the instruction knows the number of its entry (`slot`): dictionary,
key and namespace are told apart once, when the file is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

NO_SLOT = -1


class FastType(IntEnum):
    INT32 = 0
    UINT32 = 1
    INT64 = 2
    UINT64 = 3
    DECIMAL = 4
    ASCII = 5
    UNICODE = 6
    BYTES = 7

    @property
    def is_integer(self) -> bool:
        return self <= FastType.UINT64

    @property
    def is_signed(self) -> bool:
        return self is FastType.INT32 or self is FastType.INT64

    @property
    def minimum(self) -> int:
        return _MINIMA[self]

    @property
    def maximum(self) -> int:
        return _MAXIMA[self]


_MINIMA: Final = (-(1 << 31), 0, -(1 << 63), 0, 0, 0, 0, 0)
_MAXIMA: Final = tuple((1 << bits) - 1 for bits in (31, 32, 63, 64, 64, 64, 64, 64))


class Operator(IntEnum):
    NONE = 0
    CONSTANT = 1
    DEFAULT = 2
    COPY = 3
    INCREMENT = 4
    DELTA = 5
    TAIL = 6

    @property
    def remembers(self) -> bool:
        """Whether it has a previous value."""
        return self >= Operator.COPY


class Scaled(NamedTuple):
    """A decimal as FAST sends it: mantissa × 10^exponent. 2.50 and 2.5 are not the same bytes."""

    mantissa: int
    exponent: int

    def __str__(self) -> str:
        """With as many decimals as the exponent says; far exponents in scientific notation."""
        sign, digits = ("-" if self.mantissa < 0 else ""), str(abs(self.mantissa))
        if not -63 <= self.exponent <= 63:
            return f"{self.mantissa}E{self.exponent:+d}"
        if self.exponent >= 0:
            return sign + (digits + "0" * self.exponent if self.mantissa else "0")
        digits = digits.rjust(1 - self.exponent, "0")
        return f"{sign}{digits[: self.exponent]}.{digits[self.exponent :]}"


# Strings are bytes inside the codec: operators work on bytes, and previous values are what was sent.
Raw = int | Scaled | bytes


@dataclass(frozen=True, slots=True)
class Field:
    """A primitive field, or a part of one: an exponent, a mantissa, the length of a sequence."""

    name: str
    id: str
    type: FastType
    optional: bool
    operator: Operator = Operator.NONE
    initial: Raw | None = None
    slot: int = NO_SLOT

    @property
    def has_bit(self) -> bool:
        """Whether it takes a bit of the presence map (10.5.1 of the standard)."""
        if self.operator is Operator.CONSTANT:
            return self.optional
        return self.operator not in (Operator.NONE, Operator.DELTA)

    @property
    def least_bytes(self) -> int:
        """In the stream, whatever its value."""
        sizes = {Operator.NONE: 1, Operator.DELTA: 1}
        return sizes.get(self.operator, 0)


@dataclass(frozen=True, slots=True)
class SplitDecimal:
    """A decimal whose exponent and mantissa have operators of their own. The mantissa is only there, and only
    has its bit, where the exponent is."""

    name: str
    id: str
    optional: bool
    exponent: Field
    mantissa: Field

    @property
    def has_bit(self) -> bool:
        return self.exponent.has_bit or self.mantissa.has_bit

    @property
    def least_bytes(self) -> int:
        return self.exponent.least_bytes + (0 if self.optional else self.mantissa.least_bytes)


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    id: str
    optional: bool
    instructions: tuple["Instruction", ...]

    @property
    def has_map(self) -> bool:
        return any(each.has_bit for each in self.instructions)

    @property
    def has_bit(self) -> bool:
        return self.optional

    @property
    def least_bytes(self) -> int:
        return 0 if self.optional else least_bytes(self)


@dataclass(frozen=True, slots=True)
class Sequence:
    name: str
    id: str
    length: Field  # optional where the sequence is
    instructions: tuple["Instruction", ...]

    @property
    def optional(self) -> bool:
        return self.length.optional

    @property
    def has_map(self) -> bool:
        return any(each.has_bit for each in self.instructions)

    @property
    def has_bit(self) -> bool:
        return self.length.has_bit

    @property
    def least_bytes(self) -> int:
        return self.length.least_bytes


@dataclass(frozen=True, slots=True)
class DynamicReference:
    """A message in the message: a presence map, a template id and its fields."""

    name: str  # ours: the standard has none
    number: int  # among all of the file
    has_bit: bool = False
    least_bytes: int = 1


Instruction = Field | SplitDecimal | Group | Sequence | DynamicReference


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    id: int
    instructions: tuple[Instruction, ...]
    line: int = 0


@dataclass(frozen=True)
class Templates:
    """A template file. `slots` are the entries of all dictionaries: (dictionary, namespace, key)."""

    by_id: Mapping[int, Template]
    by_name: Mapping[str, Template]
    slots: tuple[tuple[str, str, str], ...]
    references: int = 0  # dynamic ones
    file: str = ""
    unnumbered: tuple[Template, ...] = field(default=())  # only to be referred to

    def __iter__(self) -> Iterator[Template]:
        return iter(self.by_id.values())


def least_bytes(owner: Group | Sequence) -> int:
    """Of one element of a sequence, or of a group that is there."""
    return owner.has_map + sum(each.least_bytes for each in owner.instructions)
