"""Updates of the model as names and values of messages: every kind, as if for all wire versions.

The obvious twin of `packers`. A field that a version lacks is left out by whoever encodes. The
matchEventIndicator and the rptSeq are added there too: they are not part of what happened.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from pregao.model import events as e
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, Action, Side

Fields = dict[str, object]
Mapped = tuple[str, Fields]  # name of the message, what is in it

ENTRY_TYPE: Final = {Side.BUY: "BID", Side.SELL: "OFFER"}


def decimal(mantissa: int | None, exponent: int = PRICE_EXPONENT) -> Decimal | None:
    return None if mantissa is None else Decimal(mantissa).scaleb(exponent)


def bits(flags: int) -> tuple[int, ...]:
    """The numbers of the bits that are set, as the encoder takes a set."""
    return tuple(bit for bit in range(flags.bit_length()) if flags >> bit & 1)


def _order(update: e.OrderUpdate) -> Mapped:
    fields: Fields = {
        "securityID": update.security_id,
        "mDEntryType": ENTRY_TYPE[update.side],
        "mDEntryPx": decimal(update.price),
        "mDEntrySize": update.size,
        "mDEntryPositionNo": update.position,
        "secondaryOrderID": update.order_id,
        "mDEntryTimestamp": update.transact_ns,
        "transactTime": update.transact_ns,
    }
    if update.action is Action.DELETE:
        return "DeleteOrder_MBO_51", fields
    return "Order_MBO_50", fields | {
        "mDUpdateAction": update.action,
        "enteringFirm": update.firm,
        "mDInsertTimestamp": update.inserted_ns,
        "mDEntryPrevSize": update.previous_size,
    }


def _side_deleted(update: e.SideDeleted) -> Mapped:
    return "MassDeleteOrders_MBO_52", {
        "securityID": update.security_id,
        "mDUpdateAction": update.action,
        "mDEntryType": ENTRY_TYPE[update.side],
        "mDEntryPositionNo": update.position or 1,
        "mDEntryTimestamp": update.transact_ns,
        "transactTime": update.transact_ns,
    }


def _book_emptied(update: e.BookEmptied) -> Mapped:
    return "EmptyBook_9", {"securityID": update.security_id, "mDEntryTimestamp": update.time_ns}


def _channel_reset(update: e.ChannelWasReset) -> Mapped:
    return "ChannelReset_11", {"mDEntryTimestamp": update.time_ns}


def _trade(update: e.Trade) -> Mapped:
    name = "ForwardTrade_54" if update.forward else "Trade_53"
    fields = _traded(update) | {
        "mDEntryTimestamp": update.transact_ns,
        "transactTime": update.transact_ns,
    }
    return name, fields | (_terms(update) if update.forward else {})


def _last_trade(update: e.LastTrade) -> Mapped:
    return "LastTradePrice_27", _traded(update) | _terms(update) | {"mDEntryTimestamp": update.time_ns}


def _traded(update: e.Trade | e.LastTrade) -> Fields:
    return {
        "securityID": update.security_id,
        "tradingSessionID": update.session,
        "tradeCondition": bits(update.condition),
        "mDEntryPx": decimal(update.price),
        "mDEntrySize": update.size,
        "tradeID": update.trade_id,
        "mDEntryBuyer": update.buyer,
        "mDEntrySeller": update.seller,
        "tradeDate": update.trade_date,
        "trdSubType": update.sub_type,
    }


def _terms(update: e.Trade | e.LastTrade) -> Fields:
    """What a forward trade has besides (13.5); zero is the null of both."""
    return {
        "sellerDays": update.seller_days or None,
        "mDEntryInterestRate": decimal(update.interest_rate or None),
    }


def _trade_busted(update: e.TradeBusted) -> Mapped:
    return "TradeBust_57", {
        "securityID": update.security_id,
        "tradingSessionID": update.session,
        "mDEntryPx": decimal(update.price),
        "mDEntrySize": update.size,
        "tradeID": update.trade_id,
        "tradeDate": update.trade_date,
        "mDEntryTimestamp": update.transact_ns,
        "transactTime": update.transact_ns,
    }


def _execution_summary(update: e.ExecutionSummary) -> Mapped:
    return "ExecutionSummary_55", {
        "securityID": update.security_id,
        "aggressorSide": update.aggressor,
        "lastPx": decimal(update.last_price),
        "fillQty": update.fill_size,
        "tradedHiddenQty": update.hidden_size,
        "cxlQty": update.cancelled_size,
        "aggressorTime": update.aggressor_ns,
        "mDEntryTimestamp": update.transact_ns,
        "transactTime": update.transact_ns,
    }


def _execution_statistics(update: e.ExecutionStatistics) -> Mapped:
    return "ExecutionStatistics_56", _statistic(update) | {
        "tradingSessionID": update.session,
        "tradeVolume": update.volume,
        "vwapPx": decimal(update.vwap),
        "netChgPrevDay": decimal(update.net_change_fine, FINE_EXPONENT),
        "numberOfTrades": update.trades,
    }


def _statistic(update: Any) -> Fields:
    return {
        "securityID": update.security_id,
        "tradeDate": update.trade_date,
        "mDEntryTimestamp": update.time_ns,
    }


def _opening(update: e.OpeningPrice) -> Mapped:
    return "OpeningPrice_15", _statistic(update) | {
        "mDUpdateAction": update.action,
        "openCloseSettlFlag": update.origin,
        "mDEntryPx": decimal(update.price),
        "netChgPrevDay": decimal(update.net_change_fine, FINE_EXPONENT),
    }


def _theoretical(update: e.TheoreticalPrice) -> Mapped:
    return "TheoreticalOpeningPrice_16", _statistic(update) | {
        "mDUpdateAction": update.action,
        "mDEntryPx": decimal(update.price),
        "mDEntrySize": update.size,
    }


def _closing(update: e.ClosingPrice) -> Mapped:
    return "ClosingPrice_17", _statistic(update) | {
        "openCloseSettlFlag": update.origin,
        "mDEntryPx": decimal(update.price_fine, FINE_EXPONENT),
        "lastTradeDate": update.last_trade_date,
    }


def _extreme(update: e.HighPrice | e.LowPrice) -> Mapped:
    name = "HighPrice_24" if isinstance(update, e.HighPrice) else "LowPrice_25"
    fields: Fields = {"mDUpdateAction": update.action, "mDEntryPx": decimal(update.price)}
    return name, _statistic(update) | fields


def _settlement(update: e.SettlementPrice) -> Mapped:
    return "SettlementPrice_28", _statistic(update) | {
        "mDEntryPx": decimal(update.price),
        "openCloseSettlFlag": update.origin,
        "priceType": update.price_kind,
        "settlPriceType": update.kind,
        "settlDate": update.settlement_date,
    }


def _open_interest(update: e.OpenInterest) -> Mapped:
    return "OpenInterest_29", _statistic(update) | {"mDEntrySize": update.size}


def _imbalance(update: e.Imbalance) -> Mapped:
    return "AuctionImbalance_19", {
        "securityID": update.security_id,
        "mDUpdateAction": update.action,
        "imbalanceCondition": bits(update.side),
        "mDEntrySize": update.size,
        "mDEntryTimestamp": update.time_ns,
    }


def _price_band(update: e.PriceBand) -> Mapped:
    return "PriceBand_22", {
        "securityID": update.security_id,
        "priceBandType": update.type,
        "priceLimitType": update.limit_type,
        "priceBandMidpointPriceType": update.midpoint,
        "lowLimitPrice": decimal(update.low),
        "highLimitPrice": decimal(update.high),
        "tradingReferencePrice": decimal(update.reference_fine, FINE_EXPONENT),
        "mDEntryTimestamp": update.time_ns,
    }


def _quantity_band(update: e.QuantityBand) -> Mapped:
    return "QuantityBand_21", {
        "securityID": update.security_id,
        "avgDailyTradedQty": update.average_daily,
        "maxTradeVol": update.largest_order,
        "mDEntryTimestamp": update.time_ns,
    }


def _state(update: e.StateChanged) -> Mapped:
    return "SecurityStatus_3", _phase_or_state(update) | {
        "securityID": update.security_id,
        "securityTradingStatus": update.state,
    }


def _phase(update: e.PhaseChanged) -> Mapped:
    return "SecurityGroupPhase_10", _phase_or_state(update) | {
        "securityGroup": update.group,
        "tradingSessionSubID": update.phase,
    }


def _phase_or_state(update: e.StateChanged | e.PhaseChanged) -> Fields:
    return {
        "tradingSessionID": update.session,
        "securityTradingEvent": update.event,
        "tradeDate": update.trade_date,
        "tradSesOpenTime": update.ends_ns or None,  # 0 is its null: no end time (15)
        "transactTime": update.transact_ns,
    }


# News and Definition are not one message each: see `news` and `listings`. IndexValue is not sent.
MAPPERS: Final[Mapping[type, Callable[[Any], Mapped]]] = {
    e.OrderUpdate: _order,
    e.SideDeleted: _side_deleted,
    e.BookEmptied: _book_emptied,
    e.ChannelWasReset: _channel_reset,
    e.Trade: _trade,
    e.TradeBusted: _trade_busted,
    e.ExecutionSummary: _execution_summary,
    e.ExecutionStatistics: _execution_statistics,
    e.OpeningPrice: _opening,
    e.TheoreticalPrice: _theoretical,
    e.ClosingPrice: _closing,
    e.HighPrice: _extreme,
    e.LowPrice: _extreme,
    e.LastTrade: _last_trade,
    e.SettlementPrice: _settlement,
    e.OpenInterest: _open_interest,
    e.Imbalance: _imbalance,
    e.PriceBand: _price_band,
    e.QuantityBand: _quantity_band,
    e.StateChanged: _state,
    e.PhaseChanged: _phase,
}
