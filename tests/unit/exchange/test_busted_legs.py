"""A bust of a strategy's trade takes the trades of its legs with it (13.4, 13.3.2)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import commands as c
from pregao.exchange.commands import RejectReason
from pregao.exchange.engine import CommandOutcome
from pregao.model.events import ExecutionStatistics, Trade, TradeBusted
from pregao.model.instruments import Leg
from pregao.model.market import Session
from tests.unit.exchange.desk import BUY, SELL, SPREAD, A, B, Desk, of, px, spread, stock

ALL = (A, B, SPREAD)
OUTER = 9_000  # a strategy that has a strategy as a leg


def desk(*, implied: bool = False, **attributes: Any) -> Desk:
    """Buying the spread buys B and sells A."""
    legs = (stock(A, closing_price=px(5) * 10_000), stock(B, closing_price=px(6) * 10_000))
    return Desk(*legs, replace(spread(), implied=implied), **attributes)


def figures(market: Desk, security_ids: tuple[int, ...] = ALL) -> list[tuple[object, ...]]:
    """All that statistics tell of a session."""
    found = [market.engine.market(security_id).statistics for security_id in security_ids]
    return [(s.opening, s.high, s.low, s.last_price, s.volume, s.value, s.count) for s in found]


def trades_of(outcome: CommandOutcome) -> list[Trade]:
    assert outcome.rejection is None
    return [trade for event in outcome.events for trade in of(Trade, event.updates)]


actions = st.lists(
    st.tuples(st.sampled_from(ALL), st.integers(1, 9), st.integers(1, 400)), min_size=1, max_size=12
)


@given(actions, st.randoms(use_true_random=False))
def test_after_busts_the_legs_are_as_if_the_strategy_had_never_traded(
    crosses: list[tuple[int, int, int]], dice: Any
) -> None:
    """The twin is a market in which only the legs traded by themselves."""
    market, twin = desk(), desk()
    of_strategy = []
    for security_id, quantity, cents in crosses:
        cross = c.CrossOrder(9, security_id, quantity, px(cents / 100), 1, 2)
        trades = trades_of(market.submit(cross))
        if security_id == SPREAD:
            of_strategy.append(trades)
        else:
            twin.submit(cross)
    dice.shuffle(of_strategy)
    for strategys, *of_legs in of_strategy:
        (event,) = market.submit(c.BustTrade(10, SPREAD, strategys.trade_id)).events
        busted = [(each.security_id, each.trade_id) for each in of(TradeBusted, event.updates)]
        assert busted == [(each.security_id, each.trade_id) for each in (strategys, *of_legs)]
        told = [each.security_id for each in of(ExecutionStatistics, event.updates)]
        assert told == list(dict.fromkeys(security_id for security_id, _ in busted))
    assert figures(market) == figures(twin)


def test_legs_that_traded_through_an_implied_order_go_too() -> None:
    market = desk(implied=True)
    before = figures(market)
    market.order(BUY, 10, 7.00, security_id=A)
    market.order(SELL, 4, 7.30, security_id=B)
    market.order(SELL, 6, 7.30, security_id=B)
    (strategys, *of_legs) = trades_of(market.order(BUY, 10, 0.30, security_id=SPREAD))
    assert len(of_legs) == 3
    (event,) = market.submit(c.BustTrade(9, SPREAD, strategys.trade_id)).events
    busted = of(TradeBusted, event.updates)
    assert {(each.security_id, each.trade_id) for each in busted[1:]} == {
        (each.security_id, each.trade_id) for each in of_legs
    }
    assert all(each.implied for each in busted)  # 13.4, 18.3
    assert figures(market) == before


def test_legs_that_rested_in_the_strategy_and_legs_that_moved_go_too() -> None:
    """An order of a leg comes last: the strategy's resting order trades through the implied one."""
    market = desk(implied=True)
    before = figures(market)
    market.order(BUY, 10, 0.40, security_id=SPREAD)
    market.order(BUY, 10, 7.00, security_id=A)
    (strategys, *of_legs) = trades_of(market.order(SELL, 10, 7.30, security_id=B))
    assert (strategys.security_id, len(of_legs)) == (SPREAD, 2)
    market.submit(c.BustTrade(9, SPREAD, strategys.trade_id))
    assert figures(market) == before


