"""Snapshots at their places: compared with clean books, loaded into the others.

After its snapshot a book is the exchange's, whatever it was before. What had to be changed is told as rows:
the orders of the snapshot, so that whoever follows the rows has the same book.
"""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.lake.plan.index import NUMBER_MASK, Array
from pregao.lake.plan.slicing import FROM_FIRST
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE, note_change
from pregao.lake.slices.kernels.snapshots import same_book
from pregao.lake.slices.known import LAKE_ROW, UNHEARD
from pregao.lake.slices.loops import ABSENT, PHASES, LoadedLoop
from pregao.lake.slices.made_rows import FROM_SNAPSHOT, RowMaker, make_empty
from pregao.lake.slices.stored import CarriedOver
from pregao.model.market import Side
from pregao.model.rows import ROW, Kind, Rows
from pregao.recovery.instruments import NO_REPORT, BookStatus, Mark

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

_CLEAN, _TOLD_AGAIN = int(BookStatus.CLEAN), int(Mark.AWAITED | Mark.REPLENISHING)
_BEGINS_AGAIN: Final = int(Mark.AWAITED | Mark.RESTART)  # its rptSeq may begin anew


class Healing:
    def __init__(self, machine: "SliceMachine") -> None:
        self._machine, self._known, self._store = machine, machine.known, machine.store
        self._findings, self._made = machine.findings, RowMaker(machine)
        self._stale: dict[int, tuple[int, int | None]] = {}  # by number: since which place, and when
        # First places after what is lost or not to be trusted, in order; and when that was.
        self._losses: list[int] = []
        self._lost_ns: dict[int, int | None] = {}
        self.carried = CarriedOver(machine, self._made)
        self.checkpoints: list[Rows] = []  # of loops
        self._phases_told = False

    # Loops

    def begin_with(self, loaded: LoadedLoop) -> None:
        """An anchor: nothing else is known."""
        loop = loaded.loop
        self._known.empty(np.array([UNHEARD]), loop.begun)
        numbers = np.ascontiguousarray(self._machine.numbers(loop.security_ids), np.int64)
        self._store.load_books(numbers, loaded.addresses, np.ascontiguousarray(loaded.counts, np.int64))
        gone = self._deleted(loop.begun, numbers)
        self._known.settle_all(numbers, loop.places, loop.rpt_seqs)
        self._known.last[gone] = NO_REPORT
        for row in np.flatnonzero(loop.rpt_seqs == 0).tolist():
            self._tell_no_report(int(numbers[row]), int(loop.places[row]))
        self._known.covered[UNHEARD] = 0
        self._machine.states.begin_with(loaded, numbers)
        self._store.settle()

    def follow(self, loaded: LoadedLoop) -> None:
        """Its snapshots, each at its place, and what it says by silence."""
        loop, machine = loaded.loop, self._machine
        machine.waiting.add(loaded, machine.numbers(loop.security_ids))
        if loop.is_anchor:
            machine.push(max(loop.begun, 0), ABSENT, loaded)
            machine.push(max(loop.begun, 0), PHASES, loaded)
        if machine.slice.depth:
            return  # books of price levels are not stored
        if loop.saved is not None:
            self._save(loaded, loop.saved)
        begun = max(loop.begun, 0)
        if loop.tells_others and machine.emits(begun) and machine.slice.is_first_shard:
            self.checkpoints.append(self._made.of_others(begun, 0, FROM_SNAPSHOT, loop.sent_ns))

    def _save(self, loaded: LoadedLoop, saved: Array) -> None:
        """The books of a loop that is stored: after its snapshot each is what the snapshot says."""
        loop, slice_ = loaded.loop, self._machine.slice
        mine = saved & loop.whole & (loop.places >= slice_.start) & (loop.places < slice_.stop)
        chosen = np.flatnonzero(mine)
        if not len(chosen):
            return
        numbers = self._machine.numbers(loop.security_ids[chosen])
        rows, which, entries = loaded.all_orders(chosen)
        self._made.place(
            rows, numbers[which], loop.places[chosen][which], loop.rpt_seqs[chosen][which], entries,
            loop.sent_ns,
        )  # fmt: skip
        self.checkpoints.append(rows)

    def absent(self, place: int, loaded: LoadedLoop) -> None:
        """Who is not in the list of an anchor has an empty book."""
        listed, known = self._machine.numbers(loaded.loop.security_ids), self._known
        gone = self._deleted(place, listed)
        others = known.instruments(np.setdiff1d(np.arange(known.count), listed))
        others = others[known.covered[others] <= place]
        for number in others.tolist():
            if number != UNHEARD and self._orders_of(number):
                if known.book[number] != _CLEAN:
                    if not known.marks[number] & _BEGINS_AGAIN:
                        self._missed(number, place)  # that its orders went
                elif not self._went_overnight(number):
                    self._mismatch(number, place, loaded.loop.number, "book", "absent from the loop")
                self._replace(number, place, np.zeros(0, ROW), 0)
            self.healed(number, place, "absent from a snapshot loop")
        known.empty(others, place)
        known.last[np.intersect1d(gone, others)] = NO_REPORT
        self._machine.states.absent(others)

    def _deleted(self, place: int, listed: Array) -> Array:
        """Numbers of those that were deleted by then and are not listed: rptSeq of whoever comes again goes
        on (7.4.1)."""
        slice_ = self._machine.slice
        ids = slice_.deleted.at(place)
        return np.setdiff1d(self._machine.numbers(ids[ids % slice_.shards == slice_.shard]), listed)

    def _went_overnight(self, number: int) -> bool:
        """It was there when the day before ended, and nothing of this day is of it."""
        slice_ = self._machine.slice
        return slice_.begins is not None and int(self._known.last_at[number]) <= slice_.warm

    def told(self, place: int, loaded: LoadedLoop, row: int) -> None:
        """One snapshot."""
        loop, known = loaded.loop, self._known
        number = self._machine.number(int(loop.security_ids[row]))
        if place < known.covered[number]:
            return
        alone = bool(loop.alone[row])
        if alone and known.marks[number] & _TOLD_AGAIN and not loop.is_anchor:
            return  # a book that is to be told again, or just is, is withheld, not empty
        orders, rpt_seq = loaded.orders(row), int(loop.rpt_seqs[row])
        same = bool(same_book(self._store.context, number, orders.ctypes.data, len(orders)))
        self._judge(number, place, loop.number, rpt_seq, same=same)
        if not same:
            self._replace(number, place, orders, rpt_seq)
        if not alone and not known.once[number] & STATISTICS_ONCE:
            self._tell_facts(number, place, loaded, row)
        if known.statistics[number] != _CLEAN and (not alone or loop.is_anchor):
            self._machine.states.told(number, loaded.facts(row))
        known.settle(number, place, rpt_seq, statistics=not alone or loop.is_anchor)
        if not rpt_seq:
            self._tell_no_report(number, place)

    def _tell_no_report(self, number: int, place: int) -> None:
        """A snapshot tells no rptSeq: of an instrument that was deleted it goes on all the same."""
        if self._machine.slice.deleted.has(self._store.security_id(number), place):
            self._known.last[number] = NO_REPORT

    def _tell_facts(self, number: int, place: int, loaded: LoadedLoop, row: int) -> None:
        """Statistics, bands and the state of an instrument of which nothing was known: no message will tell
        them again. With the first of them the phases of the groups."""
        machine, facts = self._machine, loaded.facts(row)
        if not machine.emits(place):
            return
        if not self._phases_told and machine.slice.start == FROM_FIRST:
            self._phases_told = True
            begun = max(loaded.loop.begun, 0)
            phases = machine.states.phases(loaded)
            machine.buffers.append_by_kind(self._made.of_facts(UNHEARD, begun, phases, 0))
        facts = facts[facts["kind"] != Kind.PHASE]
        rpt_seq = int(loaded.loop.rpt_seqs[row])
        machine.buffers.append_by_kind(self._made.of_facts(number, place, facts, rpt_seq))

    def _judge(self, number: int, place: int, loop: int, rpt_seq: int, *, same: bool) -> None:
        known, emits = self._known, self._machine.emits(place)
        if known.book[number] == _CLEAN:
            follows = int(known.last[number]) in (rpt_seq, NO_REPORT)
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

    def expect_losses(self, places: list[int]) -> None:
        """Of this window. What came right before it is known better now."""
        self._losses = sorted({*self._losses, *places})
        merged = self._machine.merged
        first = int(merged.place[0]) if len(merged) else 0
        for place in self._losses[bisect_left(self._losses, first) :]:
            self._lost_ns[place] = self._sent_at(place)

    def _sent_at(self, place: int) -> int | None:
        packet = self._machine.packet_at(place)
        return int(self._machine.merged.sent[packet]) if packet >= 0 else None

    def went_stale(self, number: int, place: int) -> None:
        if number not in self._stale:
            since_ns = self._lost_ns[place] if place in self._lost_ns else self._sent_at(place)
            self._stale[number] = place, since_ns
            self._machine.waiting.stale[number] = True

    def _missed(self, number: int, place: int) -> None:
        """What a snapshot tells shows that messages of an instrument were lost, though no other message of
        it came to show the hole: it was stale from the first loss after what it last told. That is no
        earlier than any slice which can tell it begins."""
        loss = bisect_right(self._losses, int(self._known.last_at[number]))
        self.went_stale(number, min([place, *self._losses[loss : loss + 1]]))

    def healed(self, number: int, place: int, how: str) -> None:
        since = self._stale.pop(number, None)
        if since is not None:
            self._machine.waiting.stale[number] = False
            self._span("HEAL", number, since, place, how)

    def leave(self) -> None:
        """The end of the unit: who is stale stays so."""
        merged = self._machine.merged
        if not len(merged):
            return
        last = int(merged.place[-1])
        for number, since in sorted(self._stale.items()):
            self._span("STALE_SPAN", number, since, last, "until the end")

    def _span(
        self, finding: str, number: int, stale: tuple[int, int | None], place: int, detail: str
    ) -> None:
        machine, (since, since_ns) = self._machine, stale
        machine.findings.add(
            place, machine, finding, severity="WARNING", security_id=self._store.security_id(number),
            first_seq_num=since & NUMBER_MASK, last_seq_num=place & NUMBER_MASK,
            ts_from=since_ns, count=1, detail=detail,
        )  # fmt: skip

    # Books

    def _orders_of(self, number: int) -> int:
        store = self._store
        return sum(
            len(store.level_array(each, side, 1)) for each in store.book_numbers(number) for side in Side
        )

    def _replace(self, number: int, place: int, orders: Rows, rpt_seq: int) -> None:
        machine = self._machine
        self._store.load_snapshot(number, orders, statistics=False)
        self.carried.forget(number)
        note_change(machine.samples.address, number)
        changed = self._made.settled(number)
        if not machine.emits(place):
            return
        rows = self._made.of_snapshot(number, place, orders, rpt_seq)
        machine.buffers_append(place, rows)
        self._made.add_quotes(changed, rows[0], FROM_SNAPSHOT)

    def emptied(self, number: int, row: Any) -> None:
        """A row that is not of one book has emptied it: told with that row, not with the event after it."""
        machine = self._machine
        self._store.clear(number)
        changed = self._made.settled(number)
        if not changed:
            return
        note_change(machine.samples.address, number)
        if machine.emits(int(row["at"])):
            self._made.add_quotes(changed, row, self._known.doubt(number))

    def deleted(self, number: int, row: Any) -> None:
        """An instrument with its book, if it has one: whoever follows the rows must have none either."""
        if self._orders_of(number):
            emptied = np.zeros(1, LAKE_ROW)
            for name in ("at", "index", "packet", "version", "flags", "time_ns"):
                emptied[name] = row[name]
            emptied["kind"], emptied["security_id"] = Kind.EMPTY_BOOK, self._store.security_id(number)
            emptied["number"], emptied["quality"] = number + 1, self._known.doubt(number)
            make_empty(emptied, np.ones(1, np.bool_))
            self._machine.buffers_append(int(row["at"]), emptied.view(ROW))
        self.emptied(number, row)
