"""The memory behind columns: typed arrays per table, and their addresses for the kernels.

A table's arrays share one piece of memory, which the system gives page by page when it is first
written: a table without rows costs nothing, whatever its capacity.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pregao.codecs.sbe.kernel_tables import (
    CONTEXT_FIELDS,
    DATA_SIZE,
    DATA_USED,
    HEAD_SIZE,
    LAYOUT_BUCKET,
    LEVEL_SIZE,
    TABLE_DATA,
    TABLE_DATA_END,
    TABLE_HEADS,
    TABLE_ROWS,
    TABLE_SIZE,
)
from pregao.codecs.sbe.layout import FieldLayout, ValueKind
from pregao.codecs.sbe.plan import SbePlan, SchemaTable
from pregao.codecs.sbe.reader import MAX_GROUP_DEPTH
from pregao.codecs.sbe.schema import Schema
from pregao.feeds.binary.kernels.packets import FEED_FIELDS, RUN_MESSAGES, RUN_PACKETS, RUN_ROWS
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN
from pregao.kernels import Context

Array = np.ndarray[Any, np.dtype[Any]]

# What is known of a packet, once for all its messages.
PACKET_COLUMNS: dict[str, str] = {
    "ts_recv": "i8",
    "offset": "i8",
    "length": "u4",
    "flow": "i8",
    "number": "i8",
    "channel": "u1",
    "sequence_version": "u2",
    "sequence_number": "u4",
    "sending_time": "u8",
}
# What is known of a row; `origin` is the row of its packet, or in a group that of its parent, and
# `place` the index of the message in its packet. Written by the kernels as two words.
HEAD = np.dtype(
    [
        ("origin", "u4"),
        ("place", "u2"),
        ("version", "u2"),
        ("block_length", "u2"),
        ("flags", "u1"),
        ("spare", "u1"),
    ]
)
assert HEAD.itemsize == HEAD_SIZE

# Arrays that begin at the same place of a page fight for the same few lines of the cache when a
# row is written to all of them (twice as slow in one noisy run), so each begins some lines further.
_STAGGER = 5 * 64
_PAGE = 64 << 10


@dataclass(slots=True)
class TableStorage:
    """The arrays of one table."""

    heads: Array
    columns: dict[str, Array]
    data_ends: dict[str, Array]
    data_bytes: dict[str, Array]


@dataclass(slots=True)
class Storage:
    """The arrays of all tables of a plan, and of the packets they came in."""

    packets: dict[str, Array]
    tables: list[TableStorage]
    table_rows: Array  # int64[table, TABLE_SIZE], for the kernels
    column_addresses: Array
    data_rows: Array  # int64[data column, DATA_SIZE], for the kernels
    packet_count: int = 0

    @property
    def rows(self) -> Array:
        """How many rows each table has."""
        return self.table_rows[:, TABLE_ROWS // 8]

    @property
    def data_used(self) -> Array:
        return self.data_rows[:, DATA_USED // 8]

    def clear(self) -> None:
        self.rows[:] = 0
        self.data_used[:] = 0
        self.packet_count = 0


def dtype_of(leaf: FieldLayout) -> np.dtype[Any]:
    """The array type of a leaf: its primitive, or as many bytes as a string has."""
    if leaf.kind is ValueKind.STRING:
        return np.dtype(f"V{leaf.size}")
    primitive = leaf.primitive
    letter = "f" if primitive.is_float else "i" if primitive.is_signed else "u"
    number = np.dtype(f"{letter}{primitive.size}")
    return np.dtype((number, (leaf.count,))) if leaf.kind is ValueKind.ARRAY else number


def allocate(plan: SbePlan, rows: int, packets: int, data_bytes: int) -> Storage:
    """Memory for `rows` rows of every table, so many packets, and `data_bytes` of each data column."""
    tables = [_allocate_table(table, rows, data_bytes) for table in plan.tables]
    table_rows = np.zeros((len(tables), TABLE_SIZE), np.int64)
    addresses = np.zeros(len(plan.columns), np.int64)
    data_rows = np.zeros((len(plan.data_columns), DATA_SIZE), np.int64)
    data_end = 0
    for table, storage in zip(plan.tables, tables, strict=True):
        kernel_row = table_rows[table.index]
        kernel_row[TABLE_HEADS // 8] = storage.heads.ctypes.data
        kernel_row[TABLE_DATA // 8], kernel_row[TABLE_DATA_END // 8] = data_end, data_end + len(table.data)
        data_end += len(table.data)
        for column in table.columns:
            addresses[column.index] = storage.columns[column.name].ctypes.data
        for data in table.data:
            ends, contents = storage.data_ends[data.name], storage.data_bytes[data.name]
            data_rows[data.index] = (ends.ctypes.data, contents.ctypes.data, 0)
    packet_arrays = _carve([(np.dtype(kind), packets) for kind in PACKET_COLUMNS.values()])
    return Storage(
        dict(zip(PACKET_COLUMNS, packet_arrays, strict=True)), tables, table_rows, addresses, data_rows
    )


def _allocate_table(table: SchemaTable, rows: int, data_bytes: int) -> TableStorage:
    arrays = iter(
        _carve(
            [
                (HEAD, rows),
                *((dtype_of(column.leaf), rows) for column in table.columns),
                *((np.dtype("i4"), rows + 1) for _ in table.data),
                *((np.dtype("u1"), data_bytes) for _ in table.data),
            ]
        )
    )
    storage = TableStorage(
        heads=next(arrays),
        columns={column.name: next(arrays) for column in table.columns},
        data_ends={data.name: next(arrays) for data in table.data},
        data_bytes={data.name: next(arrays) for data in table.data},
    )
    for ends in storage.data_ends.values():
        ends[0] = 0
    return storage


def _carve(wanted: list[tuple[np.dtype[Any], int]]) -> list[Array]:
    """Arrays side by side in one piece of memory."""
    places, size = [], 0
    for index, (kind, length) in enumerate(wanted):
        size += (index * _STAGGER - size) % _PAGE
        places.append(size)
        size += kind.itemsize * length
    memory = _pages(size)
    arrays = []
    for place, (kind, length) in zip(places, wanted, strict=True):
        raw = memory[place : place + kind.itemsize * length]
        arrays.append(raw.view(kind.base).reshape(length, *kind.shape))
    return arrays


def _pages(size: int) -> Array:
    """Memory in small pages: with huge ones the first row of a table can cost two megabytes a
    column (numpy asks for huge pages, so its own memory will not do)."""
    pages = mmap.mmap(-1, max(size, 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, np.uint8)


# What the kernels work with: the contexts that tell them where everything is, the buckets that messages pass
# through, and the log of what was wrong. One per decoder, reused for every run.


_FAULT_COLUMNS = {"fault": "u1", "fault_offset": "i8", "fault_packet": "u4", "fault_place": "u4"}


class Workspace:
    """The contexts of one decoder, with all that does not change from batch to batch."""

    def __init__(self, schema: Schema, plan: SbePlan) -> None:
        self.skipped = np.zeros(256, np.int64)
        self._faults = {name: np.zeros(RUN_MESSAGES + RUN_PACKETS, k) for name, k in _FAULT_COLUMNS.items()}
        self.feed = Context(FEED_FIELDS)
        self.feed.set(skipped=self.skipped, **self._faults)
        self.feed.set(**_header_of(schema))
        self.columns = Context(CONTEXT_FIELDS)
        self.columns.set(**_tables_of(plan), **_buckets_of(plan))

    def attach(self, storage: Storage) -> None:
        """Let the kernels write to these columns from now on."""
        self.feed.set(**{name: storage.packets[name] for name in PACKET_COLUMNS})
        self.columns.set(
            tables=storage.table_rows,
            table_count=len(storage.table_rows),
            columns=storage.column_addresses,
            data=storage.data_rows,
            data_count=len(storage.data_rows),
        )

    def take_faults(self) -> Iterator[tuple[int, int, int, int]]:
        """(fault, offset, packet row, index of the message) of each that was noted; then none is."""
        count = self.feed["faults"]
        self.feed.set(faults=0)
        for at in range(count):
            fault, offset, packet, place = (int(array[at]) for array in self._faults.values())
            yield fault, offset, packet, place


def _header_of(schema: Schema) -> dict[str, int]:
    header, big_endian = schema.header, schema.byte_order == ">"
    values = {
        "header_size": header.size,
        "plain": int(header.is_plain and not big_endian),
        "encoding_type": SBE_BIG_ENDIAN if big_endian else SBE_LITTLE_ENDIAN,
        "schema_id": schema.id,
        "big_endian": int(big_endian),
    }
    names = ("block_length", "template", "schema", "version")
    for name, (offset, primitive) in zip(names, header.members(), strict=True):
        values |= {f"{name}_at": offset, f"{name}_width": primitive.size}
    return values


def _tables_of(plan: SbePlan) -> dict[str, int | Array]:
    return {
        "root_of_template": plan.root_of_template,
        "epoch_of_version": plan.epoch_of_version,
        "version_known": plan.version_known,
        "layout_of": plan.layout_of,
        "epochs": plan.layout_of.shape[1],
        "layout_count": len(plan.layouts),
        "entries": plan.entries,
        "steps": plan.steps,
        "swapped": int(plan.schema.byte_order == ">"),
    }


def _buckets_of(plan: SbePlan) -> dict[str, int | Array]:
    """Messages cannot be more than a run has; a hostile run may hold an entry of a group a byte."""
    sizes = [RUN_ROWS if plan.is_group(layout) else RUN_MESSAGES for layout in range(len(plan.layouts))]
    layouts = plan.layouts.copy()  # of one's own: the kernels count in it what is in the buckets
    layouts[:, LAYOUT_BUCKET // 8] = np.cumsum([0, *sizes[:-1]])
    return {
        "layouts": layouts,
        "body": np.empty(sum(sizes), np.int64),
        "row": np.empty(sum(sizes), np.int64),
        "scratch": np.empty(RUN_ROWS * max(plan.longest_block, 1), np.uint8),
        "stack": np.zeros((MAX_GROUP_DEPTH + 2, LEVEL_SIZE), np.int64),
    }
