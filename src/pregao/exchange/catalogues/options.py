"""Options of a share, a future, an index or a currency: every maturity with every strike, as call and as
put."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from pregao.exchange.catalogues.black import option_value
from pregao.exchange.catalogues.dates import parse_maturity, third_friday
from pregao.exchange.catalogues.entries import Group, Index
from pregao.exchange.catalogues.register import (
    FINE_OF_PRICE,
    Figures,
    Register,
    ids_of,
    lot_of,
    underlying_of,
)
from pregao.exchange.catalogues.tables import Row, Table, to_days
from pregao.model.instruments import Instrument, Payout, Product, SecurityType, TradeType, Underlying

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

    def figures(self, strike: int, expiry: date, weight: float) -> Figures:
        """The farther from the money, the less there is to it."""
        spot = self.of.closing
        weight *= math.exp(-abs(strike - spot) / (spot * self.deviation(expiry)))
        return Figures(
            weight, self.of.volatility, open_interest=int(weight * 10_000) * self.lot,
            annual_volatility=self.volatility,
        )  # fmt: skip

    def option(self, security_id: int, group: Group, strike: int, expiry: date, is_put: bool) -> Instrument:
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


def add_options(table: Table, register: Register, indices: Iterable[Index] = ()) -> None:
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


def _of_listing(table: Table, register: Register) -> _Underlier:
    listing = register.find(table.text("of"), table)
    of = listing.instrument
    return _Underlier(
        of.symbol, of.asset, listing.closing, of.tick, listing.volatility, of.product, underlying_of(of)
    )


def _of_index(table: Table, indices: Iterable[Index]) -> _Underlier:
    """Its options need a tick and a volatility of a day of their own."""
    index = table.choice("of", {index.symbol: index for index in indices})
    return _Underlier(
        index.symbol, index.symbol[:6], index.closing, table.tick(), table.number("daily_volatility"),
        Product.INDEX, (Underlying(index.security_id, index.symbol),),
    )  # fmt: skip


def _lot(table: Table, register: Register, kind: str) -> int:
    return lot_of(table, None if kind == "index" else register.find(table.text("of"), table).instrument.lot)


def _strike(table: Table, word: str, unit: int) -> int:
    row = Row(table, "strikes", [word])
    strike = row.price(0)
    if strike <= 0 or strike % unit:
        raise row.error(f"a strike is above zero, in units of {unit / 1e4:g}")
    return strike


def _expiry(row: Row, priced_on: date) -> date:
    try:
        expiry = third_friday(*parse_maturity(row.words[0]))
    except ValueError as error:
        raise row.error(str(error)) from error
    if expiry <= priced_on:
        raise row.error("has expired before it is priced")
    return expiry
