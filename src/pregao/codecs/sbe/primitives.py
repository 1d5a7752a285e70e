"""The primitive types of SBE 1.0: size, struct code, range and the value that means null."""

from dataclasses import dataclass
from math import nan


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
