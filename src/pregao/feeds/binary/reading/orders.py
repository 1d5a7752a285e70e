"""Messages about orders, books and trades (6.5.12, 6.5.13, 12, 13.1, 13.3 to 13.6)."""

from typing import Any

from pregao.feeds.binary.reading import words as w
from pregao.feeds.binary.reading.values import Values
from pregao.model import events as e
from pregao.model.market import Action, TradeCondition
from pregao.model.rows import Flag

# 9: transactTime took the place of mDEntryTimestamp in version 15.
TRANSACTED = ("transactTime", "mDEntryTimestamp")


def order(v: Values) -> e.OrderUpdate:
    return _order(
        v,
        v.need("action", v.word("mDUpdateAction", w.ACTIONS)),
        inserted_ns=v.time("mDInsertTimestamp"),
        previous_size=v.get("mDEntryPrevSize"),
        firm=v.get("enteringFirm"),
    )


def delete(v: Values) -> e.OrderUpdate:
    """Below version 15 without a price, and perhaps without a size."""
    return _order(v, Action.DELETE, inserted_ns=0)


def _order(v: Values, action: Any, **more: Any) -> e.OrderUpdate:
    flags = v.flags()
    return e.OrderUpdate(
        security_id=v.need("security_id", v.get("securityID")),
        action=action,
        side=v.need("side", v.word("mDEntryType", w.ENTRY_SIDES)),
        order_id=v.need("order_id", v.get("secondaryOrderID")),
        price=v.price("mDEntryPx"),
        size=v.need("size", v.get("mDEntrySize")),
        position=v.number("mDEntryPositionNo"),
        transact_ns=v.time(*TRANSACTED),
        implied=Flag.IMPLIED in flags,
        recovery=Flag.RECOVERY in flags,
        **more,
    )


def mass_delete(v: Values) -> e.SideDeleted:
    return e.SideDeleted(
        security_id=v.need("security_id", v.get("securityID")),
        action=v.need("action", v.word("mDUpdateAction", w.ACTIONS)),
        side=v.need("side", v.word("mDEntryType", w.ENTRY_SIDES)),
        transact_ns=v.time(*TRANSACTED),
        position=v.get("mDEntryPositionNo"),
    )


def empty_book(v: Values) -> e.BookEmptied:
    return e.BookEmptied(v.need("security_id", v.get("securityID")), v.time("mDEntryTimestamp"))


def trade(v: Values) -> e.Trade:
    return e.Trade(transact_ns=v.time(*TRANSACTED), **_traded(v))


def forward_trade(v: Values) -> e.Trade:
    return e.Trade(transact_ns=v.time(*TRANSACTED), forward=True, **_traded(v), **_terms(v))


def last_trade(v: Values) -> e.LastTrade:
    return e.LastTrade(time_ns=v.time("mDEntryTimestamp"), **_traded(v), **_terms(v))


def _traded(v: Values) -> dict[str, Any]:
    condition = v.need("condition", v.choices("tradeCondition", w.CONDITIONS))
    return _trade_key(v) | {
        "condition": None if condition is None else TradeCondition(condition),
        "sub_type": v.word("trdSubType", w.SUB_TYPES),
        "buyer": v.get("mDEntryBuyer"),
        "seller": v.get("mDEntrySeller"),
    }


def _trade_key(v: Values) -> dict[str, Any]:
    return {
        "security_id": v.need("security_id", v.get("securityID")),
        "trade_id": v.need("trade_id", v.get("tradeID")),
        "price": v.need("price", v.price("mDEntryPx")),
        "size": v.need("size", v.get("mDEntrySize")),
        "trade_date": v.number("tradeDate"),
        "session": v.need("session", v.word("tradingSessionID", w.SESSIONS)),
        "implied": Flag.IMPLIED in v.flags(),
    }


def _terms(v: Values) -> dict[str, Any]:
    """What a forward trade has besides (13.5)."""
    return {"seller_days": v.get("sellerDays"), "interest_rate": v.price("mDEntryInterestRate")}


def trade_bust(v: Values) -> e.TradeBusted:
    return e.TradeBusted(transact_ns=v.time(*TRANSACTED), **_trade_key(v))


def execution_summary(v: Values) -> e.ExecutionSummary:
    return e.ExecutionSummary(
        security_id=v.need("security_id", v.get("securityID")),
        aggressor=v.need("aggressor", v.word("aggressorSide", w.AGGRESSORS)),
        last_price=v.need("last_price", v.price("lastPx")),
        fill_size=v.need("fill_size", v.get("fillQty")),
        hidden_size=v.get("tradedHiddenQty"),
        cancelled_size=v.get("cxlQty"),
        aggressor_ns=v.time("aggressorTime"),
        transact_ns=v.time(*TRANSACTED),
    )
