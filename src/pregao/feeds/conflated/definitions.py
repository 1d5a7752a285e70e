"""Instruments (35=y), news (35=B) and market totals (35=UTOT, UTOTC) as the model has them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pregao.codecs.fix import Dictionary, Entry, FixMessage, MonthYear, ValueFormatError, parse_message
from pregao.codecs.fix.types import parse_decimal, parse_month_year
from pregao.feeds.conflated.entries import quantity, small_of
from pregao.feeds.fix_values import days_of, moment_of, number_of, scaled, text_of, timestamp_of
from pregao.model.errors import DecodeError
from pregao.model.events import Definition, MarketTotal, News
from pregao.model.instruments import (
    Governance,
    Instrument,
    Leg,
    ListingTerms,
    Payout,
    PriceMethod,
    Product,
    SecurityType,
    TickRule,
    TradeType,
    Underlying,
    UnderlyingWeight,
)
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, DefinitionAction, Side
from pregao.model.rows import NULL

_ACTIONS: Final = {b"A": DefinitionAction.ADD, b"M": DefinitionAction.MODIFY, b"D": DefinitionAction.DELETE}
_ISIN, _CLEARING = b"4", b"H"  # 456
_TRADE_TYPES, _GOOD_TILL = b"24", b"34"  # 871
_NOTHING_MORE: Final = ListingTerms()
_ODD_LOT, _ROUND_LOT = b"1", b"2"  # 1093
_GOVERNANCE: Final = {
    b"N1": Governance.LEVEL_1,
    b"N2": Governance.LEVEL_2,
    b"N3": Governance.LEVEL_3,
    b"NM": Governance.NEW_MARKET,
    b"MA": Governance.MAIS,
    b"MB": Governance.SOMA,
    b"M2": Governance.MAIS_2,
}


def definition_of(entry: Entry, channel: int) -> Definition | None:
    """None: its action is none that exists, or it has no number (7.4.2)."""
    action, security_id = _ACTIONS.get(text_of(entry, 980) or b"M"), number_of(text_of(entry, 48))
    if action is None or security_id == NULL:
        return None
    put, exercise = text_of(entry, 201), text_of(entry, 1194)
    lots = {text_of(each, 1093): quantity(each, 1231) for each in _group(entry, 1234)}
    instrument = Instrument(
        security_id=security_id, symbol=_text(entry, 55), channel=channel, group=_text(entry, 1151).strip(),
        asset=_text(entry, 6937), security_type=_security_type(text_of(entry, 167)),
        product=_product(text_of(entry, 460)), description=_text(entry, 107),
        exchange=_text(entry, 207) or "BVMF", sub_type=_natural(entry, 762), segment=_natural(entry, 1300),
        isin=_other_id(entry, _ISIN), currency=_text(entry, 15) or "BRL", cfi_code=_text(entry, 461),
        tick=_whole(scaled(entry, 969, PRICE_EXPONENT), 1), lot=_lot(lots, entry),
        minimum_quantity=_whole(quantity(entry, 9749), 1),
        maximum_quantity=_whole(quantity(entry, 9748), 1_000_000_000),
        minimum_cross=_optional(quantity(entry, 35561)),
        multiplier_fine=_optional(scaled(entry, 231, FINE_EXPONENT)),
        price_divisor_fine=_optional(scaled(entry, 37012, FINE_EXPONENT)), price_kind=None,
        strike=_optional(scaled(entry, 202, PRICE_EXPONENT)),
        is_put=None if put is None else put == b"0",
        is_american=None if exercise is None else exercise == b"1",
        issue_date=max(0, _whole(days_of(entry, 225), 0)), maturity_date=_optional(days_of(entry, 541)),
        maturity=_month(_month_year(entry, 200)), shares_issued=_optional(quantity(entry, 7595)),
        is_odd_lot=set(lots) == {_ODD_LOT}, accepts_gt=_accepts_good_till(entry),
        implied=text_of(entry, 1144) == b"1", user_defined=text_of(entry, 1377) == b"1",
        legs=tuple(_leg(leg) for leg in _group(entry, 555)), underlyings=_underlyings(entry),
        price_method=_price_method(text_of(entry, 1378)), strategy_type=_text(entry, 7534) or None,
        governance=_GOVERNANCE.get(text_of(entry, 37011) or b""), payout=_payout(text_of(entry, 1482)),
        is_buy_back=text_of(entry, 37015) == b"8", clearing_id=_clearing_id(entry),
        settlement_days=_settlement_days(text_of(entry, 63)),
        settlement_date=_optional(days_of(entry, 64)), trade_types=_trade_types(entry),
        listing=_listing(entry),
    )  # fmt: skip
    return Definition(instrument, action)


def _group(entry: Entry, tag: int) -> list[Entry]:
    entries = entry.get(tag)
    return entries if isinstance(entries, list) else []


def _text(entry: Entry, tag: int) -> str:
    return (text_of(entry, tag) or b"").decode("latin-1")


def _natural(entry: Entry, tag: int) -> int:
    number = number_of(text_of(entry, tag))
    return 0 if number == NULL else number


def _optional(value: int) -> int | None:
    return None if value == NULL else value


def _whole(value: int, otherwise: int) -> int:
    return otherwise if value == NULL else value


def _lot(lots: dict[bytes | None, int], entry: Entry) -> int:
    sizes = [lots.get(_ROUND_LOT, NULL), *lots.values(), quantity(entry, 561)]
    return next((size for size in sizes if size > 0), 1)


def _security_type(text: bytes | None) -> SecurityType:
    """0 where nobody knows it, as Binary UMDF's reader has it."""
    name = (text or b"").decode("latin-1")
    found = SecurityType.__members__.get("INDEXOPT" if name == "INDEXTOP" else name)
    return found if found is not None else 0  # type: ignore[return-value]


