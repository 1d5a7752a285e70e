"""What a query gave, as rows of a table of the lake."""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pregao.lake.tables.table import Table

_NS_IN_US: Final = 1000
# What `time` says where it is not the time of the event: people ask for bars by their start.
_TIME_OF: Final = {"bars": "ts_start"}


def conform(rows: Any, table: Table, build_id: str) -> Any:
    """Exactly the columns of its files, in their order and of their types; null for what the query lacks. A
    whole number where the table has a decimal is its mantissa."""
    given = set(rows.column_names)
    arrays = []
    for column in table.stored:
        type_ = column.type.arrow
        if column.name == "time":
            moments = rows[_TIME_OF.get(table.name, "ts_event")]
            values = pc.divide(moments, _NS_IN_US).cast(pa.int64()).cast(type_)
        elif column.name == "build_id":
            values = pa.repeat(pa.scalar(build_id, type_), rows.num_rows)
        elif column.name in given:
            values = _typed(rows[column.name], type_)
        elif column.name == "quality":
            values = pa.repeat(pa.scalar(0, type_), rows.num_rows)
        else:
            values = pa.nulls(rows.num_rows, type_)
        arrays.append(values)
    return pa.table(arrays, schema=table.stored_schema)


def _typed(values: Any, type_: Any) -> Any:
    if not pa.types.is_decimal(type_):
        return values.cast(type_)
    whole = pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and values.type.scale == 0)
    if whole and type_.scale:
        mantissas = values.cast(pa.decimal128(38, 0)).combine_chunks()
        return _scaled(mantissas, type_)
    return values.cast(type_)


def _scaled(mantissas: Any, type_: Any) -> Any:
    """The same bytes with another place of the point."""
    wide = pa.decimal128(38, type_.scale)
    plain = mantissas.combine_chunks() if isinstance(mantissas, pa.ChunkedArray) else mantissas
    again = pa.Array.from_buffers(wide, len(plain), plain.buffers(), plain.null_count, plain.offset)
    return again.cast(type_)
