"""What a message tells as fields of a row: the model's objects turned into what the kernel must write.

Everything of a row that is not named here must be null.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pregao.feeds.binary.news_parts import NewsPart
from pregao.feeds.binary.reading.values import (
    NotUnderstood,
    SequenceTold,
    SequenceWasReset,
    SnapshotBegin,
    SnapshotOrder,
    TranslatedMessage,
)
from pregao.model import events as e
from pregao.model.market import Side
from pregao.model.rows import NO_ACTION, NULL, ROW, Kind

Fields = dict[str, Any]


def row_of(told: TranslatedMessage, *, packet: int = 0, at: int = 0, sequence_version: int = 0) -> np.void:
    """The row of an update; the place of a message that is left to plain code is not in it."""
    row = np.zeros(1, ROW)[0]
    fields = {name: NULL for name in ROW.names or () if ROW[name].itemsize == 8}
    kind, said = _MAKERS[type(told.update)](told.update)
    fields |= {name: value for name, value in said.items() if value is not None}
    fields |= {
        "kind": kind, "flags": told.flags, "version": told.version, "index": told.index,
        "rpt_seq": told.rpt_seq or 0, "packet": packet, "at": at, "sequence_version": sequence_version,
    }  # fmt: skip
    if isinstance(told.update, e.Definition):
        fields["high"] = NULL if told.total is None else told.total
        if "security_id" in told.lacks:  # an instrument's is 0 then
            fields["security_id"] = NULL
    for name, value in fields.items():
        row[name] = _signed(value) if ROW[name].itemsize == 8 else value
    return row


def _signed(value: int) -> int:
    """Unsigned numbers keep their bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _time(value: int | None) -> int:
    return value or NULL


def _action(value: Any) -> int:
    return NO_ACTION if value is None else value


def _side(value: Any) -> int:
    """A side, or the character that is none."""
    if value is None:
        return 0
    return value if isinstance(value, Side) else (value - 47) % 256


def _plus_one(value: Any) -> int:
    return 0 if value is None else value + 1


def _order(u: e.OrderUpdate) -> Fields:
    return _placed(u) | {
        "action": _action(u.action), "time_ns": _time(u.transact_ns), "other": u.previous_size
    }  # fmt: skip


def _placed(u: e.OrderUpdate | SnapshotOrder) -> Fields:
    return {
        "security_id": u.security_id, "side": _side(u.side), "id": u.order_id, "price": u.price,
        "size": u.size, "inserted_ns": _time(u.inserted_ns), "firm": u.firm, "position": u.position,
    }  # fmt: skip


def _side_deleted(u: e.SideDeleted) -> Fields:
    return {
        "security_id": u.security_id, "action": _action(u.action), "side": _side(u.side),
        "position": u.position, "time_ns": _time(u.transact_ns),
    }  # fmt: skip


def _traded(u: e.Trade | e.LastTrade) -> Fields:
    return _trade_key(u) | {
        "firm": u.buyer, "position": u.seller, "condition": u.condition, "detail": u.sub_type,
        "low": u.seller_days, "other": u.interest_rate,
    }  # fmt: skip


def _trade_key(u: e.Trade | e.LastTrade | e.TradeBusted) -> Fields:
    time_ns = u.time_ns if isinstance(u, e.LastTrade) else u.transact_ns
    return {
        "security_id": u.security_id, "id": u.trade_id, "price": u.price, "size": u.size,
        "session": u.session, "trade_date": u.trade_date, "time_ns": _time(time_ns),
    }  # fmt: skip


def _execution(u: e.ExecutionSummary) -> Fields:
    return {
        "security_id": u.security_id, "side": u.aggressor, "price": u.last_price, "size": u.fill_size,
        "low": u.hidden_size, "high": u.cancelled_size, "other": _time(u.aggressor_ns),
        "time_ns": _time(u.transact_ns),
    }  # fmt: skip


def _dated(u: Any) -> Fields:
    return {"security_id": u.security_id, "trade_date": u.trade_date, "time_ns": _time(u.time_ns)}


def _undated(u: Any) -> Fields:
    return {"security_id": u.security_id, "time_ns": _time(u.time_ns)}


def _totals(u: e.ExecutionStatistics) -> Fields:
    return _dated(u) | {
        "price": u.vwap, "size": u.volume, "other": u.trades, "fine": u.net_change_fine, "session": u.session
    }  # fmt: skip


def _opening(u: e.OpeningPrice) -> Fields:
    return _dated(u) | {
        "action": _action(u.action), "price": u.price, "fine": u.net_change_fine,
        "origin": _plus_one(u.origin),
    }  # fmt: skip


def _theoretical(u: e.TheoreticalPrice) -> Fields:
    return _dated(u) | {"action": _action(u.action), "price": u.price, "size": u.size}


