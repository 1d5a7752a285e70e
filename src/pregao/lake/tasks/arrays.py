"""Rows of a slice by column, and columns of numbers as the Arrow arrays that a table wants."""

from enum import IntEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.lake.slices.known import LAKE_ROW
from pregao.lake.tables.arrays import TooLargeError, decimals, integers, narrow, words
from pregao.lake.tables.table import Column, Table
from pregao.lake.tables.types import NAME
from pregao.lake.tasks.kernels import sort_by_rank, take_fields
from pregao.model.rows import NULL, ROW

Array = np.ndarray[Any, np.dtype[Any]]

NO_WORD: Final = -1
_NAMES: Final = pa.dictionary(pa.int32(), pa.string())


def column_array(column: Column, values: Any) -> Any:
    """`values`: an Arrow array as it is; numbers with NULL for null; codes of words; None for all null."""
    type_ = column.type.to_write
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if column.words:
        return words(column, values)
    if pa.types.is_decimal(type_):
        return decimals(column, values)
    if pa.types.is_boolean(type_):
        return pa.array(values, pa.bool_())
    if type_ == pa.int64():
        return integers(values)
    if values.dtype == _plain(type_):  # without a null
        return pa.array(values, type_)
    return narrow(values, type_, _plain(type_))


def _plain(type_: Any) -> Any:
    return np.dtype(np.int16) if type_ == pa.int16() else np.dtype(np.int32)


def names(codes: Array, texts: list[str]) -> Any:
    """Few different texts, by code; a negative one is null."""
    missing = codes < 0
    indices = pa.array(codes.astype(np.int32), mask=missing if missing.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts or [""], pa.string()))


def constant(text: str, count: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([text], pa.string()))


def record(table: Table, columns: dict[str, Any], count: int) -> Any:
    """A table to write; what is not given is null, and left out if it is seldom filled. Names go out as
    dictionaries: Parquet is the same. What has no null is said to have none: Parquet writes no levels for it
    then."""
    arrays, fields = [], []
    for column in table.stored:
        values = columns.get(column.name)
        if values is None and column.seldom:
            continue
        if values is None:
            kind = _NAMES if column.type is NAME else column.type.to_write
            array = pa.nulls(count, kind)
        else:
            array = _named_array(column, values, columns)
        arrays.append(array)
        fields.append(pa.field(column.name, array.type, column.nullable and array.null_count > 0))
    return pa.table(arrays, schema=pa.schema(fields))


def _named_array(column: Column, values: Any, columns: dict[str, Any]) -> Any:
    try:
        return column_array(column, values)
    except TooLargeError as error:
        raise TooLargeError(error.column, error.row, error.value, told_by(columns, error.row)) from error


def told_by(columns: dict[str, Any], row: int) -> str:
    """The message that a row came with, by where it stands in its stream."""
    named = (("packet", "seq_num"), ("message", "msg_index"), ("instrument", "security_id"))
    told = ((what, int(columns[name][row])) for what, name in named if name in columns)
    return ", ".join(f"{what} {number}" for what, number in told if number != NULL)


def codes_of(members: type[IntEnum], *, add: int = 0) -> Array:
    """Places in the vocabulary of an enum by number of the wire (plus what rows add to it)."""
    found = np.full(256, NO_WORD, np.int8)
    for place, member in enumerate(members):
        found[int(member) + add] = place
    return found


def or_null(values: Array, null: int = 0) -> Array:
    """Narrow numbers of rows, whose null is 0."""
    wide = values.astype(np.int64)
    return np.where(wide == null, NULL, wide)


def streams(letters: Array) -> Any:
    """MDStreamID; None: no row has one."""
    if not letters.any():
        return None
    known, codes = np.unique(letters, return_inverse=True)
    return names(np.where(letters == 0, NO_WORD, codes), [chr(letter) for letter in known.tolist()])


def versions(values: Array) -> Array:
    """Versions of messages; 0 where a system has none. In all others none is 0, and nothing is copied."""
    return values if values.all() else or_null(values)


def by_instrument(numbers: Array, ranks: Array, times: Array) -> Array:
    """The order by instrument and time; what is equal stays in the order of the stream. A rank for each
    number, no two the same."""
    order = np.empty(len(numbers), np.int64)
    starts = np.zeros(2 * len(ranks) + 1, np.int64)  # of each rank, then its last time
    in_time = sort_by_rank(
        numbers.ctypes.data, numbers.strides[0], times.ctypes.data, times.strides[0], len(numbers),
        ranks.ctypes.data, len(ranks), starts.ctypes.data, order.ctypes.data,
    )  # fmt: skip
    return order if in_time else np.lexsort((times, ranks[numbers]))


class ColumnRows:
    """Rows in an order, by column; those that are needed are all taken at once."""

    def __init__(self, rows: Array, order: Array, names: tuple[str, ...]) -> None:
        self.count = len(order)
        rows = rows.view(LAKE_ROW) if rows.dtype == ROW else rows
        fields = {name: rows.dtype.fields[name][:2] for name in names}  # type: ignore[index]
        self._columns = made = {name: np.empty(len(order), kind) for name, (kind, _) in fields.items()}
        plan = np.array(
            [(at, kind.itemsize, made[name].ctypes.data) for name, (kind, at) in fields.items()], np.int64
        )
        rows, order = np.ascontiguousarray(rows), np.ascontiguousarray(order, np.int64)
        take_fields(
            rows.ctypes.data, rows.itemsize, order.ctypes.data, len(order), plan.ctypes.data, len(plan)
        )

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def repeat_each(self, times: Array) -> None:
        """Each row as often as is said for it."""
        if (times == 1).all():
            return
        self.count = int(times.sum())
        self._columns = {name: np.repeat(column, times) for name, column in self._columns.items()}
