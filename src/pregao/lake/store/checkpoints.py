"""Checkpoints of a table's log: what all its entries up to a version say, as one Parquet file.

Any reader of Delta takes them; we use them only where a log has no summary (`summaries`). Ours are sorted by
partition and cut into row groups that have figures of the partitions in them (`partitionValues_parsed`), so
that some partitions can be read alone. Checkpoints that others wrote are read as a whole.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import named
from pregao.lake.reading.arrow import range_fits, value_fits
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.location import Location, StoredFile
from pregao.lake.tables.table import Table
from pregao.lake.tables.types import DATE, LONG

LOG: Final = "_delta_log"
HINT: Final = "_last_checkpoint"
INTERVAL: Final = 10  # entries: as many are read after a checkpoint at most
_FILES_AN_ENTRY: Final = 1024  # of a table: one checkpoint more for so many, or it would cost more and more
_SMALL_BYTES: Final = 64 << 10  # as much is read of any to find out what is in it
_KEPT_GROUPS: Final = 8  # of those that were read: more would be the whole table
_HEADS: Final = ("protocol", "metaData", "txn")
_PARSED: Final = "partitionValues_parsed"
_TEXTS: Final = pa.map_(pa.string(), pa.string())
_TYPES: Final = {
    "protocol": pa.struct([
        ("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string())),
    ]),
    "metaData": pa.struct([
        ("id", pa.string()), ("name", pa.string()), ("description", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
        ("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string())),
        ("createdTime", pa.int64()), ("configuration", _TEXTS),
    ]),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
}  # fmt: skip
ADDED: Final = pa.schema([  # what is read of a file
    ("path", pa.string()), ("size", pa.int64()), ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()), ("stats", pa.string()),
])  # fmt: skip


def name_of(version: int) -> str:
    return f"{version:020}.checkpoint.parquet"


def partition_of(table: Table, folder: str) -> dict[str, Any]:
    """Values of the partition columns, as typed as the columns are, from the folder of a file: all files of
    a lake are written into such folders."""
    found: dict[str, Any] = {}
    for part in folder.split("/"):
        name, _, text = part.partition("=")
        if name in table.partitions:
            found[name] = typed_value(table, name, text)
    if len(found) != len(table.partitions):
        raise ValueError(f"no folder of table {table.name}: {folder!r}")
    return found


def typed_value(table: Table, name: str, text: str) -> Any:
    kind = table.by_name[name].type
    if kind is DATE:
        return date.fromisoformat(text)
    return int(text) if kind is LONG else text


class Folders:
    """Which paths are of wanted partitions. Each folder is looked at once."""

    def __init__(self, table: Table, wanted: Sequence[Condition]) -> None:
        self._table, self._wanted = table, wanted
        self._known: dict[str, bool] = {}

    def have(self, path: str) -> bool:
        if not self._wanted:
            return True
        folder = path.rpartition("/")[0]
        found = self._known.get(folder)
        if found is None:
            values = partition_of(self._table, folder)
            found = all(value_fits(values[each.column], each) for each in self._wanted)
            self._known[folder] = found
        return found


class Checkpoint:
    """One that is there."""

    def __init__(self, location: Location, table: Table, version: int) -> None:
        self._location, self._table, self.version = location, table, version
        self._read: dict[int, Any] = {}  # the row groups that were asked for
        self._whole: bytes | None = None  # all of a small file: one request, not one for each part

    @property
    def name(self) -> str:
        return self._location.full(self._table.name, LOG, name_of(self.version))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Never left open: a lake has many, and nobody says when he is done with a log."""
        path = self._location.path(self._table.name, LOG, name_of(self.version))
        known = self.__dict__.get("_about")  # what has been read of it before
        with named(self.name):
            if self._whole is not None:
                yield pq.ParquetFile(pa.BufferReader(self._whole), metadata=known)
                return
            with self._location.filesystem.open_input_file(path) as source:
                if source.size() > _SMALL_BYTES:
                    yield pq.ParquetFile(source, metadata=known, pre_buffer=True)
                    return
                self._whole = source.read()
            yield pq.ParquetFile(pa.BufferReader(self._whole), metadata=known)

    @cached_property
    def _about(self) -> Any:
        with self._opened() as file:
            return file.metadata

    @cached_property
    def _columns(self) -> dict[str, int]:
        schema = self._about.schema
        return {schema.column(index).path: index for index in range(len(schema))}

    @cached_property
    def heads(self) -> list[dict[str, Any]]:
        """The actions that are not about files."""
        found: list[dict[str, Any]] = []
        groups = [each for each in range(self._about.num_row_groups) if self._has_heads(each)]
        with self._opened() as file:
            rows = file.read_row_groups(groups, columns=list(_HEADS))
            for name in _HEADS:
                column = rows[name]
                found += [{name: value} for value in column.filter(column.is_valid()).to_pylist()]
        return found

    def _has_heads(self, group: int) -> bool:
        leaves = ("protocol.minReaderVersion", "txn.appId")
        about = [self._about.row_group(group).column(self._columns[leaf]) for leaf in leaves]
        return any(each.statistics is None or each.statistics.null_count < each.num_values for each in about)

    @cached_property
    def count(self) -> int:
        """Files."""
        with named(self.name):
            return int(self._about.num_rows) - len(self.heads)

    def adds(self, wanted: Sequence[Condition] = ()) -> Iterator[Any]:
        """Files of wanted partitions, as tables with the columns of ADDED. Row groups are read as a whole."""
        with named(self.name):
            groups = [each for each in range(self._about.num_row_groups) if self._may_hold(each, wanted)]
        chosen = Folders(self._table, wanted)
        for group in groups:
            rows = self.read_group(group)
            keep = [chosen.have(path) for path in rows["path"].to_pylist()] if wanted else None
            yield rows if keep is None else rows.filter(pa.array(keep, pa.bool_()))

    def read_group(self, group: int) -> Any:
        if group not in self._read:
            if len(self._read) >= _KEPT_GROUPS:
                self._read.clear()
            with self._opened() as file:
                rows = file.read_row_group(group, columns=[f"add.{name}" for name in ADDED.names])
                whole = rows["add"].combine_chunks()
                files = whole.filter(whole.is_valid())
                self._read[group] = pa.table([files.field(name) for name in ADDED.names], schema=ADDED)
        return self._read[group]

    def values_of(self, partition: str) -> set[Any]:
        """Different values of a partition column. A row group whose files all have the same is not read."""
        return self._values(partition, lambda figures: figures[0] == figures[1])

    def least_and_greatest(self, partition: str) -> set[Any]:
        """Values of a partition column, among them those of all row groups."""
        return self._values(partition, lambda figures: True)

    def _values(self, partition: str, is_enough: Callable[[tuple[Any, Any]], bool]) -> set[Any]:
        """By the figures of each row group, where they are enough; otherwise by its files."""
        found: set[Any] = set()
        for group in range(self._about.num_row_groups):
            if self._has_files(group):
                figures = self._figures(group, partition)
                if figures is not None and is_enough(figures):
                    found.update(figures)
                    continue
                folders = {path.rpartition("/")[0] for path in self.read_group(group)["path"].to_pylist()}
                found.update(partition_of(self._table, folder)[partition] for folder in folders)
        return found

    def _may_hold(self, group: int, wanted: Sequence[Condition]) -> bool:
        if not self._has_files(group):
            return False
        figures = ((self._figures(group, each.column), each) for each in wanted)
        return all(told is None or range_fits(*told, condition) for told, condition in figures)

    def _has_files(self, group: int) -> bool:
        about = self._chunk(group, self._table.partitions[0])
        figures = None if about is None else about.statistics
        return about is None or figures is None or figures.null_count < about.num_values

    def _figures(self, group: int, column: str) -> tuple[Any, Any] | None:
        """Least and greatest value of a partition column; None: not known."""
        about = self._chunk(group, column)
        figures = None if about is None else about.statistics
        return None if figures is None or not figures.has_min_max else (figures.min, figures.max)

    def _chunk(self, group: int, column: str) -> Any:
        index = self._columns.get(f"add.{_PARSED}.{column}")
        return None if index is None else self._about.row_group(group).column(index)


