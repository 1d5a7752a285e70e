"""Instruments as entries of 35=y (7.4.2), phases and states as 35=f (7.5.5) and 269=c (7.8.14), news as 35=B
(7.5.6): tags and the bytes of their values."""

from typing import Any, Final

from pregao.codecs.fix.formats import format_timestamp
from pregao.feeds.conflated.publisher.entries import (
    BY_LEVEL,
    BY_ORDER,
    MARKET,
    SOURCE,
    Entry,
    date_text,
    fine_text,
    head,
    price_text,
)
from pregao.model import events as e
from pregao.model.instruments import (
    Governance,
    Instrument,
    Leg,
    ListingTerms,
    TickRule,
    TradeType,
    Underlying,
)
from pregao.model.market import Action, DefinitionAction, Session, Side, StateEvent

Fields = dict[int, Any]

UTF_8: Final = b"UTF-8"  # MessageEncoding (347)
_STANDARD: Final = b"STD"  # 1022 is required and "not sent for MBO": it begins its group, so it is sent
_ALL_LEVELS: Final = b"0"
_ISIN, _CLEARING_HOUSE = b"4", b"H"
_ROUND_LOT, _ODD_LOT = b"2", b"1"
_TRADE_TYPES, _GT_ORDERS = b"24", b"34"
_TOLD_TYPES: Final = (TradeType.ELECTRONIC, TradeType.BLOCK, TradeType.NEGOTIATED)  # that 872 has words for
_BUY_BACK: Final = b"8"
_SESSION_CHANGE: Final = b"%d" % StateEvent.SESSION_CHANGE
_LAST_VALIDITY: Final = b"99991231-23:59:59.000"
_GOVERNANCE: Final = {
    Governance.LEVEL_1: b"N1", Governance.LEVEL_2: b"N2", Governance.LEVEL_3: b"N3",
    Governance.NEW_MARKET: b"NM", Governance.MAIS: b"MA", Governance.SOMA: b"MB", Governance.MAIS_2: b"M2",
}  # fmt: skip


def instrument_fields(
    instrument: Instrument, action: DefinitionAction, *, price_depth: bool = False
) -> Fields:
    """`price_depth`: there is a book by level too."""
    depths = (BY_ORDER, BY_LEVEL) if price_depth else (BY_ORDER,)
    found: Fields = {
        55: ascii_text(instrument.symbol), 48: b"%d" % instrument.security_id, 22: SOURCE, 207: MARKET,
        1141: [{1022: _STANDARD, 264: _ALL_LEVELS, 1021: depth} for depth in depths],
        460: b"%d" % instrument.product, 461: ascii_text(instrument.cfi_code),
        1151: ascii_text(instrument.group), 167: instrument.security_type.name.encode("ascii"),
        762: b"%d" % instrument.sub_type, 225: date_text(instrument.issue_date), 470: b"BR",
        107: ascii_text(instrument.description or instrument.symbol), 980: b"%c" % int(action),
        15: instrument.currency.encode("ascii"), 120: instrument.currency.encode("ascii"),
        6938: _validity(instrument.maturity_date), 1300: b"%d" % instrument.segment,
        1144: b"%d" % instrument.implied,
    }  # fmt: skip
    found |= _terms(instrument) | _quantities(instrument) | _groups(instrument)
    found |= _rare_terms(instrument.terms or ListingTerms())
    return {tag: value for tag, value in found.items() if value is not None}


def _terms(instrument: Instrument) -> Fields:
    option = instrument.is_put is not None
    return {
        6937: ascii_text(instrument.asset) if instrument.asset else None,
        7534: None if instrument.strategy_type is None else ascii_text(instrument.strategy_type),
        541: None if instrument.maturity_date is None else date_text(instrument.maturity_date),
        200: _maturity(instrument),
        202: None if instrument.strike is None else price_text(instrument.strike),
        947: None if instrument.strike is None else instrument.currency.encode("ascii"),
        1194: _number(instrument.is_american),
        201: _number(not instrument.is_put) if option else None,
        1482: _number(instrument.payout) if option else None,
        231: None if instrument.multiplier_fine is None else fine_text(instrument.multiplier_fine),
        37012: None if instrument.price_divisor_fine is None else fine_text(instrument.price_divisor_fine),
        63: None if not instrument.settlement_days else b"D%d" % instrument.settlement_days,
        64: None if instrument.settlement_date is None else date_text(instrument.settlement_date),
        1377: _number(instrument.user_defined) if instrument.legs else None,
        1378: _number(instrument.price_method or 0) if instrument.legs else None,
        37011: _GOVERNANCE.get(instrument.governance or Governance.NONE),
        37015: _BUY_BACK if instrument.is_buy_back else None,
        7595: _number(instrument.shares_issued),
    }  # fmt: skip


def _maturity(instrument: Instrument) -> bytes | None:
    """Of options of a week or a day that too (YYYYMMW, YYYYMMDD)."""
    if instrument.maturity is None:
        return None
    month, terms = b"%04d%02d" % instrument.maturity, instrument.terms or ListingTerms()
    if terms.maturity_day is not None:
        return month + b"%02d" % terms.maturity_day
    return month if terms.maturity_week is None else month + b"%d" % terms.maturity_week


def _rare_terms(terms: ListingTerms) -> Fields:
    dates = {873: terms.dated_date, 916: terms.start_date, 917: terms.end_date}
    found: Fields = {tag: date_text(days) for tag, days in dates.items() if days is not None}
    if terms.settlement_month is not None:
        found[667] = b"%04d%02d" % terms.settlement_month
    if terms.corporate_action is not None:
        found[37010] = b"%d" % terms.corporate_action
    if terms.tick_rules:
        found[1205] = [_tick_rule(each) for each in terms.tick_rules]
    return found


