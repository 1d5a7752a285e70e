"""Captures to a lake: plan, tasks, commit.

    report = Builder(Location("lake"), SparkRunner(spark)).build(["captures"])

Nothing of a trade date is seen before its commit, and everything after it. A unit whose inputs are what they
were is left alone; otherwise it is planned again and its rows are replaced.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Final
from uuid import uuid4

from pregao.lake.build_report import USUAL_BARS, BuildReport, BuildSettings, Forecast, UnitVerdict, left_out
from pregao.lake.deriving import derive_units
from pregao.lake.errors import LakeConflictError, StaleReadError
from pregao.lake.plan.fingerprints import (
    CODE_VERSION,
    SCHEMA_VERSION,
    UnitInput,
    digest_of,
    find_captures,
    from_json,
    unit_fingerprint,
)
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.scanning import Scanning, WantedCaptures, first_day
from pregao.lake.plan.unit_plan import start_of
from pregao.lake.plan.units import LakeUnit, find_units
from pregao.lake.reconciling import reconcile_units
from pregao.lake.runners import Runner, described
from pregao.lake.shared_parts import SharedParts
from pregao.lake.state import LakeState, UnitRow, write_units
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.tables.table import UnitKey
from pregao.lake.unit_work import (
    Refused,
    UnitWork,
    Unreadable,
    missing_inputs,
    plan_work,
    try_slice,
    try_to_scan,
    write_plan_tables,
)

__all__ = ["USUAL_BARS", "BuildReport", "BuildSettings", "Builder"]

OnProgress = Callable[[str, int, int], None]  # step, done, of how many
_ATTEMPTS: Final = 3
_WEEK: Final = timedelta(days=7)


def _silent(step: str, done: int, total: int) -> None:
    return


class Builder:
    def __init__(
        self, location: Location, runner: Runner, settings: BuildSettings | None = None, *,
        on_progress: OnProgress = _silent,
    ) -> None:  # fmt: skip
        self._location, self._runner = location.remembering(), runner
        self._settings, self._on_progress = settings or BuildSettings(), on_progress
        self._since = 0.0

    def build(self, paths: Sequence[str]) -> BuildReport:
        """A commit for each trade date, in their order: what is built again after a failure goes on from
        there, and a day begins with the books that the one before it ends with."""
        self._since = perf_counter()
        files = find_captures(paths)
        state = LakeState.recovered(self._location, self._settings.system)
        report = BuildReport(uuid4().hex[:16], state.version.number)
        if not self._settings.rebuild and self._all_unchanged(files, state, report):
            return report
        indexes = self._scan(files, report)
        units = self._units(indexes, report)
        self._lap(report, "plan")
        for day in sorted({unit.trade_date for unit in units}):
            self._build_date([unit for unit in units if unit.trade_date == day], indexes, report)
        report.unchanged.sort()
        if not report.units and not report.unchanged:
            report.raise_reason()
        return report

    def forecast(self, paths: Sequence[str]) -> Forecast:
        """What `build` would do with the lake as it is. Nothing is changed but that indexes are kept."""
        files = find_captures(paths)
        state = LakeState.recovered(self._location, self._settings.system)
        report, found = BuildReport("", state.version.number), Forecast(len(files), 0)
        if not self._settings.rebuild and self._all_unchanged(files, state, report):
            found.leave(report.unchanged)
            return found
        indexes, outcome = self._scan(files, report), _DateOutcome()
        for unit in self._units(indexes, report):
            work = self._plan(unit, indexes, state, outcome)
            if work is not None:
                found.take(work, UnitVerdict.BUILD if state.row(unit.key) is None else UnitVerdict.REPLACE)
        found.leave(outcome.unchanged)
        found.scanned = report.scanned
        found.warnings = [*report.warnings, *(str(each) for each in outcome.refused)]
        return found

    def _lap(self, report: BuildReport, step: str) -> None:
        now = perf_counter()
        report.seconds[step] = report.seconds.get(step, 0.0) + now - self._since
        self._since = now

    # Plan

    def _all_unchanged(self, files: list[str], state: LakeState, report: BuildReport) -> bool:
        """Whether there is nothing to do, found without reading any capture."""
        known: set[str] = set()
        units = []
        for key, row in self._rows_of(files, state):
            inputs = from_json(row["inputs"])
            paths = {each.path for each in inputs}
            if not paths & set(files):
                continue
            wanted = paths <= set(files) and row["code_version"] == CODE_VERSION
            if not wanted or row["schema_version"] != SCHEMA_VERSION:
                return False
            begins = state.begins(key, tuple(json.loads(row["plan"])["start"]))
            if row["fingerprint"] != self._fingerprint(inputs, digest_of(begins)):
                return False
            if not all(each.unchanged() for each in inputs):
                return False
            known |= paths
            units.append(key)
        if not set(files) <= known:
            return False
        report.unchanged = sorted(units)
        return True

    def _rows_of(self, files: list[str], state: LakeState) -> Iterator[tuple[UnitKey, UnitRow]]:
        """Rows of units that may have been made from these captures: from the day on which the first of them
        begins, as long as there are such units. A lake has more days than these."""
        days = [first_day(path, self._settings.system) for path in files]
        begun = [day for day in days if day is not None]
        if len(begun) < len(days):  # not known without scanning
            yield from state.units.items()
            return
        first, given, ends = min(begun) - _WEEK, set(files), max(begun)
        is_of_these = True
        while is_of_these or first <= ends:
            rows = state.units_between(first, first + _WEEK)
            inputs = (each for row in rows.values() for each in from_json(row["inputs"]))
            is_of_these = any(each.path in given for each in inputs)
            yield from rows.items()
            first += _WEEK + timedelta(days=1)

    def _fingerprint(self, inputs: Iterable[UnitInput], begins: str | None) -> str:
        chosen = self._settings
        return unit_fingerprint(inputs, begins, bars=chosen.bars, derive=chosen.derive, system=chosen.system)

    def _scan(self, files: list[str], report: BuildReport) -> list[FileIndex]:
        settings = self._settings
        chosen = ScanSettings(settings.map, settings.scratch, settings.piece_packets, settings.system)
        wanted = WantedCaptures(settings.channels, settings.dates)
        scanning = Scanning(self._location, self._runner, chosen, wanted, scan=try_to_scan)
        indexes = scanning.indexes(files, partial(self._on_progress, "scan"))
        report.scanned = scanning.scanned
        report.unreadable = [each for each in scanning.others if isinstance(each, Unreadable)]
        return indexes

    def _units(self, indexes: list[FileIndex], report: BuildReport) -> list[LakeUnit]:
        settings, found = self._settings, find_units(indexes)
        report.warnings = [*map(str, report.unreadable), *left_out(indexes, found)]
        return [
            unit
            for unit in found
            if settings.channels is None or unit.channel in settings.channels
            if settings.dates is None or unit.trade_date in settings.dates
        ]

    def _build_date(self, units: list[LakeUnit], indexes: list[FileIndex], report: BuildReport) -> None:
        """Once more when another build has meanwhile changed what this one stands on."""
        for _ in range(_ATTEMPTS):
            state = LakeState.recovered(self._location, self._settings.system)
            outcome = _DateOutcome()
            works = [work for unit in units if (work := self._plan(unit, indexes, state, outcome))]
            self._lap(report, "plan")
            works = self._run(works, outcome, report)
            try:
                if works:
                    self._finish(works, state, report)
            except StaleReadError:
                continue
            report.unchanged += outcome.unchanged
            report.refused += outcome.refused
            report.failed += outcome.failed
            return
        raise LakeConflictError(f"{self._location.uri}: other builds keep changing what this one stands on")

    def _plan(
        self, unit: LakeUnit, indexes: list[FileIndex], state: LakeState, outcome: "_DateOutcome"
    ) -> UnitWork | None:
        """None: it stays as it is."""
        key, row = unit.key, state.row(unit.key)
        begins = state.begins(key, start_of(unit))
        state.depends_on_days(key, state.before(key))
        inputs = [UnitInput.of(indexes[number]) for number in sorted(unit.files)]
        if row is not None:
            same = row["fingerprint"] == self._fingerprint(inputs, digest_of(begins))
            if same and not self._settings.rebuild:
                outcome.unchanged.append(key)
                return None
            lost = missing_inputs(from_json(row["inputs"]), inputs)
            if lost and not self._settings.replace:
                names = ", ".join(f"{each.path} ({each.size:,} bytes)" for each in lost)
                reason = f"it was built from captures that are missing now (--replace): {names}"
                outcome.refused.append(Refused(key, reason))
                return None
        located = None if begins is None else state.locate(begins)
        return plan_work(unit, indexes, located, self._settings.slices)

    # Tasks

    def _run(self, works: list[UnitWork], outcome: "_DateOutcome", report: BuildReport) -> list[UnitWork]:
        """All slices of a date. A unit of which a capture cannot be read is left out."""
        # The longest first, for the last to end is what the others wait for.
        order = [(work, slice_) for work in works for slice_ in work.slices]
        order.sort(key=lambda each: each[1].packets, reverse=True)
        task = partial(try_slice, location=self._location, build_id=report.build_id)
        with SharedParts(self._location, report.build_id) as shared:
            for work in works:
                shared.store(work.planned.symbols, work.planned.loops, work.planned.arrays)
            packed = [shared.pack(slice_) for _, slice_ in order]
            dates = ", ".join(sorted({str(work.key.trade_date) for work in works}))
            with described(f"{len(works)} units of {dates} in {len(packed)} slices"):
                made = self._runner.run(task, packed, partial(self._progress, report.slices))
        by_slice = {id(slice_): done for (_, slice_), done in zip(order, made, strict=True)}
        whole = []
        for work in works:
            done = [by_slice[id(slice_)] for slice_ in work.slices]
            unreadable = [each for each in done if isinstance(each, Unreadable)]
            if unreadable:
                outcome.failed.append(Refused(work.key, str(unreadable[0]), unreadable[0]))
                continue
            work.done = done
            report.count(done)
            report.slices += len(done)
            whole.append(work)
        self._lap(report, "tasks")
        return whole

    def _progress(self, before: int, done: int, total: int) -> None:
        self._on_progress("build", before + done, before + total)

    def _finish(self, works: list[UnitWork], state: LakeState, report: BuildReport) -> None:
        adds: list[DataFile] = []
        rows, counted = [], {}
        plan_tables = write_plan_tables(works, self._location, report.build_id, self._runner)
        for work, files in zip(works, plan_tables, strict=True):
            planned, done = work.planned, work.done
            adds += [file for each in done for file in each.files]
            adds += files
            counted[work.key] = [batch for each in done for batch in each.latency]
            plan = {"slices": len(done), "loops": len(planned.loops)}
            made_of = self._fingerprint(planned.inputs, digest_of(planned.begins))
            rows.append(planned.unit_row(made_of, plan, work.ends, report.build_id))
        self._lap(report, "plan tables")
        keys = [work.key for work in works]
        removes = state.files_of(keys)
        if self._settings.derive:
            derived, replaced = derive_units(
                self._runner, state, adds, keys, self._settings.bars, report.build_id,
                partial(self._on_progress, "derive"), counted,
            )  # fmt: skip
            adds += derived
            removes += replaced
            crossed, replaced = reconcile_units(self._runner, state, adds, keys, report.build_id)
            adds += crossed
            removes += replaced
        self._lap(report, "analytics")
        adds += write_units(self._location, rows)
        self._on_progress("commit", 0, 1)
        report.version = state.commit("build", report.build_id, adds, removes, keys).number
        report.units += keys
        report.bytes += sum(file.size for file in adds)
        self._on_progress("commit", 1, 1)
        self._lap(report, "commit")


@dataclass(slots=True)
class _DateOutcome:
    """Units of a date that are not built."""

    unchanged: list[UnitKey] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    failed: list[Refused] = field(default_factory=list)
