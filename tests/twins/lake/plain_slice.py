"""A slice in plain Python: the twin of the kernels of books, sampling and snapshots, and of what calls them.

Rows come from the row kernel, whose own twin is `feeds.binary.reading.plain`; what is known of instruments is
`slices.known`, which is plain; what to do with a row says `recovery.instruments.decide`, books are
`ReferenceBook`. All else is written again, one thing at a time.
"""

import heapq
from collections import Counter
from typing import Any

import numpy as np

from pregao.books.phases import effective, own_after
from pregao.feeds.binary.system import REPORTS_IN_A_PACKET
from pregao.lake.plan.captures import row_reader
from pregao.lake.plan.index import NUMBER_BITS
from pregao.lake.plan.slicing import TO_LAST, Slice
from pregao.lake.plan.units import NOWHERE
from pregao.lake.slices.feeds import Merged, gaps_of, read_placed
from pregao.lake.slices.kernels.merging import CONFLICT
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE
from pregao.lake.slices.known import UNHEARD, KnownInstruments
from pregao.lake.slices.loops import LoadedLoop
from pregao.lake.tables.analytics import Quality
from pregao.model.market import Phase, Side, State, StateEvent
from pregao.model.rows import FIRST_SPECIAL, NULL, ROW, Flag, Kind, Rows
from pregao.recovery.instruments import NEVER, NO_REPORT, BookStatus, Decision, Mark, decide
from tests.twins.lake.plain_days import go_on, stored_by
from tests.twins.lake.plain_parts import Emitted, Instrument, Quote, Sample, Told, order_of
from tests.twins.row_updates import update_of

# Of things that happen at one place, in this order; then its second may end.
LOAD, LOST, CONFLICTING, BEGUN, ABSENT, PHASES, TOLD, SECOND_ENDS = range(8)
NOT_KNOWN = 127  # a state of its own that may have been told by what is lost
# What tells a transactTime; the last two in every version.
TRANSACTED = (Kind.ORDER, Kind.SIDE, Kind.TRADE, Kind.BUST, Kind.EXECUTION, Kind.STATE, Kind.PHASE)
BOOK_KINDS = (Kind.ORDER, Kind.SIDE, Kind.EMPTY_BOOK)
TABLES = {
    **dict.fromkeys((Kind.ORDER, Kind.SIDE, Kind.EMPTY_BOOK, Kind.CHANNEL_RESET), "orders"),
    **dict.fromkeys((Kind.TRADE, Kind.BUST), "trades"),
    Kind.EXECUTION: "executions",
    **dict.fromkeys((Kind.PRICE_BAND, Kind.QUANTITY_BAND), "bands"),
    Kind.IMBALANCE: "imbalances",
    **dict.fromkeys((Kind.STATE, Kind.PHASE), "states"),
}


def _emptying(definition: Any) -> Any:
    """What is told of the book of an instrument that is deleted."""
    row = np.zeros(1, ROW)[0]
    for name in ("at", "index", "packet", "version", "flags", "time_ns", "security_id"):
        row[name] = definition[name]
    for name in ("id", "price", "size", "other", "inserted_ns", "fine", "high"):
        row[name] = NULL
    row["kind"] = Kind.EMPTY_BOOK
    return row


def facts_of(part: Any) -> dict[int | None, list[Any]]:
    """What the snapshots of a loop tell beside orders, by instrument, and the phases that it tells."""
    packets = read_placed(part.parts, -1, TO_LAST, owners := [])
    by_number = dict(zip(packets.place.tolist(), range(len(packets.place)), strict=True))
    chosen = [by_number[place] for place in sorted(by_number)]
    reader = row_reader("plain facts", part.parts[0].system)
    reading = reader.read(
        0, packets.address[chosen], packets.length[chosen].astype(np.uint32), packets.place[chosen],
        np.zeros(len(chosen), np.uint16),
    )  # fmt: skip
    found: dict[int | None, list[Any]] = {}
    owner = None
    while True:
        for row in reading.rows:
            kind = int(row["kind"])
            if kind == Kind.SNAPSHOT:
                owner = int(row["security_id"])
            elif kind == Kind.PHASE:
                found.setdefault(None, []).append(row.copy())
            elif 32 <= kind <= 64:
                found.setdefault(owner, []).append(row.copy())
        if reading.whole:
            del owners
            return found
        reading = reader.go_on()


