"""The uncrossing rule against a slow twin that tries every tick and every order."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange.auction import (
    AuctionOrder,
    Fill,
    Levels,
    Theoretical,
    allocate,
    leftovers,
    theoretical,
    theoretical_of_levels,
    trades_at,
)
from pregao.model.market import ImbalanceSide, Side

TICK = 5


def buy(price: int | None, quantity: int, priority: int = 1) -> AuctionOrder:
    return AuctionOrder(Side.BUY, price, quantity, priority)


def sell(price: int | None, quantity: int, priority: int = 2) -> AuctionOrder:
    return AuctionOrder(Side.SELL, price, quantity, priority)


def slow_theoretical(
    orders: list[AuctionOrder], tick: int, reference: int | None
) -> tuple[int, int, int] | None:
    """Every tick, every order, the five steps one after the other as they are written."""
    limits = [order.price for order in orders if order.price is not None]
    if limits:
        prices = list(range(min(limits), max(limits) + 1, tick))
    else:
        prices = [] if reference is None else [reference]

    def wanted(side: Side, price: int) -> int:
        return sum(order.quantity for order in orders if order.side is side and trades_at(order, price))

    found = [(p, wanted(Side.BUY, p), wanted(Side.SELL, p)) for p in prices]
    found = [each for each in found if min(each[1:]) > 0]
    if not found:
        return None
    largest = max(min(bought, sold) for _, bought, sold in found)
    found = [each for each in found if min(each[1:]) == largest]
    smallest = min(abs(bought - sold) for _, bought, sold in found)
    found = [each for each in found if abs(each[1] - each[2]) == smallest]
    if all(bought > sold for _, bought, sold in found):
        found = [max(found)]
    elif all(bought < sold for _, bought, sold in found):
        found = [min(found)]
    if reference is not None:
        nearest = min(abs(price - reference) for price, _, _ in found)
        found = [each for each in found if abs(each[0] - reference) == nearest]
    price, bought, sold = max(found)
    return price, largest, bought - sold


prices = st.one_of(st.none(), st.integers(18, 32).map(lambda ticks: ticks * TICK))
references = st.one_of(st.none(), st.integers(80, 170))


@st.composite
def books(draw: st.DrawFn) -> list[AuctionOrder]:
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from(Side), prices, st.integers(1, 4).map(lambda n: n * 100)), max_size=14
        )
    )
    priorities = draw(st.permutations(range(1, len(rows) + 1)))
    return [AuctionOrder(*row, priority) for row, priority in zip(rows, priorities, strict=True)]


@given(books(), references)
def test_theoretical_equals_its_slow_twin(orders: list[AuctionOrder], reference: int | None) -> None:
    found = theoretical(orders, TICK, reference)
    expected = slow_theoretical(orders, TICK, reference)
    assert (found and (found.price, found.quantity, found.surplus)) == expected


@given(books(), references)
def test_executed_volume_is_maximal_and_what_was_announced(
    orders: list[AuctionOrder], reference: int | None
) -> None:
    found = theoretical(orders, TICK, reference)
    if found is None:
        limits = [order.price for order in orders if order.price is not None]
        assert all(not allocate(orders, price) for price in limits)
        return
    assert sum(fill.quantity for fill in allocate(orders, found.price)) == found.quantity
    limits = [order.price for order in orders if order.price is not None]
    for price in range(min(limits, default=0), max(limits, default=-1) + 1, TICK):
        assert sum(fill.quantity for fill in allocate(orders, price)) <= found.quantity


@given(books(), references)
def test_no_fill_is_worse_than_a_limit_and_priority_is_respected(
    orders: list[AuctionOrder], reference: int | None
) -> None:
    found = theoretical(orders, TICK, reference)
    if found is None:
        return
    fills = allocate(orders, found.price)
    by_priority = {order.priority: order for order in orders}
    filled: dict[int, int] = {}
    for fill in fills:
        assert fill.quantity > 0
        assert by_priority[fill.buy].side is Side.BUY
        assert by_priority[fill.sell].side is Side.SELL
        for priority in (fill.buy, fill.sell):
            assert trades_at(by_priority[priority], found.price)
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


@given(books(), references)
def test_quantities_are_conserved_and_the_rest_does_not_cross(
    orders: list[AuctionOrder], reference: int | None
) -> None:
    found = theoretical(orders, TICK, reference)
    fills = allocate(orders, found.price) if found else ()
    rest = leftovers(orders, fills)
    traded = sum(fill.quantity for fill in fills)
    kept = sum(order.quantity for order in (*rest.cancelled, *rest.resting))
    assert sum(order.quantity for order in orders) == 2 * traded + kept
    assert all(order.price is None for order in rest.cancelled)
    bids = [order.price for order in rest.resting if order.side is Side.BUY and order.price is not None]
    offers = [order.price for order in rest.resting if order.side is Side.SELL and order.price is not None]
    assert len(bids) + len(offers) == len(rest.resting)
    assert not bids or not offers or max(bids) < min(offers)


@given(books(), references)
def test_levels_are_enough(orders: list[AuctionOrder], reference: int | None) -> None:
    assert theoretical_of_levels(Levels.of(orders), TICK, reference) == theoretical(orders, TICK, reference)


def test_step_one_the_largest_quantity() -> None:
    orders = [buy(110, 300, 1), buy(100, 500, 2), sell(100, 400, 3), sell(110, 400, 4)]
    assert theoretical(orders, TICK, None) == Theoretical(100, 400, 400)


def test_step_two_the_smallest_surplus_may_lie_between_two_limits() -> None:
    orders = [buy(100, 100, 1), buy(90, 50, 2), sell(90, 100, 3), sell(100, 50, 4)]
    found = theoretical(orders, TICK, None)
    assert found == Theoretical(95, 100, 0)
    assert found.imbalance is ImbalanceSide.BALANCED


def test_step_three_pressure() -> None:
    buyers = theoretical([buy(110, 200, 1), sell(90, 100, 2)], TICK, 90)
    assert buyers == Theoretical(110, 100, 100)
    assert buyers.imbalance is ImbalanceSide.MORE_BUYERS
    sellers = theoretical([buy(110, 100, 1), sell(90, 200, 2)], TICK, 110)
    assert sellers == Theoretical(90, 100, -100)
    assert sellers.imbalance is ImbalanceSide.MORE_SELLERS


def test_steps_four_and_five_the_reference_then_the_higher_price() -> None:
    orders = [buy(110, 100, 1), sell(90, 100, 2)]
    assert theoretical(orders, TICK, 100) == Theoretical(100, 100, 0)
    assert theoretical(orders, TICK, 80) == Theoretical(90, 100, 0)
    assert theoretical(orders, TICK, None) == Theoretical(110, 100, 0)
    orders = [buy(100, 100, 1), sell(95, 100, 2)]
    assert theoretical(orders, TICK, 97) == Theoretical(95, 100, 0)
    wide = [buy(100, 100, 1), sell(90, 100, 2)]
    assert theoretical(wide, 10, 95) == Theoretical(100, 100, 0)


def test_orders_without_price_trade_first_and_their_rest_is_cancelled() -> None:
    orders = [buy(110, 100, 1), buy(None, 200, 5), sell(100, 150, 2), sell(105, 100, 3)]
    found = theoretical(orders, TICK, None)
    assert found is not None
    assert (found.price, found.quantity) == (110, 250)
    assert allocate(orders, found.price) == (Fill(5, 2, 150), Fill(5, 3, 50), Fill(1, 3, 50))
    alone = [buy(None, 200, 5), sell(100, 50, 2)]
    rest = leftovers(alone, allocate(alone, 100))
    assert rest.cancelled == (buy(None, 150, 5),)
    assert rest.resting == ()


def test_only_unpriced_orders_need_a_reference() -> None:
    orders = [buy(None, 100, 1), sell(None, 70, 2)]
    assert theoretical(orders, TICK, None) is None
    assert theoretical(orders, TICK, 123) == Theoretical(123, 70, 30)


def test_nothing_crosses() -> None:
    assert theoretical([], TICK, 100) is None
    assert theoretical([buy(95, 100), sell(100, 100)], TICK, 100) is None
    assert theoretical([buy(None, 100)], TICK, 100) is None
