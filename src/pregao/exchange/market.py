"""What the engine keeps of one instrument, and of all of them together."""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from pregao.exchange.book import Book
from pregao.exchange.hooks import Hooks
from pregao.exchange.orders import EnteredOrder, OrderPlace, SegmentIds, StopOrders, TradeIds
from pregao.exchange.statistics import SessionStatistics
from pregao.model.events import Trade
from pregao.model.instruments import Instrument
from pregao.model.market import FINE_SCALE, PRICE_SCALE, Session, TradeSubType

# What late busts and amendments need. Of an instrument the trades of sessions that are over: the earlier
# sessions of the trade date and the last dates before it; older ones are settled, and nobody can take them
# back. Of a strategy the trades that its own made in its legs.


KEPT_DATES = 5  # a week of trading, today's earlier sessions included
_SOME = 64  # so many are not worth a look


class PastTrades:
    """By trade date and tradeID: the ids are unique for an instrument and a date (13.3)."""

    __slots__ = ("_by_date",)

    def __init__(self) -> None:
        self._by_date: dict[int, dict[int, Trade]] = {}

    def add(self, trade_date: int, trades: dict[int, Trade]) -> None:
        """Another session of a date is over. Dates come in their order."""
        if not trades:
            return
        kept = self._by_date.get(trade_date)
        if kept is None:
            self._by_date[trade_date] = trades
        else:
            kept.update(trades)
        while len(self._by_date) > KEPT_DATES:
            del self._by_date[min(self._by_date)]

    def of_date(self, trade_date: int) -> Iterable[Trade]:
        return self._by_date.get(trade_date, {}).values()

    def find(self, trade_date: int, trade_id: int) -> Trade | None:
        return self._by_date.get(trade_date, {}).get(trade_id)

    def remove(self, trade: Trade) -> None:
        del self._by_date[trade.trade_date][trade.trade_id]

    def replace(self, trade: Trade) -> None:
        """An amended trade keeps its place."""
        self._by_date[trade.trade_date][trade.trade_id] = trade

    def __len__(self) -> int:
        return sum(map(len, self._by_date.values()))


class LegTradeIndex:
    """The leg trades of each trade of a strategy, for as long as that trade can be busted: what is no longer
    kept is dropped whenever more than half of them could be."""

    __slots__ = ("_by_trade",)

    def __init__(self) -> None:
        self._by_trade: dict[tuple[int, int], list[Trade]] = {}  # by trade date and tradeID

    def __len__(self) -> int:
        return len(self._by_trade)

    def add(self, trade: Trade, of_leg: Trade) -> None:
        self._by_trade.setdefault((trade.trade_date, trade.trade_id), []).append(of_leg)

    def of(self, trade: Trade) -> Iterable[Trade]:
        return self._by_trade.get((trade.trade_date, trade.trade_id), ())

    def remove(self, trade: Trade) -> None:
        self._by_trade.pop((trade.trade_date, trade.trade_id), None)

    def prune(self, kept: int, is_kept: Callable[[int, int], bool]) -> None:
        """`kept` trades of the strategy are kept; `is_kept` says whether one of a date is among them."""
        if len(self._by_trade) > 2 * kept + _SOME:
            self._by_trade = {key: legs for key, legs in self._by_trade.items() if is_kept(*key)}


_NOWHERE = OrderPlace.NOWHERE
FINE = FINE_SCALE // PRICE_SCALE


class Agreed(NamedTuple):
    """A trade at close or at average that two firms agreed upon."""

    sub_type: TradeSubType
    quantity: int
    buyer: int
    seller: int


