"""Instruments as SecurityDefinition messages (6.5.8)."""

from collections.abc import Iterable
from typing import Final

from pregao.feeds.binary.publisher.fields import Fields, decimal
from pregao.model.instruments import Instrument, Leg, Payout, TradeType, Underlying
from pregao.model.market import FINE_EXPONENT, DefinitionAction, Side

_DAY_SECONDS: Final = 86_400
_ELIGIBLE: Final = TradeType.ELECTRONIC  # the same number says that an instrument takes GTC and GTD
_BUY_BACK: Final = "ISSUING_BUY_BACK_AUCTION"
_CASH_SETTLED: Final = "VANILLA_CASH_SETTLEMENT"


def definition_fields(
    instrument: Instrument,
    action: DefinitionAction,
    total: int,
    *,
    last: bool,
    words: Iterable[str],
    signed_ratios: bool = True,
) -> Fields:
    """One of `total` definitions; `words` are the instrAttribTypes and optPayoutTypes of the version.
    `signed_ratios`: legRatioQty of a leg to sell is below zero, as in B3's own definitions."""
    known = frozenset(words)
    return (
        _identity(instrument)
        | _terms(instrument)
        | _option(instrument, known)
        | _quantities(instrument)
        | {
            "securityUpdateAction": action,
            "totNoRelatedSym": total,
            "lastFragment": int(last),
            "noUnderlyings": [_underlying(underlying) for underlying in instrument.underlyings],
            "noLegs": [_leg(leg, signed=signed_ratios) for leg in instrument.legs],
            "noInstrAttribs": [
                {"instrAttribType": attribute, "instrAttribValue": value}
                for attribute, value in _attributes(instrument)
                if attribute in known
            ],
            "securityDesc": instrument.description or None,
        }
    )


def _identity(instrument: Instrument) -> Fields:
    return {
        "securityID": instrument.security_id,
        "securityExchange": instrument.exchange,
        "securityIDSource": "EXCHANGE_SYMBOL",
        "securityGroup": instrument.group,
        "symbol": instrument.symbol,
        "securityType": instrument.security_type,
        "securitySubType": instrument.sub_type,
        "noSharesIssued": instrument.shares_issued or None,
        "issueDate": instrument.issue_date,
        "countryOfIssue": "BR",
        "isinNumber": instrument.isin,
        "asset": instrument.asset,
        "cfiCode": instrument.cfi_code,
        "currency": instrument.currency,
        "settlCurrency": instrument.currency,
        "product": instrument.product,
        "marketSegmentID": instrument.segment or None,
        "clearingHouseID": instrument.clearing_id,
        "governanceIndicator": instrument.governance,
        "securityMatchType": _BUY_BACK if instrument.is_buy_back else None,
    }


def _terms(instrument: Instrument) -> Fields:
    year, month = instrument.maturity or (None, None)
    matures = instrument.maturity_date
    return {
        "strikePrice": decimal(instrument.strike),
        "strikeCurrency": instrument.currency if instrument.strike is not None else None,
        "contractMultiplier": decimal(instrument.multiplier_fine, FINE_EXPONENT),
        "priceDivisor": decimal(instrument.price_divisor_fine, FINE_EXPONENT),
        "securityValidityTimestamp": None if matures is None else matures * _DAY_SECONDS,
        "maturityDate": matures or None,
        "endDate": matures or None,
        "maturityMonthYear": {"year": year, "month": month},
        "settlType": instrument.settlement_days,
        "settlDate": instrument.settlement_date,
        "priceType": instrument.price_kind,
        "multiLegModel": int(instrument.user_defined) if instrument.legs else None,
        "multiLegPriceMethod": instrument.price_method if instrument.legs else None,
        "securityStrategyType": instrument.strategy_type,
        "impliedMarketIndicator": int(instrument.implied),
    }


def _option(instrument: Instrument, known: frozenset[str]) -> Fields:
    return {
        "exerciseStyle": None if instrument.is_american is None else int(instrument.is_american),
        "putOrCall": None if instrument.is_put is None else int(not instrument.is_put),
        "optPayoutType": None if instrument.is_put is None else _payout(instrument.payout, known),
    }


def _payout(payout: Payout | None, known: frozenset[str]) -> str | None:
    """Before 17 there is no word for cash settlement, and its number says something else."""
    if payout is None:
        return None
    if payout is Payout.VANILLA_CASH and _CASH_SETTLED in known:
        return _CASH_SETTLED
    return "BINARY" if payout is Payout.BINARY else "VANILLA"


def _quantities(instrument: Instrument) -> Fields:
    places = f"{decimal(instrument.tick):f}".rstrip("0").partition(".")[2]
    return {
        "minPriceIncrement": decimal(instrument.tick),
        "tickSizeDenominator": len(places),
        "lotType": "ODD_LOT" if instrument.is_odd_lot else "ROUND_LOT",
        "minOrderQty": instrument.minimum_quantity,
        "maxOrderQty": instrument.maximum_quantity,
        "minLotSize": instrument.lot,
        "minTradeVol": instrument.lot,
        "minCrossQty": instrument.minimum_cross,
    }


def _attributes(instrument: Instrument) -> list[tuple[str, TradeType]]:
    """How it may be traded; the others are told by being there, the test instrument since version 17."""
    attributes = [("TRADE_TYPE_ELIGIBILITY", trade_type) for trade_type in instrument.trade_types]
    if instrument.accepts_gt:
        attributes.append(("GTD_GTC_ELIGIBILITY", _ELIGIBLE))
    if instrument.is_test:
        attributes.append(("TEST_INSTRUMENT", _ELIGIBLE))
    return attributes


def _underlying(underlying: Underlying) -> Fields:
    return {"underlyingSecurityID": underlying.security_id, "underlyingSymbol": underlying.symbol}


def _leg(leg: Leg, *, signed: bool) -> Fields:
    return {
        "legSecurityID": leg.security_id,
        "legRatioQty": -leg.ratio if signed and leg.side is Side.SELL else leg.ratio,
        "legSecurityType": leg.security_type,
        "legSide": leg.side,
        "legSymbol": leg.symbol,
    }
