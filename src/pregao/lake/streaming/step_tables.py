"""What a batch writes of units beside the rows of their slices: `instruments`, `news`, `quality`, and the row
of each unit in `units`.

Where these tables are large they are tasks, one for each unit, as those of a build.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pregao.lake.plan.fingerprints import CarriedBooks, digest_of, unit_fingerprint
from pregao.lake.plan.slicing import TO_LAST
from pregao.lake.plan.unit_plan import PLAN, UnitPlan
from pregao.lake.runners import Runner, described
from pregao.lake.shared_parts import Range, SharedParts, fetch, forget
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.streaming.source import StreamSettings
from pregao.lake.streaming.state import Segment, digests, loop_key
from pregao.lake.streaming.steps import OPEN, UnitStep, slice_label
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tasks.plan_tables import findings_table, losses_table
from pregao.lake.tasks.run import SliceDone
from pregao.lake.unit_work import HERE_ROWS, without_packets


@dataclass(frozen=True, slots=True)
class StepTables:
    """All that the tables of a step are made of. `findings` of its slices, by their labels; of one that has
    many, where they are stored."""

    planned: UnitPlan
    findings: tuple[tuple[str, list[dict[str, Any]] | Range], ...]
    loops: dict[int, Counter[str]]  # what slices proved of each loop
    stop: int
    new_instruments: bool

    @property
    def rows(self) -> int:
        """About how many there will be."""
        told = len(self.planned.versions) if self.new_instruments else 0
        found = sum(HERE_ROWS if isinstance(each, Range) else len(each) for _, each in self.findings)
        return told + len(self.planned.unit.news) + found + len(self.loops)


def write_step_tables(
    steps: Sequence[tuple[UnitStep, list[SliceDone]]], location: Location, build_id: str, runner: Runner
) -> list[list[DataFile]]:
    """Files of each step, but for those of its slices and the row of its unit. Its state has its new segments
    then."""
    tables = [_take(step, done) for step, done in steps]
    if sum(each.rows for each in tables) <= HERE_ROWS:
        written = [write_tables(each, location, build_id) for each in tables]
    else:
        task = partial(_write_stored, location=location, build_id=build_id)
        with SharedParts(location, f"{build_id}-plan") as shared:
            items = [shared.put(replace(each, planned=without_packets(each.planned))) for each in tables]
            with described(f"instruments, news and quality of {len(items)} units"):
                written = runner.run(task, items, lambda *_: None)
    for where in (each for step in tables for _, each in step.findings):
        if isinstance(where, Range):
            forget(where.path, location)
    for (step, _), files in zip(steps, written, strict=True):
        _count(step, files)
    return [[file for each in files.values() for file in each] for files in written]


def _take(step: UnitStep, done: list[SliceDone]) -> StepTables:
    """What slices have found goes into the step's state and its tables."""
    planned, state = step.planned, step.state
    keys = [loop_key(loop, step.indexes) for loop in planned.loops]
    made_of = digests(planned, step.indexes, [slice_.stop for slice_ in step.slices])
    for slice_, each, digest in zip(step.slices, done, made_of, strict=True):
        loops = {keys[number]: counts for number, counts in each.loops.items()}
        state.ends = None if each.ends is None else each.ends.to_plan()
        size = sum(file.size for file in each.files)
        state.add(Segment(slice_.number, slice_.start, slice_.stop, digest, size), loops, each.unnamed)
    findings = tuple(
        (slice_label(slice_.number), each.stored_findings or each.findings)
        for slice_, each in zip(step.slices, done, strict=True)
    )
    proved = {
        loop.number: state.found(key)
        for loop, key in zip(planned.loops, keys, strict=True)
        if key in state.loops
    }
    return StepTables(planned, findings, proved, step.stop, step.new_instruments)


def _write_stored(where: Range, location: Location, build_id: str) -> dict[str, list[DataFile]]:
    return write_tables(fetch(where, location), location, build_id)


def write_tables(step: StepTables, location: Location, build_id: str) -> dict[str, list[DataFile]]:
    """Files by their label."""
    planned, written = step.planned, dict[str, list[DataFile]]()
    for label, found in step.findings:
        findings = fetch(found, location) if isinstance(found, Range) else found
        table = findings_table(planned.unit, findings, planned.symbols, build_id)
        written[label] = planned.write(location, [(QUALITY, table)], label)
    losses = losses_table(planned.unit, planned.loops, step.loops, planned.damage, step.stop, build_id)
    tables = [planned.news(build_id, step.stop), (QUALITY, losses)]
    if step.new_instruments:
        tables.append(planned.instruments(build_id))
    written[PLAN] = planned.write(location, tables, PLAN)
    return written


def _count(step: UnitStep, files: dict[str, list[DataFile]]) -> None:
    """Findings are part of a segment: they are joined with it."""
    segments = step.state.segments
    for number, segment in enumerate(segments):
        more = sum(file.size for file in files.get(slice_label(segment.number), ()))
        segments[number] = replace(segment, size=segment.size + more)


def unit_row(step: UnitStep, settings: StreamSettings, build_id: str) -> dict[str, Any]:
    planned, state = step.planned, step.state
    made_of = unit_fingerprint(
        planned.inputs, digest_of(planned.begins), bars=settings.bars, derive=settings.derive,
        system=settings.system,
    )  # fmt: skip
    is_whole = step.stop == TO_LAST
    return planned.unit_row(
        made_of if is_whole else OPEN + made_of, state.to_plan(len(planned.loops)),
        CarriedBooks(planned.key, *state.ends) if is_whole and state.ends else None, build_id,
    )  # fmt: skip
