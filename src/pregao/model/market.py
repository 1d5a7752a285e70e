"""The words of a market: sides, actions, phases, states, conditions. Numbers are B3's own, so that
every feed maps to the same ones; prices are integers of ten-thousandths (`PRICE_SCALE`)."""

from enum import IntEnum, IntFlag
from typing import Final

EXCHANGE: Final = "BVMF"  # SecurityExchange (207) of all of B3's systems, told or a constant

PRICE_EXPONENT = -4
PRICE_SCALE = 10_000
FINE_EXPONENT = -8  # closing prices and net changes (13)
FINE_SCALE = 100_000_000


class Side(IntEnum):
    BUY = 1
    SELL = 2

    @property
    def opposite(self) -> "Side":
        return Side.SELL if self is Side.BUY else Side.BUY


class Aggressor(IntEnum):
    NONE = 0
    BUY = 1
    SELL = 2


class Action(IntEnum):
    """What happens to a book entry (12)."""

    NEW = 0
    CHANGE = 1
    DELETE = 2
    DELETE_THRU = 3
    DELETE_FROM = 4
    OVERLAY = 5  # replace what stands at a position, or put it there


class Phase(IntEnum):
    """Trading phase of a group (14.2)."""

    PAUSE = 2
    CLOSE = 4
    OPEN = 17
    PRE_CLOSE = 18
    PRE_OPEN = 21
    FINAL_CLOSING_CALL = 101


class State(IntEnum):
    """State of an instrument (14.1)."""

    PAUSE = 2
    CLOSE = 4
    OPEN = 17
    FORBIDDEN = 18
    RESERVED = 21
    FINAL_CLOSING_CALL = 101


class StateEvent(IntEnum):
    """Why a phase or state is told (tag 1174)."""

    SESSION_CHANGE = 4  # statistics start over (14.3)
    LEAVES_GROUP = 101
    REJOINS_GROUP = 102


class Session(IntEnum):
    REGULAR = 1
    NON_REGULAR = 6  # after hours


class TradeCondition(IntFlag):
    """13.3.1, by bit."""

    NONE = 0
    OPENING_PRICE = 1 << 0
    CROSSED = 1 << 1
    LAST_AT_SAME_PRICE = 1 << 2
    OUT_OF_SEQUENCE = 1 << 3
    ON_BEHALF = 1 << 6
    REGULAR = 1 << 13
    BLOCK = 1 << 14
    # Of Trademate, which has letters for them (AW, AWR): numbers of ours, no other system sends them.
    AUCTION = 1 << 20
    AUCTION_OPENING = 1 << 21


OLD_LEG = 1 << 5  # of a trade's condition, in wire versions below 15; since then a leg is a sub-type (19)


class TradeSubType(IntEnum):
    """13.3.2."""

    MULTI_ASSET = 101
    LEG = 102
    MIDPOINT = 103
    BLOCK_BOOK = 104
    RFQ = 105
    RLP = 106
    TAC = 107
    TAA = 108
    SWEEP = 109
    VOICE = 201  # of Trademate, registered by two desks: a number of ours


class BandType(IntEnum):
    """13.11. The reference price has no type: None."""

    HARD = 1
    AUCTION = 2
    REJECTION = 3
    STATIC = 4


class LimitType(IntEnum):
    PRICE = 0
    TICKS = 1
    PERCENTAGE = 2


class Midpoint(IntEnum):
    """What a percentage band is a percentage of."""

    LAST_TRADE = 0
    COMPLEMENTARY_LAST = 1
    THEORETICAL = 2


class PriceOrigin(IntEnum):
    """openCloseSettlFlag (13.9, 13.11.3)."""

    DAILY = 0
    SESSION = 1
    EXPECTED = 3
    PREVIOUS_DAY = 4
    THEORETICAL = 5


class SettlementKind(IntEnum):
    FINAL = 1
    THEORETICAL = 2
    UPDATED = 3


class PriceKind(IntEnum):
    """priceType."""

    PERCENTAGE = 1
    PER_UNIT = 2
    FIXED_AMOUNT = 3
    SPREAD = 6  # these two of Trademate
    YIELD = 9


class ImbalanceSide(IntFlag):
    """By bit (13.10); none is balanced."""

    BALANCED = 0
    MORE_BUYERS = 1 << 8
    MORE_SELLERS = 1 << 9


class NewsSource(IntEnum):
    """Who speaks."""

    OTHER = 0
    DCM = 1
    BBMNET = 2
    MARKET_SURVEILLANCE = 3
    INTERNET = 4
    DPR_VE = 5
    OVER_THE_COUNTER_NEWS_AGENCY = 11
    ELECTRONIC_PURCHASE_EXCHANGE = 13
    CBLC_NEWS_AGENCY = 14
    BOVESPA_INDEX_AGENCY = 15
    BOVESPA_INSTITUTIONAL_AGENCY = 16
    MKT_OPS_EQUITIES_AGENCY = 17
    BOVESPA_COMPANIES_AGENCY = 18
    MKT_OPS_FX_AGENCY = 19
    MKT_OPS_DERIVATIVES_AGENCY = 20


class DefinitionAction(IntEnum):
    ADD = ord("A")
    DELETE = ord("D")
    MODIFY = ord("M")
