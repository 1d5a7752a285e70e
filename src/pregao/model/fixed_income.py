"""The words of fixed income, and what a bond's definition tells beyond an `Instrument`. Numbers are those of
Trademate's fields; prices and sizes are integers of the instrument's exponents."""

from dataclasses import dataclass, replace
from enum import IntEnum

from pregao.model.instruments import Attribute, BondTerms, Instrument
from pregao.model.market import PriceKind

BOND_EXPONENT = -8  # of prices, and of sizes where fractions are allowed
BOND_SCALE = 10**8
RATES = (PriceKind.YIELD, PriceKind.SPREAD)  # kinds of prices of which the lower is worth more


class BondKind(IntEnum):
    """SecuritySubType (762). Other numbers than those of the same names in Conflated."""

    OTHER = 0  # not told, or none that the text has; so with the words below
    CBIO = 1
    CFF = 2
    CRA = 3
    CRI = 4
    DEB = 5
    LFT = 6
    LTN = 7
    NTNB = 8
    NTNC = 9
    NTNF = 10

    @property
    def is_government(self) -> bool:
        return self >= BondKind.LFT


class CouponType(IntEnum):
    """1946."""

    OTHER = 0
    FIXED = 1
    FLOATING = 2
    STRUCTURED = 3
    ZERO = 4


class Registration(IntEnum):
    """CPRegType (876)."""

    OTHER = 0
    AUTOMATIC = 1
    MANUAL = 2


class LotType(IntEnum):
    """1093."""

    ODD = 1
    ROUND = 2


class BondAttribute(IntEnum):
    """InstrAttribType (871). Values are text (872)."""

    COUPON_PERIOD = 8
    IN_DEFAULT = 15
    RESTRICTED_EFFORT = 50
    RATING_FITCH = 51
    CUSTOM_02 = 52
    RATING_SP = 53
    TRADING_DEADLINE = 54
    PRIVATE_BOOK_OWNER = 55
    PRIVATE_BOOK_ID = 56
    IS_TAKER = 57
    TRADING_SECTOR = 58


class TradingSector(IntEnum):
    """Values of `BondAttribute.TRADING_SECTOR`. The text leaves out 8, which would be that of whole lots of
    LFT: it is read and never sent."""

    CASADA_NTNB = 2
    SHORT_NTNB = 3
    LONG_NTNB = 4
    LTN = 5
    NTNF = 6
    NTNC = 7
    FRACTIONAL_LFT = 9
    FRACTIONAL_NTNC = 10
    FRACTIONAL_LTN = 11
    FRACTIONAL_NTNF = 12
    SHORT_FRACTIONAL_NTNB = 13
    LONG_FRACTIONAL_NTNB = 14
    CASADA_LTN = 15
    CASADA_NTNF = 16
    CBIO = 17
    CFF = 18
    CRA = 19
    CRI = 20
    DEB = 21


@dataclass(frozen=True, slots=True)
class Bond:
    """A bond, or a casada of one. `instrument` has what every system tells."""

    instrument: Instrument
    kind: BondKind
    price_kind: PriceKind
    lot_type: LotType = LotType.ROUND
    coupon_fine: int | None = None  # a fraction of a year's interest, in hundred-millionths
    coupon_type: CouponType = CouponType.ZERO
    coupon_date: int | None = None  # the next payment, days since 1970
    factor_fine: int | None = None  # hedge factor of a casada, in hundred-millionths
    registration: Registration = Registration.AUTOMATIC
    rate_increment: int | None = None  # of bonds in yields and spreads; others have the instrument's tick
    largest_rfq: int = 0
    largest_voice: int = 0
    allows_fractions: bool = False
    allows_negative: bool = False
    attributes: tuple[tuple[int, str], ...] = ()
    valid_until_ns: int | None = None  # the end of its trading

    @property
    def is_casada(self) -> bool:
        return bool(self.instrument.underlyings)

    @property
    def listed(self) -> Instrument:
        """As a definition tells it: with its terms."""
        terms = BondTerms(
            self.kind.name, self.coupon_type.name, self.lot_type.name, self.registration.name,
            self.coupon_fine, self.coupon_date, self.factor_fine, self.rate_increment, self.largest_rfq,
            self.largest_voice, self.allows_fractions, self.allows_negative,
            tuple(Attribute(kind, text) for kind, text in self.attributes), self.valid_until_ns,
        )  # fmt: skip
        return replace(self.instrument, bond=terms)

    @property
    def is_rate(self) -> bool:
        """Quoted in a rate: the lower one is worth more."""
        return self.price_kind in RATES

    @property
    def increment(self) -> int:
        return self.instrument.tick if self.rate_increment is None else self.rate_increment

    @property
    def sector(self) -> str | None:
        return next((text for kind, text in self.attributes if kind == BondAttribute.TRADING_SECTOR), None)
