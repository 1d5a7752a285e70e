"""Prices and sizes with exponents, the slow way: with Python's own decimals, one value at a time."""

from decimal import Decimal

PRICE_PLACES, SIZE_PLACES, EXACT_PLACES = 4, 0, 8
DIGITS = 18  # of a column of exact values


def exact(mantissa: int | None, exponent: int) -> Decimal | None:
    """What it is."""
    return None if mantissa is None else Decimal(mantissa).scaleb(exponent)


def held(value: Decimal | None, places: int) -> Decimal | None:
    """What a column of so many places holds of a value: nothing where it would lose a digit."""
    if value is None:
        return None
    return value if value == round(value, places) else None


def fits(mantissa: int, exponent: int) -> bool:
    """Whether a column of exact values can hold it."""
    return abs(Decimal(mantissa).scaleb(exponent + EXACT_PLACES)) < 10**DIGITS
