"""Small files of a partition become files of sensible size, sorted by instrument and time.

A partition is rewritten range by range of its instruments, so that memory is bounded by one file of the
wanted size and each new file holds instruments of its own: readers of one instrument open one file.
The rows stay the same. All of it is one lake commit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.reading.arrow import read
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.livefile import LiveFile, key_of
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import TRADE_DATE, Table, UnitKey

TARGET_BYTES: Final = 128 << 20
FEWEST_FILES: Final = 2
DERIVED: Final = "analytics"  # label of files that were computed from others
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SmallFiles:
    """Files of one partition that are too small."""

    table: Table
    files: tuple[LiveFile, ...]
    label: str = "compact"

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Compaction:
    """What was done. `version` None: there was nothing to do."""

    version: int | None
    before: int
    after: int
    bytes_before: int
    bytes_after: int


def compact(
    lake: Lake,
    *,
    tables: Iterable[str] | None = None,
    target_bytes: int = TARGET_BYTES,
    units: Collection[UnitKey] | None = None,
    progress: Progress = lambda done, total: None,
    committer: Committer | None = None,
) -> Compaction:
    """`units`: only these, of whatever system. LakeConflictError, and nothing changed, when a build
    replaces one of the partitions meanwhile."""
    groups = small_files(lake, tables, target_bytes, units)
    if not groups:
        return Compaction(None, 0, 0, 0, 0)
    adds: list[DataFile] = []
    for done, group in enumerate(groups):
        progress(done, len(groups))
        adds += rewrite(group, lake.location, target_bytes)
    removes = tuple(file.data_file() for group in groups for file in group.files)
    label = Label("compact", data_change=False)
    committer = committer or Committer(lake.location)
    version = committer.commit(Change(tuple(adds), removes), label, base=lake.version.number)
    progress(len(groups), len(groups))
    return Compaction(
        version.number, len(removes), len(adds), sum(file.size for file in removes),
        sum(file.size for file in adds),
    )  # fmt: skip


def small_files(
    lake: Lake, tables: Iterable[str] | None, target_bytes: int,
    units: Collection[UnitKey] | None = None,
) -> list[SmallFiles]:  # fmt: skip
    """Files below half the wanted size, where a partition has several that would be fewer. Those that
    were computed from others stay apart: they are replaced by themselves."""
    found: list[SmallFiles] = []
    whole = lake.of(ALL_SYSTEMS)
    where = None if units is None else {TRADE_DATE: sorted({key.trade_date for key in units})}
    for name in DATA_TABLES if tables is None else tables:
        parts: dict[tuple[Any, ...], list[LiveFile]] = {}
        for file in whole.files(name, where):
            if units is not None and key_of(file) not in units:
                continue
            if file.size < target_bytes // 2:
                label = DERIVED if f"/{DERIVED}-" in f"/{file.path}" else "compact"
                parts.setdefault((label, *file.partition.values()), []).append(file)
        for (label, *_), files in parts.items():
            group = SmallFiles(DATA_TABLES[name], tuple(files), label)
            if len(files) >= FEWEST_FILES and len(files) > -(-group.bytes // target_bytes):
                found.append(group)
    return found


def rewrite(group: SmallFiles, location: Location, target_bytes: int = TARGET_BYTES) -> list[DataFile]:
    return list(_rewritten(group, location, target_bytes))


def _rewritten(group: SmallFiles, location: Location, target_bytes: int) -> Iterator[DataFile]:
    most_rows = max(1, group.rows * target_bytes // max(group.bytes, 1))
    partition = group.files[0].data_file().partition
    for conditions in _ranges(location, group, most_rows):
        rows = read(location, group.table, group.files, conditions)
        if group.table.order:
            rows = rows.sort_by([(name, "ascending") for name in group.table.order])
        yield write_file(location, group.table, partition, rows, label=group.label)


def _ranges(location: Location, group: SmallFiles, most_rows: int) -> Iterator[list[Condition]]:
    """Conditions that cut the rows into files; one instrument is never cut."""
    column = _range_column(group.table)
    if group.rows <= most_rows or column is None:
        yield []
        return
    counted = read(location, group.table, group.files, [], [column])[column].value_counts()
    counts = {item["values"]: item["counts"] for item in counted.to_pylist()}
    if counts.pop(None, 0):
        yield [Condition(column, "is null")]
    first: Any = None
    held = 0
    for value in sorted(counts):
        if first is not None and held + counts[value] > most_rows:
            yield [Condition(column, ">=", first), Condition(column, "<", value)]
            first, held = None, 0
        first = value if first is None else first
        held += counts[value]
    if first is not None:
        yield [Condition(column, ">=", first)]


def _range_column(table: Table) -> str | None:
    """Instruments where there are any, else the place in the stream."""
    return next((name for name in ("security_id", "seq_num") if name in table.by_name), None)
