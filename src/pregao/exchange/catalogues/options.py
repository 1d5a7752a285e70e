"""Options of a share, a future, an index or a currency: every maturity with every strike, as call and as
put."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogues.derivatives import parse_maturity, third_friday
from pregao.exchange.catalogues.register import (
    FINE_OF_PRICE,
    OpeningFigures,
    Register,
    ids_of,
    lot_of,
    underlying_of,
)
from pregao.exchange.catalogues.rules import Index, TradingGroup
from pregao.exchange.catalogues.tables import TomlRow, TomlTable, to_days
from pregao.model.instruments import Instrument, Payout, Product, SecurityType, TradeType, Underlying

# What an option is worth by Black's formula of 1976, without interest, under a volatility that smiles.
#
# Arrays in, arrays out; prices in any unit, times in years, volatilities of a year as fractions.


Floats = npt.NDArray[np.float64]

_SKEW, _CURVE = -0.05, 0.35  # of the smile, by deviations from the money
_STEEPEST = 2.0  # times the volatility at the money
_DAY = 1 / 365
_erf = np.frompyfunc(math.erf, 1, 1)  # numpy has none; a block of draws has a few hundred


def _floats(value: Any) -> Floats:
    return np.asarray(value, np.float64)


def normal_cdf(x: Any) -> Floats:
    found: Floats = 0.5 * (1 + np.asarray(_erf(_floats(x) / math.sqrt(2)), np.float64))
    return found


def premium(forward: Any, strike: Any, years: Any, volatility: Any, is_put: Any) -> Floats:
    """The price of calls and puts on a forward."""
    forward, strike = _floats(forward), _floats(strike)
    width = _floats(volatility) * np.sqrt(np.maximum(_floats(years), _DAY))
    d1 = np.log(forward / strike) / width + width / 2
    call = forward * normal_cdf(d1) - strike * normal_cdf(d1 - width)
    found: Floats = np.where(is_put, call - forward + strike, call)
    return found


def smile(forward: Any, strike: Any, years: Any, at_the_money: Any) -> Floats:
    """The volatility of a strike: lowest near the money, higher below it than above."""
    at_the_money = _floats(at_the_money)
    width = at_the_money * np.sqrt(np.maximum(_floats(years), _DAY))
    away = np.log(_floats(strike) / _floats(forward)) / width
    found: Floats = at_the_money * np.clip(1 + _SKEW * away + _CURVE * away**2, 0.5, _STEEPEST)
    return found


def option_value(forward: Any, strike: Any, years: Any, at_the_money: Any, is_put: Any) -> Floats:
    return premium(forward, strike, years, smile(forward, strike, years, at_the_money), is_put)


def implied_volatility(price: Any, forward: Any, strike: Any, years: Any, is_put: Any) -> Floats:
    """The volatility at which the formula gives a price, by bisection; nan where none does."""
    price = _floats(price)
    low, high = np.full(price.shape, 0.005), np.full(price.shape, 5.0)
    outside = (price <= premium(forward, strike, years, low, is_put)) | (
        price >= premium(forward, strike, years, high, is_put)
    )
    for _ in range(40):
        middle = (low + high) / 2
        above = premium(forward, strike, years, middle, is_put) > price
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found: Floats = np.where(outside, np.nan, (low + high) / 2)
    return found


_CALLS, _PUTS = "ABCDEFGHIJKL", "MNOPQRSTUVWX"  # the month is in the symbol
_LISTED_DAYS = 90  # before it is priced
_SETTLES = 1  # day after the trade
_TRADED = (TradeType.ELECTRONIC, TradeType.CROSS)
_KINDS: Final = {
    "share": SecurityType.OPT,
    "future": SecurityType.FOPT,
    "spot": SecurityType.SOPT,
    "index": SecurityType.INDEXOPT,
}
_PAYOUTS: Final = {payout.name.lower(): payout for payout in Payout}


@dataclass(frozen=True, slots=True)
class _Underlier:
    """What the options are of; an index is not an instrument."""

    symbol: str
    asset: str
    closing: int
    tick: int
    volatility: float  # of a day
    product: Product
    underlyings: tuple[Underlying, ...]


@dataclass(frozen=True, slots=True)
class _Family:
    """What all options of a table share."""

    of: _Underlier
    security_type: SecurityType
    payout: Payout
    priced_on: date
    volatility: float  # of a year
    american: bool
    lot: int
    strike_unit: int  # strikes are counted in it in symbols

    def deviation(self, expiry: date) -> float:
        return self.volatility * math.sqrt((expiry - self.priced_on).days / 365)

    def closing(self, strike: int, expiry: date, is_put: bool) -> int:
        tick = self.of.tick
        years = (expiry - self.priced_on).days / 365
        premium = option_value(self.of.closing, strike, years, self.volatility, is_put)
        return max(round(float(premium) / tick), 1) * tick

    def figures(self, strike: int, expiry: date, weight: float) -> OpeningFigures:
        """The farther from the money, the less there is to it."""
        spot = self.of.closing
        weight *= math.exp(-abs(strike - spot) / (spot * self.deviation(expiry)))
        return OpeningFigures(
            weight, self.of.volatility, open_interest=int(weight * 10_000) * self.lot,
            annual_volatility=self.volatility,
        )  # fmt: skip

    def option(
        self, security_id: int, group: TradingGroup, strike: int, expiry: date, is_put: bool
    ) -> Instrument:
        of = self.of
        letter = (_PUTS if is_put else _CALLS)[expiry.month - 1]
        return Instrument(
            security_id, f"{of.asset}{letter}{strike // self.strike_unit}", group.channel, group.code,
            of.asset, self.security_type, of.product,
            f"{of.symbol} {'put' if is_put else 'call'} {strike / 1e4:g}",
            group.exchange, segment=group.segment, tick=of.tick, lot=self.lot, minimum_quantity=self.lot,
            cfi_code=f"O{'P' if is_put else 'C'}{'A' if self.american else 'E'}SPS", strike=strike,
            is_put=is_put, is_american=self.american, issue_date=to_days(self.priced_on) - _LISTED_DAYS,
            maturity_date=to_days(expiry), maturity=(expiry.year, expiry.month),
            closing_price=self.closing(strike, expiry, is_put) * FINE_OF_PRICE, payout=self.payout,
            underlyings=of.underlyings, settlement_days=_SETTLES, trade_types=_TRADED,
            price_divisor_fine=None,  # as B3 leaves it out
        )  # fmt: skip


def add_options(table: TomlTable, register: Register, indices: Iterable[Index] = ()) -> None:
    """Rows are maturity and weight."""
    kind, ids = table.text("kind", "share"), ids_of(table)
    security_type = table.choice("kind", _KINDS, "share")
    underlier = _of_index(table, indices) if kind == "index" else _of_listing(table, register)
    sides = ((register.group(table, "calls"), False), (register.group(table, "puts"), True))
    unit = table.price("strike_unit") if table.has("strike_unit") else 1000
    family = _Family(
        underlier,
        security_type,
        table.choice("payout", _PAYOUTS, "vanilla"),
        table.day("priced_on"),
        table.number("volatility"),
        table.flag("american", True),
        _lot(table, register, kind),
        unit,
    )
    if not family.volatility or unit <= 0:
        raise table.error("must be above zero", "strike_unit" if family.volatility else "volatility")
    strikes = [_strike(table, word, unit) for word in table.words("strikes")]
    for row in table.rows("list", 2, 2):
        expiry = _expiry(row, family.priced_on)
        for strike in strikes:
            for group, is_put in sides:
                figures = family.figures(strike, expiry, row.number(1, 0))
                register.add(family.option(next(ids), group, strike, expiry, is_put), figures, row)
    table.close()


def _of_listing(table: TomlTable, register: Register) -> _Underlier:
    listing = register.find(table.text("of"), table)
    of = listing.instrument
    return _Underlier(
        of.symbol, of.asset, listing.closing, of.tick, listing.volatility, of.product, underlying_of(of)
    )


def _of_index(table: TomlTable, indices: Iterable[Index]) -> _Underlier:
    """Its options need a tick and a volatility of a day of their own."""
    index = table.choice("of", {index.symbol: index for index in indices})
    return _Underlier(
        index.symbol, index.symbol[:6], index.closing, table.tick(), table.number("daily_volatility"),
        Product.INDEX, (Underlying(index.security_id, index.symbol),),
    )  # fmt: skip


def _lot(table: TomlTable, register: Register, kind: str) -> int:
    return lot_of(table, None if kind == "index" else register.find(table.text("of"), table).instrument.lot)


def _strike(table: TomlTable, word: str, unit: int) -> int:
    row = TomlRow(table, "strikes", [word])
    strike = row.price(0)
    if strike <= 0 or strike % unit:
        raise row.error(f"a strike is above zero, in units of {unit / 1e4:g}")
    return strike


def _expiry(row: TomlRow, priced_on: date) -> date:
    try:
        expiry = third_friday(*parse_maturity(row.words[0]))
    except ValueError as error:
        raise row.error(str(error)) from error
    if expiry <= priced_on:
        raise row.error("has expired before it is priced")
    return expiry
