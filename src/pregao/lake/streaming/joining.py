"""Segments of a running day become fewer, so that its tables do not get a file more with every batch.

Neighbours are joined as digits are carried: so many segments of one part become one of so many parts, so
many of those one again. A row is then written again only as often as the day's length has digits, and the
last segment, which may yet be built again, is left alone. What is joined is a segment like any other: a late
capture that changes a part of it replaces it whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.lake.errors import LakeConflictError
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.maintenance.compact import compact, rewrite_all
from pregao.lake.maintenance.sorting import SmallFiles
from pregao.lake.runners import Runner, described
from pregao.lake.state import UNIT_LABEL, LakeState, write_units
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.streaming.planning import RecentUnits, Rows, inputs_of, is_streamed, over_days, settled
from pregao.lake.streaming.source import StreamSettings
from pregao.lake.streaming.state import Segment, StreamState
from pregao.lake.streaming.steps import changed_row, label_of, slice_label, state_of
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import UnitKey

FULL_BYTES: Final = 32 << 20  # of all tables: files of such a segment are large enough


@dataclass(slots=True)
class Joined:
    """How many files there were, and are now."""

    before: int = 0
    after: int = 0


@dataclass(slots=True)
class _Work:
    groups: list[SmallFiles] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    replaced: list[DataFile] = field(default_factory=list)  # rows of units


class Joiner:
    """Little is joined by this process: a worker that has slept since the last time would take longer to
    start. What is more is done by tasks (`compact.HERE_BYTES`)."""

    def __init__(self, committer: Committer, fan: int, runner: Runner | None = None) -> None:
        self.committer, self.runner, self._fan = committer, runner, fan

    def join(self, lake: Lake, rows: Iterable[dict[str, Any]]) -> Joined:
        """All that is due, as one commit. If another build changes one of the units meanwhile it is left
        for the next time."""
        work = _Work()
        for row in rows:
            self._plan(lake, row, work)
        if not work.rows:
            return Joined()
        with described("join segments"):
            adds = rewrite_all(work.groups, lake.location, self.runner)
        removes = [file.data_file() for group in work.groups for file in group.files]
        told = write_units(lake.location, work.rows)
        change = Change((*adds, *told), (*removes, *work.replaced))
        try:
            self.committer.commit(change, Label("compact", data_change=False), base=lake.version.number)
        except LakeConflictError:
            return Joined()
        return Joined(len(removes), len(adds))

    def _plan(self, lake: Lake, row: dict[str, Any], work: _Work) -> None:
        known = StreamState.of_plan(row["plan"])
        if known is None or neighbours(known.segments, self._fan) is None:
            return
        live = _files_of(lake, row)
        state = state_of(row, live)
        due = None if state is None else neighbours(state.segments, self._fan)
        if state is None or due is None:
            return
        labels = {slice_label(each.number) for each in state.segments[slice(*due)]}
        joined = slice_label(state.join(*due).number)
        for table in DATA_TABLES.values():
            mine = tuple(file for file in live if file.table == table.name and label_of(file) in labels)
            if mine:
                work.groups.append(SmallFiles(table.name, mine, joined))
        work.rows.append(changed_row(row, state))
        work.replaced += [file.data_file() for file in live if label_of(file) == UNIT_LABEL]


def neighbours(segments: Sequence[Segment], fan: int) -> tuple[int, int] | None:
    """The first of those to be joined and the one after them; None: they are few enough."""
    end = len(segments) - 1
    first, limit = end, fan
    while True:
        start = first
        while start > 0 and segments[start - 1].parts < limit and segments[start - 1].size < FULL_BYTES:
            start -= 1
        if first - start + (first < end) < fan:  # what is joined of smaller ones is one more of these
            break
        first, limit = start, limit * fan
    return (first, end) if first < end else None


def _files_of(lake: Lake, row: dict[str, Any]) -> list[LiveFile]:
    key = UnitKey.of_row(row)
    return [file for table in DATA_TABLES for file in lake.files(table, key.where)]


# After a batch: segments of running days become fewer, days that are over few files, and what is kept of old
# captures goes.


class Upkeep:
    def __init__(
        self, location: Location, indexes: IndexCache, joiner: Joiner, settings: StreamSettings,
        recent: RecentUnits,
    ) -> None:  # fmt: skip
        self._location, self._indexes, self._joiner, self._compacts = (
            location, indexes, joiner, settings.compact
        )  # fmt: skip
        self._system, self._recent = settings.system, recent
        self._done: set[UnitKey] = set()  # days that are compact, or none of a stream
        self._version = -1

    def after(self, version: int, changed: list[UnitKey]) -> int:
        """How many files have become fewer."""
        self._done -= set(changed)
        if version in (0, self._version):
            return 0
        lake = Lake(self._location, system=ALL_SYSTEMS)
        rows = self._recent.rows(
            LakeState(self._location, lake.version, self._system, known=self._recent.known)
        )
        self._forget(rows)
        self._version = lake.version.number
        if not self._compacts:
            return 0
        past = over_days(rows)
        over = {key for key in past - self._done if is_streamed(rows[key])}
        running = [row for key, row in rows.items() if key not in over]
        joined = self._joiner.join(lake, running)
        fewer = joined.before - joined.after + (self._compact(over) if over else 0)
        self._done |= past
        return fewer

    def _compact(self, over: set[UnitKey]) -> int:
        joiner = self._joiner
        with described("days that are over"):
            lake = Lake(self._location)
            done = compact(lake, units=over, committer=joiner.committer, runner=joiner.runner)
        self._version = done.version or self._version
        return done.before - done.after

    def _forget(self, rows: Rows) -> None:
        """Indexes of captures from which only old days were made."""
        old = set(settled(rows))
        unneeded = {file.path for key in old for file in inputs_of(rows[key])}
        unneeded -= {file.path for key in rows.keys() - old for file in inputs_of(rows[key])}
        self._indexes.forget(unneeded & self._indexes.paths)
