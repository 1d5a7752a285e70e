"""Record batches of Binary UMDF: lineage first, then the schema's own columns.

Times are int64 nanoseconds, prices decimals over their mantissas, enums and sets the numbers that
were sent (their names are in the field's metadata), groups tables of their own with `parent_row`.
`ts_event_ns` is the moment the message itself tells, and `ts_event_kind` says which of the
schema's times that was: they are not the same moment (section 9).
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from pregao.codecs.arrow.arrays import BuiltArray, all_null, build, plain, variable
from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.codecs.sbe.plan import SchemaColumn
from pregao.feeds.binary.batch import Mask, TableColumns, Validity

# The times by which a message tells when it happened, the first that its version has.
EVENT_TIMES = ("transactTime", "mDEntryTimestamp", "origTime")

_EVENT_TIMES = pa.array(EVENT_TIMES)

# Our lineage columns by their Arrow names: of the packet, and of the row.
_OF_PACKET = {
    "channel": "channel",
    "sequence_version": "sequence_version",
    "sequence_number": "sequence_number",
    "packet": "number",
    "flow": "flow",
    "ts_recv_ns": "ts_recv",
}
_OF_ROW = {"message_index": "place", "wire_version": "version", "flags": "flags"}

# Where a row came from.
LINEAGE = (
    "channel", "sequence_version", "sequence_number", "packet", "flow", "ts_recv_ns", "message_index",
    "wire_version", "flags", "ts_send_ns", "ts_event_ns", "ts_event_kind",
)  # fmt: skip
LOST = "values_lost"  # metadata of a batch: rows whose value no Arrow type could hold, by column


def record_batch(table: TableColumns) -> Any:
    """A table of a batch as a pyarrow RecordBatch."""
    columns = _columns(table)
    lost = {owner.name: built.lost for owner, built in columns if built.lost}
    arrays: dict[str, Any] = {}
    if table.table.is_group:
        arrays["parent_row"] = plain(table.parent_rows)
    else:
        arrays |= _lineage(table, lost) | _event_time(table, {f.name: b.array for f, b in columns})
    arrays |= {owner.name: built.array for owner, built in columns}
    for data in table.table.data:
        ends, contents = table.data(data.name)
        arrays[data.name] = variable(ends, contents, data.declaration.encoding)
    schema = _schema_of(table, arrays, [owner for owner, _ in columns])
    if lost:
        schema = schema.with_metadata({LOST: json.dumps(lost)})
    return pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema)


def with_lineage(table: TableColumns, tables: Sequence[TableColumns]) -> Any:
    """A table whose rows all have LINEAGE: entries of groups take it from their message."""
    rows, above, places = record_batch(table), table, None
    while above.table.parent is not None:
        up = pa.array(above.parent_rows)
        places = up if places is None else up.take(places)
        above = tables[above.table.parent]
    root = rows if places is None else record_batch(above).take(places)
    columns = {name: root.column(name) for name in LINEAGE}
    own = (name for name in rows.schema.names if name not in LINEAGE and name != "parent_row")
    columns |= {name: rows.column(name) for name in own}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _schema_of(table: TableColumns, arrays: dict[str, Any], owners: list[FieldLayout]) -> Any:
    """The schema of a table, made once: it is the same for every batch."""
    known = table.table.arrow_schema
    if known is None:
        metadata = {owner.name: _metadata(owner) for owner in owners}
        fields = [pa.field(name, array.type, metadata=metadata.get(name)) for name, array in arrays.items()]
        known = table.table.arrow_schema = pa.schema(fields)
    return known


def _lineage(table: TableColumns, lost: dict[str, list[int]]) -> dict[str, Any]:
    arrays = {name: plain(table.packet(source)) for name, source in _OF_PACKET.items()}
    arrays |= {name: plain(table.row(source).copy()) for name, source in _OF_ROW.items()}
    sent = table.packet("sending_time").view(np.int64)
    if len(sent) and int(sent.min()) < 0:  # past the year 2262
        lost["ts_send_ns"] = [int(row) for row in np.flatnonzero(sent < 0)]
        return arrays | {"ts_send_ns": pa.array(sent, mask=sent < 0)}
    return arrays | {"ts_send_ns": plain(sent)}


def _event_time(table: TableColumns, columns: dict[str, Any]) -> dict[str, Any]:
    """`ts_event_ns` and `ts_event_kind`. One version has one of the times; a batch of several
    versions may have one in some rows and another in others."""
    kinds = np.zeros(table.rows, np.int8)
    array = None
    for kind, name in enumerate(EVENT_TIMES):
        other = columns.get(name)
        if other is None or other.null_count == table.rows:
            continue
        if array is None:
            array, kinds = other, np.full(table.rows, kind, np.int8)
        else:
            kinds[np.asarray(array.is_null())] = kind
            array = pa.compute.coalesce(array, other)
    if array is None:
        array = pa.nulls(table.rows, pa.int64())
    missing = np.asarray(array.is_null()) if array.null_count else None
    indices = plain(kinds) if missing is None else pa.array(kinds, mask=missing)
    return {"ts_event_ns": array, "ts_event_kind": pa.DictionaryArray.from_arrays(indices, _EVENT_TIMES)}


def _columns(table: TableColumns) -> list[tuple[FieldLayout, BuiltArray]]:
    """The schema's columns: composites as structs of their members."""
    owners: dict[str, SchemaColumn] = {}
    built: dict[str, BuiltArray] = {}
    for column in table.table.columns:
        owners[column.owner.name] = column
        built[column.name] = _column(table, column.name, table.validity(column.name), column.leaf)
    return [(c.owner, _assembled(c.owner, c.owner.name, built, table.having(c))) for c in owners.values()]


def _column(table: TableColumns, name: str, validity: Validity | None, leaf: FieldLayout) -> BuiltArray:
    if validity is None:
        return BuiltArray(all_null(leaf, table.rows))
    return build(table[name], validity.leaf, validity.null, validity.present)


def _assembled(
    field: FieldLayout, path: str, built: dict[str, BuiltArray], having: Mask | None
) -> BuiltArray:
    """A composite is a struct, null in rows that do not have it."""
    if field.kind not in (ValueKind.COMPOSITE, ValueKind.SCALED):
        return built[path]
    members = [_assembled(member, f"{path}.{member.name}", built, having) for member in field.members]
    array = pa.StructArray.from_arrays(
        [member.array for member in members],
        [member.name for member in field.members],
        mask=None if having is None else pa.array(~having),
    )
    return BuiltArray(array, sorted({row for member in members for row in member.lost}))


def _metadata(field: FieldLayout) -> dict[str, str] | None:
    if field.kind not in (ValueKind.ENUM, ValueKind.SET):
        return None
    return {field.kind.value: json.dumps({str(value): name for value, name in field.names.items()})}
