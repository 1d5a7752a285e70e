"""A schema as tables: which columns there are, and the arrays the kernels read.

One table per message and per group, over all versions; a column that a version lacks is null in
its rows. Versions whose layout is the same share it, so there are few layouts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pregao.codecs.sbe.declarations import BlockDeclaration, DataDeclaration, Presence
from pregao.codecs.sbe.kernel_tables import (
    ENTRY_SIZE,
    LAYOUT_FULL_LENGTH,
    LAYOUT_SIZE,
    LAYOUT_TABLE,
    STEP_SIZE,
)
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.codecs.sbe.schema import Schema
from pregao.codecs.sbe.values import leaves
from pregao.model.errors import SchemaError

Numbers = np.ndarray[Any, np.dtype[Any]]

_VERSIONS = 1 << 16


@dataclass(slots=True)
class SchemaColumn:
    """A leaf of a message or group: a number or fixed bytes, at the same name in every version."""

    index: int
    name: str  # dotted for members of composites
    width: int
    leaf: FieldLayout  # as the newest version that has it
    owner: FieldLayout  # the field it belongs to
    by_epoch: dict[int, FieldLayout] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)  # bytes of block that hold the whole field


@dataclass(slots=True)
class DataColumn:
    index: int
    name: str
    declaration: DataDeclaration


@dataclass(slots=True)
class SchemaTable:
    """The rows of one message, or of one group of it."""

    index: int
    name: str
    template_id: int
    parent: int | None = None
    columns: list[SchemaColumn] = field(default_factory=list)
    data: list[DataColumn] = field(default_factory=list)
    groups: list["SchemaTable"] = field(default_factory=list)
    arrow_schema: Any = None  # kept here by whoever makes record batches

    @property
    def is_group(self) -> bool:
        return self.parent is not None


@dataclass(frozen=True)
class SbePlan:
    """A schema's tables and columns, and the arrays that the kernels read."""

    schema: Schema
    tables: tuple[SchemaTable, ...]
    columns: tuple[SchemaColumn, ...]
    data_columns: tuple[DataColumn, ...]
    root_of_template: Numbers
    epoch_of_version: Numbers
    version_known: Numbers
    layout_of: Numbers
    layouts: Numbers
    entries: Numbers
    steps: Numbers

    def is_group(self, layout: int) -> bool:
        return self.tables[int(self.layouts[layout, LAYOUT_TABLE // 8])].is_group

    @property
    def longest_block(self) -> int:
        return int(self.layouts[:, LAYOUT_FULL_LENGTH // 8].max())


def make_plan(schema: Schema) -> SbePlan:
    return _Planner(schema).plan()


def _pattern(value: int | float, leaf: FieldLayout) -> int:
    """The bytes of a null as a number; strings and arrays are filled with zeros."""
    if leaf.kind in (ValueKind.STRING, ValueKind.ARRAY):
        return 0
    if leaf.primitive.is_float:
        return int(np.array(value, f"<f{leaf.size}").view(f"<i{leaf.size}"))
    return int(np.array(int(value) & ((1 << 64) - 1), np.uint64).view(np.int64))


class _Planner:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.epochs = range(len(schema.breakpoints))
        self.tables: list[SchemaTable] = []
        self.columns: list[SchemaColumn] = []
        self.data: list[DataColumn] = []
        self.layouts: list[_Layout] = []
        self.layout_of: dict[tuple[int, int], int] = {}
        self._seen: dict[tuple[object, ...], int] = {}

    def plan(self) -> SbePlan:
        self._add_unknown()
        names: dict[int, SchemaTable] = {}
        for message in self.schema.messages:
            table = names.get(message.id)
            if table is None:
                table = names[message.id] = self._add_table(message.name, message.id, None)
            self._add_block(table, message)
        for epoch in self.epochs:
            for layout in self.schema.at(self.schema.breakpoints[epoch]).messages.values():
                self._add_layout(names[layout.id], layout, epoch)
        self._number_data()
        epochs = np.searchsorted(self.schema.breakpoints, np.arange(_VERSIONS), "right") - 1
        root = np.zeros(_VERSIONS + 1, np.int32)  # the last stands for all wider ids, which are unknown
        for template_id, table in names.items():
            root[template_id] = table.index
        return SbePlan(
            schema=self.schema,
            tables=tuple(self.tables),
            columns=tuple(self.columns),
            data_columns=tuple(self.data),
            root_of_template=root,
            epoch_of_version=epochs.astype(np.uint8),
            version_known=np.array([self.schema.knows(v) for v in range(_VERSIONS)], np.uint8),
            layout_of=self._layout_numbers(),
            layouts=self._layout_rows(),
            entries=self._rows([e.row for layout in self.layouts for e in layout.entries], ENTRY_SIZE),
            steps=self._rows([self._numbered(la, st) for la in self.layouts for st in la.steps], STEP_SIZE),
        )

    def _add_table(self, name: str, template_id: int, parent: int | None) -> SchemaTable:
        table = SchemaTable(len(self.tables), name, template_id, parent)
        self.tables.append(table)
        return table

    def _add_unknown(self) -> None:
        """Messages of unknown templates: only the template id, which stands before the block."""
        table = self._add_table("unknown", -1, None)
        at, primitive = self.schema.header.template_id
        leaf = FieldLayout(
            name="template_id", id=0, kind=ValueKind.INTEGER, offset=at - self.schema.header.size,
            size=primitive.size, presence=Presence.REQUIRED, primitive=primitive,
        )  # fmt: skip
        column = self._column(table, "template_id", leaf, leaf)
        entry = _Entry(leaf.offset, leaf.size, column.index, 0, leaf.size)
        self.layouts.append(_Layout(table.index, 0, (entry,), ()))
        for epoch in self.epochs:
            column.by_epoch[epoch], column.ends[epoch] = leaf, 0
            self.layout_of[table.index, epoch] = 0

    def _column(self, table: SchemaTable, name: str, leaf: FieldLayout, owner: FieldLayout) -> SchemaColumn:
        column = next((c for c in table.columns if c.name == name), None)
        if column is None:
            column = SchemaColumn(len(self.columns), name, leaf.size, leaf, owner)
            self.columns.append(column)
            table.columns.append(column)
        elif _meaning(column.leaf) != _meaning(leaf):
            raise SchemaError(f"field {name!r} changes its type between versions", element=table.name)
        return column

    def _add_block(self, table: SchemaTable, block: BlockDeclaration) -> None:
        """Child tables and data columns: of all versions, in the order of the file."""
        for group in block.groups:
            child = next((t for t in table.groups if t.name == f"{table.name}.{group.name}"), None)
            if child is None:
                child = self._add_table(f"{table.name}.{group.name}", table.template_id, table.index)
                table.groups.append(child)
            self._add_block(child, group)
        for data in block.data:
            if not any(column.name == data.name for column in table.data):
                table.data.append(DataColumn(-1, data.name, data))

    def _add_layout(self, table: SchemaTable, layout: BlockLayout, epoch: int) -> int:
        entries = []
        for owner in layout.fields:
            for leaf in leaves(owner):
                column = self._column(table, ".".join(_path_to(owner, leaf)), leaf, owner)
                if leaf.present:
                    column.leaf, column.owner = leaf, owner
                    column.by_epoch[epoch], column.ends[epoch] = leaf, owner.offset + owner.size
                    null = leaf.primitive.null if leaf.null is None else leaf.null
                    element = 0 if leaf.kind is ValueKind.STRING else leaf.primitive.size
                    pattern = _pattern(null, leaf)
                    entries.append(_Entry(leaf.offset, leaf.size, column.index, pattern, element))
        steps = [self._group_step(table, group, epoch) for group in layout.groups if group.present]
        steps += [self._data_step(table, data) for data in layout.data]
        full_length = max((f.offset + f.size for f in layout.fields if f.present), default=0)
        made = _Layout(table.index, full_length, tuple(entries), tuple(steps))
        if made.key not in self._seen:
            self._seen[made.key] = len(self.layouts)
            self.layouts.append(made)
        self.layout_of[table.index, epoch] = self._seen[made.key]
        return self._seen[made.key]

    def _group_step(self, table: SchemaTable, group: BlockLayout, epoch: int) -> tuple[int | str, ...]:
        child = next(t for t in table.groups if t.name == f"{table.name}.{group.name}")
        dimension = group.dimension
        assert dimension is not None
        return (
            0,
            dimension.size,
            dimension.block_length_offset,
            dimension.block_length.size,
            dimension.num_in_group_offset,
            dimension.num_in_group.size,
            self._add_layout(child, group, epoch),
        )

    def _data_step(self, table: SchemaTable, data: DataDeclaration) -> tuple[int | str, ...]:
        # Data columns are numbered last, table after table; until then the step keeps the name.
        return (1, data.header_size, data.length_offset, data.length.size, 0, 0, data.name)

    def _number_data(self) -> None:
        """Data columns are numbered table after table, so that each table has a range of them."""
        for table in self.tables:
            for column in table.data:
                column.index = len(self.data)
                self.data.append(column)

    def _layout_numbers(self) -> Numbers:
        numbers = np.full((len(self.tables), len(self.epochs)), -1, np.int32)
        for (index, epoch), layout in self.layout_of.items():
            numbers[index, epoch] = layout
        return numbers

    def _layout_rows(self) -> Numbers:
        rows, entry, step = [], 0, 0
        for layout in self.layouts:
            ends = entry + len(layout.entries), step + len(layout.steps)
            rows.append((layout.table, layout.full_length, entry, ends[0], step, ends[1], 0, 0))
            entry, step = ends
        return self._rows(rows, LAYOUT_SIZE)

    def _rows(self, rows: Sequence[tuple[int, ...]], width: int) -> Numbers:
        return np.array(rows, np.int64).reshape(-1, width)

    def _numbered(self, layout: "_Layout", step: tuple[int | str, ...]) -> tuple[int, ...]:
        *head, target = step
        if isinstance(target, str):
            target = next(c.index for c in self.tables[layout.table].data if c.name == target)
        return (*(int(number) for number in head), int(target))


@dataclass(frozen=True, slots=True)
class _Entry:
    offset: int
    width: int
    column: int
    null: int
    element: int

    @property
    def row(self) -> tuple[int, ...]:
        return (self.offset, self.width, self.column, self.null, self.element)


@dataclass(frozen=True, slots=True)
class _Layout:
    table: int
    full_length: int
    entries: tuple[_Entry, ...]
    steps: tuple[tuple[int | str, ...], ...]

    @property
    def key(self) -> tuple[object, ...]:
        return (self.table, self.full_length, self.entries, self.steps)


def _meaning(leaf: FieldLayout) -> tuple[object, ...]:
    """What must be the same in all versions, so that the values of a column are comparable."""
    kind = (leaf.kind, leaf.size, leaf.primitive, leaf.count)
    return (*kind, leaf.exponent, leaf.nanoseconds, leaf.encoding)


def _path_to(owner: FieldLayout, leaf: FieldLayout) -> list[str]:
    """The names from a field down to one of its leaves."""
    if owner is leaf:
        return [owner.name]
    for member in owner.members:
        below = _path_to(member, leaf)
        if below:
            return [owner.name, *below]
    return []
