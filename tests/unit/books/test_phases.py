"""14: groups, states, and what follows from them."""

from itertools import product

import pytest

from pregao.books.kernels.statistics import is_auction
from pregao.books.kernels.statistics import own_after as kernel_own_after
from pregao.books.phases import AUCTIONS, effective, may_be_auction, own_after
from pregao.model.events import OpeningPrice, PhaseChanged, StateChanged, TheoreticalPrice
from pregao.model.market import Phase, Session, State, StateEvent
from tests.twins.plain_phases import PlainPhases
from tests.unit.books.making import LivePhases, row_of

LEAVES, REJOINS, SESSION = StateEvent.LEAVES_GROUP, StateEvent.REJOINS_GROUP, StateEvent.SESSION_CHANGE
DATE = 20_000
A, B, C = 1, 2, 3


class Plain(PlainPhases):
    """The twin; what its messages do is kept as sets."""

    def __init__(self) -> None:
        super().__init__()
        self.has_opening, self.has_theoretical = {A, B, C}, {A, B, C}

    def put(self, security_id: int, group: str) -> None:
        self.add(security_id, group, "BVMF")

    def tell(self, update: PhaseChanged | StateChanged) -> None:
        is_phase = isinstance(update, PhaseChanged)
        effects = self.apply_phase(update) if is_phase else self.apply_state(update)
        self.has_opening -= set(effects.reset)
        self.has_theoretical -= set(effects.forget) | set(effects.reset)


class Live(LivePhases):
    """As the program has it; every instrument has an opening price and one in theory."""

    def put(self, security_id: int, group: str) -> None:
        is_new = self.store.number(security_id) is None
        self.add(security_id, group)
        if is_new:
            self.store.apply(row_of(OpeningPrice(security_id, 100, None, DATE, 0)))
            self.store.apply(row_of(TheoreticalPrice(security_id, 101, 7, DATE, 0)))

    def tell(self, update: PhaseChanged | StateChanged) -> None:
        if isinstance(update, PhaseChanged):
            self.apply_phase(update)
        else:
            self.apply_state(update)

    @property
    def has_opening(self) -> set[int]:
        return {each for each in (A, B, C) if self.store.statistics(self._number(each)).opening}

    @property
    def has_theoretical(self) -> set[int]:
        return {each for each in (A, B, C) if self.store.statistics(self._number(each)).theoretical}


Phases = Plain | Live


@pytest.fixture(params=[Plain, Live])
def phases(request: pytest.FixtureRequest) -> Phases:
    made: Phases = request.param()
    made.put(A, "XX")
    made.put(B, "XX")
    made.put(C, "YY")
    return made


def phase(told: Phase, event: StateEvent | None = None) -> PhaseChanged:
    return PhaseChanged("XX", "BVMF", Session.REGULAR, told, event, DATE, 0)


def state(security_id: int, told: State | None, event: StateEvent | None, date: int = DATE) -> StateChanged:
    return StateChanged(security_id, Session.REGULAR, told, event, date, 0)


def test_nothing_is_known_at_first(phases: Phases) -> None:
    assert phases.state(A) is None


def test_a_phase_is_of_one_group(phases: Phases) -> None:
    phases.tell(phase(Phase.OPEN))
    assert phases.state(A) is phases.state(B) is State.OPEN
    assert phases.state(C) is None


def test_101_leaves_and_102_rejoins(phases: Phases) -> None:
    phases.tell(phase(Phase.OPEN))
    phases.tell(state(A, State.PAUSE, LEAVES))
    assert (phases.state(A), phases.state(B)) == (State.PAUSE, State.OPEN)
    assert phases.own(A) is State.PAUSE
    phases.tell(state(A, State.OPEN, REJOINS))
    assert phases.state(A) is State.OPEN
    assert phases.own(A) is None


def test_102_tells_the_group_s_phase(phases: Phases) -> None:
    phases.tell(state(A, State.PAUSE, LEAVES))
    phases.tell(state(A, State.OPEN, REJOINS))
    assert phases.phase_of(B) is Phase.OPEN
    assert phases.state(B) is State.OPEN


def test_102_with_18_is_pre_close(phases: Phases) -> None:
    phases.tell(state(A, State(18), REJOINS))
    assert phases.phase_of(B) is Phase.PRE_CLOSE
    assert phases.state(A) is State.CLOSE


