"""Record batches of Binary UMDF: lineage first, then the schema's own columns.

Times are int64 nanoseconds, prices decimals over their mantissas, enums and sets the numbers that
were sent (their names are in the field's metadata), groups tables of their own with `parent_row`.
`ts_event_ns` is the moment the message itself tells, and `ts_event_kind` says which of the
schema's times that was: they are not the same moment (section 9).
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from pregao.codecs.arrow.arrays import Built, all_null, build, variable
from pregao.codecs.sbe.layout import FieldLayout, Kind
from pregao.codecs.sbe.plan import Column
from pregao.feeds.binary.batch import Mask, TableColumns, Validity
from pregao.feeds.binary.storage import Array

# The times by which a message tells when it happened, the first that its version has.
EVENT_TIMES = ("transactTime", "mDEntryTimestamp", "origTime")

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

LOST = "values_lost"  # metadata of a batch: rows whose value no Arrow type could hold, by column


def record_batch(table: TableColumns) -> Any:
    """A table of a batch as a pyarrow RecordBatch."""
    names: list[str] = []
    arrays: list[Any] = []
    fields: list[Any] = []
    lost: dict[str, list[int]] = {}

    def add(name: str, array: Any, metadata: dict[str, str] | None = None) -> None:
        names.append(name)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata=metadata))

    if table.table.is_group:
        add("parent_row", pa.array(table.parent_rows))
    else:
        for name, array in _lineage(table, lost).items():
            add(name, array)
    for owner, built in _columns(table):
        if built.lost:
            lost[owner.name] = built.lost
        add(owner.name, built.array, _metadata(owner))
    for data in table.table.data:
        ends, contents = table.data(data.name)
        add(data.name, variable(ends, contents, data.declaration.encoding))
    metadata = {LOST: json.dumps(lost)} if lost else None
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))


def _lineage(table: TableColumns, lost: dict[str, list[int]]) -> dict[str, Any]:
    arrays = {name: pa.array(table.packet(source)) for name, source in _OF_PACKET.items()}
    arrays |= {name: pa.array(table.row(source).copy()) for name, source in _OF_ROW.items()}
    sent = _sending_time(table.packet("sending_time"))
    if sent.lost:
        lost["ts_send_ns"] = sent.lost
    arrays["ts_send_ns"] = sent.array
    return arrays | _event_time(table)


def _sending_time(values: Array) -> Built:
    signed = values.view(np.int64)
    if not len(signed) or int(signed.min()) >= 0:
        return Built(pa.array(signed))
    return Built(pa.array(signed, mask=signed < 0), [int(row) for row in np.flatnonzero(signed < 0)])


def _event_time(table: TableColumns) -> dict[str, Any]:
    """`ts_event_ns` and `ts_event_kind`. One version has one of the times; a batch of several
    versions may have one in some rows and another in others."""
    times = [(name, table.validity(name)) for name in EVENT_TIMES if name in table]
    found = [(name, validity) for name, validity in times if validity is not None]
    if not found:
        return {
            "ts_event_ns": pa.nulls(table.rows, pa.int64()),
            "ts_event_kind": pa.nulls(table.rows, pa.dictionary(pa.int8(), pa.string())),
        }
    (first, validity), *others = found
    array = build(table[first], validity.leaf, validity.null, validity.present).array
    kinds = np.zeros(table.rows, np.int8)
    for kind, (name, validity) in enumerate(others, 1):
        other = build(table[name], validity.leaf, validity.null, validity.present).array
        kinds[np.asarray(array.is_null())] = kind
        array = pa.compute.coalesce(array, other)
    names = pa.array([name for name, _ in found])
    missing = None if not array.null_count else np.asarray(array.is_null())
    indices = pa.array(kinds, mask=missing)
    return {"ts_event_ns": array, "ts_event_kind": pa.DictionaryArray.from_arrays(indices, names)}


def _columns(table: TableColumns) -> list[tuple[FieldLayout, Built]]:
    """The schema's columns: composites as structs of their members."""
    owners: dict[str, Column] = {}
    built: dict[str, Built] = {}
    for column in table.table.columns:
        owners[column.owner.name] = column
        built[column.name] = _column(table, column.name, table.validity(column.name), column.leaf)
    return [(c.owner, _assembled(c.owner, c.owner.name, built, table.having(c))) for c in owners.values()]


def _column(table: TableColumns, name: str, validity: Validity | None, leaf: FieldLayout) -> Built:
    if validity is None:
        return Built(all_null(leaf, table.rows))
    return build(table[name], validity.leaf, validity.null, validity.present)


def _assembled(field: FieldLayout, path: str, built: dict[str, Built], having: Mask | None) -> Built:
    """A composite is a struct, null in rows that do not have it."""
    if field.kind not in (Kind.COMPOSITE, Kind.SCALED):
        return built[path]
    members = [_assembled(member, f"{path}.{member.name}", built, having) for member in field.members]
    array = pa.StructArray.from_arrays(
        [member.array for member in members],
        [member.name for member in field.members],
        mask=None if having is None else pa.array(~having),
    )
    return Built(array, sorted({row for member in members for row in member.lost}))


def _metadata(field: FieldLayout) -> dict[str, str] | None:
    if field.kind not in (Kind.ENUM, Kind.SET):
        return None
    return {field.kind.value: json.dumps({str(value): name for value, name in field.names.items()})}
