"""What a bond's day has traded: opening, high, low and last price of the book, volume and money of all.

RFQ and voice trades count in volume, money and number of trades, and not in opening, high, low, last and
average, as block trades do. A trade that is taken back is as if it had never been.
"""

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from pregao.exchange.bonds.pricing import Fixings, casada_price, money, price_of_percentage, unit_price
from pregao.model.fixed_income import BOND_EXPONENT, Bond
from pregao.model.market import Action, PriceKind, Session
from pregao.model.updates import ExecutionStatistics, HighPrice, LowPrice, OpeningPrice, Trade

_EPOCH = date(1970, 1, 1)
Figure = OpeningPrice | HighPrice | LowPrice | ExecutionStatistics


def trade_money(bond: Bond, price: int, size: int, fixings: Fixings, par: dict[str, Decimal]) -> int:
    """In hundred-millionths of reais, cut at cents."""
    instrument = bond.instrument
    quoted = Decimal(price).scaleb(instrument.price_exponent)
    quantity = Decimal(size).scaleb(instrument.size_exponent)
    if bond.price_kind is PriceKind.PERCENTAGE:
        unit = price_of_percentage(par[instrument.symbol], quoted)
    elif bond.price_kind is PriceKind.PER_UNIT:
        unit = quoted
    else:
        maturity = _EPOCH + timedelta(days=instrument.maturity_date or 0)
        if bond.is_casada:
            unit = casada_price(bond.kind, maturity, instrument.underlyings[1].symbol, quoted, fixings)
        else:
            unit = unit_price(bond.kind, fixings.settlement, maturity, quoted, fixings.vna.get(bond.kind))
    return int(money(unit, quantity).scaleb(-BOND_EXPONENT))


@dataclass(slots=True)
class CountedTrade:
    trade: Trade
    money: int

    @property
    def is_of_book(self) -> bool:
        return self.trade.sub_type is None


@dataclass(slots=True)
class BondStatistics:
    """Of one bond; `trades` are all that stand."""

    bond: Bond
    trades: dict[int, CountedTrade] = field(default_factory=dict)
    volume: int = 0
    money: int = 0
    opening: int | None = None
    high: int | None = None
    low: int | None = None
    last: int | None = None
    booked_size: int = 0
    booked_total: int = 0  # price times size

    def add(self, trade: Trade, paid: int) -> list[Figure]:
        before = self.opening, self.high, self.low
        self.trades[trade.trade_id] = counted = CountedTrade(trade, paid)
        self._count(counted)
        return self._changed(before, trade.trade_date, trade.transact_ns)

    def remove(self, trade_id: int, now_ns: int) -> list[Figure]:
        """All others are counted again: which of them was the highest is not kept."""
        before = self.opening, self.high, self.low
        gone = self.trades.pop(trade_id)
        self.volume = self.money = self.booked_size = self.booked_total = 0
        self.opening = self.high = self.low = self.last = None
        for counted in self.trades.values():
            self._count(counted)
        return self._changed(before, gone.trade.trade_date, now_ns)

    @property
    def average(self) -> int | None:
        """Of the book's trades, weighted by size, cut towards zero at the last place of a price."""
        if not self.booked_size:
            return None
        cut = abs(self.booked_total) // self.booked_size
        return cut if self.booked_total >= 0 else -cut

    @property
    def net_change_fine(self) -> int | None:
        closing = self.bond.instrument.closing_price
        return None if self.last is None or closing is None else self.last - closing

    def _count(self, counted: CountedTrade) -> None:
        trade = counted.trade
        self.volume += trade.size
        self.money += counted.money
        if not counted.is_of_book:
            return
        self.booked_size += trade.size
        self.booked_total += trade.price * trade.size
        self.opening = trade.price if self.opening is None else self.opening
        self.high = trade.price if self.high is None else max(self.high, trade.price)
        self.low = trade.price if self.low is None else min(self.low, trade.price)
        self.last = trade.price

    def _changed(
        self, before: tuple[int | None, int | None, int | None], trade_date: int, now_ns: int
    ) -> list[Figure]:
        security_id, net = self.bond.instrument.security_id, self.net_change_fine
        changes: list[Figure] = []
        opening, high, low = before
        if self.opening != opening:
            action, price = _change(opening, self.opening)
            changes.append(OpeningPrice(security_id, price, net, trade_date, now_ns, action=action))
        if self.high != high:
            action, price = _change(high, self.high)
            changes.append(HighPrice(security_id, price, trade_date, now_ns, action))
        if self.low != low:
            action, price = _change(low, self.low)
            changes.append(LowPrice(security_id, price, trade_date, now_ns, action))
        figures = ExecutionStatistics(
            security_id, Session.REGULAR, trade_date, self.volume, self.average, net, len(self.trades),
            now_ns, self.money,
        )  # fmt: skip
        return [*changes, figures]


def _change(before: int | None, after: int | None) -> tuple[Action, int]:
    """What a statistic does, with its price: the new one, or the one that is gone."""
    if after is None:
        return Action.DELETE, before or 0
    return (Action.NEW if before is None else Action.CHANGE), after
