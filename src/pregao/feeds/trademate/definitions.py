"""Bonds as instruments of 35=y, and back; states of them as 35=f (1.3.2, 1.3.3)."""

from enum import IntEnum
from typing import Final, TypeVar

from pregao.codecs.fix import Entry
from pregao.codecs.fix.formats import format_timestamp
from pregao.feeds.fix_values import days_of, number_of, scaled, text_of, timestamp_of
from pregao.feeds.trademate.values import (
    ELECTRONIC,
    MARKET,
    SOURCE,
    STATES,
    Fields,
    date_text,
    decimal_text,
    group_of,
    small_of,
)
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import StateChanged
from pregao.model.fixed_income import BOND_EXPONENT, Bond, BondKind, CouponType, LotType, Registration
from pregao.model.instruments import Instrument, Product, SecurityType, Underlying
from pregao.model.market import DefinitionAction, PriceKind, State
from pregao.model.rows import NULL

_Word = TypeVar("_Word", bound=IntEnum)
ORDER_DEPTH: Final = b"3"
_NAMED: Final = [kind for kind in BondKind if kind]
_KINDS: Final = {b"%d" % kind: kind for kind in _NAMED} | {kind.name.encode(): kind for kind in _NAMED}
_TYPES: Final = {
    b"CBIO": SecurityType.CBIO, b"CORP": SecurityType.CORP, b"GOVBOND": SecurityType.GOVBOND,
    b"FEDERAL": SecurityType.GOVBOND,  # what it was called before (change log, 1.2)
}  # fmt: skip
_PRODUCTS: Final = {b"3": Product.CORPORATE, b"6": Product.GOVERNMENT}
_QUANTITIES: Final = (561, 9746, 9747, 9748, 9749)
_ISIN, _SYMBOL, _CLEARING = b"4", b"8", b"H"  # 456


def bond_fields(bond: Bond, action: DefinitionAction, state: State | None = None) -> Fields:
    """An entry of 146, with every field that the bond has."""
    instrument = bond.instrument
    size = instrument.size_exponent
    fields: Fields = {
        55: instrument.symbol.encode("latin-1"), 48: b"%d" % instrument.security_id, 22: SOURCE, 207: MARKET,
        1141: [{264: b"0", 1021: ORDER_DEPTH}], 454: _other_ids(instrument),
        460: b"%d" % instrument.product, 461: instrument.cfi_code.encode("latin-1"),
        167: instrument.security_type.name.encode("ascii"), 762: b"%d" % bond.kind,
        225: date_text(instrument.issue_date), 1946: b"%d" % bond.coupon_type, 470: b"BR",
        107: instrument.description.encode("latin-1", "replace"), 876: b"%d" % bond.registration,
        980: b"%c" % action, 9746: decimal_text(bond.largest_rfq, size),
        9747: decimal_text(bond.largest_voice, size), 9748: decimal_text(instrument.maximum_quantity, size),
        9749: decimal_text(instrument.minimum_quantity, size), 9750: _flag(bond.allows_fractions),
        9751: _flag(bond.allows_negative), 15: instrument.currency.encode("ascii"),
        6937: instrument.asset.encode("latin-1"), 561: decimal_text(instrument.lot, size),
        423: b"%d" % bond.price_kind, 1234: [{1093: b"%d" % bond.lot_type}],
    }  # fmt: skip
    increment = 9600 if bond.rate_increment is not None else 969
    fields[increment] = decimal_text(bond.increment, BOND_EXPONENT)
    if instrument.maturity_date is not None:
        fields[541] = date_text(instrument.maturity_date)
    if bond.coupon_fine is not None:
        fields[223] = decimal_text(bond.coupon_fine, BOND_EXPONENT)
    if bond.coupon_date is not None:
        fields[224] = date_text(bond.coupon_date)
    if bond.valid_until_ns is not None:
        fields[6938] = format_timestamp(bond.valid_until_ns, 3)
    if state is not None:
        fields[326] = STATES[state]
    return fields | _attributes(bond) | casada_fields(bond)


def casada_fields(bond: Bond) -> Fields:
    """Hedge factor and legs: of casadas only."""
    fields: Fields = {}
    if bond.factor_fine is not None:
        fields[228] = decimal_text(bond.factor_fine, BOND_EXPONENT)
    if bond.instrument.underlyings:
        fields[711] = [
            {311: leg.symbol.encode("latin-1"), 309: b"%d" % leg.security_id, 305: SOURCE}
            for leg in bond.instrument.underlyings
        ]
    return fields


def status_fields(bond: Bond, change: StateChanged) -> Fields:
    """35=f of one instrument: groups have no tag here."""
    fields: Fields = {
        48: b"%d" % change.security_id, 22: SOURCE, 207: MARKET, 876: b"%d" % bond.registration,
        60: format_timestamp(change.transact_ns, 3), 75: date_text(change.trade_date), 336: b"1",
        326: STATES[change.state or State.OPEN], 1500: ELECTRONIC,
    }  # fmt: skip
    if change.ends_ns:
        fields[342] = format_timestamp(change.ends_ns, 3)
    return fields | _attributes(bond) | casada_fields(bond)


def _other_ids(instrument: Instrument) -> list[Fields]:
    ids = {_SYMBOL: instrument.symbol, _ISIN: instrument.isin, _CLEARING: instrument.clearing_id}
    return [
        {455: str(value).encode("latin-1"), 456: source} for source, value in ids.items() if value is not None
    ]


