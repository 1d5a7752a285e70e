"""14: groups, states, and what follows from them."""

from itertools import product

import pytest

from pregao.books.figures.kernels import is_auction
from pregao.books.figures.kernels import own_after as kernel_own_after
from pregao.books.phases import AUCTIONS, Effects, Phases, effective, own_after
from pregao.model.events import PhaseChanged, StateChanged
from pregao.model.market import Phase, Session, State, StateEvent

LEAVES, REJOINS, SESSION = StateEvent.LEAVES_GROUP, StateEvent.REJOINS_GROUP, StateEvent.SESSION_CHANGE
DATE = 20_000
A, B, C = 1, 2, 3


@pytest.fixture
def phases() -> Phases:
    made = Phases()
    made.add(A, "XX", "BVMF")
    made.add(B, "XX", "BVMF")
    made.add(C, "XX", "XBSP")
    return made


def phase(told: Phase, event: StateEvent | None = None, exchange: str = "BVMF") -> PhaseChanged:
    return PhaseChanged("XX", exchange, Session.REGULAR, told, event, DATE, 0)


def state(
    security_id: int, told: State | None, event: StateEvent | None, date: int = DATE
) -> StateChanged:
    return StateChanged(security_id, Session.REGULAR, told, event, date, 0)


def test_nothing_is_known_at_first(phases: Phases) -> None:
    assert phases.state(A) is None


def test_a_group_s_key_has_its_exchange(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.OPEN))
    assert phases.state(A) is phases.state(B) is State.OPEN
    assert phases.state(C) is None


def test_101_leaves_and_102_rejoins(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.OPEN))
    phases.apply_state(state(A, State.PAUSE, LEAVES))
    assert (phases.state(A), phases.state(B)) == (State.PAUSE, State.OPEN)
    assert phases.own(A) is State.PAUSE
    phases.apply_state(state(A, State.OPEN, REJOINS))
    assert phases.state(A) is State.OPEN
    assert phases.own(A) is None


def test_102_tells_the_group_s_phase(phases: Phases) -> None:
    phases.apply_state(state(A, State.PAUSE, LEAVES))
    phases.apply_state(state(A, State.OPEN, REJOINS))
    assert phases.phase("XX", "BVMF") is Phase.OPEN
    assert phases.state(B) is State.OPEN


def test_102_with_18_is_pre_close(phases: Phases) -> None:
    phases.apply_state(state(A, State(18), REJOINS))
    assert phases.phase("XX", "BVMF") is Phase.PRE_CLOSE
    assert phases.state(A) is State.CLOSE


def test_102_that_ends_the_group_s_auction(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.PRE_OPEN))
    phases.apply_state(state(A, State.RESERVED, LEAVES))
    assert set(phases.apply_state(state(A, State.OPEN, REJOINS)).forget) == {A, B}


def test_a_null_state_follows_the_group(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.OPEN))
    phases.apply_state(state(A, State.PAUSE, LEAVES))
    phases.apply_state(state(A, None, None))
    assert phases.state(A) is State.OPEN


def test_the_more_restrictive_rules(phases: Phases) -> None:
    phases.apply_state(state(A, State.OPEN, LEAVES))
    phases.apply_phase(phase(Phase.PAUSE))
    assert phases.state(A) is State.PAUSE


def test_an_auction_continues_in_pre_close() -> None:
    assert effective(Phase.PRE_CLOSE, State.RESERVED) is State.RESERVED
    assert effective(Phase.PRE_CLOSE, None) is State.CLOSE


def test_forbidden_outlives_sessions_and_phases(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.CLOSE))
    phases.apply_state(state(A, State.FORBIDDEN, LEAVES))
    phases.apply_state(state(A, State.CLOSE, SESSION, DATE + 1))
    phases.apply_phase(phase(Phase.OPEN))
    assert phases.state(A) is State.FORBIDDEN
    phases.apply_state(state(A, State.OPEN, REJOINS, DATE + 1))
    assert phases.state(A) is State.OPEN


def test_a_halt_outlasts_its_session_but_not_its_day(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.CLOSE))
    phases.apply_state(state(A, State.PAUSE, LEAVES))
    phases.apply_state(state(A, State.PAUSE, SESSION))
    assert phases.own(A) is State.PAUSE
    phases.apply_state(state(A, State.CLOSE, SESSION, DATE + 1))
    assert phases.own(A) is None


def test_resets_by_either_message(phases: Phases) -> None:
    assert phases.apply_phase(phase(Phase.CLOSE, SESSION)).reset == (A, B)
    assert phases.apply_state(state(A, State.CLOSE, SESSION)) == Effects(reset=(A,))


def test_a_member_that_moves_or_goes(phases: Phases) -> None:
    phases.apply_phase(phase(Phase.OPEN))
    phases.add(A, "XX", "XBSP")
    assert phases.members("XX", "BVMF") == (B,)
    assert phases.state(A) is None
    phases.remove(B)
    assert phases.members("XX", "BVMF") == ()


def test_a_state_that_is_not_known_is_no_crash(phases: Phases) -> None:
    phases.apply_state(state(A, 99, LEAVES))  # type: ignore[arg-type]
    phases.apply_phase(phase(Phase.OPEN))
    phases.apply_state(state(A, 99, REJOINS))  # type: ignore[arg-type]
    assert phases.state(A) is State.OPEN


def test_the_kernel_s_rules_are_the_same() -> None:
    all_phases: tuple[Phase | None, ...] = (None, *Phase)
    states: tuple[State | None, ...] = (None, *State)
    for group, own in product(all_phases, states):
        assert bool(is_auction(int(group or 0), int(own or 0))) == (effective(group, own) in AUCTIONS)
        for told, event, new_day in product(states, (None, *StateEvent), (False, True)):
            after = kernel_own_after(int(own or 0), int(group or 0), int(told or 0), int(event or 0), new_day)
            assert after == int(own_after(own, group, told, event, new_day) or 0)
