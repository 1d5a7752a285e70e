"""Phases of groups and states of instruments (14) in plain Python: the twin of `handler.groups.Groups` with
the states that the kernels of a `BookStore` keep.

- The number told with a 102 is the group's phase.
- The key of a group is its code and its exchange: codes repeat amongst exchanges.
- Statistics start over when either message says so (14.3).
- Theoretical price and imbalance are forgotten when an instrument's auction ends (13.10): when its
  effective state is no longer RESERVED or FINAL_CLOSING_CALL, and when its group leaves PRE_OPEN while it
  is not reserved itself. The guidelines speak of PRE_OPEN only; the closing call is an auction too (14.1).
"""

from dataclasses import dataclass, field
from typing import Final

from pregao.books.phases import AUCTIONS, effective, own_after
from pregao.model.events import PhaseChanged, StateChanged
from pregao.model.market import Phase, State, StateEvent

GroupKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Effects:
    """Instruments whose statistics start over, and whose auction is over."""

    reset: tuple[int, ...] = ()
    forget: tuple[int, ...] = ()


@dataclass(slots=True)
class _Group:
    phase: Phase | None = None
    told: PhaseChanged | None = None
    members: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Member:
    group: _Group
    own: State | None = None
    told: StateChanged | None = None


_PHASES: Final = {int(phase): phase for phase in Phase}


def _may_be_auction(phase: Phase | None, own: State | None) -> bool:
    """An instrument whose group's phase was not told may be in auction, unless its own state forbids it."""
    rules = effective(phase, own)
    return rules in AUCTIONS or (phase is None and rules in (None, State.OPEN))


class PlainPhases:
    def __init__(self) -> None:
        self._groups: dict[GroupKey, _Group] = {}
        self._members: dict[int, _Member] = {}

    def add(self, security_id: int, group: str, exchange: str) -> None:
        """An instrument's group, from its definition; one that moves keeps its own state."""
        entry = self._groups.setdefault((group, exchange), _Group())
        member = self._members.get(security_id)
        if member is None:
            self._members[security_id] = _Member(entry)
        else:
            del member.group.members[security_id]
            member.group = entry
        entry.members[security_id] = None

    def remove(self, security_id: int) -> None:
        member = self._members.pop(security_id, None)
        if member is not None:
            del member.group.members[security_id]

    def members(self, group: str, exchange: str) -> tuple[int, ...]:
        entry = self._groups.get((group, exchange))
        return () if entry is None else tuple(entry.members)

    def group_members(self, security_id: int) -> tuple[int, ...]:
        """All of an instrument's group."""
        return tuple(self._members[security_id].group.members)

    def phase(self, group: str, exchange: str) -> Phase | None:
        entry = self._groups.get((group, exchange))
        return None if entry is None else entry.phase

    def phase_of(self, security_id: int) -> Phase | None:
        """The phase of an instrument's group."""
        return self._members[security_id].group.phase

    def own(self, security_id: int) -> State | None:
        return self._members[security_id].own

    def state(self, security_id: int) -> State | None:
        """What rules an instrument now."""
        member = self._members[security_id]
        return effective(member.group.phase, member.own)

    def told(self, security_id: int) -> StateChanged | PhaseChanged | None:
        """The message that says an instrument's state now: its own, or its group's."""
        member = self._members[security_id]
        return member.told if member.own is not None else member.group.told

    def apply_phase(self, update: PhaseChanged) -> Effects:
        entry = self._groups.setdefault((update.group, update.exchange), _Group())
        entry.told = update
        forget = self._enter(entry, update.phase)
        reset = update.event is StateEvent.SESSION_CHANGE
        return Effects(tuple(entry.members) if reset else (), forget)

    def apply_state(self, update: StateChanged) -> Effects:
        """Of an instrument that was added."""
        security_id = update.security_id
        member = self._members[security_id]
        was_auction = _may_be_auction(member.group.phase, member.own)
        new_day = member.told is not None and member.told.trade_date != update.trade_date
        own = own_after(member.own, member.group.phase, update.state, update.event, new_day)
        forget: tuple[int, ...] = ()
        if update.event is StateEvent.REJOINS_GROUP and update.state is not None:
            phase = _PHASES.get(update.state)
            if phase is not member.group.phase:  # 14: it is safe to infer; one not known rules nothing
                forget = tuple(each for each in self._enter(member.group, phase) if each != security_id)
        member.own, member.told = own, update
        if was_auction and not _may_be_auction(member.group.phase, member.own):
            forget = (*forget, security_id)
        reset = update.event is StateEvent.SESSION_CHANGE
        return Effects((security_id,) if reset else (), forget)

    def _enter(self, entry: _Group, phase: Phase | None) -> tuple[int, ...]:
        """A group's phase; the instruments whose auction ended with the one before."""
        before, entry.phase = entry.phase, phase
        left_opening = before is Phase.PRE_OPEN and phase is not before
        forget = []
        for security_id in entry.members:
            own = self._members[security_id].own
            if not _may_be_auction(before, own):
                continue
            ended = not _may_be_auction(phase, own)
            if ended or (left_opening and own is not State.RESERVED):
                forget.append(security_id)
        return tuple(forget)
