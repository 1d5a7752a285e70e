"""Rows of a market as Arrow record batches: the same as its events, a column for each of their fields.

One schema for all: a column is null in the rows of events that do not have its field. `kind` is the event's
class. Prices are integers; the `exponent` in a field's metadata says of what: -4 ten-thousandths, -8
hundred-millionths. Values of enums are their names, or the number where there is no name.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pregao.handler.groups import group_name
from pregao.handler.incremental import AFTER_ALL
from pregao.market.making import EXCHANGE, Scene
from pregao.model import market as m
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT
from pregao.model.rows import NULL, ROW, Flag, Kind, Rows
from pregao.recovery.instruments import BookStatus

_QUOTE: Final = 200  # a kind that no row has
_ORDER_EVENTS: Final = ("OrderAdded", "OrderChanged", "OrderDeleted")  # by action
_NAMES: Final = {
    Kind.SIDE: "SideDeleted", Kind.EMPTY_BOOK: "BookEmptied", Kind.EXECUTION: "ExecutionSummary",
    Kind.TRADE: "Trade", Kind.BUST: "TradeBusted", Kind.STATE: "StateChanged", Kind.PHASE: "PhaseChanged",
    Kind.OPENING: "OpeningPrice", Kind.THEORETICAL: "TheoreticalPrice", Kind.CLOSING: "ClosingPrice",
    Kind.HIGH: "HighPrice", Kind.LOW: "LowPrice", Kind.LAST_TRADE: "LastTrade",
    Kind.TOTALS: "ExecutionStatistics", Kind.SETTLEMENT: "SettlementPrice",
    Kind.OPEN_INTEREST: "OpenInterest", Kind.IMBALANCE: "Imbalance", Kind.PRICE_BAND: "PriceBand",
    Kind.QUANTITY_BAND: "QuantityBand", _QUOTE: "Quote",
}  # fmt: skip
# An event's code is its row's kind; those of orders that are changed or deleted follow the last kind.
_ADDED, _CHANGED, _DELETED = int(Kind.ORDER), 201, 202
_EVENT_NAMES: Final = pa.array(
    [({int(kind): name for kind, name in _NAMES.items()}
      | dict(zip((_ADDED, _CHANGED, _DELETED), _ORDER_EVENTS, strict=True))).get(code) for code in range(256)]
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


def _wide(values: Values, valid: NDArray[np.bool_]) -> Any:
    return pa.array(values.astype(np.int64), mask=~(valid & (values != NULL)))


def _narrow(values: Values, valid: NDArray[np.bool_]) -> Any:
    return pa.array(values.astype(np.int64), mask=~(valid & (values != 0)))


def _number(values: Values, valid: NDArray[np.bool_]) -> Any:
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
_ORDERS: Final = frozenset((_ADDED, _CHANGED, _DELETED))
_TRADES: Final = frozenset(map(int, (Kind.TRADE, Kind.BUST, Kind.LAST_TRADE)))
_PHASES: Final = frozenset(map(int, (Kind.STATE, Kind.PHASE)))
_K: Final = Kind
_INT, _TEXT, _BOOL, _DAY = pa.int64(), pa.string(), pa.bool_(), pa.date32()


def _of(*codes: int | frozenset[int]) -> frozenset[int]:
    return frozenset().union(*(each if isinstance(each, frozenset) else {int(each)} for each in codes))


_LAST: Final = _of(_K.TRADE, _K.LAST_TRADE)
_DATED: Final = _of(
    _TRADES, _PHASES, _K.OPENING, _K.THEORETICAL, _K.CLOSING, _K.HIGH, _K.LOW, _K.TOTALS, _K.SETTLEMENT,
    _K.OPEN_INTEREST,
)  # fmt: skip
_PRICED: Final = _of(
    _ORDERS, _TRADES, _K.OPENING, _K.THEORETICAL, _K.HIGH, _K.LOW, _K.SETTLEMENT
)
_SIZED: Final = _of(_ORDERS, _TRADES, _K.THEORETICAL, _K.OPEN_INTEREST, _K.IMBALANCE)
_ACTED: Final = _of(_K.SIDE, _K.OPENING, _K.THEORETICAL, _K.HIGH, _K.LOW, _K.IMBALANCE)
_COLUMNS: Final = (
    _Column("side", _TEXT, "side", _of(_ORDERS, _K.SIDE), _words(m.Side)),
    _Column("order_id", _INT, "id", _ORDERS, _number),
    _Column("trade_id", _INT, "id", _TRADES, _wide),
    _Column("price", _INT, "price", _PRICED, _wide, PRICE_EXPONENT),
    _Column("size", _INT, "size", _SIZED, _wide),
    _Column("previous_size", _INT, "other", _of(_CHANGED), _wide),
    _Column("position", _INT, "position", _of(_ORDERS, _K.SIDE), _narrow),
    _Column("inserted_ns", _INT, "inserted_ns", _of(_ADDED, _CHANGED), _wide),
    _Column("firm", _INT, "firm", _of(_ADDED, _CHANGED), _narrow),
    _Column("implied", _BOOL, "flags", _of(_ORDERS, _TRADES), _flag(Flag.IMPLIED)),
    _Column("recovery", _BOOL, "flags", _ORDERS, _flag(Flag.RECOVERY)),
    _Column("action", _TEXT, "action", _ACTED, _words(m.Action)),
    _Column("aggressor", _TEXT, "side", _of(_K.EXECUTION), _words(m.Aggressor)),
    _Column("last_price", _INT, "price", _of(_K.EXECUTION), _wide, PRICE_EXPONENT),
    _Column("fill_size", _INT, "size", _of(_K.EXECUTION), _wide),
    _Column("hidden_size", _INT, "low", _of(_K.EXECUTION), _wide),
    _Column("cancelled_size", _INT, "high", _of(_K.EXECUTION), _wide),
    _Column("aggressor_ns", _INT, "other", _of(_K.EXECUTION), _wide),
    _Column("trade_date", _DAY, "trade_date", _DATED, _date),
    _Column("session", _TEXT, "session", _of(_TRADES, _PHASES, _K.TOTALS), _words(m.Session)),
    _Column("condition", _INT, "condition", _LAST, _number),
    _Column("sub_type", _TEXT, "sub_type", _LAST, _words(m.TradeSubType, optional=True)),
    _Column("buyer", _INT, "firm", _LAST, _narrow),
    _Column("seller", _INT, "position", _LAST, _narrow),
    _Column("forward", _BOOL, "flags", _of(_K.TRADE), _flag(Flag.FORWARD)),
    _Column("seller_days", _INT, "days", _LAST, _narrow),
    _Column("interest_rate", _INT, "other", _LAST, _wide, PRICE_EXPONENT),
    _Column("state", _TEXT, "type", _of(_K.STATE), _words(m.State, optional=True)),
    _Column("phase", _TEXT, "type", _of(_K.PHASE), _words(m.Phase)),
    _Column("event", _TEXT, "detail", _PHASES, _words(m.StateEvent, optional=True)),
    _Column("ends_ns", _INT, "inserted_ns", _PHASES, _wide),
    _Column("price_fine", _INT, "fine", _of(_K.CLOSING), _wide, FINE_EXPONENT),
    _Column("net_change_fine", _INT, "fine", _of(_K.OPENING, _K.TOTALS), _wide, FINE_EXPONENT),
    _Column("origin", _TEXT, "origin", _of(_K.OPENING, _K.CLOSING, _K.SETTLEMENT),
            _words(m.PriceOrigin, shifted=True)),
    _Column("last_trade_date", _DAY, "other", _of(_K.CLOSING), _date),
    _Column("volume", _INT, "size", _of(_K.TOTALS), _wide),
    _Column("vwap", _INT, "price", _of(_K.TOTALS), _wide, PRICE_EXPONENT),
    _Column("trades", _INT, "other", _of(_K.TOTALS), _wide),
    _Column("settlement_kind", _TEXT, "detail", _of(_K.SETTLEMENT), _words(m.SettlementKind)),
    _Column("price_kind", _TEXT, "type", _of(_K.SETTLEMENT), _words(m.PriceKind)),
    _Column("settlement_date", _DAY, "other", _of(_K.SETTLEMENT), _date),
    _Column("imbalance", _TEXT, "side", _of(_K.IMBALANCE), _looked_up([*_IMBALANCES * 64])),
    _Column("band", _TEXT, "type", _of(_K.PRICE_BAND), _words(m.BandType, optional=True)),
    _Column("limit_type", _TEXT, "detail", _of(_K.PRICE_BAND), _words(m.LimitType, shifted=True)),
    _Column("low", _INT, "low", _of(_K.PRICE_BAND), _wide, PRICE_EXPONENT),
    _Column("high", _INT, "high", _of(_K.PRICE_BAND), _wide, PRICE_EXPONENT),
    _Column("midpoint", _TEXT, "origin", _of(_K.PRICE_BAND), _words(m.Midpoint, shifted=True)),
    _Column("reference_fine", _INT, "fine", _of(_K.PRICE_BAND), _wide, FINE_EXPONENT),
    _Column("average_daily", _INT, "other", _of(_K.QUANTITY_BAND), _wide),
    _Column("largest_order", _INT, "size", _of(_K.QUANTITY_BAND), _wide),
)  # fmt: skip
_HAS: Final = {column.name: np.isin(np.arange(256), list(column.codes)) for column in _COLUMNS}
_QUOTE_COLUMNS: Final = tuple(f"{side}_{figure}" for side in _SIDES for figure in ("price", "size", "orders"))


def _field(name: str, type_: Any, exponent: int | None = None, *, nullable: bool = True) -> Any:
    return pa.field(name, type_, nullable, {"exponent": str(exponent)} if exponent is not None else None)


BATCH_SCHEMA: Final = pa.schema(
    [
        _field("channel", pa.int16(), nullable=False), _field("symbol", _TEXT),
        _field("time_ns", _INT, nullable=False), _field("stream_position", _INT, nullable=False),
        _field("message_index", pa.int32()), _field("kind", _TEXT, nullable=False),
        _field("security_id", _INT), _field("rpt_seq", _INT),
        *(_field(column.name, column.type, column.exponent) for column in _COLUMNS),
        _field("group", _TEXT), _field("exchange", _TEXT),
        *(_field(name, _INT, PRICE_EXPONENT if "price" in name else None) for name in _QUOTE_COLUMNS),
        _field("status", _TEXT),
    ]
)  # fmt: skip

_STATUS_WORDS: Final = pa.array([status.name for status in BookStatus])


class RowBatches:
    """Rows as a market hands them on, until somebody takes them as a record batch."""

    def __init__(self) -> None:
        self._rows: list[Rows] = []
        self._levels: list[Values] = []  # of quotes, in the order of `_QUOTE_COLUMNS`; none elsewhere
        self._statuses: list[Values] = []
        self._channels: list[Values] = []
        self._symbols: list[str | None] = []
        self.count = 0

    def take(self, rows: Rows, quotes: Values, statuses: list[BookStatus], scene: Scene) -> None:
        """For `Collector.take_rows`."""
        rows = rows[(rows["kind"] != Kind.ORDER) | (rows["action"] <= m.Action.DELETE)]
        count, total = len(rows), len(rows) + len(quotes)
        joined, levels = np.zeros(total, ROW), np.zeros((total, len(_QUOTE_COLUMNS)), np.int64)
        status = np.zeros(total, np.uint8)
        joined[:count], joined["kind"][count:], status[count:] = rows, _QUOTE, statuses
        for name in ("security_id", "at", "index", "time_ns"):
            joined[name][count:] = quotes[name]
        for place, name in enumerate(_QUOTE_COLUMNS):
            levels[count:, place] = quotes[name]
        joined["time_ns"][joined["time_ns"] == NULL] = scene.now_ns
        order = np.lexsort((joined["index"], joined["at"]))  # what a row ended stays behind it
        joined = joined[order]
        self._rows.append(joined)
        self._levels.append(levels[order])
        self._statuses.append(status[order])
        self._channels.append(np.full(total, scene.channel, np.int16))
        symbols = scene.symbols
        self._symbols += [
            None if kind == Kind.PHASE else symbols[security_id]
            for kind, security_id in zip(joined["kind"].tolist(), joined["security_id"].tolist(), strict=True)
        ]
        self.count += total

    def record_batch(self) -> Any:
        """All that was taken, as a `pyarrow.RecordBatch` of `BATCH_SCHEMA`."""
        rows, levels, status = (
            np.concatenate(parts) for parts in (self._rows, self._levels, self._statuses)
        )
        arrays = self._heads(rows)
        codes = _codes(rows)
        for column in _COLUMNS:
            made = column.convert(rows[column.field], _HAS[column.name][codes])
            arrays.append(made.cast(column.type) if made.type != column.type else made)
        arrays += [*_groups(rows), *_quotes(levels, status, codes == _QUOTE)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=BATCH_SCHEMA)
        self.__init__()  # type: ignore[misc]
        return batch

    def _heads(self, rows: Rows) -> list[Any]:
        is_phase = rows["kind"] == Kind.PHASE
        return [
            pa.array(np.concatenate(self._channels)), pa.array(self._symbols, _TEXT),
            pa.array(rows["time_ns"].copy()), pa.array(rows["at"].copy()),
            pa.array(rows["index"].astype(np.int32), mask=rows["index"] == AFTER_ALL),
            _EVENT_NAMES.take(pa.array(_codes(rows))),
            pa.array(rows["security_id"].copy(), mask=is_phase),
            _narrow(rows["rpt_seq"], np.ones(len(rows), np.bool_)),
        ]  # fmt: skip


def _codes(rows: Rows) -> NDArray[np.uint8]:
    kinds, actions = rows["kind"].copy(), rows["action"]
    orders = kinds == Kind.ORDER
    kinds[orders & (actions == m.Action.CHANGE)] = _CHANGED
    kinds[orders & (actions == m.Action.DELETE)] = _DELETED
    return kinds


def _groups(rows: Rows) -> list[Any]:
    """Group and exchange of phases."""
    phases = rows["kind"] == Kind.PHASE
    if not phases.any():
        return [pa.nulls(len(rows), _TEXT), pa.nulls(len(rows), _TEXT)]
    names = [group_name(number) if phase else None
             for number, phase in zip(rows["id"].tolist(), phases.tolist(), strict=True)]  # fmt: skip
    exchanges = pa.array([EXCHANGE]).take(pa.array(np.zeros(len(rows), np.int8), mask=~phases))
    return [pa.array(names, _TEXT), exchanges]


def _quotes(levels: Values, status: Values, quotes: NDArray[np.bool_]) -> list[Any]:
    arrays = []
    for place, name in enumerate(_QUOTE_COLUMNS):
        there = quotes & (levels[:, 2 + place // 3 * 3] != 0)  # a side without orders has nothing
        values = levels[:, place].copy()
        arrays.append(_wide(values, there) if name.endswith("price") else _number(values, there))
    return [*arrays, _STATUS_WORDS.take(pa.array(status, mask=~quotes))]