class PlainSlice:
    """`before` is what comes of the last slice of the day before, when it begins with that."""

    def __init__(self, slice_: Slice, merged: Merged, before: "PlainSlice | None" = None) -> None:
        self.slice, self.merged, self.known = slice_, merged, KnownInstruments(REPORTS_IN_A_PACKET)
        self._before = before
        self.instruments: list[Instrument] = [Instrument(-1)]  # the first stands for all unheard of
        self._numbers: dict[int, int] = {}
        self.told = Told()
        self._happens: list[tuple[int, int, int, Any]] = []
        self._pushed = 0
        self.changed: set[int] = set()  # since the last second
        self._touched: list[int] = []  # in this event
        self._execution: Emitted | None = None
        self._stale: dict[int, int] = {}
        self._facts: dict[int, dict[int | None, list[Any]]] = {}  # by loop and instrument; None: phases
        self._last_lost: list[int] = []  # the last place of each loss
        self._phases_told = False
        self._groups = dict(zip(*(each.tolist() for each in slice_.groups), strict=True))
        self._phases: dict[int, int] = {}  # by group
        self._lost_at, self._filled = -1, False
        self._crossed: dict[int, tuple[int, int]] = {}  # by number: since which place and time
        self._last_quotes: dict[int, tuple[int, Quote]] = {}  # of crossed books, with their time

    def run(self, rows: Rows) -> Told:
        self._prepare()
        for row in rows:
            self.until(int(row["at"]))
            self._take(row)
        if len(self.merged):
            self.until(int(self.merged.place[-1]) + 1)
            if self.slice.is_last:
                self._leave(int(self.merged.place[-1]))
                self.told.stored = list(stored_by(self))
        return self.told

    def emits(self, place: int) -> bool:
        return self.slice.start <= place < self.slice.stop

    # What happens between rows

    def _prepare(self) -> None:
        merged, slice_ = self.merged, self.slice
        told = sorted({int(place) for part in slice_.loops for place in part.loop.places})
        for last, packets in gaps_of(merged, slice_.warm):
            self._last_lost.append(last)
            done = last - packets
            # What a snapshot tells in the middle of a gap is as of there.
            for place in [each for each in told if done < each < last] + [last]:
                self._push(place, LOST, place - done)
                done = place
        for place in merged.place[merged.state_a & CONFLICT != 0].tolist():
            self._last_lost.append(place)
            self._push(place, CONFLICTING, None)
        for appearance in range(1, len(slice_.versions)):
            if appearance << NUMBER_BITS > slice_.warm:
                self._push(appearance << NUMBER_BITS, BEGUN, None)
        for part in slice_.loops:
            self._push(max(part.loop.first, 0), LOAD, part)
        self._push_seconds()
        if slice_.anchor is not None:
            self._begin_with(LoadedLoop(slice_.anchor))
        if self._before is not None:
            go_on(self, self._before.told)

    def _push_seconds(self) -> None:
        """A second ends after its last packet; sending times that go back do not begin one again."""
        current = -1
        for number, sent_ns in enumerate(self.merged.sent.tolist()):
            if number and sent_ns // 10**9 > current:
                self._push(int(self.merged.place[number - 1]), SECOND_ENDS, number - 1)
            current = max(current, sent_ns // 10**9)
        if self.slice.is_last and len(self.merged):
            self._push(int(self.merged.place[-1]), SECOND_ENDS, len(self.merged) - 1)

    def _push(self, place: int, what: int, about: Any) -> None:
        self._pushed += 1
        heapq.heappush(self._happens, (place, what, self._pushed, about))

    def until(self, place: int) -> None:
        while self._happens and self._happens[0][0] < place:
            here, what, _, about = heapq.heappop(self._happens)
            if what == LOAD:
                self._facts[about.loop.number] = facts_of(about)
                self._follow(LoadedLoop(about))
            elif what in (LOST, CONFLICTING):
                self.known.lose(here, about)
                self._lose_states(here)
                if what == CONFLICTING:
                    self.find(here, "FEEDS_DIFFER", None)
            elif what == BEGUN:
                self.known.unsettle(here)
            elif what == ABSENT:
                self._absent(here, about)
            elif what == PHASES:
                self._fill_phases(about)
            elif what == TOLD:
                self._told(here, *about)
            else:
                self._sample(here, about)

    # Rows

    def number(self, security_id: int) -> int:
        if security_id not in self._numbers:
            self._numbers[security_id] = len(self.instruments)
            self.known.add(len(self.instruments))
            self.instruments.append(Instrument(security_id))
        return self._numbers[security_id]

    def doubt(self, number: int, *, book: bool) -> int:
        known = self.known
        if (known.book if book else known.statistics)[number] == BookStatus.CLEAN:
            return 0
        once = known.once[number] & (BOOK_ONCE if book else STATISTICS_ONCE)
        return int(Quality.AFTER_GAP if once else Quality.BOOK_UNKNOWN)

    def _take(self, row: Any) -> None:
        kind = Kind(int(row["kind"]))
        if kind in (Kind.CHANNEL_RESET, Kind.DEFINITION):
            (self._reset if kind is Kind.CHANNEL_RESET else self._delete)(row)
            return
        if kind is Kind.PHASE:
            before = [self._state(each) for each in self.instruments]
            self._phases[int(row["id"])] = int(row["type"])
            self._states_changed(before, row)
            self._emit(row, kind, 0)
        elif kind < FIRST_SPECIAL:
            self._emit(row, kind, self._apply(row, kind))
        if row["flags"] & Flag.END_OF_EVENT:
            self._end_event(row)

    def _reset(self, row: Any) -> None:
        for number in self.known.clear_all(int(row["at"])).tolist():
            if number != UNHEARD:
                self._empty(number, row)
        self._emit(row, Kind.CHANNEL_RESET, int(Quality.AFTER_GAP))

    def _delete(self, row: Any) -> None:
        if chr(row["action"]) != "D":
            return
        number = self.number(int(row["security_id"]))
        if row["at"] > self.known.covered[number]:
            self._healed(number, int(row["at"]), "deleted")
            self.known.add(number)  # as nobody is
            self.known.last[number] = NO_REPORT
            self.instruments[number].own = 0
            if any(self.instruments[number].book.orders(side) for side in Side):
                self._emit(_emptying(row), Kind.EMPTY_BOOK, self.doubt(number, book=True))
            self._empty(number, row)

    def _empty(self, number: int, row: Any) -> None:
        """By a message that is an event of its own."""
        self.instruments[number].book.clear()
        changed = self.instruments[number].settle()
        if changed:
            self.changed.add(number)
            by = int(row["at"]), int(row["index"])
            self.quote(by, number, changed, self.doubt(number, book=True), int(row["time_ns"]))

    def _apply(self, row: Any, kind: Kind) -> int:
        """How far the row can be believed."""
        number, at = self.number(int(row["security_id"])), int(row["at"])
        record, instrument = self.known.sync[number], self.instruments[number]
        outcome = decide(record, int(kind), int(row["rpt_seq"]), at, int(row["flags"]) & Flag.RECOVERY)
        is_book = kind in BOOK_KINDS
        if outcome & Decision.EMPTIED and kind is not Kind.EMPTY_BOOK:
            instrument.book.clear()
            self.touch(number)
            self.changed.add(number)
        went_stale = bool(outcome & Decision.WENT_STALE)
        if is_book and outcome & Decision.APPLY:
            instrument.book.apply(update_of(row), Flag(int(row["flags"])))  # type: ignore[arg-type]
            self.touch(number)
            self.changed.add(number)
            if instrument.book.suspect and record["book"] != BookStatus.STALE:
                record["book"], record["bound"] = BookStatus.STALE, NEVER
                record["missing"] = max(int(record["missing"]), at)
                went_stale = True
        if outcome & Decision.EMPTIED:
            record["spare"] |= BOOK_ONCE
        if outcome & Decision.HEALED:
            self._healed(number, at, "EmptyBook or first report")
        elif outcome & Decision.VERIFIED:
            self._healed(number, at, "rptSeq without a hole")
        if went_stale:
            self._stale.setdefault(number, at)
        if outcome & Decision.WENT_STALE:
            record["spare"] |= STATISTICS_ONCE
            instrument.own = NOT_KNOWN
        if kind is Kind.STATE and outcome & (Decision.APPLY | Decision.HOLD):
            before = [self._state(each) for each in self.instruments]
            self._tell_state(instrument, row)
            self._states_changed(before, row)
        return self.doubt(number, book=is_book)

    def _emit(self, row: Any, kind: Kind, quality: int) -> None:
        if self._execution is not None:
            self._execution.trades += kind is Kind.TRADE
            self._execution.changes += kind in (Kind.ORDER, Kind.SIDE)
        emitted = Emitted(row.copy(), quality)
        if kind is Kind.TRADE:
            self._mark_trade(emitted.row)
        here = self.emits(int(row["at"]))
        if here:
            self.told.rows.setdefault(TABLES.get(kind, "statistics"), []).append(emitted)
        if kind is Kind.EXECUTION:
            self._execution = emitted if here else None

    def touch(self, number: int) -> None:
        if number not in self._touched:
            self._touched.append(number)

    def _end_event(self, row: Any) -> None:
        by, kind = (int(row["at"]), int(row["index"])), Kind(int(row["kind"]))
        transacted = kind in TRANSACTED and (kind in (Kind.STATE, Kind.PHASE) or row["version"] >= 15)
        for number in self._touched:
            changed = self.instruments[number].settle()
            if changed:
                quality = self.doubt(number, book=True)
                time_ns = int(row["time_ns"])
                self.quote(by, number, changed, quality, time_ns, transacted=transacted)
        self._touched, self._execution = [], None

    def quote(
        self, by: tuple[int, int | None], number: int, changed: int, quality: int, time_ns: int, *,
        transacted: bool = False,
    ) -> None:  # fmt: skip
        one = self.instruments[number]
        made = Quote(by, one.security_id, changed, quality, one.told, transacted, self._state(one))
        if self.emits(by[0]):
            self.told.quotes.append(made)
        self._last_quotes.pop(number, None)
        if self._watch(number, by[0], time_ns, known=not quality & ~int(Quality.FROM_SNAPSHOT)):
            self._last_quotes[number] = time_ns, made

    def _sample(self, place: int, packet: int) -> None:
        for number in sorted(self.changed) if self.emits(place) else ():
            instrument = self.instruments[number]
            bids, offers = (instrument.book.levels(side)[:10] for side in Side)
            quality = self.doubt(number, book=True) | self._state(instrument) << 16
            self.told.samples.append(Sample(packet, instrument.security_id, quality, bids, offers))
        self.changed.clear()

    # Phases and states

    def _state(self, instrument: Instrument) -> int:
        return self._phases.get(self._groups.get(instrument.security_id, 0), 0) | instrument.own << 7

    def _tell_state(self, instrument: Instrument, row: Any) -> None:
        group = self._groups.get(instrument.security_id, 0)
        number, phase = int(row["type"]), self._phases.get(group, 0)
        event = StateEvent(int(row["detail"])) if row["detail"] else None
        before = None if instrument.own in (0, NOT_KNOWN) else State(instrument.own)
        new_day = instrument.told_day not in (0, int(row["trade_date"]))
        state = State(number) if number else None
        instrument.own = int(own_after(before, Phase(phase) if phase else None, state, event, new_day) or 0)
        instrument.told_day = int(row["trade_date"])
        if event is StateEvent.REJOINS_GROUP and number:
            self._phases[group] = number

    def _is_open(self, instrument: Instrument) -> bool:
        phase, own = self._state(instrument) & 127, self._state(instrument) >> 7
        if own == NOT_KNOWN:
            return False
        return effective(Phase(phase) if phase else None, State(own) if own else None) is State.OPEN

    def _watch(self, number: int, place: int, time_ns: int, *, known: bool) -> bool:
        """Whether a book is crossed though it is open; what is so for a millisecond is found."""
        one = self.instruments[number]
        bid, offer = one.told
        prices = bid.price is not None and offer.price is not None and bid.price >= offer.price
        crossed = prices and bid.orders > 0 and offer.orders > 0 and known and self._is_open(one)
        if place >= self.slice.stop:
            return crossed
        if crossed:
            self._crossed.setdefault(number, (place, time_ns))
        elif number in self._crossed:
            since, since_ns = self._crossed.pop(number)
            if time_ns - since_ns >= 1_000_000 and since >= self.slice.start:
                self.find(since, "CROSSED_BOOK", number)
        return crossed

    def _states_changed(self, before: list[int], row: Any) -> None:
        """A book may be crossed in another state now; a quote of the same moment was in that state."""
        for number, (old, one) in enumerate(zip(before, list(self.instruments), strict=False)):
            if old == self._state(one):
                continue
            time_ns, quote = self._last_quotes.pop(number, (0, None))
            if quote is not None and abs(int(row["time_ns"]) - time_ns) < 1_000_000:
                quote.state = self._state(one)
            known = self.known.book[number] == BookStatus.CLEAN
            self._watch(number, int(row["at"]), int(row["time_ns"]), known=known)

    def _sent_at(self, place: int) -> int:
        packets = [number for number, each in enumerate(self.merged.place.tolist()) if each <= place]
        return int(self.merged.sent[packets[-1] if packets else 0])

    def _mark_trade(self, row: Any) -> None:
        """What its instrument is in, and who began the execution that it is of."""
        state = self._state(self.instruments[self.number(int(row["security_id"]))])
        row["origin"], row["type"] = state & 127, state >> 7
        begun = self._execution.row if self._execution is not None else None
        mine = begun is not None and begun["security_id"] == row["security_id"]
        row["action"], row["side"] = int(mine), begun["side"] if mine else 0
        row["inserted_ns"] = begun["other"] if mine else NULL

    def _lose_states(self, place: int) -> None:
        self._phases, self._lost_at, self._filled = {}, place, False
        for number, instrument in enumerate(self.instruments):
            if self.known.statistics[number] == BookStatus.STALE:
                instrument.own = NOT_KNOWN

    def _fill_phases(self, loaded: LoadedLoop) -> None:
        if loaded.loop.first >= self._lost_at and not self._filled:
            told = {int(row["id"]): int(row["type"]) for row in loaded.phases()}
            self._phases, self._filled = told | self._phases, True

    def _own_in(self, facts: list[Any]) -> int:
        """Only a 101 says that an instrument has left its group."""
        states = [row for row in facts if row["kind"] == Kind.STATE]
        return int(states[-1]["type"]) if states and states[-1]["detail"] == StateEvent.LEAVES_GROUP else 0

    # Snapshots

    def _begin_with(self, loaded: LoadedLoop) -> None:
        loop = loaded.loop
        assert self.slice.anchor is not None
        facts = facts_of(self.slice.anchor)
        self.known.empty(np.array([UNHEARD]), loop.begun)
        for row, security_id in enumerate(loop.security_ids.tolist()):
            number = self.number(security_id)
            self.instruments[number].load(loaded.orders(row))
            self.instruments[number].settle()
            self.known.settle(number, int(loop.places[row]), int(loop.rpt_seqs[row]), statistics=True)
            self._go_on(number, int(loop.places[row]))
            self.instruments[number].own = self._own_in(facts.get(security_id, []))
        for security_id in self._deleted_by(loop.begun):
            if security_id not in loop.security_ids:
                self.known.last[self.number(security_id)] = NO_REPORT
        self.known.covered[UNHEARD] = 0
        self._phases = {int(row["id"]): int(row["type"]) for row in facts.get(None, [])}
        self._filled = True

    def _follow(self, loaded: LoadedLoop) -> None:
        loop = loaded.loop
        for row, place in enumerate(loop.places.tolist()):
            if place == NOWHERE or not loop.whole[row]:
                continue
            self._push(place, TOLD, (loaded, row))
            if loop.saved is not None and loop.saved[row] and self.emits(place):
                orders = [order_of(each) for each in loaded.orders(row)]
                security_id, rpt_seq = int(loop.security_ids[row]), int(loop.rpt_seqs[row])
                self.told.checkpoints.append((place, security_id, rpt_seq, orders))
        if loop.is_anchor:
            self._push(max(loop.begun, 0), ABSENT, loaded)
            self._push(max(loop.begun, 0), PHASES, loaded)
        if loop.tells_others and self.emits(max(loop.begun, 0)):
            self.told.checkpoints.append((max(loop.begun, 0), NULL, 0, []))

    def _absent(self, place: int, loaded: LoadedLoop) -> None:
        """Who is not in a list that leaves out nobody has an empty book."""
        listed = {self.number(security_id) for security_id in loaded.loop.security_ids.tolist()}
        gone = {self.number(security_id) for security_id in self._deleted_by(place)}
        for number in range(len(self.instruments)):
            if number in listed or self.known.covered[number] > place:
                continue
            book = self.instruments[number].book
            if any(book.orders(side) for side in Side):
                overnight = self._before is not None and self.known.last_at[number] <= self.slice.warm
                if self.known.book[number] == BookStatus.CLEAN:
                    if not overnight:  # it may have gone between the days
                        self._mismatch(number, place, loaded.loop.number)
                else:
                    self._find_hole(number, place)
                self._replace(number, place, loaded.orders(0)[:0], 0)
            self._healed(number, place, "absent from a snapshot loop")
            self.known.empty(np.array([number]), place)
            if number in gone:
                self.known.last[number] = NO_REPORT
            self.instruments[number].own = 0

    def _deleted_by(self, place: int) -> list[int]:
        """Ids that were deleted: should one come again, nobody knows which rptSeq it goes on with, unless an
        EmptyBook has started it again."""
        return [
            int(each)
            for each, since, until in zip(*self.slice.deleted, strict=True)
            if since <= place < until
        ]

    def _go_on(self, number: int, place: int) -> None:
        if self.known.last[number] == 0 and self.instruments[number].security_id in self._deleted_by(place):
            self.known.last[number] = NO_REPORT

    def _told(self, place: int, loaded: LoadedLoop, row: int) -> None:
        loop, known = loaded.loop, self.known
        number = self.number(int(loop.security_ids[row]))
        alone = bool(loop.alone[row])
        told_again = known.marks[number] & (Mark.AWAITED | Mark.REPLENISHING)
        withheld = alone and told_again and not loop.is_anchor
        if place < known.covered[number] or withheld:
            return
        orders, rpt_seq = loaded.orders(row), int(loop.rpt_seqs[row])
        same = self.instruments[number].equals(orders)
        if known.book[number] != BookStatus.CLEAN:
            if known.last[number] not in (-1, rpt_seq):
                self._find_hole(number, place)
            word = "unknown" if not known.once[number] & BOOK_ONCE else "equal" if same else "healed"
            self._count_in(loop.number, word, place)
        elif same and int(known.last[number]) in (-1, rpt_seq):
            self._count_in(loop.number, "matches", place)
        elif known.once[number] & BOOK_ONCE:
            self._mismatch(number, place, loop.number)
        self._healed(number, place, "snapshot")
        if not same:
            self._replace(number, place, orders, rpt_seq)
        if not alone and not known.once[number] & STATISTICS_ONCE:
            self._tell_facts(place, loop, int(loop.security_ids[row]), rpt_seq)
        if known.statistics[number] != BookStatus.CLEAN and (not alone or loop.is_anchor):
            facts = self._facts[loop.number].get(int(loop.security_ids[row]), [])
            self.instruments[number].own = self._own_in(facts)
        known.settle(number, place, rpt_seq, statistics=not alone or loop.is_anchor)
        self._go_on(number, place)

    def _tell_facts(self, place: int, loop: Any, security_id: int, rpt_seq: int) -> None:
        """What was never known is told by its first snapshot, behind the packet of its place."""
        if not self.emits(place):
            return
        facts = self._facts[loop.number]
        if not self._phases_told and self.slice.start == -1:
            self._phases_told = True
            self._tell_each(facts.get(None, []), max(loop.begun, 0), 0)
        self._tell_each(facts.get(security_id, []), place, rpt_seq)

    def _tell_each(self, facts: list[Any], place: int, rpt_seq: int) -> None:
        packets = [number for number, each in enumerate(self.merged.place.tolist()) if each <= place]
        for number, told in enumerate(facts):
            row = told.copy()
            row["at"], row["index"], row["rpt_seq"] = place, 0x8000 + number, rpt_seq
            row["packet"] = packets[-1] if packets else 0xFFFFFFFF
            if row["time_ns"] == NULL:
                row["time_ns"] = self.merged.sent[packets[-1] if packets else 0]
            kind = Kind(int(row["kind"]))
            emitted = Emitted(row, int(Quality.FROM_SNAPSHOT))
            self.told.rows.setdefault(TABLES.get(kind, "statistics"), []).append(emitted)

    def _replace(self, number: int, place: int, orders: Rows, rpt_seq: int) -> None:
        instrument = self.instruments[number]
        instrument.load(orders)
        self.changed.add(number)
        self.touch(number)
        changed = instrument.settle()
        if self.emits(place):
            told = [order_of(row) for row in orders]
            self.told.snapshots.append((place, instrument.security_id, rpt_seq, told))
        if changed:
            self.quote((place, None), number, changed, int(Quality.FROM_SNAPSHOT), self._sent_at(place))

    # Findings

    def _count_in(self, loop: int, word: str, place: int) -> None:
        if self.emits(place):
            self.told.loops.setdefault(loop, Counter())[word] += 1

    def _mismatch(self, number: int, place: int, loop: int) -> None:
        self._count_in(loop, "differences", place)
        self.find(place, "SNAPSHOT_MISMATCH", number)

    def find(self, place: int, finding: str, number: int | None, *more: Any) -> None:
        if self.emits(place):
            security_id = None if number is None else self.instruments[number].security_id
            self.told.findings.append((place, finding, security_id, *more))

    def _find_hole(self, number: int, place: int) -> None:
        """A snapshot is the first to show that something of it was lost: after what came of it last."""
        record = self.known.sync[number]
        if number not in self._stale and not record["marks"] & (Mark.AWAITED | Mark.RESTART):
            later = [lost + 1 for lost in self._last_lost if lost >= record["last_at"]]
            self._stale[number] = min([*later, place])

    def _healed(self, number: int, place: int, how: str) -> None:
        if number in self._stale:
            since = self._stale.pop(number)
            self.find(place, "HEAL", number, since & 0xFFFFFFFF, how)

    def _leave(self, last: int) -> None:
        for number, since in sorted(self._stale.items()):
            self.find(last, "STALE_SPAN", number, since & 0xFFFFFFFF, "until the end")
