"""Phases and states: the tables of 14, and what their changes do to books."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange import control
from pregao.exchange.orders import OrderType, TimeInForce
from pregao.exchange.phases import NEXT_PHASES, PERMITS, RESTRICTION, Permit, PhaseError, Phases, effective, told
from pregao.exchange.rejections import Reason
from pregao.model.events import (
    Event,
    ExecutionStatistics,
    ExecutionSummary,
    OrderUpdate,
    PhaseChanged,
    StateChanged,
    Trade,
)
from pregao.model.market import Action, Phase, Session, State, StateEvent
from tests.unit.exchange.desk_kit import ABC, DATE, DOL, EXCHANGE, XYZ, Exchange, clock

KEY = ("01", EXCHANGE)
FULL = Permit.ENTER | Permit.CHANGE | Permit.CANCEL

owns = st.one_of(st.none(), st.sampled_from(State))


def test_what_each_state_permits() -> None:
    assert PERMITS == {
        State.OPEN: FULL | Permit.MATCH,
        State.RESERVED: FULL,
        State.FINAL_CLOSING_CALL: FULL,
        State.PAUSE: Permit.CANCEL,
        State.CLOSE: Permit.NOTHING,
        State.FORBIDDEN: Permit.NOTHING,
    }


@pytest.mark.parametrize(
    ("phase", "own", "expected"),
    [
        (Phase.OPEN, None, State.OPEN),
        (Phase.OPEN, State.PAUSE, State.PAUSE),  # 14, the first example
        (Phase.OPEN, State.RESERVED, State.RESERVED),
        (Phase.PAUSE, State.OPEN, State.PAUSE),
        (Phase.PAUSE, State.RESERVED, State.PAUSE),
        (Phase.PRE_OPEN, None, State.RESERVED),
        (Phase.PRE_OPEN, State.OPEN, State.RESERVED),
        (Phase.PRE_OPEN, State.FORBIDDEN, State.FORBIDDEN),  # 14.2, PRE-OPEN
        (Phase.PRE_CLOSE, State.RESERVED, State.RESERVED),  # 14.2, PRE-CLOSE: the auction continues
        (Phase.PRE_CLOSE, State.FINAL_CLOSING_CALL, State.FINAL_CLOSING_CALL),
        (Phase.PRE_CLOSE, None, State.CLOSE),
        (Phase.PRE_CLOSE, State.OPEN, State.CLOSE),
        (Phase.CLOSE, State.RESERVED, State.CLOSE),
        (Phase.FINAL_CLOSING_CALL, State.RESERVED, State.FINAL_CLOSING_CALL),
    ],
)
def test_the_more_restrictive_rules(phase: Phase, own: State | None, expected: State) -> None:
    assert effective(phase, own) is expected


@given(st.sampled_from(Phase), owns)
def test_an_own_state_never_permits_more_than_the_group(phase: Phase, own: State | None) -> None:
    both = PERMITS[effective(phase, own)]
    if own is not None:
        assert both & ~PERMITS[own] == Permit.NOTHING
    runs_on = phase is Phase.PRE_CLOSE and own in (State.RESERVED, State.FINAL_CLOSING_CALL)
    if not runs_on:
        assert both & ~PERMITS[effective(phase, None)] == Permit.NOTHING


def test_restriction_is_an_order_of_permits() -> None:
    assert set(RESTRICTION) == set(State)
    for looser, stricter in zip(RESTRICTION, RESTRICTION[1:], strict=False):
        assert PERMITS[stricter] & ~PERMITS[looser] == Permit.NOTHING


def phases() -> Phases:
    machine = Phases(DATE)
    machine.add(1, KEY)
    machine.add(2, KEY)
    return machine


@given(st.sampled_from(Phase), st.sampled_from(Phase))
def test_every_pair_of_phases_is_a_change_or_refused(first: Phase, second: Phase) -> None:
    machine = phases()
    if first not in NEXT_PHASES[Phase.CLOSE]:
        return
    machine.change_phase(KEY, first, 1)
    if second in NEXT_PHASES[first]:
        message, shifts = machine.change_phase(KEY, second, 2, ends_ns=9)
        assert message == PhaseChanged(*KEY, Session.REGULAR, second, None, DATE, 2, 9)
        same = effective(first, None) is effective(second, None)
        assert [shift.security_id for shift in shifts] == ([] if same else [1, 2])
    else:
        with pytest.raises(PhaseError):
            machine.change_phase(KEY, second, 2)
        assert machine.status(KEY).phase is first


def test_leave_and_rejoin_as_printed() -> None:
    machine = phases()
    machine.change_phase(KEY, Phase.OPEN, 1)
    left, shifts = machine.leave(1, State.PAUSE, 2)
    assert left == StateChanged(1, Session.REGULAR, State.PAUSE, StateEvent.LEAVES_GROUP, DATE, 2)
    assert [(shift.before, shift.after) for shift in shifts] == [(State.OPEN, State.PAUSE)]
    assert machine.current(1, 3).state is State.PAUSE
    assert machine.current(2, 3).state is None  # follows its group (14)
    back, _ = machine.rejoin(1, 4)
    assert back == StateChanged(1, Session.REGULAR, State.OPEN, StateEvent.REJOINS_GROUP, DATE, 4)
    with pytest.raises(PhaseError, match="already follows"):
        machine.rejoin(1, 5)


@given(st.sampled_from(Phase))
def test_the_group_phase_can_be_inferred_from_a_rejoin(phase: Phase) -> None:
    assert told(phase).value == phase.value


def test_forbidden_outlives_sessions_and_restarts_until_rejoined_by_hand() -> None:
    machine = phases()
    machine.leave(1, State.FORBIDDEN, 1)
    machine.leave(2, State.PAUSE, 1)
    messages = machine.change_session(KEY, Session.REGULAR, DATE + 1, 2)
    assert [(each.security_id, each.state, each.event) for each in messages] == [
        (1, State.FORBIDDEN, StateEvent.SESSION_CHANGE),
        (2, State.CLOSE, StateEvent.SESSION_CHANGE),
    ]
    restarted = Phases(DATE + 1, machine.forbidden)
    restarted.add(1, KEY)
    restarted.change_phase(KEY, Phase.OPEN, 3)
    assert restarted.effective(1) is State.FORBIDDEN
    for refused in (lambda: restarted.leave(1, State.OPEN, 4), lambda: restarted.rejoin(1, 4)):
        with pytest.raises(PhaseError, match="by hand"):
            refused()
    restarted.rejoin(1, 5, by_hand=True)
    assert restarted.effective(1) is State.OPEN
    assert restarted.forbidden == frozenset()


def test_a_halt_outlasts_the_session_but_not_the_day() -> None:
    machine = phases()
    machine.leave(1, State.PAUSE, 1)
    machine.change_session(KEY, Session.NON_REGULAR, DATE, 2)
    assert machine.own(1) is not None
    machine.change_session(KEY, Session.REGULAR, DATE + 1, 3)
    assert machine.own(1) is None


def test_a_session_changes_only_while_closed() -> None:
    machine = phases()
    machine.change_phase(KEY, Phase.OPEN, 1)
    with pytest.raises(PhaseError, match="closed"):
        machine.change_session(KEY, Session.REGULAR, DATE, 2)


# With an engine behind it


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
    for outcome in (exchange.sell("10:03:00", ABC, 100, 10_0000), exchange.change("10:03:00", order_id, quantity=200)):
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
    assert refused.reason is Reason.STATE_FORBIDS_ENTRY
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
    assert [(update.action, update.size) for update in deleted] == [(Action.DELETE, 100), (Action.DELETE, 300)]
    assert sorted(order.leaves for order in exchange.engine.floor.orders.values()) == [200, 400]


def test_a_session_change_resets_statistics_and_marks_the_after_market() -> None:
    exchange = Exchange()
    exchange.open_all()
    exchange.buy("10:01:00", ABC, 100, 10_0000)
    exchange.sell("10:01:00", ABC, 100, 10_0000)
    exchange.phase("17:00:00", Phase.CLOSE, "01")
    changed = exchange.do(control.ChangeSession(clock("17:10:00"), *KEY, Session.NON_REGULAR, DATE))
    assert [[(type(each), each.event) for each in event if isinstance(each, StateChanged)] for event in changed] == [
        [(StateChanged, StateEvent.SESSION_CHANGE)]
    ] * 2
    assert exchange.engine.market(ABC).statistics.count == 0
    exchange.phase("17:30:00", Phase.OPEN, "01")
    exchange.buy("17:31:00", ABC, 100, 10_0000)
    outcome = exchange.sell("17:31:00", ABC, 100, 10_0000)
    (trade,) = [each for event in outcome.events for each in event.updates if isinstance(each, Trade)]
    assert trade.session is Session.NON_REGULAR
    assert trade.trade_id > 10  # the day's ids go on (13.3)


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
