"""Files merged: those whose time has come are open, each with a run; the kernel moves packets to batches."""

from bisect import insort
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np

from pregao.captures.replay.kernels import (
    BASE,
    END,
    ENDED_RUN,
    ENDED_TIME,
    FILE_SIZE,
    KEY,
    LENGTH,
    OFFSET,
    POSITION,
    SOURCE,
    TS,
    merge,
)
from pregao.captures.replay.runs import PacketRun
from pregao.model.packets import PacketBatch

NEVER = (1 << 63) - 1

Runs = Generator[PacketRun, None, None]


class WaitingFile(NamedTuple):
    """A file that is not open yet."""

    start_ns: int  # the key of its first packet
    order: int  # among the files; of equal keys the lower one goes first
    open: Callable[[], Runs]


class _Open:
    """A file that is open, and its run: kept here as long as the kernel has its addresses."""

    __slots__ = ("order", "row", "run", "runs")

    def __init__(self, order: int, runs: Runs) -> None:
        self.order, self.runs = order, runs
        self.row = np.zeros(FILE_SIZE // 8, np.int64)
        self.run: PacketRun | None = None

    @property
    def key(self) -> int:
        """Of the next packet."""
        assert self.run is not None
        return int(self.run.columns.key[self.row[POSITION // 8]])

    def refill(self) -> bool:
        """Get the next run; whether there was one."""
        self.run = next(self.runs, None)
        if self.run is None:
            return False
        columns = self.run.columns
        self.row[KEY // 8] = columns.key.ctypes.data
        self.row[TS // 8] = columns.ts.ctypes.data
        self.row[OFFSET // 8] = columns.offset.ctypes.data
        self.row[LENGTH // 8] = columns.length.ctypes.data
        self.row[SOURCE // 8] = columns.source.ctypes.data
        self.row[BASE // 8] = self.run.payloads.ctypes.data
        self.row[POSITION // 8], self.row[END // 8] = 0, self.run.count
        return True


class Merge:
    """All packets of all files, in order of their keys."""

    def __init__(self, files: list[WaitingFile]) -> None:
        self._waiting = sorted(files, key=lambda file: (file.start_ns, file.order), reverse=True)
        self._open: list[_Open] = []  # by order
        self._table = np.zeros((0, FILE_SIZE // 8), np.int64)  # their rows, for the kernel

    @property
    def open_files(self) -> int:
        return len(self._open)

    def next_key(self) -> int | None:
        """When the next packet is due; None when there is none any more."""
        while not self._open and self._waiting:
            self._open_next()
        keys = [file.key for file in self._open] + [file.start_ns for file in self._waiting[-1:]]
        return min(keys, default=None)

    def fill(self, batch: PacketBatch, before_ns: int = NEVER) -> None:
        """Replace what is in the batch by the next packets: as many as are due and have room."""
        row = used = 0
        while True:
            # No packet may go past the first of a file that is not open yet.
            start_ns = self._waiting[-1].start_ns if self._waiting else NEVER
            row, used, why, which = self._merge(batch, row, used, min(before_ns, start_ns))
            if why == ENDED_RUN:
                self._refill(which)
            elif why == ENDED_TIME and self._waiting and start_ns < before_ns:
                self._open_next()
            else:
                break
        batch.count = row

    def _merge(self, batch: PacketBatch, row: int, used: int, before_ns: int) -> tuple[int, int, int, int]:
        if not self._open:
            return row, used, ENDED_TIME, -1
        row, used, why, which = merge(
            self._table.ctypes.data, len(self._open), batch.buffer.ctypes.data, batch.offset.ctypes.data,
            batch.length.ctypes.data, batch.source.ctypes.data, batch.arrival_ns.ctypes.data,
            row, len(batch.offset), used, len(batch.buffer), before_ns,
        )  # fmt: skip
        return row, used, why, which

    def _open_next(self) -> None:
        waiting = self._waiting.pop()
        file = _Open(waiting.order, waiting.open())
        if file.refill():
            insort(self._open, file, key=lambda each: each.order)
            self._tabulate()

    def _refill(self, which: int) -> None:
        file = self._open[which]
        if not file.refill():
            del self._open[which]
            self._tabulate()

    def _tabulate(self) -> None:
        """The rows of open files side by side; each file keeps a view of its own."""
        rows = [file.row for file in self._open] or [np.zeros(FILE_SIZE // 8, np.int64)]
        self._table = np.stack(rows)
        for file, row in zip(self._open, self._table, strict=False):
            file.row = row

    def close(self) -> None:
        """Let go of files that are open."""
        for file in self._open:
            file.runs.close()
        self._open.clear()
        self._waiting.clear()
