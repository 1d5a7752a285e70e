"""Phases of the groups of a channel (14.2), and what a phase does to the instruments of its group.

A phase has no rptSeq: after a loss of packets it is not known whether one was among them, until the next
one is told or a snapshot loop that began after the loss says what it is.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pregao.books.layout import STATE
from pregao.books.phases import AUCTIONS, effective
from pregao.books.store import BookStore
from pregao.model.market import Phase, State, StateEvent
from pregao.model.packets import UInt32s

_NAME_BYTES = 8


def group_name(number: int) -> str:
    """A group's name from the number that rows keep."""
    return number.to_bytes(_NAME_BYTES, "little", signed=True).split(b"\0")[0].decode("latin-1").strip()


@dataclass(slots=True)
class Group:
    phase: Phase | int | None = None
    verified: bool = False
    ends_ns: int | None = None
    session: int = 0
    members: dict[int, None] = field(default_factory=dict)  # by index
    _indexes: UInt32s | None = None

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


def _phase(number: int) -> Phase | int:
    return Phase(number) if number in Phase._value2member_map_ else number


def _effective(phase: int, own: int) -> State | None:
    """As `books.phases.effective`, of numbers; what nobody knows rules nothing."""
    known_phase = Phase(phase) if phase in Phase._value2member_map_ else None
    known_own = State(own) if own in State._value2member_map_ else None
    return effective(known_phase, known_own)


class Groups:
    """Of one channel; instruments are known by their index."""

    def __init__(self, store: BookStore) -> None:
        self._store = store
        self._groups: dict[str, Group] = {}
        self._group_of: dict[int, str] = {}
        self._is_stranger = np.ones(64, np.bool_)  # by index

    def __getitem__(self, name: str) -> Group:
        return self._groups[name]

    def names(self) -> list[str]:
        return list(self._groups)

    def of(self, index: int) -> Group | None:
        name = self._group_of.get(index)
        return None if name is None else self._groups[name]

    def put(self, index: int, name: str) -> None:
        """An instrument is of this group."""
        before = self._group_of.get(index)
        if before == name:
            return
        if before is not None:
            self._groups[before].discard(index)
        group = self._groups.setdefault(name, Group())
        group.add(index)
        self._group_of[index] = name
        if index >= len(self._is_stranger):
            more = np.ones(max(index + 1 - len(self._is_stranger), len(self._is_stranger)), np.bool_)
            self._is_stranger = np.concatenate([self._is_stranger, more])
        self._is_stranger[index] = False
        if group.phase is not None:
            self._store.set_phase([index], int(group.phase))

    def remove(self, index: int) -> None:
        name = self._group_of.pop(index, None)
        if name is not None:
            self._groups[name].discard(index)

    def strangers(self, count: int) -> UInt32s:
        """Which of the first `count` instruments have not said their group: any phase may be theirs."""
        strangers = np.flatnonzero(self._is_stranger[:count]).astype(np.uint32)
        beyond = np.arange(len(self._is_stranger), count, dtype=np.uint32)
        return np.concatenate([strangers, beyond]) if len(beyond) else strangers

    def lost(self) -> None:
        """A phase may have been among the packets lost."""
        for group in self._groups.values():
            group.verified = False

    def tell(self, row: Any) -> Group:
        """A phase of the incremental stream; its effects on instruments are `affect`."""
        group = self._groups.setdefault(group_name(int(row["id"])), Group())
        self._set(group, row)
        return group

    def tell_from_snapshot(self, row: Any, *, after_loss: bool) -> None:
        """A phase of a snapshot loop: counts where nothing better is known. `after_loss`: the loop began
        after the last loss of packets."""
        group = self._groups.setdefault(group_name(int(row["id"])), Group())
        if group.phase is None or (not group.verified and after_loss):
            self._set(group, row, verified=after_loss)
            self._store.set_phase(list(group.members), int(row["type"]))

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

    def infer(self, index: int) -> list[int]:
        """An instrument rejoined its group, and its state is the group's phase (14). The instruments of
        the group whose auction is thereby over."""
        group = self.of(index)
        if group is None:
            return []
        phase = int(self._store.statistics_rows(index)[STATE]["type"])
        ended = [each for each in group.members if each != index and self._auction_ends(each, phase)]
        group.phase = _phase(phase)
        self._store.set_phase(list(group.members), phase)
        return ended

    def bring_up_to_date(self, index: int) -> None:
        """After old rows were applied to an instrument: its group's phase is the one now."""
        group = self.of(index)
        if group is not None and group.phase is not None:
            self._store.set_phase([index], int(group.phase))

    def _auction_ends(self, index: int, phase: int) -> bool:
        before, own = self._store.group_phase(index), self._store.own_state(index)
        if _effective(before, own) not in AUCTIONS:
            return False
        left_opening = before == Phase.PRE_OPEN and phase != before
        return _effective(phase, own) not in AUCTIONS or (left_opening and own != State.RESERVED)

    def _set(self, group: Group, row: Any, *, verified: bool = True) -> None:
        group.phase, group.verified = _phase(int(row["type"])), verified
        ends = int(row["inserted_ns"])
        group.ends_ns = ends if ends > 0 else None
        group.session = int(row["session"])
