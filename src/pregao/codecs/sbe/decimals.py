"""Decimals to mantissas, exactly or not at all."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal, InvalidOperation
from operator import index
from typing import Any, Never

from pregao.codecs.sbe.layout import FieldLayout

# What every writer refuses: values that are not numbers, do not fit, or would be read as null.


Raw = int | float | bytes
Writer = Callable[[Any, list[Raw]], None]


class UnfitError(Exception):
    """A value that its field cannot carry; `path` leads to it from the block."""

    def __init__(self, reason: str, path: str) -> None:
        self.reason, self.path = reason, path
        super().__init__(f"{path}: {reason}")


def refuse(reason: str, path: str) -> Never:
    raise UnfitError(reason, path)


def integer_of(value: Any, path: str) -> int:
    if isinstance(value, bool):
        raise UnfitError(f"{value} is not an integer", path)
    try:
        return index(value)
    except TypeError:
        raise UnfitError(f"{value!r} is not an integer", path) from None


def checked(field: FieldLayout, path: str) -> Callable[[int], int]:
    """Refuses raw integers out of range, and the one that would be read as null."""
    low, high, null, name = field.primitive.minimum, field.primitive.maximum, field.null, field.primitive.name

    def check(raw: int) -> int:
        if not low <= raw <= high:
            raise UnfitError(f"{raw} does not fit {name}", path)
        if raw == null:
            raise UnfitError(f"{raw} would be read as null", path)
        return raw

    return check


_EXACT = Context(prec=400, Emin=-1000, Emax=1000)


def decimal_of(value: Any, path: str) -> Decimal:
    """A finite decimal. Floats are refused: they rarely are the number that was meant."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise UnfitError(f"{value!r} is not a decimal", path)
    try:
        number = value if isinstance(value, Decimal) else Decimal(value)
    except InvalidOperation:
        raise UnfitError(f"{value!r} is not a decimal", path) from None
    # Wider than this and the exact arithmetic below would not be exact, or not end.
    if not number.is_finite() or abs(number.adjusted()) > 300 or len(number.as_tuple().digits) > 300:
        raise UnfitError(f"{str(value)[:40]!r} is no decimal that any field can carry", path)
    return number


def decimal_raw(field: FieldLayout, path: str) -> Callable[[Any], Raw]:
    check, exponent = checked(field, path), field.exponent

    def convert(value: Any) -> Raw:
        scaled = decimal_of(value, path).scaleb(-exponent, _EXACT)
        mantissa = int(scaled)
        if mantissa != scaled:
            raise UnfitError(f"{value} is no multiple of 1E{exponent}", path)
        return check(mantissa)

    return convert


def scaled(field: FieldLayout, slots: Mapping[int, int], path: str) -> Writer:
    """Mantissa and exponent both on the wire: as written where that fits, else the next that does."""
    mantissa, exponent = field.members
    first, second = slots[mantissa.offset], slots[exponent.offset]
    exponents = range(int(exponent.primitive.minimum), int(exponent.primitive.maximum) + 1)

    def fits(number: int, power: int) -> bool:
        low, high = mantissa.primitive.minimum, mantissa.primitive.maximum
        in_range = low <= number <= high and power in exponents
        return in_range and number != mantissa.null and power != exponent.null

    def write(value: Any, into: list[Raw]) -> None:
        if value is None:
            if mantissa.null is None and exponent.null is None:
                raise UnfitError("cannot be null", path)
            into[first] = 0 if mantissa.null is None else mantissa.null
            into[second] = 0 if exponent.null is None else exponent.null
            return
        for number, power in _forms(decimal_of(value, path)):
            if fits(number, power):
                into[first], into[second] = number, power
                return
        raise UnfitError(f"{value} fits no mantissa and exponent", path)

    return write


def _forms(value: Decimal) -> Iterable[tuple[int, int]]:
    """Mantissas and exponents that are this value: its own first, then the shortest and longer."""
    sign, digits, power = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    assert isinstance(power, int)  # finite
    yield number, power
    if number == 0:
        yield from ((0, other) for other in (0, 1))
        return
    while number % 10 == 0:
        number, power = number // 10, power + 1
    for _ in range(40):  # more digits than any mantissa has
        yield number, power
        number, power = number * 10, power - 1