def _product(text: bytes | None) -> Product:
    number = small_of(text) or 0
    return Product(number) if number in Product.__members__.values() else 0  # type: ignore[return-value]


def _other_id(entry: Entry, source: bytes) -> str | None:
    others = _group(entry, 454)
    return next((_text(each, 455) for each in others if text_of(each, 456) == source), None)


def _clearing_id(entry: Entry) -> int | None:
    told = _other_id(entry, _CLEARING)
    return None if told is None else _optional(number_of(told.encode("latin-1")))


def _month_year(entry: Entry, tag: int) -> MonthYear | None:
    text = text_of(entry, tag)
    try:
        return None if text is None else parse_month_year(text)
    except ValueFormatError:
        return None


def _month(found: MonthYear | None) -> tuple[int, int] | None:
    return None if found is None else (found.year, found.month)


def _listing(entry: Entry) -> ListingTerms | None:
    """None: it has nothing but what all have, or that cannot be read, which must not cost the instrument."""
    try:
        found = _readable_listing(entry)
    except DecodeError:
        return None
    return None if found == _NOTHING_MORE else found


def _readable_listing(entry: Entry) -> ListingTerms:
    matures = _month_year(entry, 200)
    found = ListingTerms(
        contract_month=_month(_month_year(entry, 667)),
        dated_date=_optional(days_of(entry, 873)),
        start_date=_optional(days_of(entry, 916)),
        end_date=_optional(days_of(entry, 917)),
        corporate_action=_optional(number_of(text_of(entry, 37010))),
        tick_rules=tuple(_tick_rule(each) for each in _group(entry, 1205)),
        weights=_weights(entry),
    )
    if matures is None:
        return found
    return replace(found, maturity_day=matures.day, maturity_week=matures.week)


def _tick_rule(rule: Entry) -> TickRule:
    start, end, increment = (_exact(rule, tag) for tag in (1206, 1207, 1208))
    return TickRule(start, end, increment, _optional(number_of(text_of(rule, 1209))))


def _weights(entry: Entry) -> tuple[UnderlyingWeight, ...]:
    """Of the members of an index."""
    members = [each for each in _group(entry, 711) if 6919 in each or 37021 in each]
    return tuple(
        UnderlyingWeight(_natural(each, 309), _exact(each, 6919), _exact(each, 37021)) for each in members
    )


def _exact(entry: Entry, tag: int) -> str | None:
    """A decimal as sent."""
    text = text_of(entry, tag)
    try:
        return None if text is None else format(parse_decimal(text), "f")
    except ValueFormatError:
        return None


