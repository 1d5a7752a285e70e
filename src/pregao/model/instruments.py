"""What an instrument is: the attributes that the feeds tell of it, in one vocabulary."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar, Final

from pregao.model.market import EXCHANGE, FINE_SCALE, PRICE_EXPONENT, PriceKind, Side
from pregao.model.scales import Scale

_GROUP_BYTES: Final = 8


class SecurityType(IntEnum):
    """Numbers of Binary UMDF."""

    CASH = 1
    CORP = 2
    CS = 3
    DTERM = 4
    ETF = 5
    FOPT = 6
    FORWARD = 7
    FUT = 8
    INDEX = 9
    INDEXOPT = 10
    MLEG = 11
    OPT = 12
    OPTEXER = 13
    PS = 14
    SECLOAN = 15
    SOPT = 16
    SPOT = 17
    GOVBOND = 201  # these two of Trademate: numbers of ours
    CBIO = 202


class SecuritySubType(IntEnum):
    """The ones by which strategies and rollovers are known (16.1)."""

    STRATEGY = 90
    FINANCIAL_ROLLOVER = 140
    AGRICULTURAL_ROLLOVER = 141


class Product(IntEnum):
    COMMODITY = 2
    CORPORATE = 3
    CURRENCY = 4
    EQUITY = 5
    GOVERNMENT = 6
    INDEX = 7
    ECONOMIC_INDICATOR = 15
    MULTILEG = 16


class PriceMethod(IntEnum):
    """How the price of a strategy follows from its legs' (multiLegPriceMethod)."""

    NET_PRICE = 0
    REVERSED_NET_PRICE = 1
    YIELD_DIFFERENCE = 2
    INDIVIDUAL = 3
    CONTRACT_WEIGHTED_AVERAGE_PRICE = 4
    MULTIPLIED_PRICE = 5


class Governance(IntEnum):
    """Level of corporate governance of the company behind a share (governanceIndicator)."""

    NONE = 0
    LEVEL_1 = 1
    LEVEL_2 = 2
    LEVEL_3 = 3
    NEW_MARKET = 4
    MAIS = 5
    SOMA = 6
    MAIS_2 = 7


class TradeType(IntEnum):
    """How an instrument may be traded (instrAttribValue of trade type eligibility)."""

    ELECTRONIC = 1
    CROSS = 2
    BLOCK = 3
    RFQ_FOR_CROSS = 14
    NEGOTIATED = 17


class Payout(IntEnum):
    """What an option in the money pays (optPayoutType). Cash settlement has a word since version 17."""

    VANILLA = 1
    VANILLA_CASH = 2
    BINARY = 3


@dataclass(frozen=True, slots=True)
class Leg:
    """A leg of a spread or strategy: buying one of it is `ratio` times `side` of the leg. The ratio has no
    sign: the side says it, once."""

    security_id: int
    symbol: str
    side: Side
    ratio: int = 1
    security_type: SecurityType = SecurityType.FUT


@dataclass(frozen=True, slots=True)
class Underlying:
    security_id: int
    symbol: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a system tells by number and text."""

    type: int
    value: str


@dataclass(frozen=True, slots=True)
class BondTerms:
    """What the definition of a bond tells beside the rest; words are names of those of `fixed_income`. Sizes
    are integers of the instrument's exponent, increments as its prices."""

    kind: str
    coupon_type: str
    lot_type: str
    registration: str
    coupon_fine: int | None = None  # a fraction of a year's interest, in hundred-millionths
    coupon_date: int | None = None  # the next payment, days since 1970
    factor_fine: int | None = None  # hedge factor of a casada, in hundred-millionths
    rate_increment: int | None = None
    largest_rfq: int = 0
    largest_voice: int = 0
    allows_fractions: bool = False
    allows_negative: bool = False
    attributes: tuple[Attribute, ...] = ()
    valid_until_ns: int | None = None  # the end of its trading


@dataclass(frozen=True, slots=True)
class LotRule:
    type: int | None  # 1 odd, 2 round, 3 block
    size: int | None


@dataclass(frozen=True, slots=True)
class TickRule:
    """The increment of prices in a range of them; decimals as sent."""

    start: str | None
    end: str | None
    increment: str | None
    type: int | None


@dataclass(frozen=True, slots=True)
class UnderlyingWeight:
    """Of a member of an index; decimals as sent."""

    security_id: int
    percent: str | None
    theoretical_quantity: str | None


@dataclass(frozen=True, slots=True)
class OtherId:
    source: str  # 4 is ISIN, 8 the symbol, H the clearing house
    id: str


