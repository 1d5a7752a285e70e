"""Data files: written whole under names nobody else has, and described for the log.

with FileWriter(location, TRADES, {"system": "binary", "trade_date": "2026-11-16", "source": "84"}) as writer:
    writer.write(batch)             # in TRADES.written_schema, sorted
manifest.append(writer.file)
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import LakeError, named
from pregao.lake.store.location import Location
from pregao.lake.tables.arrays import ROW_GROUP_ROWS, parquet_options
from pregao.lake.tables.table import Table

Partition = Mapping[str, str | None]
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+-]{1,100}")
LARGE_ROWS: Final = 20_000  # from here on our writer is faster than Arrow's: it does more for each column


@dataclass(frozen=True)
class DataFile:
    """A file as the log knows it: `path` below its table, `statistics` as Delta's JSON."""

    table: str
    path: str
    size: int
    rows: int
    partition: Partition
    statistics: str

    @property
    def key(self) -> tuple[str, tuple[tuple[str, str | None], ...]]:
        """Table and partition: what two builders must not both replace."""
        return self.table, tuple(sorted(self.partition.items()))

    def to_row(self) -> dict[str, Any]:
        """A manifest row: what a task sends back."""
        return {
            "table": self.table, "path": self.path, "size": self.size, "rows": self.rows,
            "partition": json.dumps(dict(self.partition), sort_keys=True), "statistics": self.statistics,
        }  # fmt: skip

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        return cls(
            row["table"], row["path"], row["size"], row["rows"], json.loads(row["partition"]),
            row["statistics"],
        )  # fmt: skip


class FileWriter:
    """One Parquet file. What fails leaves no file behind if that can be helped."""

    def __init__(
        self, location: Location, table: Table, partition: Partition, *, label: str = "part",
        schema: Any = None, expected_rows: int = 0,
    ) -> None:  # fmt: skip
        """`schema`: of what is written, if that is not the table's own. `expected_rows`: about how many."""
        if set(partition) != set(table.partitions):
            raise LakeError(f"table {table.name}: partition {dict(partition)} is not {table.partitions}")
        odd = [value for value in partition.values() if not _PLAIN.fullmatch(str(value))]
        if odd:  # Delta's paths and Spark's folders escape each other's signs differently
            raise LakeError(f"table {table.name}: {odd[0]!r} cannot be part of a path")
        self._location, self._table, self._partition = location, table, dict(partition)
        folder = "/".join(f"{name}={partition[name]}" for name in table.partitions)
        self._path = f"{folder}/{label}-{uuid4().hex}.parquet"
        self._schema = table.written_schema if schema is None else schema
        self._metadata: Any = None
        if location.is_local:
            location.make_folder(table.name, folder)
        with named(self.name):
            self._sink = location.filesystem.open_output_stream(location.path(table.name, self._path))
            self._writer = self._parquet(is_large=expected_rows >= LARGE_ROWS)

    def _parquet(self, *, is_large: bool) -> Any:
        options = parquet_options(self._table)
        if is_large:
            # Who only reads a lake need not wait until kernels are loaded.
            from pregao.lake.parquet.writer import FlatWriter, can_write

            if can_write(self._schema):
                return FlatWriter(self._sink, self._schema, self._table, set(options["write_statistics"]))
        return pq.ParquetWriter(self._sink, self._schema, **options)

    @property
    def name(self) -> str:
        return self._location.full(self._table.name, self._path)

    def can_hold(self, rows: Any) -> bool:
        """Not if they have nulls in a column in which the file has said that there are none, or a column that
        it does not have."""
        both = zip(self._schema, rows.schema, strict=False)
        same = self._schema.names == rows.schema.names
        return same and all(mine.nullable or not other.nullable for mine, other in both)

    def write(self, batch: Any) -> None:
        """A record batch or table. Row groups are cut as readers skip them."""
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        table = pa.table(table.columns, schema=self._schema)
        with named(self.name):
            self._writer.write_table(table, row_group_size=ROW_GROUP_ROWS)

    @property
    def file(self) -> DataFile:
        """Known once the writer is closed."""
        if self._metadata is None:
            raise LakeError(f"{self.name} is not written yet")
        size = self._location.size(self._table.name, self._path)
        statistics = file_statistics(self._metadata, self._table.skip_columns)
        rows = self._metadata.num_rows
        return DataFile(self._table.name, self._path, size or 0, rows, self._partition, statistics)

    def close(self) -> None:
        with named(self.name):
            self._writer.close()
            self._sink.close()
        self._metadata = getattr(self._writer, "writer", self._writer).metadata  # Arrow's has it inside

    def discard(self) -> None:
        for part in (self._writer, self._sink):
            try:
                part.close()
            except (OSError, ValueError):
                continue
        self._location.delete(self._table.name, self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
        except LakeError:
            kind = LakeError
            raise
        finally:
            if kind is not None:
                self._try_to_discard()

    def _try_to_discard(self) -> None:
        try:
            self.discard()
        except LakeError:
            return  # the error that brought us here is the one to tell; vacuum finds the file


def write_file(
    location: Location, table: Table, partition: Partition, rows: Any, *, label: str = "part"
) -> DataFile:
    """A whole table at once; its schema is that of reading or of writing. What is seldom filled is left out
    where it is not."""
    given = set(rows.column_names)
    stored = rows.select([
        column.name for column in table.stored
        if not column.seldom or (column.name in given and rows[column.name].null_count < rows.num_rows)
    ])  # fmt: skip
    writer = FileWriter(location, table, partition, label=label, schema=stored.schema)
    with writer:
        writer.write(stored)
    return writer.file


def file_statistics(metadata: Any, columns: Iterable[str]) -> str:
    """What the Delta log says of a file, so that readers skip it: rows, least, greatest, nulls. From the
    footer that Parquet has made anyway. A column without figures in any row group gets none: no figure means
    that the file must be read."""
    wanted = set(columns)
    places = {
        metadata.schema.column(index).path: index
        for index in range(metadata.num_columns)
        if metadata.schema.column(index).path in wanted
    }
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name, index in places.items():
        groups = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
        figures = [column.statistics for column in groups]
        if any(each is None or not each.has_null_count for each in figures):
            continue
        nulls[name] = sum(each.null_count for each in figures)
        filled = [
            each for each, column in zip(figures, groups, strict=True) if each.null_count < column.num_values
        ]
        if filled and all(each.has_min_max for each in filled):
            least[name] = min(each.min for each in filled)
            greatest[name] = max(each.max for each in filled)
    return statistics_json(metadata.num_rows, least, greatest, nulls)


def statistics_json(rows: int, least: dict[str, Any], greatest: dict[str, Any], nulls: dict[str, int]) -> str:
    figures = {"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    return json.dumps(figures, ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    """Dates as Delta writes them; nothing else needs help."""
    if not isinstance(value, date):
        raise TypeError(f"no figure of a log: {value!r}")
    return value.isoformat()
