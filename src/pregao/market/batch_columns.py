"""The columns of a market's record batches: which field of a row each is, in which events, and how it becomes
Arrow. One schema for all events: a column is null in the rows of events that do not have its field."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pregao.model import market as m
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT
from pregao.model.rows import NULL, Flag, Kind

QUOTE: Final = 200  # a kind that no row has
_ORDER_EVENTS: Final = ("OrderAdded", "OrderChanged", "OrderDeleted")  # by action
_NAMES: Final = {
    Kind.SIDE: "SideDeleted", Kind.EMPTY_BOOK: "BookEmptied", Kind.EXECUTION: "ExecutionSummary",
    Kind.TRADE: "Trade", Kind.BUST: "TradeBusted", Kind.STATE: "StateChanged", Kind.PHASE: "PhaseChanged",
    Kind.OPENING: "OpeningPrice", Kind.THEORETICAL: "TheoreticalPrice", Kind.CLOSING: "ClosingPrice",
    Kind.HIGH: "HighPrice", Kind.LOW: "LowPrice", Kind.LAST_TRADE: "LastTrade",
    Kind.TOTALS: "ExecutionStatistics", Kind.SETTLEMENT: "SettlementPrice",
    Kind.OPEN_INTEREST: "OpenInterest", Kind.IMBALANCE: "Imbalance", Kind.PRICE_BAND: "PriceBand",
    Kind.QUANTITY_BAND: "QuantityBand", Kind.LEVEL: "LevelChanged", Kind.VWAP: "VwapPrice",
    Kind.INDEX: "IndexValue", Kind.COMPOSITE: "CompositePrice", Kind.COMPOSITE_PART: "CompositePart",
    Kind.VOLATILITY: "VolatilityPrice", QUOTE: "Quote",
}  # fmt: skip
# An event's code is its row's kind; those of orders that are changed or deleted follow the last kind.
_ADDED, CHANGED, DELETED = int(Kind.ORDER), 201, 202
EVENT_NAMES: Final = pa.array(
    [({int(kind): name for kind, name in _NAMES.items()}
      | dict(zip((_ADDED, CHANGED, DELETED), _ORDER_EVENTS, strict=True))).get(code) for code in range(256)]
)  # fmt: skip
_SIDES: Final = ("bid", "offer")

Values = NDArray[Any]
Convert = Callable[[Values, NDArray[np.bool_]], Any]  # values of a field and where they count, to Arrow


class _Column(NamedTuple):
    name: str
    type: Any
    field: str  # of the row
    codes: frozenset[int]  # of the events that have it
    convert: Convert
    exponent: int | None = None


def wide_values(values: Values, valid: NDArray[np.bool_]) -> Any:
    return pa.array(values.astype(np.int64), mask=~(valid & (values != NULL)))


def narrow_values(values: Values, valid: NDArray[np.bool_]) -> Any:
    return pa.array(values.astype(np.int64), mask=~(valid & (values != 0)))


def number_values(values: Values, valid: NDArray[np.bool_]) -> Any:
    return pa.array(values.astype(np.int64), mask=~valid)


def _date(values: Values, valid: NDArray[np.bool_]) -> Any:
    there = valid & (values != 0) & (values != NULL)
    return pa.array(np.where(there, values, 0).astype(np.int32), mask=~there).cast(pa.date32())


def _flag(bit: Flag) -> Convert:
    def convert(values: Values, valid: NDArray[np.bool_]) -> Any:
        return pa.array(values & int(bit) != 0, mask=~valid)

    return convert


def _words(kind: type[IntEnum], *, shifted: bool = False, optional: bool = False) -> Convert:
    """`shifted`: the number is the value plus one, and 0 null; `optional`: 0 is null."""
    known = kind._value2member_map_
    words: list[str | None] = [known[value].name if value in known else str(value) for value in range(256)]
    words = [None, *words[:255]] if shifted else [None, *words[1:]] if optional else words
    return _looked_up(words)


def _looked_up(words: list[str | None]) -> Convert:
    table = pa.array(words, pa.string())

    def convert(values: Values, valid: NDArray[np.bool_]) -> Any:
        return table.take(pa.array(values, mask=~valid))

    return convert


_IMBALANCES: Final = [str(m.ImbalanceSide(bits << 8).name) for bits in range(4)]
_ORDERS: Final = frozenset((_ADDED, CHANGED, DELETED))
_TRADES: Final = frozenset(map(int, (Kind.TRADE, Kind.BUST, Kind.LAST_TRADE)))
_PHASES: Final = frozenset(map(int, (Kind.STATE, Kind.PHASE)))
_K: Final = Kind
_INT, TEXT, _BOOL, _DAY = pa.int64(), pa.string(), pa.bool_(), pa.date32()


def _of(*codes: int | frozenset[int]) -> frozenset[int]:
    return frozenset().union(*(each if isinstance(each, frozenset) else {int(each)} for each in codes))


_LAST: Final = _of(_K.TRADE, _K.LAST_TRADE)
_DATED: Final = _of(
    _TRADES, _PHASES, _K.OPENING, _K.THEORETICAL, _K.CLOSING, _K.HIGH, _K.LOW, _K.TOTALS, _K.SETTLEMENT,
    _K.OPEN_INTEREST, _K.VWAP, _K.VOLATILITY,
)  # fmt: skip
_PRICED: Final = _of(
    _ORDERS, _TRADES, _K.LEVEL, _K.OPENING, _K.THEORETICAL, _K.HIGH, _K.LOW, _K.SETTLEMENT, _K.VWAP,
    _K.COMPOSITE_PART,
)  # fmt: skip
_SIZED: Final = _of(_ORDERS, _TRADES, _K.LEVEL, _K.THEORETICAL, _K.OPEN_INTEREST, _K.IMBALANCE)
_ACTED: Final = _of(
    _K.SIDE, _K.LEVEL, _K.OPENING, _K.THEORETICAL, _K.HIGH, _K.LOW, _K.IMBALANCE, _K.VWAP, _K.INDEX,
    _K.VOLATILITY,
)  # fmt: skip
_COMPOSED: Final = _of(_K.INDEX, _K.COMPOSITE, _K.COMPOSITE_PART)
COLUMNS: Final = (
    _Column("side", TEXT, "side", _of(_ORDERS, _K.LEVEL, _K.SIDE), _words(m.Side)),
    _Column("order_id", _INT, "id", _ORDERS, number_values),
    _Column("trade_id", _INT, "id", _TRADES, wide_values),
    _Column("price", _INT, "price", _PRICED, wide_values, PRICE_EXPONENT),
    _Column("size", _INT, "size", _SIZED, wide_values),
    _Column("previous_size", _INT, "other", _of(CHANGED), wide_values),
    _Column("position", _INT, "position", _of(_ORDERS, _K.LEVEL, _K.SIDE), narrow_values),
    _Column("orders", _INT, "firm", _of(_K.LEVEL), narrow_values),
    _Column("inserted_ns", _INT, "inserted_ns", _of(_ADDED, CHANGED), wide_values),
    _Column("firm", _INT, "firm", _of(_ADDED, CHANGED), narrow_values),
    _Column("implied", _BOOL, "flags", _of(_ORDERS, _TRADES), _flag(Flag.IMPLIED)),
    _Column("recovery", _BOOL, "flags", _of(_ORDERS, _K.LEVEL), _flag(Flag.RECOVERY)),
    _Column("action", TEXT, "action", _ACTED, _words(m.Action)),
    _Column("aggressor", TEXT, "side", _of(_K.EXECUTION), _words(m.Aggressor)),
    _Column("last_price", _INT, "price", _of(_K.EXECUTION), wide_values, PRICE_EXPONENT),
    _Column("fill_size", _INT, "size", _of(_K.EXECUTION), wide_values),
    _Column("hidden_size", _INT, "low", _of(_K.EXECUTION), wide_values),
    _Column("cancelled_size", _INT, "high", _of(_K.EXECUTION), wide_values),
    _Column("aggressor_ns", _INT, "other", _of(_K.EXECUTION), wide_values),
    _Column("trade_date", _DAY, "trade_date", _DATED, _date),
    _Column("session", TEXT, "session", _of(_TRADES, _PHASES, _K.TOTALS), _words(m.Session)),
    _Column("condition", _INT, "condition", _LAST, number_values),
    _Column("sub_type", TEXT, "detail", _LAST, _words(m.TradeSubType, optional=True)),
    _Column("buyer", _INT, "firm", _LAST, narrow_values),
    _Column("seller", _INT, "position", _LAST, narrow_values),
    _Column("forward", _BOOL, "flags", _of(_K.TRADE), _flag(Flag.FORWARD)),
    _Column("seller_days", _INT, "low", _LAST, wide_values),
    _Column("interest_rate", _INT, "other", _LAST, wide_values, PRICE_EXPONENT),
    _Column("state", TEXT, "type", _of(_K.STATE), _words(m.State, optional=True)),
    _Column("phase", TEXT, "type", _of(_K.PHASE), _words(m.Phase)),
    _Column("event", TEXT, "detail", _PHASES, _words(m.StateEvent, optional=True)),
    _Column("ends_ns", _INT, "inserted_ns", _PHASES, wide_values),
    _Column("price_fine", _INT, "fine", _of(_K.CLOSING), wide_values, FINE_EXPONENT),
    _Column("net_change_fine", _INT, "fine", _of(_K.OPENING, _K.TOTALS, _K.INDEX), wide_values,
            FINE_EXPONENT),
    _Column("value", _INT, "price", _of(_K.INDEX), wide_values, PRICE_EXPONENT),
    _Column("sequence", _INT, "other", _COMPOSED, wide_values),
    _Column("parts", _INT, "low", _of(_K.COMPOSITE), wide_values),
    _Column("part_id", _INT, "id", _of(_K.COMPOSITE_PART), wide_values),
    _Column("short", _INT, "low", _of(_K.VOLATILITY), wide_values, PRICE_EXPONENT),
    _Column("long", _INT, "high", _of(_K.VOLATILITY), wide_values, PRICE_EXPONENT),
    _Column("delta_fine", _INT, "fine", _of(_K.VOLATILITY), wide_values, FINE_EXPONENT),
    _Column("origin", TEXT, "origin", _of(_K.OPENING, _K.CLOSING, _K.SETTLEMENT),
            _words(m.PriceOrigin, shifted=True)),
    _Column("last_trade_date", _DAY, "other", _of(_K.CLOSING), _date),
    _Column("volume", _INT, "size", _of(_K.TOTALS), wide_values),
    _Column("vwap", _INT, "price", _of(_K.TOTALS), wide_values, PRICE_EXPONENT),
    _Column("trades", _INT, "other", _of(_K.TOTALS), wide_values),
    _Column("settlement_kind", TEXT, "detail", _of(_K.SETTLEMENT), _words(m.SettlementKind)),
    _Column("price_kind", TEXT, "type", _of(_K.SETTLEMENT), _words(m.PriceKind)),
    _Column("settlement_date", _DAY, "other", _of(_K.SETTLEMENT), _date),
    _Column("imbalance", TEXT, "side", _of(_K.IMBALANCE), _looked_up([*_IMBALANCES * 64])),
    _Column("band", TEXT, "type", _of(_K.PRICE_BAND), _words(m.BandType, optional=True)),
    _Column("limit_type", TEXT, "detail", _of(_K.PRICE_BAND), _words(m.LimitType, shifted=True)),
    _Column("low", _INT, "low", _of(_K.PRICE_BAND), wide_values, PRICE_EXPONENT),
    _Column("high", _INT, "high", _of(_K.PRICE_BAND), wide_values, PRICE_EXPONENT),
    _Column("midpoint", TEXT, "origin", _of(_K.PRICE_BAND), _words(m.Midpoint, shifted=True)),
    _Column("reference_fine", _INT, "fine", _of(_K.PRICE_BAND), wide_values, FINE_EXPONENT),
    _Column("average_daily", _INT, "other", _of(_K.QUANTITY_BAND), wide_values),
    _Column("largest_order", _INT, "size", _of(_K.QUANTITY_BAND), wide_values),
    _Column("stream", TEXT, "stream", _of(QUOTE), _looked_up([*map(chr, range(256))])),
)  # fmt: skip
HAS: Final = {column.name: np.isin(np.arange(256), list(column.codes)) for column in COLUMNS}
QUOTE_COLUMNS: Final = tuple(f"{side}_{figure}" for side in _SIDES for figure in ("price", "size", "orders"))


def _field(name: str, type_: Any, exponent: int | None = None, *, nullable: bool = True) -> Any:
    return pa.field(name, type_, nullable, {"exponent": str(exponent)} if exponent is not None else None)


BATCH_SCHEMA: Final = pa.schema(
    [
        _field("channel", pa.int16(), nullable=False), _field("symbol", TEXT),
        _field("time_ns", _INT, nullable=False), _field("stream_position", _INT, nullable=False),
        _field("message_index", pa.int32()), _field("kind", TEXT, nullable=False),
        _field("security_id", _INT), _field("rpt_seq", _INT),
        *(_field(column.name, column.type, column.exponent) for column in COLUMNS),
        _field("group", TEXT), _field("exchange", TEXT),
        *(_field(name, _INT, PRICE_EXPONENT if "price" in name else None) for name in QUOTE_COLUMNS),
        _field("status", TEXT),
    ]
)  # fmt: skip