# Writing


def is_due(version: int, last: int, files: int) -> bool:
    """Whether readers of Delta get another checkpoint. Each has all files of the table: the more there are,
    the more entries may follow one."""
    return version - last >= max(INTERVAL, files // _FILES_AN_ENTRY)


def write_checkpoint(
    location: Location, table: Table, version: int, heads: Iterable[dict[str, Any]], files: Iterable[Any]
) -> None:
    """`files` as a summary has them, in the order of partitions, a table for each row group. Whole or not at
    all: whoever dies on the way leaves the log as it was."""
    named_heads, count = list(heads), 0
    sink = pa.BufferOutputStream()
    schema = pa.schema([("add", _added_type(table)), *_TYPES.items()])
    statistics = [f"add.{_PARSED}.{name}" for name in table.partitions]
    options: dict[str, Any] = {
        "compression": "zstd", "use_dictionary": statistics,
        "write_statistics": [*statistics, "protocol.minReaderVersion", "txn.appId"],
    }  # fmt: skip
    with pq.ParquetWriter(sink, schema, **options) as writer:
        writer.write_table(_heads_table(schema, named_heads))
        for rows in files:
            count += rows.num_rows
            listed = _adds_table(schema, table, with_partitions(table, rows))
            writer.write_table(listed, row_group_size=max(rows.num_rows, 1))
    content = sink.getvalue()
    put_whole(location, content, table.name, LOG, name_of(version))
    hint = {
        "version": version, "size": count + len(named_heads), "sizeInBytes": content.size,
        "numOfAddFiles": count,
    }  # fmt: skip
    put_whole(location, json.dumps(hint).encode(), table.name, LOG, HINT)


def put_whole(location: Location, content: Any, *parts: str) -> None:
    """A store puts objects whole; on a disk a file gets its name when it is."""
    target = location.path(*parts)
    written = f"{target}.{uuid4().hex[:8]}.part" if location.is_local else target
    with named(location.full(*parts)):
        with location.filesystem.open_output_stream(written, compression=None) as stream:
            stream.write(content)
        if written != target:
            location.filesystem.move(written, target)


def with_partitions(table: Table, files: Any) -> Any:
    """Rows of ADDED, with the values of their partitions as columns."""
    folders = [path.rpartition("/")[0] for path in files["path"].to_pylist()]
    known = {folder: partition_of(table, folder) for folder in set(folders)}
    for name in table.partitions:
        values = pa.array([known[folder][name] for folder in folders], table.by_name[name].type.arrow)
        files = files.append_column(name, values)
    return files


def _added_type(table: Table) -> Any:
    parsed = pa.struct([(name, table.by_name[name].type.arrow) for name in table.partitions])
    return pa.struct([
        ("path", pa.string()), ("partitionValues", _TEXTS), ("size", pa.int64()),
        ("modificationTime", pa.int64()), ("dataChange", pa.bool_()), ("stats", pa.string()),
        (_PARSED, parsed),
    ])  # fmt: skip


def _heads_table(schema: Any, heads: Sequence[dict[str, Any]]) -> Any:
    columns = [pa.nulls(len(heads), schema.field("add").type)]
    for name in _HEADS:
        values = [_with_maps(head[name]) if name in head else None for head in heads]
        columns.append(pa.array(values, _TYPES[name]))
    return pa.table(columns, schema=schema)


def _with_maps(value: Any) -> Any:
    """Objects of JSON that are maps, as Arrow takes them."""
    if not isinstance(value, dict):
        return value
    maps = ("options", "configuration")
    return {
        name: list(each.items()) if name in maps and isinstance(each, dict) else _with_maps(each)
        for name, each in value.items()
    }


def _adds_table(schema: Any, table: Table, rows: Any) -> Any:
    names, count = table.partitions, rows.num_rows
    typed = [rows[name].combine_chunks() for name in names]
    texts = list(zip(*(column.cast(pa.string()).to_pylist() for column in typed), strict=True))
    keys = pa.array(list(names) * count, pa.string())
    offsets = pa.array(range(0, len(names) * (count + 1), len(names)), pa.int32())
    items = pa.array([each for row in texts for each in row], pa.string())
    kind = schema.field("add").type
    own = {name: rows[name].combine_chunks() for name in ADDED.names}
    own["partitionValues"] = pa.MapArray.from_arrays(offsets, keys, items)
    own[_PARSED] = pa.StructArray.from_arrays(typed, fields=list(kind.field(_PARSED).type))
    added = pa.StructArray.from_arrays([own[field.name] for field in kind], fields=list(kind))
    return pa.table([added, *(pa.nulls(count, _TYPES[name]) for name in _HEADS)], schema=schema)


# Cleaning up


def needless_entries(location: Location, table: str, oldest: int) -> list[StoredFile]:
    """Entries and checkpoints that no version from `oldest` on needs: those before the newest checkpoint that
    is not after it."""
    files = list(location.files(table, LOG))
    checkpoints = [number for file in files if (number := checkpoint_version(file.path)) is not None]
    first = max((number for number in checkpoints if number <= oldest), default=-1)
    return sorted((file for file in files if 0 <= _version(file.path) < first), key=lambda file: file.path)


def checkpoint_version(name: str) -> int | None:
    version = _version(name)
    return version if version >= 0 and name == name_of(version) else None


def _version(name: str) -> int:
    """−1: neither an entry nor a checkpoint."""
    head, _, rest = name.partition(".")
    is_ours = len(head) == 20 and head.isdigit() and rest in ("json", "checkpoint.parquet")
    return int(head) if is_ours else -1
