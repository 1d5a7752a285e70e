"""Updates of every kind, and what must be read from their messages in every version."""

from decimal import Decimal
from typing import Any

from pregao.model import events as e
from pregao.model.market import (
    Action,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    Phase,
    PriceOrigin,
    Session,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, A, order

REGULAR = "REGULAR_TRADING_SESSION"
STAMP = {"tradeDate": DATE, "mDEntryTimestamp": NOW}

# The update, its message, what is in it. These carry rptSeq and EndOfEvent:
CASES: list[tuple[e.Update, str, dict[str, Any]]] = [
    (
        order(order_id=7, firm=85),
        "Order_MBO_50",
        {
            "mDUpdateAction": "NEW",
            "mDEntryType": "BID",
            "mDEntryPx": Decimal("10.0000"),
            "mDEntrySize": 100,
            "secondaryOrderID": 7,
            "enteringFirm": 85,
            "mDInsertTimestamp": NOW - 5,
        },
    ),
    (
        order(side=Side.SELL, price=None),
        "Order_MBO_50",
        {"mDEntryType": "OFFER", "mDEntryPx": None, "enteringFirm": None},
    ),
    (order(recovery=True), "Order_MBO_50", {"matchEventIndicator": ["RecoveryMsg", "EndOfEvent"]}),
    (
        order(order_id=9, action=Action.DELETE, size=40),
        "DeleteOrder_MBO_51",
        {"mDEntryType": "BID", "mDEntrySize": 40, "secondaryOrderID": 9},
    ),
    (
        e.SideDeleted(A, Action.DELETE_THRU, Side.SELL, NOW),
        "MassDeleteOrders_MBO_52",
        {"mDUpdateAction": "DELETE_THRU", "mDEntryType": "OFFER"},
    ),
    (
        e.Trade(
            A,
            10,
            652_650_000,
            1,
            DATE,
            Session.NON_REGULAR,
            TradeCondition.CROSSED,
            NOW,
            buyer=85,
            seller=88,
            sub_type=TradeSubType.RFQ,
        ),
        "Trade_53",
        {
            "mDEntryPx": Decimal("65265.0000"),
            "mDEntrySize": 1,
            "tradeID": 10,
            "mDEntryBuyer": 85,
            "mDEntrySeller": 88,
            "tradingSessionID": "NON_REGULAR_TRADING_SESSION",
            "tradeCondition": ["Crossed"],
            "tradeDate": DATE,
            "trdSubType": "RF_TRADE",
        },
    ),
    (
        e.Trade(
            A,
            11,
            10_000,
            5,
            DATE,
            Session.REGULAR,
            TradeCondition.REGULAR,
            NOW,
            forward=True,
            seller_days=30,
            interest_rate=100,
        ),
        "ForwardTrade_54",
        {"sellerDays": 30, "mDEntryInterestRate": Decimal("0.0100"), "tradeCondition": ["RegularTrade"]},
    ),
    (
        e.TradeBusted(A, 10, 10_000, 5, DATE, Session.REGULAR, NOW),
        "TradeBust_57",
        {"tradeID": 10, "mDEntryPx": Decimal("1.0000"), "mDEntrySize": 5, "tradeDate": DATE},
    ),
    (
        e.ExecutionStatistics(A, Session.REGULAR, DATE, 1000, 123_456, -5, 12, NOW),
        "ExecutionStatistics_56",
        {
            "tradeVolume": 1000,
            "vwapPx": Decimal("12.3456"),
            "netChgPrevDay": Decimal("-0.00000005"),
            "numberOfTrades": 12,
            "tradingSessionID": REGULAR,
            **STAMP,
        },
    ),
    (
        e.ExecutionStatistics(A, Session.REGULAR, DATE, 0, None, None, 0, NOW),
        "ExecutionStatistics_56",
        {"tradeVolume": 0, "vwapPx": None, "netChgPrevDay": None, "numberOfTrades": 0},
    ),
    (
        e.OpeningPrice(A, -10_000, 100_000_000, DATE, NOW),
        "OpeningPrice_15",
        {
            "mDEntryPx": Decimal("-1.0000"),
            "netChgPrevDay": Decimal("1.00000000"),
            "openCloseSettlFlag": "DAILY",
            **STAMP,
        },
    ),
    (
        e.TheoreticalPrice(A, None, None, DATE, NOW, Action.DELETE),
        "TheoreticalOpeningPrice_16",
        {"mDUpdateAction": "DELETE", "mDEntryPx": None, "mDEntrySize": None, **STAMP},
    ),
    (
        e.TheoreticalPrice(A, 5_000, 300, DATE, NOW),
        "TheoreticalOpeningPrice_16",
        {"mDUpdateAction": "NEW", "mDEntryPx": Decimal("0.5000"), "mDEntrySize": 300},
    ),
    (
        e.ClosingPrice(A, 123_456_789, DATE, NOW, PriceOrigin.PREVIOUS_DAY, DATE - 1),
        "ClosingPrice_17",
        {
            "mDEntryPx": Decimal("1.23456789"),
            "openCloseSettlFlag": "ENTRY_FROM_PREVIOUS_BUSINESS_DAY",
            "lastTradeDate": DATE - 1,
            **STAMP,
        },
    ),
    (e.HighPrice(A, 10_000, DATE, NOW), "HighPrice_24", {"mDEntryPx": Decimal("1.0000"), **STAMP}),
    (
        e.LowPrice(A, 10_000, DATE, NOW, Action.DELETE),
        "LowPrice_25",
        {"mDEntryPx": Decimal("1.0000"), "mDUpdateAction": "DELETE", **STAMP},
    ),
    (
        e.LastTrade(A, 4, 10_000, 100, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW, seller_days=5),
        "LastTradePrice_27",
        # 13.6: on the incremental stream no conditions.
        {
            "mDEntryPx": Decimal("1.0000"),
            "mDEntrySize": 100,
            "tradeID": 4,
            "tradeCondition": [],
            "sellerDays": 5,
            **STAMP,
        },
    ),
    (
        e.Imbalance(A, ImbalanceSide.MORE_SELLERS, 700, NOW),
        "AuctionImbalance_19",
        {"imbalanceCondition": ["ImbalanceMoreSellers"], "mDEntrySize": 700, "mDEntryTimestamp": NOW},
    ),
    (
        e.Imbalance(A, ImbalanceSide.BALANCED, None, NOW, Action.DELETE),
        "AuctionImbalance_19",
        {"imbalanceCondition": [], "mDEntrySize": None, "mDUpdateAction": "DELETE"},
    ),
    (
        e.PriceBand(A, BandType.REJECTION, NOW, LimitType.PERCENTAGE, -50_000, 50_000, Midpoint.THEORETICAL),
        "PriceBand_22",
        {
            "priceBandType": "REJECTION_BAND",
            "priceLimitType": "PERCENTAGE",
            "lowLimitPrice": Decimal("-5.0000"),
            "highLimitPrice": Decimal("5.0000"),
            "priceBandMidpointPriceType": "THEORETICAL_PRICE",
            "tradingReferencePrice": None,
        },
    ),
    (
        e.PriceBand(A, None, NOW, reference_fine=1),
        "PriceBand_22",
        {"priceBandType": None, "priceLimitType": None, "tradingReferencePrice": Decimal("0.00000001")},
    ),
    (e.QuantityBand(A, 0, 900, NOW), "QuantityBand_21", {"avgDailyTradedQty": 0, "maxTradeVol": 900}),
    (
        e.StateChanged(A, Session.REGULAR, State.RESERVED, StateEvent.LEAVES_GROUP, DATE, NOW, 0),
        "SecurityStatus_3",
        {
            "securityTradingStatus": "RESERVED",
            "securityTradingEvent": "SECURITY_STATUS_CHANGE",
            "tradSesOpenTime": None,
            "transactTime": NOW,
            "tradeDate": DATE,
        },
    ),
    (
        e.StateChanged(A, Session.REGULAR, None, None, DATE, NOW, NOW + 9),
        "SecurityStatus_3",
        {"securityTradingStatus": None, "securityTradingEvent": None, "tradSesOpenTime": NOW + 9},
    ),
]
UNNUMBERED: list[tuple[e.Update, str, dict[str, Any]]] = [
    (
        e.BookEmptied(A, NOW),
        "EmptyBook_9",
        {"securityID": A, "mDEntryTimestamp": NOW, "matchEventIndicator": ["RecoveryMsg", "EndOfEvent"]},
    ),
    (e.ChannelWasReset(84, NOW), "ChannelReset_11", {"matchEventIndicator": ["RecoveryMsg", "EndOfEvent"]}),
    (
        e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.OPEN, StateEvent.SESSION_CHANGE, DATE, NOW),
        "SecurityGroupPhase_10",
        {
            "securityGroup": "01",
            "tradingSessionSubID": "OPEN",
            "securityTradingEvent": "TRADING_SESSION_CHANGE",
        },
    ),
]
