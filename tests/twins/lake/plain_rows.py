"""One message at a time to rows of tables: the slow, obvious twin of `lake.tasks`, written from the columns'
meanings and the model's events."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from pregao.feeds.binary.reading.values import TranslatedMessage
from pregao.model import events as e
from pregao.model.market import Action, LimitType, TradeCondition
from pregao.model.rows import Flag

Row = dict[str, Any]
Table = tuple[str, list[Row]]


def price(mantissa: int | None, places: int = 4) -> Decimal | None:
    return None if mantissa is None else Decimal(mantissa).scaleb(-places)


def fine(mantissa: int | None) -> Decimal | None:
    return price(mantissa, 8)


def from_coarse(mantissa: int | None) -> Decimal | None:
    """A price of four places in a column of eight."""
    return None if mantissa is None else fine(mantissa * 10_000)


def day(days: int | None) -> date | None:
    return date(1970, 1, 1) + timedelta(days=days) if days else None


def name(member: Any) -> str | None:
    return None if member is None else str(member.name)


def rows_of(told: TranslatedMessage) -> Table | None:
    """The table, and the columns that are its own; None where a message tells no row."""
    make = _MAKERS.get(type(told.update))
    return None if make is None else make(told.update, told)


def time_of(told: TranslatedMessage) -> tuple[int, str]:
    """When it happened, and whose time that is; 0: it does not say (9)."""
    update = told.update
    if isinstance(update, (e.StateChanged, e.PhaseChanged)):
        return update.transact_ns, "TRANSACT"
    if isinstance(update, (e.OrderUpdate, e.SideDeleted, e.Trade, e.TradeBusted, e.ExecutionSummary)):
        return update.transact_ns, "TRANSACT" if told.version >= 15 else "ENTRY"
    return getattr(update, "time_ns", 0), "ENTRY"


# What only systems with streams (MDStreamID) tell of orders and trades.
_NO_LENDING: Row = dict.fromkeys(
    ("md_stream", "expire_date", "early_termination", "cert_indicator", "contract_info")
)


def _ends(told: TranslatedMessage) -> Row:
    return _NO_LENDING | {
        "recovery": Flag.RECOVERY in told.flags, "end_of_event": Flag.END_OF_EVENT in told.flags,
        "wire_version": told.version,
    }  # fmt: skip


# Orders

_NO_ORDER: Row = dict.fromkeys(
    ("side", "order_id", "price", "size", "previous_size", "position", "firm", "ts_inserted")
)


def _order(update: e.OrderUpdate, told: TranslatedMessage) -> Table:
    action = "ADD" if update.action is Action.NEW else update.action.name
    row = {
        "action": action, "side": update.side.name, "order_id": update.order_id, "price": price(update.price),
        "size": update.size, "previous_size": update.previous_size, "position": update.position or None,
        "firm": update.firm, "ts_inserted": update.inserted_ns or None, "implied": update.implied,
    }  # fmt: skip
    return "orders", [row | _ends(told)]


def _side(update: e.SideDeleted, told: TranslatedMessage) -> Table:
    row = {"action": update.action.name, "side": update.side.name, "position": update.position or None}
    return "orders", [_NO_ORDER | row | {"implied": Flag.IMPLIED in told.flags} | _ends(told)]


def _emptied(update: e.BookEmptied | e.ChannelWasReset, told: TranslatedMessage) -> Table:
    action = "EMPTY" if isinstance(update, e.BookEmptied) else "RESET"
    return "orders", [_NO_ORDER | {"action": action, "implied": Flag.IMPLIED in told.flags} | _ends(told)]


# Trades


def _trade(update: e.Trade, told: TranslatedMessage) -> Table:
    conditions = [one.name for one in TradeCondition if one and one in update.condition]
    row = _traded(update) | {
        "action": "TRADE", "condition": int(update.condition), "conditions": "|".join(map(str, conditions)),
        "sub_type": name(update.sub_type), "buyer": update.buyer, "seller": update.seller,
        "forward": update.forward, "seller_days": update.seller_days,
        "interest_rate": price(update.interest_rate),
    }  # fmt: skip
    return "trades", [row | _ends(told) | {"grace_date": None}]


def _bust(update: e.TradeBusted, told: TranslatedMessage) -> Table:
    none = dict.fromkeys(
        (
            "condition",
            "conditions",
            "sub_type",
            "buyer",
            "seller",
            "seller_days",
            "interest_rate",
            "grace_date",
        )
    )
    return "trades", [none | _traded(update) | {"action": "BUST", "forward": False} | _ends(told)]


def _traded(update: e.Trade | e.TradeBusted) -> Row:
    return {
        "trade_id": update.trade_id, "price": price(update.price), "size": update.size,
        "of_date": day(update.trade_date), "session": name(update.session), "implied": update.implied,
    }  # fmt: skip


def _execution(update: e.ExecutionSummary, _: TranslatedMessage) -> Table:
    """What it counts is known when its event has ended."""
    row = {
        "aggressor": name(update.aggressor), "last_price": price(update.last_price),
        "fill_size": update.fill_size, "hidden_size": update.hidden_size,
        "cancelled_size": update.cancelled_size, "ts_aggressor": update.aggressor_ns or None,
        "trades": 0, "book_changes": 0,
    }  # fmt: skip
    return "executions", [row]


# Statistics

_NO_STATISTIC: Row = dict.fromkeys(
    (
        "action", "of_date", "price", "size", "net_change", "session", "origin", "settlement_kind",
        "price_kind", "settlement_date", "last_trade_date", "trade_id", "condition", "sub_type", "buyer",
        "seller", "md_stream",
    )
)  # fmt: skip


def _statistic(kind: str, columns: Callable[[Any], Row]) -> Callable[[Any, TranslatedMessage], Table]:
    def make(update: Any, told: TranslatedMessage) -> Table:
        row = {"kind": kind, "of_date": day(update.trade_date), "recovery": Flag.RECOVERY in told.flags}
        return "statistics", [_NO_STATISTIC | row | columns(update)]

    return make


def _totals(update: e.ExecutionStatistics, told: TranslatedMessage) -> Table:
    """Three figures in one message: a row each."""
    common = _NO_STATISTIC | {
        "of_date": day(update.trade_date), "session": name(update.session),
        "recovery": Flag.RECOVERY in told.flags,
    }  # fmt: skip
    vwap = {"kind": "VWAP", "price": from_coarse(update.vwap), "net_change": fine(update.net_change_fine)}
    return "statistics", [
        common | vwap, common | {"kind": "VOLUME", "size": update.volume},
        common | {"kind": "TRADES", "size": update.trades},
    ]  # fmt: skip


def _priced(update: Any) -> Row:
    return {"action": name(update.action), "price": from_coarse(update.price)}


# Bands, imbalances, states


def _price_band(update: e.PriceBand, _: TranslatedMessage) -> Table:
    row: Row = {
        "band": name(update.type) or "REFERENCE", "limit_type": name(update.limit_type),
        "midpoint": name(update.midpoint), "reference_price": fine(update.reference_fine),
        "largest_order": None, "average_daily": None,
    }  # fmt: skip
    meant = {LimitType.TICKS: "ticks", LimitType.PERCENTAGE: "percent"}.get(update.limit_type, "price")  # type: ignore[call-overload]
    for unit in ("price", "percent", "ticks"):
        row[f"low_{unit}"] = price(update.low) if unit == meant else None
        row[f"high_{unit}"] = price(update.high) if unit == meant else None
    return "bands", [row]


def _quantity_band(update: e.QuantityBand, _: TranslatedMessage) -> Table:
    none = dict.fromkeys(
        (
            "limit_type", "midpoint", "reference_price", "low_price", "high_price", "low_percent",
            "high_percent", "low_ticks", "high_ticks",
        )
    )  # fmt: skip
    row = {"largest_order": update.largest_order, "average_daily": update.average_daily}
    return "bands", [none | {"band": "QUANTITY"} | row]


def _imbalance(update: e.Imbalance, _: TranslatedMessage) -> Table:
    return "imbalances", [
        {"action": name(update.action), "side": name(update.side), "size": update.size}
    ]  # fmt: skip


def _state(update: e.StateChanged | e.PhaseChanged, _: TranslatedMessage) -> Table:
    group = update.group if isinstance(update, e.PhaseChanged) else None
    told = update.phase if isinstance(update, e.PhaseChanged) else update.followed or update.state
    row = {
        "scope": "GROUP" if isinstance(update, e.PhaseChanged) else "INSTRUMENT", "security_group": group,
        "exchange": None if group else "BVMF", "state": name(told), "event": name(update.event),
        "session": name(update.session),
        "of_date": day(update.trade_date), "ts_ends": update.ends_ns or None,
    }  # fmt: skip
    return "states", [row]


_MAKERS: dict[type, Callable[[Any, TranslatedMessage], Table]] = {
    e.OrderUpdate: _order, e.SideDeleted: _side, e.BookEmptied: _emptied, e.ChannelWasReset: _emptied,
    e.Trade: _trade, e.TradeBusted: _bust, e.ExecutionSummary: _execution, e.ExecutionStatistics: _totals,
    e.OpeningPrice: _statistic(
        "OPENING",
        lambda u: _priced(u) | {"net_change": fine(u.net_change_fine), "origin": name(u.origin)},
    ),
    e.TheoreticalPrice: _statistic("THEORETICAL", lambda u: _priced(u) | {"size": u.size}),
    e.ClosingPrice: _statistic(
        "CLOSING",
        lambda u: {
            "price": fine(u.price_fine), "origin": name(u.origin), "last_trade_date": day(u.last_trade_date)
        },
    ),
    e.HighPrice: _statistic("HIGH", _priced),
    e.LowPrice: _statistic("LOW", _priced),
    e.LastTrade: _statistic(
        "LAST_TRADE",
        lambda u: {
            "price": from_coarse(u.price), "size": u.size, "session": name(u.session),
            "trade_id": u.trade_id, "condition": int(u.condition), "sub_type": name(u.sub_type),
            "buyer": u.buyer, "seller": u.seller,
        },
    ),
    e.SettlementPrice: _statistic(
        "SETTLEMENT",
        lambda u: {
            "price": from_coarse(u.price), "origin": name(u.origin), "settlement_kind": name(u.kind),
            "price_kind": name(u.price_kind), "settlement_date": day(u.settlement_date),
        },
    ),
    e.OpenInterest: _statistic("OPEN_INTEREST", lambda u: {"size": u.size}),
    e.PriceBand: _price_band, e.QuantityBand: _quantity_band, e.Imbalance: _imbalance,
    e.StateChanged: _state, e.PhaseChanged: _state,
}  # fmt: skip
