"""Families of the cash market: shares, units, BDRs, ETFs, their odd lots and forwards."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from pregao.exchange.catalogues.register import (
    FINE_OF_PRICE,
    OpeningFigures,
    Register,
    ids_of,
    lot_of,
    underlying_of,
)
from pregao.exchange.catalogues.rules import ListedInstrument
from pregao.exchange.catalogues.tables import TomlRow, TomlTable, to_days
from pregao.model.instruments import Governance, Instrument, Product, SecurityType, TradeType

_ISSUED = to_days(date(2010, 1, 4))
_SETTLES = 2  # days after the trade
_TRADED = (TradeType.ELECTRONIC, TradeType.CROSS, TradeType.BLOCK, TradeType.RFQ_FOR_CROSS)
_LEVELS: Final = {
    "-": Governance.NONE,
    "N1": Governance.LEVEL_1,
    "N2": Governance.LEVEL_2,
    "NM": Governance.NEW_MARKET,
    "MA": Governance.MAIS,
    "MB": Governance.SOMA,
    "M2": Governance.MAIS_2,
}


@dataclass(frozen=True, slots=True)
class _Kind:
    security_type: SecurityType
    cfi_code: str
    isin: str  # what stands between the issuer and the check digit


_STOCKS: Final = {
    "3": _Kind(SecurityType.CS, "ESVUFR", "ACNOR"),
    "4": _Kind(SecurityType.PS, "EPNNPR", "ACNPR"),
    "5": _Kind(SecurityType.PS, "EPNNPR", "ACNPA"),
    "6": _Kind(SecurityType.PS, "EPNNPR", "ACNPB"),
}
_OTHERS: Final = {
    "unit": _Kind(SecurityType.CS, "EMXXXR", "CDAM1"),
    "bdr": _Kind(SecurityType.CS, "EDSXPR", "BDR00"),
    "etf": _Kind(SecurityType.ETF, "CEOJEU", "CTF00"),
    "right": _Kind(SecurityType.CASH, "RSXXXR", "D01OR"),
}
_KINDS: Final = {"stock": None, **_OTHERS}


def add_shares(table: TomlTable, register: Register) -> None:
    """Rows of symbol, closing price, weight and, where it has one, the level of governance: each weighs
    `daily` shares a day per unit of weight."""
    group, ids = register.group(table), ids_of(table)
    other = table.choice("kind", _KINDS)
    tick, lot = table.tick(), lot_of(table)
    daily, volatility = table.number("daily"), table.number("volatility", 0.02)
    illiquid_below, is_test = table.number("illiquid_below", 0), table.flag("test", False)
    for row in table.rows("list", 3, 4):
        symbol = row.words[0]
        kind = other or _STOCKS.get(symbol[4:])
        if kind is None or len(symbol) < 5:
            raise row.error("a stock ends in 3, 4, 5 or 6")
        weight = row.number(2, 0)
        average = int(weight * daily) // lot * lot
        instrument = Instrument(
            next(ids), symbol, group.channel, group.code, symbol[:4], kind.security_type, Product.EQUITY,
            f"{symbol} {table.text('kind')}", group.exchange, segment=group.segment,
            isin=isin_of(f"BR{symbol[:4]}{kind.isin}"), cfi_code=kind.cfi_code, tick=tick, lot=lot,
            minimum_quantity=lot, issue_date=_ISSUED, shares_issued=average * 200 or None,
            closing_price=row.price(1) * FINE_OF_PRICE, governance=_level(row), is_test=is_test,
            settlement_days=_SETTLES, trade_types=_TRADED,
        )  # fmt: skip
        figures = OpeningFigures(
            weight, volatility, weight >= illiquid_below, average, max(average // 10, 1000 * lot)
        )
        register.add(instrument, figures, row)
    table.close()


def _level(row: TomlRow) -> Governance:
    word = row.words[3] if len(row.words) > 3 else "-"
    if word not in _LEVELS:
        raise row.error(f"a level of governance is one of {', '.join(_LEVELS)}, not {word!r}")
    return _LEVELS[word]


def isin_of(body: str) -> str:
    """With its check digit: letters count as 10 to 35, every other digit from the right doubles."""
    digits = "".join(str(int(letter, 36)) for letter in body)
    doubled = (int(d) * (2 - n % 2) for n, d in enumerate(reversed(digits)))
    return f"{body}{-sum(n // 10 + n % 10 for n in doubled) % 10}"


def add_odd_lots(table: TomlTable, register: Register) -> None:
    """The market of less than a lot: the share's symbol with an F, in single shares."""
    group, ids, factor = register.group(table), ids_of(table), table.number("weight_factor", 0.1)
    for share in _named(table, register):
        whole = share.instrument
        instrument = replace(
            whole, security_id=next(ids), symbol=f"{whole.symbol}F", channel=group.channel, group=group.code,
            exchange=group.exchange, segment=group.segment, description=f"{whole.symbol} odd lot", lot=1,
            minimum_quantity=1, maximum_quantity=whole.lot - 1, is_odd_lot=True,
            underlyings=underlying_of(whole), trade_types=(TradeType.ELECTRONIC,),
        )  # fmt: skip
        register.add(instrument, OpeningFigures(share.weight * factor, share.volatility), table)
    table.close()


def add_forwards(table: TomlTable, register: Register) -> None:
    """Termo: agreed between two parties, the share's symbol with a T (13.5)."""
    group, ids, factor = register.group(table), ids_of(table), table.number("weight_factor", 0.01)
    for share in _named(table, register):
        cash = share.instrument
        instrument = Instrument(
            next(ids), f"{cash.symbol}T", group.channel, group.code, cash.asset, SecurityType.FORWARD,
            Product.EQUITY, f"{cash.symbol} forward", group.exchange, segment=group.segment, isin=cash.isin,
            cfi_code="FFSPSX", tick=cash.tick, lot=1, issue_date=_ISSUED, closing_price=cash.closing_price,
            accepts_gt=False, underlyings=underlying_of(cash), trade_types=(TradeType.NEGOTIATED,),
        )  # fmt: skip
        register.add(instrument, OpeningFigures(share.weight * factor, share.volatility), table)
    table.close()


def _named(table: TomlTable, register: Register) -> Iterator[ListedInstrument]:
    for symbol in table.words("of"):
        yield register.find(symbol, table)
