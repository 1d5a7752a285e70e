"""The uncrossing rule against its slow twin, and step by step."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.exchange.auction import (
    ANY_PRICE,
    AuctionOrder,
    Fill,
    Theoretical,
    allocate,
    theoretical,
    trades_at,
)
from pregao.model.events import OrderUpdate, Trade
from pregao.model.market import Action, ImbalanceSide, Phase, Side
from tests.twins.plain_auction import levels_of_orders, slow_theoretical
from tests.unit.exchange.desk_kit import ABC, TEMPLATE, Exchange, catalogue, listing

TICK = 5


def buy(price: int | None, quantity: int, priority: int = 1) -> AuctionOrder:
    return AuctionOrder(Side.BUY, price, quantity, priority)


def sell(price: int | None, quantity: int, priority: int = 2) -> AuctionOrder:
    return AuctionOrder(Side.SELL, price, quantity, priority)


def found(orders: list[AuctionOrder], reference: int | None, tick: int = TICK) -> Theoretical | None:
    return theoretical(levels_of_orders(orders), tick, reference)


# Some orders were entered under another tick.
prices = st.one_of(st.none(), st.integers(18, 32).map(lambda ticks: ticks * TICK), st.integers(90, 160))
references = st.one_of(st.none(), st.integers(60, 190))
ranges = st.one_of(st.just(ANY_PRICE), st.tuples(st.integers(60, 120), st.integers(120, 190)))


@st.composite
def books(draw: st.DrawFn) -> list[AuctionOrder]:
    rows = draw(st.lists(st.tuples(st.sampled_from(Side), prices, st.integers(1, 4)), max_size=14))
    priorities = draw(st.permutations(range(1, len(rows) + 1)))
    return [AuctionOrder(*row, priority) for row, priority in zip(rows, priorities, strict=True)]


@settings(max_examples=400)
@given(books(), references, ranges)
def test_theoretical_equals_its_slow_twin(
    orders: list[AuctionOrder], reference: int | None, within: tuple[int, int]
) -> None:
    quick = theoretical(levels_of_orders(orders), TICK, reference, within)
    slow = slow_theoretical(orders, TICK, reference, within)
    assert (quick and (quick.price, quick.quantity, quick.surplus)) == slow


@given(books(), references)
def test_executed_volume_is_maximal_and_what_was_announced(
    orders: list[AuctionOrder], reference: int | None
) -> None:
    best = found(orders, reference)
    limits = [order.price for order in orders if order.price is not None]
    if best is None:
        assert all(not allocate(orders, price) for price in limits)
        return
    assert sum(fill.quantity for fill in allocate(orders, best.price)) == best.quantity
    for price in range(min(limits, default=0), max(limits, default=-1) + 1):
        assert sum(fill.quantity for fill in allocate(orders, price)) <= best.quantity


@given(books(), references)
def test_no_fill_is_worse_than_a_limit_and_priority_is_respected(
    orders: list[AuctionOrder], reference: int | None
) -> None:
    best = found(orders, reference)
    if best is None:
        return
    fills = allocate(orders, best.price)
    by_priority = {order.priority: order for order in orders}
    filled: dict[int, int] = {}
    for fill in fills:
        assert fill.quantity > 0
        assert by_priority[fill.buy].side is Side.BUY
        assert by_priority[fill.sell].side is Side.SELL
        for priority in (fill.buy, fill.sell):
            assert trades_at(by_priority[priority], best.price)
            filled[priority] = filled.get(priority, 0) + fill.quantity
    for order in orders:
        assert filled.get(order.priority, 0) <= order.quantity
        if filled.get(order.priority, 0) == order.quantity:
            continue
        # Whoever stands behind an order that is not done got nothing.
        for other in orders:
            if other.side is order.side and stands_before(order, other):
                assert other.priority not in filled


def stands_before(order: AuctionOrder, other: AuctionOrder) -> bool:
    if order.price == other.price:
        return order.priority < other.priority
    if order.price is None or other.price is None:
        return order.price is None
    return order.price > other.price if order.side is Side.BUY else order.price < other.price


def in_auction() -> Exchange:
    """One that nothing prolongs."""
    template = replace(TEMPLATE, maximum_extensions=0)
    exchange = Exchange(catalogue(listing(ABC, template), pairs=()))
    exchange.phase("10:00:00", Phase.PRE_OPEN, "01", ends="10:10:00")
    return exchange


rows = st.tuples(st.sampled_from(Side), st.none() | st.integers(-4, 4), st.integers(1, 4))


@given(st.lists(rows, max_size=14))
def test_an_uncross_conserves_quantities_and_its_rest_does_not_cross(
    orders: list[tuple[Side, int | None, int]],
) -> None:
    """Limit orders that are left rest, those without a price are cancelled."""
    exchange = in_auction()
    for side, ticks, lots in orders:
        price = None if ticks is None else 10_0000 + 100 * ticks
        assert exchange.order("10:01:00", ABC, side, 100 * lots, price).rejection is None
    book = exchange.engine.market(ABC).book
    entered = sum(order.leaves for order in book)
    updates = [each for event in exchange.phase("10:10:00", Phase.OPEN, "01") for each in event]
    traded = sum(each.size for each in updates if isinstance(each, Trade))
    gone = [each for each in updates if isinstance(each, OrderUpdate) and each.action is Action.DELETE]
    cancelled = exchange.engine.market(ABC).cancelled
    assert entered == 2 * traded + sum(order.leaves for order in book) + cancelled
    assert cancelled == 0 or any(each.price is None for each in gone)
    book.check_invariants(matching=True)


def test_step_one_the_largest_quantity() -> None:
    orders = [buy(110, 300, 1), buy(100, 500, 2), sell(100, 400, 3), sell(110, 400, 4)]
    assert found(orders, None) == Theoretical(100, 400, 400)


def test_step_two_the_smallest_surplus_may_lie_between_two_limits() -> None:
    orders = [buy(100, 100, 1), buy(90, 50, 2), sell(90, 100, 3), sell(100, 50, 4)]
    best = found(orders, None)
    assert best == Theoretical(95, 100, 0)
    assert best.imbalance is ImbalanceSide.BALANCED


def test_step_four_pressure() -> None:
    buyers = found([buy(110, 200, 1), sell(90, 100, 2)], 90)
    assert buyers == Theoretical(110, 100, 100)
    assert buyers.imbalance is ImbalanceSide.MORE_BUYERS
    sellers = found([buy(110, 100, 1), sell(90, 200, 2)], 110)
    assert sellers == Theoretical(90, 100, -100)
    assert sellers.imbalance is ImbalanceSide.MORE_SELLERS


def test_steps_five_and_six_the_reference_then_the_higher_price() -> None:
    orders = [buy(110, 100, 1), sell(90, 100, 2)]
    assert found(orders, 100) == Theoretical(100, 100, 0)
    assert found(orders, 80) == Theoretical(90, 100, 0)
    assert found(orders, None) == Theoretical(110, 100, 0)
    orders = [buy(100, 100, 1), sell(95, 100, 2)]
    assert found(orders, 97) == Theoretical(95, 100, 0)
    wide = [buy(100, 100, 1), sell(90, 100, 2)]
    assert found(wide, 95, tick=10) == Theoretical(100, 100, 0)


def test_orders_without_price_trade_first() -> None:
    orders = [buy(110, 100, 1), buy(None, 200, 5), sell(100, 150, 2), sell(105, 100, 3)]
    best = found(orders, None)
    assert best is not None
    assert (best.price, best.quantity) == (110, 250)
    assert allocate(orders, best.price) == (Fill(5, 2, 150), Fill(5, 3, 50), Fill(1, 3, 50))


def test_only_unpriced_orders_need_a_reference() -> None:
    orders = [buy(None, 100, 1), sell(None, 70, 2)]
    assert found(orders, None) is None
    assert found(orders, 120) == Theoretical(120, 70, 30)
    assert found(orders, 123) == Theoretical(125, 70, 30)  # a tick, and buyers press upwards


def test_nothing_crosses() -> None:
    assert found([], 100) is None
    assert found([buy(95, 100), sell(100, 100)], 100) is None
    assert found([buy(None, 100)], 100) is None


def test_a_stray_limit_does_not_hold_those_without_a_price() -> None:
    """Two of 100 without a price meet at the reference, not at a bid far below it with 100 left over."""
    orders = [buy(None, 100, 1), sell(None, 100, 2)]
    for stray in (buy(50, 100, 3), sell(150, 100, 3)):
        assert found([*orders, stray], 100) == Theoretical(100, 100, 0)
    assert found([*orders, buy(150, 100, 3)], 100) == Theoretical(155, 100, 0)
    assert found([*orders, sell(50, 100, 3)], 100) == Theoretical(45, 100, 0)


def test_step_three_a_tick_beyond_all_limits_only_where_nothing_else_is_as_good() -> None:
    assert found([buy(None, 200, 1), sell(100, 100, 2)], None) == Theoretical(100, 100, 100)
    assert found([buy(None, 200, 1), sell(100, 100, 2)], 90) == Theoretical(100, 100, 100)
    assert found([buy(None, 200, 1), sell(100, 100, 2)], 120) == Theoretical(120, 100, 100)


def test_no_price_that_nobody_said_is_past_the_hard_limits_or_below_a_tick() -> None:
    orders = [buy(None, 100, 1), sell(None, 100, 2), buy(150, 100, 3)]
    levels = levels_of_orders(orders)
    assert theoretical(levels, TICK, None, (50, 150)) == Theoretical(150, 100, 100)
    exchange = in_auction()
    for side, quantity, price in ((Side.BUY, 100, None), (Side.SELL, 200, None), (Side.SELL, 100, 100)):
        exchange.order("10:01:00", ABC, side, quantity, price)
    market = exchange.engine.market(ABC)
    market.statistics.closing_fine = None
    (event,) = exchange.phase("10:10:00", Phase.OPEN, "01")
    assert [(each.price, each.size) for each in event if isinstance(each, Trade)] == [(100, 100)]