def test_102_that_ends_the_group_s_auction(phases: Phases) -> None:
    phases.tell(phase(Phase.PRE_OPEN))
    phases.tell(state(A, State.RESERVED, LEAVES))
    assert phases.has_theoretical == {A, B, C}
    phases.tell(state(A, State.OPEN, REJOINS))
    assert phases.has_theoretical == {C}


def test_a_null_state_follows_the_group(phases: Phases) -> None:
    phases.tell(phase(Phase.OPEN))
    phases.tell(state(A, State.PAUSE, LEAVES))
    phases.tell(state(A, None, None))
    assert phases.state(A) is State.OPEN


def test_the_more_restrictive_rules(phases: Phases) -> None:
    phases.tell(state(A, State.OPEN, LEAVES))
    phases.tell(phase(Phase.PAUSE))
    assert phases.state(A) is State.PAUSE


def test_an_auction_continues_in_pre_close() -> None:
    assert effective(Phase.PRE_CLOSE, State.RESERVED) is State.RESERVED
    assert effective(Phase.PRE_CLOSE, None) is State.CLOSE


def test_forbidden_outlives_sessions_and_phases(phases: Phases) -> None:
    phases.tell(phase(Phase.CLOSE))
    phases.tell(state(A, State.FORBIDDEN, LEAVES))
    phases.tell(state(A, State.CLOSE, SESSION, DATE + 1))
    phases.tell(phase(Phase.OPEN))
    assert phases.state(A) is State.FORBIDDEN
    phases.tell(state(A, State.OPEN, REJOINS, DATE + 1))
    assert phases.state(A) is State.OPEN


def test_a_halt_outlasts_its_session_but_not_its_day(phases: Phases) -> None:
    phases.tell(phase(Phase.CLOSE))
    phases.tell(state(A, State.PAUSE, LEAVES))
    phases.tell(state(A, State.PAUSE, SESSION))
    assert phases.own(A) is State.PAUSE
    phases.tell(state(A, State.CLOSE, SESSION, DATE + 1))
    assert phases.own(A) is None


def test_resets_by_either_message_14_3(phases: Phases) -> None:
    phases.tell(state(A, State.CLOSE, SESSION))
    assert phases.has_opening == {B, C}
    phases.tell(phase(Phase.CLOSE, SESSION))
    assert phases.has_opening == {C}


def test_a_member_that_moves(phases: Phases) -> None:
    phases.tell(phase(Phase.OPEN))
    phases.put(A, "ZZ")
    phases.tell(phase(Phase.PAUSE))
    assert phases.state(B) is State.PAUSE
    assert phases.state(A) is not State.PAUSE


def test_a_state_that_is_not_known_is_no_crash(phases: Phases) -> None:
    phases.tell(state(A, 99, LEAVES))  # type: ignore[arg-type]
    phases.tell(phase(Phase.OPEN))
    assert phases.state(B) is State.OPEN
    phases.tell(state(A, 99, REJOINS))  # type: ignore[arg-type]
    assert phases.state(A) is None  # what nobody knows rules nothing


def test_the_kernel_s_rules_are_the_same() -> None:
    all_phases: tuple[Phase | None, ...] = (None, *Phase)
    states: tuple[State | None, ...] = (None, *State)
    for group, own in product(all_phases, states):
        if group is not None:
            assert bool(is_auction(int(group), int(own or 0))) == (effective(group, own) in AUCTIONS)
        for told, event, new_day in product(states, (None, *StateEvent), (False, True)):
            after = kernel_own_after(int(own or 0), int(group or 0), int(told or 0), int(event or 0), new_day)
            assert after == int(own_after(own, group, told, event, new_day) or 0)


def test_the_kernel_s_auctions_are_the_same_for_numbers_without_a_name() -> None:
    for group, own in product(range(256), repeat=2):
        assert bool(is_auction(group, own)) == may_be_auction(group, own), (group, own)


@pytest.mark.parametrize("own", [None, *State])
def test_an_unknown_phase_may_be_an_auction_unless_its_own_state_forbids_it(own: State | None) -> None:
    """14.1: whatever the phase is, the more restrictive rules."""
    possible = any(effective(group, own) in AUCTIONS for group in Phase)
    assert may_be_auction(0, int(own or 0)) == possible
