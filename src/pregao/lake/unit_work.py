"""A unit that is built: its plan, its slices, and what became of them. And what of it must not get lost: a
unit is not replaced by one of fewer captures unless that is asked for.

Tables that no slice writes (`instruments`, `news`, `quality`) are a task for each unit, where they are large.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final
from uuid import uuid4

import numpy as np

from pregao.feeds.registry import has_sessions
from pregao.lake.plan.fingerprints import CarriedBooks, UnitInput, together
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.sessions import scan_sessions, session_slice
from pregao.lake.plan.slicing import Slice, cut_unit, share_out
from pregao.lake.plan.unit_plan import PLAN, UnitPlan
from pregao.lake.plan.units import LakeUnit
from pregao.lake.runners import Runner, described, may_pass
from pregao.lake.shared_parts import FOLDER, Range, SharedParts, fetch, forget, store, unpack
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.plan_tables import quality_table
from pregao.lake.tasks.run import SliceDone, build_slice
from pregao.lake.tasks.sessions import build_session
from pregao.model.errors import CaptureError

MOST_FINDINGS: Final = 1_000  # of a slice: more are a file, and never with the driver
HERE_ROWS: Final = 20_000  # of tables of the plan, of all units: fewer are written by whoever plans


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A capture that cannot be read, and why: it costs its unit, not the build."""

    reason: str
    file: str
    offset: int | None = None

    @classmethod
    def of(cls, error: CaptureError) -> "Unreadable":
        return cls(error.reason, error.file, error.offset)

    def error(self) -> CaptureError:
        return CaptureError(self.reason, file=self.file, offset=self.offset)

    def __str__(self) -> str:
        return str(self.error())


@dataclass(frozen=True, slots=True)
class Refused:
    """A unit that stays as it is, and why."""

    key: UnitKey
    reason: str
    unreadable: Unreadable | None = None

    def __str__(self) -> str:
        return f"{self.key} is left as it is: {self.reason}"


@dataclass(slots=True)
class UnitWork:
    planned: UnitPlan
    slices: list[Slice]
    done: list[SliceDone] = field(default_factory=list)

    @property
    def key(self) -> UnitKey:
        return self.planned.key

    @property
    def plan_rows(self) -> int:
        """About how many rows the tables have that no slice writes."""
        planned = self.planned
        found = sum(len(each.findings) + len(each.loops) for each in self.done)
        found += sum(HERE_ROWS for each in self.done if each.stored_findings is not None)
        return len(planned.versions) + len(planned.unit.news) + found

    @property
    def findings(self) -> list[SliceDone]:
        """What slices have found, and nothing else of them."""
        return [
            SliceDone(findings=each.findings, stored_findings=each.stored_findings, loops=each.loops)
            for each in self.done
        ]

    @property
    def ends(self) -> CarriedBooks | None:
        lasts = (each for each, slice_ in zip(self.done, self.slices, strict=True) if slice_.is_last)
        return together([each.ends for each in lasts])


def plan_work(
    unit: LakeUnit, indexes: list[FileIndex], begins: CarriedBooks | None, slices: int | None = None
) -> UnitWork:
    """`begins`: the books of the day before, with their files. `slices`: how many; None: by its size."""
    planned = UnitPlan.of(unit, indexes)
    if unit.source:
        return UnitWork(planned, [session_slice(unit, indexes)])
    planned.begins = begins
    made = cut_unit(unit, planned.loops, indexes, slices)
    if not planned.loops:
        made = share_out(made[0], unit, slices)
    planned.equip(made)
    return UnitWork(planned, made)


def write_plan_tables(
    works: Sequence[UnitWork], location: Location, build_id: str, runner: Runner
) -> list[list[DataFile]]:
    """Files of `instruments`, `news` and `quality` of each unit: by this process where they have few rows."""
    if sum(work.plan_rows for work in works) <= HERE_ROWS:
        return [plan_files(work.planned, work.done, location, build_id) for work in works]
    task = partial(_plan_files, location=location, build_id=build_id)
    with SharedParts(location, f"{build_id}-plan") as shared:
        items = [shared.put((without_packets(work.planned), work.findings)) for work in works]
        with described(f"instruments, news and quality of {len(works)} units"):
            made = runner.run(task, items, lambda *_: None)
    for where in (each.stored_findings for work in works for each in work.done):
        if where is not None:
            forget(where.path, location)
    return made


def _plan_files(where: Range, location: Location, build_id: str) -> list[DataFile]:
    planned, done = fetch(where, location)
    return plan_files(planned, done, location, build_id)


def plan_files(
    planned: UnitPlan, done: Sequence[SliceDone], location: Location, build_id: str
) -> list[DataFile]:
    whole = [_with_findings(each, location) for each in done]
    quality = quality_table(planned.unit, planned.loops, whole, planned.symbols, planned.damage, build_id)
    tables = (planned.instruments(build_id), planned.news(build_id), (QUALITY, quality))
    return planned.write(location, tables, PLAN)


def _with_findings(done: SliceDone, location: Location) -> SliceDone:
    where = done.stored_findings
    return done if where is None else replace(done, findings=fetch(where, location), stored_findings=None)


def without_packets(planned: UnitPlan) -> UnitPlan:
    """Without what only slices need: where packets are, and all of loops but their places."""
    unit = replace(planned.unit, feeds={}, snapshots=[], definitions=[], marks=planned.unit.marks[:0])
    none = np.zeros(0, np.int64)
    loops = [
        replace(loop, parts=[], security_ids=none, rpt_seqs=none, alone=none, whole=none, saved=None)
        for loop in planned.loops
    ]
    return replace(planned, unit=unit, loops=loops)


def build_packed(packed: bytes, location: Location, build_id: str) -> SliceDone:
    """A slice as `SharedParts` packs it. What finds many must not fill the driver."""
    slice_ = unpack(packed, location)
    done = (build_session if slice_.source else build_slice)(slice_, location, build_id)
    if len(done.findings) > MOST_FINDINGS:
        path = f"{FOLDER}/{build_id}/findings-{uuid4().hex}"
        done.stored_findings, done.findings = store(done.findings, path, location), []
    return done


def try_slice(packed: bytes, location: Location, build_id: str) -> SliceDone | Unreadable:
    """A failure of the store is raised: whoever runs tasks may try it again."""
    try:
        return build_packed(packed, location, build_id)
    except CaptureError as error:
        if may_pass(error):
            raise
        return Unreadable.of(error)


def try_to_scan(path: str, settings: ScanSettings) -> FileIndex | Unreadable:
    scan = scan_sessions if has_sessions(settings.system) else scan_capture
    try:
        return scan(path, settings)
    except CaptureError as error:
        if may_pass(error):
            raise
        return Unreadable.of(error)


def missing_inputs(before: Iterable[UnitInput], now: Sequence[UnitInput]) -> list[UnitInput]:
    """Captures of which nothing is left: neither their content under any name, nor a longer file of their
    name, as a recorder that went on leaves one."""
    contents = {each.content for each in now}
    sizes = {each.path: each.size for each in now}
    return [each for each in before if each.content not in contents and sizes.get(each.path, -1) < each.size]
