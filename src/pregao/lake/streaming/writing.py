"""A step of a unit to files: its slices by tasks, what only the whole unit tells, its row."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pregao.lake.plan.carried import Carried, digest_of
from pregao.lake.plan.fingerprints import unit_fingerprint
from pregao.lake.plan.slicing import TO_LAST
from pregao.lake.planned import PLAN
from pregao.lake.store.files import DataFile
from pregao.lake.store.location import Location
from pregao.lake.streaming.digests import digests, loop_key
from pregao.lake.streaming.settings import StreamSettings
from pregao.lake.streaming.state import Segment, StreamState
from pregao.lake.streaming.steps import Step, slice_label
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.plan_tables import findings_table, losses_table
from pregao.lake.tasks.run import SliceDone

_OPEN = "open-"  # before the fingerprint of a unit that is not finished: no build takes it for its own


def step_files(location: Location, step: Step, done: list[SliceDone], build_id: str) -> list[DataFile]:
    """All but the unit's row. The step's state has its new segments then."""
    planned, state = step.planned, step.state
    adds = [file for each in done for file in each.files]
    keys = [loop_key(loop, step.indexes) for loop in planned.loops]
    made_of = digests(planned, step.indexes, [slice_.stop for slice_ in step.slices])
    for slice_, each, digest in zip(step.slices, done, made_of, strict=True):
        loops = {keys[number]: counts for number, counts in each.loops.items()}
        state.ends = None if each.ends is None else each.ends.to_plan()
        findings = findings_table(planned.unit, each.findings, planned.symbols, build_id)
        told = planned.write(location, [(QUALITY, findings)], slice_label(slice_.number))
        size = sum(file.size for file in each.files + told)
        state.add(Segment(slice_.number, slice_.start, slice_.stop, digest, size), loops, each.unnamed)
        adds += told
    tables = [planned.news(build_id, step.stop), (QUALITY, _losses(step, keys, build_id))]
    if step.new_instruments:
        tables.append(planned.instruments(build_id))
    return adds + planned.write(location, tables, PLAN)


def _losses(step: Step, keys: list[str], build_id: str) -> Any:
    planned = step.planned
    counts: dict[int, Counter[str]] = {
        loop.number: step.state.found(key)
        for loop, key in zip(planned.loops, keys, strict=True)
        if key in step.state.loops
    }
    return losses_table(planned.unit, planned.loops, counts, planned.damage, step.stop, build_id)


def unit_row(step: Step, settings: StreamSettings, build_id: str) -> dict[str, Any]:
    planned, state = step.planned, step.state
    made_of = unit_fingerprint(
        planned.inputs,
        digest_of(planned.begins),
        bars=settings.bars,
        derive=settings.derive,
        system=settings.system,
    )
    is_whole = step.stop == TO_LAST
    return planned.unit_row(
        made_of if is_whole else _OPEN + made_of, state.to_plan(len(planned.loops)),
        Carried(planned.key, *state.ends) if is_whole and state.ends else None, build_id,
    )  # fmt: skip


def changed_row(row: dict[str, Any], state: StreamState) -> dict[str, Any]:
    """The row of a unit of which nothing but its state is new."""
    before = json.loads(row["plan"])
    plan = before | state.to_plan(before["loops"])
    stored = {name: row[name] for name in UNITS.stored_schema.names}
    return {**stored, "plan": json.dumps(plan), "partition": UnitKey.of_row(row).partition}


def is_open(row: dict[str, Any]) -> bool:
    return bool(row["fingerprint"].startswith(_OPEN))


def awaits_deriving(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of units whose computed tables are behind."""
    states = ((row, StreamState.of_plan(row["plan"])) for row in rows)
    return [row for row, state in states if state is not None and not state.derived]
