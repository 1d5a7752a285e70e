"""The memory behind columns: typed arrays per table, and their addresses for the kernels.

A table's arrays share one piece of memory, which is taken from the system when it is first
written: a table without rows costs nothing, whatever its capacity.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pregao.codecs.sbe.kernels import Columns
from pregao.codecs.sbe.layout import FieldLayout, Kind
from pregao.codecs.sbe.plan import Plan, Table
from pregao.feeds.binary.kernels import Lineage

Array = np.ndarray[Any, np.dtype[Any]]

LINEAGE: dict[str, str] = {
    "ts_recv": "i8",
    "ts_send": "u8",
    "packet": "i8",
    "flow": "i8",
    "sequence_number": "u4",
    "sequence_version": "u2",
    "version": "u2",
    "block_length": "u2",
    "message_index": "u2",
    "channel": "u1",
    "flags": "u1",
}
GROUP_LINEAGE = {"packet": "i8", "block_length": "u2", "flags": "u1"}  # `packet`: the parent's row

_ALIGNMENT = 64
# Arrays that begin at the same place of a page fight for the same few lines of the cache when a
# row is written to all of them (measured: five times slower), so each begins some lines further.
_STAGGER = 5 * _ALIGNMENT
_PAGE = 64 << 10


@dataclass(slots=True)
class TableStorage:
    """The arrays of one table, `capacity` rows each."""

    lineage: dict[str, Array]
    columns: dict[str, Array]
    data_ends: dict[str, Array]
    data_bytes: dict[str, Array]


@dataclass(slots=True)
class Storage:
    """The arrays of all tables of a plan."""

    tables: list[TableStorage]
    columns: Columns
    lineage: Lineage


def dtype_of(leaf: FieldLayout) -> np.dtype[Any]:
    """The array type of a leaf: its primitive, or as many bytes as a string has."""
    if leaf.kind is Kind.STRING:
        return np.dtype(f"V{leaf.size}")
    if leaf.kind is Kind.ARRAY:
        return np.dtype((_number(leaf), (leaf.count,)))
    return _number(leaf)


def _number(leaf: FieldLayout) -> np.dtype[Any]:
    primitive = leaf.primitive
    letter = "f" if primitive.is_float else "i" if primitive.is_signed else "u"
    return np.dtype(f"{letter}{primitive.size}")


def allocate(plan: Plan, rows: int, data_bytes: int) -> Storage:
    """Memory for `rows` rows of every table and `data_bytes` of every data column."""
    tables = [_allocate_table(table, rows, data_bytes) for table in plan.tables]
    address = np.zeros(len(plan.columns), np.uint64)
    ends = np.zeros(len(plan.data_columns), np.uint64)
    contents = np.zeros(len(plan.data_columns), np.uint64)
    for table, storage in zip(plan.tables, tables, strict=True):
        for column in table.columns:
            address[column.index] = storage.columns[column.name].ctypes.data
        for data in table.data:
            ends[data.index] = storage.data_ends[data.name].ctypes.data
            contents[data.index] = storage.data_bytes[data.name].ctypes.data
    columns = Columns(
        rows=np.zeros(len(tables), np.int64),
        address=address,
        data_ends=ends,
        data_bytes=contents,
        data_used=np.zeros(len(plan.data_columns), np.int64),
    )
    lineage = Lineage(**{name: _addresses([t.lineage.get(name) for t in tables]) for name in LINEAGE})
    return Storage(tables, columns, lineage)


def _addresses(arrays: list[Array | None]) -> Array:
    return np.array([0 if array is None else array.ctypes.data for array in arrays], np.uint64)


def _allocate_table(table: Table, rows: int, data_bytes: int) -> TableStorage:
    lineage = GROUP_LINEAGE if table.is_group else LINEAGE
    wanted: list[tuple[str, np.dtype[Any], int]] = [
        *((name, np.dtype(kind), rows) for name, kind in lineage.items()),
        *((column.name, dtype_of(column.leaf), rows) for column in table.columns),
        *((data.name, np.dtype("i4"), rows + 1) for data in table.data),
        *((data.name, np.dtype("u1"), data_bytes) for data in table.data),
    ]
    arrays = _carve(wanted)
    first, second = len(lineage), len(lineage) + len(table.columns)
    third = second + len(table.data)
    storage = TableStorage(
        lineage=dict(zip(lineage, arrays[:first], strict=True)),
        columns={c.name: a for c, a in zip(table.columns, arrays[first:second], strict=True)},
        data_ends={d.name: a for d, a in zip(table.data, arrays[second:third], strict=True)},
        data_bytes={d.name: a for d, a in zip(table.data, arrays[third:], strict=True)},
    )
    for ends in storage.data_ends.values():
        ends[0] = 0
    return storage


def _carve(wanted: list[tuple[str, np.dtype[Any], int]]) -> list[Array]:
    """Arrays side by side in one piece of memory, each at the start of a cache line."""
    places, size = [], 0
    for index, (_, kind, length) in enumerate(wanted):
        size += (index * _STAGGER - size) % _PAGE
        places.append(size)
        size += kind.itemsize * length
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    skew = -memory.ctypes.data % _ALIGNMENT
    arrays = []
    for place, (_, kind, length) in zip(places, wanted, strict=True):
        start = skew + place
        raw = memory[start : start + kind.itemsize * length]
        arrays.append(raw.view(kind.base).reshape(length, *kind.shape))
    return arrays
