"""What phases of groups and states of instruments come to (14).

- An instrument follows its group until it is told a state of its own (101), and again when it rejoins
  (102) or is told a null state.
- Of phase and own state the more restrictive rules (14.1).

Who keeps them: `books.kernels.statistics` the state of each instrument, `handler.groups` the phases of
groups.
"""

from typing import Final

from pregao.model.market import Phase, State, StateEvent

AUCTIONS: Final = frozenset((State.RESERVED, State.FINAL_CLOSING_CALL))

# From the least to the most restrictive; a state that is not known permits nothing that is.
_RESTRICTION: Final = {
    state: rank
    for rank, state in enumerate(
        (State.OPEN, State.RESERVED, State.FINAL_CLOSING_CALL, State.PAUSE, State.CLOSE, State.FORBIDDEN)
    )
}
_STATES: Final = {Phase(state): state for state in State if state is not State.FORBIDDEN}


def state_of_phase(phase: Phase) -> State:
    """What a phase is for an instrument that follows it (14.2); 18 means something else there."""
    return _STATES.get(phase, State.CLOSE)


def effective(phase: Phase | None, own: State | None) -> State | None:
    """What may be done with an instrument, as a state (14.1); None while nothing was told. `shown` is what it
    is in."""
    if phase is None or own is None:
        return own if phase is None else state_of_phase(phase)
    if phase is Phase.PRE_CLOSE and own in AUCTIONS:
        return own  # its auction continues (14.2)
    return max(state_of_phase(phase), own, key=lambda state: _RESTRICTION.get(state, len(_RESTRICTION)))


def shown(phase: Phase | None, own: State | None) -> Phase | State | None:
    """What an instrument is in, as people are told it: the phase of the group that it follows, or the state
    of its own where that rules. 18 is PRE_CLOSE as a phase and FORBIDDEN as a state, so neither may stand
    for the other."""
    return own if own is not None and effective(phase, own) is own else phase


def may_be_auction(phase: int, own: int) -> bool:
    """Whether an instrument is in auction, of numbers: 0 is a phase that is not known, which may be one, or
    no state of its own. `kernels.statistics.is_auction` is the same."""
    if phase == 0:
        return own in (0, State.OPEN) or own in AUCTIONS
    if phase not in Phase._value2member_map_ or (own and own not in State._value2member_map_):
        return False  # what has no name permits nothing
    return effective(Phase(phase), State(own) if own else None) in AUCTIONS


def own_in_snapshot(state: int, event: int) -> int:
    """The state of its own that an instrument has by its snapshot, of numbers; 0: it follows its group.

    Only 101 says that it has left its group (14). Without it the number is that of the phase at the
    snapshot's lastMsgSeqNumProcessed (7.4.1, 14.4), from which the group may have moved on."""
    return state if event == StateEvent.LEAVES_GROUP else 0


def own_after(
    own: State | None, phase: Phase | None, state: State | None, event: StateEvent | None, new_day: bool
) -> State | None:
    """The state of its own that an instrument has after it was told one; None: it follows its group.

    A message that says neither 101 nor 102, as at a change of session, does not say whose the state is:
    the group's where it equals that and the instrument followed, or may do so again because it is
    another day; else its own. A forbidden instrument stays so until it rejoins (14)."""
    if state is None or event is StateEvent.REJOINS_GROUP:
        return None
    if event is StateEvent.LEAVES_GROUP:
        return state
    if own is State.FORBIDDEN:
        return own
    if own is None and phase is None:
        return None
    if int(state) == phase and (own is None or new_day):
        return None
    return state
