"""Implied-in orders of strategies with any legs and ratios (18): price, size, guards, self-trades, and
the law that they are always what the books of the legs say."""

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pregao.exchange.commands import CancelOrder, CancelSide, ChangeOrder, NewOrder
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.orders import SelfTrade, TimeInForce
from pregao.exchange.transaction import Transaction
from pregao.model.events import Event, ExecutionSummary, OrderUpdate, Trade
from pregao.model.instruments import Instrument, Leg, SecurityType
from pregao.model.market import Action, Side, State
from tests.twins.plain_implied import implied_of_books, implied_of_engine
from tests.unit.exchange.desk import BUY, SELL, Desk, Reader, of, px, stock

A, B, C, FLY, RATIO, PAIR = 1, 2, 3, 10, 11, 12


def strategy(security_id: int, *legs: tuple[Side, int, int], **attributes: object) -> Instrument:
    parts = tuple(Leg(leg_id, f"S{leg_id}", side, ratio) for side, ratio, leg_id in legs)
    return stock(security_id, security_type=SecurityType.MLEG, implied=True, legs=parts, **attributes)


FLY_LEGS = ((BUY, 1, A), (SELL, 2, B), (BUY, 1, C))


def desk(partial: str = "change") -> Desk:
    return Desk(
        stock(A), stock(B), stock(C),
        strategy(FLY, *FLY_LEGS),
        strategy(RATIO, (BUY, 3, A), (SELL, 2, B)),
        strategy(PAIR, (BUY, 1, A), (SELL, 1, C)),
        implied_partial=partial,
    )  # fmt: skip


def shown(market: Desk, side: Side, security_id: int) -> list[tuple[int, float | None]]:
    return [(size, price) for _, size, price in market.book(side, security_id)]


def trades(events: tuple[Event, ...], security_id: int) -> list[tuple[float, int]]:
    found = [t for event in events for t in of(Trade, event.updates)]
    return [(t.price / 10_000, t.size) for t in found if t.security_id == security_id]


def test_a_butterfly_is_the_sum_of_three_legs_and_as_large_as_the_scarcest() -> None:
    market = desk()
    market.order(SELL, 10, 5.00, security_id=A)
    market.order(BUY, 15, 6.00, security_id=B)  # two of it a butterfly: seven
    market.order(SELL, 9, 7.50, security_id=C)
    assert shown(market, SELL, FLY) == [(7, pytest.approx(0.50))]  # 5.00 − 2 × 6.00 + 7.50
    outcome = market.order(BUY, 3, 0.50, security_id=FLY, firm=8)
    assert trades(outcome.events, FLY) == [(0.50, 3)]
    assert [trades(outcome.events, leg) for leg in (A, B, C)] == [[(5.00, 3)], [(6.00, 6)], [(7.50, 3)]]
    assert shown(market, SELL, FLY) == [(4, pytest.approx(0.50))]
    assert shown(market, BUY, B) == [(9, 6.00)]


def test_ratios_multiply_prices_and_leg_trades() -> None:
    market = desk()
    market.order(BUY, 10, 5.00, security_id=A, firm=2)
    market.order(SELL, 10, 6.00, security_id=B, firm=3)
    assert shown(market, BUY, RATIO) == [(3, pytest.approx(3.00))]  # 3 × 5.00 − 2 × 6.00; ten thirds
    outcome = market.order(SELL, 5, 3.00, security_id=RATIO, firm=8)
    assert [trades(outcome.events, leg) for leg in (RATIO, A, B)] == [[(3.00, 3)], [(5.00, 9)], [(6.00, 6)]]
    legs = [t for e in outcome.events for t in of(Trade, e.updates) if t.security_id == A]
    assert [(t.buyer, t.seller, t.implied) for t in legs] == [(2, 8, True)]
    assert shown(market, SELL, RATIO) == [(2, 3.00)]  # what was left of the order; one share is no third


@pytest.mark.parametrize(("size", "rests"), [(2, []), (3, []), (5, [(2, 3.00)])])
def test_nothing_is_cancelled_of_an_order_that_an_implied_one_fills_or_leaves(
    size: int, rests: list[tuple[int, float]]
) -> None:
    """cxlQty (13.1) is what prevention took, not what goes on to rest."""
    market = desk()
    market.order(BUY, 10, 5.00, security_id=A, firm=2)
    market.order(SELL, 10, 6.00, security_id=B, firm=3)
    summary = market.order(SELL, size, 3.00, security_id=RATIO).events[0].updates[0]
    assert isinstance(summary, ExecutionSummary)
    assert (summary.fill_size, summary.cancelled_size) == (min(size, 3), 0)
    assert shown(market, SELL, RATIO) == rests


