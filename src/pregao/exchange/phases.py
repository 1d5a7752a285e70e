"""Phases of groups and states of instruments, as tables (14).

An instrument follows its group until surveillance, a schedule or an auction takes it out (event 101);
it is back when it rejoins (102). What may be done with its orders is said by its effective state: the
more restrictive of its group's phase and its own state. A forbidden instrument stays so over sessions
and restarts, until it is rejoined by hand (14, 14.1): `Phases.forbidden` is what outlives a restart.

Nothing here touches a book. Whoever applies a change compares the effective state before and after it
(`Shift`), and puts what follows for the books behind the state message, in the same Event (4.2.1).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pregao.model.errors import PregaoError
from pregao.model.events import PhaseChanged, StateChanged
from pregao.model.market import Phase, Session, State, StateEvent

GroupKey = tuple[str, str]  # group codes repeat amongst exchanges (14)


AUCTION_STATES = frozenset({State.RESERVED, State.FINAL_CLOSING_CALL})

# From the least to the most restrictive. The closing call is after the reserved state only because MOC
# orders take part in it: both permit the same.
RESTRICTION: tuple[State, ...] = (
    State.OPEN,
    State.RESERVED,
    State.FINAL_CLOSING_CALL,
    State.PAUSE,
    State.CLOSE,
    State.FORBIDDEN,
)
_RANK = {state: rank for rank, state in enumerate(RESTRICTION)}

# What a phase means for an instrument that follows it (14.2). In PRE_CLOSE nothing can be done, as when
# closed; the auctions that run on are in `effective`.
FOLLOWED: dict[Phase, State] = {
    Phase.OPEN: State.OPEN,
    Phase.PRE_OPEN: State.RESERVED,
    Phase.FINAL_CLOSING_CALL: State.FINAL_CLOSING_CALL,
    Phase.PAUSE: State.PAUSE,
    Phase.PRE_CLOSE: State.CLOSE,
    Phase.CLOSE: State.CLOSE,
}

# Which phase may follow which. A phase may be told again (another end time, another session).
NEXT_PHASES: dict[Phase, frozenset[Phase]] = {
    Phase.CLOSE: frozenset({Phase.CLOSE, Phase.PRE_OPEN, Phase.OPEN, Phase.PAUSE}),
    Phase.PRE_OPEN: frozenset({Phase.PRE_OPEN, Phase.OPEN, Phase.PAUSE, Phase.PRE_CLOSE, Phase.CLOSE}),
    Phase.OPEN: frozenset(Phase),
    Phase.PAUSE: frozenset(Phase) - {Phase.FINAL_CLOSING_CALL},
    Phase.PRE_CLOSE: frozenset(Phase),
    Phase.FINAL_CLOSING_CALL: frozenset(Phase) - {Phase.PRE_OPEN},
}


class PhaseError(PregaoError):
    """A phase or state change that the tables do not have; nothing was changed."""

    def __init__(self, reason: str, *, security_id: int | None = None, group: str = "") -> None:
        self.reason, self.security_id, self.group = reason, security_id, group
        super().__init__(f"{group or security_id}: {reason}")


def effective(phase: Phase, own: State | None) -> State:
    """The more restrictive of the group's phase and the instrument's own state (14.1, OPEN)."""
    if phase is Phase.PRE_CLOSE and own in AUCTION_STATES and own is not None:
        return own  # "the auction continues" (14.2)
    followed = FOLLOWED[phase]
    return followed if own is None else max(followed, own, key=_RANK.__getitem__)


def state_of_phase(phase: Phase) -> State:
    """The state told of an instrument that rejoins: the group phase can be inferred from it (14), so it
    has the phase's own number. For PRE_CLOSE that is 18, which as a state alone would be FORBIDDEN."""
    return State(phase.value)


@dataclass(frozen=True, slots=True)
class GroupStatus:
    phase: Phase
    session: Session
    trade_date: int
    ends_ns: int | None = None


