"""SecurityList entries (35=y) as instruments: all that template 149 tells (5.2.5, 12.3, 12.5, 13.3).

Whatever an entry says, it is one of so many: an instrument with a value that cannot be held is listed
without it, and the value is a finding. Else its list would never be complete.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.entries import number_of, scaled, unknown
from pregao.feeds.fast.times import date_days, timestamp_ns
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition
from pregao.model.instruments import (
    Attribute,
    Governance,
    Instrument,
    Leg,
    ListingTerms,
    LotRule,
    OtherId,
    PriceMethod,
    Product,
    SecurityType,
    TickRule,
    ToldOn,
    TradeType,
    Underlying,
    UnderlyingWeight,
)
from pregao.model.market import FINE_EXPONENT, FINE_SCALE, PRICE_EXPONENT, DefinitionAction, Side
from pregao.model.rows import NULL

Entry = Mapping[str, Any]
_ISIN, _CLEARING = "4", "H"  # SecurityAltIDSource
_TRADE_TYPES, _GOOD_TILL = 24, 34  # InstAttribType
_ODD_LOT, _ROUND_LOT = 1, 2  # LotType
_BUY_BACK: Final = 8  # SecurityMatchType: made for a special auction
_FEED_TYPES: Final = frozenset(("STD", "IMP"))  # MDFeedType
_ACTIONS: Final = {"A": DefinitionAction.ADD, "M": DefinitionAction.MODIFY, "D": DefinitionAction.DELETE}
_GOVERNANCE: Final = {
    "N1": Governance.LEVEL_1, "N2": Governance.LEVEL_2, "NM": Governance.NEW_MARKET, "MA": Governance.MAIS,
    "MB": Governance.SOMA, "M2": Governance.MAIS_2,
}  # fmt: skip
# What tables can hold.
_WIDE, _NARROW, _DIGITS = 1 << 63, 1 << 31, 10**18
_ANY_SIZE: Final = 1_000_000_000


class _Listed:
    """Values of an entry: None where there is none, or none that can be held."""

    def __init__(self, entry: Entry, findings: list[DecodeError]) -> None:
        self._entry, self._findings = entry, findings

    def text(self, name: str) -> str:
        return self._entry.get(name) or ""

    def group(self, name: str) -> "list[_Listed]":
        return [_Listed(each, self._findings) for each in self._entry.get(name) or ()]

    def decimal(self, name: str, exponent: int) -> int | None:
        value: Scaled | None = self._entry.get(name)
        try:
            number = scaled(value, exponent)
        except DecodeError as error:
            return self._left_out(error.fault, name, value)
        if number == NULL or abs(number) < _DIGITS:
            return None if number == NULL else number
        return self._left_out(Fault.FAST_BEYOND_SCALE, name, value)

    def exact(self, name: str) -> str | None:
        """A decimal as sent."""
        value: Scaled | None = self._entry.get(name)
        return None if value is None else str(value)

    def number(self, name: str, below: int = _WIDE) -> int | None:
        value: int | None = self._entry.get(name)
        if value is None or -below <= value < below:
            return value
        return self._left_out(Fault.FAST_BEYOND_SCALE, name, value)

    def digits(self, name: str) -> int | None:
        """A number that the template has as text; None: none was told, or it is something else."""
        number = number_of(self._entry.get(name))
        return number if 0 <= number < _NARROW else None

    def day(self, name: str) -> int | None:
        """0 is no date."""
        value = self._entry.get(name)
        try:
            return date_days(value) if value else None
        except DecodeError as error:
            return self._left_out(error.fault, name, value)

    def time(self, name: str) -> int | None:
        value = self._entry.get(name)
        try:
            moment_ns = timestamp_ns(value) if value else None
        except DecodeError as error:
            return self._left_out(error.fault, name, value)
        return moment_ns if moment_ns is None or moment_ns < _WIDE else None  # 9999: for ever

    def known(self, name: str, domain: Iterable[object]) -> Any:
        """A value, flagged if it is not of its domain."""
        value = self._entry.get(name)
        if value is not None and value not in domain:
            self._findings.append(unknown(name, value))
        return value

    def _left_out(self, fault: Fault, name: str, value: object) -> int | None:
        self._findings.append(DecodeError(fault, 0, f"{name} {value!s:.40}"))
        return None


def definition_of(entry: Entry, channel: int, findings: list[DecodeError] | None = None) -> Definition:
    """`findings` gets what is left out or out of its domain. An action that nobody knows tells of an
    instrument all the same."""
    v = _Listed(entry, [] if findings is None else findings)
    action = _ACTIONS.get(v.known("SecurityUpdateAction", _ACTIONS), DefinitionAction.MODIFY)
    lots = _lots(v)
    put, exercise = v.number("PutOrCall"), v.number("ExerciseStyle")
    instrument = Instrument(
        security_id=entry["SecurityID"], symbol=entry["Symbol"], channel=channel,
        group=v.text("SecurityGroup").strip(), asset=v.text("Asset"),
        security_type=_security_type(entry["SecurityType"]), product=_product(entry["Product"]),
        description=entry["SecurityDesc"], sub_type=v.digits("SecuritySubType") or 0,
        segment=v.digits("MarketSegmentID") or 0, isin=_other_id(v, _ISIN), cfi_code=entry["CFICode"],
        currency=v.text("Currency") or "BRL", tick=_or(v.decimal("MinPriceIncrement", PRICE_EXPONENT), 1),
        lot=_lot(lots), minimum_quantity=v.number("MinOrderQty") or 1,
        maximum_quantity=v.number("MaxOrderQty") or _ANY_SIZE,
        multiplier_fine=_fine(v, "ContractMultiplier"), price_divisor_fine=_fine(v, "PriceDivisor"),
        strike=v.decimal("StrikePrice", PRICE_EXPONENT), is_put=None if put is None else put == 0,
        is_american=None if exercise is None else exercise == 1, issue_date=max(0, v.day("IssueDate") or 0),
        maturity_date=v.day("MaturityDate"), maturity=_month(v, "MaturityMonthYear"),
        shares_issued=v.number("NoShareIssued"),
        is_odd_lot={each.type for each in lots} == {_ODD_LOT},
        implied=v.number("ImpliedMarketIndicator") == 1, user_defined=v.number("MultiLegModel") == 1,
        legs=tuple(map(_leg, v.group("Legs"))),
        underlyings=tuple(
            Underlying(each.number("UnderlyingSecurityID") or 0, each.text("UnderlyingSymbol"))
            for each in v.group("Underlyings")
        ),
        price_method=_price_method(v), strategy_type=v.text("SecurityStrategyType") or None,
        governance=_GOVERNANCE.get(v.text("GovernanceIndicator")),
        is_buy_back=v.number("SecurityMatchType") == _BUY_BACK,
        clearing_id=_clearing_id(v), settlement_days=_settlement_days(v.text("SettlType")),
        settlement_date=v.day("SettlDate"), **_attributes(v), listing=_listing(v, lots),
    )  # fmt: skip
    return Definition(instrument, action)


def findings_of(entries: Iterable[Entry]) -> list[tuple[int, DecodeError]]:
    """What the entries of a list have that is out of its domain or cannot be held, with their indexes."""
    told: list[tuple[int, DecodeError]] = []
    for index, entry in enumerate(entries):
        findings: list[DecodeError] = []
        definition_of(entry, 0, findings)
        told += [(index, each) for each in findings]
    return told


def _leg(leg: _Listed) -> Leg:
    side = Side.BUY if leg.number("LegSide") == 1 else Side.SELL
    kind, ratio = _security_type(leg.text("LegSecurityType")), abs(leg.number("LegRatioQty") or 0)
    return Leg(leg.number("LegSecurityID") or 0, leg.text("LegSymbol"), side, ratio, kind)


def _security_type(text: str) -> SecurityType:
    """0 where nobody knows it, as Binary UMDF's reader has it."""
    found = SecurityType.__members__.get(text)
    return found if found is not None else 0  # type: ignore[return-value]


