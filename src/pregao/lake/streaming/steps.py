"""What a batch does to one unit: which segments stay, which are built again, and up to where."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from pregao.lake.plan.fingerprints import (
    CODE_VERSION,
    SCHEMA_VERSION,
    from_json,
)
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.marks import Symbols
from pregao.lake.plan.slicing import TO_LAST, Slice, anchor_before, cut_between, piece_starts
from pregao.lake.plan.unit_plan import PLAN, UnitPlan
from pregao.lake.state import UNIT_LABEL
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Change
from pregao.lake.store.livefile import LiveFile
from pregao.lake.streaming.state import (
    Segment,
    StreamState,
    digests,
    horizon,
    instruments_digest,
    is_renamed,
)
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import UnitKey

ANALYTICS: Final = "analytics"
_OURS: Final = (PLAN, UNIT_LABEL, ANALYTICS)  # labels of files, besides those of slices


@dataclass(slots=True)
class UnitStep:
    """`state` is without the new segments yet; `removes` has no derived files."""

    planned: UnitPlan
    state: StreamState
    slices: list[Slice]
    removes: list[DataFile]
    kept: list[DataFile]
    stop: int
    new_instruments: bool
    rebuilt: int  # segments that were in the lake already
    indexes: list[FileIndex] = field(repr=False)

    @property
    def is_finished(self) -> bool:
        return self.stop == TO_LAST

    @property
    def horizon_ns(self) -> int:
        """When what is not built yet begins, or the last packet was sent."""
        pieces = piece_starts(self.planned.unit)
        later = pieces[pieces["place"] >= self.stop]
        return int(later["sent_ns"].min()) if len(later) else self.planned.unit.last_ns


def label_of(file: DataFile | LiveFile) -> str:
    return file.path.rsplit("/", 1)[-1].rsplit("-", 1)[0]


def slice_label(number: int) -> str:
    return f"slice-{number:04}"


def plan_step(
    planned: UnitPlan, indexes: list[FileIndex], row: dict[str, Any] | None, live: list[DataFile],
    known_symbols: Callable[[], Symbols], *, finish: bool, wait_ns: int,
) -> UnitStep | None:  # fmt: skip
    """None: there is nothing to build. `live` are the files of the unit, `known_symbols` tells the symbols
    that its rows were written with."""
    going_on = None if row is None else state_of(row, live)
    state = StreamState() if going_on is None else going_on
    before, was_finished = state.end, state.is_finished
    unchanged = _unchanged(planned, indexes, state, known_symbols)
    is_changed = unchanged < len(state.segments)
    firm = horizon(planned, wait_ns)
    stop = TO_LAST if finish else firm
    if not is_changed and (stop <= before or was_finished):
        if not was_finished or from_json(row["inputs"] if row else "[]") == sorted(planned.inputs):
            return None
        stop = TO_LAST  # other captures, the same rows: only what the plan itself tells is new
    elif was_finished and stop <= state.reached:
        stop = TO_LAST  # what was shown stays shown
    elif not was_finished:
        stop = max(stop, before)
    gone, slices = state.keep(unchanged), []
    if not was_finished or is_changed:
        gone += _back_to_a_start(planned, state)
        slices = _slices(planned, indexes, state, firm, stop)
    made_of = instruments_digest(planned.versions)
    new_instruments = going_on is None or state.instruments != made_of
    removes = _removes(live, gone, whole=going_on is None, instruments=new_instruments)
    names = Change.names(removes)
    kept = [file for file in live if (file.table, file.path) not in names]
    state.instruments, state.derived = made_of, False
    state.reached = int(planned.unit.all_runs["last"].max())
    return UnitStep(planned, state, slices, removes, kept, stop, new_instruments, len(gone), indexes)


def _slices(
    planned: UnitPlan, indexes: list[FileIndex], state: StreamState, firm: int, stop: int
) -> list[Slice]:
    """What is not firm yet is apart, for it will be built again when more is known."""
    unit, loops = planned.unit, planned.loops
    ends = [stop]
    if state.end < firm < stop and anchor_before(piece_starts(unit), loops, firm) is not None:
        ends = [firm, stop]
    slices: list[Slice] = []
    for start, end in pairwise([state.end, *ends]):
        first = state.next_number + len(slices)
        slices += cut_between(unit, loops, indexes, start, end, first_number=first)
    planned.equip(slices)
    for slice_ in slices:
        slice_.feeds = {
            feed: [part for part in parts if part.layout.pieces] for feed, parts in slice_.feeds.items()
        }
    return slices


def state_of(row: dict[str, Any], live: Iterable[DataFile | LiveFile]) -> StreamState | None:
    """None when it cannot be gone on from: built in one go or by another version of the program, or its
    files were joined so that nobody knows any more which rows are whose."""
    same = row["code_version"] == CODE_VERSION and row["schema_version"] == SCHEMA_VERSION
    state = StreamState.of_plan(row["plan"]) if same else None
    if state is None:
        return None
    labels = {slice_label(segment.number) for segment in state.segments}.union(_OURS)
    return state if all(label_of(file) in labels for file in live) else None


def _unchanged(
    planned: UnitPlan, indexes: list[FileIndex], state: StreamState, known_symbols: Callable[[], Symbols]
) -> int:
    """How many segments have the rows that they would have now."""
    segments = state.segments
    now = digests(planned, indexes, [segment.stop for segment in segments])
    count = next((n for n, segment in enumerate(segments) if now[n] != segment.digest), len(segments))
    named = {number for each, number in state.unnamed.items() if planned.symbols.get(each)}
    count = next((n for n, segment in enumerate(segments[:count]) if segment.number in named), count)
    if not count or state.instruments == instruments_digest(planned.versions):
        return count
    pieces = piece_starts(planned.unit)
    before = pieces[pieces["place"] <= min(segments[count - 1].stop, state.reached)]
    until_ns = int(before["last_ns"].max()) if len(before) else 0
    return 0 if is_renamed(known_symbols(), planned.symbols, until_ns) else count


def _back_to_a_start(planned: UnitPlan, state: StreamState) -> list[Segment]:
    """The last segment must end where another slice can begin."""
    pieces, count = piece_starts(planned.unit), len(state.segments)
    while count and (
        state.segments[count - 1].stop == TO_LAST
        or anchor_before(pieces, planned.loops, state.segments[count - 1].stop) is None
    ):
        count -= 1
    return state.keep(count)


def _removes(live: list[DataFile], gone: list[Segment], *, whole: bool, instruments: bool) -> list[DataFile]:
    labels = {slice_label(segment.number) for segment in gone}
    found = []
    for file in live:
        label = label_of(file)
        is_plan = label == PLAN and (instruments or file.table != "instruments")
        if label != ANALYTICS and (whole or is_plan or label == UNIT_LABEL or label in labels):
            found.append(file)
    return found


# Rows of units in the lake.


OPEN: Final = "open-"  # before the fingerprint of a unit that is not finished: no build takes it for its own


def changed_row(row: dict[str, Any], state: StreamState) -> dict[str, Any]:
    """The row of a unit of which nothing but its state is new."""
    before = json.loads(row["plan"])
    plan = before | state.to_plan(before["loops"])
    stored = {name: row[name] for name in UNITS.stored_schema.names}
    return {**stored, "plan": json.dumps(plan), "partition": UnitKey.of_row(row).partition}


def is_open(row: dict[str, Any]) -> bool:
    return bool(row["fingerprint"].startswith(OPEN))


def awaits_deriving(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of units whose computed tables are behind."""
    return [row for row in rows if (_is_behind if is_open(row) else _is_finished_behind)(row["plan"])]


def _is_behind(plan: str | None) -> bool:
    state = StreamState.of_plan(plan)
    return state is not None and not state.derived


@lru_cache(
    maxsize=1 << 10
)  # what a finished unit says does not change, and each batch asks for the last days
def _is_finished_behind(plan: str | None) -> bool:
    return _is_behind(plan)
