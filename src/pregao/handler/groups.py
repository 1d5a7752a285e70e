"""Phases of the groups of a channel (14.2), and what a phase does to the instruments of its group.

A phase has no rptSeq: after a loss of packets it is not known whether one was among them, until the next
one is told or a snapshot loop that began after the loss says what it is. Until then the store, too, has no
phase for the instruments of the group.
"""

from bisect import bisect_right
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from pregao.books.phases import may_be_auction
from pregao.books.store import BookStore
from pregao.model.instruments import group_name
from pregao.model.market import Phase, State, StateEvent
from pregao.model.packets import UInt32s

_MOST_PHASES: Final = 32  # phases of a group that are remembered: snapshots are seconds old, not hours


@dataclass(slots=True)
class GroupPhase:
    name: str
    phase: Phase | int | None = None
    verified: bool = False
    left_out: bool = False  # a whole loop of snapshots, begun after the last loss, did not tell its phase
    ends_ns: int | None = None
    session: int = 0
    members: dict[int, None] = field(default_factory=dict)  # by index
    _indexes: UInt32s | None = None
    _phase_places: list[int] = field(default_factory=list)  # places since the last loss, oldest first
    _known_phases: list[int] = field(default_factory=list)  # the phase from each of them on

    def add(self, index: int) -> None:
        self.members[index] = None
        self._indexes = None

    def discard(self, index: int) -> None:
        del self.members[index]
        self._indexes = None

    def indexes(self) -> UInt32s:
        """Its members, for kernels."""
        if self._indexes is None:
            self._indexes = np.array(list(self.members), np.uint32)
        return self._indexes

    @property
    def is_sought(self) -> bool:
        """Somebody follows its phase, which is not known and may yet be told by snapshots."""
        return bool(self.members) and not self.verified and not self.left_out

    def enter(self, phase: int, at: int) -> None:
        """It is known to be in a phase from a place on."""
        self.phase = _phase(phase)
        self.verified, self.left_out = True, False
        self._phase_places.append(at)
        self._known_phases.append(phase)
        del self._phase_places[:-_MOST_PHASES], self._known_phases[:-_MOST_PHASES]

    def lose(self) -> None:
        """A phase may have been among the packets lost."""
        self.verified = self.left_out = False
        self._phase_places.clear()
        self._known_phases.clear()

    @property
    def number(self) -> int:
        """Its phase now; 0: not known."""
        return self._known_phases[-1] if self._known_phases else 0

    def number_at(self, at: int) -> int:
        """Its phase at a place; 0: not known."""
        place = bisect_right(self._phase_places, at)
        return self._known_phases[place - 1] if place else 0


def _phase(number: int) -> Phase | int:
    return Phase(number) if number in Phase._value2member_map_ else number


