"""Families of contracts: futures, spreads of two maturities, strategies of options, currencies."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from pregao.exchange.catalogues.register import (
    FINE_OF_PRICE,
    LARGEST_ID,
    OpeningFigures,
    Register,
    ids_of,
    lot_of,
)
from pregao.exchange.catalogues.rules import ListedInstrument, TradingGroup
from pregao.exchange.catalogues.tables import TomlRow, TomlTable, to_days
from pregao.model.instruments import (
    Instrument,
    Leg,
    PriceMethod,
    Product,
    SecuritySubType,
    SecurityType,
    TradeType,
    Underlying,
)
from pregao.model.market import PriceKind, Side

# When contracts end. Weekends are kept, holidays are not: the simulated days know none.


_LETTERS = "FGHJKMNQUVXZ"
_WEDNESDAY, _FRIDAY, _SATURDAY = 2, 4, 5


def parse_maturity(code: str) -> tuple[int, int]:
    """Year and month of a code such as Z26; ValueError if it is none."""
    if len(code) != 3 or code[0] not in _LETTERS or not code[1:].isdecimal():
        raise ValueError(f"{code!r} is not a maturity such as Z26")
    return 2000 + int(code[1:]), _LETTERS.index(code[0]) + 1


def first_business_day(year: int, month: int) -> date:
    return _business_day(date(year, month, 1))


def wednesday_near_fifteenth(year: int, month: int) -> date:
    middle = date(year, month, 15)
    offset = (_WEDNESDAY - middle.weekday() + 3) % 7 - 3
    return middle + timedelta(days=offset)


def fifteenth(year: int, month: int) -> date:
    return _business_day(date(year, month, 15))


def third_friday(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(_FRIDAY - first.weekday()) % 7 + 14)


def _business_day(day: date) -> date:
    return day if day.weekday() < _SATURDAY else day + timedelta(days=7 - day.weekday())


MATURITY_RULES: Final[dict[str, Callable[[int, int], date]]] = {
    "first-business-day": first_business_day,
    "wednesday-near-15": wednesday_near_fifteenth,
    "15": fifteenth,
    "third-friday": third_friday,
}


_LISTED = to_days(date(2024, 1, 2))
_PRODUCTS: Final = {product.name.lower(): product for product in Product}
_SUB_TYPES: Final[dict[str, int]] = {
    "calendar": 0,
    "financial-rollover": SecuritySubType.FINANCIAL_ROLLOVER,
    "agricultural-rollover": SecuritySubType.AGRICULTURAL_ROLLOVER,
}
_STRATEGY_TYPES: Final = {"calendar": "CAL", "financial-rollover": "FRO", "agricultural-rollover": "ARO"}
_METHODS: Final = {method.name.lower(): method for method in PriceMethod}
_PRICE_KINDS: Final = {kind.name.lower(): kind for kind in PriceKind}
_TRADED = (TradeType.ELECTRONIC, TradeType.CROSS)
_SETTLES = 1  # day after the trade
_SIDES: Final = {"buy": Side.BUY, "sell": Side.SELL}


def add_futures(table: TomlTable, register: Register, indices: dict[str, int]) -> None:
    """Rows of maturity, closing price, weight and open interest; `of` names an index they follow."""
    group, ids, asset = register.group(table), ids_of(table), table.text("asset", longest=6)
    product, expiry = table.choice("product", _PRODUCTS), table.choice("expiry", MATURITY_RULES)
    tick, lot, multiplier_fine = table.tick(), lot_of(table), table.fine("multiplier")
    cfi_code, volatility = table.text("cfi", longest=6), table.number("volatility")
    implied, description = table.flag("implied", False), table.text("description", asset)
    price_kind = table.choice("price_kind", _PRICE_KINDS, "per_unit")
    underlyings: tuple[Underlying, ...] = ()
    if table.has("of"):
        name = table.choice("of", {symbol: symbol for symbol in indices})
        underlyings = (Underlying(indices[name], name),)
    for row in table.rows("list", 4, 4):
        year, month = _maturity(row, row.words[0])
        closing = row.price(1)
        instrument = Instrument(
            next(ids), asset + row.words[0], group.channel, group.code, asset, SecurityType.FUT, product,
            f"{description} {row.words[0]}", group.exchange, segment=group.segment, cfi_code=cfi_code,
            tick=tick, lot=lot, minimum_quantity=lot, maximum_quantity=100_000 * lot,
            multiplier_fine=multiplier_fine, issue_date=_LISTED,
            maturity_date=to_days(expiry(year, month)), maturity=(year, month), implied=implied,
            closing_price=closing * FINE_OF_PRICE, underlyings=underlyings, price_kind=price_kind,
            settlement_days=_SETTLES, trade_types=_TRADED,
        )  # fmt: skip
        figures = OpeningFigures(
            row.number(2, 0), volatility, settlement=closing, open_interest=int(row.number(3, 0))
        )
        register.add(instrument, figures, row)
    table.close()


def add_spreads(table: TomlTable, register: Register) -> None:
    """Words of two maturities, F27N27: bought, they sell the near and buy the far (18.1)."""
    group, ids, asset = register.group(table), ids_of(table), table.text("asset", longest=6)
    outright, tick, lot = table.text("of"), table.tick(), lot_of(table)
    sub_type, implied = table.choice("sub_type", _SUB_TYPES), table.flag("implied", True)
    strategy_type = table.choice("sub_type", _STRATEGY_TYPES)
    method = table.choice("price_method", _METHODS, "net_price")
    factor = table.number("weight_factor", 0.1)
    for word in table.words("list"):
        row = TomlRow(table, "list", [word])
        near_date, far_date = _maturity(row, word[:3]), _maturity(row, word[3:])
        if near_date >= far_date:
            raise row.error("must name the near maturity first")
        near, far = register.find(outright + word[:3], row), register.find(outright + word[3:], row)
        legs = (_leg(near, Side.SELL), _leg(far, Side.BUY))
        instrument = Instrument(
            next(ids), asset + word, group.channel, group.code, asset, SecurityType.MLEG, Product.MULTILEG,
            f"{outright} spread {word[:3]} {word[3:]}", group.exchange, sub_type, group.segment,
            cfi_code="FMXXSX", tick=tick, lot=lot, minimum_quantity=lot, maximum_quantity=100_000 * lot,
            issue_date=_LISTED, multiplier_fine=near.instrument.multiplier_fine, implied=implied,
            maturity_date=near.instrument.maturity_date, maturity=near.instrument.maturity,
            closing_price=(far.closing - near.closing) * FINE_OF_PRICE, legs=legs, price_method=method,
            strategy_type=strategy_type, price_kind=near.instrument.price_kind, settlement_days=_SETTLES,
            trade_types=_TRADED,
        )  # fmt: skip
        _check_legs(group, (near, far), implied, row)
        weight = factor * min(near.weight, far.weight)
        register.add(instrument, OpeningFigures(weight, near.volatility), row)
    table.close()


def add_strategy(table: TomlTable, register: Register) -> None:
    """A user-defined strategy: known by sub type 90; its strike is zero or absent (16.1)."""
    group = register.group(table)
    rows = table.rows("legs", 3, 3)
    entries = [register.find(row.words[2], row) for row in rows]
    if len(entries) < 2:
        raise table.error("a strategy has at least two legs", "legs")
    legs = tuple(_strategy_leg(row, entry) for row, entry in zip(rows, entries, strict=True))
    closing = sum(
        leg.ratio * (1 if leg.side is Side.BUY else -1) * entry.closing
        for leg, entry in zip(legs, entries, strict=True)
    )
    strike = table.integer("strike", 0, 0) if table.has("strike") else None
    first = entries[0].instrument
    instrument = Instrument(
        table.integer("id", 1, LARGEST_ID), table.text("symbol", longest=20), group.channel, group.code,
        first.asset, SecurityType.MLEG, Product.MULTILEG, "user-defined strategy", group.exchange,
        SecuritySubType.STRATEGY, group.segment, cfi_code="OMXXSX", tick=table.tick(), lot=lot_of(table),
        minimum_quantity=lot_of(table), strike=strike, issue_date=first.issue_date, accepts_gt=False,
        maturity_date=first.maturity_date, maturity=first.maturity, user_defined=True,
        implied=table.flag("implied", False), closing_price=closing * FINE_OF_PRICE, legs=legs,
        price_method=table.choice("price_method", _METHODS, "net_price"), price_kind=first.price_kind,
        strategy_type=table.text("strategy_type", "UDS", longest=3), settlement_days=first.settlement_days,
    )  # fmt: skip
    _check_legs(group, entries, instrument.implied, table)
    register.add(
        instrument, OpeningFigures(table.number("weight"), entries[0].volatility, liquid=False), table
    )
    table.close()


def add_spots(table: TomlTable, register: Register) -> None:
    """Currencies on the spot: rows of symbol, closing price, weight; they settle on `settles_on`, or after
    so many days as their symbol ends in."""
    group, ids, tick, lot = register.group(table), ids_of(table), table.tick(), lot_of(table)
    volatility = table.number("volatility")
    settles_on = to_days(table.day("settles_on")) if table.has("settles_on") else None
    for row in table.rows("list", 3, 3):
        symbol = row.words[0]
        instrument = Instrument(
            next(ids), symbol, group.channel, group.code, symbol[:3], SecurityType.SPOT, Product.CURRENCY,
            f"{symbol} spot", group.exchange, segment=group.segment, cfi_code="IFXXXX", tick=tick, lot=lot,
            minimum_quantity=lot, issue_date=_LISTED, accepts_gt=False,
            closing_price=row.price(1) * FINE_OF_PRICE, settlement_date=settles_on, trade_types=_TRADED,
            settlement_days=int(symbol[-1]) if symbol[-1].isdecimal() else None,
        )  # fmt: skip
        register.add(instrument, OpeningFigures(row.number(2, 0), volatility), row)
    table.close()


def _maturity(row: TomlRow, code: str) -> tuple[int, int]:
    try:
        return parse_maturity(code)
    except ValueError as error:
        raise row.error(str(error)) from error


def _leg(listing: ListedInstrument, side: Side, ratio: int = 1) -> Leg:
    leg = listing.instrument
    return Leg(leg.security_id, leg.symbol, side, ratio, leg.security_type)


def _strategy_leg(row: TomlRow, listing: ListedInstrument) -> Leg:
    side, ratio = _SIDES.get(row.words[0]), row.words[1]
    if side is None or not ratio.isdecimal() or not 1 <= int(ratio) <= 1000:
        raise row.error("a leg is buy or sell, a ratio and a symbol")
    return _leg(listing, side, int(ratio))


def _check_legs(
    group: TradingGroup,
    legs: tuple[ListedInstrument, ...] | list[ListedInstrument],
    implied: bool,
    where: TomlTable | TomlRow,
) -> None:
    """Implied orders are made inside one matching engine, so its legs must be there too (18)."""
    for leg in legs:
        if implied and not leg.instrument.implied:
            raise where.error(f"is implied, its leg {leg.instrument.symbol} is not")
        if implied and leg.instrument.segment != group.segment:
            raise where.error(f"is implied, but its leg {leg.instrument.symbol} is in another segment")
