"""A unit of a session from its messages to rows by table.

Books are told by messages of the same sequence: a snapshot replaces the book of its instrument at its place,
and all else is as `machine` does it. There are no loops, no reports by number and no second feed; nothing is
known after a connection ends or numbers are missing, until the next snapshot of each instrument.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.feeds.port import RowFault, UnitReader
from pregao.handler.core import RETOLD_NS, kept_apart
from pregao.lake.plan.index import NUMBER_MASK, Array
from pregao.lake.plan.slicing import Slice
from pregao.lake.slices.kernels.sampling import STATISTICS_ONCE
from pregao.lake.slices.known import LAKE_ROW, UNHEARD
from pregao.lake.slices.loops import LOST
from pregao.lake.slices.machine import SliceMachine
from pregao.lake.slices.made_rows import RowMaker
from pregao.lake.slices.sessions import MOST_FAULTS, SessionWindows
from pregao.model.events import MarketTotal
from pregao.model.market import DefinitionAction
from pregao.model.rows import (
    FIRST_ENTRY_KIND,
    LAST_BOOK_KIND,
    LAST_ENTRY_KIND,
    NULL,
    Flag,
    Kind,
    Rows,
)
from pregao.recovery.instruments import BookStatus, Mark

MOST_TOTALS: Final = 1_000_000  # rows of market totals of a unit
_RECOVERY: Final = np.uint8(Flag.RECOVERY)
_CLEAN: Final = int(BookStatus.CLEAN)
_STATISTICS_ONCE: Final = np.uint8(STATISTICS_ONCE)


class SessionLoop(NamedTuple):
    """What `healing` asks of a loop, of one snapshot."""

    security_ids: Array
    places: Array
    rpt_seqs: Array
    alone: Array
    number: int = 0
    is_anchor: bool = False


class StreamSnapshot:
    """A snapshot in the stream, in the place of one of a loop."""

    def __init__(self, rows: Rows) -> None:
        self.place = int(rows[0]["at"])
        entries = rows[1:]
        booked = (entries["kind"] >= FIRST_ENTRY_KIND) & (entries["kind"] <= LAST_ENTRY_KIND)
        self._orders: Rows = entries[booked]
        self._facts: Rows = entries[~booked]
        one = np.array([int(rows[0]["security_id"])], np.int64)
        none = np.zeros(1, np.int64)
        self.loop = SessionLoop(one, np.array([self.place], np.int64), none, np.zeros(1, np.bool_))

    def orders(self, row: int) -> Rows:
        return self._orders

    def facts(self, row: int) -> Rows:
        return self._facts


class ToldTotal(NamedTuple):
    """A market total, and the message that told it."""

    at: int
    packet: int
    entry: int
    total: MarketTotal


class SessionSliceMachine(SliceMachine):
    """`windows` are the messages of the unit."""

    def __init__(self, slice_: Slice, windows: SessionWindows, reader: UnitReader) -> None:
        self._windows, self._retold = windows, dict[int, int]()
        self._told_faults = 0
        more = iter(windows)
        super().__init__(slice_, next(more), more=more, reader=reader)
        self._maker = RowMaker(self)
        self.totals: list[ToldTotal] = []

    # Between messages

    def _expect_losses(self) -> None:
        """What became of the session, before the messages that come next."""
        for fault in self._windows.faults:
            if fault.is_gap or fault.is_cut:
                self.push(fault.place, LOST, None)
            if self._told_faults >= MOST_FAULTS:
                self.findings.left_out += 1
                continue
            self._told_faults += 1
            finding = "SESSION_CUT" if fault.is_cut else "GAP" if fault.is_gap else "DAMAGED_INPUT"
            severity = "WARNING" if fault.is_cut else "ERROR"
            self.findings.rows.append({
                "place": max(fault.place, 1), "finding": finding, "severity": severity, "count": 1,
                "ts_event": fault.sent_ns, "stream": "INCREMENTAL", "detail": fault.detail,
                "first_seq_num": fault.place & NUMBER_MASK,
            })  # fmt: skip

    def fault_text(self, fault: RowFault) -> str:
        return f"{self._windows.where(fault.packet)}: {fault.fault.label}, entry {fault.index}"

    def _do(self, place: int, what: int, payload: Any) -> None:
        if what == LOST:
            self.known.forget(place)
            self.states.lost(place)
            self._retold.clear()
            return
        super()._do(place, what, payload)

    # Rows

    def _take(self, rows: Rows) -> None:
        apart = kept_apart(rows)
        if not apart.any():
            self._apply(rows)
            return
        edges = (np.flatnonzero(np.diff(apart)) + 1).tolist()
        for begin, end in pairwise([0, *edges, len(rows)]):
            if not apart[begin]:
                self._apply(rows[begin:end])
                continue
            for one in _by_packet(rows[begin:end]):
                self._do_until(int(one[0]["at"]))
                self.samples.until(int(one[0]["at"]))
                self._take_apart(one)

    def _take_apart(self, rows: Rows) -> None:
        kind = rows[0]["kind"]
        if kind == Kind.SNAPSHOT:
            self._load(rows)
        elif kind == Kind.OTHER:
            self._other(rows)
        else:
            self._history(rows)

    def _apply(self, rows: Rows) -> None:
        """Onto the books. Where one is being told again, a message at a time."""
        if not self._retold and not (rows["kind"] == Kind.EMPTY_BOOK).any():
            super()._take(rows)
            return
        for one in _by_packet(rows):
            self._end_retelling(int(self.merged.sent[one[0]["packet"]]))
            self._watch_retold(one)
            super()._take(one)
            for row in one[one["kind"] == Kind.EMPTY_BOOK]:
                self._retold[self.number(int(row["security_id"]))] = int(self.merged.sent[row["packet"]])
                behind = one[one["index"] > row["index"]]
                self._watch_retold(behind[behind["security_id"] == row["security_id"]])

    def _watch_retold(self, rows: Rows) -> None:
        """A book that is told again has been when an update comes that is no part of it."""
        normal = (rows["kind"] <= LAST_BOOK_KIND) & (rows["flags"] & _RECOVERY == 0)
        normal &= rows["kind"] != Kind.EMPTY_BOOK
        for security_id in np.unique(rows["security_id"][normal]).tolist():
            number = self.store.number(security_id)
            if number is not None and number in self._retold:
                self._told_again(number)

    def _end_retelling(self, now_ns: int) -> None:
        for number, since_ns in list(self._retold.items()):
            if now_ns - since_ns >= RETOLD_NS:
                self._told_again(number)

    def _told_again(self, number: int) -> None:
        del self._retold[number]
        if self.known.book[number] == BookStatus.UNVERIFIED:
            self.known.book[number] = BookStatus.CLEAN
            self.known.marks[number] &= ~np.uint8(Mark.REPLENISHING)

    # Snapshots

    def _load(self, rows: Rows) -> None:
        snapshot = StreamSnapshot(rows)
        number = self.number(int(rows[0]["security_id"]))
        self._retold.pop(number, None)
        facts = snapshot.facts(0)
        was_known = self.known.statistics[number] == _CLEAN
        self._tell_phases(facts, snapshot.place)
        self.known.once[number] |= _STATISTICS_ONCE  # `healing` is not to tell facts: this does
        self.healing.told(snapshot.place, snapshot, 0)  # type: ignore[arg-type]
        if not was_known:
            self._tell_facts(number, snapshot.place, facts)

    def _tell_phases(self, facts: Rows, place: int) -> None:
        """The phase of the instrument's group, as far as it is news."""
        told = facts[(facts["kind"] == Kind.STATE) & (facts["origin"] > 0)]
        for row in told:
            group = self.states.group_of(int(row["security_id"]))
            if group is None:
                continue
            phase = row.copy().reshape(1)
            phase["kind"], phase["type"], phase["id"] = Kind.PHASE, row["origin"], group
            phase["security_id"], phase["detail"], phase["inserted_ns"], phase["origin"] = NULL, 0, NULL, 0
            news = self.states.tell(phase, place)
            if len(news) and self.emits(place):
                self.buffers.append_by_kind(self._maker.of_facts(UNHEARD, place, news, 0, int(row["index"])))

    def _tell_facts(self, number: int, place: int, facts: Rows) -> None:
        if len(facts) and self.emits(place):
            self.buffers.append_by_kind(self._placed(number, place, facts))

    def _placed(self, number: int, place: int, facts: Rows) -> Rows:
        """Rows of the stream that no kernel has taken, with the entries that told them."""
        rows = self._maker.of_facts(number, place, facts, 0)
        rows["index"] = facts["index"]
        return rows

    # What is not of books

    def _history(self, rows: Rows) -> None:
        """Trades and values that are told again because somebody asked: they are the stream's own where it
        has missed them, which `trades_clean` finds out."""
        place = int(rows[0]["at"])
        if not self.emits(place):
            return
        lake = rows.copy().view(LAKE_ROW)
        numbers = self.numbers(rows["security_id"])
        lake["number"], lake["quality"] = numbers + 1, 0
        self.buffers.append_by_kind(lake.view(rows.dtype))

    def _other(self, rows: Rows) -> None:
        """Market totals; or an instrument whose book was told something that cannot be read."""
        for row in rows:
            at = int(row["at"])
            if row["security_id"] != NULL:
                self._suspect(int(row["security_id"]), at)
            elif self.emits(at) and len(self.totals) < MOST_TOTALS:
                tell = getattr(self._reader, "market_totals", None)
                told: list[MarketTotal] = [] if tell is None else tell(row)
                packet = int(row["packet"])
                self.totals += [ToldTotal(at, packet, index, each) for index, each in enumerate(told)]

    def _suspect(self, security_id: int, place: int) -> None:
        number = self.number(security_id)
        if self.known.book[number] != BookStatus.STALE:
            self.known.book[number] = BookStatus.STALE
            self.healing.went_stale(number, place)

    def on_special(self, rows: Rows, place: int) -> None:
        row: Any = rows[place]
        if row["kind"] == Kind.DEFINITION and row["action"] == DefinitionAction.ADD:
            number = self.number(int(row["security_id"]))
            if not self.known.once[number]:
                self.known.empty(np.array([number]), int(row["at"]))  # it begins with nothing
        super().on_special(rows, place)


def _by_packet(rows: Rows) -> Iterator[Rows]:
    edges = (np.flatnonzero(np.diff(rows["packet"])) + 1).tolist()
    return (rows[begin:end] for begin, end in pairwise([0, *edges, len(rows)]))