def test_one_event_of_several_trades_loses_only_the_legs_of_the_busted_one() -> None:
    market = desk()
    market.order(SELL, 4, 1.10, security_id=SPREAD, firm=2)
    market.order(SELL, 9, 1.20, security_id=SPREAD, firm=3)
    trades = trades_of(market.order(BUY, 5, 1.20, security_id=SPREAD, firm=1))
    second = trades[1]
    assert (second.security_id, second.size) == (SPREAD, 1)
    market.submit(c.BustTrade(9, SPREAD, second.trade_id))
    assert [row[4] for row in figures(market)] == [4, 4, 4]


def test_legs_of_legs_go_too() -> None:
    legs = Leg(SPREAD, "S3", BUY), Leg(A, "S1", BUY)
    outer = replace(spread(OUTER), legs=legs, implied=False)
    market = Desk(stock(A), stock(B), replace(spread(), implied=False), outer)
    trades = trades_of(market.submit(c.CrossOrder(9, OUTER, 3, px(6), 1, 2)))
    assert sorted(each.security_id for each in trades) == sorted((OUTER, SPREAD, A, A, B))
    market.submit(c.BustTrade(9, OUTER, trades[0].trade_id))
    assert [row[6] for row in figures(market, (A, B, SPREAD, OUTER))] == [0] * 4


def test_a_leg_that_was_busted_by_itself_is_not_busted_again() -> None:
    market = desk()
    strategys, first, second = trades_of(market.submit(c.CrossOrder(9, SPREAD, 3, px(1), 1, 2)))
    market.submit(c.BustTrade(9, first.security_id, first.trade_id))
    (event,) = market.submit(c.BustTrade(9, SPREAD, strategys.trade_id)).events
    assert [each.security_id for each in of(TradeBusted, event.updates)] == [SPREAD, second.security_id]
    assert [row[6] for row in figures(market)] == [0] * 3


def test_a_strategy_whose_legs_are_settled_is_not_busted() -> None:
    market = desk(kept_trades=2)
    strategys, *_ = trades_of(market.submit(c.CrossOrder(9, SPREAD, 3, px(1), 1, 2)))
    for _ in range(2):
        market.submit(c.CrossOrder(9, A, 1, px(5), 1, 2))
    before = figures(market)
    rejection = market.submit(c.BustTrade(9, SPREAD, strategys.trade_id)).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.UNKNOWN_TRADE
    assert figures(market) == before


@pytest.mark.parametrize("kept", [3, None])
def test_what_is_kept_of_legs_is_bounded_by_the_trades_kept(kept: int | None) -> None:
    market = desk(kept_trades=kept)
    for _ in range(300):
        market.submit(c.CrossOrder(9, SPREAD, 3, px(1), 1, 2))
    strategy = market.engine.market(SPREAD)
    assert len(strategy.leg_trades) <= 2 * len(strategy.statistics.trades) + 64
    assert len(strategy.leg_trades) >= len(strategy.statistics.trades)


def test_legs_of_an_earlier_session_are_told_and_count_nothing_again() -> None:
    market = desk()
    strategys, *of_legs = trades_of(market.submit(c.CrossOrder(9, SPREAD, 3, px(1), 1, 2)))
    for security_id in ALL:
        each = market.engine.market(security_id)
        each.start_session(each.trade_date, Session.NON_REGULAR)
    (event,) = market.submit(c.BustTrade(9, SPREAD, strategys.trade_id)).events
    assert [type(each) for each in event.updates] == [TradeBusted] * (1 + len(of_legs))
