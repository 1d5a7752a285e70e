"""Books that go from one day to the next: what a slice ends with, as rows, and what one begins with.

Only what differs from an instrument that nobody has heard of is stored, so that it does not matter how much
of the day the slice has seen; how far the others can be believed is the row without an instrument.
"""

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.views import SidePolicy
from pregao.lake.plan.fingerprints import CarriedBooks
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, Array
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, note_change
from pregao.lake.slices.known import LAKE_ROW, NO_INDEX, UNHEARD, KnownInstruments
from pregao.lake.slices.made_rows import FROM_SNAPSHOT, RowMaker, make_empty
from pregao.lake.tables.analytics import Quality
from pregao.model.market import Side
from pregao.model.rows import NULL, ROW, Flag, Kind, Rows
from pregao.recovery.instruments import NO_REPORT

if TYPE_CHECKING:
    from pregao.books.store import BookStore
    from pregao.lake.slices.machine import SliceMachine

NO_RPT_SEQ: Final = 0xFFFFFFFF  # of a row: no report of the instrument is known
_IN_DOUBT: Final = int(Quality.BOOK_UNKNOWN | Quality.AFTER_GAP)
_DIGESTED: Final = (
    "security_id", "quality", "rpt_seq", "side", "id", "price", "size", "inserted_ns", "firm", "position",
)  # fmt: skip


@dataclass(slots=True)
class StoredBook:
    security_id: int
    rpt_seq: int  # or NO_REPORT
    quality: int
    orders: Rows


@dataclass(slots=True)
class StoredBooks:
    """What a slice begins with. `others`: how far whoever is not here can be believed to have an empty
    book."""

    sent_ns: int
    others: int
    books: list[StoredBook] = field(default_factory=list)


class CarriedOver:
    """The books of the day before in a slice that begins with them, each as far as it could be believed."""

    def __init__(self, machine: "SliceMachine", made: RowMaker) -> None:
        self._machine, self._made = machine, made
        self._untold: dict[int, StoredBook] = {}  # those that no row has told yet
        self.checkpoints: list[Rows] = []  # of books that are empty

    def begin(self, stored: StoredBooks) -> None:
        machine, known = self._machine, self._machine.known
        place = machine.slice.warm
        if not stored.others & Quality.BOOK_UNKNOWN:
            known.begin(UNHEARD, place, 0, stored.others)
        for book in stored.books:
            if not machine.slice.has(book.security_id):
                continue
            number = machine.number(book.security_id)
            machine.store.load_snapshot(number, book.orders, statistics=False)
            known.begin(number, place, book.rpt_seq, book.quality)
            self._untold[number] = book

    def forget(self, number: int) -> None:
        """A loop has told something else of its place."""
        self._untold.pop(number, None)

    def tell(self, stored: StoredBooks) -> None:
        """As rows of this day what it has begun with, where no loop had anything else to tell of that place:
        whoever follows the rows of a day needs no other. A book without orders is stored as such, or nobody
        could tell an empty one from one of which nothing is known."""
        for number, book in self._untold.items():
            quality = self._machine.known.doubt(number) | FROM_SNAPSHOT
            place, rpt_seq = self._machine.slice.warm, max(book.rpt_seq, 0)
            rows = self._made.of_snapshot(number, place, book.orders, rpt_seq, stored.sent_ns)
            rows.view(LAKE_ROW)["quality"] = quality
            if len(book.orders):
                self._tell_orders(number, rows, quality)
            else:
                rows["rpt_seq"] = _told_rpt_seq(book.rpt_seq)
                self.checkpoints.append(rows)
        self._untold.clear()
        self._tell_others(stored)

    def _tell_orders(self, number: int, rows: Rows, quality: int) -> None:
        machine = self._machine
        note_change(machine.samples.address, number)
        changed = self._made.settled(number)
        machine.buffers_append(machine.slice.warm, rows)
        self._made.add_quotes(changed, rows[0], quality)

    def _tell_others(self, stored: StoredBooks) -> None:
        machine = self._machine
        doubt = machine.known.doubt(UNHEARD)
        if machine.slice.is_first_shard and not doubt & Quality.BOOK_UNKNOWN:
            rpt_seq = _told_rpt_seq(int(machine.known.last[UNHEARD]))
            others = self._made.of_others(machine.slice.warm, rpt_seq, doubt | FROM_SNAPSHOT, stored.sent_ns)
            self.checkpoints.append(others)


def _told_rpt_seq(last: int) -> int:
    return NO_RPT_SEQ if last == NO_REPORT else last


@dataclass(slots=True)
class UnitEnding:
    """What the last slice of a unit ends with."""

    rows: Rows
    carried: CarriedBooks