def _product(number: int) -> Product:
    return Product(number) if number in Product.__members__.values() else 0  # type: ignore[return-value]


def _price_method(v: _Listed) -> PriceMethod | None:
    number = v.number("MultiLegPriceMethod")
    return next((each for each in PriceMethod if each == number), None)


def _other_id(v: _Listed, source: str) -> str | None:
    others = v.group("SecurityAltIDs")
    return next(
        (each.text("SecurityAltID") for each in others if each.text("SecurityAltIDSource") == source), None
    )


def _clearing_id(v: _Listed) -> int | None:
    number = number_of(_other_id(v, _CLEARING))
    return None if number == NULL else number


def _lots(v: _Listed) -> tuple[LotRule, ...]:
    return tuple(LotRule(each.number("LotType"), each.number("MinLotSize")) for each in v.group("Lots"))


def _lot(lots: tuple[LotRule, ...]) -> int:
    """The round lot, or whatever there is."""
    sizes = [each.size for each in lots if each.type == _ROUND_LOT] + [each.size for each in lots]
    return next((size for size in sizes if size), 1)


def _attributes(v: _Listed) -> dict[str, Any]:
    """870: attributes that nobody knows are kept in `listing`, and flagged."""
    told = [
        (each.known("InstAttribType", (_TRADE_TYPES, _GOOD_TILL)), each.digits("InstAttribValue"))
        for each in v.group("InstrAttrib")
    ]
    types = {value for kind, value in told if kind == _TRADE_TYPES}
    return {
        "accepts_gt": (_GOOD_TILL, 1) in told,
        "trade_types": tuple(each for each in TradeType if each in types),
    }


