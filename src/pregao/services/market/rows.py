"""Rows of the incremental stream that people want to hear of, as objects of the model."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, TypeVar, cast

from pregao.books.row_updates import Row, statistic_of
from pregao.books.views import Level
from pregao.feeds.binary.handler.groups import group_name
from pregao.model.events import PhaseChanged, StateChanged, Trade, TradeBusted
from pregao.model.market import Phase, Session, StateEvent, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind
from pregao.services.market.changes import Quote
from pregao.services.market.statistic_texts import Statistic

_E = TypeVar("_E", bound=IntEnum)
_EXCHANGE: Final = "BVMF"  # a constant of the message


def _member(kind: type[_E], value: int) -> _E:
    """A value that nobody has a name for stays a number."""
    try:
        return kind(value)
    except ValueError:
        return cast(_E, value)


def trade_of(row: Any) -> Trade:
    told = Row(row)
    return Trade(
        told.security_id, told.id, told.price, told.size, told.trade_date, _member(Session, told.session),
        TradeCondition(told.condition), told.time_ns,
        _member(TradeSubType, told.sub_type) if told.sub_type else None, told.firm or None,
        told.position or None, bool(told.flags & Flag.IMPLIED), bool(told.flags & Flag.FORWARD),
        told.days or None, told.wide("other"),
    )  # fmt: skip


def bust_of(row: Any) -> TradeBusted:
    told = Row(row)
    return TradeBusted(
        told.security_id, told.id, told.price, told.size, told.trade_date, _member(Session, told.session),
        told.time_ns, bool(told.flags & Flag.IMPLIED),
    )  # fmt: skip


def state_of(row: Any) -> StateChanged:
    return cast(StateChanged, statistic_of(row))


def phase_of(row: Any) -> PhaseChanged:
    told = Row(row)
    return PhaseChanged(
        group_name(told.id), _EXCHANGE, _member(Session, told.session), _member(Phase, told.type),
        _member(StateEvent, told.detail) if told.detail else None, told.trade_date, told.time_ns,
        told.wide("inserted_ns"),
    )  # fmt: skip


MAKERS: Final[dict[int, Callable[[Any], Trade | TradeBusted | StateChanged | PhaseChanged]]] = {
    Kind.TRADE: trade_of, Kind.BUST: bust_of, Kind.STATE: state_of, Kind.PHASE: phase_of,
}  # fmt: skip


STATISTICS: Final = (
    Kind.OPENING, Kind.THEORETICAL, Kind.CLOSING, Kind.HIGH, Kind.LOW, Kind.LAST_TRADE, Kind.TOTALS,
    Kind.SETTLEMENT, Kind.OPEN_INTEREST, Kind.IMBALANCE, Kind.PRICE_BAND, Kind.QUANTITY_BAND,
)  # fmt: skip


def statistic_told(row: Any) -> Statistic:
    """Of a row of one of these kinds."""
    return cast(Statistic, statistic_of(row))


def quote_of(told: Any) -> Quote:
    """Of a quote that a store has told; not yet how far it is to be believed."""
    return Quote(int(told["security_id"]), _level(told, "bid"), _level(told, "offer"), int(told["time_ns"]))


def _level(told: Any, side: str) -> Level | None:
    price, size, orders = (int(told[f"{side}_{name}"]) for name in ("price", "size", "orders"))
    return Level(None if price == NULL else price, size, orders) if orders else None
