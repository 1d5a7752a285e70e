"""The memory behind columns: typed arrays per table, and their addresses for the kernels.

A table's arrays share one piece of memory, which the system gives page by page when it is first
written: a table without rows costs nothing, whatever its capacity.
"""

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np

from pregao.codecs.sbe.kernel_tables import (
    DATA_SIZE,
    DATA_USED,
    HEAD_SIZE,
    TABLE_DATA,
    TABLE_DATA_END,
    TABLE_HEADS,
    TABLE_ROWS,
    TABLE_SIZE,
)
from pregao.codecs.sbe.layout import FieldLayout, Kind
from pregao.codecs.sbe.plan import Plan, Table

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
    if leaf.kind is Kind.STRING:
        return np.dtype(f"V{leaf.size}")
    primitive = leaf.primitive
    letter = "f" if primitive.is_float else "i" if primitive.is_signed else "u"
    number = np.dtype(f"{letter}{primitive.size}")
    return np.dtype((number, (leaf.count,))) if leaf.kind is Kind.ARRAY else number


def allocate(plan: Plan, rows: int, packets: int, data_bytes: int) -> Storage:
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


def _allocate_table(table: Table, rows: int, data_bytes: int) -> TableStorage:
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
