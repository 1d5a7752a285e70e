"""Captures played again: packets of any number of files, in recorded time order over all of them.

    replay = Replay(paths, channels=load_channel_map("channels.toml"))
    for batch in replay:                       # a PacketBatch, valid until the next
        replay.sources[batch.source[0]].id     # channel, stream and feed of its first packet

    for batch in Replay(paths, speed=1.0):     # at the pace of the recording; 10.0: ten times as fast
        ...

A file whose times go backwards a little stays in its own order. Rotated files are opened when their time
comes and closed behind it, so memory depends on how many overlap, not on how many there are.
"""

from bisect import insort
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from pregao.captures.decoded import Finding
from pregao.captures.kernels import (
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
from pregao.captures.replay_runs import FileRuns, PacketRun, ReplayFindings, ReplaySource, Sources
from pregao.feeds.registry import DEFAULT
from pregao.io.clock import Metronome
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import ConfigurationError
from pregao.model.packets import PacketBatch, empty_batch

__all__ = ["Replay", "ReplayClock", "ReplaySource"]

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


BATCH_PACKETS = 4096
BATCH_BYTES = 4 << 20
_LONGEST_DATAGRAM = 65_535
_GLANCE = 64 * 1024  # decompressed to find a file's first packet
_FIRST_OF_ALL = -(1 << 63)


class ReplayClock(Protocol):
    """Time that a replay goes by: `io.clock.Metronome`, or a test's."""

    def now_ns(self) -> int: ...
    def wait_until(self, due_ns: int) -> None: ...


class Replay:
    """Iterate once. `speed` 0: as fast as possible; otherwise how many times as fast as recorded.

    Every file is opened once at the start, to see that it can be and when it begins: CaptureError. What
    is wrong inside is in `findings`. A batch is valid until the next is asked for.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        channels: ChannelMap | None = None,
        speed: float = 0.0,
        pace: ReplayClock | None = None,
        packets: int = BATCH_PACKETS,
        buffer_size: int = BATCH_BYTES,
        system: str = DEFAULT,
    ) -> None:
        if not 0.0 <= speed < float("inf"):
            raise ConfigurationError(f"must be 0 or more, not {speed}", key="speed")
        self.speed = speed
        self._pace = pace or Metronome()
        files = [str(path) for path in paths]
        self._sources, self._findings = Sources(files, channels, system), ReplayFindings()
        self._batch = empty_batch(packets, max(buffer_size, _LONGEST_DATAGRAM))
        self._merge = Merge([self._waiting(order, file) for order, file in enumerate(files)])
        self._origin: tuple[int, int] | None = None  # a recorded time, and when it was played

    @property
    def sources(self) -> list[ReplaySource]:
        """What `source` of a batch counts; more are added as they are met, never changed."""
        return self._sources.all

    @property
    def untold(self) -> list[str]:
        """Packets that are of no stream, for all that can be told: a line for each flow."""
        return self._sources.streams.untold

    @property
    def findings(self) -> list[Finding]:
        """What was wrong so far, the first thousand."""
        return self._findings.kept

    @property
    def finding_count(self) -> int:
        return self._findings.count

    def next_ns(self) -> int | None:
        """The recorded time of the next packet; None at the end."""
        return self._merge.next_key()

    def take(self, before_ns: int = NEVER) -> PacketBatch:
        """Packets recorded before a time, as many as a batch holds; for who has a clock of their own."""
        self._merge.fill(self._batch, before_ns)
        return self._batch

    def __iter__(self) -> Iterator[PacketBatch]:
        with closing(self._merge):
            while (next_ns := self._merge.next_key()) is not None:
                batch = self.take(self._due(next_ns))
                if batch.count:
                    yield batch

    def _due(self, next_ns: int) -> int:
        """Wait for the next packet; the recorded time up to which packets are due then."""
        if not self.speed:
            return NEVER
        if self._origin is None:
            self._origin = next_ns, self._pace.now_ns()
        recorded_ns, played_ns = self._origin
        self._pace.wait_until(played_ns + int((next_ns - recorded_ns) / self.speed))
        passed = int((self._pace.now_ns() - played_ns) * self.speed)
        return max(recorded_ns + passed, next_ns) + 1  # all of that instant

    def _waiting(self, order: int, file: str) -> WaitingFile:
        sources = self._sources.of_file(file)

        def runs() -> Generator[PacketRun, None, None]:
            return FileRuns(file, sources, self._findings).runs()

        # At a glance only: what it finds wrong it will find again.
        with closing(FileRuns(file, sources, ReplayFindings(), packets=1).runs(_GLANCE)) as glance:
            first = next(glance, None)
            start_ns = _FIRST_OF_ALL if first is None else int(first.columns.key[0])
        return WaitingFile(start_ns, order, runs)
