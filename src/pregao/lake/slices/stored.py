"""Books that go from one day to the next: what a slice ends with, as rows, and what one begins with.

Only what differs from an instrument that nobody has heard of is stored, so that it does not matter how much
of the day the slice has seen; how far the others can be believed is the row without an instrument.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.views import SidePolicy
from pregao.lake.plan.fingerprints import CarriedBooks
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, Array
from pregao.lake.slices.kernels.books import settle_one
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, note_change
from pregao.lake.slices.known import UNHEARD, KnownInstruments
from pregao.lake.slices.made_rows import FROM_SNAPSHOT, RowMaker, make_empty
from pregao.lake.slices.rows import LAKE_ROW, NO_INDEX, joined
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
        changed = settle_one(machine.store.context, number)
        machine.buffers_append(machine.slice.warm, rows)
        if changed:
            machine.add_quote(self._made.quote(number, rows[0], changed, quality))

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
    rows = joined(_books(machine.store, machine.known))
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


def _books(store: "BookStore", known: KnownInstruments) -> Iterator[Rows]:
    numbers = sorted(range(1, known.count), key=store.security_id)
    yield _book(np.zeros(0, ROW), UNHEARD, NULL, known)
    for number in numbers:
        if not known.once[number] & BOOK_ONCE:
            continue  # nothing to begin with
        found = joined(_orders(store, number, side) for side in Side)
        if len(found) or not known.is_as_unheard(number):
            yield _book(found, number, store.security_id(number), known)


def _book(orders: Rows, number: int, security_id: int, known: KnownInstruments) -> Rows:
    """Rows of one; without orders, one that tells none."""
    rows = orders if len(orders) else np.zeros(1, ROW)
    if not len(orders):
        make_empty(rows, np.ones(1, np.bool_))
    lake = rows.view(LAKE_ROW)
    lake["security_id"], lake["number"] = security_id, 0 if number == UNHEARD else number + 1
    lake["rpt_seq"] = _told_rpt_seq(int(known.last[number]))
    lake["quality"], lake["low"] = known.doubts(number), np.arange(len(rows))
    return rows


def _orders(store: "BookStore", number: int, side: Side) -> Rows:
    slots: Array = store.order_array(number, side)
    by_position = store.policy(number, side) is SidePolicy.BY_POSITION
    rows = np.zeros(len(slots), ROW)
    for name in ("id", "price", "size", "inserted_ns", "firm"):
        rows[name] = slots[name]
    for name in ("other", "fine", "high"):
        rows[name] = NULL
    rows["side"] = side
    rows["position"] = np.arange(1, len(slots) + 1) if by_position else 0
    implied = np.where(slots["flags"] & t.SLOT_IMPLIED, int(Flag.IMPLIED), 0)
    rows["flags"] = implied | (int(Flag.BY_POSITION) if by_position else 0)
    return rows


def _digest(rows: Rows, place: tuple[int, int, int]) -> str:
    running, lake = hashlib.sha256(repr(place).encode()), rows.view(LAKE_ROW)
    for name in _DIGESTED:
        running.update(np.ascontiguousarray(lake[name]).tobytes())
    running.update((lake["flags"] & Flag.IMPLIED).tobytes())  # the position says what orders the side
    return running.hexdigest()[:32]
