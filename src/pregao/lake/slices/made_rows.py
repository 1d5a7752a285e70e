"""Rows that no message told: orders of snapshots and stored books, and the quotes that follow from them."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.books import layout as t
from pregao.lake.plan.index import Array
from pregao.lake.slices.kernels.books import QUOTE_QUALITY
from pregao.lake.slices.known import UNHEARD
from pregao.lake.slices.rows import LAKE_ROW, NO_INDEX, NO_PACKET, SNAPSHOT_INDEX
from pregao.lake.tables.quality import Quality
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

    def quote(self, number: int, row: Any, changed: int, quality: int) -> Array:
        quote = np.zeros(1, t.QUOTE)
        quote["security_id"] = self._store.security_id(number)
        for name in ("at", "time_ns", "packet", "rpt_seq", "index"):
            quote[name] = row[name]
        quote["instrument"], quote["sides"] = number, changed | quality << QUOTE_QUALITY
        for name, value in zip(_TOP, self._store.top_words(number).tolist(), strict=True):
            quote[name] = value
        return quote


def make_empty(rows: Rows, which: Array) -> None:
    """Rows that tell no order: null, not 0."""
    for name in ("id", "price", "size", "other", "inserted_ns", "fine", "high"):
        rows[name][which] = NULL