@dataclass(frozen=True, slots=True)
class ToldOn:
    """A channel that tells of an instrument; without a depth every order."""

    channel: str
    feed_type: str | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class ListingTerms:
    """What a list of instruments tells beside the rest. Decimals are text, with all their places: an index
    has more of them than any unit of ours."""

    AS_TEXT: ClassVar = True  # wherever instruments are stored as columns: most of them have none of it

    maturity_day: int | None = None  # of the month: daily options
    maturity_week: int | None = None  # of the month: weekly options
    country: str = ""
    settlement_currency: str | None = None
    strike_currency: str | None = None
    decimals: int | None = None  # of prices, for people
    dated_date: int | None = None  # days since 1970, as the next two
    start_date: int | None = None
    end_date: int | None = None
    contract_month: tuple[int, int] | None = None  # year, month of settlement
    valid_until_ns: int | None = None  # the end of its trading; None: for ever
    corporate_action: int | None = None
    price_divisor: str | None = None  # of an index its reducer
    other_ids: tuple[OtherId, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    lots: tuple[LotRule, ...] = ()
    tick_rules: tuple[TickRule, ...] = ()
    weights: tuple[UnderlyingWeight, ...] = ()
    channels: tuple[ToldOn, ...] = ()


@dataclass(frozen=True, slots=True)
class Instrument:
    """One version of one instrument. Prices and quantities are integers of ten to its exponents:
    ten-thousandths and wholes, unless its system has others."""

    security_id: int
    symbol: str
    channel: int
    group: str
    asset: str
    security_type: SecurityType
    product: Product
    description: str = ""
    exchange: str = EXCHANGE
    sub_type: int = 0
    segment: int = 1  # matching engine: secondaryOrderIDs rise per segment (12.1)
    isin: str | None = None
    currency: str = "BRL"
    cfi_code: str = "ESXXXX"
    tick: int = 100
    lot: int = 100
    minimum_quantity: int = 1
    maximum_quantity: int = 1_000_000_000
    minimum_cross: int | None = None  # smallest quantity of a cross order; None: any
    # Of a contract; both in hundred-millionths, None where the definition has none. Sums take 1 then.
    multiplier_fine: int | None = FINE_SCALE
    price_divisor_fine: int | None = FINE_SCALE
    strike: int | None = None
    is_put: bool | None = None
    is_american: bool | None = None
    issue_date: int = 0  # days since 1970
    maturity_date: int | None = None  # days since 1970
    maturity: tuple[int, int] | None = None  # year, month
    shares_issued: int | None = None
    is_odd_lot: bool = False
    accepts_gt: bool = True
    implied: bool = False  # eligible for the implied mechanism (18)
    user_defined: bool = False
    is_test: bool = False
    closing_price: int | None = None  # of the day before, in hundred-millionths (13)
    legs: tuple[Leg, ...] = field(default=())
    underlyings: tuple[Underlying, ...] = field(default=())
    price_method: PriceMethod | None = PriceMethod.NET_PRICE  # of those with legs
    strategy_type: str | None = None  # of those with legs, at most three letters
    price_kind: PriceKind | None = PriceKind.PER_UNIT
    governance: Governance | None = None
    payout: Payout | None = Payout.VANILLA  # of options
    is_buy_back: bool = False  # made for a special auction (securityMatchType)
    clearing_id: int | None = None  # what the clearing house calls it
    settlement_days: int | None = None  # from trade to settlement
    settlement_date: int | None = None  # days since 1970; where given, it counts and not the days
    trade_types: tuple[TradeType, ...] = (TradeType.ELECTRONIC,)
    price_exponent: int = PRICE_EXPONENT
    size_exponent: int = 0
    bond: BondTerms | None = None  # of bonds, as they are listed
    listing: ListingTerms | None = None  # where the system's lists tell more than the above

    @property
    def scale(self) -> Scale:
        return Scale(self.price_exponent, self.size_exponent, self.price_kind)


def group_name(number: int) -> str:
    """The name of a security group, from the number that rows keep of it: its bytes, the first the lowest."""
    return number.to_bytes(_GROUP_BYTES, "little", signed=True).split(b"\0")[0].decode("latin-1").strip()


def group_number(name: str) -> int:
    """As rows keep the name of a security group: see `group_name`."""
    content = name.encode("latin-1", "replace")[:_GROUP_BYTES].ljust(_GROUP_BYTES, b"\0")
    return int.from_bytes(content, "little", signed=True)