def test_the_improvement_goes_to_the_leg_that_moved_where_its_tick_can_say_it() -> None:
    market = desk()
    market.order(SELL, 4, 0.40, security_id=RATIO)
    market.order(BUY, 12, 5.00, security_id=A)
    reached = market.order(SELL, 8, 7.20, security_id=B)  # worth 0.60: 0.20 for two of B
    assert trades(reached.events, RATIO) == [(0.40, 4)]
    assert trades(reached.events, B) == [(7.30, 8)]
    market.order(SELL, 4, 0.59, security_id=RATIO)
    market.order(BUY, 12, 5.00, security_id=A)
    reached = market.order(SELL, 8, 7.20, security_id=B)  # 0.01 for two of B is half a tick
    assert trades(reached.events, RATIO) == [(0.60, 4)]
    assert trades(reached.events, B) == [(7.20, 8)]


def test_a_sum_off_the_tick_and_less_than_a_lot_are_worth_nothing() -> None:
    coarse = strategy(PAIR, (BUY, 1, A), (SELL, 1, C), tick=500, lot=5)
    market = Desk(stock(A), stock(C), coarse)
    market.order(BUY, 9, 5.00, security_id=A)
    market.order(SELL, 9, 4.93, security_id=C)
    assert shown(market, BUY, PAIR) == []
    market.order(SELL, 4, 4.90, security_id=C)
    assert shown(market, BUY, PAIR) == []
    market.order(SELL, 5, 4.90, security_id=C)
    assert shown(market, BUY, PAIR) == [(5, pytest.approx(0.10))]


@pytest.mark.parametrize("state", [each for each in State if each is not State.OPEN])
def test_no_implied_order_while_a_leg_or_the_strategy_is_not_open(state: State) -> None:
    for halted in (A, C, PAIR):
        market = desk()
        market.order(BUY, 9, 5.00, security_id=A)
        market.order(SELL, 9, 4.90, security_id=C)
        assert shown(market, BUY, PAIR)
        market.states[halted] = state
        market.order(BUY, 1, 5.00, security_id=A) if halted != A else market.order(
            SELL, 1, 4.90, security_id=C
        )
        assert shown(market, BUY, PAIR) == []


def test_a_leg_s_guard_withdraws_the_implied_order() -> None:
    market = desk()
    market.order(BUY, 9, 5.00, security_id=A)
    market.order(SELL, 9, 4.90, security_id=C)

    def above(where: InstrumentMarket) -> tuple[int, int] | None:
        return (px(4.91), px(9.00)) if where.security_id == C else None

    market.hooks.trade_ranges.append(above)
    outcome = market.order(SELL, 9, 0.10, security_id=PAIR)
    (event,) = outcome.events
    assert [(u.action, u.implied) for u in of(OrderUpdate, event.updates)] == [
        (Action.DELETE, True), (Action.NEW, False),
    ]  # fmt: skip
    assert shown(market, BUY, PAIR) == []  # it would cross, and may not trade
    assert market.order(SELL, 9, 0.05, security_id=PAIR, tif=TimeInForce.FOK).events == ()
    market.hooks.trade_ranges.clear()
    reached = market.order(BUY, 1, 5.00, security_id=A)
    assert trades(reached.events, PAIR) == [(0.10, 9)]


@pytest.mark.parametrize("instruction", SelfTrade)
def test_nobody_trades_with_himself_in_a_leg(instruction: SelfTrade) -> None:
    """The aggressor's rest is cancelled, whatever it asks for (13.1.2): the order it meets is nobody's."""
    market = desk()
    market.order(BUY, 4, 5.00, security_id=A, investor_id=1)
    own = market.order(BUY, 4, 5.00, security_id=A, investor_id=7).order_id
    market.order(SELL, 9, 4.90, security_id=C)
    assert shown(market, BUY, PAIR) == [(8, pytest.approx(0.10))]
    sweep = {"security_id": PAIR, "investor_id": 7, "stp": instruction}
    assert market.order(SELL, 6, 0.10, tif=TimeInForce.FOK, **sweep).events == ()
    outcome = market.order(SELL, 6, 0.10, **sweep)
    assert trades(outcome.events, PAIR) == [(0.10, 4)]
    summary = outcome.events[0].updates[0]
    assert isinstance(summary, ExecutionSummary)
    assert (summary.fill_size, summary.cancelled_size) == (4, 2)
    assert own in market.engine.floor.orders
    assert shown(market, SELL, PAIR) == []
    assert shown(market, BUY, PAIR) == [(4, pytest.approx(0.10))]


