"""Small files of a partition become files of sensible size, sorted by instrument and time.

A partition is cut along the order of its table: first between instruments, and inside one that has very many
rows by time. Each part is read, sorted and written by itself, so that memory is bounded by one part whatever
the size of a file; parts of a file follow each other, so the file is sorted as a whole. An instrument is in
one file: who looks for it opens that one, and in it only the row groups that have it. The rows stay the same.
All of it is one lake commit.

Cutting and writing are tasks like any: of Spark where there is much to do, of this process otherwise.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import named
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.reading.arrow import expression, may_hold, prune
from pregao.lake.reading.conditions import Condition
from pregao.lake.runners import InlineRunner, Runner, described
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile, FileWriter
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.livefile import LiveFile, key_of
from pregao.lake.store.location import Location
from pregao.lake.tables.arrays import PART_ROWS
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import TRADE_DATE, Table, UnitKey

TARGET_BYTES: Final = 128 << 20
FEWEST_FILES: Final = 2
HERE_BYTES: Final = 32 << 20  # less than this is done by whoever asks: a task of Spark would cost more
DERIVED: Final = "analytics"  # label of files that were computed from others
_SAMPLES: Final = 1 << 16  # values of a column by which an instrument is cut
_INSTRUMENT: Final = "security_id"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SmallFiles:
    """Files of one partition of the table `name` that are too small."""

    name: str
    files: tuple[LiveFile, ...]
    label: str = "compact"

    @property
    def table(self) -> Table:
        return DATA_TABLES[self.name]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


class Part(NamedTuple):
    """Rows that are sorted at once. `instrument`: it has only rows of this one, and is not all of them."""

    conditions: tuple[Condition, ...]
    rows: int
    instrument: int | None = None


class SortedFile(NamedTuple):
    """A file to be written: `group` has only files that can hold its rows."""

    group: SmallFiles
    parts: tuple[Part, ...]


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
    runner: Runner | None = None,
) -> Compaction:
    """`units`: only these, of whatever system. LakeConflictError, and nothing changed, when a build
    replaces one of the partitions meanwhile. `runner`: who does it where it is much."""
    groups = small_files(lake, tables, target_bytes, units)
    if not groups:
        return Compaction(None, 0, 0, 0, 0)
    adds = rewrite_all(groups, lake.location, runner, target_bytes, progress)
    removes = tuple(file.data_file() for group in groups for file in group.files)
    label = Label("compact", data_change=False)
    committer = committer or Committer(lake.location)
    version = committer.commit(Change(tuple(adds), removes), label, base=lake.version.number)
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
            group = SmallFiles(name, tuple(files), label)
            if len(files) >= FEWEST_FILES and len(files) > -(-group.bytes // target_bytes):
                found.append(group)
    return found


def rewrite_all(
    groups: list[SmallFiles], location: Location, runner: Runner | None = None,
    target_bytes: int = TARGET_BYTES, progress: Progress = lambda done, total: None,
) -> list[DataFile]:  # fmt: skip
    """A task for each group finds where it is cut, then one for each new file writes that."""
    if runner is None or sum(group.bytes for group in groups) < HERE_BYTES:
        runner = InlineRunner()
    with described(f"compact: cut {len(groups)} partitions"):
        cut = partial(cut_group, location=location, target_bytes=target_bytes)
        files = [file for each in runner.run(cut, groups, lambda *_: None) for file in each]
    # The longest first, for the last to end is what the others wait for.
    files.sort(key=lambda file: sum(part.rows for part in file.parts), reverse=True)
    with described(f"compact: write {len(files)} files"):
        return runner.run(partial(write_sorted, location=location), files, progress)


# Where to cut


def cut_group(
    group: SmallFiles, location: Location, target_bytes: int = TARGET_BYTES, part_rows: int | None = None
) -> list[SortedFile]:
    """In the order of the table; an instrument is never in two files."""
    part_rows = part_rows or PART_ROWS
    most_rows = max(1, group.rows * target_bytes // max(group.bytes, 1))
    files: list[list[Part]] = [[]]
    held = 0
    for part in _parts(location, group, min(part_rows, most_rows)):
        before = files[-1][-1] if files[-1] else None
        same = before is not None and part.instrument is not None and part.instrument == before.instrument
        if before is not None and not same and held + part.rows > most_rows:
            files.append([])
            held = 0
        files[-1].append(part)
        held += part.rows
    return [_sorted_file(group, parts) for parts in files]


def _sorted_file(group: SmallFiles, parts: list[Part]) -> SortedFile:
    wanted = {file.path for part in parts for file in prune(group.files, part.conditions)}
    mine = tuple(file for file in group.files if file.path in wanted)
    return SortedFile(SmallFiles(group.name, mine, group.label), tuple(parts))


def _parts(location: Location, group: SmallFiles, most: int) -> Iterator[Part]:
    if group.rows <= most or not group.table.order:
        yield Part((), group.rows)
        return
    yield from _cut(location, group, (), group.table.order, most, None)


def _cut(
    location: Location, group: SmallFiles, given: tuple[Condition, ...], order: tuple[str, ...], most: int,
    instrument: int | None,
) -> Iterator[Part]:  # fmt: skip
    """What fulfils `given`, along the first column of `order`; a value with too many rows along the next."""
    column, *rest = order
    if column.startswith("ts_") or column == "seq_num":  # nearly every row has a value of its own
        yield from _between_samples(location, group, given, column, most, instrument)
        return
    first: Any = None
    last, held = None, 0
    counts = _counts(location, group, given, column)
    nulls = counts.pop(None, 0)
    for value in sorted(counts):
        if held and held + counts[value] > most:
            yield Part((*given, *_range(column, first, last)), held, instrument)
            held = 0
        if counts[value] > most and rest:
            one = (*given, Condition(column, "=", value))
            yield from _cut(location, group, one, tuple(rest), most, _instrument(column, value, instrument))
            continue
        first = value if not held else first
        last, held = value, held + counts[value]
    if held:
        yield Part((*given, *_range(column, first, last)), held, instrument)
    if nulls:  # where sorting puts them
        yield Part((*given, Condition(column, "is null")), nulls, instrument)


def _instrument(column: str, value: Any, known: int | None) -> int | None:
    return int(value) if column == _INSTRUMENT else known


def _range(column: str, first: Any, last: Any) -> tuple[Condition, ...]:
    if first == last:
        return (Condition(column, "=", first),)
    return Condition(column, ">=", first), Condition(column, "<=", last)


def _counts(
    location: Location, group: SmallFiles, given: tuple[Condition, ...], column: str
) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for rows in _tables(location, group, given, [column]):
        for item in rows.column(0).value_counts().to_pylist():
            found[item["values"]] = found.get(item["values"], 0) + item["counts"]
    return found


def _between_samples(
    location: Location, group: SmallFiles, given: tuple[Condition, ...], column: str, most: int,
    instrument: int | None,
) -> Iterator[Part]:  # fmt: skip
    """Cut at quantiles of a sample: parts have about as many rows as they may."""
    step, rows, nulls = max(1, group.rows // _SAMPLES), 0, 0
    samples: list[int] = []
    for table in _tables(location, group, given, [column]):
        values = table.column(0).drop_null().to_numpy()
        nulls += table.num_rows - len(values)
        samples += values[-rows % step :: step].tolist()
        rows += len(values)
    samples.sort()
    each = max(1, most * len(samples) // max(rows, 1))
    edges = sorted(set(samples[each::each]))
    bounds = [None, *edges, None]
    share = rows // (len(edges) + 1)
    for low, high in pairwise(bounds):
        conditions = [] if low is None else [Condition(column, ">=", low)]
        conditions += [] if high is None else [Condition(column, "<", high)]
        known = conditions or [Condition(column, "is not null")]
        yield Part((*given, *known), share, instrument)
    if nulls:
        yield Part((*given, Condition(column, "is null")), nulls, instrument)


# Writing


def write_sorted(file: SortedFile, location: Location) -> DataFile:
    """One file, a part in memory at a time."""
    group = file.group
    table, partition = group.table, group.files[0].data_file().partition
    writer = FileWriter(location, table, partition, label=group.label, schema=table.stored_schema)
    with writer:
        for part in file.parts:
            found = list(_tables(location, group, part.conditions, table.stored_schema.names))
            if not found:  # by the sample there would be rows
                continue
            rows = pa.concat_tables(found)
            del found
            if table.order:
                rows = rows.sort_by([(name, "ascending") for name in table.order])
            writer.write(rows)
    return writer.file


def _tables(
    location: Location, group: SmallFiles, conditions: Sequence[Condition], columns: list[str]
) -> Iterator[Any]:
    """Rows of one row group after the other: a dataset would read ahead, and memory is what this is about."""
    table = group.table
    schema = pa.schema([table.stored_schema.field(name) for name in columns])
    needed = list(dict.fromkeys([*columns, *(each.column for each in conditions)]))
    wanted = expression(table, conditions)
    for file in prune(group.files, conditions):
        name, path = location.full(table.name, file.path), location.path(table.name, file.path)
        with named(name), location.filesystem.open_input_file(path) as source:
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            for number in _row_groups(parquet.metadata, conditions):
                rows = parquet.read_row_group(number, columns=needed, use_threads=False)
                rows = rows if wanted is None else rows.filter(wanted)
                if rows.num_rows:
                    yield rows.select(columns).cast(schema)


def _row_groups(about: Any, conditions: Sequence[Condition]) -> Iterator[int]:
    """Those that can hold such rows, by their own figures."""
    places = {about.schema.column(index).path: index for index in range(about.num_columns)}
    names = {each.column for each in conditions} & places.keys()
    for number in range(about.num_row_groups):
        told = {name: about.row_group(number).column(places[name]).statistics for name in names}
        spans = {name: each for name, each in told.items() if each is not None and each.has_min_max}
        figures = LiveFile(
            "", "", 0, about.row_group(number).num_rows, {}, {name: each.min for name, each in spans.items()},
            {name: each.max for name, each in spans.items()}, {},
        )  # fmt: skip
        if all(may_hold(figures, condition) for condition in conditions):
            yield number