@dataclass(frozen=True, slots=True)
class OwnStatus:
    state: State
    ends_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """An instrument whose effective state changed."""

    security_id: int
    before: State
    after: State

    @property
    def ends_auction(self) -> bool:
        """The uncross comes "prior to transition to another state" (14.1), whichever that is; only a
        halt, which prevents matching, leaves the auction undone."""
        return self.before in AUCTION_STATES and self.after in (State.OPEN, State.CLOSE)

    @property
    def starts_auction(self) -> bool:
        return self.before not in AUCTION_STATES and self.after in AUCTION_STATES


class Phases:
    """Who is in which phase and state. Every change returns the message to send and the shifts."""

    def __init__(self, trade_date: int, forbidden: Iterable[int] = ()) -> None:
        self._trade_date = trade_date
        self._groups: dict[GroupKey, GroupStatus] = {}
        self._members: dict[GroupKey, list[int]] = {}
        self._group_of: dict[int, GroupKey] = {}
        self._own: dict[int, OwnStatus] = {each: OwnStatus(State.FORBIDDEN) for each in forbidden}
        self._effective: dict[int, State] = {}  # asked for with every order, so kept

    @property
    def forbidden(self) -> frozenset[int]:
        return frozenset(each for each, own in self._own.items() if own.state is State.FORBIDDEN)

    def add(self, security_id: int, group: GroupKey) -> None:
        self.remove(security_id)
        self._groups.setdefault(group, GroupStatus(Phase.CLOSE, Session.REGULAR, self._trade_date))
        self._members.setdefault(group, []).append(security_id)
        self._group_of[security_id] = group
        self._shifts((security_id,))

    def remove(self, security_id: int) -> None:
        group = self._group_of.pop(security_id, None)
        if group is not None:
            self._members[group].remove(security_id)
            del self._effective[security_id]

    def groups(self) -> tuple[GroupKey, ...]:
        return tuple(self._groups)

    def members(self, group: GroupKey) -> tuple[int, ...]:
        return tuple(self._members.get(group, ()))

    def group_of(self, security_id: int) -> GroupKey:
        return self._group_of[security_id]

    def status(self, group: GroupKey) -> GroupStatus:
        if group not in self._groups:
            raise PhaseError("no such group", group=group[0])
        return self._groups[group]

    def own(self, security_id: int) -> OwnStatus | None:
        return self._own.get(security_id)

    def session(self, security_id: int) -> Session:
        return self._groups[self._group_of[security_id]].session

    def effective(self, security_id: int) -> State:
        """Of an instrument that is not listed now: closed."""
        return self._effective.get(security_id, State.CLOSE)

    def may_go_to_auction(self, security_id: int) -> bool:
        """Whether it is open, or would be but for a pause of its own (certification script B2.6)."""
        if self.effective(security_id) is State.OPEN:
            return True
        own, group = self._own.get(security_id), self._groups[self._group_of[security_id]]
        return own is not None and own.state is State.PAUSE and group.phase is Phase.OPEN

    def check_phase(self, group: GroupKey, phase: Phase) -> None:
        before = self.status(group).phase
        if phase not in NEXT_PHASES[before]:
            raise PhaseError(f"{phase.name} cannot follow {before.name}", group=group[0])

    def change_phase(
        self, group: GroupKey, phase: Phase, now_ns: int, *, ends_ns: int | None = None
    ) -> tuple[PhaseChanged, tuple[Shift, ...]]:
        before = self.status(group)
        self.check_phase(group, phase)
        after = replace(before, phase=phase, ends_ns=ends_ns)
        self._groups[group] = after
        message = PhaseChanged(*group, after.session, phase, None, after.trade_date, now_ns, ends_ns)
        return message, self._shifts(self._members[group])

    def leave(
        self, security_id: int, state: State, now_ns: int, *, ends_ns: int | None = None
    ) -> tuple[StateChanged, tuple[Shift, ...]]:
        """An instrument takes a state of its own (101)."""
        own = self._own.get(self._known(security_id))
        if own is not None and own.state is State.FORBIDDEN and state is not State.FORBIDDEN:
            raise PhaseError("forbidden until it is rejoined by hand", security_id=security_id)
        self._own[security_id] = OwnStatus(state, ends_ns)
        message = self._state_message(security_id, state, StateEvent.LEAVES_GROUP, now_ns, ends_ns)
        return message, self._shifts((security_id,))

    def rejoin(
        self, security_id: int, now_ns: int, *, by_hand: bool = False
    ) -> tuple[StateChanged, tuple[Shift, ...]]:
        """An instrument follows its group again (102)."""
        own = self._own.get(self._known(security_id))
        if own is None:
            raise PhaseError("already follows its group", security_id=security_id)
        if own.state is State.FORBIDDEN and not by_hand:
            raise PhaseError("forbidden until it is rejoined by hand", security_id=security_id)
        del self._own[security_id]
        status = self._groups[self._group_of[security_id]]
        message = self._state_message(
            security_id, state_of_phase(status.phase), StateEvent.REJOINS_GROUP, now_ns, status.ends_ns
        )
        return message, self._shifts((security_id,))

    def change_session(
        self, group: GroupKey, session: Session, trade_date: int, now_ns: int
    ) -> tuple[PhaseChanged, tuple[StateChanged, ...]]:
        """Another session, or another day: a message of the group (6.5.12) and one per instrument, each of
        which resets statistics (14.3). On another day whoever had left is back with its group, except the
        forbidden; within a day a halt outlasts the session it was called in. Only of a closed group, so
        that nobody's effective state changes with it."""
        status = self.status(group)
        if status.phase is not Phase.CLOSE:
            raise PhaseError("a session changes while the group is closed", group=group[0])
        if trade_date < status.trade_date:
            raise PhaseError("a trade date never comes back: its tradeIDs would too", group=group[0])
        self._groups[group] = replace(status, session=session, trade_date=trade_date)
        if trade_date != status.trade_date:
            for each in self._members[group]:
                own = self._own.get(each)
                if own is not None and own.state is not State.FORBIDDEN:
                    del self._own[each]
            self._shifts(self._members[group])
        message = PhaseChanged(
            *group, session, status.phase, StateEvent.SESSION_CHANGE, trade_date, now_ns, status.ends_ns
        )
        return message, tuple(self._session_message(each, now_ns) for each in self._members[group])

    def current(self, security_id: int, now_ns: int) -> StateChanged:
        """As the snapshot stream tells it (14.4): state null while the instrument follows its group."""
        own = self._own.get(security_id)
        if own is None:
            return self._state_message(security_id, None, None, now_ns, None)
        return self._state_message(security_id, own.state, StateEvent.LEAVES_GROUP, now_ns, own.ends_ns)

    def _session_message(self, security_id: int, now_ns: int) -> StateChanged:
        own = self._own.get(security_id)
        status = self._groups[self._group_of[security_id]]
        state = state_of_phase(status.phase) if own is None else own.state
        ends_ns = status.ends_ns if own is None else own.ends_ns
        return self._state_message(security_id, state, StateEvent.SESSION_CHANGE, now_ns, ends_ns)

    def _state_message(
        self,
        security_id: int,
        state: State | None,
        event: StateEvent | None,
        now_ns: int,
        ends_ns: int | None,
    ) -> StateChanged:
        status = self._groups[self._group_of[security_id]]
        return StateChanged(security_id, status.session, state, event, status.trade_date, now_ns, ends_ns)

    def _shifts(self, changed: Iterable[int]) -> tuple[Shift, ...]:
        """Finds the effective states anew; those that are not as they were."""
        shifts: list[Shift] = []
        for each in changed:
            own = self._own.get(each)
            phase = self._groups[self._group_of[each]].phase
            after = effective(phase, None if own is None else own.state)
            before = self._effective.get(each, after)
            self._effective[each] = after
            if before is not after:
                shifts.append(Shift(each, before, after))
        return tuple(shifts)

    def _known(self, security_id: int) -> int:
        if security_id not in self._group_of:
            raise PhaseError("no such instrument", security_id=security_id)
        return security_id
