"""Messages with statistics, bands, states and phases (13.2, 13.7 to 13.11, 14)."""

from typing import Any

from pregao.feeds.binary.reading import words as w
from pregao.feeds.binary.reading.values import Values
from pregao.model import events as e
from pregao.model.market import EXCHANGE, ImbalanceSide

# SecurityGroupPhase does not say the exchange: they are all B3's.


def _key(v: Values) -> dict[str, Any]:
    return {
        "security_id": v.need("security_id", v.get("securityID")),
        "time_ns": v.time("mDEntryTimestamp"),
    }


def _dated(v: Values) -> dict[str, Any]:
    return _key(v) | {"trade_date": v.number("tradeDate")}


def _action(v: Values) -> Any:
    return v.need("action", v.word("mDUpdateAction", w.ACTIONS))


def execution_statistics(v: Values) -> e.ExecutionStatistics:
    return e.ExecutionStatistics(
        session=v.need("session", v.word("tradingSessionID", w.SESSIONS)),
        volume=v.need("volume", v.get("tradeVolume")),
        vwap=v.price("vwapPx"),
        net_change_fine=v.fine("netChgPrevDay"),
        trades=v.need("trades", v.get("numberOfTrades")),
        **_dated(v),
    )


def opening_price(v: Values) -> e.OpeningPrice:
    return e.OpeningPrice(
        price=v.need("price", v.price("mDEntryPx")),
        net_change_fine=v.fine("netChgPrevDay"),
        origin=v.need("origin", v.word("openCloseSettlFlag", w.ORIGINS)),
        action=_action(v),
        **_dated(v),
    )


def theoretical_price(v: Values) -> e.TheoreticalPrice:
    return e.TheoreticalPrice(
        price=v.price("mDEntryPx"), size=v.get("mDEntrySize"), action=_action(v), **_dated(v)
    )


def closing_price(v: Values) -> e.ClosingPrice:
    return e.ClosingPrice(
        price_fine=v.need("price_fine", v.fine("mDEntryPx")),
        origin=v.need("origin", v.word("openCloseSettlFlag", w.ORIGINS)),
        last_trade_date=v.get("lastTradeDate"),
        **_dated(v),
    )


def high_price(v: Values) -> e.HighPrice:
    return e.HighPrice(price=v.need("price", v.price("mDEntryPx")), action=_action(v), **_dated(v))


def low_price(v: Values) -> e.LowPrice:
    return e.LowPrice(price=v.need("price", v.price("mDEntryPx")), action=_action(v), **_dated(v))


def settlement_price(v: Values) -> e.SettlementPrice:
    """The origin may be null from version 17 on, which has the settlement date."""
    return e.SettlementPrice(
        price=v.need("price", v.price("mDEntryPx")),
        origin=v.word("openCloseSettlFlag", w.ORIGINS),
        kind=v.need("kind", v.word("settlPriceType", w.SETTLEMENT_KINDS)),
        price_kind=v.need("price_kind", v.word("priceType", w.PRICE_KINDS)),
        settlement_date=v.get("settlDate"),
        **_dated(v),
    )


def open_interest(v: Values) -> e.OpenInterest:
    return e.OpenInterest(size=v.need("size", v.get("mDEntrySize")), **_dated(v))


def imbalance(v: Values) -> e.Imbalance:
    side = v.need("side", v.choices("imbalanceCondition", w.IMBALANCES))
    return e.Imbalance(
        side=None if side is None else ImbalanceSide(side),  # type: ignore[arg-type]
        size=v.get("mDEntrySize"),
        action=_action(v),
        **_key(v),
    )


def price_band(v: Values) -> e.PriceBand:
    """Both messages: the older one's reference price has four places."""
    return e.PriceBand(
        type=v.word("priceBandType", w.BAND_TYPES),
        limit_type=v.word("priceLimitType", w.LIMIT_TYPES),
        low=v.price("lowLimitPrice"),
        high=v.price("highLimitPrice"),
        midpoint=v.word("priceBandMidpointPriceType", w.MIDPOINTS),
        reference_fine=v.fine("tradingReferencePrice"),
        **_key(v),
    )


def quantity_band(v: Values) -> e.QuantityBand:
    return e.QuantityBand(
        average_daily=v.get("avgDailyTradedQty"), largest_order=v.get("maxTradeVol"), **_key(v)
    )


def state(v: Values) -> e.StateChanged:
    return e.StateChanged(
        security_id=v.need("security_id", v.get("securityID")),
        state=v.word("securityTradingStatus", w.STATES),
        **_stated(v),
    )


def phase(v: Values) -> e.PhaseChanged:
    return e.PhaseChanged(
        group=v.need("group", v.get("securityGroup")) or "",
        exchange=EXCHANGE,
        phase=v.need("phase", v.word("tradingSessionSubID", w.PHASES)),
        **_stated(v),
    )


def _stated(v: Values) -> dict[str, Any]:
    return {
        "session": v.need("session", v.word("tradingSessionID", w.SESSIONS)),
        "event": v.word("securityTradingEvent", w.STATE_EVENTS),
        "trade_date": v.number("tradeDate"),
        "transact_ns": v.time("transactTime"),
        "ends_ns": v.get("tradSesOpenTime"),
    }
