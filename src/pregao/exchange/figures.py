"""The figures of a day that no order moves: settlement prices, open interest, closing prices. Which
instruments have them: settlement and open interest are of those whose listing brings one."""

from collections.abc import Iterable

from pregao.exchange.catalogues.entries import Listing
from pregao.exchange.conditions import forms_price
from pregao.exchange.market import Market
from pregao.exchange.settlement import ClosingBook, OpenPositions, SettlementBook, SettlementStage
from pregao.model.events import ClosingPrice, OpenInterest, SettlementPrice, Trade
from pregao.model.market import PriceKind, Session, TradeSubType

_AFTERWARDS = (TradeSubType.TAC, TradeSubType.TAA)


class Figures:
    def __init__(self, markets: dict[int, Market], trade_date: int, previous_date: int) -> None:
        self._markets = markets
        self._trade_date, self._previous_date = trade_date, previous_date
        self._settlements: dict[int, SettlementBook] = {}
        self._positions: dict[int, OpenPositions] = {}
        self._closings: dict[int, ClosingBook] = {}

    def add(self, listing: Listing) -> None:
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


def _last_of_session(market: Market) -> int | None:
    """The last price, without what only trades at the close or at the average."""
    for trade in reversed(market.statistics.trades.values()):
        if trade.sub_type not in _AFTERWARDS and forms_price(trade.sub_type, trade.condition):
            return trade.price
    return None


def trades_of_day(market: Market) -> Iterable[Trade]:
    """Those that are kept, of both sessions: the regular session's are set aside when the after-market
    starts."""
    yield from market.past_trades.of_date(market.trade_date)
    yield from market.statistics.trades.values()
