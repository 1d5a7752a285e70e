"""Rows by the table they go to, in memory that kernels append to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.lake.plan.index import Array
from pregao.lake.slices.kernels.books import NO_TABLE
from pregao.model.rows import ROW, Kind, Rows

if TYPE_CHECKING:
    from pregao.lake.slices.machine import SliceMachine

# What a slice has to say of the quality of its data: few rows, sent back to whoever writes the table.


Finding = dict[str, Any]
MOST: Final = 100_000  # of one slice


@dataclass(slots=True)
class SliceFindings:
    """`loops` counts what was found of the snapshots of each loop; a loop may lie in two slices."""

    rows: list[Finding] = field(default_factory=list)
    loops: dict[int, Counter[str]] = field(default_factory=dict)
    left_out: int = 0

    def add(self, place: int, machine: "SliceMachine", finding: str, **columns: Any) -> None:
        of_nobody = columns.get("security_id") is None
        if not machine.emits(place) or (of_nobody and not machine.slice.is_first_shard):
            return
        if len(self.rows) >= MOST:
            self.left_out += 1
            return
        packet = machine.packet_at(place)
        sent = int(machine.merged.sent[packet]) if packet >= 0 else None
        self.rows.append({"place": place, "finding": finding, "ts_event": sent, **columns})

    def told(self) -> list[Finding]:
        """All rows, and one that says how many more there were."""
        if not self.left_out:
            return self.rows
        last = self.rows[-1]
        more = {
            "place": last["place"], "finding": "OTHER", "severity": "WARNING", "ts_event": last["ts_event"],
            "count": self.left_out, "detail": f"findings left out: a slice tells {MOST:,} at most",
        }  # fmt: skip
        return [*self.rows, more]

    def count(self, loop: int, what: str, times: int = 1) -> None:
        self.loops.setdefault(loop, Counter())[what] += times

    def conflict(self, place: int, machine: "SliceMachine") -> None:
        self.add(place, machine, "FEEDS_DIFFER", severity="ERROR", stream="INCREMENTAL", count=1,
                 detail="the same sequence number with other messages")  # fmt: skip

    def seam(self, machine: "SliceMachine") -> None:
        """Where a day goes on from the one before: how many packets are missing between them."""
        if not len(machine.merged):
            return
        first, before = int(machine.merged.place[0]), machine.slice.warm
        lost = first - before - 1
        self.add(first, machine, "SEAM", severity="WARNING" if lost else "INFO", stream="INCREMENTAL",
                 first_seq_num=before, last_seq_num=first, count=lost,
                 detail="begins with the books that the day before ended with")  # fmt: skip

    def damaged(self, place: int, detail: str, index: int, machine: "SliceMachine") -> None:
        self.add(place, machine, "DAMAGED_INPUT", severity="ERROR", stream="INCREMENTAL", msg_index=index,
                 count=1, detail=detail)  # fmt: skip

    def unknown(self, place: int, detail: str, index: int, machine: "SliceMachine") -> None:
        """A value that nobody knows, or an entry that nobody can read and that is no book's."""
        self.add(place, machine, "UNKNOWN_VALUE", severity="WARNING", stream="INCREMENTAL", msg_index=index,
                 count=1, detail=detail)  # fmt: skip


ORDERS, TRADES, EXECUTIONS, STATISTICS, BANDS, IMBALANCES, STATES, INDICES, VOLATILITIES = range(9)
_KINDS: Final[dict[int, tuple[Kind, ...]]] = {
    ORDERS: (Kind.ORDER, Kind.SIDE, Kind.EMPTY_BOOK, Kind.CHANNEL_RESET, Kind.SNAPSHOT_ORDER),
    TRADES: (Kind.TRADE, Kind.BUST),
    EXECUTIONS: (Kind.EXECUTION,),
    STATISTICS: (
        Kind.TOTALS, Kind.OPENING, Kind.THEORETICAL, Kind.CLOSING, Kind.HIGH, Kind.LOW, Kind.LAST_TRADE,
        Kind.SETTLEMENT, Kind.OPEN_INTEREST, Kind.VWAP,
    ),
    BANDS: (Kind.PRICE_BAND, Kind.QUANTITY_BAND),
    IMBALANCES: (Kind.IMBALANCE,),
    STATES: (Kind.STATE, Kind.PHASE),
    INDICES: (Kind.INDEX, Kind.COMPOSITE, Kind.COMPOSITE_PART),
    VOLATILITIES: (Kind.VOLATILITY,),
}  # fmt: skip
_FIRST_ROWS: Final = 1 << 10


class RowBuffers:
    """Before a kernel is called, `reserve` makes sure that no table can run out of room."""

    def __init__(self, orders: int = 0, *, with_orders: bool = True) -> None:
        """`orders`: how many there may be at most. Memory that is never written to costs nothing, and
        to grow means to copy. Not `with_orders`: books are told as price levels, which have no rows."""
        self._rows: list[Rows] = [np.empty(_FIRST_ROWS, ROW) for _ in _KINDS]
        self._rows[ORDERS] = np.empty(max(orders, _FIRST_ROWS), ROW)
        self.table = np.zeros((len(_KINDS), 2), np.int64)  # address and count of each
        self.table_of_kind = np.full(256, NO_TABLE, np.uint8)
        for table, kinds in _KINDS.items():
            if table != ORDERS or with_orders:
                self.table_of_kind[list(kinds)] = table
        for table in _KINDS:
            self.table[table, 0] = self._rows[table].ctypes.data

    def reserve(self, rows: int) -> int:
        """Room for so many more in each; by how far the executions have moved."""
        moved = [self._grow(table, rows) for table in range(len(self._rows))]
        return moved[EXECUTIONS]

    def _grow(self, table: int, rows: int) -> int:
        held, count = self._rows[table], int(self.table[table, 1])
        if count + rows <= len(held):
            return 0
        grown = np.empty(max(2 * len(held), count + rows), ROW)
        grown[:count] = held[:count]
        self._rows[table] = grown
        before, self.table[table, 0] = int(self.table[table, 0]), grown.ctypes.data
        return int(self.table[table, 0]) - before

    def append(self, table: int, rows: Rows) -> None:
        """Of any table but executions, which must not move while one is going on."""
        self._grow(table, len(rows))
        count = int(self.table[table, 1])
        self._rows[table][count : count + len(rows)] = rows
        self.table[table, 1] = count + len(rows)

    def address(self, table: int) -> int:
        """Of its first row."""
        return int(self.table[table, 0])

    def append_by_kind(self, rows: Rows) -> None:
        """Each to the table of its kind."""
        tables = self.table_of_kind[rows["kind"]]
        for table in np.unique(tables[tables != NO_TABLE]).tolist():
            self.append(table, rows[tables == table])

    def count(self, table: int) -> int:
        return int(self.table[table, 1])

    def rows(self, table: int) -> Rows:
        return self._rows[table][: self.count(table)]

    def take_last(self, table: int) -> Rows:
        """The last row of a table, which goes."""
        self.table[table, 1] -= 1
        last: Rows = self._rows[table][self.count(table) :][:1].copy()
        return last

    def clear(self) -> None:
        """All tables are empty; their memory is used again. No execution may be going on."""
        self.table[:, 1] = 0


@dataclass(slots=True)
class Stretch:
    """What a slice tells between two moments. It lies in memory that the next stretch needs."""

    buffers: RowBuffers
    quotes: Array
    samples: Array  # SAMPLE_WORDS each
    checkpoints: dict[str, list[Rows]]  # by anchor
    ends_window: bool  # all is told of the machine's packets