def _closing(u: e.ClosingPrice) -> Fields:
    return _dated(u) | {"fine": u.price_fine, "origin": _plus_one(u.origin), "other": u.last_trade_date}


def _extreme(u: e.HighPrice | e.LowPrice) -> Fields:
    return _dated(u) | {"action": _action(u.action), "price": u.price}


def _settlement(u: e.SettlementPrice) -> Fields:
    return _dated(u) | {
        "price": u.price, "origin": _plus_one(u.origin), "detail": u.kind, "type": u.price_kind,
        "other": u.settlement_date,
    }  # fmt: skip


def _imbalance(u: e.Imbalance) -> Fields:
    side = None if u.side is None else u.side >> 8 & 3
    return _undated(u) | {"action": _action(u.action), "size": u.size, "side": side}


def _price_band(u: e.PriceBand) -> Fields:
    return _undated(u) | {
        "type": u.type, "low": u.low, "high": u.high, "fine": u.reference_fine,
        "detail": _plus_one(u.limit_type), "origin": _plus_one(u.midpoint),
    }  # fmt: skip


def _quantity_band(u: e.QuantityBand) -> Fields:
    return _undated(u) | {"size": u.largest_order, "other": u.average_daily}


def _stated(u: e.StateChanged | e.PhaseChanged) -> Fields:
    return {
        "detail": u.event, "session": u.session, "trade_date": u.trade_date,
        "inserted_ns": _time(u.ends_ns), "time_ns": _time(u.transact_ns),
    }  # fmt: skip


def _state(u: e.StateChanged) -> Fields:
    return _stated(u) | {"security_id": u.security_id, "type": u.state}


def _phase(u: e.PhaseChanged) -> Fields:
    # Of three characters: an escape has four, so that it cannot be taken for what was sent.
    raw = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), u.group).encode("latin-1")
    return _stated(u) | {"id": int.from_bytes(raw, "little") or NULL, "type": u.phase}


def _definition(u: e.Definition) -> Fields:
    return {"security_id": u.instrument.security_id, "action": _action(u.action)}


def _news(u: NewsPart) -> Fields:
    return {"security_id": u.security_id, "time_ns": _time(u.orig_time_ns)}


def _snapshot(u: SnapshotBegin) -> Fields:
    return {
        "security_id": u.security_id, "price": u.last_number, "other": u.last_sequence_version,
        "size": u.reports, "low": u.bids, "high": u.offers, "position": u.statistics,
    }  # fmt: skip


_MAKERS: Mapping[type, Callable[[Any], tuple[Kind, Fields]]] = {
    kind: lambda u, row_kind=row_kind, make=make: (row_kind, make(u))
    for kind, row_kind, make in (
        (e.OrderUpdate, Kind.ORDER, _order),
        (e.SideDeleted, Kind.SIDE, _side_deleted),
        (e.BookEmptied, Kind.EMPTY_BOOK, _undated),
        (e.ChannelWasReset, Kind.CHANNEL_RESET, lambda u: {"time_ns": _time(u.time_ns)}),
        (e.Trade, Kind.TRADE, _traded),
        (e.TradeBusted, Kind.BUST, _trade_key),
        (e.LastTrade, Kind.LAST_TRADE, _traded),
        (e.ExecutionSummary, Kind.EXECUTION, _execution),
        (e.ExecutionStatistics, Kind.TOTALS, _totals),
        (e.OpeningPrice, Kind.OPENING, _opening),
        (e.TheoreticalPrice, Kind.THEORETICAL, _theoretical),
        (e.ClosingPrice, Kind.CLOSING, _closing),
        (e.HighPrice, Kind.HIGH, _extreme),
        (e.LowPrice, Kind.LOW, _extreme),
        (e.SettlementPrice, Kind.SETTLEMENT, _settlement),
        (e.OpenInterest, Kind.OPEN_INTEREST, lambda u: _dated(u) | {"size": u.size}),
        (e.Imbalance, Kind.IMBALANCE, _imbalance),
        (e.PriceBand, Kind.PRICE_BAND, _price_band),
        (e.QuantityBand, Kind.QUANTITY_BAND, _quantity_band),
        (e.StateChanged, Kind.STATE, _state),
        (e.PhaseChanged, Kind.PHASE, _phase),
        (e.Definition, Kind.DEFINITION, _definition),
        (NewsPart, Kind.NEWS, _news),
        (SequenceTold, Kind.SEQUENCE, lambda u: {"price": u.next_number}),
        (SequenceWasReset, Kind.SEQUENCE_RESET, lambda _: {}),
        (SnapshotBegin, Kind.SNAPSHOT, _snapshot),
        (SnapshotOrder, Kind.SNAPSHOT_ORDER, _placed),
        (NotUnderstood, Kind.OTHER, lambda _: {}),
    )
}
