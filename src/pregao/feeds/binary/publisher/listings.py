"""Instruments as SecurityDefinition messages (6.5.8)."""

from collections.abc import Iterable
from typing import Final

from pregao.feeds.binary.publisher.fields import Fields, decimal
from pregao.model.instruments import Instrument, Leg, Underlying
from pregao.model.market import DefinitionAction

_DAY_SECONDS: Final = 86_400
_ELIGIBLE: Final = "ELECTRONIC_MATCH_OR_GTD_GTC_ELIGIBLE"


def definition_fields(
    instrument: Instrument, action: DefinitionAction, total: int, *, last: bool, attributes: Iterable[str]
) -> Fields:
    """One of `total` definitions; `attributes` are the instrAttribTypes that the version knows."""
    known = frozenset(attributes)
    return (
        _identity(instrument)
        | _terms(instrument)
        | _quantities(instrument)
        | {
            "securityUpdateAction": action,
            "totNoRelatedSym": total,
            "lastFragment": int(last),
            "noUnderlyings": [_underlying(underlying) for underlying in instrument.underlyings],
            "noLegs": [_leg(leg) for leg in instrument.legs],
            "noInstrAttribs": [
                {"instrAttribType": attribute, "instrAttribValue": _ELIGIBLE}
                for attribute in _attributes(instrument)
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
    }


def _terms(instrument: Instrument) -> Fields:
    year, month = instrument.maturity or (None, None)
    matures = instrument.maturity_date
    is_option = instrument.is_put is not None
    return {
        "strikePrice": decimal(instrument.strike),
        "strikeCurrency": instrument.currency if instrument.strike is not None else None,
        "contractMultiplier": instrument.multiplier,
        "priceDivisor": instrument.price_divisor,
        "securityValidityTimestamp": None if matures is None else matures * _DAY_SECONDS,
        "maturityDate": matures or None,
        "endDate": matures or None,
        "maturityMonthYear": {"year": year, "month": month},
        "exerciseStyle": None if instrument.is_american is None else int(instrument.is_american),
        "putOrCall": None if instrument.is_put is None else int(not instrument.is_put),
        "optPayoutType": "VANILLA" if is_option else None,
        "multiLegModel": int(instrument.user_defined) if instrument.legs else None,
        "multiLegPriceMethod": "NET_PRICE" if instrument.legs else None,
        "impliedMarketIndicator": int(instrument.implied),
    }


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
        "minCrossQty": instrument.lot,
    }


def _attributes(instrument: Instrument) -> list[str]:
    """Told by being there; the test instrument since version 17."""
    told = {
        "TRADE_TYPE_ELIGIBILITY": True,
        "GTD_GTC_ELIGIBILITY": instrument.accepts_gt,
        "TEST_INSTRUMENT": instrument.is_test,
    }
    return [name for name, has in told.items() if has]


def _underlying(underlying: Underlying) -> Fields:
    return {"underlyingSecurityID": underlying.security_id, "underlyingSymbol": underlying.symbol}


def _leg(leg: Leg) -> Fields:
    return {
        "legSecurityID": leg.security_id,
        "legRatioQty": leg.ratio,
        "legSecurityType": leg.security_type,
        "legSide": leg.side,
        "legSymbol": leg.symbol,
    }
