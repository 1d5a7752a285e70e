"""What must hold after every command, found from what was published and from the books, and from nothing
else. The machines of commands differ; these checks are the same."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pregao.exchange.bands import Bands
from pregao.exchange.conditions import can_open, forms_price
from pregao.exchange.engine import CommandOutcome, Engine
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.statistics import average
from pregao.model.events import (
    ClosingPrice,
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    HighPrice,
    Imbalance,
    LastTrade,
    LowPrice,
    OpeningPrice,
    OrderUpdate,
    SideDeleted,
    StateChanged,
    TheoreticalPrice,
    Trade,
    TradeBusted,
)
from pregao.model.instruments import PriceMethod
from pregao.model.market import (
    Action,
    BandType,
    PriceOrigin,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from tests.twins.plain_implied import implied_of_books, implied_of_engine
from tests.unit.exchange.condition_table import is_allowed
from tests.unit.exchange.desk import Reader

LEADS, SUMMARY, TRADES, BOOK, AUCTION, STATISTICS = range(6)
RANKS = {
    ExecutionSummary: SUMMARY, Trade: TRADES, TradeBusted: TRADES, OrderUpdate: BOOK, SideDeleted: BOOK,
    TheoreticalPrice: AUCTION, Imbalance: AUCTION, OpeningPrice: STATISTICS, HighPrice: STATISTICS,
    LowPrice: STATISTICS, LastTrade: STATISTICS, ExecutionStatistics: STATISTICS,
}  # fmt: skip
STATISTICS_IN_ORDER = (OpeningPrice, HighPrice, LowPrice, ExecutionStatistics)


class Checks:
    """`trades` are those of the session of each instrument, `past` those of sessions that are over."""

    def __init__(
        self, engine: Engine, closing_fine: dict[int, int] | None = None, bands: Bands | None = None
    ) -> None:
        self.engine, self.closing_fine, self.bands = engine, closing_fine or {}, bands
        self.reader = Reader()
        self.trades: dict[int, dict[int, Trade]] = defaultdict(dict)
        self.past: dict[tuple[int, int, int], Trade] = {}  # by instrument, date and tradeID
        self.amended: set[int] = set()  # an amended trade is told late but keeps its place
        self.told_ids: set[tuple[int, int, int]] = set()
        self.last_id = 0
        self.told_close: dict[int, tuple[int, int | None]] = {}  # closing price, and the average until then

    def fingerprint(self) -> object:
        """All that a rejected command must leave as it was."""
        floor = self.engine.floor
        markets = [
            (
                [(o.order_id, o.secondary_id, o.price, o.leaves, o.shown) for o in m.book],
                list(m.statistics.trades), m.entered, m.executed, m.cancelled, m.stops.count, m.instrument,
                self.engine.trading_state(m.security_id),
            )
            for m in floor.markets.values()
        ]  # fmt: skip
        return markets, list(floor.orders), floor.segment(1).last()

    def after(self, outcome: CommandOutcome, before: object) -> None:
        if outcome.rejection is not None:
            assert not outcome.events
            assert self.fingerprint() == before
        self.reader.read(outcome.events)
        check_legs(outcome.events, self.engine.floor.markets)
        for event in outcome.events:
            self._check_band(event)
            self._check_agreed(event)
            self._note(event)
            check_order_of(event)
            self._check_totals(event)

    def follow(self, events: Sequence[Event]) -> None:
        """Events of a day that is over, under bands that never changed."""
        for event in events:
            self._check_band(event)
            self._note(event)

    def _check_band(self, event: Event) -> None:
        """13.11: what orders trade in an event is within the auction band around the last price before it,
        also where a strategy took them from the book of a leg. Blocks and reports of legs need not be."""
        if self.bands is None or not is_executed(event):
            return
        for trade in event.updates:
            if not isinstance(trade, Trade) or trade.condition & TradeCondition.BLOCK:
                continue
            limits = self.bands.find(trade.security_id)
            rule = None if limits is None else limits.rules.get(BandType.AUCTION)
            middle = self._last_price(trade.security_id)
            if rule is None or not middle or (trade.sub_type is TradeSubType.LEG and not trade.implied):
                continue
            off = (trade.price - middle) * 1_000_000
            assert abs(middle) * rule.low <= off <= abs(middle) * rule.high, (trade, middle, rule)

    def _last_price(self, security_id: int) -> int | None:
        """Of what was told before this event; else the closing price of the day before, on its tick."""
        found = [t for t in self.trades[security_id].values() if forms_price(t.sub_type, t.condition)]
        if found:
            return found[-1].price
        market = self.engine.market(security_id)
        closing, tick = market.statistics.closing_fine, market.instrument.tick
        return None if closing is None else round(closing / 10_000 / tick) * tick

    def _check_agreed(self, event: Event) -> None:
        """A trade at close is at the closing price told last, one at average at the average told last."""
        for update in event.updates:
            if isinstance(update, ClosingPrice) and update.origin is PriceOrigin.DAILY:
                trades = [*self.trades[update.security_id].values()]
                volume, value = sum(t.size for t in trades), sum(t.size * t.price for t in trades)
                mean = average(value, volume) if volume else None
                self.told_close[update.security_id] = round(update.price_fine / 10_000), mean
            elif isinstance(update, Trade) and update.sub_type in (TradeSubType.TAC, TradeSubType.TAA):
                closing, mean = self.told_close[update.security_id]
                assert update.price == (closing if update.sub_type is TradeSubType.TAC else mean)

    def _note(self, event: Event) -> None:
        busted = {u.trade_id for u in event.updates if isinstance(u, TradeBusted)}
        for update in event.updates:
            if isinstance(update, Trade):
                self._note_trade(update, again=update.trade_id in busted)
            elif isinstance(update, TradeBusted):
                key = update.security_id, update.trade_date, update.trade_id
                if self.past.pop(key, None) is None:
                    del self.trades[update.security_id][update.trade_id]
            elif isinstance(update, StateChanged) and update.event is StateEvent.SESSION_CHANGE:
                for trade in self.trades.pop(update.security_id, {}).values():
                    self.past[trade.security_id, trade.trade_date, trade.trade_id] = trade
            elif isinstance(update, OrderUpdate) and update.action is Action.NEW and not update.implied:
                assert update.order_id > self.last_id  # 12.1: they rise
                self.last_id = update.order_id

    def _note_trade(self, trade: Trade, *, again: bool) -> None:
        key = trade.security_id, trade.trade_date, trade.trade_id
        assert is_allowed(trade.condition, trade.sub_type), trade  # 13.3.3
        assert again or key not in self.told_ids  # 13.3: unique for an instrument and a date
        self.told_ids.add(key)
        if again:
            self.amended.add(trade.security_id)
        self.trades[trade.security_id][trade.trade_id] = trade

    def _check_totals(self, event: Event) -> None:
        for told in event.updates:
            if not isinstance(told, ExecutionStatistics):
                continue
            trades = [*self.trades[told.security_id].values()]
            assert told.volume == sum(t.size for t in trades)
            assert told.trades == len(trades)
            value = sum(t.size * t.price for t in trades)
            assert told.value == value
            assert told.vwap == (average(value, told.volume) if trades else None)
            last = [t for t in trades if forms_price(t.sub_type, t.condition)]
            closing = self.closing_fine.get(told.security_id)
            if closing is not None and told.security_id not in self.amended:
                assert told.net_change_fine == (last[-1].price * 10_000 - closing if last else None)

    def always(self) -> None:
        """After every command."""
        floor = self.engine.floor
        for market in floor.markets.values():
            is_open = self.engine.trading_state(market.security_id) is State.OPEN
            market.book.check_invariants(matching=is_open)
            resting = sum(o.leaves for o in floor.orders.values() if o.security_id == market.security_id)
            assert market.entered == resting + market.executed + market.cancelled
        self.reader.check(self.engine)
        assert sorted(i for orders in floor.by_firm.values() for i in orders) == sorted(floor.orders)
        assert implied_of_engine(self.engine) == implied_of_books(self.engine)
        for security_id in floor.markets:
            self._check_statistics(security_id)

    def _check_statistics(self, security_id: int) -> None:
        statistics, trades = self.engine.market(security_id).statistics, self.trades[security_id]
        assert list(statistics.trades) == list(trades) or security_id in self.amended
        prices = [t for t in trades.values() if forms_price(t.sub_type, t.condition)]
        assert statistics.high == max((t.price for t in prices), default=None)
        assert statistics.low == min((t.price for t in prices), default=None)
        if security_id not in self.amended:
            opening = next((t.price for t in prices if can_open(t.sub_type)), None)
            assert statistics.opening == opening


def check_legs(events: Sequence[Event], markets: Mapping[int, InstrumentMarket]) -> None:
    """13.3.2, 4.2.1: behind an event in which a strategy traded comes an event of each of its legs, and
    what the legs traded is worth what the strategy did."""
    place = 0
    while place < len(events):
        place = _check_legs_of(events, place, markets)


def _check_legs_of(events: Sequence[Event], place: int, markets: Mapping[int, InstrumentMarket]) -> int:
    """The place behind the events of the legs."""
    event, after = events[place], place + 1
    traded: dict[int, list[Trade]] = defaultdict(list)
    if not any(isinstance(u, TradeBusted) for u in event.updates):  # an amendment trades nothing again
        for update in event.updates:
            if isinstance(update, Trade) and update.security_id in markets:
                traded[update.security_id].append(update)
    for security_id, trades in traded.items():
        instrument = markets[security_id].instrument
        if not instrument.legs or any(leg.security_id not in markets for leg in instrument.legs):
            continue
        owed = [leg.ratio * sum(trade.size for trade in trades) for leg in instrument.legs]
        worth = 0
        while any(owed):
            for number, leg in enumerate(instrument.legs):
                found = [u for u in events[after].updates if isinstance(u, Trade)]
                assert found
                assert {(t.security_id, t.sub_type) for t in found} == {(leg.security_id, TradeSubType.LEG)}
                assert is_executed(events[after]) == is_executed(event)
                owed[number] -= sum(trade.size for trade in found)
                value = sum(trade.price * trade.size for trade in found)
                worth += value if leg.side is Side.BUY else -value
                after = _check_legs_of(events, after, markets)
            assert min(owed) >= 0
        if instrument.price_method in (PriceMethod.NET_PRICE, PriceMethod.YIELD_DIFFERENCE):
            assert worth == sum(trade.price * trade.size for trade in trades)
    return after


def check_retail_fills(outcome: CommandOutcome, side: Side, firm: int, own_best: int | None) -> None:
    """What one retail order fills: RLP trades within its firm and never past its own side of the book, and
    nothing is passed over, so that prices only get worse for it."""
    trades = [u for event in outcome.events[:1] for u in event.updates if isinstance(u, Trade)]
    sign = 1 if side is Side.BUY else -1
    assert all(sign * before.price <= sign * after.price for before, after in pairwise(trades))
    for trade in trades:
        if trade.sub_type is TradeSubType.RLP:
            assert trade.buyer == trade.seller == firm == 1
            assert own_best is None or sign * trade.price >= sign * own_best


def check_midpoint(outcome: CommandOutcome, bid: int | None, offer: int | None) -> None:
    """In the middle of the book, which it leaves as it is; nothing without both sides."""
    trades = [u for event in outcome.events for u in event.updates if isinstance(u, Trade)]
    midpoints = [t for t in trades if t.sub_type is TradeSubType.MIDPOINT]
    if bid is None or offer is None:
        assert not trades
    elif midpoints:
        (trade,) = midpoints
        assert bid <= trade.price <= offer
        assert trade.price - bid == (offer - bid) // 2


def is_executed(event: Event) -> bool:
    return isinstance(event.updates[0], ExecutionSummary)


def check_order_of(event: Event) -> None:
    """4.2, 13.1: what causes the event, summary, cancels by prevention, trades, book, auction, statistics,
    which close every event that traded."""
    assert event.updates
    ranks = [RANKS.get(type(update), LEADS) for update in event.updates]
    if TRADES in ranks:  # prevention's cancels are told before the trades (13.1.2)
        first = ranks.index(TRADES)
        ranks = [rank for place, rank in enumerate(ranks) if rank != BOOK or place > first]
    assert ranks == sorted(ranks), event
    trades = [u for u in event.updates if isinstance(u, Trade)]
    summary = event.updates[0]
    if isinstance(summary, ExecutionSummary):
        assert summary.fill_size == sum(t.size for t in trades) > 0
        assert summary.last_price == trades[-1].price
        assert len({u.security_id for u in event.updates}) == 1  # type: ignore[union-attr]
    else:
        assert SUMMARY not in ranks
    _check_statistics_of(event)


def _check_statistics_of(event: Event) -> None:
    """Of every instrument that traded its totals, once and last; a bust of another session has none."""
    told: dict[int, list[int]] = {}
    for update in event.updates:
        if isinstance(update, STATISTICS_IN_ORDER):
            told.setdefault(update.security_id, []).append(STATISTICS_IN_ORDER.index(type(update)))
    for found in told.values():
        assert found == sorted(set(found))
        assert found[-1] == STATISTICS_IN_ORDER.index(ExecutionStatistics)
    traded = {u.security_id for u in event.updates if isinstance(u, Trade)}
    busted = {u.security_id for u in event.updates if isinstance(u, TradeBusted)}
    assert traded - busted <= set(told) <= traded | busted
