"""Numbers of the model as people write them."""

from decimal import Decimal
from enum import Enum

from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, PRICE_SCALE


def price_of(price: int) -> Decimal:
    """A price of the model, which counts ten-thousandths."""
    return Decimal(price).scaleb(PRICE_EXPONENT)


def price_text(price: int | None, places: int = 2) -> str:
    """With so many places at least; "market" for an order at any price."""
    return "market" if price is None else _text(price, -PRICE_EXPONENT, places)


def places_of(tick: int) -> int:
    """How many places prices that are multiples of a tick have, two at least."""
    return max(2, len(str(tick % PRICE_SCALE).rjust(-PRICE_EXPONENT, "0").rstrip("0")))


def fine_text(price: int | None) -> str:
    """Of a price in hundred-millionths."""
    return "-" if price is None else _text(price, -FINE_EXPONENT, 2)


def _text(number: int, scale: int, places: int) -> str:
    sign, digits = "-" if number < 0 else "", str(abs(number)).rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:].rstrip('0').ljust(places, '0')}"


def in_words(value: int) -> str:
    """The name of a value (of flags, their names), or the number where nobody has a name for it."""
    name: str | None = value.name if isinstance(value, Enum) else None
    return f"?{int(value)}" if name is None else name.lower().replace("_", " ").replace("|", " and ")