class InstrumentMarket:
    """One instrument: its book, what waits unseen beside it, and its session."""

    __slots__ = (
        "agreed", "book", "cancelled", "entered", "executed", "hidden", "ids", "instrument", "leg_trades",
        "on_close", "past_trades", "security_id", "session", "statistics", "stops", "trade_date", "trade_ids",
    )  # fmt: skip

    def __init__(
        self, instrument: Instrument, ids: SegmentIds, trade_date: int, kept_trades: int | None = None
    ) -> None:
        self.instrument = instrument
        self.security_id = instrument.security_id
        self.ids = ids
        self.book = Book()
        self.statistics = SessionStatistics(instrument.closing_price, kept_trades)
        self.trade_ids = TradeIds()
        self.stops = StopOrders()
        self.on_close: dict[int, EnteredOrder] = {}  # MOC orders that wait for the final closing call (14.2)
        self.hidden: dict[int, EnteredOrder] = {}  # RLP orders, oldest first
        self.agreed: list[Agreed] = []  # trades at close and at average, until their price is known
        self.session = Session.REGULAR
        self.trade_date = trade_date
        self.past_trades = PastTrades()
        self.leg_trades = LegTradeIndex()
        self.entered = self.executed = self.cancelled = 0  # entered = resting + executed + cancelled

    @property
    def reference_price(self) -> int | None:
        """The last trade of the session, else the closing price of the day before, on a tick."""
        last = self.statistics.last
        if last is not None:
            return last.price
        closing, tick = self.statistics.closing_fine, self.instrument.tick
        return None if closing is None else (closing // FINE + tick // 2) // tick * tick

    def find_trade(self, trade_date: int, trade_id: int) -> Trade | None:
        """None where it is not kept: busted, settled or never made."""
        if trade_date == self.trade_date and trade_id in self.statistics.trades:
            return self.statistics.trades[trade_id]
        return self.past_trades.find(trade_date, trade_id)

    def is_settled(self, trade: Trade) -> bool:
        """Whether a trade of this session is counted and can no longer be taken back."""
        is_of_session = (trade.trade_date, trade.session) == (self.trade_date, self.session)
        return is_of_session and trade.trade_id <= self.statistics.last_settled_id

    def add_leg_trade(self, trade: Trade, of_leg: Trade) -> None:
        """A trade of this strategy has made one in a leg."""
        self.leg_trades.add(trade, of_leg)
        self.leg_trades.prune(
            len(self.statistics.trades) + len(self.past_trades),
            lambda trade_date, trade_id: self.find_trade(trade_date, trade_id) is not None,
        )

    def start_session(self, trade_date: int, session: Session) -> None:
        """Statistics start over (14.3); tradeIDs only with a new trade date (13.3). What was agreed for a
        close that never came has lapsed; that of the same session, begun again after a restart, may come."""
        self.past_trades.add(self.trade_date, self.statistics.trades)
        if (trade_date, session) != (self.trade_date, self.session):
            self.agreed.clear()
        if trade_date != self.trade_date:
            self.trade_ids.start_over()
            self.statistics.settled_net = {}
        self.trade_date, self.session = trade_date, session
        self.statistics.start_over()


class Floor:
    """All markets, all open orders, and the hooks."""

    __slots__ = (
        "_delisted", "_kept_trades", "_next_order_id", "by_firm", "hooks", "implying", "markets", "orders",
        "segments",
    )  # fmt: skip

    def __init__(
        self,
        instruments: Iterable[Instrument],
        trade_date: int,
        hooks: Hooks,
        kept_trades: int | None = None,
    ) -> None:
        self.hooks, self._kept_trades = hooks, kept_trades
        self.segments: dict[int, SegmentIds] = {}
        self.markets: dict[int, InstrumentMarket] = {}
        self.orders: dict[int, EnteredOrder] = {}
        self.by_firm: dict[int, dict[int, EnteredOrder]] = {}
        self.implying: Container[int] = ()  # instruments that spreads depend on, or that are spreads
        self._delisted: dict[int, tuple[int, int]] = {}  # trade date and last tradeID
        self._next_order_id = 1
        for instrument in instruments:
            self.list_instrument(instrument, trade_date)

    def list_instrument(self, instrument: Instrument, trade_date: int) -> InstrumentMarket:
        market = InstrumentMarket(instrument, self.segment(instrument.segment), trade_date, self._kept_trades)
        self.markets[instrument.security_id] = market
        date, last = self._delisted.pop(instrument.security_id, (None, 0))
        if date == trade_date:
            market.trade_ids.start_over(last)
        return market

    def delist_instrument(self, market: InstrumentMarket) -> None:
        """Its orders must be gone. An id that comes back on the same date goes on with its tradeIDs,
        which are unique for an instrument and a date (13.3)."""
        del self.markets[market.security_id]
        self._delisted[market.security_id] = market.trade_date, market.trade_ids.last

    def continue_trades(self, security_id: int, trade_date: int, last: int) -> None:
        """TradeIDs of a platform that was restarted; also of an instrument that is not listed yet."""
        if security_id in self.markets:
            self.markets[security_id].trade_ids.start_over(last)
        else:
            self._delisted[security_id] = trade_date, last

    def segment(self, number: int) -> SegmentIds:
        ids = self.segments.get(number)
        if ids is None:
            ids = self.segments[number] = SegmentIds(number)
        return ids

    @property
    def last_order_id(self) -> int:
        return self._next_order_id - 1

    def continue_after(self, order_id: int) -> None:
        """Private ids of a platform that was restarted."""
        self._next_order_id = max(self._next_order_id, order_id + 1)

    def next_order_id(self) -> int:
        number = self._next_order_id
        self._next_order_id = number + 1
        return number

    def keep(self, order: EnteredOrder) -> None:
        self.orders[order.order_id] = order
        if order.firm is not None:
            self.by_firm.setdefault(order.firm, {})[order.order_id] = order

    def forget(self, order: EnteredOrder) -> None:
        order.place = _NOWHERE
        if self.orders.pop(order.order_id, None) is not None and order.firm is not None:
            del self.by_firm[order.firm][order.order_id]

    def orders_of(self, firm: int) -> Iterator[EnteredOrder]:
        return iter(self.by_firm.get(firm, {}).values())
