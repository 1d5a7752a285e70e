"""A batch of columns: what the kernels wrote, by table, with what is null and where it came from.

The arrays are those of the decoder: the next batch overwrites them. What `to_arrow` gives has
memory of its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pregao.codecs.arrow.kernels import gathered
from pregao.codecs.pcap.outcomes import Skip
from pregao.codecs.sbe.kernel_tables import FLAG_SHORT_BLOCK
from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.codecs.sbe.plan import SbePlan, SchemaColumn, SchemaTable
from pregao.feeds.binary.storage import Array, Storage

if TYPE_CHECKING:
    from pregao.feeds.binary.columns import ColumnFinding

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

UNKNOWN: Final = "unknown"  # the table of messages of unknown templates
_NEVER = 1 << 32  # longer than any block


@dataclass(frozen=True, slots=True)
class Validity:
    """What is null in a column: the raw value that means null in all rows (if there is one), the
    rows that have a value at all (None: every row), and the leaf as the rows' version has it."""

    leaf: FieldLayout
    null: int | float | None
    present: Mask | None


class TableColumns:
    """The rows of one message, or of one group of it."""

    def __init__(
        self,
        plan: SbePlan,
        storage: Storage,
        table: SchemaTable,
        packets: dict[str, Array],
    ) -> None:
        self.plan, self.table, self.packets = plan, table, packets
        self.rows = int(storage.rows[table.index])
        self._storage = storage.tables[table.index]
        self._data_used = {data.name: int(storage.data_used[data.index]) for data in table.data}
        self._by_name = {column.name: column for column in table.columns}

    @property
    def name(self) -> str:
        return self.table.name

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __getitem__(self, name: str) -> Array:
        """The raw values of a column: integers as sent, fixed strings as bytes."""
        return self._storage.columns[name][: self.rows]

    def row(self, name: str) -> Array:
        """What is known of each row: see `storage.HEAD`."""
        head: Array = self._storage.heads[name][: self.rows]
        return head

    def packet(self, name: str) -> Array:
        """What is known of the packet of each row of a root table: see `storage.PACKET_COLUMNS`."""
        return gathered(self.packets[name], self._origin)

    @cached_property
    def _origin(self) -> Array:
        return np.ascontiguousarray(self.row("origin"))

    @property
    def parent_rows(self) -> Array:
        """Of a group: the row of each entry's parent in the table above."""
        return self._origin

    def data(self, name: str) -> tuple[Array, Array]:
        """A data field: where each row's bytes end (from 0), and the bytes of all rows."""
        ends, contents = self._storage.data_ends[name], self._storage.data_bytes[name]
        return ends[: self.rows + 1], contents[: self._data_used[name]]

    @cached_property
    def epochs(self) -> list[int]:
        """The epochs of the schema that occur among the rows."""
        versions = self.row("version")
        if not self.rows or (versions == versions[0]).all():  # nearly always
            return [self.plan.schema.epoch(int(version)) for version in versions[:1]]
        return [int(epoch) for epoch in np.unique(self._row_epochs)]

    @cached_property
    def _row_epochs(self) -> Array:
        return self.plan.epoch_of_version[self.row("version")]

    @cached_property
    def _has_short(self) -> bool:
        return bool((self.row("flags") & FLAG_SHORT_BLOCK).any())

    def validity(self, name: str) -> Validity | None:
        """What is null in a column; None when no row's version has it at all."""
        column = self._by_name[name]
        having = [epoch for epoch in self.epochs if epoch in column.by_epoch]
        if not having:
            return None if self.rows else Validity(column.leaf, None, None)
        leaves = [column.by_epoch[epoch] for epoch in having]
        nulls = {leaf.null for leaf in leaves}
        if len(having) == len(self.epochs) and len(nulls) == 1:
            null = nulls.pop()
            if null == null or not leaves[-1].primitive.is_float:  # NaN is null too, but never equal
                return Validity(leaves[-1], null, self._present_in_short(column))
        return self._mixed(column, leaves[-1])

    def _mixed(self, column: SchemaColumn, leaf: FieldLayout) -> Validity:
        """Versions that differ in whether they have the column, or in how they write null."""
        epochs = self._row_epochs
        present = np.zeros(self.rows, np.bool_)
        values = self[column.name]
        for epoch in self.epochs:
            there = column.by_epoch.get(epoch)
            if there is not None:
                mine = epochs == epoch
                present |= mine & _not_null(values, there)
        short = self._present_in_short(column)
        return Validity(leaf, None, present if short is None else present & short)

    def _present_in_short(self, column: SchemaColumn) -> Mask | None:
        """Rows whose block holds the whole field, where some blocks are short."""
        return self.having(column) if self._has_short else None

    def having(self, column: SchemaColumn) -> Mask | None:
        """Rows whose version and block have the whole field of a column; None: all of them."""
        if not self._has_short and all(epoch in column.ends for epoch in self.epochs):
            return None
        needed = np.full(len(self.plan.schema.breakpoints), _NEVER)
        for epoch, end in column.ends.items():
            needed[epoch] = end
        having: Mask = self.row("block_length") >= needed[self._row_epochs]
        return having


