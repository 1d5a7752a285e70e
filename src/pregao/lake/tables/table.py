"""What a table is: its columns, how its files are cut and sorted, what readers may skip by."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from pregao.lake.tables.types import DATE, INT, WORD, Encoding, Type

TRADE_DATE: Final = "trade_date"
CHANNEL: Final = "channel"
UnitKey = tuple[date, int]  # trade date and channel


@dataclass(frozen=True)
class Column:
    """`words` is the vocabulary of a WORD, in the order of its codes; `skip` asks for minimum and
    maximum of each file in the Delta log."""

    name: str
    type: Type
    about: str = ""
    nullable: bool = True
    skip: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    name: str
    about: str
    columns: tuple[Column, ...]
    partitions: tuple[str, ...] = (TRADE_DATE, CHANNEL)
    order: tuple[str, ...] = ()
    by_name: dict[str, Column] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.by_name.update((column.name, column) for column in self.columns)
        if len(self.by_name) != len(self.columns):
            raise ValueError(f"table {self.name}: a column is declared twice")
        unknown = [name for name in (*self.partitions, *self.order) if name not in self.by_name]
        if unknown:
            raise ValueError(f"table {self.name}: no column {unknown[0]}")

    @cached_property
    def schema(self) -> Any:
        """Arrow schema as readers see it: partition columns first."""
        return _arrow(self.columns, written=False)

    @cached_property
    def stored(self) -> tuple[Column, ...]:
        """Columns inside the files: the partition's values are in the path only, as Delta wants it."""
        return tuple(column for column in self.columns if column.name not in self.partitions)

    @cached_property
    def stored_schema(self) -> Any:
        """Arrow schema of the files, as they read."""
        return _arrow(self.stored, written=False)

    @cached_property
    def written_schema(self) -> Any:
        """Arrow schema to build record batches with: decimal64 and dictionaries."""
        return _arrow(self.stored, written=True)

    @cached_property
    def spark_ddl(self) -> str:
        return ", ".join(f"`{column.name}` {column.type.spark}" for column in self.columns)

    @cached_property
    def skip_columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.stored if column.skip)

    def encoded(self, encoding: Encoding) -> list[str]:
        return [column.name + column.type.leaf for column in self.stored if column.type.encoding is encoding]


def _arrow(columns: Iterable[Column], *, written: bool) -> Any:
    return pa.schema(
        [
            pa.field(column.name, column.type.to_write if written else column.type.arrow, column.nullable)
            for column in columns
        ]
    )


def required(name: str, type_: Type, about: str = "", *, skip: bool = False) -> Column:
    return Column(name, type_, about, nullable=False, skip=skip)


def word(name: str, words: Iterable[str], about: str = "", *, nullable: bool = True) -> Column:
    return Column(name, WORD, about, nullable=nullable, words=tuple(words))


def partition_columns() -> tuple[Column, ...]:
    return (
        required(TRADE_DATE, DATE, "trade date of the unit the row was built with"),
        required(CHANNEL, INT, "channel of the feed"),
    )
