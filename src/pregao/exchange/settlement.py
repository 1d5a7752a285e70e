"""Settlement prices on their schedule (13.11.3), open interest and closing prices.

None of them belongs to an event (4.2.2): each message ends its own. The guidelines say when they are
sent, not how they are found. Ours, so that a day is whole:

- the settlement price of a day is its volume-weighted average, to the nearest tick (half upwards);
  without trades it is that of the day before;
- the closing price of a day is its last price in the regular session, or that of the day before;
- open interest is what the holders of contracts bought and have not sold again: holders are firms,
  and what was open before the day is nobody's in particular.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from pregao.exchange.catalogues.rules import ListedInstrument
from pregao.exchange.conditions import forms_price
from pregao.exchange.market import InstrumentMarket
from pregao.model.events import ClosingPrice, OpenInterest, SettlementPrice, Trade
from pregao.model.market import (
    FINE_SCALE,
    PRICE_SCALE,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    TradeSubType,
)

FINE = FINE_SCALE // PRICE_SCALE
_NOTHING: Mapping[int, int] = MappingProxyType({})


class SettlementStage(Enum):
    """The four rows of the regular schedule, in their order over a day (13.11.3), and one of the other
    combinations that a client must be able to take."""

    PREVIOUS_FINAL = "before trading: final price of the day before"
    PREVIOUS_UPDATED = "during trading: updated price of the day before"
    PREVIEW = "during trading: preview of the day's own"
    FINAL = "after trading: final price of the day"
    EXPECTED = "during trading: theoretical price of a contract that does not trade"


SCHEDULE: dict[SettlementStage, tuple[PriceOrigin, SettlementKind]] = {
    SettlementStage.PREVIOUS_FINAL: (PriceOrigin.PREVIOUS_DAY, SettlementKind.FINAL),
    SettlementStage.PREVIOUS_UPDATED: (PriceOrigin.PREVIOUS_DAY, SettlementKind.UPDATED),
    SettlementStage.PREVIEW: (PriceOrigin.DAILY, SettlementKind.UPDATED),
    SettlementStage.FINAL: (PriceOrigin.DAILY, SettlementKind.FINAL),
    SettlementStage.EXPECTED: (PriceOrigin.EXPECTED, SettlementKind.THEORETICAL),
}


def settlement_of(vwap: int | None, previous: int | None, tick: int) -> int | None:
    """The settlement price of a day from its trades so far."""
    if vwap is None:
        return previous
    return (2 * vwap + tick) // (2 * tick) * tick


@dataclass(slots=True)
class SettlementBook:
    """The settlement figures of one instrument over a day."""

    security_id: int
    tick: int
    trade_date: int
    previous_date: int
    previous: int | None = None
    price_kind: PriceKind = PriceKind.PER_UNIT
    settlement_days: int | None = None  # from the date of the price to its settlement
    daily: int | None = None

    def publish(
        self, stage: SettlementStage, now_ns: int, *, vwap: int | None = None, price: int | None = None
    ) -> SettlementPrice | None:
        """The message of a stage; `price` is set by hand. None where there is no price to tell."""
        origin, kind = SCHEDULE[stage]
        of_today = origin is not PriceOrigin.PREVIOUS_DAY
        if price is None:
            price = settlement_of(vwap, self.previous, self.tick) if of_today else self.previous
        if price is None:
            return None
        if origin is PriceOrigin.DAILY:
            self.daily = price
        elif not of_today:
            self.previous = price
        date = self.trade_date if of_today else self.previous_date
        settles = None if self.settlement_days is None else date + self.settlement_days
        return SettlementPrice(self.security_id, price, date, now_ns, origin, kind, self.price_kind, settles)

    def roll(self, trade_date: int) -> None:
        """Another day: what was daily is of the day before."""
        self.previous_date, self.trade_date = self.trade_date, trade_date
        self.previous, self.daily = self.daily if self.daily is not None else self.previous, None


@dataclass(slots=True)
class OpenPositions:
    """Open interest of one instrument. The day's trades are given when asked, without the busted; `settled`
    is what others of the day, that nobody keeps, add up to by firm."""

    security_id: int
    before: int = 0  # open at the start, by whomever
    _net: dict[int, int] = field(default_factory=dict)

    def size(self, trades: Iterable[Trade], settled: Mapping[int, int] = _NOTHING) -> int:
        return self.before + sum(net for net in self._after(trades, settled).values() if net > 0)

    def publish(
        self, trades: Iterable[Trade], trade_date: int, now_ns: int, settled: Mapping[int, int] = _NOTHING
    ) -> OpenInterest:
        return OpenInterest(self.security_id, self.size(trades, settled), trade_date, now_ns)

    def roll(self, trades: Iterable[Trade], settled: Mapping[int, int] = _NOTHING) -> None:
        """Another day: positions stay."""
        self._net = self._after(trades, settled)

    def _after(self, trades: Iterable[Trade], settled: Mapping[int, int]) -> dict[int, int]:
        net = dict(self._net)
        for firm, size in settled.items():
            net[firm] = net.get(firm, 0) + size
        for trade in trades:
            if trade.buyer is not None and trade.seller is not None:
                net[trade.buyer] = net.get(trade.buyer, 0) + trade.size
                net[trade.seller] = net.get(trade.seller, 0) - trade.size
        return net


@dataclass(slots=True)
class ClosingBook:
    """Closing prices of one instrument, in hundred-millionths (13, "Prices with different decimals")."""

    security_id: int
    previous_fine: int | None = None
    previous_date: int | None = None
    last_trade_date: int | None = None
    daily_fine: int | None = None

    def previous(self, now_ns: int) -> ClosingPrice | None:
        """The adjusted closing price of the day before, told at the start of a day (13.9.3)."""
        if self.previous_fine is None or self.previous_date is None:
            return None
        return ClosingPrice(
            self.security_id,
            self.previous_fine,
            self.previous_date,
            now_ns,
            PriceOrigin.PREVIOUS_DAY,
            self.last_trade_date,
        )

    def close(self, last: int | None, trade_date: int, now_ns: int) -> ClosingPrice | None:
        """The day's own, from the last price of the regular session."""
        if last is not None:
            self.last_trade_date = trade_date
        fine = self.previous_fine if last is None else last * FINE
        if fine is None:
            return None
        self.daily_fine = fine
        return ClosingPrice(
            self.security_id, fine, trade_date, now_ns, PriceOrigin.DAILY, self.last_trade_date
        )

    def roll(self, closed_date: int) -> None:
        """Another day: the day's own is of the day before."""
        if self.daily_fine is not None:
            self.previous_fine, self.previous_date = self.daily_fine, closed_date
        self.daily_fine = None


