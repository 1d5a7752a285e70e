"""Events of the library from the rows of the stream.

A row's fields are unpacked in one call, from the bytes of the row: reading them one by one from an array of
NumPy takes twenty times as long as making the event. Busy kinds have an unpacker of just their fields.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, cast

from pregao.books import layout as t
from pregao.books.row_updates import RowFields, row_at, wide
from pregao.books.views import Level
from pregao.market import events as e
from pregao.market import order_events as o
from pregao.market import statistic_events as s
from pregao.market.row_values import (
    ACTIONS,
    AGGRESSORS,
    BANDS,
    IMBALANCES,
    LIMITS,
    MIDPOINTS,
    ORIGINS,
    PHASES,
    PRICE_KINDS,
    SESSIONS,
    SETTLEMENT_KINDS,
    SIDES,
    STATE_EVENTS,
    STATES,
    SUB_TYPES,
    Bytes,
    condition_of,
    unpacker,
)
from pregao.model import market as m
from pregao.model.instruments import group_name
from pregao.model.rows import NULL, Flag, Kind
from pregao.recovery.instruments import BookStatus

_IMPLIED, _RECOVERY, _FORWARD = int(Flag.IMPLIED), int(Flag.RECOVERY), int(Flag.FORWARD)


class Symbols(dict[int, str]):
    """Of one channel by securityID, which stands for itself where no definition was heard."""

    def __missing__(self, security_id: int) -> str:
        return str(security_id)


class Scene:
    """Whose rows they are. `now_ns` is when they came."""

    __slots__ = ("channel", "now_ns", "symbols")

    def __init__(self, channel: int, symbols: Symbols, now_ns: int = 0) -> None:
        self.channel, self.symbols, self.now_ns = channel, symbols, now_ns

    def time(self, time_ns: int) -> int:
        return self.now_ns if time_ns == NULL else time_ns


# Orders

_ORDER: Final = unpacker(
    "action", "side", "flags", "security_id", "id", "price", "size", "other", "time_ns", "inserted_ns",
    "firm", "position", "at",
)  # fmt: skip
_NEW, _CHANGE, _DELETE = int(m.Action.NEW), int(m.Action.CHANGE), int(m.Action.DELETE)


def order(scene: Scene, data: Bytes, offset: int) -> o.OrderAdded | o.OrderChanged | o.OrderDeleted | None:
    """None: of an action that no order can have."""
    (
        action, side, flags, security_id, order_id, price, size, before, time_ns, inserted_ns, firm, position,
        at,
    ) = _ORDER(data, offset)  # fmt: skip
    symbol, implied, recovery = scene.symbols[security_id], flags & _IMPLIED != 0, flags & _RECOVERY != 0
    if time_ns == NULL:
        time_ns = scene.now_ns
    limit = None if price == NULL else price
    if action == _NEW:
        return o.OrderAdded(
            scene.channel, symbol, time_ns, at, security_id, SIDES[side], order_id, limit, size,
            None if inserted_ns == NULL else inserted_ns, position or None, firm or None, implied, recovery,
        )  # fmt: skip
    if action == _CHANGE:
        return o.OrderChanged(
            scene.channel, symbol, time_ns, at, security_id, SIDES[side], order_id, limit, size,
            None if before == NULL else before, None if inserted_ns == NULL else inserted_ns,
            position or None, firm or None, implied, recovery,
        )  # fmt: skip
    if action == _DELETE:
        return o.OrderDeleted(
            scene.channel, symbol, time_ns, at, security_id, SIDES[side], order_id, limit,
            None if size == NULL else size, position or None, implied, recovery,
        )  # fmt: skip
    return None


def _level(scene: Scene, data: Bytes, offset: int) -> o.LevelChanged:
    r = row_at(data, offset)
    return o.LevelChanged(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id,
        ACTIONS[r.action], SIDES[r.side], r.position or None, wide(r.price), wide(r.size), r.firm or None,
        r.flags & _RECOVERY != 0,
    )  # fmt: skip


def _side(scene: Scene, data: Bytes, offset: int) -> o.SideDeleted:
    r = row_at(data, offset)
    return o.SideDeleted(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id,
        ACTIONS[r.action], SIDES[r.side], r.position or None,
    )  # fmt: skip


def _emptied(scene: Scene, data: Bytes, offset: int) -> o.BookEmptied:
    r = row_at(data, offset)
    return o.BookEmptied(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id
    )


def _execution(scene: Scene, data: Bytes, offset: int) -> o.ExecutionSummary:
    r = row_at(data, offset)
    return o.ExecutionSummary(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id,
        AGGRESSORS[r.side], wide(r.price), wide(r.size), wide(r.low), wide(r.high), wide(r.other),
    )  # fmt: skip


# Trades

_TRADE: Final = unpacker(
    "flags", "security_id", "id", "price", "size", "other", "time_ns", "firm", "position", "trade_date",
    "condition", "session", "detail", "at", "low",
)  # fmt: skip


def trade(scene: Scene, data: Bytes, offset: int) -> e.Trade:
    (
        flags, security_id, trade_id, price, size, rate, time_ns, buyer, seller, trade_date, condition,
        session, sub_type, at, days,
    ) = _TRADE(data, offset)  # fmt: skip
    return e.Trade(
        scene.channel, scene.symbols[security_id], scene.now_ns if time_ns == NULL else time_ns, at,
        security_id, trade_id, None if price == NULL else price, size, trade_date or None,
        SESSIONS[session], condition_of(condition),
        SUB_TYPES[sub_type], buyer or None, seller or None, flags & _IMPLIED != 0, flags & _FORWARD != 0,
        None if days == NULL else days, None if rate == NULL else rate,
    )  # fmt: skip


def bust(scene: Scene, data: Bytes, offset: int) -> e.TradeBusted:
    r = row_at(data, offset)
    return e.TradeBusted(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id, r.id,
        r.price, r.size, r.trade_date or None, SESSIONS[r.session], r.flags & _IMPLIED != 0,
    )  # fmt: skip


# States


def _state(scene: Scene, data: Bytes, offset: int) -> e.StateChanged:
    r = row_at(data, offset)
    return e.StateChanged(
        scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id,
        SESSIONS[r.session], STATES[r.type], STATE_EVENTS[r.detail], r.trade_date or None,
        wide(r.inserted_ns),
    )  # fmt: skip


def _phase(scene: Scene, data: Bytes, offset: int) -> e.PhaseChanged:
    r = row_at(data, offset)
    return e.PhaseChanged(
        scene.channel, None, scene.time(r.time_ns), r.at, group_name(r.id), m.EXCHANGE, SESSIONS[r.session],
        PHASES[r.type], STATE_EVENTS[r.detail], r.trade_date or None, wide(r.inserted_ns),
    )  # fmt: skip


# Statistics: what all of them begin with, then what is their own


def _own(kind: int, r: RowFields) -> tuple[type[Any], tuple[Any, ...]]:
    date = r.trade_date or None
    action = ACTIONS[r.action]
    match kind:
        case Kind.OPENING:
            return s.OpeningPrice, (wide(r.price), wide(r.fine), date, ORIGINS[r.origin], action)
        case Kind.THEORETICAL:
            return s.TheoreticalPrice, (wide(r.price), wide(r.size), date, action)
        case Kind.CLOSING:
            return s.ClosingPrice, (wide(r.fine), date, ORIGINS[r.origin], wide(r.other))
        case Kind.HIGH:
            return s.HighPrice, (wide(r.price), date, action)
        case Kind.LOW:
            return s.LowPrice, (wide(r.price), date, action)
        case Kind.LAST_TRADE:
            return s.LastTrade, (
                wide(r.id), wide(r.price), wide(r.size), date, SESSIONS[r.session], condition_of(r.condition),
                SUB_TYPES[r.detail], r.firm or None, r.position or None, r.flags & _IMPLIED != 0,
                wide(r.low), wide(r.other),
            )  # fmt: skip
        case Kind.TOTALS:
            figures = (wide(r.size), wide(r.price), wide(r.fine), wide(r.other))
            return s.ExecutionStatistics, (SESSIONS[r.session], date, *figures)
        case Kind.SETTLEMENT:
            kinds = (ORIGINS[r.origin], SETTLEMENT_KINDS[r.detail], PRICE_KINDS[r.type])
            return s.SettlementPrice, (wide(r.price), date, *kinds, wide(r.other))
        case Kind.OPEN_INTEREST:
            return s.OpenInterest, (wide(r.size), date)
        case Kind.IMBALANCE:
            return s.Imbalance, (IMBALANCES[r.side & 3], wide(r.size), action)
        case Kind.VWAP:
            return s.VwapPrice, (wide(r.price), date, action)
        case Kind.INDEX:
            return s.IndexValue, (wide(r.price), wide(r.other), wide(r.fine), action)
        case Kind.COMPOSITE:
            return s.CompositePrice, (wide(r.other), wide(r.low))
        case Kind.COMPOSITE_PART:
            kind_of_price = r.type - 1 if r.type else None
            return s.CompositePart, (wide(r.other), wide(r.id), wide(r.price), kind_of_price)
        case Kind.VOLATILITY:
            return s.VolatilityPrice, (wide(r.low), wide(r.high), wide(r.fine), date, action)
        case Kind.PRICE_BAND:
            limits = (LIMITS[r.detail], wide(r.low), wide(r.high), MIDPOINTS[r.origin], wide(r.fine))
            return s.PriceBand, (BANDS[r.type], *limits)
        case _:
            return s.QuantityBand, (wide(r.other), wide(r.size))


def _statistic(scene: Scene, data: Bytes, offset: int) -> s.Statistic:
    r = row_at(data, offset)
    kind, own = _own(r.kind, r)
    head = (scene.channel, scene.symbols[r.security_id], scene.time(r.time_ns), r.at, r.security_id)
    return cast(s.Statistic, kind(*head, *own))


RowEvent = (
    o.OrderAdded | o.OrderChanged | o.OrderDeleted | o.LevelChanged | o.SideDeleted | o.BookEmptied
    | o.ExecutionSummary
    | e.Trade | e.TradeBusted | e.StateChanged | e.PhaseChanged | s.Statistic
)  # fmt: skip
Make = Callable[[Scene, Bytes, int], RowEvent | None]

ALWAYS: Final = (Kind.TRADE, Kind.BUST, Kind.STATE, Kind.PHASE)
ORDERS: Final = (Kind.ORDER, Kind.LEVEL, Kind.SIDE, Kind.EMPTY_BOOK, Kind.EXECUTION)
STATISTICS: Final = (
    Kind.OPENING, Kind.THEORETICAL, Kind.CLOSING, Kind.HIGH, Kind.LOW, Kind.LAST_TRADE, Kind.TOTALS,
    Kind.SETTLEMENT, Kind.OPEN_INTEREST, Kind.IMBALANCE, Kind.PRICE_BAND, Kind.QUANTITY_BAND, Kind.VWAP,
    Kind.INDEX, Kind.COMPOSITE, Kind.COMPOSITE_PART, Kind.VOLATILITY,
)  # fmt: skip
MAKERS: Final[dict[int, Make]] = {
    Kind.ORDER: order, Kind.LEVEL: _level, Kind.SIDE: _side, Kind.EMPTY_BOOK: _emptied,
    Kind.EXECUTION: _execution, Kind.TRADE: trade, Kind.BUST: bust, Kind.STATE: _state, Kind.PHASE: _phase,
} | dict.fromkeys(STATISTICS, _statistic)  # fmt: skip


# Quotes and depths

_QUOTE: Final = struct.Struct("<3q8xHHI6q").unpack_from
_DEPTH_HEAD: Final = struct.Struct("<3q8xHHI").unpack_from


def quote(scene: Scene, data: Bytes, offset: int, status: BookStatus, stream: str = "E") -> e.Quote:
    security_id, at, time_ns, _, _, _, price, size, orders, price_2, size_2, orders_2 = _QUOTE(data, offset)
    return e.Quote(
        scene.channel, scene.symbols[security_id], scene.now_ns if time_ns == NULL else time_ns, at,
        security_id, Level(None if price == NULL else price, size, orders) if orders else None,
        Level(None if price_2 == NULL else price_2, size_2, orders_2) if orders_2 else None, status, stream,
    )  # fmt: skip


def depth(
    scene: Scene, data: Bytes, offset: int, levels: int, status: BookStatus, stream: str = "E"
) -> e.Depth:
    security_id, at, time_ns, _, _, _ = _DEPTH_HEAD(data, offset)
    words = struct.unpack_from(f"<{6 * levels}q", data, offset + t.DEPTH_BIDS)
    return e.Depth(
        scene.channel, scene.symbols[security_id], scene.time(time_ns), at, security_id,
        _levels(words[: 3 * levels]), _levels(words[3 * levels :]), status, stream,
    )  # fmt: skip


def _levels(words: tuple[int, ...]) -> tuple[Level, ...]:
    return tuple(
        Level(None if price == NULL else price, size, orders)
        for price, size, orders in zip(words[::3], words[1::3], words[2::3], strict=True)
        if orders
    )
