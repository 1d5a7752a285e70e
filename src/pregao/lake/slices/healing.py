"""Snapshots at their places: compared with clean books, loaded into the others.

After its snapshot a book is the exchange's, whatever it was before. What had to be changed is told as rows:
the orders of the snapshot, so that whoever follows the rows has the same book.
"""

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.lake.plan.index import Array
from pregao.lake.slices.books.kernels import QUOTE_QUALITY, settle_one
from pregao.lake.slices.known import UNHEARD
from pregao.lake.slices.loops import LoadedLoop
from pregao.lake.slices.rows import LAKE_ROW, NO_INDEX, NO_PACKET
from pregao.lake.slices.sampling.kernels import BOOK_ONCE, note_change
from pregao.lake.slices.snapshots.kernels import same_book
from pregao.lake.tables.quality import Quality
from pregao.model.market import Side
from pregao.model.rows import NULL, ROW, Kind, Rows
from pregao.sessions.instruments import Known, Mark

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

ABSENT = 4  # as `machine` has it
_CLEAN, _AWAITED = int(Known.CLEAN), int(Mark.AWAITED)
_BEGINS_AGAIN: Final = int(Mark.AWAITED | Mark.RESTART)  # its rptSeq may begin anew
_FROM_SNAPSHOT: Final = int(Quality.FROM_SNAPSHOT)


