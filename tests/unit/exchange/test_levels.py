"""What is kept or looked up quickly in the exchange, against the plain way to the same answer."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange.auction import AuctionOrder, Levels, theoretical
from pregao.exchange.bands import limits_of
from pregao.exchange.book import BookSide, side_levels
from pregao.exchange.catalogues.rules import BandRule
from pregao.exchange.orders import EnteredOrder, OrderType, TimeInForce
from pregao.model.market import BandType, LimitType, Midpoint, Side
from tests.twins.plain_auction import slow_theoretical
from tests.unit.exchange.desk_kit import ABC, Exchange

TICK = 5
sizes = st.sampled_from((1, 1, 2, 3, 50))
sides = st.dictionaries(st.integers(1, 40).map(lambda ticks: ticks * TICK), sizes, max_size=30)
unpriced = st.sampled_from((0, 0, 1, 3, 100))
books = st.builds(Levels, sides, sides, unpriced, unpriced)


@given(books, st.one_of(st.none(), st.integers(-10, 220)))
def test_the_limits_around_the_crossing_are_enough(levels: Levels, reference: int | None) -> None:
    """Books of many limits, of which the uncrossing looks at six."""
    orders = [
        *(AuctionOrder(Side.BUY, price, size, 0) for price, size in levels.bids.items()),
        *(AuctionOrder(Side.SELL, price, size, 0) for price, size in levels.offers.items()),
        AuctionOrder(Side.BUY, None, levels.unpriced_bids, 0),
        AuctionOrder(Side.SELL, None, levels.unpriced_offers, 0),
    ]
    quick = theoretical(levels, TICK, reference)
    assert (quick and (quick.price, quick.quantity, quick.surplus)) == slow_theoretical(
        orders, TICK, reference
    )


@given(st.lists(st.tuples(st.sampled_from(("in", "out", "less", "keep", "forget")), st.integers(0, 99))))
def test_levels_that_are_kept_are_those_of_the_orders(steps: list[tuple[str, int]]) -> None:
    side, orders = BookSide(Side.BUY), list[EnteredOrder]()
    for number, (step, pick) in enumerate(steps, 1):
        if step == "in":
            price = None if pick % 5 == 0 else pick
            order = EnteredOrder(number, 1, Side.BUY, OrderType.LIMIT, TimeInForce.DAY, 10, price, 1, 0)
            order.implied = pick % 7 == 0
            order.take_priority(number, 0)
            side.insert(order)
            orders.append(order)
        elif step == "out" and orders:
            order = orders.pop(pick % len(orders))
            order.leaves -= pick % 3  # a fill is taken off before the order leaves
            side.remove(order)
        elif step == "less" and orders:
            order = orders[pick % len(orders)]
            order.leaves = max(order.leaves - 1, 1)
            side.recount(order)
        elif step == "forget":
            side.forget_levels()
        kept = side.auction_levels()
        assert (kept.sizes, kept.unpriced) == side_levels(side.orders)


prices = st.integers(1, 300_000)
low_high = st.tuples(prices, prices).map(sorted)
percents = st.tuples(st.integers(-300_000, 0), st.integers(0, 300_000))


@given(hard=low_high, static=low_high, around=percents, midpoint=st.sampled_from(Midpoint), price=prices,
       largest=st.one_of(st.none(), st.integers(100, 900)))  # fmt: skip
def test_the_quick_look_at_bands_says_what_the_bands_say(
    hard: list[int],
    static: list[int],
    around: tuple[int, int],
    midpoint: Midpoint,
    price: int,
    largest: int | None,
) -> None:
    surveillance = Exchange().desk.surveillance
    bands, guards, market = surveillance.bands, surveillance.guards, surveillance.markets[ABC]
    for rule in (
        BandRule(BandType.HARD, LimitType.PRICE, *hard),
        BandRule(BandType.STATIC, LimitType.PRICE, *static),
        BandRule(BandType.REJECTION, LimitType.PERCENTAGE, *around, midpoint),
        BandRule(BandType.AUCTION, LimitType.PERCENTAGE, *around, midpoint),
    ):
        bands.set_band(ABC, rule, 0)
    bands.limit_quantity(ABC, None, largest)
    midpoints = guards.midpoints(market)
    order = EnteredOrder(1, ABC, Side.BUY, OrderType.LIMIT, TimeInForce.DAY, 500, price, 1, 0)
    assert guards.check_order(market, order, 0) == bands.check(ABC, price, 500, midpoints)
    rule = bands.rule(ABC, BandType.AUCTION)
    assert rule is not None
    assert guards.trade_range(market) == limits_of(rule, midpoints)
