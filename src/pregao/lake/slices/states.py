"""What instruments of a slice are in: the phase of their group and a state of their own (14); and books that
are crossed though they are open.

A phase has no rptSeq: after a loss no phase is known until a message or a whole loop tells it. A state has
one, so it is in doubt where messages of its instrument are missing. After an anchor both are as the anchor
says, whatever came before: so the result does not depend on where slices begin.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.phases import effective, own_in_snapshot
from pregao.feeds.registry import load_tabled_system
from pregao.kernels import Context
from pregao.lake.plan.index import Array
from pregao.lake.slices.kernels.books import QUOTE_QUALITY
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
from pregao.lake.tables.analytics import Quality
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


# Books that are crossed outside of auctions


# What is told at one moment counts together: an order that starts an auction may come before the state.
MOMENT_NS: Final = 1_000_000


@dataclass(slots=True)
class CrossedStretch:
    """From where a book is crossed and open to where it is not. `goes_on`: since before the slice begins."""

    place: int
    since_ns: int
    bid: int
    offer: int
    goes_on: bool = False


class CrossedBooks:
    """Looks at quotes, and at states that come over books which are crossed, in the order of the stream. What
    goes on over the end of a slice is told in parts, and `join_crossed` puts them together."""

    def __init__(self, machine: "SliceMachine") -> None:
        self._machine = machine
        self._has_streams = load_tabled_system(machine.slice.system).policy.has_streams
        self._since: dict[int, CrossedStretch] = {}
        self._held: dict[int, Array] = {}  # quotes of crossed books: their state may be told in this moment

    def look(self, quotes: Array, states: Array) -> Array:
        """The quotes that can be told now, with the state of their moment."""
        crossed = _are_crossed(quotes)
        crossed &= self._may_not_cross(quotes["instrument"])
        states = states[self._may_not_cross(states[:, 0])]
        if not self._since and not len(states) and not crossed.any():
            return quotes
        numbers = quotes["instrument"] & NUMBER_MASK
        concerned = {*self._since, *numbers[crossed].tolist(), *(states[:, 0] & NUMBER_MASK).tolist()}
        changes: list[tuple[int, int, Any]] = [
            (int(quotes["at"][place]) << 16 | int(quotes["index"][place]), int(numbers[place]), place)
            for place in np.flatnonzero(np.isin(numbers, list(concerned))).tolist()
        ]
        changes += [(state[1], state[0] & NUMBER_MASK, state) for state in states.tolist()]
        told = [quotes[~crossed]]
        for at, number, change in sorted(changes, key=itemgetter(0)):
            told += self._release(number, change if isinstance(change, list) else None)
            if isinstance(change, list):
                self._change(number, at >> 16, bool(IS_OPEN[change[0] >> NUMBER_BITS]), *change[2:])
                continue
            quote, is_crossed = quotes[change], bool(crossed[change])
            if is_crossed:
                self._held[number] = quotes[change : change + 1].copy()
            figures = (int(quote[name]) for name in ("time_ns", "bid_price", "offer_price"))
            self._change(number, at >> 16, is_crossed, *figures)
        return np.concatenate(told)

    def _may_not_cross(self, instruments: Array) -> Array:
        """Of which books it would be an error: not of lending, where nobody matches bids with offers."""
        if not self._has_streams:
            return np.ones(len(instruments), np.bool_)
        stream = self._machine.store.book_stream
        return np.array([not stream(each & NUMBER_MASK) for each in instruments.tolist()], np.bool_)

    def _release(self, number: int, state: list[int] | None) -> list[Array]:
        """What was held of an instrument. If its state is told at the same moment, it is in that state."""
        held = self._held.pop(number, None)
        if held is None:
            return []
        if state is not None and abs(state[2] - int(held["time_ns"][0])) < MOMENT_NS:
            held["instrument"] = state[0]
        return [held]

    def held(self) -> Array:
        """All that are held: they can wait no longer."""
        told = [np.zeros(0, t.QUOTE), *self._held.values()]
        self._held.clear()
        return np.concatenate(told)

    def _change(self, number: int, place: int, is_crossed: bool, time_ns: int, bid: int, offer: int) -> None:
        if place >= self._machine.slice.stop:
            return
        if not is_crossed:
            self._tell(number, place, time_ns)
        elif number not in self._since:
            self._since[number] = CrossedStretch(place, time_ns, bid, offer)

    def begin(self) -> None:
        """The slice begins to emit: what is crossed now has begun before."""
        machine = self._machine
        start, tops = machine.slice.start, machine.store.tops()
        firsts = np.array([machine.store.numbering.first_of(number) for number in range(len(tops))], np.int64)
        packed = np.array([machine.states.packed(number) for number in firsts.tolist()], np.int64)
        crossed = (tops[:, 0] >= tops[:, 3]) & (tops[:, 2] > 0) & (tops[:, 5] > 0) & (tops[:, 0] != NULL)
        crossed &= self._may_not_cross(np.arange(len(tops)))
        crossed &= IS_OPEN[packed] & (machine.known.used["book"][firsts] == BookStatus.CLEAN)
        sent_ns = int(machine.merged.sent[max(machine.packet_at(start), 0)]) if len(machine.merged) else 0
        self._since = {
            number: CrossedStretch(start, sent_ns, int(tops[number, 0]), int(tops[number, 3]), goes_on=True)
            for number in np.flatnonzero(crossed).tolist()
        }

    def leave(self) -> None:
        """It ends."""
        slice_, merged = self._machine.slice, self._machine.merged
        if len(merged):
            place = min(int(merged.place[-1]), slice_.stop - 1)
            for number in sorted(self._since):
                self._tell(number, place, int(merged.sent[self._machine.packet_at(place)]), is_open=True)

    def _tell(self, number: int, place: int, time_ns: int, *, is_open: bool = False) -> None:
        stretch, machine = self._since.pop(number, None), self._machine
        if stretch is None or not machine.emits(place):
            return
        if not stretch.goes_on and not is_open and time_ns - stretch.since_ns < MOMENT_NS:
            return
        machine.findings.add(
            stretch.place, machine, "CROSSED_BOOK", severity="ERROR", stream="INCREMENTAL",
            security_id=machine.store.security_id(number), first_seq_num=stretch.place & 0xFFFFFFFF,
            last_seq_num=place & 0xFFFFFFFF, ts_from=stretch.since_ns, ts_to=time_ns, count=1,
            expected="bid below offer", found=f"bid {_shown(stretch.bid)}, offer {_shown(stretch.offer)}",
            detail="until the end" if is_open else "", goes_on=stretch.goes_on, is_open=is_open,
        )  # fmt: skip


def _shown(mantissa: int) -> Decimal:
    return Decimal(mantissa).scaleb(-4)


_DOUBTS: Final = 0xFF & ~int(Quality.FROM_SNAPSHOT)


def _are_crossed(quotes: Array) -> Array:
    """Of books that are known and open to continuous trading."""
    bid, offer = quotes["bid_price"], quotes["offer_price"]
    crossed: Array = (bid >= offer) & (bid != NULL) & (offer != NULL)
    crossed &= (quotes["bid_orders"] > 0) & (quotes["offer_orders"] > 0)
    if crossed.any():
        crossed &= IS_OPEN[quotes["instrument"] >> NUMBER_BITS & STATE_MASK]
        crossed &= quotes["sides"] >> QUOTE_QUALITY & _DOUBTS == 0
    return crossed


def join_crossed(findings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of slices in their order: a book that is crossed over the end of a slice is one finding."""
    found: list[dict[str, Any]] = []
    open_ones: dict[int, dict[str, Any]] = {}
    for each in findings:
        if each["finding"] != "CROSSED_BOOK":
            found.append(each)
            continue
        row, security_id = dict(each), each["security_id"]
        goes_on, is_open = row.pop("goes_on"), row.pop("is_open")
        before = open_ones.pop(security_id, None)
        if goes_on and before is not None:
            before |= {name: row[name] for name in ("ts_to", "last_seq_num", "detail")}
            row = before
        else:
            found.append(row)
        if is_open:
            open_ones[security_id] = row
    return found
