"""Phases and states: the tables of 14, and what their changes do to books."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange.commands import CancelOrder, ChangeOrder
from pregao.exchange.phases import (
    NEXT_PHASES,
    RESTRICTION,
    PhaseError,
    Phases,
    effective,
    state_of_phase,
)
from pregao.model.events import (
    PhaseChanged,
    StateChanged,
    Trade,
)
from pregao.model.market import Phase, Session, State, StateEvent
from tests.unit.exchange.desk import BUY, SELL, A, Desk
from tests.unit.exchange.desk_kit import DATE, EXCHANGE

KEY = ("01", EXCHANGE)
owns = st.one_of(st.none(), st.sampled_from(State))


# What participants may do in each state (14.1): enter and change, cancel, trade at once.
PERMITTED = {
    State.OPEN: (True, True, True),
    State.RESERVED: (True, True, False),
    State.FINAL_CLOSING_CALL: (True, True, False),
    State.PAUSE: (False, True, False),
    State.CLOSE: (False, False, False),
    State.FORBIDDEN: (False, False, False),
}


@pytest.mark.parametrize("state", State)
def test_what_each_state_permits(state: State) -> None:
    desk = Desk()
    first = desk.order(BUY, 10, 20).order_id
    desk.order(BUY, 10, 20)
    desk.states[A] = state
    enter, cancel, match = PERMITTED[state]
    reached = desk.order(SELL, 5, 20)
    assert (reached.rejection is None) is enter
    assert any(isinstance(u, Trade) for event in reached.events for u in event.updates) is match
    assert (desk.submit(ChangeOrder(9, first, quantity=9)).rejection is None) is enter
    assert (desk.submit(CancelOrder(9, first)).rejection is None) is cancel


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
    both = PERMITTED[effective(phase, own)]
    if own is not None:
        assert no_more_than(both, PERMITTED[own])
    runs_on = phase is Phase.PRE_CLOSE and own in (State.RESERVED, State.FINAL_CLOSING_CALL)
    if not runs_on:
        assert no_more_than(both, PERMITTED[effective(phase, None)])


def test_restriction_is_an_order_of_permits() -> None:
    assert set(RESTRICTION) == set(State)
    for looser, stricter in pairwise(RESTRICTION):
        assert no_more_than(PERMITTED[stricter], PERMITTED[looser])


def no_more_than(stricter: tuple[bool, ...], looser: tuple[bool, ...]) -> bool:
    return all(less <= more for less, more in zip(stricter, looser, strict=True))


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
    assert state_of_phase(phase).value == phase.value


def test_forbidden_outlives_sessions_and_restarts_until_rejoined_by_hand() -> None:
    machine = phases()
    machine.leave(1, State.FORBIDDEN, 1)
    machine.leave(2, State.PAUSE, 1)
    of_group, messages = machine.change_session(KEY, Session.REGULAR, DATE + 1, 2)
    # 6.5.12: what clients clear their statistics by.
    assert of_group == PhaseChanged(
        *KEY, Session.REGULAR, Phase.CLOSE, StateEvent.SESSION_CHANGE, DATE + 1, 2
    )
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