def _accepts_good_till(entry: Entry) -> bool:
    told = [text_of(each, 872) for each in _group(entry, 870) if text_of(each, 871) == _GOOD_TILL]
    return told[0] == b"1" if told else False


def _trade_types(entry: Entry) -> tuple[TradeType, ...]:
    attributes = [each for each in _group(entry, 870) if text_of(each, 871) == _TRADE_TYPES]
    told = [small_of(text_of(each, 872)) or 0 for each in attributes]
    return tuple(TradeType(number) for number in told if number in TradeType.__members__.values())


def _leg(leg: Entry) -> Leg:
    side = Side.BUY if text_of(leg, 624) == b"1" else Side.SELL
    ratio = quantity(leg, 623)
    kind = _security_type(text_of(leg, 609))
    return Leg(_natural(leg, 602), _text(leg, 600), side, 1 if ratio == NULL else abs(ratio), kind)


def _underlyings(entry: Entry) -> tuple[Underlying, ...]:
    return tuple(Underlying(_natural(each, 309), _text(each, 311)) for each in _group(entry, 711))


def _price_method(text: bytes | None) -> PriceMethod | None:
    number = small_of(text)
    known = number is not None and number in PriceMethod.__members__.values()
    return PriceMethod(number) if known and number is not None else None


def _payout(text: bytes | None) -> Payout | None:
    number = small_of(text) or 0
    return Payout(number) if number in Payout.__members__.values() else None


def _settlement_days(text: bytes | None) -> int | None:
    """D3, or a number."""
    return None if text is None else small_of(text.removeprefix(b"D"), 9_999)


# News


class ConflatedNewsDesk:
    """A news is one message of several lines (7.5.6): there is nothing to wait for. One that names several
    instruments is of the first; `News.related` has all."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        parsed = parse_message(message, self._dictionary)
        body, encoding = parsed.body, parsed.text(347)
        related = tuple(_natural(each, 48) for each in _group(body, 146))
        told_ns = timestamp_of(body, 42)
        if told_ns == NULL:
            told_ns = timestamp_of(parsed.header, 52)
        return [
            News(
                news_id=_optional(number_of(text_of(body, 1472))),
                headline=_encoded(body, 359, 148, encoding),
                text="\n".join(_encoded(line, 355, 58, encoding) for line in _group(body, 33)),
                time_ns=now_ns if told_ns == NULL else told_ns,
                source=_natural(body, 6940),
                language=_text(body, 1474) or None,
                url=_text(body, 149) or None,
                security_id=related[0] if related else None,
                related=related if len(related) > 1 else (),
            )
        ]

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> list[News]:
        return []

    def flush(self) -> list[News]:
        return []


def _encoded(entry: Entry, encoded_tag: int, plain_tag: int, encoding: str) -> str:
    """The encoded text by 347, where there is one and it can be read; else the plain one."""
    raw = text_of(entry, encoded_tag)
    if raw is not None:
        try:
            return raw.decode(encoding or "utf-8")
        except (LookupError, UnicodeDecodeError):
            pass
    return _text(entry, plain_tag)


# Totals


def totals_of(message: FixMessage, composition: Mapping[str, tuple[str, ...]]) -> list[MarketTotal]:
    """35=UTOT (7.7.3): money in ten-thousandths, quantity and trades of each."""
    return [
        MarketTotal(
            symbol=_text(entry, 55),
            time_ns=_whole(moment_of(entry, 272, 273), 0),
            amount=scaled(entry, 381, PRICE_EXPONENT),
            volume=quantity(entry, 387),
            trades=quantity(entry, 6139),
            groups=composition.get(_text(entry, 55), ()),
        )
        for entry in message.group(268)
    ]


def composition_of(message: FixMessage) -> dict[str, tuple[str, ...]]:
    """35=UTOTC (7.7.4): the security groups of each total, or the index that it is of."""
    index = message.text(6107)
    return {
        _text(entry, 55): tuple(_text(each, 1151) for each in _group(entry, 37022)) or _index(index)
        for entry in message.group(146)
    }


def _index(name: str) -> tuple[str, ...]:
    return (name,) if name else ()