class SecurityGroups:
    """Of one channel; instruments are known by their index."""

    def __init__(self, store: BookStore) -> None:
        self._store = store
        self._groups: dict[str, GroupPhase] = {}
        self._group_of: dict[int, str] = {}
        self._is_stranger = np.ones(64, np.bool_)  # by index
        self._sought: set[str] = set()
        self.created: set[int] = set()  # whose phase is not known until they or their group are told of
        self._lost_at = 0

    def __getitem__(self, name: str) -> GroupPhase:
        return self._groups[name]

    def names(self) -> list[str]:
        return list(self._groups)

    def of(self, index: int) -> GroupPhase | None:
        name = self._group_of.get(index)
        return None if name is None else self._groups[name]

    @property
    def sought(self) -> int:
        """Groups whose phase snapshots have yet to tell."""
        return len(self._sought)

    def put(self, index: int, name: str) -> None:
        """An instrument is of this group."""
        before = self._group_of.get(index)
        if before == name:
            return
        if before is not None:
            self._leave(index, before)
        group = self._named(name)
        group.add(index)
        self._group_of[index] = name
        self._look_again(group)
        if index >= len(self._is_stranger):
            more = np.ones(max(index + 1 - len(self._is_stranger), len(self._is_stranger)), np.bool_)
            self._is_stranger = np.concatenate([self._is_stranger, more])
        self._is_stranger[index] = False
        self._store.set_phase([index], group.number)

    def remove(self, index: int) -> None:
        self.created.discard(index)
        name = self._group_of.pop(index, None)
        if name is not None:
            self._leave(index, name)

    def strangers(self, count: int) -> UInt32s:
        """Which of the first `count` instruments have not said their group: any phase may be theirs."""
        strangers = np.flatnonzero(self._is_stranger[:count]).astype(np.uint32)
        beyond = np.arange(len(self._is_stranger), count, dtype=np.uint32)
        return np.concatenate([strangers, beyond]) if len(beyond) else strangers

    # What is told

    def lost(self, at: int) -> None:
        """Packets up to a place are lost, and a phase may have been among them."""
        self._lost_at = at
        for group in self._groups.values():
            group.lose()
            self._look_again(group)
        self._store.forget_phases()

    def tell(self, row: Any) -> GroupPhase:
        """A phase of the incremental stream; its effects on instruments are `affect`."""
        group = self._named(group_name(int(row["id"])))
        group.enter(int(row["type"]), int(row["at"]))
        self._set(group, row)
        if self.created:
            self.created.difference_update(group.members)
        return group

    def tell_from_snapshot(self, row: Any, *, after_loss: bool) -> None:
        """A phase of a snapshot loop: counts where nothing better is known. `after_loss`: the loop began
        after the last loss of packets, so that the group has been in this phase since then."""
        group = self._named(group_name(int(row["id"])))
        if group.verified:
            return
        if after_loss:
            group.enter(int(row["type"]), self._lost_at)
            self._store.set_phase(list(group.members), group.number)
        elif group.phase is None:
            group.phase = _phase(int(row["type"]))
        else:
            return
        self._set(group, row)

    def on_whole_loop(self, besides: Set[str]) -> None:
        """A loop of snapshots that began after the last loss is over, and told all that it has to tell.
        Nobody waits for phases that are not in it, `besides` those that count a little later."""
        for name in self._sought - besides:
            self._groups[name].left_out = True
            self._sought.discard(name)

    def infer(self, index: int, row: Any) -> list[int]:
        """An instrument rejoined its group, and its state is the group's phase (14). The instruments of
        the group whose auction is thereby over."""
        group = self.of(index)
        if group is None:
            return []
        phase = int(row["type"])
        ended = [each for each in group.members if each != index and self._auction_ends(each, phase)]
        group.enter(phase, int(row["at"]))
        self._look_again(group)
        self._store.set_phase(list(group.members), phase)
        return ended

    # What it does to instruments

    def affect(self, index: int, row: Any) -> None:
        """What a phase that was held does to one instrument: its auction ends (13.10), its statistics start
        over (14.3). One of another group does nothing. `kernels.take_phase` is the same for many."""
        if self._group_of.get(index) != group_name(int(row["id"])):
            return
        store, phase = self._store, int(row["type"])
        if self._auction_ends(index, phase):
            store.forget_auction([index])
        if row["detail"] == StateEvent.SESSION_CHANGE:
            store.reset_statistics([index])
        store.set_phase([index], phase)

    def go_back(self, index: int, at: int) -> None:
        """Rows after a place are going to be applied to an instrument: its group's phase is the one there."""
        group = self.of(index)
        if group is not None:
            self._store.set_phase([index], group.number_at(at))

    def bring_up_to_date(self, index: int) -> None:
        """After old rows were applied to an instrument: its group's phase is the one now."""
        group = self.of(index)
        if group is not None:
            self._store.set_phase([index], group.number)

    # Inside

    def _auction_ends(self, index: int, phase: int) -> bool:
        before, own = self._store.group_phase(index), self._store.own_state(index)
        if not may_be_auction(before, own):
            return False
        left_opening = before == Phase.PRE_OPEN and phase != before
        return not may_be_auction(phase, own) or (left_opening and own != State.RESERVED)

    def _named(self, name: str) -> GroupPhase:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = GroupPhase(name)
        return group

    def _leave(self, index: int, name: str) -> None:
        group = self._groups[name]
        group.discard(index)
        self._look_again(group)

    def _set(self, group: GroupPhase, row: Any) -> None:
        ends = int(row["inserted_ns"])
        group.ends_ns = ends if ends > 0 else None
        group.session = int(row["session"])
        self._look_again(group)

    def _look_again(self, group: GroupPhase) -> None:
        if group.is_sought:
            self._sought.add(group.name)
        else:
            self._sought.discard(group.name)
