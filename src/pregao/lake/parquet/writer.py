"""A Parquet file of flat columns, as Arrow's own writer makes one of the same schema.

Arrow's takes 6 to 14 ns for a value of our tables; this one a third of that (docs/performance.md).
"""

import struct
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.parquet.columns import ColumnPlan, Pages, physical, write_column
from pregao.lake.parquet.thrift import Long, Struct, encoded
from pregao.lake.tables.table import Table

_MAGIC: Final = b"PAR1"
_VERSION: Final = 2
_MADE_BY: Final = "pregao version 1.0.0"
_REQUIRED, _OPTIONAL = 0, 1


def can_write(schema: Any) -> bool:
    """Whether all columns are of types that are ours to write."""
    return all(physical(each.type) is not None for each in schema)


class FlatWriter:
    """As `pyarrow.parquet.ParquetWriter` is used by `store.files`."""

    def __init__(self, sink: Any, schema: Any, table: Table, statistics: set[str]) -> None:
        self._sink, self._schema = sink, schema
        self._plans = [_plan(each, table, statistics) for each in schema]
        self._groups: list[Struct] = []
        self._rows = 0
        self._metadata: Any = None
        sink.write(_MAGIC)
        self._at = len(_MAGIC)

    @property
    def metadata(self) -> Any:
        """Known once it is closed."""
        return self._metadata

    def write_table(self, table: Any, row_group_size: int) -> None:
        """Groups are of whole bytes of bits."""
        if row_group_size % 8:
            raise ValueError(f"a row group of {row_group_size} rows is not of whole bytes")
        columns = [_one_chunk(column) for column in table.columns]
        for first in range(0, table.num_rows, row_group_size):
            self._write_group([column.slice(first, row_group_size) for column in columns])

    def _write_group(self, columns: list[Any]) -> None:
        start, made, rows = self._at, list[Pages](), len(columns[0])
        for plan, column in zip(self._plans, columns, strict=True):
            pages = write_column(plan, column, self._at)
            for part in pages.parts:
                self._sink.write(part)
            pages.parts.clear()
            self._at += pages.size
            made.append(pages)
        self._rows += rows
        self._groups.append(Struct((
            (1, [pages.in_footer() for pages in made]), (2, Long(sum(pages.unpacked for pages in made))),
            (3, Long(rows)), (5, Long(start)), (6, Long(self._at - start)),
        )))  # fmt: skip

    def close(self) -> None:
        if self._metadata is not None:
            return
        footer = encoded(self._footer())
        tail = footer + struct.pack("<I", len(footer)) + _MAGIC
        self._sink.write(tail)
        self._metadata = pq.read_metadata(pa.BufferReader(_MAGIC + tail))

    def _footer(self) -> Struct:
        root = Struct(((3, _REQUIRED), (4, "schema"), (5, len(self._plans))))
        schema = [root, *(_element(plan) for plan in self._plans)]
        typed = Struct(((1, Struct(())),))  # the order of a type, which minimum and maximum go by
        return Struct((
            (1, _VERSION), (2, schema), (3, Long(self._rows)), (4, self._groups), (6, _MADE_BY),
            (7, [typed] * len(self._plans)),
        ))  # fmt: skip


def _plan(field: Any, table: Table, statistics: set[str]) -> ColumnPlan:
    column = table.by_name[field.name]
    stored = physical(field.type)
    if stored is None:
        raise TypeError(f"column {field.name} is {field.type}")
    compressed = field.name not in table.uncompressed
    return ColumnPlan(
        field.name, stored, field.nullable, column.type.encoding, compressed, field.name in statistics
    )


def _one_chunk(column: Any) -> Any:
    """A column that begins with its buffers, so that row groups begin at whole bytes of bits."""
    one = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(one, pa.ChunkedArray):
        one = one.chunk(0) if one.num_chunks else pa.array([], one.type)
    return pa.concat_arrays([one]) if one.offset % 8 else one


def _element(plan: ColumnPlan) -> Struct:
    stored = plan.physical
    return Struct((
        (1, stored.type), (3, _OPTIONAL if plan.nullable else _REQUIRED), (4, plan.name),
        (6, stored.converted), (7, stored.scale), (8, stored.precision), (10, stored.logical),
    ))  # fmt: skip
