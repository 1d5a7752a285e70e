"""SecurityDefinition messages as instruments (6.5.8)."""

from typing import Any, Final

from pregao.feeds.binary.reading import words as w
from pregao.feeds.binary.reading.values import Values
from pregao.model import events as e
from pregao.model.instruments import Instrument, Leg, Underlying
from pregao.model.market import Side

_WHOLE: Final = 1


def definition(v: Values, channel: int) -> e.Definition:
    """Both messages. What is null is as the model has it by default."""
    fields = (
        {"channel": channel} | _identity(v) | _terms(v) | _quantities(v) | _settlement(v) | _attributes(v)
    )
    instrument = Instrument(
        # Of these null is a value of its own.
        price_kind=v.word("priceType", w.PRICE_KINDS),
        price_method=v.word("multiLegPriceMethod", w.PRICE_METHODS),
        payout=v.word("optPayoutType", w.PAYOUTS),
        multiplier_fine=v.fine("contractMultiplier"),
        price_divisor_fine=v.fine("priceDivisor"),
        legs=tuple(_leg(leg) for leg in v.entries("noLegs")),
        underlyings=tuple(_underlying(one) for one in v.entries("noUnderlyings")),
        **{name: value for name, value in fields.items() if value is not None},
    )
    return e.Definition(instrument, v.need("action", v.word("securityUpdateAction", w.DEFINITION_ACTIONS)))


def _text(v: Values, field: str, name: str) -> str:
    return v.need(field, v.get(name)) or ""


def _identity(v: Values) -> dict[str, Any]:
    security_type, product = v.word("securityType", w.SECURITY_TYPES), v.word("product", w.PRODUCTS)
    return {
        # 0 and not None: an instrument has these, and a number that nobody uses says that they are not known.
        "security_id": v.need("security_id", v.get("securityID")) or 0,
        "security_type": v.need("security_type", security_type) or 0,
        "product": v.need("product", product) or 0,
        "symbol": _text(v, "symbol", "symbol"),
        "group": _text(v, "group", "securityGroup"),
        "asset": _text(v, "asset", "asset"),
        "description": v.get("securityDesc"),
        "exchange": v.get("securityExchange"),
        "sub_type": v.get("securitySubType"),
        "segment": v.number("marketSegmentID"),
        "isin": v.get("isinNumber"),
        "currency": v.get("currency"),
        "cfi_code": v.get("cfiCode"),
        "issue_date": v.get("issueDate"),
        "shares_issued": v.get("noSharesIssued"),
        "governance": v.word("governanceIndicator", w.GOVERNANCES),
        "is_buy_back": v.get("securityMatchType") == "ISSUING_BUY_BACK_AUCTION",
    }


def _terms(v: Values) -> dict[str, Any]:
    put_or_call, style = v.get("putOrCall"), v.get("exerciseStyle")
    month_year = v.get("maturityMonthYear") or {}
    year, month = month_year.get("year"), month_year.get("month")
    return {
        "strike": v.price("strikePrice"),
        "is_put": None if put_or_call not in ("PUT", "CALL") else put_or_call == "PUT",
        "is_american": None if style not in ("AMERICAN", "EUROPEAN") else style == "AMERICAN",
        "maturity_date": v.get("maturityDate"),
        "maturity": None if year is None or month is None else (year, month),
        "implied": v.get("impliedMarketIndicator") == "IMPLIED",
        "user_defined": v.get("multiLegModel") == "USER_DEFINED",
        "strategy_type": v.get("securityStrategyType"),
    }


def _settlement(v: Values) -> dict[str, Any]:
    return {
        "clearing_id": v.get("clearingHouseID"),
        "settlement_days": v.get("settlType"),
        "settlement_date": v.get("settlDate"),
    }


def _quantities(v: Values) -> dict[str, Any]:
    return {
        "tick": v.price("minPriceIncrement"),
        "lot": v.get("minLotSize"),
        "minimum_quantity": v.get("minOrderQty"),
        "maximum_quantity": v.get("maxOrderQty"),
        "minimum_cross": v.get("minCrossQty"),
        "is_odd_lot": v.get("lotType") == "ODD_LOT",
    }


def _attributes(v: Values) -> dict[str, Any]:
    """Told by being there, each with a value of its own only where it is the types of trade; the test
    instrument from version 17 on."""
    attributes = [(entry.get("instrAttribType"), entry) for entry in v.entries("noInstrAttribs")]
    kinds = {kind for kind, _ in attributes}
    return {
        "accepts_gt": "GTD_GTC_ELIGIBILITY" in kinds,
        "is_test": "TEST_INSTRUMENT" in kinds,
        "trade_types": tuple(
            entry.word("instrAttribValue", w.TRADE_TYPES)
            for kind, entry in attributes
            if kind == "TRADE_TYPE_ELIGIBILITY" and entry.get("instrAttribValue") is not None
        ),
    }


def _leg(v: Values) -> Leg:
    """legRatioQty may have a sign, which says what legSide says: it counts once. Where they contradict each
    other the side is believed, and the ratio is noted as lacking."""
    side, ratio = v.word("legSide", w.SIDES), v.scaled("legRatioQty", _WHOLE)
    if ratio is not None and ratio < 0:
        side = Side.SELL if side is None else side
        if side is not Side.SELL:
            v.need("leg.ratio", None)
        ratio = -ratio
    return Leg(
        security_id=v.need("leg.security_id", v.get("legSecurityID")),
        symbol=_text(v, "leg.symbol", "legSymbol"),
        side=v.need("leg.side", side),
        ratio=v.need("leg.ratio", ratio),
        security_type=v.need("leg.security_type", v.word("legSecurityType", w.SECURITY_TYPES)),
    )


def _underlying(v: Values) -> Underlying:
    return Underlying(
        security_id=v.need("underlying.security_id", v.get("underlyingSecurityID")),
        symbol=_text(v, "underlying.symbol", "underlyingSymbol"),
    )
