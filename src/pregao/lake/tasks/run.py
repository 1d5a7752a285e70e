"""Builds one slice and writes its Parquet files. Runs under Spark, in processes or inline."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Final

import numpy as np

from pregao.feeds.registry import load_system
from pregao.lake.plan.fingerprints import CarriedBooks
from pregao.lake.plan.slicing import Slice
from pregao.lake.runners import without_collector
from pregao.lake.slices import buffers as b
from pregao.lake.slices.feeds import Merged, merge_windows
from pregao.lake.slices.machine import SliceMachine
from pregao.lake.store.files import DataFile, FileWriter
from pregao.lake.store.location import Location
from pregao.lake.tables import instruments as book_tables
from pregao.lake.tables import messages as message_tables
from pregao.lake.tables.arrays import TooLargeError
from pregao.lake.tables.table import Table
from pregao.lake.tasks import indices, messages
from pregao.lake.tasks.books import checkpoints_table, depth_tables, orders_tables, quotes_table, read_stored
from pregao.lake.tasks.lineage import Lineage
from pregao.lake.tasks.packets import PacketColumns, count_latencies, packets_tables
from pregao.model.errors import PregaoError

STRETCH_ORDERS: Final = 1 << 20  # rows of orders after which those in memory are written


class TooLargeInMessageError(PregaoError):
    """Which table and slice has a number that its column cannot hold."""


@dataclass(slots=True)
class SliceDone:
    """What a task sends back. `seconds` by step."""

    files: list[DataFile] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    stored_findings: Any = None  # where they are (`shared_parts.Range`), if they are many
    loops: dict[int, dict[str, int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    unnamed: list[int] = field(default_factory=list)  # ids of which no definition is known
    latency: list[Any] = field(default_factory=list)  # of its packets, counted: see `latencies.histograms`
    ends: CarriedBooks | None = None  # of the last slice of a unit


_ROW_TABLES: Final[tuple[tuple[int, Table, Callable[..., Any]], ...]] = (
    (b.ORDERS, message_tables.ORDERS, orders_tables),
    (b.TRADES, message_tables.TRADES, messages.trades_table),
    (b.EXECUTIONS, message_tables.EXECUTIONS, messages.executions_table),
    (b.STATISTICS, message_tables.STATISTICS, messages.statistics_table),
    (b.BANDS, message_tables.BANDS, messages.bands_table),
    (b.IMBALANCES, message_tables.IMBALANCES, messages.imbalances_table),
    (b.STATES, message_tables.STATES, messages.states_table),
    (b.STATISTICS, message_tables.TOTALS, indices.totals_table),
    (b.INDICES, message_tables.INDICES, indices.indices_table),
    (b.VOLATILITIES, message_tables.VOLATILITIES, indices.volatilities_table),
)


def build_slice(slice_: Slice, location: Location, build_id: str) -> SliceDone:
    with without_collector():
        return _build(slice_, location, build_id)


def _build(slice_: Slice, location: Location, build_id: str) -> SliceDone:
    done = SliceDone()
    clock = StepClock(done.seconds)
    windows = _timed(merge_windows(slice_), clock)
    merged = next(windows)
    stored = None if slice_.begins is None else read_stored(location, slice_.begins, slice_.scales)
    machine = SliceMachine(slice_, merged, stored, more=windows)
    del merged  # the machine has one window at a time
    target = SliceTarget(slice_, location, done, clock)
    for stretch in machine.stretches(STRETCH_ORDERS):
        clock.lap("books")
        lineage = Lineage.of(slice_, machine.merged, machine.store, build_id)
        write_stretch(target, stretch, lineage)
        if stretch.ends_window and slice_.is_first_shard:
            write_packets(target, machine, lineage)
    _write_rest(target, machine, lineage)
    done.findings = machine.findings.told()
    done.loops = {loop: dict(counts) for loop, counts in machine.findings.loops.items()}
    return done


def _timed(windows: Iterator[Merged], clock: "StepClock") -> Iterator[Merged]:
    while True:
        clock.lap("books")
        merged = next(windows, None)
        clock.lap("read")
        if merged is None:
            return
        yield merged
        merged = None  # its memory goes before there is another


class StepClock:
    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds, self._since = seconds, perf_counter()

    def lap(self, step: str) -> None:
        now = perf_counter()
        self._seconds[step] = self._seconds.get(step, 0.0) + now - self._since
        self._since = now


@dataclass(slots=True)
class SliceTarget:
    slice: Slice
    location: Location
    done: SliceDone
    clock: StepClock

    def write(self, table: Table, make: Callable[[], Any]) -> None:
        """`make` gives all rows, or an iterator of parts of them in the order of the file."""
        try:
            self._write(table, make)
        except TooLargeError as error:
            where = f"channel {self.slice.channel} of {self.slice.trade_date}, slice {self.slice.number}"
            raise TooLargeInMessageError(f"{where}, table {table.name}: {error}") from error

    def _write(self, table: Table, make: Callable[[], Any]) -> None:
        made = make()
        writers: list[FileWriter] = []
        self.done.counts.setdefault(table.name, 0)
        with ExitStack() as closing:
            for rows in made if isinstance(made, Iterator) else (made,):
                self.clock.lap("columns")
                self.done.counts[table.name] += rows.num_rows
                if rows.num_rows:
                    if not writers or not writers[-1].can_hold(rows):
                        writers.append(closing.enter_context(self._writer(table, rows)))
                    writers[-1].write(rows)
                self.clock.lap("parquet")
        self.done.files += [writer.file for writer in writers]
        self.clock.lap("parquet")

    def _writer(self, table: Table, first: Any) -> FileWriter:
        """`first`: the rows that it begins with."""
        return FileWriter(
            self.location, table, self.slice.key.partition, label=f"slice-{self.slice.number:04}",
            schema=first.schema, expected_rows=first.num_rows,
        )  # fmt: skip


def write_stretch(target: SliceTarget, stretch: b.Stretch, lineage: Lineage) -> None:
    for buffer, table, make in _ROW_TABLES:
        target.write(table, partial(make, stretch.buffers.rows(buffer), lineage))
    target.write(book_tables.QUOTES, partial(quotes_table, stretch.quotes, lineage))
    target.write(book_tables.DEPTH, partial(depth_tables, stretch.samples, lineage))
    target.write(book_tables.BOOK_CHECKPOINTS, partial(checkpoints_table, stretch.checkpoints, lineage))


def _write_rest(target: SliceTarget, machine: SliceMachine, lineage: Lineage) -> None:
    """What is known when the slice is done. What the day ends with is a file of its own: the next day begins
    with it."""
    done, ending = target.done, machine.ending
    done.unnamed = lineage.unnamed()
    if ending is not None:
        before = len(done.files)
        target.write(
            book_tables.BOOK_CHECKPOINTS, partial(checkpoints_table, {"STORED": [ending.rows]}, lineage)
        )
        done.ends = replace(ending.carried, files=tuple(done.files[before:]))


def _messages(slice_: Slice, addresses: Any, lengths: Any) -> Any:
    """How many each unit has; of a session a unit is one."""
    return 1 if slice_.source else load_system(slice_.system).inspector().count(addresses, lengths)


def write_packets(target: SliceTarget, machine: SliceMachine, lineage: Lineage) -> None:
    done = target.done
    merged = machine.merged
    new = slice(merged.carried, None)
    told = np.zeros(len(merged), np.int64)
    told[new] = _messages(machine.slice, merged.address[new], merged.length[new].astype(np.uint32))
    packets = PacketColumns.of(merged, machine.first_rows, lineage)
    target.write(message_tables.PACKETS, partial(packets_tables, packets, told, lineage))
    done.latency += count_latencies(packets, lineage)
    target.clock.lap("latency")
    done.counts["messages"] = done.counts.get("messages", 0) + int(told[packets.numbers].sum())
