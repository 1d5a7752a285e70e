"""Messages about orders, books and trades (6.5.12, 6.5.13, 12, 13.1, 13.3 to 13.6)."""

from collections.abc import Iterator
from typing import Any

from pregao.feeds.binary.reading import words as w
from pregao.feeds.binary.reading.values import (
    SequenceTold,
    SequenceWasReset,
    SnapshotBegin,
    SnapshotOrder,
    Values,
)
from pregao.model import events as e
from pregao.model.market import Action, TradeCondition
from pregao.model.rows import Flag

# Messages about the stream itself, and the parts of a snapshot (6.5.10, 6.5.11, 7).


def sequence(v: Values) -> SequenceTold:
    return SequenceTold(v.need("next_number", v.get("nextSeqNo")))


def sequence_reset(_: Values) -> SequenceWasReset:
    return SequenceWasReset()


def snapshot_begin(v: Values) -> SnapshotBegin:
    return SnapshotBegin(
        security_id=v.need("security_id", v.get("securityID")),
        last_number=v.need("last_number", v.get("lastMsgSeqNumProcessed")),
        reports=v.need("reports", v.get("totNumReports")),
        bids=v.need("bids", v.get("totNumBids")),
        offers=v.need("offers", v.get("totNumOffers")),
        statistics=v.need("statistics", v.get("totNumStats")),
        last_rpt_seq=v.get("lastRptSeq"),
        last_sequence_version=v.get("lastSequenceVersion"),
    )


def snapshot_orders(v: Values) -> Iterator[SnapshotOrder]:
    security_id = v.need("security_id", v.get("securityID"))
    for entry in v.entries("noMDEntries"):
        yield SnapshotOrder(
            security_id=security_id,
            side=entry.need("side", entry.word("mDEntryType", w.ENTRY_SIDES)),
            order_id=entry.need("order_id", entry.get("secondaryOrderID")),
            price=entry.price("mDEntryPx"),
            size=entry.need("size", entry.get("mDEntrySize")),
            position=entry.number("mDEntryPositionNo"),
            inserted_ns=entry.time("mDInsertTimestamp"),
            firm=entry.get("enteringFirm"),
            implied=Flag.IMPLIED in entry.flags(),
        )


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