def ending_of(machine: "SliceMachine") -> UnitEnding | None:
    merged = machine.merged
    if not len(merged):
        return None
    place, sent_ns = int(merged.place[-1]), int(merged.sent[-1])
    rows = _books(machine.store, machine.known)
    if not machine.slice.is_first_shard:
        rows = rows[1:]  # the one of all others
    lake = rows.view(LAKE_ROW)
    lake["kind"], lake["at"], lake["index"] = Kind.SNAPSHOT_ORDER, place, NO_INDEX
    lake["packet"], lake["time_ns"] = len(merged) - 1, sent_ns
    version, number = machine.slice.versions[place >> NUMBER_BITS], place & NUMBER_MASK
    key = machine.slice.key
    digest = _digest(rows, (version, number, sent_ns))
    good = (lake["quality"] & _IN_DOUBT == 0) & (lake["rpt_seq"] != NO_RPT_SEQ)
    reports = int(lake["rpt_seq"][good].max(initial=0))
    return UnitEnding(
        rows, CarriedBooks(key, version, number, sent_ns, reports, digest, machine.slice.system)
    )


def _books(store: "BookStore", known: KnownInstruments) -> Rows:
    """By id, what is known of all others first. One without orders has a row that tells none; an instrument's
    books follow each other, by stream."""
    doubts, last = known.doubts(), known.used["last"]
    is_as_unheard = (doubts == doubts[UNHEARD]) & (last == last[UNHEARD])
    to_tell = known.used["spare"] & BOOK_ONCE != 0  # of the others there is nothing to begin with
    chosen, slots = [UNHEARD], [np.zeros(0, t.SLOT), np.zeros(0, t.SLOT)]
    by_id = known.instruments(np.argsort(store.numbering.security_ids[1 : known.count], kind="stable") + 1)
    for number in by_id[to_tell[by_id]].tolist():
        told = _sides_of(store, number)
        if not told and not is_as_unheard[number]:
            told = [(number, slots[:2])]
        for book, sides in told:
            chosen.append(book)
            slots += sides
    numbers, counts = np.array(chosen), np.array([len(each) for each in slots]).reshape(-1, len(Side))
    lengths = np.maximum(counts.sum(axis=1), 1)
    which = np.repeat(np.arange(len(numbers)), lengths)
    rows = np.zeros(len(which), ROW)
    has_order = np.repeat(counts.any(axis=1), lengths)
    rows[has_order] = _orders(store, numbers, slots, counts)
    make_empty(rows, ~has_order)
    streams = np.array([store.book_stream(number) for number in chosen], np.uint8)
    rows["stream"] = np.where(has_order, streams[which], 0)
    firsts = np.array([store.numbering.first_of(number) for number in chosen])
    lake, of = rows.view(LAKE_ROW), firsts[which]
    ids = np.array([NULL, *store.numbering.security_ids[1:]])
    lake["security_id"], lake["number"] = ids[of], np.where(of == UNHEARD, 0, of + 1)
    lake["rpt_seq"] = np.where(last == NO_REPORT, NO_RPT_SEQ, last)[of]
    lake["quality"] = doubts[of]
    begins = np.flatnonzero(np.r_[True, np.diff(of) != 0])
    lake["low"] = np.arange(len(of)) - np.repeat(begins, np.diff(np.r_[begins, len(of)]))
    return rows


def _sides_of(store: "BookStore", number: int) -> list[tuple[int, list[Array]]]:
    """Orders of the books of an instrument that have some, by stream."""
    books = sorted(store.book_numbers(number), key=store.book_stream)
    told = [(book, [store.order_array(book, side) for side in Side]) for book in books]
    return [(book, sides) for book, sides in told if any(map(len, sides))]


def _orders(store: "BookStore", numbers: Array, slots: list[Array], counts: Array) -> Rows:
    """Of both sides of all these books, one side after the other."""
    sides, each = counts.ravel(), np.concatenate(slots)
    policies = [store.policy(number, side) for number in numbers.tolist() for side in Side]
    positions_told = (SidePolicy.BY_POSITION, SidePolicy.BY_RATE)
    by_position = np.repeat([policy in positions_told for policy in policies], sides)
    in_rates = np.repeat([policy is SidePolicy.BY_RATE for policy in policies], sides)
    rows = np.zeros(len(each), ROW)
    for name in ("id", "price", "size", "inserted_ns", "firm"):
        rows[name] = each[name]
    for name in ("other", "fine", "high"):
        rows[name] = NULL
    rows["side"] = np.repeat(np.tile([int(side) for side in Side], len(numbers)), sides)
    positions = np.arange(len(each)) - np.repeat(np.cumsum(sides) - sides, sides) + 1
    rows["position"] = np.where(by_position, positions, 0)
    implied = np.where(each["flags"] & t.SLOT_IMPLIED, int(Flag.IMPLIED), 0)
    rows["flags"] = implied | np.where(by_position, int(Flag.BY_POSITION), 0)
    rows["flags"] |= np.where(in_rates, int(Flag.IN_RATES), 0).astype(np.uint8)
    return rows


def _digest(rows: Rows, place: tuple[int, int, int]) -> str:
    running, lake = hashlib.sha256(repr(place).encode()), rows.view(LAKE_ROW)
    for name in _DIGESTED:
        running.update(np.ascontiguousarray(lake[name]).tobytes())
    if lake["stream"].any():  # systems with one stream have the digests that they always had
        running.update(np.ascontiguousarray(lake["stream"]).tobytes())
    running.update((lake["flags"] & Flag.IMPLIED).tobytes())  # the position says what orders the side
    return running.hexdigest()[:32]
