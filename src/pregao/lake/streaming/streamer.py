"""A micro-batch: new captures in, one commit of the lake out.

    streamer = Streamer(Location("lake"), SparkRunner(spark), Path("checkpoint"))
    streamer.advance([look(path)])             # rows up to the place that all streams have passed
    streamer.advance([], finish=True)          # all that there is, as `build` would have it

All state is in the lake: a unit's row says which captures it was made from and how far, and changes in the
same commit as its rows. So a batch that is run again does nothing, whoever asks for it and whatever was
lost besides. What a late capture changes is found by digests, and built again from the last place before
it at which a slice can begin.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq

from pregao.io.clock import WallClock
from pregao.lake.deriving import derive_units
from pregao.lake.errors import LakeConflictError, named
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.scanning import IndexStore
from pregao.lake.plan.stored import Stored
from pregao.lake.plan.unit_plan import PLAN
from pregao.lake.runners import Runner, described
from pregao.lake.shared_parts import SharedParts
from pregao.lake.state import UNIT_LABEL, LakeState, write_units
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.location import Location
from pregao.lake.streaming.indexes import IndexCache, LeftOut
from pregao.lake.streaming.joining import Joiner, Upkeep
from pregao.lake.streaming.planning import Planner, Quarantined, RecentUnits, Rows
from pregao.lake.streaming.source import BatchReport, Latency, StreamSettings
from pregao.lake.streaming.state import StreamState
from pregao.lake.streaming.step_tables import unit_row, write_step_tables
from pregao.lake.streaming.steps import (
    ANALYTICS,
    UnitStep,
    awaits_deriving,
    changed_row,
    label_of,
)
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.plan_tables import findings_table
from pregao.lake.tasks.run import SliceDone
from pregao.lake.unit_work import build_packed

# How long it took from a packet to its row.


_COLUMNS: Final = ("ts_recv_a", "ts_recv_b")
_NEVER: Final = (1 << 63) - 1
_FAR_NS: Final = 3600 * 1_000_000_000  # packets of another day: captures that are played again


def latency(
    location: Location, adds: Iterable[DataFile], files: Iterable[Stored], now_ns: int
) -> Latency | None:
    """None: the batch has no packets, or there is nothing to compare them with."""
    heard = [_first_heard(location, file) for file in adds if file.table == "packets"]
    times = np.concatenate([np.zeros(0, np.int64), *heard])
    if not len(times):
        return None
    newest_ns = now_ns - int(times.max())
    if 0 <= newest_ns < _FAR_NS:
        slowest = np.percentile(now_ns - times, 99, method="higher")
        return Latency(newest_ns, int(slowest), of_files=False)
    written = [int(file.version) for file in files if file.version.isdigit()]
    return Latency(now_ns - max(written), now_ns - min(written), of_files=True) if written else None


def _first_heard(location: Location, file: DataFile) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """When the faster feed had each packet."""
    with (
        named(location.full(file.table, file.path)),
        location.filesystem.open_input_file(location.path(file.table, file.path)) as opened,
    ):
        table = pq.ParquetFile(opened).read(columns=list(_COLUMNS))
    a, b = (table[name].fill_null(_NEVER).to_numpy().astype(np.int64) for name in _COLUMNS)
    first = np.minimum(a, b)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = first[first != _NEVER]
    return found


_ATTEMPTS: Final = 3


def _silent(done: int, total: int) -> None:
    return


def _nothing(step: str) -> None:
    return


@dataclass(slots=True)
class _Batch:
    """What is gathered on the way to its commit. `waiting` are rows of units whose computed tables are
    behind, though nothing else of them changes now."""

    before: LakeState
    steps: list[UnitStep]
    waiting: list[dict[str, Any]]
    build_id: str = field(default_factory=lambda: uuid4().hex[:16])
    adds: list[DataFile] = field(default_factory=list)
    removes: list[DataFile] = field(default_factory=list)
    inputs: list[DataFile] = field(default_factory=list)  # of computed tables

    @property
    def keys(self) -> list[UnitKey]:
        return [step.planned.key for step in self.steps]

    def stays(self, live: list[DataFile]) -> None:
        """Files of a unit that are what its computed tables are made from; those themselves go."""
        for file in live:
            (self.removes if label_of(file) == ANALYTICS else self.inputs).append(file)


class Streamer:
    """`after` is called after each step of a commit: tests die there."""

    def __init__(
        self, location: Location, runner: Runner, checkpoint: Path, settings: StreamSettings | None = None,
        *, after: Callable[[str], None] = _nothing,
    ) -> None:  # fmt: skip
        location = location.remembering()
        self._location, self._runner, self._after = location, runner, after
        self._settings = chosen = settings or StreamSettings()
        scan = ScanSettings(chosen.map, chosen.scratch, chosen.piece_packets, chosen.system)
        self._recent = RecentUnits()
        self._indexes = IndexCache(checkpoint, runner, scan, IndexStore(location, scan))
        joiner = Joiner(Committer(location, after), chosen.join, runner)
        self._upkeep = Upkeep(location, self._indexes, joiner, chosen, self._recent)
        self._clock = WallClock()
        self._derived_ns = self._clock.now_ns()
        self._is_behind = True  # computed tables; who knows what was left

    def advance(
        self, files: Sequence[Stored], *, finish: bool = False, note: Mapping[str, Any] | None = None
    ) -> BatchReport:
        """`finish`: up to the last packet, without waiting for any stream. `note` goes with the commit."""
        with described("stream"):
            report = latest = self._try(files, finish, note or {})
            while latest.postponed and latest.units:  # what the other days waited for is there now
                latest = self._try([], finish, note or {})
                report.add(latest)
        return report

    def _try(self, files: Sequence[Stored], finish: bool, note: Mapping[str, Any]) -> BatchReport:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._advance(files, finish, note)
            except LakeConflictError:  # somebody else has changed the lake: look again
                continue
        return self._advance(files, finish, note)

    def is_due(self) -> bool:
        """Whether computed tables are to be made again, which `advance` does when there are no new rows:
        those need not wait for it."""
        if not self._settings.derive or not self._is_behind:
            return False
        return self._clock.now_ns() - self._derived_ns >= self._settings.derive_every_ns

    def _advance(self, files: Sequence[Stored], finish: bool, note: Mapping[str, Any]) -> BatchReport:
        began = perf_counter()
        before = LakeState.recovered(
            self._location, self._settings.system, after=self._after, known=self._recent.known
        )
        rows: Rows = self._recent.rows(before)
        report = BatchReport(before.version.number, len(files))
        old = self._recent.old_inputs
        report.left_out = self._indexes.add(file for file in files if file not in old)
        planner = Planner(self._indexes, self._settings, before, rows)
        steps = planner.steps(finish=finish)
        quarantined = self._new_findings(planner, before, report)
        report.postponed = planner.postponed
        derives = self._derives(steps, finish=finish)
        keys = {step.planned.key for step in steps}
        waiting = [row for key, row in rows.items() if key not in keys] if derives else []
        batch = _Batch(before, steps, awaits_deriving(waiting))
        if batch.steps or batch.waiting or quarantined:
            self._build(batch, report)
            batch.adds += self._quarantine_files(quarantined, batch.build_id)
            if derives:
                self._derive(batch)
            self._commit(batch, note, report)
            report.latency = latency(self._location, batch.adds, files, self._clock.now_ns())
            report.derived = derives
        self._is_behind = not derives and (self._is_behind or bool(steps))
        report.compacted = self._upkeep.after(report.version, report.units)
        report.seconds = perf_counter() - began
        return report

    def _derives(self, steps: list[UnitStep], *, finish: bool) -> bool:
        """A unit that is finished has all its tables."""
        if not self._settings.derive:
            return False
        return finish or any(step.is_finished for step in steps) or (not steps and self.is_due())

    def _new_findings(self, planner: Planner, before: LakeState, report: BatchReport) -> list[Quarantined]:
        """Units that are left as they are, where the lake does not say so yet. Captures that are of no other
        unit are forgotten: nothing can be made of them."""
        found = []
        for key, each in planner.quarantined.items():
            report.left_out += [LeftOut(path, each.reason) for path in each.late]
            self._indexes.forget(each.late)
            if each.reason not in before.details(key):
                found.append(each)
        return found

    def _quarantine_files(self, quarantined: list[Quarantined], build_id: str) -> list[DataFile]:
        return [
            write_file(
                self._location, QUALITY, each.unit.key.partition,
                findings_table(each.unit, [each.finding], {}, build_id), label=PLAN,
            )
            for each in quarantined
        ]  # fmt: skip

    # Rows

    def _build(self, batch: _Batch, report: BatchReport) -> None:
        task = partial(build_packed, location=self._location, build_id=batch.build_id)
        with SharedParts(self._location, batch.build_id) as shared:
            for step in batch.steps:
                if step.slices:
                    shared.store(step.planned.symbols, step.planned.loops, step.planned.arrays)
            packed = [shared.pack(slice_) for step in batch.steps for slice_ in step.slices]
            with described(f"{len(batch.steps)} units in {len(packed)} slices"):
                done: list[SliceDone] = self._runner.run(task, packed, _silent)
        for each in done:
            for name, count in each.counts.items():
                report.counts[name] = report.counts.get(name, 0) + count
        rest = iter(done)
        steps = [(step, [next(rest) for _ in step.slices]) for step in batch.steps]
        tables = write_step_tables(steps, self._location, batch.build_id, self._runner)
        for (step, mine), told in zip(steps, tables, strict=True):
            batch.adds += [*(file for each in mine for file in each.files), *told]
            batch.removes += step.removes
            report.rebuilt += step.rebuilt
            report.units.append(step.planned.key)
            if step.is_finished:
                report.finished.append(step.planned.key)
        report.horizon_ns = min((step.horizon_ns for step in batch.steps), default=None)
        batch.inputs = list(batch.adds)

    def _derive(self, batch: _Batch) -> None:
        for step in batch.steps:
            batch.stays(step.kept)
            step.state.derived = True
        for row in batch.waiting:
            live = batch.before.files_of([UnitKey.of_row(row)])
            batch.stays([file for file in live if label_of(file) != UNIT_LABEL])
            batch.removes += [file for file in live if label_of(file) == UNIT_LABEL]
        keys = batch.keys + [UnitKey.of_row(row) for row in batch.waiting]
        made, replaced = derive_units(
            self._runner, batch.before, batch.inputs, keys, self._settings.bars, batch.build_id, _silent
        )
        batch.adds += made
        batch.removes += replaced
        self._derived_ns = self._clock.now_ns()

    def _commit(self, batch: _Batch, note: Mapping[str, Any], report: BatchReport) -> None:
        rows = [unit_row(step, self._settings, batch.build_id) for step in batch.steps]
        rows += [_derived(row) for row in batch.waiting]
        batch.adds += write_units(self._location, rows)
        version = batch.before.commit("stream", batch.build_id, batch.adds, batch.removes, batch.keys, note)
        report.version = version.number


def _derived(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a unit of which only computed tables have changed."""
    state = StreamState.of_plan(row["plan"])
    assert state is not None
    state.derived = True
    return changed_row(row, state)
