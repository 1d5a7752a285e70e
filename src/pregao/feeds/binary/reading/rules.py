"""Which field of a message goes to which field of a row (`model.rows`), for every message of B3.

A rule is for all wire versions: a field that a version lacks is null in its rows. Where a field has
had two names, both are given, and a version has one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pregao.feeds.binary.reading.tables import SHAPE_ENTRIES, SHAPE_PLAIN, SHAPE_POINTER
from pregao.model.market import Action
from pregao.model.rows import NO_ACTION, Flag, Kind

_NO_FLAGS: Final = Flag(0)


@dataclass(frozen=True, slots=True)
class Take:
    """How a value is changed on its way. Null becomes `fill`; without one, that of the row's field."""

    names: tuple[str, ...]
    add: int = 0
    shift: int = 0
    mask: int = -1
    fill: int | None = None
    exponent: int | None = None  # of the row's field: decimals of fewer places are multiplied


@dataclass(frozen=True, slots=True)
class Rule:
    """`takes` by field of the row, `constants` likewise."""

    kind: Kind
    takes: Mapping[str, Take] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    shape: int = SHAPE_PLAIN
    sided: bool = False  # the side is that of its mDEntryType
    flags: Flag = _NO_FLAGS
    indicated: Flag = Flag.END_OF_EVENT | Flag.IMPLIED | Flag.RECOVERY  # what its indicator may say
    entry: "Rule | None" = None


def _take(*names: str) -> Take:
    return Take(names)


def _takes(**names: str) -> dict[str, Take]:
    return {target: _take(name) for target, name in names.items()}


_TIME = {"time_ns": _take("mDEntryTimestamp")}
_TRANSACTED = {"time_ns": _take("transactTime", "mDEntryTimestamp")}  # 9: another since version 15
_ID = _takes(security_id="securityID")
_KEY = _ID | _takes(rpt_seq="rptSeq")
_ACTION = _takes(action="mDUpdateAction")
_DATE = _takes(trade_date="tradeDate")
_ORIGIN = {"origin": Take(("openCloseSettlFlag",), add=1)}
_PLACED = _takes(
    price="mDEntryPx", size="mDEntrySize", id="secondaryOrderID", firm="enteringFirm",
    inserted_ns="mDInsertTimestamp", position="mDEntryPositionNo",
)  # fmt: skip
_TRADED = _DATE | _takes(
    id="tradeID", price="mDEntryPx", size="mDEntrySize", firm="mDEntryBuyer", position="mDEntrySeller",
    condition="tradeCondition", detail="trdSubType", session="tradingSessionID", low="sellerDays",
    other="mDEntryInterestRate",
)  # fmt: skip
_STATED = _DATE | _takes(
    detail="securityTradingEvent", session="tradingSessionID", inserted_ns="tradSesOpenTime",
    time_ns="transactTime",
)  # fmt: skip
_BANDED = _KEY | _TIME | _takes(type="priceBandType", low="lowLimitPrice", high="highLimitPrice") | {
    "fine": Take(("tradingReferencePrice",), exponent=-8),
    "detail": Take(("priceLimitType",), add=1),
    "origin": Take(("priceBandMidpointPriceType",), add=1),
}  # fmt: skip
_DEFINED = _ID | _takes(high="totNoRelatedSym", action="securityUpdateAction")
_NO_REPORT = int(Flag.NO_REPORT | Flag.NO_EVENT)

OTHER_RULE: Final = Rule(Kind.OTHER, shape=SHAPE_POINTER)
_DEFINITION: Final = Rule(Kind.DEFINITION, _DEFINED, shape=SHAPE_POINTER)
_BAND: Final = Rule(Kind.PRICE_BAND, _BANDED)

