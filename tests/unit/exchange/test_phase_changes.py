"""What changes of phase, state and session do to books, with an engine behind them."""

import pytest

from pregao.exchange import control
from pregao.exchange.commands import RejectReason
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.model.events import (
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    OpeningPrice,
    OrderUpdate,
    PhaseChanged,
    StateChanged,
    Trade,
)
from pregao.model.market import Action, Phase, PriceOrigin, Session, State, StateEvent
from tests.unit.exchange.desk_kit import ABC, DATE, DOL, EXCHANGE, XYZ, Exchange, clock

KEY = ("01", EXCHANGE)


def kinds(event: Event) -> list[type]:
    return [type(update) for update in event.updates]


def test_the_opening_is_one_event_with_the_phase_first() -> None:
    exchange = Exchange()
    exchange.phase("09:45:00", Phase.PRE_OPEN, "01", ends="10:00:00")
    exchange.buy("09:46:00", ABC, 300, 10_0000)
    exchange.sell("09:46:00", ABC, 200, 9_9000)
    exchange.buy("09:47:00", XYZ, 100, 10_0000)
    exchange.sell("09:47:00", XYZ, 100, 10_0000)
    (updates,) = exchange.phase("10:00:00", Phase.OPEN, "01")
    assert isinstance(updates[0], PhaseChanged)
    assert not any(isinstance(update, ExecutionSummary) for update in updates)  # 13.1
    trades = [update for update in updates if isinstance(update, Trade)]
    assert [(trade.security_id, trade.price, trade.size) for trade in trades] == [
        (ABC, 10_0000, 200),
        (XYZ, 10_0000, 100),
    ]
    assert isinstance(updates[-1], ExecutionStatistics)


def test_a_phase_that_alters_no_book_is_its_own_event() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.buy("10:01:00", ABC, 100, 10_0000)
    for at, phase in (("11:00:00", Phase.PAUSE), ("11:05:00", Phase.OPEN), ("11:10:00", Phase.PRE_CLOSE)):
        (updates,) = exchange.phase(at, phase, "01")
        assert [type(update) for update in updates] == [PhaseChanged]


def test_a_halt_keeps_orders_and_takes_only_cancels() -> None:
    exchange = Exchange()
    exchange.open_all()
    order_id = exchange.buy("10:01:00", ABC, 100, 10_0000).order_id
    ((halted,),) = exchange.do(control.ChangeState(clock("10:02:00"), ABC, State.PAUSE))
    assert isinstance(halted, StateChanged)
    assert halted.event is StateEvent.LEAVES_GROUP
    for outcome in (
        exchange.sell("10:03:00", ABC, 100, 10_0000),
        exchange.change("10:03:00", order_id, quantity=200),
    ):
        assert outcome.rejection is not None
    assert exchange.buy("10:03:00", XYZ, 100, 10_0000).rejection is None
    assert exchange.cancel("10:03:00", order_id).rejection is None
    ((back,),) = exchange.do(control.RejoinGroup(clock("10:05:00"), ABC))
    assert isinstance(back, StateChanged)
    assert (back.state, back.event) == (State.OPEN, StateEvent.REJOINS_GROUP)


def test_pre_close_lets_a_reserved_auction_run_on_and_stops_the_others() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("16:54:00"), ABC))
    exchange.phase("16:55:00", Phase.PRE_CLOSE, "01")
    assert exchange.buy("16:56:00", ABC, 100, 10_0000).rejection is None
    exchange.sell("16:56:00", ABC, 100, 10_0000)
    refused = exchange.buy("16:56:00", XYZ, 100, 10_0000).rejection
    assert refused is not None
    assert refused.reason is RejectReason.STATE_FORBIDS_ENTRY
    (updates,) = exchange.run_to(clock("16:59:00"))
    assert isinstance(updates[0], StateChanged)
    assert updates[0].event is StateEvent.REJOINS_GROUP
    assert any(isinstance(update, Trade) for update in updates)
    assert exchange.engine.trading_state(ABC) is State.CLOSE


def test_close_ends_an_own_auction_and_rejoins_it() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("16:54:00"), ABC))
    exchange.buy("16:54:10", ABC, 100, 10_0000)
    exchange.sell("16:54:20", ABC, 100, 10_0000)
    (updates,) = exchange.phase("16:55:00", Phase.CLOSE, "01")
    assert [type(update) for update in updates[:3]] == [PhaseChanged, StateChanged, Trade]
    assert exchange.desk.surveillance.phases.own(ABC) is None
    assert exchange.desk.next_timeout() is None


def test_a_group_halt_in_the_middle_of_an_auction_uncrosses_when_it_is_over() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.do(control.StartAuction(clock("12:00:00"), ABC))
    exchange.buy("12:01:00", ABC, 100, 10_0000)
    exchange.sell("12:01:00", ABC, 100, 9_9900)
    (halted,) = exchange.phase("12:02:00", Phase.PAUSE, "01")
    assert [type(update) for update in halted] == [PhaseChanged, StateChanged]
    (resumed,) = exchange.phase("12:03:00", Phase.OPEN, "01")
    assert any(isinstance(update, Trade) for update in resumed)


def test_the_last_close_expires_day_orders_in_the_event_of_the_phase() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.buy("10:01:00", ABC, 100, 10_0000)
    exchange.buy("10:01:00", ABC, 200, 9_9900, tif=TimeInForce.GTC)
    exchange.sell("10:01:00", XYZ, 300, 10_0100, tif=TimeInForce.GTD, expire_date=DATE)
    exchange.sell("10:01:00", XYZ, 400, 10_0200, tif=TimeInForce.GTD, expire_date=DATE + 1)
    exchange.buy("10:01:00", XYZ, 500, None, type=OrderType.STOP, stop_price=11_0000)
    (updates,) = exchange.phase("18:00:00", Phase.CLOSE, "01", expires=True)
    assert isinstance(updates[0], PhaseChanged)
    deleted = [update for update in updates[1:] if isinstance(update, OrderUpdate)]
    assert [(update.action, update.size) for update in deleted] == [
        (Action.DELETE, 100),
        (Action.DELETE, 300),
    ]
    assert sorted(order.leaves for order in exchange.engine.floor.orders.values()) == [200, 400]


def test_a_session_change_resets_statistics_and_marks_the_after_market() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.buy("10:01:00", ABC, 100, 10_0000)
    exchange.sell("10:01:00", ABC, 100, 10_0000)
    exchange.phase("17:00:00", Phase.CLOSE, "01")
    changed = exchange.do(control.ChangeSession(clock("17:10:00"), *KEY, Session.NON_REGULAR, DATE))
    # The group's message first (6.5.12), then one of each instrument (14.3): each on its own (4.2.2).
    assert [[(type(each), getattr(each, "event", None)) for each in event] for event in changed] == [
        [(kind, StateEvent.SESSION_CHANGE)] for kind in (PhaseChanged, StateChanged, StateChanged)
    ]
    assert exchange.engine.market(ABC).statistics.count == 0
    exchange.phase("17:30:00", Phase.OPEN, "01")
    exchange.buy("17:31:00", ABC, 100, 10_0000)
    outcome = exchange.sell("17:31:00", ABC, 100, 10_0000)
    (trade,) = [each for event in outcome.events for each in event.updates if isinstance(each, Trade)]
    assert trade.session is Session.NON_REGULAR
    assert trade.trade_id > 10  # the day's ids go on (13.3)
    (opening,) = [u for event in outcome.events for u in event.updates if isinstance(u, OpeningPrice)]
    assert opening.origin is PriceOrigin.SESSION  # not the day's opening (13.9.1)


@pytest.mark.parametrize(
    "command",
    [
        control.ChangePhase(1, "ZZ", EXCHANGE, Phase.OPEN),
        control.ChangePhase(1, "01", EXCHANGE, Phase.FINAL_CLOSING_CALL),
        control.ChangeState(1, 99, State.PAUSE),
        control.ChangeState(1, ABC, State.RESERVED),
        control.RejoinGroup(1, ABC),
        control.StartAuction(1, ABC),
        control.EndAuction(1, ABC),
        control.ExtendAuction(1, ABC, 10),
        control.PublishSettlement(1, ABC, next(iter(control.SettlementStage))),
        control.PublishOpenInterest(1, ABC),
        control.SendNews(1, "x", "y", security_id=99),
    ],
)
def test_bad_commands_are_rejected_and_change_nothing(command: control.Control) -> None:
    exchange = Exchange()
    outcome = exchange.submit(command)
    assert outcome.rejection is not None
    assert outcome.events == ()
    assert exchange.desk.surveillance.phases.status(KEY).phase is Phase.CLOSE
    assert exchange.desk.surveillance.phases.own(DOL) is None


def test_an_order_good_till_a_weekend_does_not_see_monday() -> None:
    exchange = Exchange()
    exchange.open_all()
    gone = exchange.buy("10:01:00", ABC, 100, 9_0000, tif=TimeInForce.GTD, expire_date=DATE + 1).order_id
    kept = exchange.buy("10:01:00", ABC, 100, 9_0000, tif=TimeInForce.GTD, expire_date=DATE + 3).order_id
    exchange.phase("18:00:00", Phase.CLOSE, "01", expires=True)
    assert set(exchange.engine.floor.orders) == {gone, kept}
    told = exchange.do(control.ChangeSession(clock("33:00:00"), "01", EXCHANGE, Session.REGULAR, DATE + 3))
    deleted = [u for u in told[-1] if isinstance(u, OrderUpdate)]
    assert [(u.action, u.security_id) for u in deleted] == [(Action.DELETE, ABC)]
    assert set(exchange.engine.floor.orders) == {kept}
