"""In which units an instrument's prices and sizes are counted, and what its prices are.

Nearly all are in ten-thousandths and whole numbers; bonds have more places, fractions, and prices that are
rates. A symbol of such an instrument carries its scale, so that whoever has an event can show its numbers.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pregao.model.fixed_income import RATES
from pregao.model.instruments import Instrument
from pregao.model.market import PRICE_EXPONENT, PriceKind

_IN_PERCENT: Final = (*RATES, PriceKind.PERCENTAGE)


@dataclass(frozen=True, slots=True)
class Scale:
    price_exponent: int = PRICE_EXPONENT
    size_exponent: int = 0
    price_kind: PriceKind = PriceKind.PER_UNIT

    @property
    def is_usual(self) -> bool:
        return self.price_exponent == PRICE_EXPONENT and not self.size_exponent

    @property
    def unit(self) -> str:
        """Behind a price: a rate is shown as a rate."""
        return "%" if not self.is_usual and self.price_kind in _IN_PERCENT else ""

    def price(self, mantissa: int) -> Decimal:
        return Decimal(mantissa).scaleb(self.price_exponent)

    def size(self, mantissa: int) -> Decimal:
        return Decimal(mantissa).scaleb(self.size_exponent)

    def size_text(self, mantissa: int) -> str:
        """With as few places as it needs."""
        if not self.size_exponent:
            return f"{mantissa:,}"
        text = f"{self.size(mantissa):,f}"
        return text.rstrip("0").rstrip(".")


USUAL: Final = Scale()


class ScaledSymbol(str):
    """The symbol of an instrument that counts otherwise."""

    scale: Scale = USUAL


def scale_of(symbol: str | None) -> Scale:
    return symbol.scale if isinstance(symbol, ScaledSymbol) else USUAL


def instrument_scale(instrument: Instrument | None) -> Scale:
    if instrument is None:
        return USUAL
    kind = instrument.price_kind or PriceKind.PER_UNIT
    return Scale(instrument.price_exponent, instrument.size_exponent, kind)


def scaled_symbol(instrument: Instrument) -> str:
    scale = instrument_scale(instrument)
    if scale.is_usual:
        return instrument.symbol
    symbol = ScaledSymbol(instrument.symbol)
    symbol.scale = scale
    return symbol
