"""Rows that no message told: orders of snapshots and stored books, and the quotes that follow from them."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.kernels import Context
from pregao.lake.plan.index import Array
from pregao.lake.plan.slicing import Slice
from pregao.lake.slices.feeds import Merged
from pregao.lake.slices.kernels.books import QUOTE_QUALITY, settle_one
from pregao.lake.slices.kernels.sampling import SAMPLE_WORDS, SAMPLING_FIELDS, sample_until
from pregao.lake.slices.kernels.states import NUMBER_BITS
from pregao.lake.slices.known import (
    LAKE_ROW,
    MOST_INSTRUMENTS,
    NO_INDEX,
    NO_PACKET,
    SNAPSHOT_INDEX,
    UNHEARD,
    KnownInstruments,
)
from pregao.lake.tables.analytics import Quality
from pregao.model.rows import NULL, ROW, Kind, Rows

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

FROM_SNAPSHOT: Final = int(Quality.FROM_SNAPSHOT)
_TOP: Final = ("bid_price", "bid_size", "bid_orders", "offer_price", "offer_size", "offer_orders")


class RowMaker:
    def __init__(self, machine: "SliceMachine") -> None:
        self._machine, self._store = machine, machine.store

    def of_snapshot(self, number: int, place: int, orders: Rows, rpt_seq: int, sent_ns: int = 0) -> Rows:
        """Orders of a snapshot as rows of the stream; one without an order for an empty book."""
        rows = orders.copy() if len(orders) else np.zeros(1, ROW)
        if not len(orders):
            make_empty(rows, np.ones(1, np.bool_))
        count = len(rows)
        self.place(
            rows, np.full(count, number), np.full(count, place), np.full(count, rpt_seq), np.arange(count),
            sent_ns,
        )  # fmt: skip
        return rows

    def of_others(self, place: int, rpt_seq: int, quality: int, sent_ns: int) -> Rows:
        """One row: all that are not told of have empty books."""
        rows = self.of_snapshot(UNHEARD, place, np.zeros(0, ROW), rpt_seq, sent_ns)
        lake = rows.view(LAKE_ROW)
        lake["security_id"], lake["number"], lake["quality"] = NULL, 0, quality
        return rows

    def place(
        self, rows: Rows, numbers: Array, places: Array, rpt_seqs: Array, entries: Array, sent_ns: int
    ) -> None:
        """Where rows of snapshots stand: behind the packet of their place. What holds since before the first
        packet has the time of `sent_ns`; without one, that of the first packet."""
        merged, ids = self._machine.merged, self._store
        packets = np.searchsorted(merged.place, places, side="right") - 1
        lake = rows.view(LAKE_ROW)
        different, which = np.unique(numbers, return_inverse=True)
        lake["security_id"] = np.array([ids.security_id(int(number)) for number in different])[which]
        lake["kind"], lake["number"], lake["at"] = Kind.SNAPSHOT_ORDER, numbers + 1, places
        lake["rpt_seq"], lake["index"], lake["low"] = rpt_seqs, NO_INDEX, entries
        lake["packet"], lake["quality"] = np.where(packets < 0, NO_PACKET, packets), FROM_SNAPSHOT
        sent = merged.sent[np.maximum(packets, 0)] if len(merged) else np.full(len(rows), NULL)
        lake["time_ns"] = np.where(packets < 0, sent_ns, sent) if sent_ns else sent

    def of_facts(self, number: int, place: int, facts: Rows, rpt_seq: int, first: int = 0) -> Rows:
        """What a snapshot tells beside orders, as rows of the stream, with their own times. `number`: UNHEARD
        for phases of groups; `first`: the index of the first."""
        rows = facts.copy()
        lake, times = rows.view(LAKE_ROW), facts["time_ns"].copy()
        numbers, count = np.full(len(rows), number), len(rows)
        ids, kinds = lake["security_id"].copy(), lake["kind"].copy()
        self.place(rows, numbers, np.full(count, place), np.full(count, rpt_seq), lake["low"].copy(), 0)
        lake["security_id"], lake["kind"] = ids, kinds
        lake["index"] = SNAPSHOT_INDEX + np.minimum(first + np.arange(count), SNAPSHOT_INDEX - 2)
        lake["time_ns"] = np.where(times == NULL, lake["time_ns"], times)
        if number == UNHEARD:
            lake["number"] = 0
        return rows

    def settled(self, number: int) -> list[tuple[int, int]]:
        """The books of an instrument that have another top now than was told, and which sides of each."""
        store = self._store
        sides = [(each, settle_one(store.context, each)) for each in store.book_numbers(number)]
        return [each for each in sides if each[1]]

    def add_quotes(self, changed: list[tuple[int, int]], row: Any, quality: int) -> None:
        for number, sides in changed:
            self._machine.add_quote(self._quote(number, row, sides, quality))

    def _quote(self, number: int, row: Any, changed: int, quality: int) -> Array:
        quote = np.zeros(1, t.QUOTE)
        quote["security_id"] = self._store.security_id(number)
        for name in ("at", "time_ns", "packet", "rpt_seq", "index"):
            quote[name] = row[name]
        state = self._machine.states.packed(self._store.numbering.first_of(number))
        quote["instrument"] = number | state << NUMBER_BITS
        quote["sides"] = changed | quality << QUOTE_QUALITY
        for name, value in zip(_TOP, self._store.top_words(number).tolist(), strict=True):
            quote[name] = value
        return quote


def make_empty(rows: Rows, which: Array) -> None:
    """Rows that tell no order: null, not 0."""
    for name in ("id", "price", "size", "other", "inserted_ns", "fine", "high"):
        rows[name][which] = NULL


# Price levels once a second, where something changed: when seconds end, and what was sampled then.


SECOND_NS: Final = 1_000_000_000
_NEVER: Final = (1 << 63) - 1
_BEFORE_ALL: Final = -(1 << 62)
_FIRST_ROOM: Final = 1 << 17  # memory that is never written to costs nothing


class Samples:
    """A second ends after its last packet, by the exchange's own clock."""

    def __init__(self, slice_: Slice, merged: Merged, store: BookStore, known: KnownInstruments) -> None:
        self._is_last, self._second = slice_.is_last, _BEFORE_ALL
        self._room: Array = np.empty((_FIRST_ROOM, SAMPLE_WORDS), np.int64)
        self._taken: list[Array] = []
        self._context = Context(SAMPLING_FIELDS)
        self._context.set(
            books=store.context, sync=known.sync, changed=np.zeros(MOST_INSTRUMENTS, np.uint8),
            changed_list=np.zeros(MOST_INSTRUMENTS, np.uint32), emit_from=slice_.start,
            emit_to=slice_.stop, samples=self._room, sample_room=len(self._room),
        )  # fmt: skip
        self.address = self._context.address
        self.begin(merged)

    def begin(self, merged: Merged) -> None:
        """Packets of the next window. Its first may end the second of those that are carried."""
        seconds = np.maximum.accumulate(np.maximum(merged.sent // SECOND_NS, self._second))
        seconds[: merged.carried] = self._second
        packets = np.flatnonzero(np.diff(seconds))
        self._second = int(seconds[-1]) if len(seconds) else self._second
        self._put(merged, packets)

    def end(self, merged: Merged) -> None:
        """There is no other window. The last second of a unit ends with its last packet."""
        if self._is_last and len(merged):
            self._put(merged, np.array([len(merged) - 1]))
            self.until(int(merged.place[-1]) + 1)

    def _put(self, merged: Merged, packets: Array) -> None:
        places = np.append(merged.place[packets], _NEVER)
        self._context.set(places=places, packets=np.ascontiguousarray(packets, np.int64), next=0)

    def until(self, place: int) -> None:
        """All seconds that end before a place."""
        while not sample_until(self.address, place):
            self._take(max(2 * len(self._room), self._context["changed_count"]))

    def _take(self, room: int) -> None:
        self._taken.append(self._room[: self._context["sample_count"]])
        self._room = np.empty((room, SAMPLE_WORDS), np.int64)
        self._context.set(samples=self._room, sample_room=room, sample_count=0)

    def taken(self) -> Array:
        last = self._room[: self._context["sample_count"]]
        return np.concatenate([*self._taken, last]) if self._taken else last

    def clear(self) -> None:
        """What was taken is done with."""
        self._taken = []
        self._context.set(sample_count=0)
