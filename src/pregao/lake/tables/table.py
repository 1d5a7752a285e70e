"""What a table is: its columns, how its files are cut and sorted, what readers may skip by."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

import pyarrow as pa

from pregao.lake.tables.types import CONSTANT, DATE, FINE_PRICE, NAME, WORD, ColumnType, Encoding

SYSTEM: Final = "system"
TRADE_DATE: Final = "trade_date"
SOURCE: Final = "source"
CHANNEL: Final = "channel"
UNIT_COLUMNS: Final = (SYSTEM, TRADE_DATE, SOURCE)
_EXACT: Final = "to eight places, on every row of a system with exponents of its own; null in all others"


class UnitKey(NamedTuple):
    """A unit: what is built and replaced as one. `source` is a channel by its number, or a session by its
    name, which has something else than digits in it."""

    system: str
    trade_date: date
    source: str

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """Of a row of any table, or of the partition of a file as readers know it."""
        return cls(row[SYSTEM], row[TRADE_DATE], row[SOURCE])

    @classmethod
    def of_partition(cls, partition: Mapping[str, str | None]) -> Self:
        return cls(
            str(partition[SYSTEM]), date.fromisoformat(str(partition[TRADE_DATE])), str(partition[SOURCE])
        )

    @property
    def feed(self) -> tuple[str, str]:
        """What goes on from one trade date to the next."""
        return self.system, self.source

    @property
    def channel(self) -> int | None:
        """None: the source is a session."""
        return int(self.source) if self.source.isdigit() else None

    @property
    def partition(self) -> dict[str, str]:
        """As paths and logs have it."""
        return {SYSTEM: self.system, TRADE_DATE: self.trade_date.isoformat(), SOURCE: self.source}

    @property
    def where(self) -> dict[str, Any]:
        """Its rows, for `Lake`."""
        return self._asdict()

    def __str__(self) -> str:
        what = "session" if self.channel is None else "channel"
        return f"{self.system} {what} {self.source} of {self.trade_date}"


@dataclass(frozen=True)
class Column:
    """`words` is the vocabulary of a WORD, in the order of its codes; `skip` asks for minimum and
    maximum of each file in the Delta log. A column that is `seldom` filled is left out of files in which it
    has no value: readers take what a file lacks for null, and whole systems have none."""

    name: str
    type: ColumnType
    about: str = ""
    nullable: bool = True
    skip: bool = False
    words: tuple[str, ...] = ()
    seldom: bool = False


@dataclass(frozen=True)
class Table:
    name: str
    about: str
    columns: tuple[Column, ...]
    partitions: tuple[str, ...] = UNIT_COLUMNS
    order: tuple[str, ...] = ()
    # Times are packed but not compressed. In large tables zstd took as long for them as Parquet's encoder,
    # and made them smaller by 0 (depth) to 22 % (orders).
    bare_times: bool = False
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
    def usual_schema(self) -> Any:
        """Without what is seldom filled."""
        return _arrow((column for column in self.columns if not column.seldom), written=False)

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

    @cached_property
    def uncompressed(self) -> list[str]:
        return [column.name for column in self.stored if self.bare_times and column.type.is_time]

    def encoded(self, encoding: Encoding) -> list[str]:
        return [column.name + column.type.leaf for column in self.stored if column.type.encoding is encoding]


def _arrow(columns: Iterable[Column], *, written: bool) -> Any:
    return pa.schema(
        [
            pa.field(column.name, column.type.to_write if written else column.type.arrow, column.nullable)
            for column in columns
        ]
    )


def required(name: str, type_: ColumnType, about: str = "", *, skip: bool = False) -> Column:
    return Column(name, type_, about, nullable=False, skip=skip)


def word(
    name: str, words: Iterable[str], about: str = "", *, nullable: bool = True, seldom: bool = False
) -> Column:
    return Column(name, WORD, about, nullable=nullable, words=tuple(words), seldom=seldom)


def exact(name: str) -> str:
    """What the column is called that has the value of another to eight places, whatever its exponent."""
    return f"exact_{name}"


def exact_beside(*columns: Column) -> tuple[Column, ...]:
    """Prices and sizes, and then what they are exactly: of systems whose instruments have other exponents
    than −4 and 0. There the others are null where they would lose a digit."""
    return (*columns, *exact_of(each.name for each in columns))


def exact_of(names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(exact(name), FINE_PRICE, _EXACT, seldom=True) for name in names)


def unit_columns() -> tuple[Column, ...]:
    """Those of the partition, and the channel, which files hold as any other column."""
    return (
        required(SYSTEM, NAME, "market data system that sent it"),
        required(TRADE_DATE, DATE, "trade date of the unit the row was built with"),
        required(SOURCE, NAME, "channel, by its number, or session, by its name"),
        Column(CHANNEL, CONSTANT, "channel of the feed; null: it came by a session", skip=True),
    )