def test_a_leg_does_not_reach_the_same_investor_s_strategy_order() -> None:
    market = desk()
    resting = market.order(SELL, 5, 0.10, security_id=PAIR, investor_id=7).order_id
    market.order(BUY, 5, 5.00, security_id=A, investor_id=7)
    outcome = market.order(SELL, 5, 4.90, security_id=C, investor_id=1)
    assert trades(outcome.events, PAIR) == []
    assert shown(market, BUY, PAIR) == []  # it would cross
    market.submit(CancelOrder(market.tick(), resting))
    assert shown(market, BUY, PAIR) == [(5, pytest.approx(0.10))]


def test_the_new_bid_never_meets_the_offer_of_before() -> None:
    market = desk()
    market.order(BUY, 5, 5.00, security_id=A)
    market.order(SELL, 5, 5.10, security_id=A)
    market.order(BUY, 5, 4.00, security_id=C)
    far = market.order(SELL, 5, 4.10, security_id=C).order_id
    market.order(BUY, 1, 3.00, security_id=C)
    market.order(SELL, 5, 4.60, security_id=C)
    # The whole of C falls in one event: bid 3.00, offer 4.10 becomes 3.10.
    market.submit(CancelSide(market.tick(), C, BUY))
    outcome = market.submit(ChangeOrder(market.tick(), far, price=px(3.10)))
    bids: list[int] = []
    offers: list[int] = []
    for event in outcome.events:
        for update in of(OrderUpdate, event.updates):
            if update.security_id == PAIR and update.action is Action.NEW:
                (bids if update.side is BUY else offers).append(update.price or 0)
    assert bids == [px(1.90)]
    assert offers == []


@pytest.mark.parametrize(("partial", "expected"), [("change", [Action.CHANGE]), ("restate", [Action.DELETE])])
def test_a_partial_match_is_told_in_both_ways(partial: str, expected: list[Action]) -> None:
    market = desk(partial)
    market.order(SELL, 10, 5.00, security_id=A)
    market.order(BUY, 20, 6.00, security_id=B)
    market.order(SELL, 10, 7.50, security_id=C)
    outcome = market.order(BUY, 3, 0.50, security_id=FLY)
    first, *others = outcome.events
    assert [u.action for u in of(OrderUpdate, first.updates)] == expected
    again = [u for e in others for u in of(OrderUpdate, e.updates) if u.security_id == FLY]
    assert [(u.action, u.size) for u in again] == ([(Action.NEW, 7)] if partial == "restate" else [])
    assert shown(market, SELL, FLY) == [(7, pytest.approx(0.50))]


@dataclass(frozen=True)
class Halt:
    now_ns: int
    security_id: int
    halted: bool


def halt(market: Desk, command: Halt, transaction: Transaction) -> None:
    market.states[command.security_id] = State.PAUSE if command.halted else State.OPEN
    transaction.touch(market.engine.market(command.security_id))


PRICES = {A: 5.00, B: 6.00, C: 7.00, FLY: 0.00, RATIO: 3.00, PAIR: -2.00}
commands = st.tuples(
    st.sampled_from((A, A, B, B, C, C, FLY, RATIO, PAIR)), st.sampled_from(Side), st.integers(1, 9),
    st.integers(-4, 4), st.sampled_from((None, 1, 2)), st.sampled_from((None, None, 2)),
    st.sampled_from(SelfTrade), st.integers(0, 9), st.booleans(),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(("change", "restate")), st.lists(commands, max_size=40))
def test_implied_books_are_always_what_the_legs_say(partial: str, rows: list[tuple]) -> None:  # type: ignore[type-arg]
    market, reader = desk(partial), Reader()
    market.engine.register(Halt, lambda command, transaction: halt(market, command, transaction))
    for security_id, side, size, ticks, investor, floor, stp, kind, halted in rows:
        price = px(PRICES[security_id]) + 100 * ticks
        live = [*market.engine.floor.orders]
        if kind == 0 and live:
            command: object = CancelOrder(market.tick(), live[size % len(live)])
        elif kind == 1 and live:
            command = ChangeOrder(market.tick(), live[size % len(live)], size)
        elif kind == 2:
            command = Halt(market.tick(), security_id, halted)
        else:
            tif = TimeInForce.IOC if kind == 3 else TimeInForce.DAY
            if kind == 3 or floor is None or floor > size:
                floor = None
            command = NewOrder(
                market.tick(), security_id, side, size, price, 1, tif=tif, max_floor=floor,
                investor_id=investor, stp=stp,
            )  # fmt: skip
        outcome = market.submit(command)
        reader.read(outcome.events)
        reader.check(market.engine)
        assert implied_of_engine(market.engine) == implied_of_books(market.engine)
