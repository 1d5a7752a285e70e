"""One message's own columns (docs/columns.md), or those of one of its groups, decoded by kernel."""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.codecs.sbe.plan import Table
from pregao.feeds.binary.arrow import record_batch
from pregao.feeds.binary.batch import ColumnBatch, TableColumns
from pregao.feeds.binary.columns import ColumnDecoder
from pregao.io.captures import open_capture
from pregao.lake.source.options import Request
from pregao.model.errors import ConfigurationError

# Where a row came from; rows of a group take it from their message.
_LINEAGE: Final = (
    "channel", "sequence_version", "sequence_number", "packet", "flow", "ts_recv_ns", "message_index",
    "wire_version", "flags", "ts_send_ns", "ts_event_ns", "ts_event_kind",
)  # fmt: skip
# Spark has no unsigned numbers, no narrow decimals, no dictionaries.
_LARGEST: Final = (1 << 63) - 1
_WIDER: Final = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
_HIDDEN: Final = "unknown"  # messages of unknown templates: rows of all messages show them


class TableReader:
    """Arrow batches of one table of one capture after another."""

    def __init__(self, request: Request, rows: int | None = None) -> None:
        self._request = request
        self._decoder = ColumnDecoder(request.load_schema(), rows or request.rows)
        self._table = self._find(request.message)

    def _find(self, name: str) -> Table:
        tables = {table.name: table for table in self._decoder.plan.tables if table.name != _HIDDEN}
        if name in tables:
            return tables[name]
        known = ", ".join(sorted(tables))
        raise ConfigurationError(f"there is no table {name!r}; there are {known}", key="message")

    @property
    def schema(self) -> Any:
        """Of its batches, known without a capture."""
        storage = self._decoder.storage
        storage.clear()
        none = {name: array[:0] for name, array in storage.packets.items()}
        plan = self._decoder.plan
        empty = [TableColumns(plan, storage, table, none) for table in plan.tables]
        return self._shaped("", empty[self._table.index], empty).schema

    def batches(self, path: str) -> Iterator[Any]:
        with open_capture(path) as source:
            for batch in self._decoder.batches(source.windows()):
                if self._table.name in batch:
                    yield from self._wanted(path, batch)

    def _wanted(self, path: str, batch: ColumnBatch) -> Iterator[Any]:
        rows = self._shaped(path, batch[self._table.name], batch.tables)
        if self._request.channels:
            chosen = pa.array(sorted(self._request.channels), pa.int16())
            rows = rows.filter(pc.is_in(rows.column("channel"), chosen))
        if rows.num_rows:
            yield rows

    def _shaped(self, path: str, mine: TableColumns, tables: list[TableColumns]) -> Any:
        """The file first, lineage, then the table's own columns."""
        rows = record_batch(mine)
        above = mine
        places = None
        while above.table.parent is not None:
            up = pa.array(above.parent_rows)
            places = up if places is None else up.take(places)
            above = tables[above.table.parent]
        root = rows if places is None else record_batch(above).take(places)
        columns = {
            "file": pa.array([path], pa.string()).take(pa.nulls(rows.num_rows, pa.int32()).fill_null(0))
        }
        columns |= {name: as_spark(root.column(name)) for name in _LINEAGE}
        own = [name for name in rows.schema.names if name not in _LINEAGE and name != "parent_row"]
        columns |= {name: as_spark(rows.column(name)) for name in own}
        fields = {"file": pa.string()} | {name: column.type for name, column in columns.items()}
        return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(list(fields.items())))


def schema_of(request: Request) -> Any:
    return spark_schema(TableReader(request, rows=1).schema)


def spark_type(given: Any) -> Any:
    """The Arrow type that Spark reads in its place."""
    if pa.types.is_dictionary(given):
        return spark_type(given.value_type)
    if pa.types.is_decimal(given):
        return pa.decimal128(given.precision, given.scale)
    if given == pa.uint64():
        return pa.int64()
    if pa.types.is_struct(given):
        return pa.struct([(member.name, spark_type(member.type)) for member in given])
    return _WIDER.get(given, given)


def spark_schema(given: Any) -> Any:
    return pa.schema([(member.name, spark_type(member.type)) for member in given])


def as_spark(column: Any) -> Any:
    """A column of that type. What needs the 64th bit of an unsigned number is null: never a wrap."""
    wanted = spark_type(column.type)
    if column.type == wanted:
        return column
    if pa.types.is_dictionary(column.type):
        return as_spark(column.dictionary_decode())
    if pa.types.is_struct(column.type):
        members = [as_spark(column.field(place)) for place in range(column.type.num_fields)]
        mask = pc.is_null(column) if column.null_count else None
        return pa.StructArray.from_arrays(members, fields=list(wanted), mask=mask)
    if column.type == pa.uint64():
        fits = pc.less_equal(column, pa.scalar(_LARGEST, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, pa.uint64()))
    return column.cast(wanted)
