"""Record batches against the columns they were made of.

Nothing may differ but what no Arrow type can hold: that is null, and named in the metadata.
"""

import json
from decimal import Decimal
from typing import Any

from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.feeds.binary.arrow import EVENT_TIMES, LOST
from pregao.feeds.binary.batch import ColumnBatch
from tests.twins.leaves import data_value, text
from tests.twins.rebuild import RebuiltTable
from tests.twins.seen import canonical

_INT64_MAX = (1 << 63) - 1
_LARGEST_DECIMAL = 10**18 - 1
_OF_PACKET = {
    "channel": "channel",
    "sequence_version": "sequence_version",
    "sequence_number": "sequence_number",
    "packet": "number",
    "flow": "flow",
    "ts_recv_ns": "ts_recv",
}
_OF_ROW = {"message_index": "place", "wire_version": "version", "flags": "flags"}


def compare_arrow(batch: ColumnBatch, rebuilt: list[RebuiltTable]) -> int:
    """Hold the record batches of a batch against its rebuilt tables; how many values that were."""
    records, compared, tables = batch.to_arrow(), 0, list(rebuilt)
    for name, record in records.items():
        assert record.num_rows == len(batch[name]), name
        record.validate(full=True)
    while tables:
        table = tables.pop()
        compared += _Comparison(records[table.columns.name], table).run()
        tables += table.children
    return compared


class _Comparison:
    def __init__(self, record: Any, table: RebuiltTable) -> None:
        self._record, self._table = record, table
        self._lost: dict[str, set[int]] = {}
        self.compared = 0

    def run(self) -> int:
        table = self._table.columns
        if table.table.is_group:
            self._same("parent_row", table.parent_rows.tolist())
        else:
            self._lineage()
        owners = {column.owner.name: column.owner for column in table.table.columns}
        for owner in owners.values():
            self._same(owner.name, self._field(owner, owner.name, owner.name))
        for name, contents in self._table.data.items():
            declared = next(d.declaration for d in table.table.data if d.name == name)
            self._same(name, [data_value(raw, declared.encoding) for raw in contents])
        self._same_lost()
        return self.compared

    def _same(self, name: str, expected: list[Any]) -> None:
        given = self._record.column(name).to_pylist()
        if given != expected and canonical(given) != canonical(expected):
            row = next(r for r, pair in enumerate(zip(given, expected, strict=True)) if differ(*pair))
            where = f"{self._table.columns.name}.{name} row {row}"
            raise AssertionError(f"arrow: {where}: {given[row]!r}, not {expected[row]!r}")
        self.compared += len(expected)

    def _lineage(self) -> None:
        table = self._table.columns
        for name, source in _OF_PACKET.items():
            self._same(name, table.packet(source).tolist())
        for name, source in _OF_ROW.items():
            self._same(name, table.row(source).tolist())
        sent = table.packet("sending_time").tolist()
        kept = [self._kept(ns, _INT64_MAX, row, "ts_send_ns") for row, ns in enumerate(sent)]
        self._same("ts_send_ns", kept)
        names = [name for name in EVENT_TIMES if name in self._table.leaves]
        times = [self._record.column(name).to_pylist() for name in names]
        first: list[int | None] = [None] * len(table)
        for kind in reversed(range(len(names))):
            first = [kind if ns is not None else other for ns, other in zip(times[kind], first, strict=True)]
        self._same("ts_event_ns", [None if i is None else times[i][row] for row, i in enumerate(first)])
        self._same("ts_event_kind", [None if i is None else names[i] for i in first])

    def _field(self, field: FieldLayout, path: str, owner: str) -> list[Any]:
        if field.kind not in (ValueKind.COMPOSITE, ValueKind.SCALED):
            leaf = self._table.leaves[path]
            return [
                self._value(raw, field, row, owner) if valid else None
                for row, (raw, valid) in enumerate(zip(leaf.raw, leaf.valid, strict=True))
            ]
        parts = [self._field(member, f"{path}.{member.name}", owner) for member in field.members]
        names = [member.name for member in field.members]
        whole = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
        if path != owner:
            return whole
        # A composite that a row does not have is null itself, not a struct of nulls.
        return [v if there else None for v, there in zip(whole, self._has(owner), strict=True)]

    def _has(self, owner: str) -> list[bool]:
        """Rows whose version and block have a field at all."""
        lengths = self._table.columns.row("block_length").tolist()
        ends = {epoch: _end(layout.fields, owner) for epoch, layout in self._table.layouts.items()}
        return [lengths[row] >= ends[epoch] for row, epoch in enumerate(self._table.epochs)]

    def _value(self, raw: Any, leaf: FieldLayout, row: int, owner: str) -> Any:
        if leaf.kind is ValueKind.STRING:
            return text(raw, leaf.encoding)
        if leaf.kind is ValueKind.ARRAY:
            return list(raw)
        if leaf.kind is ValueKind.TIME:
            return self._kept(raw * leaf.nanoseconds, _INT64_MAX, row, owner)
        if leaf.kind is ValueKind.DECIMAL and -18 <= leaf.exponent <= 0:
            kept = self._kept(raw, _LARGEST_DECIMAL, row, owner)
            return None if kept is None else Decimal(kept).scaleb(leaf.exponent)
        return raw

    def _kept(self, value: int, most: int, row: int, owner: str) -> int | None:
        if abs(value) <= most:
            return value
        self._lost.setdefault(owner, set()).add(row)
        return None

    def _same_lost(self) -> None:
        metadata = self._record.schema.metadata or {}
        given = json.loads(metadata.get(LOST.encode(), b"{}"))
        expected = {name: sorted(rows) for name, rows in self._lost.items()}
        assert given == expected, f"arrow: {self._table.columns.name} lost {given}, not {expected}"


def differ(given: Any, expected: Any) -> bool:
    return bool(canonical(given) != canonical(expected))


def _end(fields: tuple[FieldLayout, ...], name: str) -> int:
    never = 1 << 30
    return next((f.offset + f.size for f in fields if f.name == name and f.present), never)
