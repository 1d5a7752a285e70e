"""Arrow arrays from what kernels leave behind: int64 with a null value, and codes. Nothing is copied
that need not be."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.lake.tables.table import Column, Table
from pregao.lake.tables.types import DECIMAL_DIGITS, Encoding
from pregao.model.errors import PregaoError
from pregao.model.rows import NULL

_LIMIT: Final = 10**DECIMAL_DIGITS


class TooLargeError(PregaoError):
    """A number that its column cannot hold. `row` says which, `message` by which message it was told."""

    def __init__(self, column: str, row: int, value: int, message: str = "") -> None:
        self.column, self.row, self.value = column, row, value
        where = f"row {row}, {message}" if message else f"row {row}"
        super().__init__(f"{where}: {value} has too many digits for column {column}")


def integers(values: Any, null: int = NULL) -> Any:
    """int64 with nulls."""
    return pa.Array.from_buffers(pa.int64(), len(values), _buffers(values, null))


def narrow(values: Any, type_: Any, plain: Any, null: int = NULL) -> Any:
    """Numbers of fewer bits, from wide ones with nulls."""
    wide = np.ascontiguousarray(values, np.int64)
    buffers = [_validity(wide, null), pa.py_buffer(wide.astype(plain))]
    return pa.Array.from_buffers(type_, len(wide), buffers)


def decimals(column: Column, mantissas: Any, null: int = NULL) -> Any:
    """Mantissas of the column's scale, taken as they are: decimal64 is an int64. TooLargeError instead
    of a wrong price."""
    type_ = column.type.to_write
    values = np.ascontiguousarray(mantissas, np.int64)
    if len(values) and not -_LIMIT < values.min() <= values.max() < _LIMIT:  # nulls are below, too
        bad = ((values >= _LIMIT) | (values <= -_LIMIT)) & (values != null)
        if bad.any():
            row = int(bad.argmax())
            raise TooLargeError(column.name, row, int(values[row]))
    return pa.Array.from_buffers(type_, len(values), _buffers(values, null))


def words(column: Column, codes: Any) -> Any:
    """Codes are places in the column's vocabulary; a negative one is null."""
    indices = np.ascontiguousarray(codes, np.int8)
    validity = indices >= 0
    plain = pa.array(indices, mask=None if validity.all() else ~validity)
    return pa.DictionaryArray.from_arrays(plain, pa.array(column.words, pa.string()))


def moments(nanoseconds: Any, null: int = NULL) -> Any:
    """The microsecond timestamps that go with nanoseconds."""
    values = np.ascontiguousarray(nanoseconds, np.int64)
    return microseconds(np.where(values == null, null, values // 1000), null)


def microseconds(values: Any, null: int = NULL) -> Any:
    """Timestamps as they are."""
    return pa.Array.from_buffers(pa.timestamp("us", tz="UTC"), len(values), _buffers(values, null))


def _buffers(values: Any, null: int) -> list[Any]:
    plain = np.ascontiguousarray(values, np.int64)
    return [_validity(plain, null), pa.py_buffer(plain)]


def _validity(values: Any, null: int) -> Any:
    """None where nothing is null."""
    if not len(values) or (null == NULL and values.min() != null):  # the least number that there is
        return None
    valid = values != null
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


# How our Parquet files are written: measured for an order table, see the design's traps.


# One instrument of a slice is looked for more often than all of them: a file of a million rows in one group
# must be unpacked whole for it, in eight of these an eighth, for 4 % more time to write.
ROW_GROUP_ROWS: Final = 1 << 17
PART_ROWS: Final = 4 * ROW_GROUP_ROWS  # of a large table at once, for its columns are as large as its rows

_MORE: Final = ("time", "price", "size", "trade_id", "order_id", "ts_sample", "ts_start")


def parquet_options(table: Table) -> dict[str, Any]:
    """For `pyarrow.parquet.ParquetWriter`. Without the Arrow schema in the file, so that decimals and
    words read as what they are."""
    leaves = [name for column in table.stored for name in _leaves(column.name, column.type.arrow)]
    compressed = [name for name in leaves if name not in table.uncompressed]
    return {
        "compression": dict.fromkeys(leaves, "none") | dict.fromkeys(compressed, "zstd"),
        "compression_level": dict.fromkeys(compressed, 1),
        "use_dictionary": table.encoded(Encoding.DICTIONARY),
        "column_encoding": dict.fromkeys(table.encoded(Encoding.DELTA), "DELTA_BINARY_PACKED"),
        "store_decimal_as_integer": True,
        "store_schema": False,
        "version": "2.6",
        "max_rows_per_page": ROW_GROUP_ROWS,  # not 20,000: each page costs a compressor of its own
        # Of what people look for: figures of columns that nobody skips by cost a sixth of writing.
        "write_statistics": [*table.skip_columns, *(name for name in _MORE if name in table.by_name)],
        "write_page_checksum": True,  # zstd itself does not notice a flipped bit
        "coerce_timestamps": "us",
    }


def _leaves(name: str, type_: Any) -> Iterator[str]:
    """Where Parquet has the values of a column."""
    if pa.types.is_list(type_):
        yield from _leaves(f"{name}.list.element", type_.value_type)
    elif pa.types.is_struct(type_):
        for part in type_:
            yield from _leaves(f"{name}.{part.name}", part.type)
    else:
        yield name
