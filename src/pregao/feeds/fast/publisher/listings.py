"""Instruments as entries of 35=y, phases and states as 35=f, news as 35=B: template names and values."""

from collections.abc import Iterator
from typing import Any, Final

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.publisher.entries import day_number, fine_price, moment_number, price
from pregao.model import events as e
from pregao.model.instruments import Governance, Instrument, Leg, TradeType
from pregao.model.market import DefinitionAction, Session, Side

Fields = dict[str, Any]

_EXCHANGE: Final = "BVMF"
_STANDARD: Final = "STD"
_GOVERNANCE: Final = {
    Governance.LEVEL_1: "N1", Governance.LEVEL_2: "N2", Governance.NEW_MARKET: "NM", Governance.MAIS: "MA",
    Governance.SOMA: "MB", Governance.MAIS_2: "M2",
}  # fmt: skip
_ISIN: Final = "4"
_ROUND_LOT: Final = 2
_ODD_LOT: Final = 1
_TRADE_TYPES: Final = 24  # InstrAttribType: eligibility of trade types
_GT_ORDERS: Final = 34
_BUY_BACK: Final = 8
_LAST_VALIDITY: Final = 99_991_231_235_959_000


def instrument_entry(
    instrument: Instrument, action: DefinitionAction, channel: int, depth: int | None
) -> Fields:
    """`depth` of the channel's books (264); None where they have every order."""
    feeds = None if depth is None else [{"MDFeedType": _STANDARD, "MarketDepth": depth}]
    found: Fields = {
        "Symbol": instrument.symbol, "SecurityID": instrument.security_id,
        "ApplIDs": [{"ApplID": str(channel)} | ({} if feeds is None else {"FeedTypes": feeds})],
        "SecurityUpdateAction": chr(action), "Product": int(instrument.product),
        "SecurityType": instrument.security_type.name, "SecuritySubType": str(instrument.sub_type),
        "SecurityDesc": _ascii(instrument.description), "CFICode": instrument.cfi_code,
        "CountryOfIssue": "BR", "IssueDate": day_number(instrument.issue_date),
        "SecurityValidityTimestamp": _validity(instrument.maturity_date),
        "SecurityGroup": instrument.group, "Currency": instrument.currency,
        "SettlCurrency": instrument.currency, "MarketSegmentID": str(instrument.segment),
        "Asset": instrument.asset or None, "ImpliedMarketIndicator": int(instrument.implied),
        "NoShareIssued": instrument.shares_issued,
        "SecurityStrategyType": instrument.strategy_type,
    }  # fmt: skip
    found |= _terms(instrument) | _quantities(instrument) | _groups(instrument)
    return {name: value for name, value in found.items() if value is not None}


def _terms(instrument: Instrument) -> Fields:
    matures, option = instrument.maturity_date, instrument.is_put is not None
    month = instrument.maturity
    return {
        "MaturityDate": None if matures is None else day_number(matures),
        "MaturityMonthYear": None if month is None else month[0] * 100 + month[1],
        "StrikePrice": None if instrument.strike is None else price(instrument.strike),
        "StrikeCurrency": None if instrument.strike is None else instrument.currency,
        "ExerciseStyle": None if instrument.is_american is None else int(instrument.is_american),
        "PutOrCall": int(not instrument.is_put) if option else None,
        "ContractMultiplier": _fine(instrument.multiplier_fine),
        "PriceDivisor": _fine(instrument.price_divisor_fine),
        "SettlType": None if instrument.settlement_days is None else str(instrument.settlement_days),
        "SettlDate": None if instrument.settlement_date is None else day_number(instrument.settlement_date),
        "MultiLegModel": int(instrument.user_defined) if instrument.legs else None,
        "MultiLegPriceMethod": int(instrument.price_method or 0) if instrument.legs else None,
        "GovernanceIndicator": _GOVERNANCE.get(instrument.governance or Governance.NONE),
        "SecurityMatchType": _BUY_BACK if instrument.is_buy_back else None,
    }  # fmt: skip


