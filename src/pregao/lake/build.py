"""Captures to a lake: plan, tasks, commit.

    report = Builder(Location("lake"), SparkRunner(spark)).build(["captures"])

Nothing of a build is seen before its commit, and everything after it. A unit whose inputs are what they
were is left alone; otherwise it is planned again and its rows are replaced.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from time import perf_counter
from typing import Final
from uuid import uuid4

from pregao.feeds.registry import DEFAULT
from pregao.lake.deriving import derive_units
from pregao.lake.plan.captures import PIECE_PACKETS
from pregao.lake.plan.carried import digest_of
from pregao.lake.plan.fingerprints import (
    CODE_VERSION,
    SCHEMA_VERSION,
    Input,
    find_captures,
    from_json,
    unit_fingerprint,
)
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.slicing import Slice, cut_unit, share_out
from pregao.lake.plan.units import Unit, find_units
from pregao.lake.planned import PLAN, Planned
from pregao.lake.running.runners import Runner
from pregao.lake.state import LakeState, write_units
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.plan_tables import quality_table
from pregao.lake.tasks.run import SliceDone, build_slice
from pregao.lake.waves import Ready, UnitWork, Waves
from pregao.model.channel_map import ChannelMap

Told = Callable[[str, int, int], None]  # step, done, of how many
SECONDS_1, MINUTE_1, DAY_1 = 1_000_000_000, 60_000_000_000, 86_400_000_000_000
USUAL_BARS: Final = (SECONDS_1, MINUTE_1, DAY_1)


@dataclass(frozen=True, slots=True)
class BuildSettings:
    channels: frozenset[int] | None = None
    dates: frozenset[date] | None = None
    rebuild: bool = False
    bars: tuple[int, ...] = USUAL_BARS
    map: ChannelMap | None = None  # which address carries what
    scratch: str = ""
    slices: int | None = None  # of each unit; None: by its size
    piece_packets: int = PIECE_PACKETS
    derive: bool = True
    system: str = DEFAULT  # whose captures they are: see `feeds.registry`


@dataclass(slots=True)
class BuildReport:
    build_id: str
    version: int
    units: list[UnitKey] = field(default_factory=list)
    unchanged: list[UnitKey] = field(default_factory=list)
    slices: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of wall time, by step
    work: dict[str, float] = field(default_factory=dict)  # of all tasks, by step
    bytes: int = 0
    warnings: list[str] = field(default_factory=list)  # what of the captures nothing was made of


def _silent(step: str, done: int, total: int) -> None:
    return


class Builder:
    def __init__(
        self, location: Location, runner: Runner, settings: BuildSettings | None = None, *,
        told: Told = _silent,
    ) -> None:  # fmt: skip
        self._location, self._runner = location, runner
        self._settings, self._told = settings or BuildSettings(), told
        self._since = 0.0

    def build(self, paths: Sequence[str]) -> BuildReport:
        self._since = perf_counter()
        build_id = uuid4().hex[:16]
        files = find_captures(paths)
        state = LakeState.recovered(self._location, self._settings.system)
        report = BuildReport(build_id, state.version.number)
        if not self._settings.rebuild and self._all_unchanged(files, state, report):
            return report
        waves = self._plan(files, state, report)
        ready = waves.next()
        self._lap(report, "plan")
        self._run(waves, ready, report)
        report.unchanged = sorted(waves.unchanged)
        if waves.built:
            self._finish(sorted(waves.built, key=lambda work: (work.key.feed, work.key)), state, report)
        return report

    def _lap(self, report: BuildReport, step: str) -> None:
        now = perf_counter()
        report.seconds[step] = report.seconds.get(step, 0.0) + now - self._since
        self._since = now

    # Plan

    def _all_unchanged(self, files: list[str], state: LakeState, report: BuildReport) -> bool:
        """Whether there is nothing to do, found without reading any capture."""
        known: set[str] = set()
        units, chain = [], state.chain()
        for key, row in state.units.items():
            inputs = from_json(row["inputs"])
            paths = {each.path for each in inputs}
            if not paths & set(files):
                continue
            wanted = paths <= set(files) and row["code_version"] == CODE_VERSION
            if not wanted or row["schema_version"] != SCHEMA_VERSION:
                return False
            begins = chain.begins(key, tuple(json.loads(row["plan"])["start"]))
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

    def _fingerprint(self, inputs: Iterable[Input], begins: str | None) -> str:
        chosen = self._settings
        return unit_fingerprint(inputs, begins, bars=chosen.bars, derive=chosen.derive, system=chosen.system)

    def _plan(self, files: list[str], state: LakeState, report: BuildReport) -> Waves:
        settings = self._settings
        chosen = ScanSettings(settings.map, settings.scratch, settings.piece_packets, settings.system)
        scan = partial(scan_capture, settings=chosen)
        indexes = self._runner.run(scan, files, partial(self._told, "scan"))
        units = find_units(indexes)
        report.warnings = _left_out(indexes, units)
        works = [
            UnitWork(
                unit, [Input.of(indexes[number]) for number in sorted(unit.files)],
                state.units.get(unit.key),
            )
            for unit in units
            if settings.channels is None or unit.channel in settings.channels
            if settings.dates is None or unit.trade_date in settings.dates
        ]  # fmt: skip

        def cut(unit: Unit, waits: bool) -> tuple[Planned, list[Slice]]:
            planned = Planned.of(unit, indexes)
            slices = cut_unit(unit, planned.loops, indexes, settings.slices, waits=waits)
            if not planned.loops:
                slices = share_out(slices[0], unit, settings.slices)
            for slice_ in slices:
                slice_.symbols = planned.symbols
            return planned, slices

        return Waves(
            works, state.chain(), fingerprint=self._fingerprint, cut=cut, locate=state.locate,
            rebuild=settings.rebuild,
        )  # fmt: skip

    # Tasks

    def _run(self, waves: Waves, ready: list[Ready], report: BuildReport) -> None:
        task = partial(build_slice, location=self._location, build_id=report.build_id)
        while ready:
            # The longest first, for the last to end is what the others wait for.
            ready.sort(key=lambda each: each[0].slices[each[1]].packets, reverse=True)
            before, known = report.slices, sum(len(work.slices) for work in waves.built)
            done: list[SliceDone] = self._runner.run(
                task, [work.slices[number] for work, number in ready],
                partial(self._progress, before, known),
            )  # fmt: skip
            report.slices += len(done)
            _count(report, done)
            waves.take(ready, done)
            ready = waves.next()
        self._lap(report, "tasks")

    def _progress(self, before: int, known: int, done: int, total: int) -> None:
        self._told("build", before + done, max(known, before + total))

    def _finish(self, works: list[UnitWork], state: LakeState, report: BuildReport) -> None:
        adds: list[DataFile] = []
        rows, counted = [], {}
        for work in works:
            assert work.planned is not None
            done = [work.done[number] for number in range(len(work.slices))]
            adds += [file for each in done for file in each.files]
            adds += self._plan_files(work.planned, done, report.build_id)
            counted[work.key] = [batch for each in done for batch in each.latency]
            plan = {"slices": len(done), "loops": len(work.planned.loops)}
            made_of = self._fingerprint(work.inputs, digest_of(work.planned.begins))
            rows.append(work.planned.unit_row(made_of, plan, work.ends, report.build_id))
        self._lap(report, "plan tables")
        keys = [work.key for work in works]
        removes = state.files_of(keys)
        if self._settings.derive:
            derived, replaced = derive_units(
                self._runner, state, adds, keys, self._settings.bars, report.build_id,
                partial(self._told, "derive"), counted,
            )  # fmt: skip
            adds += derived
            removes += replaced
        self._lap(report, "analytics")
        adds += write_units(self._location, rows)
        self._commit(adds, removes, state, keys, report)
        self._lap(report, "commit")

    def _plan_files(self, planned: Planned, done: list[SliceDone], build_id: str) -> list[DataFile]:
        quality = quality_table(
            planned.unit, planned.loops, done, planned.symbols, planned.damage, build_id
        )  # fmt: skip
        tables = (planned.instruments(build_id), planned.news(build_id), (QUALITY, quality))
        return planned.write(self._location, tables, PLAN)

    # Commit

    def _commit(
        self, adds: list[DataFile], removes: list[DataFile], state: LakeState, keys: list[UnitKey],
        report: BuildReport,
    ) -> None:  # fmt: skip
        self._told("commit", 0, 1)
        version = state.commit("build", report.build_id, adds, removes, keys)
        report.version, report.units = version.number, keys
        report.bytes = sum(file.size for file in adds)
        self._told("commit", 1, 1)


def _left_out(indexes: Sequence[FileIndex], units: Iterable[Unit]) -> list[str]:
    """Flows that cannot be told, and channels without anything that makes a unit."""
    told = [f"{index.path}: {flow.reason}" for index in indexes for flow in index.left_out]
    built = {unit.channel for unit in units}
    found: dict[int, set[str]] = {}
    for index in indexes:
        for stream in index.streams:
            if stream.channel not in built:
                found.setdefault(stream.channel, set()).add(stream.stream.name.lower())
    told += [
        f"channel {channel} has no incremental stream that can be built, only {', '.join(sorted(streams))}"
        for channel, streams in sorted(found.items())
    ]
    return told


def _count(report: BuildReport, done: list[SliceDone]) -> None:
    for each in done:
        for name, count in each.counts.items():
            report.counts[name] = report.counts.get(name, 0) + count
        for step, seconds in each.seconds.items():
            report.work[step] = report.work.get(step, 0.0) + seconds
