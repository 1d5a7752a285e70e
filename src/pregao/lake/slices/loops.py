"""A snapshot loop read again, with its rows: what the plan knows only by numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pregao.lake.errors import LakeDamagedError
from pregao.lake.plan.index import Array
from pregao.lake.plan.readers import row_reader
from pregao.lake.plan.slicing import TO_LAST, LoopPart
from pregao.lake.slices.feeds import read_placed
from pregao.lake.slices.made_rows import make_empty
from pregao.model.rows import ROW, ROW_SIZE, Kind, Rows


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
    reader = row_reader("loops", part.parts[0].system)
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
        are_orders = kinds == Kind.SNAPSHOT_ORDER
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
