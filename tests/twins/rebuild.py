"""Tables back to messages: blocks, groups under their parents, data, in the plain decoder's shape."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.feeds.binary.batch import ColumnBatch, TableColumns
from tests.twins.leaves import Layouts, Leaf, converter, data_value, leaf_of, read_leaf, scaled
from tests.twins.seen import Fields

FieldOf = Callable[[int], Any]


class RebuiltTable:
    """The rows of a table as the `fields` of the plain decoder; `leaves` for whoever compares more."""

    def __init__(self, batch: ColumnBatch, table: TableColumns, layouts: Layouts) -> None:
        self.columns, self.leaves = table, {c.name: read_leaf(table, c) for c in table.table.columns}
        schema, versions = table.plan.schema, table.row("version").tolist()
        epoch_of = {version: schema.epoch(version) for version in set(versions)}
        self.epochs = [epoch_of[version] for version in versions]
        self._lengths = table.row("block_length").tolist()
        self.layouts = layouts
        self._values = {name: self._leaf_values(name, leaf) for name, leaf in self.leaves.items()}
        self.children: list[RebuiltTable] = []
        self.data = {d.name: _data_of(table, d.name) for d in table.table.data}
        self.groups = {g.name: self._group(batch, batch.tables[g.index]) for g in table.table.groups}
        self.rows = self._build()

    def _leaf_values(self, name: str, leaf: Leaf) -> list[Any]:
        converters: dict[int, Callable[[Any], Any]] = {}
        for epoch in set(self.epochs):
            there = leaf_of(self.layouts[epoch], name)
            converters[epoch] = _must_be_null(name) if there is None else converter(there)
        return leaf.values(self.epochs, converters)

    def _group(self, batch: ColumnBatch, table: TableColumns) -> list[list[Fields]]:
        """The entries of a group, by the row of their parent."""
        name = table.name.rsplit(".", 1)[1]
        layouts = {
            epoch: group
            for epoch, layout in self.layouts.items()
            for group in layout.groups
            if group.name == name
        }
        below = RebuiltTable(batch, table, layouts) if len(table) else None
        entries: list[list[Fields]] = [[] for _ in range(len(self.columns))]
        if below is not None:
            self.children.append(below)
            places = table.row("place").tolist()
            for parent, place, row in zip(table.parent_rows.tolist(), places, below.rows, strict=True):
                assert place == len(entries[parent]), f"{table.name}: entry {place} of row {parent}"
                entries[parent].append(row)
        return entries

    def _build(self) -> list[Fields]:
        makers = {epoch: self._maker(self.layouts[epoch]) for epoch in set(self.epochs)}
        return [makers[epoch](row) for row, epoch in enumerate(self.epochs)]

    def _maker(self, layout: BlockLayout) -> Callable[[int], Fields]:
        """Makes the fields of a row of one version."""
        prefix = self.columns.name + "."
        straight: dict[str, list[Any]] = {}
        made: dict[str, FieldOf] = {}
        for field in layout.fields:
            if field.kind in (ValueKind.COMPOSITE, ValueKind.SCALED):
                made[field.name] = self._composite(field)
            else:
                straight[field.name] = self._values[field.name]
        straight |= {group.name: self.groups[prefix + group.name] for group in layout.groups}
        texts = {d.name: d.encoding for d in layout.data}
        absent = dict.fromkeys(layout.absent_data)

        def make(row: int) -> Fields:
            fields = {name: values[row] for name, values in straight.items()} | absent
            for name, value_of in made.items():
                fields[name] = value_of(row)
            for name, encoding in texts.items():
                fields[name] = data_value(self.data[name][row], encoding)
            return fields

        return make

    def _composite(self, field: FieldLayout) -> FieldOf:
        """Null as a whole where the block ends before its end; otherwise its members."""
        end, lengths, whole = field.offset + field.size, self._lengths, self._members(field, field.name)
        if not field.present:
            return lambda _: None
        return lambda row: whole(row) if lengths[row] >= end else None

    def _members(self, field: FieldLayout, path: str) -> FieldOf:
        if field.kind is ValueKind.SCALED:
            mantissa, exponent = (self._values[f"{path}.{member.name}"] for member in field.members)
            return lambda row: scaled(mantissa[row], exponent[row])
        if field.kind is ValueKind.COMPOSITE:
            parts = [(m.name, self._members(m, f"{path}.{m.name}")) for m in field.members]
            return lambda row: {name: value_of(row) for name, value_of in parts}
        return self._values[path].__getitem__


def _must_be_null(name: str) -> Callable[[Any], Any]:
    def refuse(raw: Any) -> Any:
        raise AssertionError(f"{name}: {raw!r} in a row whose version lacks the field")

    return refuse


def _data_of(table: TableColumns, name: str) -> list[bytes]:
    ends, contents = table.data(name)
    raw, places = contents.tobytes(), ends.tolist()
    assert places[0] == 0
    return [raw[start:stop] for start, stop in pairwise(places)]