RULES: Final[Mapping[str, Rule]] = {
    "Order_MBO_50": Rule(
        Kind.ORDER, _KEY | _ACTION | _PLACED | _TRANSACTED | _takes(other="mDEntryPrevSize"), sided=True
    ),
    "DeleteOrder_MBO_51": Rule(
        Kind.ORDER, _KEY | _PLACED | _TRANSACTED, {"action": Action.DELETE}, sided=True
    ),
    "MassDeleteOrders_MBO_52": Rule(
        Kind.SIDE, _KEY | _ACTION | _TRANSACTED | _takes(position="mDEntryPositionNo"), sided=True
    ),
    "EmptyBook_9": Rule(Kind.EMPTY_BOOK, _ID | _TIME),
    "ChannelReset_11": Rule(Kind.CHANNEL_RESET, _TIME),
    "Trade_53": Rule(Kind.TRADE, _KEY | _TRADED | _TRANSACTED),
    "ForwardTrade_54": Rule(Kind.TRADE, _KEY | _TRADED | _TRANSACTED, flags=Flag.FORWARD),
    "TradeBust_57": Rule(
        Kind.BUST,
        _KEY | _DATE | _TRANSACTED
        | _takes(id="tradeID", price="mDEntryPx", size="mDEntrySize", session="tradingSessionID"),
    ),
    "ExecutionSummary_55": Rule(
        Kind.EXECUTION,
        _KEY | _TRANSACTED
        | _takes(
            side="aggressorSide", price="lastPx", size="fillQty", low="tradedHiddenQty", high="cxlQty",
            other="aggressorTime",
        ),
    ),
    "ExecutionStatistics_56": Rule(
        Kind.TOTALS,
        _KEY | _DATE | _TIME
        | _takes(
            price="vwapPx", size="tradeVolume", other="numberOfTrades", fine="netChgPrevDay",
            session="tradingSessionID",
        ),
    ),
    "OpeningPrice_15": Rule(
        Kind.OPENING,
        _KEY | _ACTION | _DATE | _TIME | _ORIGIN | _takes(price="mDEntryPx", fine="netChgPrevDay"),
    ),
    "TheoreticalOpeningPrice_16": Rule(
        Kind.THEORETICAL, _KEY | _ACTION | _DATE | _TIME | _takes(price="mDEntryPx", size="mDEntrySize")
    ),
    "ClosingPrice_17": Rule(
        Kind.CLOSING, _KEY | _DATE | _TIME | _ORIGIN | _takes(fine="mDEntryPx", other="lastTradeDate")
    ),
    "HighPrice_24": Rule(Kind.HIGH, _KEY | _ACTION | _DATE | _TIME | _takes(price="mDEntryPx")),
    "LowPrice_25": Rule(Kind.LOW, _KEY | _ACTION | _DATE | _TIME | _takes(price="mDEntryPx")),
    "LastTradePrice_27": Rule(Kind.LAST_TRADE, _KEY | _TRADED | _TIME),
    "SettlementPrice_28": Rule(
        Kind.SETTLEMENT,
        _KEY | _DATE | _TIME | _ORIGIN
        | _takes(price="mDEntryPx", detail="settlPriceType", type="priceType", other="settlDate"),
    ),
    "OpenInterest_29": Rule(Kind.OPEN_INTEREST, _KEY | _DATE | _TIME | _takes(size="mDEntrySize")),
    "AuctionImbalance_19": Rule(
        Kind.IMBALANCE,
        _KEY | _ACTION | _TIME | _takes(size="mDEntrySize")
        | {"side": Take(("imbalanceCondition",), shift=8, mask=3)},  # 13.10: bits 8 and 9
    ),
    "PriceBand_20": _BAND,
    "PriceBand_22": _BAND,
    "QuantityBand_21": Rule(
        Kind.QUANTITY_BAND, _KEY | _TIME | _takes(size="maxTradeVol", other="avgDailyTradedQty")
    ),
    "SecurityStatus_3": Rule(Kind.STATE, _KEY | _STATED | _takes(type="securityTradingStatus")),
    "SecurityGroupPhase_10": Rule(
        Kind.PHASE, _STATED | _takes(id="securityGroup", type="tradingSessionSubID")
    ),
    "SecurityDefinition_4": _DEFINITION,
    "SecurityDefinition_12": _DEFINITION,
    "News_5": Rule(Kind.NEWS, _ID | _takes(time_ns="origTime"), shape=SHAPE_POINTER),
    "Sequence_2": Rule(Kind.SEQUENCE, _takes(price="nextSeqNo")),
    "SequenceReset_1": Rule(Kind.SEQUENCE_RESET),
    "SnapshotFullRefresh_Header_30": Rule(
        Kind.SNAPSHOT,
        _ID | _takes(
            price="lastMsgSeqNumProcessed", other="lastSequenceVersion", size="totNumReports",
            low="totNumBids", high="totNumOffers", position="totNumStats", rpt_seq="lastRptSeq",
        )
        # Of the number itself nothing remains: the flags say whether there is one.
        | {"flags": Take(("lastRptSeq",), mask=0, add=int(Flag.NO_EVENT), fill=_NO_REPORT)},
        {"flags": _NO_REPORT},
    ),
    "SnapshotFullRefresh_Orders_MBO_71": Rule(
        Kind.SNAPSHOT_ORDER,
        _ID,
        shape=SHAPE_ENTRIES,
        entry=Rule(
            Kind.SNAPSHOT_ORDER, _PLACED, {"action": Action.NEW}, sided=True,
            flags=Flag.NO_EVENT, indicated=Flag.IMPLIED,
        ),
    ),
}  # fmt: skip

NOT_TOLD: Final = {"action": NO_ACTION}  # the nulls of narrow fields; of the others 0
