"""The flow is the same for the same seed, has everything in it, and looks like a market."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pytest

from pregao.exchange import commands
from pregao.exchange.catalogue import Catalogue, load_default_catalogue
from pregao.exchange.commands import BlockKind, BlockTrade, CancelOrder, ChangeOrder, ForwardTrade, NewOrder
from pregao.exchange.engine import CommandOutcome, Engine
from pregao.exchange.flow import FlowCommand, FlowSettings, OrderFlow
from pregao.exchange.flow.draws import Blocks
from pregao.exchange.flow.impact import Impact
from pregao.exchange.orders import OrderType, SelfTrade, TimeInForce
from pregao.model.events import Event, ExecutionSummary, OrderUpdate, StateChanged, Trade
from pregao.model.instruments import SecurityType
from pregao.model.market import Aggressor, Session, Side, State, TradeCondition

START = 1_794_830_400_000_000_000  # 2026-11-16 12:00 UTC
HOUR = 3600 * 1_000_000_000
COUNT = 60_000
DAY_WITH_ALL = 40_000


@dataclass(slots=True)
class Open:
    side: Side
    price: int | None
    quantity: int
    leaves: int


class QuietExchange:
    """An exchange that matches nothing: orders rest until cancelled, some trades are told."""

    def __init__(self, state: State = State.OPEN) -> None:
        self.orders: dict[int, Open] = {}
        self.state = state
        self.submitted = 0

    def trading_state(self, security_id: int) -> State:
        return self.state

    def submit(self, command: FlowCommand) -> CommandOutcome:
        self.submitted += 1
        if isinstance(command, CancelOrder):
            del self.orders[command.order_id]
        if isinstance(command, ChangeOrder):
            order = self.orders[command.order_id]
            order.price = command.price or order.price
            order.quantity = order.leaves = command.quantity or order.quantity
        if isinstance(command, NewOrder) and command.tif not in (TimeInForce.IOC, TimeInForce.FOK):
            order = Open(command.side, command.price, command.quantity, command.quantity)
            self.orders[self.submitted] = order
            return CommandOutcome(order_ids=(self.submitted,))
        if isinstance(command, NewOrder):
            return CommandOutcome(events=(_trade(command, self.submitted),))
        return CommandOutcome()


def _trade(order: NewOrder, trade_id: int) -> Event:
    price, now_ns = order.price or 100, order.now_ns
    summary = ExecutionSummary(order.security_id, Aggressor.BUY, price, order.quantity, 0, 0, now_ns, now_ns)
    condition = TradeCondition.REGULAR
    trade = Trade(
        order.security_id, trade_id, price, order.quantity, 20_773, Session.REGULAR, condition, now_ns
    )
    return Event((summary, trade))


def run(
    seed: int, count: int = COUNT, state: State = State.OPEN, settings: FlowSettings | None = None
) -> Iterator[tuple[int, FlowCommand]]:
    exchange = QuietExchange(state)
    flow = OrderFlow(load_default_catalogue(), seed, exchange.orders, exchange.trading_state, settings)
    for now_ns, command in flow.commands(START, START + 7 * HOUR, count):
        yield now_ns, command
        flow.answered(exchange.submit(command))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_default_catalogue()


@pytest.fixture(scope="module")
def day() -> list[FlowCommand]:
    return [command for _, command in run(1)]


def test_same_seed_same_commands() -> None:
    assert list(run(5, 20_000)) == list(run(5, 20_000))
    assert list(run(5, 2_000)) != list(run(6, 2_000))


def test_times_never_go_back() -> None:
    times = [now_ns for now_ns, _ in run(2, 20_000)]
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert times[0] >= START
    assert times[-1] < START + 7 * HOUR


def test_time_is_in_the_command() -> None:
    assert all(now_ns == command.now_ns for now_ns, command in run(3, 5_000))


def test_count_is_nearly_kept(day: list[FlowCommand]) -> None:
    assert 0.99 * COUNT <= len(day) <= COUNT


def test_every_kind_of_command_occurs() -> None:
    kinds = {type(command) for _, command in run(4, DAY_WITH_ALL)}
    wanted = {kind for kind in vars(commands).values() if isinstance(kind, type) and hasattr(kind, "now_ns")}
    assert wanted - kinds == set()


def test_every_kind_of_order_occurs(day: list[FlowCommand]) -> None:
    orders = [command for command in day if isinstance(command, NewOrder)]
    hidden = OrderType.RLP  # has its own command
    assert {order.type for order in orders} >= set(OrderType) - {hidden, OrderType.MARKET_ON_AUCTION}
    assert {order.tif for order in orders} == set(TimeInForce)
    assert {order.stp for order in orders} == set(SelfTrade)
    assert {order.side for order in orders} == set(Side)
    for field in ("max_floor", "min_quantity", "investor_id", "stop_price", "expire_date"):
        assert field in {f.name for f in fields(NewOrder)}
        assert any(getattr(order, field) is not None for order in orders), field
    assert {c.kind for c in day if isinstance(c, BlockTrade)} == set(BlockKind)
    vistas = {c.cash_security_id is not None for c in day if isinstance(c, ForwardTrade)}
    assert vistas == {True, False}


def test_orders_fit_their_instruments(day: list[FlowCommand], catalogue: Catalogue) -> None:
    for order in day:
        if not isinstance(order, NewOrder):
            continue
        instrument = catalogue.by_id[order.security_id].instrument
        assert instrument.security_type is not SecurityType.FORWARD
        assert order.quantity % instrument.lot == 0
        assert 0 < order.quantity <= instrument.maximum_quantity
        for price in (order.price, order.stop_price):
            assert price is None or price % instrument.tick == 0
            assert price is None or price > 0 or instrument.legs
        if order.tif in (TimeInForce.GTC, TimeInForce.GTD):
            assert instrument.accepts_gt


def test_most_commands_add_change_and_cancel(day: list[FlowCommand]) -> None:
    settled = Counter(type(command) for command in day[20_000:])
    total = settled.total()
    assert 0.30 <= settled[NewOrder] / total <= 0.50
    assert 0.25 <= settled[CancelOrder] / total <= 0.45
    assert 0.20 <= settled[ChangeOrder] / total <= 0.40  # shares more, futures less
    rare = total - settled[NewOrder] - settled[CancelOrder] - settled[ChangeOrder]
    assert 0 < rare / total < 0.01


def test_popularity_is_like_zipf(day: list[FlowCommand]) -> None:
    counts = Counter(command.security_id for command in day if isinstance(command, NewOrder))
    sizes = np.array([size for _, size in counts.most_common(60)], float)
    slope = np.polyfit(np.log(np.arange(1, 61)), np.log(sizes), 1)[0]
    assert -1.3 <= slope <= -0.5  # books that fill up first flatten the adds; commands follow 1.05
    assert len(counts) > 180


def test_arrivals_come_in_bursts() -> None:
    """Far more variance in the gaps than a Poisson process has."""
    gaps = np.diff([now_ns for now_ns, _ in run(8, 20_000)]).astype(float)
    assert gaps.std() / gaps.mean() > 1.3
    assert np.median(gaps) < 0.5 * gaps.mean()


def test_auctions_get_auction_orders() -> None:
    for state, kinds in (
        (State.RESERVED, {OrderType.LIMIT, OrderType.MARKET_ON_AUCTION}),
        (
            State.FINAL_CLOSING_CALL,
            {OrderType.LIMIT, OrderType.MARKET_ON_AUCTION, OrderType.MARKET_ON_CLOSE},
        ),
    ):
        orders = [c for _, c in run(9, 5_000, state) if isinstance(c, NewOrder)]
        assert {order.type for order in orders} == kinds
        assert {order.tif for order in orders} == {TimeInForce.DAY}
        buys = [o.price for o in orders if o.side is Side.BUY and o.price and o.security_id == 200000100101]
        sells = [o.price for o in orders if o.side is Side.SELL and o.price and o.security_id == 200000100101]
        assert max(buys) > min(sells)  # there is something to uncross


@pytest.mark.parametrize("state", [State.CLOSE, State.FORBIDDEN, State.PAUSE])
def test_nothing_comes_while_closed(state: State) -> None:
    assert not list(run(10, 5_000, state))


def test_a_state_told_in_an_answer_is_heeded(catalogue: Catalogue) -> None:
    exchange = QuietExchange()
    flow = OrderFlow(catalogue, 11, exchange.orders, exchange.trading_state)
    sent = 0
    for _, command in flow.commands(START, START + HOUR, 1_000):
        sent += 1
        exchange.submit(command)
        if sent == 10:
            exchange.state = State.CLOSE
            change = StateChanged(1, Session.REGULAR, State.CLOSE, None, 20_773, START)
            flow.answered(CommandOutcome(events=(Event((change,)),)))
    assert sent == 10


def test_with_the_engine(catalogue: Catalogue) -> None:
    """Hardly anything is rejected, cancels outnumber trades, and most messages are of orders."""
    engine = Engine(catalogue.instruments, trade_date=20_773)
    floor, settings = engine.floor, FlowSettings(deepest=150)
    flow = OrderFlow(catalogue, 12, floor.orders, engine.trading_state, settings, floor.markets)
    updates, rejected, sent = Counter[type](), 0, Counter[type]()
    for _, command in flow.commands(START, START + 7 * HOUR, 30_000):
        outcome = engine.submit(command)
        flow.answered(outcome)
        sent[type(command)] += 1
        rejected += outcome.rejection is not None
        updates.update(type(update) for event in outcome.events for update in event.updates)
    assert rejected < 0.01 * sent.total()
    assert sent[CancelOrder] > 2 * updates[Trade] > 0
    assert 0.85 <= updates[OrderUpdate] / updates.total() <= 0.97


def _day_with_books(count: int, seed: int = 12) -> tuple[Counter[type], list[float], Engine]:
    """Commands by kind, lives of cancelled orders in seconds, and the engine at the end of seven hours."""
    catalogue = load_default_catalogue()
    engine = Engine(catalogue.instruments, trade_date=20_773)
    floor = engine.floor
    flow = OrderFlow(catalogue, seed, floor.orders, engine.trading_state, markets=floor.markets)
    sent, lives = Counter[type](), []
    for now_ns, command in flow.commands(START, START + 7 * HOUR, count):
        order = floor.orders.get(command.order_id) if isinstance(command, CancelOrder) else None
        if order is not None and order.inserted_ns:
            lives.append((now_ns - order.inserted_ns) / 1e9)
        flow.answered(engine.submit(command))
        sent[type(command)] += 1
    return sent, lives, engine


def test_rare_operations_are_as_many_on_any_day() -> None:
    usual = {NewOrder, ChangeOrder, CancelOrder}
    few, many = (_day_with_books(count)[0] for count in (2_000, 12_000))
    assert {kind: n for kind, n in few.items() if kind not in usual} == {
        kind: n for kind, n in many.items() if kind not in usual
    }
    assert 1 <= many[commands.BustTrade] <= 5


def test_most_cancels_are_young_and_some_are_hours_old() -> None:
    _, lives, _ = _day_with_books(12_000)
    assert 0.3 < np.mean(np.array(lives) < 1) < 0.8
    assert min(lives) < 0.01
    assert max(lives) > 3600


def test_books_have_two_sides_around_the_value() -> None:
    """Who is left behind by the value cancels, and an empty touch is filled again."""
    _, _, engine = _day_with_books(12_000)
    catalogue = load_default_catalogue()
    for symbol in ("PETR4", "VALE3", "WINZ26", "WDOZ26", "DI1F27"):
        book = engine.market(catalogue.instrument(symbol).security_id).book
        bid, offer = book.buys.best_price, book.sells.best_price
        assert bid is not None
        assert offer is not None
        assert 0 < offer - bid < 0.01 * offer


def test_other_peoples_orders_are_not_the_flow_s_to_cancel(catalogue: Catalogue) -> None:
    """An order that somebody else left far behind the value is traded with, never cancelled."""
    engine = Engine(catalogue.instruments, trade_date=20_773)
    floor = engine.floor
    flow = OrderFlow(catalogue, 3, floor.orders, engine.trading_state, markets=floor.markets)
    listing = catalogue.by_symbol["PETR4"]
    low, security_id = listing.closing * 9 // 10 // 100 * 100, listing.instrument.security_id
    theirs = engine.submit(NewOrder(START, security_id, Side.SELL, 1_000_000, low)).order_id
    for _, command in flow.commands(START + 1, START + HOUR, 4_000):
        assert not (isinstance(command, CancelOrder) and command.order_id == theirs)
        flow.answered(engine.submit(command))
    assert theirs in floor.orders
    assert floor.orders[theirs].executed > 0


def test_buyers_push_the_price_up(catalogue: Catalogue) -> None:
    settings = FlowSettings()
    blocks = Blocks(catalogue, np.random.default_rng(1), settings, 1)
    impact = Impact(blocks, catalogue, settings.day_ns)
    which = [each.symbol for each in catalogue.instruments].index("PETR4")
    impact.fade(START)
    for _ in range(6):
        impact.traded(which, Aggressor.BUY, 500)
    pushed = impact.shifts[which]
    assert 0 < pushed <= 0.003 * catalogue.by_symbol["PETR4"].closing
    impact.traded(which, Aggressor.NONE, 500)
    assert impact.shifts[which] == pushed
    impact.fade(START + 2 * HOUR)
    assert impact.shifts[which] == 0
