"""Bands: which limit an order goes past, what triggers an auction, what is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.bands import LIMIT_TYPES, BandError, Bands, Midpoints, limits_of
from pregao.exchange.catalogues.rules import BandRule
from pregao.exchange.commands import CrossOrder, Rejection, RejectReason, SweepAndCross
from pregao.exchange.engine import CommandOutcome
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import PriceBand, QuantityBand, StateChanged, Trade
from pregao.model.market import BandType, LimitType, Midpoint, Side, State
from tests.unit.exchange.desk_kit import ABC, TEMPLATE, XYZ, Exchange, catalogue, clock, listing

HARD = BandRule(BandType.HARD, LimitType.PRICE, 5_0000, 20_0000)
STATIC = BandRule(BandType.STATIC, LimitType.PRICE, 6_0000, 18_0000)
REJECTION = BandRule(BandType.REJECTION, LimitType.PERCENTAGE, -20_0000, 20_0000, Midpoint.LAST_TRADE)
AUCTION = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -5_0000, 5_0000, Midpoint.LAST_TRADE)
ALL = (HARD, STATIC, REJECTION, AUCTION)
AT_TEN = Midpoints(last=10_0000)


def bands(*rules: BandRule) -> Bands:
    made = Bands()
    made.add(1, rules or ALL)
    return made


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        (4_9900, RejectReason.PRICE_OUTSIDE_HARD_LIMIT),
        (20_0100, RejectReason.PRICE_OUTSIDE_HARD_LIMIT),
        (5_0000, RejectReason.PRICE_OUTSIDE_STATIC_LIMIT),
        (18_0100, RejectReason.PRICE_OUTSIDE_STATIC_LIMIT),
        (7_9900, RejectReason.PRICE_OUTSIDE_REJECTION_BAND),
        (12_0100, RejectReason.PRICE_OUTSIDE_REJECTION_BAND),
    ],
)
def test_an_order_outside_gets_a_named_rejection(price: int, reason: RejectReason) -> None:
    found = bands().check(1, price, 100, AT_TEN)
    assert isinstance(found, Rejection)
    assert found.reason is reason
    assert str(price) in found.text


@pytest.mark.parametrize("price", [8_0000, 10_0000, 12_0000, None])
def test_limits_themselves_are_allowed(price: int | None) -> None:
    assert bands().check(1, price, 100, AT_TEN) is None


def test_the_quantity_limit() -> None:
    made = bands()
    assert made.set_quantity(1, 5_000, 1_000, 7) == QuantityBand(1, 5_000, 1_000, 7)
    found = made.check(1, 10_0000, 1_001, AT_TEN)
    assert isinstance(found, Rejection)
    assert found.reason is RejectReason.QUANTITY_ABOVE_LIMIT
    assert made.check(1, 10_0000, 1_000, AT_TEN) is None


def test_midpoints() -> None:
    prices = Midpoints(last=100, bid=90, offer=110, theoretical=104, reference=98)
    assert prices.of(Midpoint.LAST_TRADE) == 100
    assert prices.of(Midpoint.COMPLEMENTARY_LAST) == 100
    assert prices.of(Midpoint.THEORETICAL) == 104
    assert Midpoints(reference=98).of(Midpoint.LAST_TRADE) == 98
    assert Midpoints(last=100).of(Midpoint.THEORETICAL) == 100
    assert Midpoints(last=100, bid=103).of(Midpoint.COMPLEMENTARY_LAST) == 103
    assert Midpoints(last=100, offer=95).of(Midpoint.COMPLEMENTARY_LAST) == 95


@given(st.integers(-(10**9), 10**9), st.integers(0, 2_000_000), st.integers(0, 2_000_000))
def test_percentages_are_exact_and_rounded_inwards(midpoint: int, below: int, above: int) -> None:
    rule = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -below, above, Midpoint.LAST_TRADE)
    found = limits_of(rule, Midpoints(last=midpoint))
    if midpoint == 0:
        assert found is None
        return
    assert found is not None
    low, high = found
    assert low <= midpoint <= high
    size = abs(midpoint)
    assert (midpoint - low) * 1_000_000 <= size * below < (midpoint - low + 1) * 1_000_000
    assert (high - midpoint) * 1_000_000 <= size * above < (high - midpoint + 1) * 1_000_000


def test_a_band_without_midpoint_has_no_effect() -> None:
    assert bands(REJECTION, AUCTION).check(1, 99_0000, 1, Midpoints()) is None
    assert Bands().check(7, 1, 1, Midpoints()) is None


def test_an_update_replaces_only_its_own_type() -> None:
    made = bands()
    wider = BandRule(BandType.STATIC, LimitType.PRICE, 5_5000, 19_0000)
    assert made.set_band(1, wider, 9) == PriceBand(1, BandType.STATIC, 9, LimitType.PRICE, 5_5000, 19_0000)
    assert made.set_reference(1, 7, 10) == PriceBand(1, None, 10, reference_fine=7)
    assert made.rule(1, BandType.HARD) == HARD
    told = made.current(1, 11)
    assert [band.type for band in told if isinstance(band, PriceBand)] == [
        BandType.HARD,
        BandType.AUCTION,
        BandType.REJECTION,
        BandType.STATIC,
        None,
    ]


@given(st.sampled_from(BandType), st.sampled_from(LimitType), st.one_of(st.none(), st.sampled_from(Midpoint)))
def test_only_the_combinations_of_the_table(
    kind: BandType, limit: LimitType, midpoint: Midpoint | None
) -> None:
    rule = BandRule(kind, limit, -1, 1, midpoint)
    allowed = limit in LIMIT_TYPES[kind] and (midpoint is not None) is (limit is LimitType.PERCENTAGE)
    made = bands(HARD)
    if allowed:
        made.set_band(1, rule, 0)
    else:
        with pytest.raises(BandError):
            made.set_band(1, rule, 0)
        assert made.rule(1, kind) == (HARD if kind is BandType.HARD else None)


def test_in_the_engine_a_rejected_order_publishes_nothing() -> None:
    exchange = Exchange(catalogue(listing(ABC, TEMPLATE, *ALL), listing(XYZ), pairs=()))
    exchange.open_all()
    outcome = exchange.buy("10:01:00", ABC, 100, 12_0100)
    assert outcome.rejection is not None
    assert outcome.rejection.reason is RejectReason.PRICE_OUTSIDE_REJECTION_BAND
    assert outcome.events == ()
    too_many = exchange.buy("10:01:00", ABC, 100_100, 10_0000).rejection
    assert too_many is not None
    assert too_many.reason is RejectReason.QUANTITY_ABOVE_LIMIT


def test_in_the_engine_the_auction_band_starts_an_auction() -> None:
    exchange = Exchange(catalogue(listing(ABC, TEMPLATE, *ALL), listing(XYZ), pairs=()))
    exchange.open_all()
    exchange.sell("10:01:00", ABC, 100, 10_4000)
    exchange.sell("10:01:00", ABC, 100, 11_4000)
    outcome = exchange.buy("10:02:00", ABC, 200, 11_4000)
    assert outcome.rejection is None
    assert exchange.engine.market(ABC).statistics.last_price == 10_4000  # inside: traded
    (state,) = [each for event in outcome.events for each in event.updates if isinstance(each, StateChanged)]
    assert (state.state, state.ends_ns) == (State.RESERVED, clock("10:07:00"))
    assert exchange.engine.market(ABC).book.crossed


def offered(*prices: int, rules: tuple[BandRule, ...] = ALL) -> Exchange:
    """An open market whose last price was 10.00, with 100 offered at each price."""
    exchange = Exchange(catalogue(listing(ABC, TEMPLATE, *rules), listing(XYZ), pairs=()))
    exchange.open_all()
    for price in prices:
        assert exchange.sell("10:01:00", ABC, 100, price).rejection is None
    return exchange


def traded(outcome: CommandOutcome) -> list[int]:
    return [u.price for event in outcome.events for u in event.updates if isinstance(u, Trade)]


@pytest.mark.parametrize(
    ("price", "trades"), [(9_4900, False), (9_5000, True), (10_5000, True), (10_5100, False)]
)
def test_the_limits_of_the_auction_band_themselves_are_traded(price: int, trades: bool) -> None:
    exchange = offered()
    sides = (Side.SELL, Side.BUY) if price > 10_0000 else (Side.BUY, Side.SELL)
    for side in sides:  # an order may say it: only trading there is stopped
        outcome = exchange.order("10:01:00", ABC, side, 100, price)
        assert outcome.rejection is None
    assert traded(outcome) == ([price] if trades else [])
    assert (exchange.engine.trading_state(ABC) is State.OPEN) is trades


@pytest.mark.parametrize("midpoint", [Midpoint.LAST_TRADE, Midpoint.COMPLEMENTARY_LAST])
@pytest.mark.parametrize("tif", [TimeInForce.DAY, TimeInForce.IOC])
def test_the_middle_of_a_band_is_fixed_for_an_event(midpoint: Midpoint, tif: TimeInForce) -> None:
    """Each offer is within 5 % of the one before it, but only the first of 10.00 (13.11.1)."""
    band = BandRule(BandType.AUCTION, LimitType.PERCENTAGE, -5_0000, 5_0000, midpoint)
    exchange = offered(10_4000, 10_8000, 11_2000, rules=(HARD, band))
    outcome = exchange.buy("10:02:00", ABC, 300, 11_2000, tif=tif)
    assert traded(outcome) == [10_4000]
    assert exchange.engine.trading_state(ABC) is State.RESERVED


def test_the_next_event_has_a_middle_of_its_own() -> None:
    exchange = offered(10_4000, 10_8000, 11_2000)
    for price in (10_4000, 10_8000, 11_2000):
        assert traded(exchange.buy("10:02:00", ABC, 100, price)) == [price]
    assert exchange.engine.trading_state(ABC) is State.OPEN


@pytest.mark.parametrize(
    ("kind", "tif", "minimum"),
    [
        (OrderType.LIMIT, TimeInForce.DAY, None),
        (OrderType.LIMIT, TimeInForce.IOC, None),
        (OrderType.LIMIT, TimeInForce.IOC, 200),
        (OrderType.LIMIT, TimeInForce.FOK, None),
        (OrderType.MARKET, TimeInForce.IOC, None),
    ],
)
@pytest.mark.parametrize("first", [10_4000, 11_3000])
def test_any_order_that_the_band_stops_begins_the_auction(
    kind: OrderType, tif: TimeInForce, minimum: int | None, first: int
) -> None:
    exchange = offered(first, 11_4000)
    price = None if kind is OrderType.MARKET else 11_4000
    outcome = exchange.buy("10:02:00", ABC, 200, price, type=kind, tif=tif, min_quantity=minimum)
    assert outcome.rejection is None
    whole = tif is TimeInForce.FOK or minimum is not None
    assert traded(outcome) == ([] if whole or first == 11_3000 else [10_4000])
    (state,) = [u for event in outcome.events for u in event.updates if isinstance(u, StateChanged)]
    assert (state.state, state.ends_ns) == (State.RESERVED, clock("10:07:00"))
    rests = [order.leaves for order in exchange.engine.market(ABC).book.buys.orders]
    assert rests == ([] if tif is not TimeInForce.DAY else [200 - 100 * len(traded(outcome))])


@pytest.mark.parametrize("quantity", [300, 400])
def test_an_order_that_the_book_alone_cannot_fill_is_not_stopped_by_the_band(quantity: int) -> None:
    exchange = offered(10_4000, 11_4000)
    outcome = exchange.buy("10:02:00", ABC, quantity, 11_4000, tif=TimeInForce.FOK)
    assert (outcome.rejection, outcome.events) == (None, ())
    assert exchange.engine.trading_state(ABC) is State.OPEN


def test_commands_tell_bands_each_on_its_own() -> None:
    exchange = Exchange(catalogue(listing(ABC, TEMPLATE, *ALL), listing(XYZ), pairs=()))
    told = exchange.do(control.PublishBands(1, ABC))
    assert [len(event) for event in told] == [1] * 5
    ((band,),) = exchange.do(control.SetBand(2, ABC, HARD))
    assert isinstance(band, PriceBand)
    ((band,),) = exchange.do(control.SetReference(3, ABC, 99))
    assert isinstance(band, PriceBand)
    ((quantity,),) = exchange.do(control.SetQuantityBand(4, ABC, None, 10))
    assert isinstance(quantity, QuantityBand)
    ticks = BandRule(BandType.HARD, LimitType.TICKS, 1, 2)
    assert exchange.submit(control.SetBand(5, ABC, ticks)).rejection is not None


def test_crosses_and_sweeps_are_orders_to_the_bands() -> None:
    rules = (HARD, BandRule(BandType.AUCTION, LimitType.PRICE, 9_0000, 11_0000))
    exchange = Exchange(catalogue(listing(ABC, TEMPLATE, *rules), pairs=()))
    exchange.open_all()
    now_ns = clock("10:01:00")
    for price, quantity, reason in (
        (21_0000, 100, RejectReason.PRICE_OUTSIDE_HARD_LIMIT),
        (12_0000, 100, RejectReason.PRICE_OUTSIDE_AUCTION_BAND),
        (10_0000, 100_100, RejectReason.QUANTITY_ABOVE_LIMIT),
    ):
        for command in (
            CrossOrder(now_ns, ABC, quantity, price, 1, 2),
            SweepAndCross(now_ns, ABC, Side.BUY, quantity, price, 1),
        ):
            rejection = exchange.submit(command).rejection
            assert rejection is not None
            assert rejection.reason is reason
    assert exchange.do(CrossOrder(now_ns, ABC, 100, 10_0000, 1, 2))