def _tick_rule(rule: TickRule) -> Fields:
    prices = {1206: rule.start, 1207: rule.end, 1208: rule.increment}
    found: Fields = {tag: price_text(value) for tag, value in prices.items() if value is not None}
    return found if rule.kind is None else found | {1209: b"%d" % rule.kind}


def _quantities(instrument: Instrument) -> Fields:
    tick = price_text(instrument.tick)
    lot = b"%d" % instrument.lot
    return {
        969: tick, 5151: b"%d" % len(tick.rstrip(b"0").partition(b".")[2]),
        9749: b"%d" % instrument.minimum_quantity, 9748: b"%d" % instrument.maximum_quantity,
        1234: [{1093: _ODD_LOT if instrument.is_odd_lot else _ROUND_LOT, 1231: lot}], 561: lot,
        35561: _number(instrument.minimum_cross),
    }  # fmt: skip


def _groups(instrument: Instrument) -> Fields:
    others = []
    if instrument.isin:
        others.append({455: ascii_text(instrument.isin), 456: _ISIN})
    if instrument.clearing_id is not None:
        others.append({455: b"%d" % instrument.clearing_id, 456: _CLEARING_HOUSE})
    attributes = [
        {871: _TRADE_TYPES, 872: b"%d" % each} for each in instrument.trade_types if each in _TOLD_TYPES
    ]
    attributes += [{871: _GT_ORDERS, 872: b"1"}] if instrument.accepts_gt else []
    underlyings = [_underlying(each) for each in instrument.underlyings]
    legs = [_leg(leg) for leg in instrument.legs]
    return {454: others or None, 870: attributes or None, 711: underlyings or None, 555: legs or None}


def _underlying(underlying: Underlying) -> Fields:
    found: Fields = {
        311: ascii_text(underlying.symbol), 309: b"%d" % underlying.security_id, 305: SOURCE, 308: MARKET,
    }  # fmt: skip
    of_index = {6919: underlying.percent_fine, 37021: underlying.quantity_fine}
    return found | {tag: fine_text(value) for tag, value in of_index.items() if value is not None}


def _leg(leg: Leg) -> Fields:
    return {
        600: ascii_text(leg.symbol), 602: b"%d" % leg.security_id, 603: SOURCE, 623: b"%d" % leg.ratio,
        609: leg.security_type.name.encode("ascii"), 624: b"1" if leg.side is Side.BUY else b"2", 616: MARKET,
    }  # fmt: skip


def _number(value: int | None) -> bytes | None:
    return None if value is None else b"%d" % value


def _validity(days: int | None) -> bytes:
    """6938 is required: what never ends is valid until the last day there is."""
    return _LAST_VALIDITY if days is None else date_text(days) + b"-23:59:59.000"


def ascii_text(text: str) -> bytes:
    """What a FIX string can carry of a text; never empty, and without delimiters."""
    return text.encode("ascii", "replace").replace(b"\x01", b"?") or b" "


# Phases and states


def status_fields(update: e.PhaseChanged | e.StateChanged) -> Fields:
    """35=f. A group has 1151 and 625 and no instrument, an instrument 48 and 326."""
    found: Fields = {60: format_timestamp(update.transact_ns), 75: date_text(update.trade_date)}
    if isinstance(update, e.PhaseChanged):
        found |= {1151: ascii_text(update.group), 625: b"%d" % update.phase}
    else:
        found |= {48: b"%d" % update.security_id, 22: SOURCE, 207: MARKET}
        if update.state is not None:
            found[326] = b"%d" % update.state
    return found | _status(update)


def _status(update: e.PhaseChanged | e.StateChanged) -> Fields:
    found: Fields = {}
    if update.session is Session.NON_REGULAR:
        found[336] = b"%d" % update.session
    if update.ends_ns:
        found[342] = format_timestamp(update.ends_ns)
    if update.event is not None:
        found[1174] = b"%d" % update.event
    return found


def state_entry(state: e.StateChanged, phase: e.PhaseChanged | None) -> Entry:
    """269=c of 35=W: 326 of an instrument with a state of its own, 625 of one that follows its group."""
    entry = head(Action.NEW, b"c", state.security_id, state.transact_ns)
    if state.state is not None:
        entry |= {326: b"%d" % state.state} | _status(state)
    elif phase is not None:
        entry |= {625: b"%d" % phase.phase} | _status(phase)
    if entry.get(1174) == _SESSION_CHANGE:  # statistics that were told since must not be forgotten (7.8.14)
        del entry[1174]
    return entry


# News


def news_fields(news: e.News) -> Fields:
    """A whole news is one message, of lines. What is not ASCII goes encoded beside it (347)."""
    found: Fields = {
        42: format_timestamp(news.time_ns),
        6940: b"%d" % news.source,
        148: ascii_text(news.headline),
        33: [_line(line) for line in news.text.split("\n")],
    }
    given = {1472: news.news_id, 1474: news.language, 149: news.url}
    found |= {tag: ascii_text(str(value)) for tag, value in given.items() if value is not None}
    if not news.headline.isascii():
        encoded = news.headline.encode("utf-8")
        found |= {358: b"%d" % len(encoded), 359: encoded}
    related = news.related or (() if news.security_id is None else (news.security_id,))
    if related:
        found[146] = [{48: b"%d" % each, 22: SOURCE, 207: MARKET} for each in related]
    return found


def is_encoded(news: e.News) -> bool:
    return not (news.headline.isascii() and news.text.isascii())


def _line(text: str) -> Fields:
    if text.isascii():
        return {58: ascii_text(text)}
    encoded = text.encode("utf-8")
    return {58: ascii_text(text), 354: b"%d" % len(encoded), 355: encoded}
