"""Rows that wait for a snapshot: one bounded pool, a chain for each instrument.

Slots are taken in order and given back all at once: when nothing is held any more, or when the pool is
full and all that is held is dropped. In between a healed instrument's slots go to a list of free ones.
`kernels` has the same functions; the pool's block and slots are shared.
"""

from collections.abc import Iterator
from typing import Any, Final, Protocol

import numpy as np

from pregao.model.packets import Int64s
from pregao.model.records import record
from pregao.model.rows import ROW, Kind, Rows
from pregao.recovery.instruments import NOBODY, Sync, VerifiedPart

# Fields of the pool's block, as byte offsets.
POOL_ROWS, POOL_NEXTS, POOL_FREE, POOL_USED, POOL_SIZE, POOL_COUNT = range(0, 48, 8)
_BLOCK_WORDS: Final = 8
# In place of a rptSeq.
STARTS_AGAIN: Final = 0
NO_REPORT_HELD: Final = -1

Links = np.ndarray[tuple[int], np.dtype[np.int32]]


class HeldRows:
    """The pool. `push` says False when it is full: whoever pushes then drops everything."""

    def __init__(self, rows: int) -> None:
        self.rows: Rows = np.empty(rows, ROW)
        self.nexts: Links = np.empty(rows, np.int32)
        self.block: Int64s = np.zeros(_BLOCK_WORDS, np.int64)
        self._set(POOL_ROWS, self.rows.ctypes.data)
        self._set(POOL_NEXTS, self.nexts.ctypes.data)
        self._set(POOL_SIZE, rows)
        self._set(POOL_FREE, NOBODY)

    @property
    def address(self) -> int:
        return int(self.block.ctypes.data)

    @property
    def count(self) -> int:
        return self._get(POOL_COUNT)

    def push(self, record: Any, row: Any) -> bool:
        slot = self._get(POOL_FREE)
        if slot != NOBODY:
            self._set(POOL_FREE, int(self.nexts[slot]))
        elif self._get(POOL_USED) < self._get(POOL_SIZE):
            slot = self._get(POOL_USED)
            self._set(POOL_USED, slot + 1)
        else:
            return False
        self.rows[slot] = row
        self.nexts[slot] = NOBODY
        if record["head"] == NOBODY:
            record["head"] = slot
        else:
            self.nexts[int(record["tail"])] = slot
        record["tail"] = slot
        record["held"] += 1
        self._set(POOL_COUNT, self.count + 1)
        return True

    def chain(self, record: Any) -> Iterator[Any]:
        """The rows held of an instrument, oldest first."""
        slot = int(record["head"])
        while slot != NOBODY:
            yield self.rows[slot]
            slot = int(self.nexts[slot])

    def first_report_after(self, record: Any, at: int) -> int:
        """rptSeq of the first row held that stands after a place and counts; STARTS_AGAIN when that is an
        EmptyBook, NO_REPORT_HELD when there is none. Chains are long: the program asks the kernel."""
        for row in self.chain(record):
            if row["at"] > at:
                if row["kind"] == Kind.EMPTY_BOOK:
                    return STARTS_AGAIN
                if row["rpt_seq"] > 0:
                    return int(row["rpt_seq"])
        return NO_REPORT_HELD

    def forget(self, record: Any) -> None:
        """The chain's slots are free again."""
        if record["head"] == NOBODY:
            return
        self.nexts[int(record["tail"])] = self._get(POOL_FREE)
        self._set(POOL_FREE, int(record["head"]))
        self._set(POOL_COUNT, self.count - int(record["held"]))
        record["head"] = record["tail"] = NOBODY
        record["held"] = 0

    def forget_all(self, sync: Sync) -> int:
        """Everything; how many rows there were."""
        count = self.count
        sync["head"] = NOBODY
        sync["tail"] = NOBODY
        sync["held"] = 0
        self._set(POOL_FREE, NOBODY)
        self._set(POOL_USED, 0)
        self._set(POOL_COUNT, 0)
        return count

    def _get(self, field: int) -> int:
        return int(self.block[field >> 3])

    def _set(self, field: int, value: int) -> None:
        self.block[field >> 3] = value


# What a channel's machine asks of whoever keeps the books, and what it is told of a snapshot.
#
# `index` is the instrument's number in the machine's table, from 0 without holes: books and statistics may be
# kept in arrays by it.


@record
class SnapshotHeader:
    """SnapshotFullRefresh_Header (7.2). `version` is None below wire version 15; `rpt_seq` 0: there is
    none (7.4.1)."""

    security_id: int
    number: int  # lastMsgSeqNumProcessed
    version: int | None  # lastSequenceVersion
    rpt_seq: int
    reports: int  # totNumReports
    counted: int  # orders and statistics that follow

    @property
    def alone(self) -> bool:
        """Of an instrument just emptied or deleted (7.2): it tells of the book, and leaves out statistics."""
        return self.counted == 0 and self.rpt_seq == 0


class Keeper(Protocol):
    """Keeps books and statistics by the machine's orders."""

    def clear_book(self, index: int) -> None:
        """The book is empty. Statistics stay."""

    def clear_statistics(self, index: int) -> None:
        """There are none: no prices, bands, imbalance, state of its own."""

    def load_snapshot(self, index: int, parts: VerifiedPart) -> None:
        """The snapshot that was just received whole replaces these parts."""

    def apply_held(self, index: int, after_at: int, parts: VerifiedPart) -> None:
        """Apply the rows of these parts that `machine.held` has of it and that stand after a place.

        A book row is of `Part.BOOK`, all others of `Part.STATISTICS` (`instruments.part_of`).
        """

    def catch_up(self) -> None:
        """Apply what was put off, rows that wait for the end of their event: what comes next concerns
        everything."""

    def lost(self, at: int) -> None:
        """Some packets up to this place are lost, or nobody knows."""

    @property
    def phases_sought(self) -> int:
        """Groups of instruments whose phase the snapshot stream has yet to tell: it belongs to no instrument,
        and is told at the beginning of a loop (7.4)."""
