"""What kernels know of messages that are read here: words of 8 bytes, by their offsets.

A *shape* says where the columns of a kind of message are. A *context* says where everything is; it begins
with what `values` needs.
"""

# Columns of an entry: the number of the column, or -1. Exponents follow their decimal.
ENTRY_FIELDS = (
    "MDUpdateAction", "MDEntryType", "SecurityID", "RptSeq", "QuoteCondition", "MDEntryPx",
    "MDEntryPx.exponent", "MDEntryInterestRate", "MDEntryInterestRate.exponent", "NumberOfOrders",
    "MDEntryTime", "MDEntrySize", "MDEntryDate", "MDInsertDate", "MDInsertTime", "MDStreamID",
    "NetChgPrevDay", "NetChgPrevDay.exponent", "SellerDays", "TradeVolume", "TickDirection",
    "TradeCondition", "TradingSessionID", "OpenCloseSettlFlag", "OrderID", "TradeID", "MDEntryBuyer",
    "MDEntrySeller", "MDEntryPositionNo", "ExpireDate", "EarlyTermination", "BTBCertIndicator",
    "BTBContractInfo", "Currency", "SettPriceType", "PriceType", "LastTradeDate", "PriceAdjustmentMethod",
    "PriceBandType", "PriceLimitType", "LowLimitPrice", "LowLimitPrice.exponent", "HighLimitPrice",
    "HighLimitPrice.exponent", "TradingReferencePrice", "TradingReferencePrice.exponent",
    "PriceBandMidpointPriceType", "AvgDailyTradedQty", "MaxTradeVol", "TradingSessionSubID",
    "SecurityTradingStatus", "TradSesOpenTime", "SecurityTradingEvent",
)  # fmt: skip
(
    UPDATE_ACTION, ENTRY_TYPE, SECURITY_ID, REPORT, QUOTE_CONDITION, PRICE, _, INTEREST_RATE, _,
    NUMBER_OF_ORDERS, TIME, SIZE, DATE, INSERT_DATE, INSERT_TIME, STREAM_ID, NET_CHANGE, _, SELLER_DAYS,
    VOLUME, TICK, CONDITION, SESSION, FLAG, ORDER_ID, TRADE_ID, BUYER, SELLER, POSITION_NO, EXPIRES, EARLY,
    _, _, CURRENCY, SETTLEMENT_KIND, PRICE_KIND, LAST_DATE, ADJUSTMENT, BAND, LIMIT_TYPE, LOW_LIMIT, _,
    HIGH_LIMIT, _, REFERENCE, _, MIDPOINT, DAILY_QUANTITY, MOST_QUANTITY, PHASE, STATE, ENDS, STATE_EVENT,
) = range(0, 8 * len(ENTRY_FIELDS), 8)  # fmt: skip
# Columns of the message itself: only snapshots need them.
ROOT_FIELDS = (
    "SecurityID", "RptSeq", "LastMsgSeqNumProcessed", "TotNumReports", "MarketDepth", "SendingTime",
)  # fmt: skip
_FIRST_ROOT = 8 * len(ENTRY_FIELDS)
ROOT_SECURITY_ID, ROOT_REPORT, LAST_NUMBER, REPORTS, DEPTH, SENT = range(
    _FIRST_ROOT, _FIRST_ROOT + 8 * len(ROOT_FIELDS), 8
)
# Behind them: the table of the entries; whether 286 and 273 are text; whether the message is a snapshot.
_FIRST_FACT = _FIRST_ROOT + 8 * len(ROOT_FIELDS)
TABLE, IS_TEXT, IS_TEXT_TIME, IS_SNAPSHOT = range(_FIRST_FACT, _FIRST_FACT + 32, 8)
SHAPE_WORDS = _FIRST_FACT // 8 + 4

CONTEXT_FIELDS = (
    "decoder",  # context of the column decoder
    "buffer",  # of the messages
    "shapes",  # of entries, for each kind of message that is read here
    "shape_of",  # int64 for each message: which of them + 1; 0: it is left to others
    "root_row",  # int64 for each message: its row in its table
    "cursors",  # int64 for each shape: the next row of its entries
    "at", "epochs",  # of messages: int64, uint16
    "by_level",  # 1: levels are told; 0: orders; -1: not known. Snapshots say it,
    "depth",  # and of how many levels
    "rows",  # with room for all entries, and for the snapshots themselves
    "day", "day_ns", "inserted_day", "inserted_day_ns",
)  # fmt: skip
(
    _, _, SHAPES, SHAPE_OF, ROOT_ROW, CURSORS, ATS, EPOCHS, BY_LEVEL, KNOWN_DEPTH, ROWS, KNOWN_DAY, _,
    KNOWN_INSERTED_DAY, _,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip
