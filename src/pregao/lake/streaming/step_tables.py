"""What a batch writes of units beside the rows of their slices: `instruments`, `news`, `quality`, and the row
of each unit in `units`.

Where these tables are large they are tasks, one for each unit, as those of a build.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

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
    crossed: list[dict[str, Any]]  # books that are crossed where its slices begin

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
    for (step, _), made in zip(steps, written, strict=True):
        _count(step, made.files)
        step.state.crossed |= {
            slice_.number: told
            for slice_ in step.slices
            if (told := made.crossed.get(slice_label(slice_.number)))
        }
    return [[file for each in made.files.values() for file in each] for made in written]


def _take(step: UnitStep, done: list[SliceDone]) -> StepTables:
    """What slices have found goes into the step's state and its tables."""
    planned, state = step.planned, step.state
    keys = [loop_key(loop, step.indexes) for loop in planned.loops]
    made_of, crossed = (
        digests(planned, step.indexes, [each.stop for each in step.slices]),
        state.still_crossed,
    )
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
    return StepTables(planned, findings, proved, step.stop, step.new_instruments, crossed)


@dataclass(frozen=True, slots=True)
class StepFiles:
    """Files by their label, and findings of books that are crossed where a slice ends, by its label."""

    files: dict[str, list[DataFile]]
    crossed: dict[str, list[dict[str, Any]]]


def _write_stored(where: Range, location: Location, build_id: str) -> StepFiles:
    return write_tables(fetch(where, location), location, build_id)


def write_tables(step: StepTables, location: Location, build_id: str) -> StepFiles:
    """A book that is crossed where the last slice ends is told beside what only the whole unit can tell: that
    is written anew with every batch, so it is told once, with the end that is known."""
    planned, made, crossed = step.planned, StepFiles({}, {}), step.crossed
    for label, found in step.findings:
        findings = fetch(found, location) if isinstance(found, Range) else found
        over, crossed = go_on_crossed(crossed, findings)
        table = findings_table(planned.unit, over, planned.symbols, build_id)
        made.files[label] = planned.write(location, [(QUALITY, table)], label)
        made.crossed[label] = crossed
    losses = pa.concat_tables([
        losses_table(planned.unit, planned.loops, step.loops, planned.damage, step.stop, build_id),
        findings_table(planned.unit, crossed, planned.symbols, build_id),
    ])  # fmt: skip
    tables = [planned.news(build_id, step.stop), (QUALITY, losses)]
    if step.new_instruments:
        tables.append(planned.instruments(build_id))
    made.files[PLAN] = planned.write(location, tables, PLAN)
    return made


Finding = dict[str, Any]


def go_on_crossed(
    before: list[Finding], findings: Iterable[Finding]
) -> tuple[list[Finding], list[Finding]]:  # fmt: skip
    """Of a slice after one that ended with crossed books: findings that are over, and those of books that are
    still crossed. The parts of a stretch become one finding, as `join_crossed` makes it of a build."""
    open_ones = {each["security_id"]: each for each in before}
    over: list[Finding] = []
    still: list[Finding] = []
    for each in findings:
        if each["finding"] != "CROSSED_BOOK":
            over.append(each)
            continue
        row, is_open = each | {"goes_on": False, "is_open": False}, each["is_open"]
        since = open_ones.pop(each["security_id"], None) if each["goes_on"] else None
        if since is not None:
            row = since | {name: each[name] for name in ("ts_to", "last_seq_num", "detail")}
        (still if is_open else over).append(row)
    return [*over, *open_ones.values()], still


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