def _attributes(bond: Bond) -> Fields:
    listed = [{871: b"%d" % kind, 872: text.encode("latin-1", "replace")} for kind, text in bond.attributes]
    return {870: listed} if listed else {}


def _flag(value: bool) -> bytes:
    return b"Y" if value else b"N"


# Read


def bond_of(entry: Entry, channel: int) -> tuple[Bond, DefinitionAction]:
    """The bond of an entry of 146; DecodeError where it has no number. Nearly all is optional there: what is
    not told, or nobody knows, is OTHER or None, and attributes are kept as they are."""
    security_id, told_kind = number_of(text_of(entry, 48)), text_of(entry, 762)
    if security_id == NULL:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"48={entry.get(48)!r:.30}")
    kind, has_fractions = _KINDS.get(told_kind or b"", BondKind.OTHER), _has_fractions(entry)
    size = BOND_EXPONENT if has_fractions else 0
    others = {text_of(each, 456): text_of(each, 455) for each in group_of(entry, 454)}
    rate_increment, price_increment = (scaled(entry, tag, BOND_EXPONENT) for tag in (9600, 969))
    price_kind = _price_kind(entry)
    product = _PRODUCTS.get(text_of(entry, 460) or b"")
    if product is None:
        product = Product.GOVERNMENT if kind.is_government else Product.CORPORATE
    usual_type = SecurityType.GOVBOND if product is Product.GOVERNMENT else SecurityType.CORP
    isin, clearing = others.get(_ISIN), number_of(others.get(_CLEARING))
    instrument = Instrument(
        security_id=security_id, symbol=_text(entry, 55), channel=channel, group="",
        asset=_text(entry, 6937), security_type=_TYPES.get(text_of(entry, 167) or b"", usual_type),
        product=product, description=_text(entry, 107), exchange=_text(entry, 207) or "BVMF",
        sub_type=kind or small_of(told_kind),
        isin=None if isin is None else isin.decode("latin-1"), currency=_text(entry, 15) or "BRL",
        cfi_code=_text(entry, 461), tick=_or(rate_increment, _or(price_increment, 1)),
        lot=_or(scaled(entry, 561, size), 1), minimum_quantity=_or(scaled(entry, 9749, size), 1),
        maximum_quantity=_or(scaled(entry, 9748, size), 1), issue_date=max(0, days_of(entry, 225)),
        maturity_date=_none(days_of(entry, 541)), underlyings=_legs(entry), clearing_id=_none(clearing),
        price_kind=price_kind, price_exponent=BOND_EXPONENT, size_exponent=size,
    )  # fmt: skip
    lots = [small_of(text_of(each, 1093)) for each in group_of(entry, 1234)]
    bond = Bond(
        instrument, kind, price_kind or PriceKind.PER_UNIT,
        LotType.ODD if lots == [LotType.ODD] else LotType.ROUND,
        coupon_fine=_none(scaled(entry, 223, BOND_EXPONENT)),
        coupon_type=_member(CouponType, entry, 1946), coupon_date=_none(days_of(entry, 224)),
        factor_fine=_none(scaled(entry, 228, BOND_EXPONENT)),
        registration=_member(Registration, entry, 876),
        rate_increment=_none(rate_increment), largest_rfq=_or(scaled(entry, 9746, size), 0),
        largest_voice=_or(scaled(entry, 9747, size), 0), allows_fractions=has_fractions,
        allows_negative=text_of(entry, 9751) == b"Y", attributes=_read_attributes(entry),
        valid_until_ns=_none(timestamp_of(entry, 6938)),
    )  # fmt: skip
    action = (text_of(entry, 980) or b"M")[0]
    if action not in DefinitionAction._value2member_map_:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"980={entry.get(980)!r:.30}")
    return bond, DefinitionAction(action)


def _has_fractions(entry: Entry) -> bool:
    """9750; where it is not told, whether any quantity of the definition has a fraction."""
    told = text_of(entry, 9750)
    if told is not None:
        return told == b"Y"
    return any((text_of(entry, tag) or b"").partition(b".")[2].strip(b"0") for tag in _QUANTITIES)


def _price_kind(entry: Entry) -> PriceKind | None:
    number = small_of(text_of(entry, 423))
    return PriceKind(number) if number in PriceKind._value2member_map_ else None


def _read_attributes(entry: Entry) -> tuple[tuple[int, str], ...]:
    found = ((number_of(text_of(each, 871)), _text(each, 872)) for each in group_of(entry, 870))
    return tuple((kind, text) for kind, text in found if kind != NULL)


def _legs(entry: Entry) -> tuple[Underlying, ...]:
    legs = ((number_of(text_of(each, 309)), _text(each, 311)) for each in group_of(entry, 711))
    return tuple(Underlying(number, symbol) for number, symbol in legs if number != NULL)


def _text(entry: Entry, tag: int) -> str:
    return (text_of(entry, tag) or b"").decode("latin-1")


def _member(words: type[_Word], entry: Entry, tag: int) -> _Word:
    """A word by its number; OTHER where it is absent, or none that exists."""
    number = small_of(text_of(entry, tag))
    return words(number if number in words._value2member_map_ else 0)


def _or(value: int, default: int) -> int:
    return default if value == NULL else value


def _none(value: int) -> int | None:
    return None if value == NULL else value