def _settlement_days(text: str) -> int | None:
    """D3, or a number."""
    digits = number_of(text.removeprefix("D") or None)
    return digits if 0 <= digits < 10_000 else None


def _month(v: _Listed, name: str) -> tuple[int, int] | None:
    """YYYYMM, with a week or a day behind it of those that have one (PUMA Conflated, 7.4.2)."""
    digits = str(v.number(name) or "")
    year, month = digits[:4], digits[4:6]
    return (int(year), int(month)) if 6 <= len(digits) <= 8 and 1 <= int(month) <= 12 else None


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _fine(v: _Listed, name: str) -> int | None:
    """1 where none was told; None where it has more places than can be held, as the reducer of an index
    (13.3) may: `listing` has it."""
    return v.decimal(name, FINE_EXPONENT) if v.exact(name) is not None else FINE_SCALE


def _listing(v: _Listed, lots: tuple[LotRule, ...]) -> ListingTerms:
    """What else a list tells."""
    return ListingTerms(
        country=v.text("CountryOfIssue"), settlement_currency=v.text("SettlCurrency") or None,
        strike_currency=v.text("StrikeCurrency") or None, decimals=v.number("TickSizeDenominator"),
        dated_date=v.day("DatedDate"), start_date=v.day("StartDate"), end_date=v.day("EndDate"),
        contract_month=_month(v, "ContractSettlMonth"), valid_until_ns=v.time("SecurityValidityTimestamp"),
        corporate_action=v.number("CorporateActionEventID"), price_divisor=v.exact("PriceDivisor"),
        other_ids=tuple(
            OtherId(each.text("SecurityAltIDSource"), each.text("SecurityAltID"))
            for each in v.group("SecurityAltIDs")
        ),
        attributes=tuple(
            Attribute(each.number("InstAttribType") or 0, each.text("InstAttribValue"))
            for each in v.group("InstrAttrib")
        ),
        lots=lots,
        tick_rules=tuple(
            TickRule(
                each.exact("StartTickPriceRange"), each.exact("EndTickPriceRange"),
                each.exact("TickIncrement"), each.number("TickRuleType"),
            )
            for each in v.group("TickRules")
        ),
        weights=tuple(
            UnderlyingWeight(
                each.number("UnderlyingSecurityID") or 0, each.exact("IndexPct"),
                each.exact("IndexTheoreticalQty"),
            )
            for each in v.group("Underlyings")
        ),
        channels=tuple(
            ToldOn(each.text("ApplID"), kind.known("MDFeedType", _FEED_TYPES), kind.number("MarketDepth"))
            for each in v.group("ApplIDs")
            for kind in each.group("FeedTypes") or [_Listed({}, [])]
        ),
    )  # fmt: skip
