"""Implied-in orders beyond the printed examples: legs that reach resting spread orders, states, busts."""

from dataclasses import replace

import pytest

from pregao.exchange.commands import BustTrade, CancelOrder, CancelSide, MoveInstrument, RejectReason
from pregao.exchange.engine import Engine
from pregao.exchange.orders import TimeInForce
from pregao.model.events import Event, ExecutionSummary, OrderUpdate, Trade, TradeBusted
from pregao.model.instruments import PriceMethod
from pregao.model.market import Aggressor, State
from tests.unit.exchange.desk import BUY, SELL, SPREAD, A, B, Desk, of, px, spread, stock


def desk() -> Desk:
    return Desk(stock(A), stock(B), spread())


def trades(events: tuple[Event, ...]) -> list[tuple[int, float, int, int | None, int | None]]:
    return [
        (t.security_id, t.price / 10_000, t.size, t.buyer, t.seller)
        for event in events
        for t in of(Trade, event.updates)
    ]


def test_a_leg_that_reaches_a_resting_spread_order_gets_the_better_price() -> None:
    market = desk()
    market.order(BUY, 10, 0.40, security_id=SPREAD, firm=1)
    market.order(BUY, 10, 6.99, security_id=A, firm=2)
    outcome = market.order(SELL, 10, 7.34, security_id=B, firm=3)
    entered, in_spread, in_b, in_a = outcome.events
    assert [type(u) for u in entered.updates] == [OrderUpdate]
    # 7.39 − 6.99 = 0.40: the spread's resting price; the order that came is the better for it.
    assert trades(outcome.events) == [(SPREAD, 0.40, 10, 1, None), (B, 7.39, 10, 1, 3), (A, 6.99, 10, 2, 1)]
    sides = [
        event.updates[0].aggressor
        for event in (in_spread, in_b, in_a)
        if isinstance(event.updates[0], ExecutionSummary)
    ]
    assert sides == [Aggressor.SELL, Aggressor.BUY, Aggressor.SELL]
    assert all(len(m.book) == 0 for m in market.engine.floor.markets.values())


def test_a_spread_order_takes_the_next_level_of_the_legs_in_later_events() -> None:
    market = desk()
    market.order(BUY, 20, 7.00, security_id=A, firm=2)
    market.order(SELL, 5, 7.30, security_id=B, firm=3)
    market.order(SELL, 5, 7.35, security_id=B, firm=3)
    outcome = market.order(BUY, 10, 0.40, security_id=SPREAD, firm=1)
    assert [row[:3] for row in trades(outcome.events)] == [
        (SPREAD, 0.30, 5), (B, 7.30, 5), (A, 7.00, 5), (SPREAD, 0.35, 5), (B, 7.35, 5), (A, 7.00, 5),
    ]  # fmt: skip
    assert market.book(BUY, SPREAD) == []


def test_what_must_not_rest_sees_the_standing_order_only() -> None:
    market = desk()
    market.order(BUY, 20, 7.00, security_id=A)
    market.order(SELL, 5, 7.30, security_id=B)
    market.order(SELL, 5, 7.35, security_id=B)
    assert market.order(BUY, 6, 0.40, security_id=SPREAD, tif=TimeInForce.FOK).events == ()
    outcome = market.order(BUY, 6, 0.40, security_id=SPREAD, tif=TimeInForce.IOC)
    assert [row[2] for row in trades(outcome.events)] == [5, 5, 5]


def test_legs_must_be_open() -> None:
    market = desk()
    market.order(BUY, 10, 7.00, security_id=A)
    market.states[B] = State.RESERVED
    market.order(SELL, 10, 7.30, security_id=B)
    assert market.book(SELL, SPREAD) == []
    market.states[B] = State.OPEN  # behind the engine's back, so only another best level shows it
    market.order(SELL, 1, 7.30, security_id=B)
    assert [row[1:] for row in market.book(SELL, SPREAD)] == [(10, pytest.approx(0.30))]


def test_implied_orders_go_with_their_legs_and_come_back_after_a_deleted_side() -> None:
    market = desk()
    market.order(BUY, 10, 7.00, security_id=A)
    leg = market.order(SELL, 10, 7.30, security_id=B).order_id
    first = market.book(SELL, SPREAD)[0][0]
    market.submit(CancelSide(9, SPREAD, SELL))
    assert market.book(SELL, SPREAD)[0][0] > first
    _, implied = market.submit(CancelOrder(9, leg)).events
    assert of(OrderUpdate, implied.updates)[0].implied
    assert market.book(SELL, SPREAD) == []


def test_icebergs_give_what_they_show() -> None:
    market = desk()
    market.order(BUY, 100, 7.00, security_id=A, max_floor=10)
    market.order(SELL, 100, 7.30, security_id=B)
    assert market.book(SELL, SPREAD)[0][1] == 10
    outcome = market.order(BUY, 10, 0.30, security_id=SPREAD)
    hidden = [e.updates[0].hidden_size for e in outcome.events if isinstance(e.updates[0], ExecutionSummary)]
    assert hidden == [0, 0, 10]
    assert market.book(SELL, SPREAD)[0][1] == 10


def test_leg_trades_are_no_last_price_and_their_busts_are_implied() -> None:
    market = desk()
    market.order(BUY, 10, 7.00, security_id=A)
    market.order(SELL, 10, 7.30, security_id=B)
    market.order(BUY, 10, 0.30, security_id=SPREAD)
    statistics = market.engine.market(A).statistics
    assert (statistics.last, statistics.opening, statistics.volume) == (None, None, 10)
    (event,) = market.submit(BustTrade(9, A, 10)).events
    assert of(TradeBusted, event.updates)[0].implied
    assert of(TradeBusted, event.updates)[0].price == px(7.00)


def test_only_flagged_strategies_whose_price_is_the_sum_of_their_legs() -> None:
    plain = spread()
    buy, sell = plain.legs
    for wrong in (
        replace(plain, implied=False),
        replace(plain, legs=(buy,)),
        replace(plain, legs=(buy, replace(buy, side=SELL))),  # one leg twice
        replace(plain, legs=(buy, replace(sell, security_id=99))),
        replace(plain, price_method=PriceMethod.INDIVIDUAL),
    ):
        assert Engine((stock(A), stock(B), wrong)).implieds.by_security == {}
    uneven = Engine((stock(A, lot=5), stock(B), replace(plain, lot=1)))
    assert uneven.implieds.by_security == {}  # one spread would be a fifth of a lot of A
    rates = replace(plain, price_method=PriceMethod.YIELD_DIFFERENCE)
    for right in (plain, rates, replace(plain, legs=(replace(buy, ratio=2), sell))):
        assert set(Engine((stock(A), stock(B), right)).implieds.by_security) == {A, B, SPREAD}
    engine = Engine((stock(A), stock(B), plain))
    engine.implieds.drop(A)
    assert engine.implieds.by_security == {}
    with pytest.raises(ValueError, match="implied_partial"):
        Engine((), implied_partial="never")


def test_a_leg_cannot_move_away() -> None:
    rejection = desk().submit(MoveInstrument(1, A, 2)).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.NOT_NOW