def _not_null(values: Array, leaf: FieldLayout) -> Mask:
    if leaf.null is None or (values.dtype.itemsize > 1 and values.dtype.kind == "V"):
        return np.ones(len(values), np.bool_)
    if values.dtype.kind == "V":  # a single character may have a null of its own
        values = values.view(np.uint8)
    there: Array = ~np.isnan(values) if leaf.null != leaf.null else values != values.dtype.type(leaf.null)
    mask: Mask = np.any(there, axis=1) if there.ndim > 1 else there  # an array is null when all of it is
    return mask


class ColumnBatch(Mapping[str, TableColumns]):
    """The tables of a batch that have rows, by name; all of them by index in `tables`."""

    def __init__(
        self,
        plan: SbePlan,
        storage: Storage,
        *,
        findings: list["ColumnFinding"],
        records: int,
        skipped: dict[Skip, int],
        other_flows: dict[int, tuple[int, int, int]],
    ) -> None:
        self.plan, self.findings, self.records = plan, findings, records
        self.skipped, self.other_flows = skipped, other_flows
        self.packets = {name: array[: storage.packet_count] for name, array in storage.packets.items()}
        self.tables = [TableColumns(plan, storage, table, self.packets) for table in plan.tables]
        self._named = {table.name: table for table in self.tables if table.rows}

    def __getitem__(self, name: str) -> TableColumns:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    @property
    def messages(self) -> int:
        """Messages of all kinds, those of unknown templates too."""
        return sum(table.rows for table in self.tables if not table.table.is_group)

    def to_arrow(self) -> dict[str, Any]:
        """A pyarrow RecordBatch for every table that has rows."""
        from pregao.feeds.binary.arrow import record_batch

        return {name: record_batch(table) for name, table in self._named.items()}

    def with_lineage(self, name: str) -> Any:
        """A table as a RecordBatch whose rows say where they came from: those of groups as their message says
        it. None: it has no rows."""
        table = self._named.get(name)
        return None if table is None else self.shaped(table)

    def shaped(self, table: TableColumns) -> Any:
        from pregao.feeds.binary.arrow import with_lineage

        return with_lineage(table, self.tables)

    def count_messages(self) -> Counter[str]:
        roots = (table for table in self.tables if not table.table.is_group and table.rows)
        return Counter({table.name: table.rows for table in roots})

    def count_values(self) -> Counter[str]:
        """How often each value of an enum or a set came that has a name, as `field=word`."""
        found: Counter[str] = Counter()
        for table in self._named.values():
            for name in table:
                validity = table.validity(name)
                if validity is not None and validity.leaf.kind in (ValueKind.ENUM, ValueKind.SET):
                    for word, count in _named_values(table[name], validity.leaf):
                        found[f"{name}={word}"] += count
        return found


def _named_values(raw: Array, leaf: FieldLayout) -> Iterator[tuple[str, int]]:
    numbers = raw.view(np.uint8) if raw.dtype.kind in "SV" and raw.dtype.itemsize == 1 else raw
    for value, count in zip(*np.unique(numbers, return_counts=True), strict=True):
        if leaf.kind is ValueKind.SET:
            yield from ((name, int(count)) for bit, name in leaf.names.items() if int(value) >> bit & 1)
        elif int(value) in leaf.names:
            yield leaf.names[int(value)], int(count)
