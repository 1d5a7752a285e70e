"""Options of a share: every maturity with every strike, as call and as put."""

import math
from dataclasses import dataclass
from datetime import date

from pregao.exchange.catalogues.dates import parse_maturity, third_friday
from pregao.exchange.catalogues.entries import Group, Listing
from pregao.exchange.catalogues.register import (
    FINE_OF_PRICE,
    Figures,
    Register,
    ids_of,
    lot_of,
    underlying_of,
)
from pregao.exchange.catalogues.tables import Row, Table, to_days
from pregao.model.instruments import Instrument, Product, SecurityType

_CALLS, _PUTS = "ABCDEFGHIJKL", "MNOPQRSTUVWX"  # the month is in the symbol
_LISTED_DAYS = 90  # before it is priced


@dataclass(frozen=True, slots=True)
class _Family:
    """What all options of a table share."""

    share: Listing
    priced_on: date
    volatility: float  # of a year
    american: bool
    lot: int

    def deviation(self, expiry: date) -> float:
        return self.volatility * math.sqrt((expiry - self.priced_on).days / 365)

    def closing(self, strike: int, expiry: date, is_put: bool) -> int:
        tick = self.share.instrument.tick
        premium = _premium(self.share.closing, strike, self.deviation(expiry), is_put)
        return max(round(premium / tick), 1) * tick

    def figures(self, strike: int, expiry: date, weight: float) -> Figures:
        """The farther from the money, the less there is to it."""
        spot = self.share.closing
        weight *= math.exp(-abs(strike - spot) / (spot * self.deviation(expiry)))
        return Figures(weight, self.share.volatility, open_interest=int(weight * 10_000) * self.lot)

    def option(self, security_id: int, group: Group, strike: int, expiry: date, is_put: bool) -> Instrument:
        cash = self.share.instrument
        letter = (_PUTS if is_put else _CALLS)[expiry.month - 1]
        return Instrument(
            security_id, f"{cash.asset}{letter}{strike // 1000}", group.channel, group.code, cash.asset,
            SecurityType.OPT, Product.EQUITY, f"{cash.symbol} {'put' if is_put else 'call'} {strike / 1e4:g}",
            group.exchange, segment=group.segment, tick=cash.tick, lot=self.lot, minimum_quantity=self.lot,
            cfi_code=f"O{'P' if is_put else 'C'}{'A' if self.american else 'E'}SPS", strike=strike,
            is_put=is_put, is_american=self.american, issue_date=to_days(self.priced_on) - _LISTED_DAYS,
            maturity_date=to_days(expiry), maturity=(expiry.year, expiry.month),
            closing_price=self.closing(strike, expiry, is_put) * FINE_OF_PRICE,
            underlyings=underlying_of(cash),
        )  # fmt: skip


def add_options(table: Table, register: Register) -> None:
    """Rows are maturity and weight."""
    share, ids = register.find(table.text("of"), table), ids_of(table)
    sides = ((register.group(table, "calls"), False), (register.group(table, "puts"), True))
    family = _Family(
        share,
        table.day("priced_on"),
        table.number("volatility"),
        table.flag("american", True),
        lot_of(table, share.instrument.lot),
    )
    if not family.volatility:
        raise table.error("must be above zero", "volatility")
    strikes = [_strike(table, word) for word in table.words("strikes")]
    for row in table.rows("list", 2, 2):
        expiry = _expiry(row, family.priced_on)
        for strike in strikes:
            for group, is_put in sides:
                figures = family.figures(strike, expiry, row.number(1, 0))
                register.add(family.option(next(ids), group, strike, expiry, is_put), figures, row)
    table.close()


def _strike(table: Table, word: str) -> int:
    row = Row(table, "strikes", [word])
    strike = row.price(0)
    if strike <= 0 or strike % 1000:
        raise row.error("a strike is above zero and has one decimal place")
    return strike


def _expiry(row: Row, priced_on: date) -> date:
    try:
        expiry = third_friday(*parse_maturity(row.words[0]))
    except ValueError as error:
        raise row.error(str(error)) from error
    if expiry <= priced_on:
        raise row.error("has expired before it is priced")
    return expiry


def _premium(spot: int, strike: int, deviation: float, is_put: bool) -> float:
    """What a bell curve around the spot is worth beyond the strike (Bachelier), without interest."""
    width = spot * deviation
    inside = (strike - spot) if is_put else (spot - strike)
    d = inside / width
    chance = (1 + math.erf(d / math.sqrt(2))) / 2
    return inside * chance + width * math.exp(-d * d / 2) / math.sqrt(2 * math.pi)