class Healing:
    def __init__(self, machine: "SliceMachine") -> None:
        self._machine, self._known, self._store = machine, machine.known, machine.store
        self._findings = machine.findings
        self._stale: dict[int, int] = {}  # since which place, by number
        self.losses: list[int] = []  # first places after what is lost or not to be trusted, in order
        self.checkpoints: list[Rows] = []

    # Loops

    def begin_with(self, loaded: LoadedLoop) -> None:
        """An anchor: nothing else is known."""
        loop = loaded.loop
        self._known.empty(np.array([UNHEARD]), loop.begun)
        listed = zip(loop.security_ids.tolist(), loop.places.tolist(), loop.rpt_seqs.tolist(), strict=True)
        for row, (security_id, place, rpt_seq) in enumerate(listed):
            number = self._machine.number(security_id)
            self._store.load_snapshot(number, loaded.orders(row), statistics=False)
            self._known.settle(number, place, rpt_seq, statistics=True)
        self._known.covered[UNHEARD] = 0
        self._store.settle()

    def follow(self, loaded: LoadedLoop) -> None:
        """Its snapshots, each at its place, and what it says by silence."""
        loop, machine = loaded.loop, self._machine
        machine.waiting.add(
            loaded, np.array([machine.number(each) for each in loop.security_ids.tolist()], np.int64)
        )
        if loop.is_anchor:
            machine.push(max(loop.begun, 0), ABSENT, loaded)
        if loop.saved is not None:
            self._save(loaded, loop.saved)

    def _save(self, loaded: LoadedLoop, saved: Array) -> None:
        """The books of a loop that is stored: after its snapshot each is what the snapshot says."""
        loop, slice_ = loaded.loop, self._machine.slice
        mine = saved & loop.whole & (loop.places >= slice_.start) & (loop.places < slice_.stop)
        chosen = np.flatnonzero(mine)
        if not len(chosen):
            return
        numbers = np.array([self._machine.number(each) for each in loop.security_ids[chosen].tolist()])
        parts = [loaded.orders(row) for row in chosen.tolist()]
        counts = np.array([len(part) for part in parts])
        rows = np.zeros(int(np.maximum(counts, 1).sum()), ROW)
        starts = np.cumsum(np.maximum(counts, 1)) - np.maximum(counts, 1)
        filled = np.zeros(len(rows), np.bool_)
        for start, part in zip(starts.tolist(), parts, strict=True):
            rows[start : start + len(part)] = part
            filled[start : start + len(part)] = True
        _make_empty(rows, ~filled)
        which = np.repeat(np.arange(len(chosen)), np.maximum(counts, 1))
        entries = np.arange(len(rows)) - starts[which]
        self._place(
            rows, numbers[which], loop.places[chosen][which], loop.rpt_seqs[chosen][which], entries,
            loop.sent_ns,
        )  # fmt: skip
        self.checkpoints.append(rows)

    def absent(self, place: int, loaded: LoadedLoop) -> None:
        """Who is not in the list of an anchor has an empty book."""
        listed = {self._machine.number(security_id) for security_id in loaded.loop.security_ids.tolist()}
        known = self._known
        others = np.array([number for number in range(known.count) if number not in listed], np.int64)
        others = others[known.covered[others] <= place]
        for number in others.tolist():
            if number != UNHEARD and self._orders_of(number):
                if known.book[number] == _CLEAN:
                    self._mismatch(number, place, loaded.loop.number, "book", "absent from the loop")
                elif not known.marks[number] & _BEGINS_AGAIN:
                    self._missed(number, place)  # that its orders went
                self._replace(number, place, np.zeros(0, ROW), 0)
            self.healed(number, place, "absent from a snapshot loop")
        known.empty(others, place)

    def told(self, place: int, loaded: LoadedLoop, row: int) -> None:
        """One snapshot."""
        loop, known = loaded.loop, self._known
        number = self._machine.number(int(loop.security_ids[row]))
        if place < known.covered[number]:
            return
        alone = bool(loop.alone[row])
        if alone and known.marks[number] & _AWAITED and not loop.is_anchor:
            return  # a book that is to be told again is withheld, not empty
        orders, rpt_seq = loaded.orders(row), int(loop.rpt_seqs[row])
        same = bool(same_book(self._store.context, number, orders.ctypes.data, len(orders)))
        self._judge(number, place, loop.number, rpt_seq, same=same)
        if not same:
            self._replace(number, place, orders, rpt_seq)
        known.settle(number, place, rpt_seq, statistics=not alone or loop.is_anchor)

    def _judge(self, number: int, place: int, loop: int, rpt_seq: int, *, same: bool) -> None:
        known, emits = self._known, self._machine.emits(place)
        if known.book[number] == _CLEAN:
            follows = int(known.last[number]) == rpt_seq
            if same and follows:
                if emits:
                    self._findings.count(loop, "matches")
            elif known.once[number] & BOOK_ONCE:
                found = "other orders" if not same else f"rptSeq {int(known.last[number])}"
                self._mismatch(number, place, loop, f"rptSeq {rpt_seq}", found)
        else:
            if 0 <= known.last[number] != rpt_seq and not known.marks[number] & _BEGINS_AGAIN:
                self._missed(number, place)
            if emits:
                known_once = known.once[number] & BOOK_ONCE
                what = "unknown" if not known_once else "equal" if same else "healed"
                self._findings.count(loop, what)
        self.healed(number, place, "snapshot")

    def _mismatch(self, number: int, place: int, loop: int, expected: str, found: str) -> None:
        if self._machine.emits(place):
            self._findings.count(loop, "differences")
        self._findings.add(
            place, self._machine, "SNAPSHOT_MISMATCH", severity="ERROR", stream="SNAPSHOT",
            security_id=self._store.security_id(number), count=1, expected=expected, found=found,
            detail=f"loop {loop}",
        )  # fmt: skip

    # What became of instruments

    def went_stale(self, number: int, place: int) -> None:
        self._stale.setdefault(number, place)

    def _missed(self, number: int, place: int) -> None:
        """What a snapshot tells shows that messages of an instrument were lost, though no other message of
        it came to show the hole: it was stale from the first loss after what it last told. That is no
        earlier than any slice which can tell it begins."""
        loss = bisect_right(self.losses, int(self._known.last_at[number]))
        self.went_stale(number, min([place, *self.losses[loss : loss + 1]]))

    def healed(self, number: int, place: int, how: str) -> None:
        since = self._stale.pop(number, None)
        if since is not None:
            self._span("HEAL", number, since, place, how)

    def leave(self) -> None:
        """The end of the unit: who is stale stays so."""
        merged = self._machine.merged
        if not len(merged):
            return
        last = int(merged.place[-1])
        for number, since in sorted(self._stale.items()):
            self._span("STALE_SPAN", number, since, last, "until the end")

    def _span(self, finding: str, number: int, since: int, place: int, detail: str) -> None:
        machine = self._machine
        packet = machine.packet_at(since)
        machine.findings.add(
            place, machine, finding, severity="WARNING", security_id=self._store.security_id(number),
            first_seq_num=since & 0xFFFFFFFF, last_seq_num=place & 0xFFFFFFFF,
            ts_from=int(machine.merged.sent[packet]) if packet >= 0 else None, count=1, detail=detail,
        )  # fmt: skip

    # Books

    def _orders_of(self, number: int) -> int:
        return sum(len(self._store.level_array(number, side, 1)) for side in Side)

    def _replace(self, number: int, place: int, orders: Rows, rpt_seq: int) -> None:
        machine = self._machine
        self._store.load_snapshot(number, orders, statistics=False)
        note_change(machine.samples.address, number)
        changed = settle_one(self._store.context, number)
        if not machine.emits(place):
            return
        rows = self._rows(number, place, orders, rpt_seq)
        machine.buffers_append(place, rows)
        if changed:
            machine.quotes.append(self._quote(number, rows[0], changed, _FROM_SNAPSHOT))

    def emptied(self, number: int, row: Any) -> None:
        """A row that is not of one book has emptied it: told with that row, not with the event after it."""
        machine = self._machine
        self._store.clear(number)
        changed = settle_one(self._store.context, number)
        if not changed:
            return
        note_change(machine.samples.address, number)
        if machine.emits(int(row["at"])):
            machine.quotes.append(self._quote(number, row, changed, self._known.doubt(number)))

    def deleted(self, number: int, row: Any) -> None:
        """An instrument with its book, if it has one: whoever follows the rows must have none either."""
        if self._orders_of(number):
            emptied = np.zeros(1, LAKE_ROW)
            for name in ("at", "index", "packet", "version", "flags", "time_ns"):
                emptied[name] = row[name]
            emptied["kind"], emptied["security_id"] = Kind.EMPTY_BOOK, self._store.security_id(number)
            emptied["number"], emptied["quality"] = number + 1, self._known.doubt(number)
            _make_empty(emptied, np.ones(1, np.bool_))
            self._machine.buffers_append(int(row["at"]), emptied.view(ROW))
        self.emptied(number, row)

    def _rows(self, number: int, place: int, orders: Rows, rpt_seq: int) -> Rows:
        """Orders of a snapshot as rows of the stream; one without an order for an empty book."""
        rows = orders.copy() if len(orders) else np.zeros(1, ROW)
        if not len(orders):
            _make_empty(rows, np.ones(1, np.bool_))
        count = len(rows)
        self._place(
            rows, np.full(count, number), np.full(count, place), np.full(count, rpt_seq), np.arange(count), 0
        )
        return rows

    def _place(
        self, rows: Rows, numbers: Array, places: Array, rpt_seqs: Array, entries: Array, sent_ns: int
    ) -> None:
        """Where rows of snapshots stand: behind the packet of their place."""
        merged, ids = self._machine.merged, self._store
        packets = np.searchsorted(merged.place, places, side="right") - 1
        lake = rows.view(LAKE_ROW)
        different, which = np.unique(numbers, return_inverse=True)
        lake["security_id"] = np.array([ids.security_id(int(number)) for number in different])[which]
        lake["kind"], lake["number"], lake["at"] = Kind.SNAPSHOT_ORDER, numbers + 1, places
        lake["rpt_seq"], lake["index"], lake["low"] = rpt_seqs, NO_INDEX, entries
        lake["packet"], lake["quality"] = np.where(packets < 0, NO_PACKET, packets), _FROM_SNAPSHOT
        sent = merged.sent[np.maximum(packets, 0)] if len(merged) else np.zeros(len(rows), np.int64)
        lake["time_ns"] = np.where(packets < 0, sent_ns or NULL, sent)

    def _quote(self, number: int, row: Any, changed: int, quality: int) -> Array:
        quote = np.zeros(1, t.QUOTE)
        quote["security_id"] = self._store.security_id(number)
        for name in ("at", "time_ns", "packet", "rpt_seq", "index"):
            quote[name] = row[name]
        quote["instrument"], quote["sides"] = number, changed | quality << QUOTE_QUALITY
        start = number * t.TOP_SIZE
        words = self._store._memory.tops[start : start + 2 * t.TOP_SIDE].view(np.int64)
        for name, value in zip(_TOP, words.tolist(), strict=True):
            quote[name] = value
        return quote


_TOP: Final = ("bid_price", "bid_size", "bid_orders", "offer_price", "offer_size", "offer_orders")


def _make_empty(rows: Rows, which: Array) -> None:
    """Rows that tell no order: null, not 0."""
    for name in ("id", "price", "size", "other", "inserted_ns", "fine", "high"):
        rows[name][which] = NULL
