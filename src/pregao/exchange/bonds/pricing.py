"""Unit prices of Brazilian bonds from their rates, to the last digit that the market keeps.

All arithmetic is of decimals, never of binary fractions. Time is business days over 252, cut at 14
places. A coupon is rounded to 6 places (NTN-F: 5), a discounted flow to 10 (NTN-F: 9). A quotation, per 100
of the nominal value (VNA), is cut at 4 places, a price at 6. Rates are percents a year, as they are quoted.

| bond | pays | price |
|---|---|---|
| LTN | 1,000 at the end | discounted |
| NTN-F | 10 % a year, half-yearly, and 1,000 | the sum of the discounted flows |
| NTN-B | 6 % of the VNA (IPCA), half-yearly, and the VNA | quotation × VNA |
| NTN-C | as NTN-B, with the IGP-M; that of 2031 pays 12 % | quotation × VNA |
| LFT | the VNA (Selic) at the end | quotation × VNA |
"""

from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final

from pregao.model.errors import PregaoError
from pregao.model.fixed_income import BondKind
from pregao.model.holidays import calendar_of

DAYS_A_YEAR: Final = 252
_FACE: Final = Decimal(1000)
_BASE: Final = Decimal(100)
_ONE: Final = Decimal(1)
_YEAR_PLACES, _QUOTATION_PLACES, _PRICE_PLACES, _MONEY_PLACES = 14, 4, 6, 2
_LAST_COUPON_DAY: Final = 28  # later days are not in every month; no bond pays on them
# A power is worked out with more digits than are kept, so that one that is exact (1.21 ** 0.5) stays so.
_WORKING: Final = Context(prec=44)
_KEPT: Final = Context(prec=36)


class PricingError(PregaoError):
    """A bond that cannot be priced with what is given."""


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a kind of bond pays, per `base`."""

    base: Decimal
    coupon_percent: int = 0
    coupon_places: int = 6
    flow_places: int = 10
    indexed: bool = True  # quoted per 100 of the VNA

    @property
    def coupon(self) -> Decimal:
        """Half a year's, compounded."""
        if not self.coupon_percent:
            return Decimal(0)
        half_year = _WORKING.sqrt(_ONE + Decimal(self.coupon_percent) / 100) - 1
        return _rounded(self.base * half_year, self.coupon_places)


_TERMS: Final = {
    BondKind.LTN: _Terms(_FACE, indexed=False),
    BondKind.NTNF: _Terms(_FACE, 10, coupon_places=5, flow_places=9, indexed=False),
    BondKind.NTNB: _Terms(_BASE, 6),
    BondKind.NTNC: _Terms(_BASE, 6),
    BondKind.LFT: _Terms(_BASE),
}
_NTNC_OF_2031: Final = _Terms(_BASE, 12)


@dataclass(frozen=True, slots=True)
class Fixings:
    """What prices of one date need besides rates. `vna`: the nominal value of a kind of bond; `par`: that of
    a corporate bond, by symbol; `rates`: of futures under casadas, by symbol, in percent."""

    settlement: date
    vna: dict[BondKind, Decimal] = field(default_factory=dict)
    par: dict[str, Decimal] = field(default_factory=dict)
    rates: dict[str, Decimal] = field(default_factory=dict)


def years(settlement: date, due: date) -> Decimal:
    """Business days over 252, cut at 14 places."""
    days = calendar_of(settlement).count(settlement, due)
    return _cut(_WORKING.divide(Decimal(days), Decimal(DAYS_A_YEAR)), _YEAR_PLACES)


