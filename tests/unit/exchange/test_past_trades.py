"""Busts and amendments of sessions that are over (13.4)."""

import pytest

from pregao.exchange import control
from pregao.exchange.commands import AmendTrade, BustTrade, RejectReason
from pregao.exchange.market import KEPT_DATES
from pregao.model.events import ExecutionStatistics, Trade, TradeBusted
from pregao.model.market import Phase, Session
from tests.unit.exchange.desk_kit import ABC, DATE, EXCHANGE, Exchange, clock


def trade(exchange: Exchange, hour: int) -> Trade:
    exchange.phase(f"{hour}:00:00", Phase.OPEN, "01")
    exchange.buy(f"{hour}:01:00", ABC, 100, 10_0000)
    outcome = exchange.sell(f"{hour}:02:00", ABC, 100, 10_0000)
    (made,) = [u for e in outcome.events for u in e.updates if isinstance(u, Trade)]
    exchange.phase(f"{hour}:03:00", Phase.CLOSE, "01")
    return made


def session(exchange: Exchange, hour: int, date: int, kind: Session = Session.REGULAR) -> None:
    exchange.do(control.ChangeSession(clock(f"{hour}:00:00"), "01", EXCHANGE, kind, date))


def test_both_sessions_of_a_past_date_can_be_busted() -> None:
    exchange = Exchange()
    regular = trade(exchange, 10)
    session(exchange, 11, DATE, Session.NON_REGULAR)
    after_hours = trade(exchange, 12)
    session(exchange, 13, DATE + 1)
    for each in (regular, after_hours):
        command = BustTrade(clock("14:00:00"), ABC, each.trade_id, DATE)
        ((busted,),) = exchange.do(command)
        assert isinstance(busted, TradeBusted)
        assert (busted.trade_id, busted.trade_date, busted.session) == (each.trade_id, DATE, each.session)
        again = exchange.submit(command).rejection
        assert again is not None
        assert again.reason is RejectReason.UNKNOWN_TRADE


def test_older_dates_are_kept_for_a_week() -> None:
    exchange = Exchange()
    dates = [DATE + each for each in range(KEPT_DATES + 2)]
    for place, date in enumerate(dates):
        if place:
            session(exchange, 2 * place + 9, date)
        trade(exchange, 2 * place + 10)
    late = clock(f"{2 * len(dates) + 10}:00:00")
    gone = exchange.submit(BustTrade(late, ABC, 10, dates[0])).rejection
    assert gone is not None
    for date in dates[1:]:
        told = exchange.do(BustTrade(late, ABC, 10, date))
        assert isinstance(told[0][0], TradeBusted)


def test_an_earlier_session_of_the_day_can_be_amended_and_counts_nothing_again() -> None:
    exchange = Exchange()
    regular = trade(exchange, 10)
    session(exchange, 11, DATE, Session.NON_REGULAR)
    (updates,) = exchange.do(AmendTrade(clock("12:00:00"), ABC, regular.trade_id, price=10_0100))
    assert [type(each) for each in updates] == [TradeBusted, Trade]
    assert not any(isinstance(each, ExecutionStatistics) for each in updates)
    ((busted,),) = exchange.do(BustTrade(clock("12:01:00"), ABC, regular.trade_id))
    assert isinstance(busted, TradeBusted)
    assert busted.price == 10_0100


@pytest.mark.parametrize("date", [DATE - 1, 0])
def test_a_trade_date_never_comes_back(date: int) -> None:
    """Its tradeIDs would start over, and they are unique for an instrument and a date (13.3)."""
    exchange = Exchange()
    rejection = exchange.submit(
        control.ChangeSession(clock("09:00:00"), "01", EXCHANGE, Session.REGULAR, date)
    ).rejection
    assert rejection is not None
    assert rejection.reason is RejectReason.NOT_NOW
