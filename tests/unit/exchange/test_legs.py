"""Every trade of a strategy makes trades in its legs, and their values add up (13.3.2, 4.2.1)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.catalogues.rules import ListedInstrument
from pregao.exchange.engine import CommandOutcome
from pregao.exchange.strategies import PricedLeg, price_legs
from pregao.model.events import ExecutionStatistics, ExecutionSummary, Trade
from pregao.model.instruments import Instrument, Leg, PriceMethod, Product, SecurityType
from pregao.model.market import Aggressor, Phase, Side, State, TradeSubType
from pregao.model.market import TradeCondition as C
from tests.unit.exchange.desk import BUY, SELL, SPREAD, A, B, Desk, of, px, spread, stock
from tests.unit.exchange.desk_kit import DATE, TEMPLATE, Exchange
from tests.unit.exchange.desk_kit import catalogue as listed
from tests.unit.exchange.machine_checks import check_legs

CLOSING = {A: px(5) * 10_000, B: px(6) * 10_000}

legs = st.builds(
    PricedLeg, st.sampled_from(Side), st.integers(1, 7), st.integers(1, 5_000), st.sampled_from((1, 5, 100)),
    st.booleans(), st.booleans(),
)  # fmt: skip


@given(st.integers(-90_000, 90_000), st.integers(1, 500), st.lists(legs, min_size=2, max_size=10))
def test_the_legs_always_add_up(price: int, size: int, priced: list[PricedLeg]) -> None:
    found = price_legs(price, size, priced)
    worth = 0
    for leg, parts in zip(priced, found, strict=True):
        assert sum(quantity for _, quantity in parts) == leg.ratio * size
        assert all(quantity > 0 for _, quantity in parts)
        assert len(parts) <= 2
        value = sum(at * quantity for at, quantity in parts)
        worth += value if leg.side is BUY else -value
    assert worth == price * size


@given(st.integers(-900, 900), st.integers(1, 50), st.lists(legs, min_size=2, max_size=6), st.data())
def test_a_sum_that_one_leg_can_say_is_said_on_its_tick(
    ticks: int, size: int, priced: list[PricedLeg], data: st.DataObject
) -> None:
    """The strategy is some ticks of one leg off the sum of its legs: no leg is split or off its tick."""
    priced = [leg._replace(price=leg.price * leg.tick) for leg in priced]
    able = data.draw(st.sampled_from(priced))
    total = sum((1 if leg.side is BUY else -1) * leg.ratio * leg.price for leg in priced)
    price = total + ticks * able.ratio * able.tick
    found = price_legs(price, size, priced)
    if able.is_strategy or able.price + (ticks if able.side is BUY else -ticks) * able.tick > 0:
        for leg, parts in zip(priced, found, strict=True):
            assert [at % leg.tick for at, _ in parts] == [0]
            assert leg.is_strategy or parts[0][0] > 0
        stood = [((leg.price, leg.ratio * size),) for leg in priced]
        assert sum(before != after for before, after in zip(stood, found, strict=True)) <= 1


def test_how_a_price_is_shared_out() -> None:
    buys, sells = PricedLeg(BUY, 1, 600, 100), PricedLeg(SELL, 1, 500, 100)
    assert price_legs(100, 7, [buys, sells]) == [((600, 7),), ((500, 7),)]
    assert price_legs(300, 7, [buys, sells]) == [((800, 7),), ((500, 7),)]
    # 1 is no tick of either: ten-thousandths. A half of one is not one either: two prices.
    assert price_legs(101, 7, [buys, sells]) == [((601, 7),), ((500, 7),)]
    twice = [buys._replace(ratio=2), sells._replace(ratio=2)]
    assert price_legs(201, 3, twice) == [((600, 3), (601, 3)), ((500, 6),)]
    assert price_legs(300, 3, twice) == [((600, 3), (700, 3)), ((500, 6),)]
    # A price of nothing is no price: the leg that is sold rises instead of the other falling.
    assert price_legs(-700, 1, [buys, sells]) == [((600, 1),), ((1300, 1),)]
    # Nobody has priced the second one: it takes what is missing.
    unpriced = sells._replace(price=100, is_priced=False)
    assert price_legs(300, 1, [buys, unpriced]) == [((600, 1),), ((300, 1),)]


def desk(**attributes: Any) -> Desk:
    """Buying the spread buys B and sells A; B closed at 6.00, A at 5.00."""
    instruments = (stock(A, closing_price=CLOSING[A]), stock(B, closing_price=CLOSING[B]))
    return Desk(*instruments, replace(spread(), implied=False, **attributes))


def trades(outcome: CommandOutcome) -> list[list[tuple[int, float, int, int | None, int | None]]]:
    assert outcome.rejection is None
    return [
        [(t.security_id, t.price / 10_000, t.size, t.buyer, t.seller) for t in of(Trade, event.updates)]
        for event in outcome.events
        if of(Trade, event.updates)
    ]


def test_two_orders_of_a_strategy_trade_its_legs_in_events_of_their_own() -> None:
    market = desk()
    market.order(SELL, 4, 1.10, security_id=SPREAD, firm=2)
    market.order(SELL, 9, 1.20, security_id=SPREAD, firm=3, max_floor=1)
    outcome = market.order(BUY, 5, 1.20, security_id=SPREAD, firm=1)
    assert trades(outcome) == [
        [(SPREAD, 1.10, 4, 1, 2), (SPREAD, 1.20, 1, 1, 3)],
        [(B, 6.10, 4, 1, 2), (B, 6.20, 1, 1, 3)],
        [(A, 5.00, 4, 2, 1), (A, 5.00, 1, 3, 1)],
    ]
    for event, aggressor in zip(outcome.events, (Aggressor.BUY, Aggressor.BUY, Aggressor.SELL), strict=True):
        summary, statistics = event.updates[0], event.updates[-1]
        assert isinstance(summary, ExecutionSummary)
        assert (summary.aggressor, summary.fill_size, summary.hidden_size) == (aggressor, 5, 1)
        assert summary.last_price == of(Trade, event.updates)[-1].price
        assert isinstance(statistics, ExecutionStatistics)
        assert (statistics.volume, statistics.trades) == (5, 2)
    for event in outcome.events[1:]:
        for trade in of(Trade, event.updates):
            assert (trade.sub_type, trade.implied) == (TradeSubType.LEG, False)
            assert not trade.condition & (C.REGULAR | C.BLOCK | C.OPENING_PRICE)
    check_legs(outcome.events, market.engine.floor.markets)
    assert market.engine.market(B).statistics.last is None  # 19


def test_legs_stand_at_their_last_price() -> None:
    market = desk()
    for side in (SELL, BUY):
        market.order(side, 1, 5.30, security_id=A)
    market.order(SELL, 4, 1.10, security_id=SPREAD)
    outcome = market.order(BUY, 4, 1.10, security_id=SPREAD)
    assert [row[0][:2] for row in trades(outcome)] == [(SPREAD, 1.10), (B, 6.40), (A, 5.30)]


@pytest.mark.parametrize(
    ("command", "summary", "bits"),
    [
        (c.CrossOrder(9, SPREAD, 3, px(1.10), 1, 2), True, C.CROSSED),
        (c.SweepAndCross(9, SPREAD, BUY, 3, px(1.10), 1), True, C.CROSSED),
        (c.BlockTrade(9, SPREAD, c.BlockKind.RFQ, 3, 1, 2, px(1.10)), True, C.NONE),
        (c.TradeOnBehalf(9, SPREAD, 3, px(1.10), 1, 2), False, C.ON_BEHALF),
        (c.ManualTrade(9, SPREAD, 3, px(1.10), 1, 2), False, C.ON_BEHALF),
    ],
)
def test_trades_without_a_book_have_legs_too(command: object, summary: bool, bits: C) -> None:
    market = desk()
    outcome = market.submit(command)
    assert [[row[:3] for row in rows] for rows in trades(outcome)] == [
        [(SPREAD, 1.10, 3)], [(B, 6.10, 3)], [(A, 5.00, 3)],
    ]  # fmt: skip
    for event in outcome.events:
        assert isinstance(event.updates[0], ExecutionSummary) is summary
    for event in outcome.events[1:]:
        assert [t.condition for t in of(Trade, event.updates)] == [bits]
    check_legs(outcome.events, market.engine.floor.markets)


@pytest.mark.parametrize("state", State)
def test_a_leg_that_does_not_trade_gets_its_report(state: State) -> None:
    market = desk()
    market.states[A] = state
    market.order(SELL, 4, 1.10, security_id=SPREAD)
    assert len(trades(market.order(BUY, 4, 1.10, security_id=SPREAD))) == 3


def test_a_leg_without_a_price_stands_in_its_book_or_takes_what_is_missing() -> None:
    market = Desk(stock(A), stock(B, closing_price=CLOSING[B]), replace(spread(), implied=False))
    market.order(SELL, 8, 1.10, security_id=SPREAD)
    outcome = market.order(BUY, 4, 1.10, security_id=SPREAD)
    assert [row[0][:2] for row in trades(outcome)] == [(SPREAD, 1.10), (B, 6.00), (A, 4.90)]
    market.order(BUY, 4, 4.95, security_id=A)
    market.order(SELL, 4, 4.98, security_id=A)
    outcome = market.order(BUY, 4, 1.10, security_id=SPREAD)
    assert [row[0][:2] for row in trades(outcome)] == [(SPREAD, 1.10), (B, 6.06), (A, 4.96)]


@pytest.mark.parametrize(
    ("method", "in_b", "in_a"),
    [
        (PriceMethod.YIELD_DIFFERENCE, 6.10, 5.00),
        (PriceMethod.REVERSED_NET_PRICE, 3.90, 5.00),
        (PriceMethod.INDIVIDUAL, 6.00, 5.00),
    ],
)
def test_other_ways_of_pricing(method: PriceMethod, in_b: float, in_a: float) -> None:
    market = desk(price_method=method)
    market.order(SELL, 4, 1.10, security_id=SPREAD)
    outcome = market.order(BUY, 4, 1.10, security_id=SPREAD)
    assert [row[0][:2] for row in trades(outcome)] == [(SPREAD, 1.10), (B, in_b), (A, in_a)]


def test_a_strategy_of_a_strategy_and_one_whose_legs_are_not_listed() -> None:
    outer = replace(spread(7), implied=False, legs=(Leg(SPREAD, "S3", BUY, 2), Leg(A, "S1", BUY)))
    lost = replace(spread(8), implied=False, legs=(Leg(A, "S1", BUY), Leg(99, "S99", SELL)))
    instruments = (stock(A, closing_price=CLOSING[A]), stock(B, closing_price=CLOSING[B]))
    inner = replace(spread(), implied=False, closing_price=px(1) * 10_000)
    market = Desk(*instruments, inner, outer, lost)
    outcome = market.submit(c.CrossOrder(9, 7, 3, px(7.20), 1, 2))
    assert [[row[:3] for row in rows] for rows in trades(outcome)] == [
        [(7, 7.20, 3)], [(SPREAD, 1.10, 6)], [(B, 6.10, 6)], [(A, 5.00, 6)], [(A, 5.00, 3)],
    ]  # fmt: skip
    check_legs(outcome.events, market.engine.floor.markets)
    assert len(trades(market.submit(c.CrossOrder(9, 8, 3, px(1), 1, 2)))) == 1


def test_an_uncross_of_a_strategy_has_legs_without_a_summary() -> None:
    def entry(security_id: int, **rest: Any) -> ListedInstrument:
        instrument = Instrument(
            security_id, f"S{security_id}", 72, "02" if "legs" in rest else "01", "S", SecurityType.FUT,
            Product.CURRENCY, tick=100, lot=1, **rest,
        )  # fmt: skip
        return ListedInstrument(instrument, TEMPLATE, (), 1.0, 0.02)

    both = (Leg(B, "S2", BUY), Leg(A, "S1", SELL, 2))
    outrights = [entry(each, closing_price=CLOSING[each]) for each in (A, B)]
    exchange = Exchange(listed(*outrights, entry(SPREAD, legs=both), pairs=()))
    exchange.phase("10:00:00", Phase.PRE_OPEN, "02", ends="10:10:00")
    for side, firm in ((BUY, 1), (SELL, 2)):
        exchange.order("10:01:00", SPREAD, side, 3, px(-4.10), firm=firm)
    outcome = exchange.submit(control.ChangePhase(10 * 3600 * 10**9 + 600 * 10**9, "02", "BVMF", Phase.OPEN))
    assert trades(outcome) == [
        [(SPREAD, -4.10, 3, 1, 2)], [(B, 5.90, 3, 1, 2)], [(A, 5.00, 6, 2, 1)],
    ]  # fmt: skip
    assert not any(of(ExecutionSummary, event.updates) for event in outcome.events)
    assert {t.trade_date for event in outcome.events for t in of(Trade, event.updates)} == {DATE}