def payment_dates(settlement: date, maturity: date) -> list[date]:
    """Every half year back from the maturity, after the settlement."""
    if maturity.day > _LAST_COUPON_DAY:
        raise PricingError(f"a bond that matures on {maturity}: coupons of day {maturity.day} are unknown")
    found: list[date] = []
    months = maturity.year * 12 + maturity.month - 1
    day = maturity
    while day > settlement:
        found.append(day)
        months -= 6
        day = date(months // 12, months % 12 + 1, maturity.day)
    return found[::-1]


def cash_flows(kind: BondKind, settlement: date, maturity: date) -> list[tuple[date, Decimal]]:
    """What is still paid after the settlement, per 1,000 of face value or per 100 of the VNA."""
    terms = _terms(kind, maturity)
    coupon = terms.coupon
    if not coupon:
        return [(maturity, terms.base)]
    dates = payment_dates(settlement, maturity)
    return [(day, coupon + terms.base if day == maturity else coupon) for day in dates]


def quotation(kind: BondKind, settlement: date, maturity: date, rate: Decimal) -> Decimal:
    """Per 100 of the nominal value, cut at 4 places: NTN-B, NTN-C, LFT."""
    if not _terms(kind, maturity).indexed:
        raise PricingError(f"{kind.name} has no quotation: it has a price")
    return _cut(_present_value(kind, settlement, maturity, rate), _QUOTATION_PLACES)


def unit_price(
    kind: BondKind, settlement: date, maturity: date, rate: Decimal, vna: Decimal | None = None
) -> Decimal:
    """In reais, cut at 6 places. `rate`: percent a year; for LFT what is paid over the Selic rate."""
    if not _terms(kind, maturity).indexed:
        return _cut(_present_value(kind, settlement, maturity, rate), _PRICE_PLACES)
    if vna is None or vna <= 0:
        raise PricingError(f"{kind.name} of {settlement}: no nominal value is given")
    quoted = quotation(kind, settlement, maturity, rate)
    return _cut(_WORKING.multiply(vna, quoted) / 100, _PRICE_PLACES)


def price_of_percentage(par: Decimal, percentage: Decimal) -> Decimal:
    """Of a corporate bond that is quoted in percents of its par value."""
    return _cut(_WORKING.multiply(par, percentage) / 100, _PRICE_PLACES)


def casada_price(kind: BondKind, maturity: date, future: str, spread: Decimal, fixings: Fixings) -> Decimal:
    """Of the bond, at the future's rate and the spread, in percents a year."""
    rate = fixings.rates.get(future)
    if rate is None:
        raise PricingError(f"a casada over {future}: its rate of {fixings.settlement} is not given")
    return unit_price(kind, fixings.settlement, maturity, rate + spread, fixings.vna.get(kind))


def money(price: Decimal, quantity: Decimal) -> Decimal:
    """What changes hands, cut at cents."""
    return _cut(_WORKING.multiply(price, quantity), _MONEY_PLACES)


def _terms(kind: BondKind, maturity: date) -> _Terms:
    if kind is BondKind.NTNC and maturity.year == 2031:
        return _NTNC_OF_2031
    terms = _TERMS.get(kind)
    if terms is None:
        raise PricingError(f"{kind.name} is not priced from a rate")
    return terms


@lru_cache(maxsize=4096)
def _present_value(kind: BondKind, settlement: date, maturity: date, rate: Decimal) -> Decimal:
    terms = _terms(kind, maturity)
    if maturity <= settlement:
        raise PricingError(f"{kind.name} of {maturity} has matured on {settlement}")
    if rate <= -100:
        raise PricingError(f"{kind.name} of {maturity}: a rate of {rate} % leaves nothing")
    growth = _WORKING.add(_ONE, _WORKING.divide(rate, Decimal(100)))
    flows = [
        _WORKING.divide(flow, _KEPT.plus(_WORKING.power(growth, years(settlement, day))))
        for day, flow in cash_flows(kind, settlement, maturity)
    ]
    if not terms.coupon_percent:
        return flows[0]  # nothing to add up: cut once, never rounded before
    return sum((_rounded(flow, terms.flow_places) for flow in flows), Decimal(0))


def _cut(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_DOWN, context=_WORKING)


def _rounded(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=_WORKING)
