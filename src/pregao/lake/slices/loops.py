"""A snapshot loop read again, with its rows: what the plan knows only by numbers."""

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
    """Orders of each of its snapshots, by their number in the loop."""

    def __init__(self, part: LoopPart) -> None:
        self.loop = part.loop
        self._orders, self._starts = _read(part)
        if len(self._starts) != len(self.loop.places) + 1:
            raise LakeDamagedError("has changed since it was planned", file=part.parts[0].layout.path)
        self.counts = np.diff(self._starts)
        self.addresses = self._orders.ctypes.data + self._starts[:-1] * ROW_SIZE

    def orders(self, row: int) -> Rows:
        return self._orders[self._starts[row] : self._starts[row + 1]]

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


def _read(part: LoopPart) -> tuple[Rows, Array]:
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
    kept, starts, told = [], [], 0
    while True:
        kinds = reading.rows["kind"]
        are_orders = kinds == Kind.SNAPSHOT_ORDER
        starts.append(told + np.cumsum(are_orders)[kinds == Kind.SNAPSHOT])
        kept.append(_chosen(reading.rows, are_orders))
        told += len(kept[-1])
        if reading.whole:
            break
        reading = reader.go_on()
    return np.concatenate(kept).view(ROW).ravel(), np.concatenate([*starts, [told]])


def _chosen(rows: Rows, which: Array) -> Array:
    return _words(rows)[which]


def _words(rows: Rows) -> Array:
    """As words: numpy copies fields of rows one by one."""
    words: Array = rows.view(np.int64).reshape(len(rows), ROW_SIZE // 8)
    return words
