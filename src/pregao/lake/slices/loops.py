"""A snapshot loop read again, with its rows: what the plan knows only by numbers."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pregao.kernels import Context
from pregao.lake.errors import LakeDamagedError
from pregao.lake.plan.captures import channel_reader
from pregao.lake.plan.index import Array
from pregao.lake.plan.slicing import TO_LAST, LoopPart
from pregao.lake.plan.units import NOWHERE
from pregao.lake.slices.buffers import SliceFindings
from pregao.lake.slices.feeds import read_placed
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE
from pregao.lake.slices.kernels.snapshots import EQUAL, MATCHED, RECORD_FIELDS, TOLD_FIELDS, settle_until
from pregao.lake.slices.made_rows import make_empty
from pregao.model.rows import FIRST_ENTRY_KIND, LAST_ENTRY_KIND, ROW, ROW_SIZE, Kind, Rows
from pregao.model.streams import Stream


class LoadedLoop:
    """Orders of each of its snapshots, by their number in the loop; and what else they tell, if one asks."""

    def __init__(self, part: LoopPart) -> None:
        self.loop, self._part = part.loop, part
        self._facts: tuple[Rows, Array] | None = None
        self._orders, self._starts = _read(part)
        if len(self._starts) != len(self.loop.places) + 1:
            raise LakeDamagedError("has changed since it was planned", file=part.parts[0].layout.path)
        self.counts = np.diff(self._starts)
        self.addresses = self._orders.ctypes.data + self._starts[:-1] * ROW_SIZE

    def orders(self, row: int) -> Rows:
        return self._orders[self._starts[row] : self._starts[row + 1]]

    def facts(self, row: int) -> Rows:
        """Statistics, bands and state that a snapshot tells. Few ask: they are read when one does."""
        rows, starts = self._all_facts()
        return rows[starts[row + 1] : starts[row + 2]]

    def phases(self) -> Rows:
        """Of groups, wherever the loop tells them."""
        rows, _ = self._all_facts()
        found: Rows = rows[rows["kind"] == Kind.PHASE]
        return found

    def states(self) -> tuple[Array, Rows]:
        """Rows of states that snapshots tell, and which snapshot each is of."""
        rows, starts = self._all_facts()
        chosen = np.flatnonzero(rows["kind"] == Kind.STATE)
        owners = np.searchsorted(starts, chosen, side="right") - 2
        return owners[owners >= 0], rows[chosen[owners >= 0]]

    def _all_facts(self) -> tuple[Rows, Array]:
        """Those before the first header, then those of each."""
        if self._facts is None:
            kept, owners, told = [np.zeros((0, ROW_SIZE // 8), np.int64)], [np.zeros(0, np.int64)], 0
            for rows in _readings(self._part):
                kinds = rows["kind"]
                are_facts = (kinds >= Kind.TOTALS) & (kinds <= Kind.PHASE)
                headers = told + np.cumsum(kinds == Kind.SNAPSHOT)
                kept.append(_chosen(rows, are_facts))
                owners.append(headers[are_facts])
                told = int(headers[-1]) if len(headers) else told
            starts = np.searchsorted(np.concatenate(owners), np.arange(len(self.loop.places) + 2))
            self._facts = np.concatenate(kept).view(ROW).ravel(), starts
        return self._facts

    def all_orders(self, chosen: Array) -> tuple[Rows, Array, Array]:
        """Of several snapshots, one after the other: the orders, of which of `chosen` each is, and the how
        manieth of it. A snapshot without any has a row that tells no order."""
        counts = np.maximum(self.counts[chosen], 1)
        which = np.repeat(np.arange(len(chosen)), counts)
        entries = np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
        words = np.zeros((len(which), ROW_SIZE // 8), np.int64)
        told = self.counts[chosen][which] > 0
        words[told] = _words(self._orders)[(self._starts[chosen][which] + entries)[told]]
        rows = words.view(ROW).ravel()
        make_empty(rows, ~told)
        return rows, which, entries


def _readings(part: LoopPart) -> Iterator[Rows]:
    """Rows of the loop, each packet once. They lie in memory that the next ones need."""
    reader = channel_reader("loops", part.parts[0].system, part.parts[0].channel, Stream.SNAPSHOT)
    owners: list[Any] = []
    packets = read_placed(part.parts, -1, TO_LAST, owners)
    keys, address, length = packets.place, packets.address, packets.length
    if not (np.diff(keys) > 0).all():
        keys, firsts = np.unique(keys, return_index=True)
        address, length = address[firsts], length[firsts]
    reading = reader.read(
        0, address, length.astype(np.uint32), np.ascontiguousarray(keys), np.zeros(len(keys), np.uint16)
    )
    while True:
        yield reading.rows
        if reading.whole:
            return
        reading = reader.go_on()


def _read(part: LoopPart) -> tuple[Rows, Array]:
    kept, starts, told = [], [], 0
    for rows in _readings(part):
        kinds = rows["kind"]
        are_orders = (kinds >= FIRST_ENTRY_KIND) & (kinds <= LAST_ENTRY_KIND)
        starts.append(told + np.cumsum(are_orders)[kinds == Kind.SNAPSHOT])
        kept.append(_chosen(rows, are_orders))
        told += len(kept[-1])
    return np.concatenate(kept).view(ROW).ravel(), np.concatenate([*starts, [told]])


def _chosen(rows: Rows, which: Array) -> Array:
    return _words(rows)[which]


def _words(rows: Rows) -> Array:
    """As words: numpy copies fields of rows one by one."""
    words: Array = rows.view(np.int64).reshape(len(rows), ROW_SIZE // 8)
    return words


# Snapshots that wait for their places, as kernels look through them (`kernels.snapshots`).


NEVER: Final = (1 << 63) - 1
# What happens at one place, in this order; snapshots of it are last.
LOAD, LOST, CONFLICTING, BEGUN, ABSENT, PHASES, STARTS = range(7)
_RECORD: Final = np.dtype([(name, "<i8") for name in RECORD_FIELDS])


class WaitingSnapshots:
    """`emitted`: from which place to which what is found is told."""

    def __init__(self, books: int, sync: Array, findings: SliceFindings, emitted: tuple[int, int]) -> None:
        self._books, self._sync = books, sync
        self._findings, self._emitted = findings, emitted
        self._records: Array = np.zeros(0, _RECORD)
        self._loops: dict[int, LoadedLoop] = {}  # those that records are of
        self.stale = np.zeros(len(sync), np.bool_)  # who is told when it is healed, as `healing` knows
        self._context = Context(TOLD_FIELDS)
        self._context.set(records=self._records, other_at=NEVER, stale=self.stale)
        self.address = self._context.address

    def add(self, loaded: LoadedLoop, numbers: Array) -> None:
        """The whole snapshots of a loop that are of this sequence."""
        loop = loaded.loop
        rows = np.flatnonzero((loop.places != NOWHERE) & loop.whole)
        more = np.zeros(len(rows), _RECORD)
        more["place"], more["number"], more["rpt_seq"] = loop.places[rows], numbers[rows], loop.rpt_seqs[rows]
        more["orders"], more["order_count"] = loaded.addresses[rows], loaded.counts[rows]
        both = ~loop.alone[rows] | loop.is_anchor
        more["once"] = np.where(both, BOOK_ONCE | STATISTICS_ONCE, BOOK_ONCE)
        more["loop"], more["row"] = loop.number, rows
        self._forget_done()
        self._loops[loop.number] = loaded
        records = np.concatenate([self._records, more])
        self._put(records[np.argsort(records["place"], kind="stable")])

    def until(self, place: int, other_at: int) -> bool:
        """Settle what waits for places before this one and is as it should be; False when somebody has to
        look: at something else, which is due at `other_at`, or at `look`."""
        self._context.set(other_at=other_at)
        return bool(settle_until(self.address, self._books, self._sync.ctypes.data, place))

    @property
    def next_place(self) -> int:
        done = self._context["next"]
        return int(self._records["place"][done]) if done < len(self._records) else NEVER

    def look(self) -> tuple[LoadedLoop, int]:
        """The next snapshot, which no longer waits: its loop, and which it is in it."""
        done = self._context["next"]
        record: Any = self._records[done]
        self._context.set(next=done + 1)
        return self._loops[int(record["loop"])], int(record["row"])

    def finish(self) -> None:
        self._forget_done()

    def _forget_done(self) -> None:
        done = self._records[: self._context["next"]]
        first, stop = self._emitted
        emitted = (done["place"] >= first) & (done["place"] < stop)
        for outcome, what in ((MATCHED, "matches"), (EQUAL, "equal")):
            mine = emitted & (done["outcome"] == outcome)
            loops, counts = np.unique(done["loop"][mine], return_counts=True)
            for loop, count in zip(loops.tolist(), counts.tolist(), strict=True):
                self._findings.count(loop, what, count)
        self._put(self._records[self._context["next"] :])
        waiting = set(self._records["loop"].tolist())
        self._loops = {number: loaded for number, loaded in self._loops.items() if number in waiting}

    def _put(self, records: Array) -> None:
        self._records = np.ascontiguousarray(records)
        self._context.set(records=self._records, count=len(records), next=0)