def _quantities(instrument: Instrument) -> Fields:
    tick = price(instrument.tick)
    kind = _ODD_LOT if instrument.is_odd_lot else _ROUND_LOT
    return {
        "MinPriceIncrement": tick,
        "TickSizeDenominator": len(str(tick).rstrip("0").partition(".")[2]),
        "MinOrderQty": instrument.minimum_quantity,
        "MaxOrderQty": instrument.maximum_quantity,
        "Lots": [{"LotType": kind, "MinLotSize": instrument.lot}],
    }


def _groups(instrument: Instrument) -> Fields:
    attributes = [(_TRADE_TYPES, each) for each in instrument.trade_types]
    attributes += [(_GT_ORDERS, TradeType.ELECTRONIC)] if instrument.accepts_gt else []
    return {
        "SecurityAltIDs": [{"SecurityAltID": instrument.isin, "SecurityAltIDSource": _ISIN}]
        if instrument.isin
        else None,
        "InstrAttrib": [
            {"InstAttribType": kind, "InstAttribValue": str(int(value))} for kind, value in attributes
        ],
        "Underlyings": [
            {"UnderlyingSymbol": each.symbol, "UnderlyingSecurityID": each.security_id}
            for each in instrument.underlyings
        ]
        or None,
        "Legs": [_leg(leg) for leg in instrument.legs] or None,
    }


def _leg(leg: Leg) -> Fields:
    return {
        "LegSymbol": leg.symbol, "LegSecurityID": leg.security_id, "LegRatioQty": leg.ratio,
        "LegSecurityType": leg.security_type.name, "LegSide": 1 if leg.side is Side.BUY else 2,
    }  # fmt: skip


def _fine(value: int | None) -> Scaled | None:
    return None if value is None else fine_price(value)


def _validity(days: int | None) -> int:
    """6938 is mandatory: what never ends is valid until the last day there is."""
    return _LAST_VALIDITY if days is None else day_number(days) * 1_000_000_000 + 235_959_000


def _ascii(text: str) -> str:
    """Text without what a string of the template cannot carry."""
    return text.encode("ascii", "replace").decode("ascii")


def status_fields(update: e.PhaseChanged | e.StateChanged) -> Fields:
    """625 of groups, 326 of instruments (11); 75 is required by the template (12.7 says unused)."""
    found: Fields = {
        "SecurityExchange": _EXCHANGE,
        "TransactTime": moment_number(update.transact_ns),
        "TradeDate": day_number(update.trade_date),
        "TradSesOpenTime": moment_number(update.ends_ns) if update.ends_ns else None,
        "TradingSessionID": int(update.session) if update.session is Session.NON_REGULAR else None,
        "SecurityTradingEvent": None if update.event is None else int(update.event),
    }
    if isinstance(update, e.PhaseChanged):
        found |= {"SecurityGroup": update.group, "TradingSessionSubID": str(int(update.phase))}
        found["SecurityExchange"] = update.exchange
    else:
        found |= {
            "SecurityID": update.security_id, "SecurityIDSource": 8,
            "SecurityTradingStatus": None if update.state is None else int(update.state),
        }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def news_fields(news: e.News) -> Fields:
    """A whole news is one message, of lines (12.8, 13.10). What is not ASCII goes encoded beside it."""
    found: Fields = {
        "OrigTime": moment_number(news.time_ns),
        "NewsSource": str(news.source),
        "NewsID": None if news.news_id is None else str(news.news_id),
        "LanguageCode": news.language,
        "Headline": _ascii(news.headline),
        "URLLink": news.url,
        "LinesOfText": [_line(line) for line in _lines(news.text)] or None,
    }
    if not news.headline.isascii():
        found["EncodedHeadlineLen"] = len(news.headline.encode("utf-8"))
        found["EncodedHeadline"] = news.headline
    if news.security_id is not None:
        found["RelatedSym"] = [{"SecurityID": news.security_id, "SecurityExchange": _EXCHANGE}]
    return {name: value for name, value in found.items() if value is not None}


def _line(text: str) -> Fields:
    if text.isascii():
        return {"Text": text}
    return {"Text": _ascii(text), "EncodedTextLen": len(text.encode("utf-8")), "EncodedText": text}


def _lines(text: str) -> Iterator[str]:
    """Its own lines; readers put a line break between lines, so that long ones are not cut."""
    yield from text.split("\n") if text else ()
