"""The exchange's words as the model's: names of the schema's values to members of enumerations.

Values are known by name, because a number has had two names over the versions. What the model has no
word for is given as its number.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np

from pregao.model.instruments import Governance, Payout, PriceMethod, Product, SecurityType, TradeType
from pregao.model.market import (
    Action,
    Aggressor,
    BandType,
    DefinitionAction,
    ImbalanceSide,
    LimitType,
    Midpoint,
    NewsSource,
    Phase,
    PriceKind,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from pregao.model.rows import Flag, Kind

Words = Mapping[str, int]

_UNKNOWN_OR_INVALID: Final = 20
_CAPPED: Final = 2  # at version 16; the number means something else since


def _by_name(members: type[IntEnum]) -> dict[str, int]:
    return {member.name: member for member in members}


ACTIONS: Final[Words] = _by_name(Action)
ENTRY_SIDES: Final[Words] = {"BID": Side.BUY, "OFFER": Side.SELL} | {
    # The other entry types are no side; an order that has one keeps the character.
    name: ord(character)
    for name, character in {
        "TRADE": "2", "INDEX_VALUE": "3", "OPENING_PRICE": "4", "CLOSING_PRICE": "5",
        "SETTLEMENT_PRICE": "6", "SESSION_HIGH_PRICE": "7", "SESSION_LOW_PRICE": "8",
        "EXECUTION_STATISTICS": "9", "IMBALANCE": "A", "TRADE_VOLUME": "B", "OPEN_INTEREST": "C",
        "EMPTY_BOOK": "J", "SECURITY_TRADING_STATE_PHASE": "c", "PRICE_BAND": "g", "QUANTITY_BAND": "h",
        "COMPOSITE_UNDERLYING_PRICE": "D", "EXECUTION_SUMMARY": "s", "VOLATILITY_PRICE": "v",
        "TRADE_BUST": "u",
    }.items()
}  # fmt: skip
SIDES: Final[Words] = _by_name(Side)
AGGRESSORS: Final[Words] = {
    "NO_AGGRESSOR": Aggressor.NONE,
    "BUY": Aggressor.BUY,
    "SELL": Aggressor.SELL,
}
SESSIONS: Final[Words] = {
    "REGULAR_TRADING_SESSION": Session.REGULAR,
    "NON_REGULAR_TRADING_SESSION": Session.NON_REGULAR,
}
SUB_TYPES: Final[Words] = {
    "MULTI_ASSET_TRADE": TradeSubType.MULTI_ASSET,
    "LEG_TRADE": TradeSubType.LEG,
    "MIDPOINT_TRADE": TradeSubType.MIDPOINT,
    "BLOCK_BOOK_TRADE": TradeSubType.BLOCK_BOOK,
    "RFQ_TRADE": TradeSubType.RFQ,  # below version 8
    "RF_TRADE": TradeSubType.RFQ,
    "RLP_TRADE": TradeSubType.RLP,
    "TAC_TRADE": TradeSubType.TAC,
    "TAA_TRADE": TradeSubType.TAA,
    "SWEEP_TRADE": TradeSubType.SWEEP,
}
STATES: Final[Words] = _by_name(State) | {"UNKNOWN_OR_INVALID": _UNKNOWN_OR_INVALID}
# Below version 17 two phases had the names of the states.
PHASES: Final[Words] = _by_name(Phase) | {
    "FORBIDDEN": Phase.PRE_CLOSE,
    "RESERVED": Phase.PRE_OPEN,
    "UNKNOWN_OR_INVALID": _UNKNOWN_OR_INVALID,
}
STATE_EVENTS: Final[Words] = {
    "TRADING_SESSION_CHANGE": StateEvent.SESSION_CHANGE,
    "SECURITY_STATUS_CHANGE": StateEvent.LEAVES_GROUP,
    "SECURITY_REJOINS_SECURITY_GROUP_STATUS": StateEvent.REJOINS_GROUP,
}
ORIGINS: Final[Words] = {
    "DAILY": PriceOrigin.DAILY,
    "SESSION": PriceOrigin.SESSION,
    "EXPECTED_ENTRY": PriceOrigin.EXPECTED,
    "ENTRY_FROM_PREVIOUS_BUSINESS_DAY": PriceOrigin.PREVIOUS_DAY,
    "THEORETICAL_PRICE": PriceOrigin.THEORETICAL,
}
SETTLEMENT_KINDS: Final[Words] = _by_name(SettlementKind)
PRICE_KINDS: Final[Words] = {
    "PERCENTAGE": PriceKind.PERCENTAGE,
    "PU": PriceKind.PER_UNIT,
    "FIXED_AMOUNT": PriceKind.FIXED_AMOUNT,
}
BAND_TYPES: Final[Words] = {
    "HARD_LIMIT": BandType.HARD,
    "AUCTION_LIMITS": BandType.AUCTION,
    "REJECTION_BAND": BandType.REJECTION,
    "STATIC_LIMITS": BandType.STATIC,
}
LIMIT_TYPES: Final[Words] = {
    "PRICE_UNIT": LimitType.PRICE,
    "TICKS": LimitType.TICKS,
    "PERCENTAGE": LimitType.PERCENTAGE,
}
MIDPOINTS: Final[Words] = {
    "LAST_TRADED_PRICE": Midpoint.LAST_TRADE,
    "COMPLEMENTARY_LAST_PRICE": Midpoint.COMPLEMENTARY_LAST,
    "THEORETICAL_PRICE": Midpoint.THEORETICAL,
}
DEFINITION_ACTIONS: Final[Words] = _by_name(DefinitionAction)
SECURITY_TYPES: Final[Words] = _by_name(SecurityType)
PRODUCTS: Final[Words] = _by_name(Product)

# Choices of sets: the model's flag for each.
CONDITIONS: Final[Words] = {
    "OpeningPrice": TradeCondition.OPENING_PRICE,
    "Crossed": TradeCondition.CROSSED,
    "LastTradeAtTheSamePrice": TradeCondition.LAST_AT_SAME_PRICE,
    "OutOfSequence": TradeCondition.OUT_OF_SEQUENCE,
    "TradeOnBehalf": TradeCondition.ON_BEHALF,
    "RegularTrade": TradeCondition.REGULAR,
    "BlockTrade": TradeCondition.BLOCK,
}
IMBALANCES: Final[Words] = {
    "ImbalanceMoreBuyers": ImbalanceSide.MORE_BUYERS,
    "ImbalanceMoreSellers": ImbalanceSide.MORE_SELLERS,
}

NEWS_SOURCES: Final[Words] = _by_name(NewsSource)

# Of definitions.
PRICE_METHODS: Final[Words] = _by_name(PriceMethod)
GOVERNANCES: Final[Words] = {
    "No": Governance.NONE,
    "N1": Governance.LEVEL_1,
    "N2": Governance.LEVEL_2,
    "NM": Governance.NEW_MARKET,
    "MA": Governance.MAIS,
    "MB": Governance.SOMA,
    "M2": Governance.MAIS_2,
}
PAYOUTS: Final[Words] = {
    "VANILLA": Payout.VANILLA,
    "CAPPED": _CAPPED,
    "VANILLA_CASH_SETTLEMENT": Payout.VANILLA_CASH,
    "BINARY": Payout.BINARY,
}
TRADE_TYPES: Final[Words] = {
    "ELECTRONIC_MATCH_OR_GTD_GTC_ELIGIBLE": TradeType.ELECTRONIC,
    "ORDER_CROSS_ELIGIBLE": TradeType.CROSS,
    "BLOCK_TRADE_ELIGIBLE": TradeType.BLOCK,
    "FLAG_RFQ_FOR_CROSS_ELIGIBLE": TradeType.RFQ_FOR_CROSS,
    "NEGOTIATED_QUOTE_ELIGIBLE": TradeType.NEGOTIATED,
}


# What orders a side of a book, by the wire version of a message. Books know no versions: every row of an
# order or side says it. So a feed may change its version in mid-stream.


Array = np.ndarray[Any, np.dtype[Any]]

FIRST_BY_PRICE: Final = 15  # wire version from which price and id order a book (12.1)
FIRST_TRANSACTED: Final = 15  # wire version from which orders and trades tell transactTime (9)
FIRST_WITH_DELETED_PRICE: Final = 16  # in 15 a delete without price may only be a shorter block
WITH_POLICY: Final = frozenset((Kind.ORDER, Kind.SIDE, Kind.SNAPSHOT_ORDER))


def policy_flags(version: int) -> Flag:
    """Of rows of the kinds in WITH_POLICY."""
    flags = Flag.BY_POSITION if version < FIRST_BY_PRICE else Flag(0)
    return flags | Flag.PRICE_UNTOLD if version < FIRST_WITH_DELETED_PRICE else flags


def order_flags(versions: Array) -> Array:
    """The same of rows of stored tables, by their wire versions."""
    known, which = np.unique(versions, return_inverse=True)
    flags: Array = np.array([policy_flags(int(each)) for each in known], np.uint8)[which]
    return flags
