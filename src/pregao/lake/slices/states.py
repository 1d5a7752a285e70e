"""What instruments of a slice are in: the phase of their group and a state of their own (14).

A phase has no rptSeq: after a loss no phase is known until a message or a whole loop tells it. A state has
one, so it is in doubt where messages of its instrument are missing. After an anchor both are as the anchor
says, whatever came before: so the result does not depend on where slices begin.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from pregao.books.phases import effective, own_in_snapshot
from pregao.kernels import Context
from pregao.lake.plan.index import Array
from pregao.lake.slices.kernels.states import (
    LOG_ROOM,
    LOG_WORDS,
    MOST_GROUPS,
    NOT_KNOWN,
    NUMBER_BITS,
    STATE_BITS,
    STATES_FIELDS,
    enter_phase,
)
from pregao.lake.slices.known import MOST_INSTRUMENTS, NO_INDEX, joined
from pregao.model.fixed_income import RATES
from pregao.model.market import Phase, State
from pregao.model.rows import NULL, Kind, Rows
from pregao.recovery.instruments import BookStatus

if TYPE_CHECKING:
    from pregao.lake.slices.loops import LoadedLoop
    from pregao.lake.slices.machine import SliceMachine

NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1
assert MOST_INSTRUMENTS <= 1 << NUMBER_BITS
STATE_MASK: Final = (1 << 2 * STATE_BITS) - 1


def phase_of(packed: int) -> Phase | None:
    """None: not known, or a number that has no name."""
    number = packed & NOT_KNOWN
    return Phase(number) if number in Phase._value2member_map_ else None


def state_of(packed: int) -> State | None:
    """What comes of phase and own state; None: not known."""
    number, phase = packed >> STATE_BITS, phase_of(packed)
    is_named = number in State._value2member_map_
    if (packed & NOT_KNOWN and phase is None) or (number and not is_named):
        return None
    return effective(phase, State(number) if number else None)


IS_OPEN: Final[Array] = np.array([state_of(packed) is State.OPEN for packed in range(STATE_MASK + 1)])


class TradingStates:
    """`machine.slice.groups` are ids and the groups they are of, by id."""

    def __init__(self, machine: "SliceMachine") -> None:
        self._machine, self._store, self._known = machine, machine.store, machine.known
        self._ids, self._groups = machine.slice.groups
        self._group_of = np.zeros(MOST_INSTRUMENTS, np.int64)
        self._phases = np.zeros((MOST_GROUPS, 2), np.int64)
        self._context = Context(STATES_FIELDS)
        self._log = np.zeros((LOG_ROOM, LOG_WORDS), np.int64)
        self._context.set(
            group_of=self._group_of, phases=self._phases, days=np.zeros(MOST_INSTRUMENTS, np.uint16),
            sync=self._known.sync, log=self._log,
            has_rates=int(np.isin(machine.slice.scales["kind"], RATES).any()),
        )  # fmt: skip
        self.address = self._context.address
        self._lost_at, self._is_filled = -1, False
        self._store.numbering.follow(self._add)

    def _add(self, number: int) -> None:
        """A new instrument, which follows its group as far as one knows."""
        self._context.set(instruments=number + 1)
        security_id = self._store.security_id(number)
        place = int(np.searchsorted(self._ids, security_id))
        if place < len(self._ids) and self._ids[place] == security_id:
            self._group_of[number] = self._groups[place]
            self._store.set_phase((number,), self._told().get(int(self._groups[place]), 0))

    def _told(self) -> dict[int, int]:
        """Phases that are known, by group."""
        return dict(self._phases[: self._context["phase_count"]].tolist())

    def packed(self, number: int) -> int:
        phase, own = self._store.group_phase(number), self._store.own_state(number)
        return min(phase, NOT_KNOWN) | min(own, NOT_KNOWN) << STATE_BITS

    # What snapshots tell

    def begin_with(self, loaded: "LoadedLoop", numbers: Array) -> None:
        """An anchor: nothing else is known."""
        self._store.set_own_states(numbers, _own_states(loaded, len(numbers)))
        self._enter(self.phases(loaded), loaded.loop.begun)
        self._is_filled = True

    def told(self, number: int, facts: Rows) -> None:
        """One snapshot of an instrument that was not clean."""
        states = facts[facts["kind"] == Kind.STATE]
        own = own_in_snapshot(int(states[-1]["type"]), int(states[-1]["detail"])) if len(states) else 0
        self._store.set_own_states(np.array([number]), np.array([own]))

    def absent(self, numbers: Array) -> None:
        """They follow their groups."""
        self._store.set_own_states(numbers, np.zeros(len(numbers), np.uint8))

    def fill(self, loaded: "LoadedLoop", place: int) -> None:
        """What a whole loop tells of groups of which nothing is known, if nothing was lost since it began."""
        if loaded.loop.first >= self._lost_at and not self._is_filled:
            known, rows = self._told(), self.phases(loaded)
            self._enter(
                rows[np.array([group not in known for group in rows["id"].tolist()], np.bool_)], place
            )
            self._is_filled = True

    def phases(self, loaded: "LoadedLoop") -> Rows:
        """Of groups, as a loop tells them: by themselves, or with the states of their instruments, where the
        newest snapshot of a group counts."""
        owners, states = loaded.states()
        told = states["origin"] > 0
        if not told.any():
            return loaded.phases()
        owners, rows = owners[told], states[told].copy()
        places = np.minimum(np.searchsorted(self._ids, rows["security_id"]), max(len(self._ids) - 1, 0))
        known = self._ids[places] == rows["security_id"] if len(self._ids) else np.zeros(len(rows), np.bool_)
        order = np.argsort(loaded.loop.places[owners[known]], kind="stable")
        rows, groups = rows[known][order], self._groups[places[known]][order]
        rows["kind"], rows["type"], rows["id"], rows["security_id"] = Kind.PHASE, rows["origin"], groups, NULL
        rows["detail"], rows["inserted_ns"], rows["origin"] = 0, NULL, 0
        _, last = np.unique(groups[::-1], return_index=True)
        return joined([loaded.phases(), rows[len(rows) - 1 - last]])

    def _enter(self, phases: Rows, place: int) -> None:
        for row in phases:
            group, phase = int(row["id"]), int(row["type"])
            enter_phase(self.address, self._store.context, group, phase, place, NO_INDEX, int(row["time_ns"]))

    def tell(self, phases: Rows, place: int) -> Rows:
        """Phases of groups of which nothing is known: those that are news."""
        known = self._told()
        news = phases[np.array([group not in known for group in phases["id"].tolist()], np.bool_)]
        self._enter(news, place)
        return news

    def group_of(self, security_id: int) -> int | None:
        """As rows name it; None: not known."""
        place = int(np.searchsorted(self._ids, security_id))
        is_known = place < len(self._ids) and self._ids[place] == security_id
        return int(self._groups[place]) if is_known else None

    def take_log(self) -> Array:
        """Books that are crossed and whose instruments came into another state, since the last time."""
        taken = self._log[: self._context["log_count"]].copy()
        self._context.set(log_count=0)
        return taken

    def lost(self, place: int) -> None:
        """Packets up to a place: a phase may have been among them, or a state of whoever is stale."""
        self._lost_at, self._is_filled = place, False
        self._context.set(phase_count=0)
        self._store.forget_phases()
        stale = np.flatnonzero(self._known.used["statistics"] == BookStatus.STALE)
        self._store.set_own_states(stale, np.full(len(stale), NOT_KNOWN, np.uint8))


def _own_states(loaded: "LoadedLoop", count: int) -> Array:
    owners, states = loaded.states()
    own = [
        own_in_snapshot(state, event)
        for state, event in zip(states["type"].tolist(), states["detail"].tolist(), strict=True)
    ]
    found = np.zeros(count, np.uint8)
    found[owners] = own
    return found
