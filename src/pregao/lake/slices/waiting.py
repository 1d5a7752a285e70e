"""Snapshots that wait for their places, as kernels look through them (`slices.snapshots`)."""

from typing import Any, Final

import numpy as np

from pregao.kernel_context import Context
from pregao.lake.plan.index import Array
from pregao.lake.plan.units import NOWHERE
from pregao.lake.slices.findings import Findings
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE
from pregao.lake.slices.kernels.snapshots import MATCHED, RECORD_FIELDS, TOLD_FIELDS, settle_until
from pregao.lake.slices.loops import LoadedLoop

NEVER: Final = (1 << 63) - 1
# What happens at one place, in this order; snapshots of it are last.
LOAD, LOST, CONFLICTING, BEGUN, ABSENT = range(5)
_RECORD: Final = np.dtype([(name, "<i8") for name in RECORD_FIELDS])


class Waiting:
    """`emitted`: from which place to which what is found is told."""

    def __init__(self, books: int, sync: Array, findings: Findings, emitted: tuple[int, int]) -> None:
        self._books, self._sync = books, sync
        self._findings, self._emitted = findings, emitted
        self._records: Array = np.zeros(0, _RECORD)
        self._loops: dict[int, LoadedLoop] = {}  # those that records are of
        self._context = Context(TOLD_FIELDS)
        self._context.set(records=self._records, other_at=NEVER)
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
        matched = (done["outcome"] == MATCHED) & (done["place"] >= first) & (done["place"] < stop)
        loops, counts = np.unique(done["loop"][matched], return_counts=True)
        for loop, count in zip(loops.tolist(), counts.tolist(), strict=True):
            self._findings.count(loop, "matches", count)
        self._put(self._records[self._context["next"] :])
        waiting = set(self._records["loop"].tolist())
        self._loops = {number: loaded for number, loaded in self._loops.items() if number in waiting}

    def _put(self, records: Array) -> None:
        self._records = np.ascontiguousarray(records)
        self._context.set(records=self._records, count=len(records), next=0)
