"""Files of a partition as sorted ones: where they are cut, and how each is written.

A partition is cut along the order of its table: first between instruments, and inside one that has very many
rows by time. Each part is read, sorted and written by itself, so that memory is bounded by one part whatever
the size of a file; parts of a file follow each other, so the file is sorted as a whole. An instrument is in
one file: who looks for it opens that one, and in it only the row groups that have it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import named
from pregao.lake.reading.arrow import expression, may_hold, prune
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.files import DataFile, FileWriter
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.arrays import PART_ROWS
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import Table

TARGET_BYTES: Final = 128 << 20
_SAMPLES: Final = 1 << 16  # values of a column by which an instrument is cut
_INSTRUMENT: Final = "security_id"


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
    columns = _columns(location, group)
    schema = pa.schema([table.stored_schema.field(name) for name in columns])
    writer = FileWriter(location, table, partition, label=group.label, schema=schema)
    with writer:
        for part in file.parts:
            found = list(_tables(location, group, part.conditions, columns))
            if not found:  # by the sample there would be rows
                continue
            rows = pa.concat_tables(found)
            del found
            if table.order:
                rows = rows.sort_by([(name, "ascending") for name in table.order])
            writer.write(rows)
    return writer.file


def _columns(location: Location, group: SmallFiles) -> list[str]:
    """Without those that no file has: see `Column.seldom`."""
    seldom = {column.name for column in group.table.stored if column.seldom}
    filled: set[str] = set()
    for file in group.files if seldom else ():
        name, path = location.full(group.table.name, file.path), location.path(group.table.name, file.path)
        with named(name), location.filesystem.open_input_file(path) as source:
            filled |= seldom & set(pq.ParquetFile(source).schema_arrow.names)
    return [name for name in group.table.stored_schema.names if name not in seldom - filled]


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
                    yield _with_all(rows, schema)


def _with_all(rows: Any, schema: Any) -> Any:
    """With nulls for what the file does not have."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names).cast(schema)


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
