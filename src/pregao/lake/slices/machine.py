"""A slice from its packets to rows by table, quotes, samples, checkpoints and findings.

The stream is rows in the order of their places; between them things happen that are no rows: packets are
lost, a sequence begins, a second ends, a snapshot tells what a book is at its place. They wait in a heap,
and the kernel stops at each.

What comes out comes in stretches: where loops are rare a slice has more rows than memory should hold.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.feeds.port import RowFault, UnitReader
from pregao.feeds.registry import load_tabled_system
from pregao.handler.core import RowCore
from pregao.handler.kernels.core import SUSPECTED
from pregao.lake.plan.captures import channel_reader
from pregao.lake.plan.index import NUMBER_BITS, Array
from pregao.lake.plan.slicing import FROM_FIRST, Slice
from pregao.lake.slices.buffers import EXECUTIONS, ORDERS, RowBuffers, SliceFindings, Stretch
from pregao.lake.slices.crossed import CrossedBooks
from pregao.lake.slices.feeds import Merged, gaps_of
from pregao.lake.slices.healing import Healing
from pregao.lake.slices.kernels.books import CONTEXT_FIELDS, EVENT, SAMPLES_FULL, take_rows
from pregao.lake.slices.kernels.merging import CONFLICT
from pregao.lake.slices.known import LAKE_ROW, MOST_INSTRUMENTS, UNHEARD, KnownInstruments
from pregao.lake.slices.loops import (
    BEGUN,
    CONFLICTING,
    LOAD,
    LOST,
    NEVER,
    PHASES,
    STARTS,
    LoadedLoop,
    WaitingSnapshots,
)
from pregao.lake.slices.made_rows import Samples
from pregao.lake.slices.states import TradingStates
from pregao.lake.slices.stored import StoredBooks, UnitEnding, ending_of
from pregao.lake.tables.analytics import Quality
from pregao.model.market import DefinitionAction
from pregao.model.rows import NULL, Kind, Rows
from pregao.model.streams import Stream
from pregao.recovery.instruments import Decision

_BYTES_OF_AN_ORDER: Final = 40  # or more, in systems of bytes; where they are fewer, buffers grow
_NOBODY: Final = -1  # security id of number 0
_WENT_STALE: Final = int(Decision.WENT_STALE) | SUSPECTED


class SliceMachine:
    """`stored` are the books that the slice begins with, if it begins with those of the day before. `merged`
    are its packets; if it is long, `more` are those of its other windows. At the end of a window there are
    `first_rows` of its packets; when all is done also findings and, of the last slice of a unit, `ending`."""

    def __init__(
        self, slice_: Slice, merged: Merged, stored: StoredBooks | None = None, *,
        more: Iterable[Merged] = (), reader: UnitReader | None = None,
    ) -> None:  # fmt: skip
        self.slice, self.merged, self._stored, self._more = slice_, merged, stored, more
        self._reader = reader or channel_reader(
            "packets", slice_.system, slice_.channel, Stream.INCREMENTAL, slice_.learned
        )
        self.store = BookStore(max_instruments=MOST_INSTRUMENTS, depth=slice_.depth)
        policy = load_tabled_system(slice_.system).policy
        self.known = KnownInstruments(policy.reports_in_a_unit)
        orders = int(merged.length.sum()) // _BYTES_OF_AN_ORDER
        self.buffers = RowBuffers(orders, with_orders=not slice_.depth)
        self.findings = SliceFindings()
        assert self.store.add_instrument(_NOBODY) == UNHEARD
        self.store.numbering.follow(self._add)
        self.store.want_quotes()
        self.states, self.crossed = TradingStates(self), CrossedBooks(self)
        self.first_rows = np.full((len(merged), 2), NULL, np.int64)
        self.ending: UnitEnding | None = None
        self.samples = Samples(slice_, merged, self.store, self.known)
        self.waiting = WaitingSnapshots(
            self.store.context, self.known.sync, self.findings, (slice_.start, slice_.stop)
        )
        self._core = RowCore(take_rows, CONTEXT_FIELDS, self.store, self.known.sync, self)
        self.context = self._core.context
        self.context.set(
            emit_from=slice_.start, emit_to=slice_.stop, table_of_kind=self.buffers.table_of_kind,
            buffers=self.buffers.table, sampling=self.samples.address, told=self.waiting.address,
            first_rows=self.first_rows, shard=slice_.shard, shards=slice_.shards,
            transacts_from=policy.transacts_from, states=self.states.address,
        )  # fmt: skip
        self.quotes: list[Array] = []
        self._heap: list[tuple[int, int, int, Any]] = []
        self._pushed = 0
        self.healing = Healing(self)

    # The whole slice

    def stretches(self, most_orders: int = NEVER) -> Iterator[Stretch]:
        """At least one. A stretch ends between two events once it has so many rows of orders."""
        self._prepare()
        yield from self._stretches_of_window(most_orders)
        for following in self._more:
            going_on = self.buffers.take_last(EXECUTIONS) if self.context["execution"] else None
            yield self._stretch(ends_window=True)
            self._begin_stretch()
            self._begin_window(following, going_on)
            yield from self._stretches_of_window(most_orders)
        merged = self.merged
        if len(merged):
            self._do_until(int(merged.place[-1]) + 1)
            self.samples.until(int(merged.place[-1]) + 1)
            self.samples.end(merged)
        self.waiting.finish()
        self.crossed.leave()
        if self.slice.is_last:
            self.healing.leave()
            self.ending = None if self.slice.depth else ending_of(self)
        yield self._stretch(ends_window=True)

    def _stretches_of_window(self, most_orders: int) -> Iterator[Stretch]:
        """All but the last."""
        merged, carried = self.merged, self.merged.carried
        reading = self._reader.read(
            0, merged.address[carried:], merged.length[carried:].astype(np.uint32), merged.place[carried:],
            merged.version[carried:], len(merged) - carried,
        )  # fmt: skip
        while True:
            if carried:
                reading.rows["packet"] += np.uint32(carried)
            self._take(reading.rows)
            for fault in reading.faults:
                place = int(merged.place[carried + fault.packet])
                tell = self.findings.damaged if fault.lost else self.findings.unknown
                tell(place, self.fault_text(fault), fault.index, self)
            if reading.whole:
                break
            if self.buffers.count(ORDERS) >= most_orders and not self.context["execution"]:
                yield self._stretch()
                self._begin_stretch()
            reading = self._reader.go_on()

    def fault_text(self, fault: RowFault) -> str:
        """What is wrong with a unit of this window, for people."""
        name = fault.fault.name.lower()
        return f"{name}: {fault.detail}" if fault.detail else name

    def _begin_window(self, following: Merged, going_on: Rows | None) -> None:
        """The next packets, behind those that are still spoken of: the last, and that of the execution which
        is `going_on`."""
        before, first = self.merged, max(len(self.merged) - 1, 0)
        if going_on is not None:
            first = int(going_on["packet"][0])
            going_on["packet"] = 0
            self.buffers.append(EXECUTIONS, going_on)
            self.context.set(execution=self.buffers.address(EXECUTIONS))
        self.merged = following.after(before, first)
        first_rows = np.full((len(self.merged), 2), NULL, np.int64)
        first_rows[: self.merged.carried] = self.first_rows[first:]
        self.first_rows = first_rows
        self.context.set(first_rows=first_rows)
        self.samples.begin(self.merged)
        self._expect_losses()
        self._do_until(FROM_FIRST)  # kernels know when the first of them is due then

    def _stretch(self, *, ends_window: bool = False) -> Stretch:
        if ends_window:
            self._keep_quotes(self.crossed.held())
        quotes = np.concatenate(self.quotes) if self.quotes else np.zeros(0, t.QUOTE)
        checkpoints = {"SNAPSHOT": self.healing.checkpoints, "CARRIED": self.healing.carried.checkpoints}
        return Stretch(self.buffers, quotes, self.samples.taken(), checkpoints, ends_window)

    def _begin_stretch(self) -> None:
        self.buffers.clear()
        self.samples.clear()
        self.quotes.clear()
        self.healing.checkpoints.clear()
        self.healing.carried.checkpoints.clear()

    def emits(self, place: int) -> bool:
        return self.slice.start <= place < self.slice.stop

    def packet_at(self, place: int) -> int:
        """The packet of that place, or the last before it; -1: none."""
        return int(np.searchsorted(self.merged.place, place, side="right")) - 1

    # What is to happen

    def _prepare(self) -> None:
        slice_ = self.slice
        self._expect_losses()
        for appearance in range(1, len(slice_.versions)):
            begins = appearance << NUMBER_BITS
            if begins > slice_.warm:
                self.push(begins, BEGUN, None)
        for part in slice_.loops:
            self.push(max(part.loop.first, 0), LOAD, part)
        if slice_.start != FROM_FIRST:
            self.push(slice_.start - 1, STARTS, None)
        if slice_.anchor is not None:
            self.healing.begin_with(LoadedLoop(slice_.anchor))
        if self._stored is not None:
            self.findings.seam(self)
            self.healing.carried.begin(self._stored)
            self._do_until(slice_.warm + 1)  # loops that tell of the same place
            self.healing.carried.tell(self._stored)
        self._do_until(FROM_FIRST)

    def _expect_losses(self) -> None:
        """Of the packets of a window."""
        merged, loops = self.merged, self.slice.loops
        told = np.unique(np.concatenate([np.zeros(0, np.int64), *(part.loop.places for part in loops)]))
        gaps = gaps_of(merged, self.slice.warm)
        for place, packets in gaps:
            self._lose(place, packets, told)
        new = slice(merged.carried, None)
        conflicts = merged.place[new][merged.state_a[new] & CONFLICT != 0].tolist()
        for place in conflicts:
            self.push(place, CONFLICTING, None)
        self.healing.expect_losses([place + 1 for place in (*(last for last, _ in gaps), *conflicts)])

    def _lose(self, last: int, packets: int, told: Array) -> None:
        """Packets are lost up to a place. What a snapshot tells in the middle of them is as of there."""
        first, end = np.searchsorted(told, [last - packets + 1, last])
        done = last - packets
        for place in (*told[first:end].tolist(), last):
            self.push(place, LOST, place - done)
            done = place

    def push(self, place: int, what: int, payload: Any) -> None:
        self._pushed += 1
        heapq.heappush(self._heap, (place, what, self._pushed, payload))

    def _do_until(self, place: int) -> None:
        """All that happens before what stands at a place."""
        heap, waiting = self._heap, self.waiting
        while not waiting.until(place, heap[0][0] if heap else NEVER):
            if heap and heap[0][0] <= waiting.next_place:
                happens, what, _, payload = heapq.heappop(heap)
                self.samples.until(happens)
                self._do(happens, what, payload)
            else:
                happens = waiting.next_place
                self.samples.until(happens)
                self.healing.told(happens, *waiting.look())

    def _do(self, place: int, what: int, payload: Any) -> None:
        if what in (LOST, CONFLICTING):
            self.known.lose(place, payload)
            self.states.lost(place)
            if what == CONFLICTING:
                self.findings.conflict(place, self)
        elif what == BEGUN:
            self.known.unsettle(place)
        elif what == LOAD:
            self.healing.follow(LoadedLoop(payload))
        elif what == PHASES:
            self.states.fill(payload, place)
        elif what == STARTS:
            self._take_quotes()
            self.crossed.begin()
        else:
            self.healing.absent(place, payload)

    # Rows

    def _take(self, rows: Rows) -> None:
        self._core.apply(rows)
        self._take_quotes()

    def on_unknown(self, security_id: int) -> None:
        self.number(security_id)

    def on_stop(self, code: int, rows: Rows, first: int) -> None:
        if code == EVENT:
            self._do_until(int(rows["at"][first]))
        elif code == SAMPLES_FULL:
            self.samples.until(int(rows["at"][first]))
        else:
            self._take_quotes()
            self.store.make_room(code)

    def before_rows(self, count: int) -> None:
        """Room in every table, also after rows of snapshots were put between; an execution that is going
        on moves with its table."""
        moved = self.buffers.reserve(count)
        if moved and self.context["execution"]:
            self.context.set(execution=self.context["execution"] + moved)

    def _add(self, number: int) -> None:
        if number in self.store.numbering.other_books:
            self.known.add_other_book(number)
        else:
            self.known.add(number)

    def number(self, security_id: int) -> int:
        """Of an instrument, which may be new."""
        number = self.store.add_instrument(security_id)
        assert number is not None, "more instruments than a channel can have"
        return number

    def numbers(self, security_ids: Array) -> Array:
        """Of many, some of which may be new."""
        found = self.store.numbers(np.ascontiguousarray(security_ids, np.int64))
        for place in np.flatnonzero(found < 0).tolist():
            found[place] = self.number(int(security_ids[place]))
        return found

    def _take_quotes(self) -> None:
        self._keep_quotes(self.crossed.look(self.store.take_quotes(), self.states.take_log()))

    def _keep_quotes(self, quotes: Array) -> None:
        wanted = (quotes["at"] >= self.slice.start) & (quotes["at"] < self.slice.stop)
        if wanted.any():
            self.quotes.append(quotes[wanted])

    def add_quote(self, quote: Array) -> None:
        """One that no event of the stream told, after those that came before it."""
        self._take_quotes()
        self._keep_quotes(self.crossed.look(quote, self.states.take_log()))

    def on_note(self, number: int, outcome: int, kind: int, at: int) -> None:
        if outcome & (Decision.HEALED | Decision.VERIFIED):
            how = "EmptyBook or first report" if outcome & Decision.HEALED else "rptSeq without a hole"
            self.healing.healed(number, at, how)
        if outcome & _WENT_STALE:
            self.healing.went_stale(number, at)

    def on_special(self, rows: Rows, place: int) -> None:
        rows = rows[place : place + 1]
        row: Any = rows[0]
        at = int(row["at"])
        if row["kind"] == Kind.CHANNEL_RESET:
            for number in self.known.clear_all(at).tolist():
                if number != UNHEARD:
                    self.healing.emptied(number, row)
            if self.slice.is_first_shard:
                lake = rows.view(LAKE_ROW)
                # Books are empty now, and then told again one by one (6.5.12).
                lake["number"], lake["quality"] = 0, int(Quality.AFTER_GAP)
                self.buffers_append(at, rows)
        elif row["action"] == DefinitionAction.DELETE and self.slice.has(int(row["security_id"])):
            number = self.number(int(row["security_id"]))
            if at > self.known.covered[number]:
                self.healing.healed(number, at, "deleted")
                self.known.begin_again(number)
                self.states.absent(np.array([number]))
                self.healing.deleted(number, row)

    def buffers_append(self, place: int, rows: Rows) -> None:
        if self.emits(place) and not self.slice.depth:
            self.buffers.append(ORDERS, rows)
