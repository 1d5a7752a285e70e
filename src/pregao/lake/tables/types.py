"""Types of columns, each declared once: in Arrow, in Spark, and as what is written.

Written and read types differ where that is cheaper: decimals go out as `decimal64` over the int64
mantissas we already have and come back as `decimal128`, words go out as dictionaries of their
vocabulary and come back as strings. The Parquet files are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import pyarrow as pa

from pregao.model import market
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT

PRICE_SCALE: Final = -PRICE_EXPONENT
FINE_SCALE: Final = -FINE_EXPONENT
DECIMAL_DIGITS: Final = 18  # the most that an INT64 of Parquet holds


class Encoding(Enum):
    """How Parquet stores a column (design, traps): dictionaries only where values repeat."""

    DICTIONARY = auto()
    DELTA = auto()  # DELTA_BINARY_PACKED: numbers near their neighbours
    PLAIN = auto()  # also what hardly ever changes: zstd makes nothing of it, and looks up nothing


@dataclass(frozen=True)
class ColumnType:
    """`arrow` is what readers get, `written` what is given to Parquet, `spark` its DDL."""

    arrow: Any
    spark: str
    encoding: Encoding
    written: Any = None
    leaf: str = ""  # where Parquet has the values of a list, below the column
    is_time: bool = False  # to the nanosecond or microsecond: `Table.bare_times`

    @property
    def to_write(self) -> Any:
        return self.arrow if self.written is None else self.written


def _decimal(scale: int) -> ColumnType:
    return ColumnType(
        pa.decimal128(DECIMAL_DIGITS, scale),
        f"decimal({DECIMAL_DIGITS},{scale})",
        Encoding.DELTA,
        pa.decimal64(DECIMAL_DIGITS, scale),
    )


BOOL: Final = ColumnType(pa.bool_(), "boolean", Encoding.PLAIN)
SHORT: Final = ColumnType(pa.int16(), "smallint", Encoding.PLAIN)
INT: Final = ColumnType(pa.int32(), "int", Encoding.DELTA)
LONG: Final = ColumnType(pa.int64(), "bigint", Encoding.DELTA)  # also for uint32 of the wire
CODE: Final = ColumnType(pa.int64(), "bigint", Encoding.DICTIONARY)  # few different numbers: firms
CONSTANT: Final = ColumnType(pa.int32(), "int", Encoding.PLAIN)  # nearly always one in a file
SIZE: Final = ColumnType(pa.int64(), "bigint", Encoding.DICTIONARY)  # quantities: round lots repeat
NANOSECONDS: Final = ColumnType(pa.int64(), "bigint", Encoding.DELTA, is_time=True)
MOMENT: Final = ColumnType(pa.timestamp("us", tz="UTC"), "timestamp", Encoding.DELTA, is_time=True)
DATE: Final = ColumnType(pa.date32(), "date", Encoding.DICTIONARY)
PRICE: Final = _decimal(PRICE_SCALE)
FINE_PRICE: Final = _decimal(FINE_SCALE)
AMOUNT: Final = ColumnType(pa.decimal128(38, PRICE_SCALE), f"decimal(38,{PRICE_SCALE})", Encoding.PLAIN)
TEXT: Final = ColumnType(pa.string(), "string", Encoding.PLAIN)
NAME: Final = ColumnType(pa.string(), "string", Encoding.DICTIONARY)
WORD: Final = ColumnType(pa.string(), "string", Encoding.DICTIONARY, pa.dictionary(pa.int8(), pa.string()))


def list_of(inner: ColumnType) -> ColumnType:
    """The item is called `element`: Parquet and Delta both expect that name."""
    return ColumnType(
        pa.list_(pa.field("element", inner.arrow)),
        f"array<{inner.spark}>",
        inner.encoding if not inner.leaf else Encoding.PLAIN,
        pa.list_(pa.field("element", inner.to_write)),
        ".list.element",
    )


def struct_of(**fields: ColumnType) -> ColumnType:
    return ColumnType(
        pa.struct([(name, inner.arrow) for name, inner in fields.items()]),
        f"struct<{', '.join(f'{name}: {inner.spark}' for name, inner in fields.items())}>",
        Encoding.PLAIN,
        pa.struct([(name, inner.to_write) for name, inner in fields.items()]),
    )


# Vocabularies of the columns that are words: the names of our model's values, in tables as text.


def names(values: Iterable[Enum]) -> tuple[str, ...]:
    return tuple(value.name for value in values)


SIDES: Final = names(market.Side)
AGGRESSORS: Final = names(market.Aggressor)
ACTIONS: Final = names(market.Action)
BOOK_ACTIONS: Final = ("ADD", "CHANGE", "DELETE", "DELETE_THRU", "DELETE_FROM", "EMPTY", "RESET", "SNAPSHOT")
TRADE_ACTIONS: Final = ("TRADE", "BUST")
SESSIONS: Final = names(market.Session)
SUB_TYPES: Final = names(market.TradeSubType)
STATE_EVENTS: Final = names(market.StateEvent)
SCOPES: Final = ("GROUP", "INSTRUMENT")
PHASES: Final = names(market.Phase)
TRADING_STATES: Final = names(market.State)
MATCHINGS: Final = (
    "CONTINUOUS", "AUCTION", "BOTH_SIDES", "LEG", "CROSS", "BLOCK", "AT_REFERENCE", "ENTERED", "FORWARD",
    "OTHER",
)  # fmt: skip
STATES: Final = tuple(dict.fromkeys(names(market.Phase) + names(market.State)))
IMBALANCES: Final = ("BALANCED", "MORE_BUYERS", "MORE_SELLERS")
BANDS: Final = ("REFERENCE", *names(market.BandType), "QUANTITY")
LIMIT_TYPES: Final = names(market.LimitType)
MIDPOINTS: Final = names(market.Midpoint)
ORIGINS: Final = names(market.PriceOrigin)
SETTLEMENT_KINDS: Final = names(market.SettlementKind)
PRICE_KINDS: Final = names(market.PriceKind)
DEFINITION_ACTIONS: Final = names(market.DefinitionAction)
STATISTICS: Final = (
    "OPENING", "THEORETICAL", "CLOSING", "HIGH", "LOW", "LAST_TRADE", "VWAP", "VOLUME", "TRADES",
    "SETTLEMENT", "OPEN_INTEREST",
)  # fmt: skip
INDEX_KINDS: Final = ("INDEX", "COMPOSITE")
STREAMS: Final = ("INCREMENTAL", "INSTRUMENTS", "SNAPSHOT")
FEEDS: Final = ("A", "B", "C")
ARRIVALS: Final = ("FIRST", "DUPLICATE", "LATE", "MISSING")
ANCHORS: Final = ("RESET", "SNAPSHOT", "STORED", "CARRIED")
AUCTIONS: Final = ("OPENING", "INTRADAY", "CLOSING", "OTHER")
SEVERITIES: Final = ("INFO", "WARNING", "ERROR")
FINDINGS: Final = (
    "GAP", "ONE_SIDED_LOSS", "STALE_SPAN", "HEAL", "SEAM", "SNAPSHOT_MATCH", "SNAPSHOT_MISMATCH",
    "STATISTIC_DIFFERS", "CROSSED_BOOK", "UNKNOWN_TEMPLATE", "UNKNOWN_VALUE", "FEEDS_DIFFER", "DAMAGED_INPUT",
    "UNKNOWN_STREAM", "OTHER", "CLOCK_SKEW", "SESSION_CUT",
    "MISSING_TRADE", "EXTRA_TRADE", "DIFFERENT_TRADE", "DIFFERENT_STATISTIC", "DIFFERENT_STATE",
    "DIFFERENT_DEFINITION", "DIFFERENT_BOOK",
)  # fmt: skip
