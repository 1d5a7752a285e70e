"""In which units an instrument's prices and sizes are counted, and what its prices are.

Nearly all are in ten-thousandths and whole numbers; bonds have more places, fractions, and prices that are
rates. A symbol of such an instrument carries its scale, so that whoever has an event can show its numbers.
"""

from decimal import Decimal
from typing import Final, NamedTuple

from pregao.model.market import PRICE_EXPONENT, PriceKind

PERCENT_KINDS: Final = (PriceKind.PERCENTAGE, PriceKind.SPREAD, PriceKind.YIELD)


class Scale(NamedTuple):
    """Which powers of ten prices and sizes of an instrument are integers of, and what its prices are."""

    price_exponent: int = PRICE_EXPONENT
    size_exponent: int = 0
    price_kind: PriceKind | None = None

    @property
    def is_usual(self) -> bool:
        return self[:2] == (PRICE_EXPONENT, 0)

    @property
    def unit(self) -> str:
        """Behind a price: a rate is shown as a rate."""
        return "%" if not self.is_usual and self.price_kind in PERCENT_KINDS else ""

    def price(self, mantissa: int) -> Decimal:
        return Decimal(mantissa).scaleb(self.price_exponent)

    def size(self, mantissa: int) -> Decimal:
        return Decimal(mantissa).scaleb(self.size_exponent)

    def price_text(self, mantissa: int) -> str:
        """For people, with as many places as it needs: what is a rate or a percentage says so."""
        exact = self.price(mantissa)
        text = str(exact) if self.is_usual else _short(exact)
        return f"{text} %" if self.price_kind in PERCENT_KINDS else text

    def size_text(self, mantissa: int) -> str:
        """With as few places as it needs."""
        return f"{mantissa:,}" if not self.size_exponent else _short(self.size(mantissa))


USUAL: Final = Scale()


def _short(value: Decimal) -> str:
    """Without zeros at its end, with commas between thousands."""
    whole, _, places = f"{value:,f}".partition(".")
    return f"{whole}.{places.rstrip('0')}".rstrip(".")


class ScaledSymbol(str):
    """The symbol of an instrument that counts otherwise."""

    scale: Scale = USUAL


def scale_of(symbol: str | None) -> Scale:
    return symbol.scale if isinstance(symbol, ScaledSymbol) else USUAL


def scaled_symbol(symbol: str, scale: Scale) -> str:
    if scale.is_usual:
        return symbol
    scaled = ScaledSymbol(symbol)
    scaled.scale = scale
    return scaled