# The figures of a day that no order moves: settlement prices, open interest, closing prices. Which
# instruments have them: settlement and open interest are of those whose listing brings one.


_AFTERWARDS = (TradeSubType.TAC, TradeSubType.TAA)


class FigureDesk:
    def __init__(self, markets: dict[int, InstrumentMarket], trade_date: int, previous_date: int) -> None:
        self._markets = markets
        self._trade_date, self._previous_date = trade_date, previous_date
        self._settlements: dict[int, SettlementBook] = {}
        self._positions: dict[int, OpenPositions] = {}
        self._closings: dict[int, ClosingBook] = {}

    def add(self, listing: ListedInstrument) -> None:
        instrument = listing.instrument
        security_id = instrument.security_id
        self._closings[security_id] = ClosingBook(
            security_id, instrument.closing_price, self._previous_date, self._previous_date
        )
        if listing.settlement is not None:
            self._settlements[security_id] = SettlementBook(
                security_id, instrument.tick, self._trade_date, self._previous_date, listing.settlement,
                instrument.price_kind or PriceKind.PER_UNIT, instrument.settlement_days,
            )  # fmt: skip
        if listing.open_interest is not None:
            self._positions[security_id] = OpenPositions(security_id, listing.open_interest)

    def remove(self, security_id: int) -> None:
        for kept in (self._closings, self._settlements, self._positions):
            kept.pop(security_id, None)

    def settlement(
        self, security_id: int, stage: SettlementStage, price: int | None, now_ns: int
    ) -> SettlementPrice | None:
        book = self._settlements.get(security_id)
        if book is None:
            return None
        return book.publish(stage, now_ns, vwap=self._markets[security_id].statistics.vwap, price=price)

    def has_positions(self, security_id: int) -> bool:
        """Whether there is open interest of it."""
        return security_id in self._positions

    def open_interest(self, security_id: int, now_ns: int) -> OpenInterest | None:
        positions, market = self._positions.get(security_id), self._markets[security_id]
        if positions is None:
            return None
        settled = market.statistics.settled_net
        return positions.publish(trades_of_day(market), market.trade_date, now_ns, settled)

    def previous_closing(self, security_id: int, now_ns: int) -> ClosingPrice | None:
        return self._closings[security_id].previous(now_ns)

    def closing(self, security_id: int, now_ns: int) -> ClosingPrice | None:
        """The after-market closes nothing: the closing price is the regular session's (13.9.3)."""
        market = self._markets[security_id]
        if market.session is not Session.REGULAR:
            return None
        return self._closings[security_id].close(_last_of_session(market), market.trade_date, now_ns)

    def roll(self, security_id: int, trade_date: int) -> None:
        """Another day begins: today's figures are yesterday's."""
        market = self._markets[security_id]
        closing = self._closings[security_id]
        if trade_date != self._trade_date:
            self._previous_date, self._trade_date = self._trade_date, trade_date
        closing.roll(market.trade_date)
        market.statistics.closing_fine = closing.previous_fine
        if security_id in self._settlements:
            self._settlements[security_id].roll(trade_date)
        if security_id in self._positions:
            self._positions[security_id].roll(trades_of_day(market), market.statistics.settled_net)


def _last_of_session(market: InstrumentMarket) -> int | None:
    """The last price, without what only trades at the close or at the average."""
    for trade in reversed(market.statistics.trades.values()):
        if trade.sub_type not in _AFTERWARDS and forms_price(trade.sub_type, trade.condition):
            return trade.price
    return None


def trades_of_day(market: InstrumentMarket) -> Iterable[Trade]:
    """Those that are kept, of both sessions: the regular session's are set aside when the after-market
    starts."""
    yield from market.past_trades.of_date(market.trade_date)
    yield from market.statistics.trades.values()
