"""The bonds of the simulated Trademate, from a TOML catalogue: text in, `BondCatalogue` out.

`default.toml` is an example of everything. What is wrong is a ConfigurationError that names the key. Prices
are in hundred-millionths, sizes too where a bond may be traded in fractions.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Final

from pregao.exchange.bonds.pricing import Fixings
from pregao.exchange.catalogues.shares import isin_of
from pregao.exchange.catalogues.tables import TomlRow, TomlTable, to_days, to_fine
from pregao.model.errors import ConfigurationError
from pregao.model.fixed_income import (
    BOND_EXPONENT,
    BOND_SCALE,
    Bond,
    BondAttribute,
    BondKind,
    CouponType,
    LotType,
    Registration,
)
from pregao.model.instruments import Instrument, Product, SecurityType, Underlying
from pregao.model.market import PriceKind

DEFAULT_CATALOGUE: Final = "default.toml"
CHANNEL: Final = 90  # of our own numbering: Trademate has sessions, not channels
WHOLE_LOT: Final = 1000
LAST_ISSUES: Final = 2024  # no bond of the list is younger
DEADLINE: Final = "17:00"
_DEADLINE_NS: Final = 20 * 3_600_000_000_000  # 17:00 of São Paulo in UTC
_DAY_NS: Final = 86_400_000_000_000
_GOVERNMENT: Final = {kind.name: kind for kind in BondKind if kind.is_government}
_CORPORATE: Final = {kind.name: kind for kind in BondKind if kind and not kind.is_government}
_PRICE_KINDS: Final = {
    "percentage": PriceKind.PERCENTAGE,
    "unit": PriceKind.PER_UNIT,
    "yield": PriceKind.YIELD,
}
_COUPON_TYPES: Final = {kind.name.lower(): kind for kind in CouponType if kind}
# ISO 10962: bonds by interest, guarantee, redemption and form.
_CFI: Final = {
    BondKind.LTN: "DBZTFR", BondKind.LFT: "DBVTFR", BondKind.NTNF: "DBFTFR", BondKind.NTNB: "DBFTFR",
    BondKind.NTNC: "DBFTFR", BondKind.DEB: "DBVUFR", BondKind.CRI: "DBFSFR", BondKind.CRA: "DBVSFR",
    BondKind.CFF: "CIXXXX", BondKind.CBIO: "TTXXXX",
}  # fmt: skip
_CASADA_CFI: Final = "KRXXXX"
_FLAGS: Final = ("default", "restricted", "taker", "private", "manual")


@dataclass(slots=True)
class BondCatalogue:
    """Bonds by id and symbol; `par` has the nominal values of corporate bonds by symbol; `vna` and `rates`
    are what prices of a date need besides."""

    bonds: dict[int, Bond] = field(default_factory=dict)
    par: dict[str, Decimal] = field(default_factory=dict)
    vna: dict[BondKind, Decimal] = field(default_factory=dict)
    rates: dict[str, Decimal] = field(default_factory=dict)

    def fixings(self, settlement: date) -> Fixings:
        """Those of the file, for any date: it has one day's."""
        return Fixings(settlement, dict(self.vna), dict(self.par), dict(self.rates))

    def __iter__(self) -> Iterator[Bond]:
        return iter(self.bonds.values())

    def __len__(self) -> int:
        return len(self.bonds)

    def named(self, symbol: str) -> Bond | None:
        return next((bond for bond in self if bond.instrument.symbol == symbol), None)

    def add(self, bond: Bond, table: TomlTable) -> None:
        instrument = bond.instrument
        if instrument.security_id in self.bonds or self.named(instrument.symbol) is not None:
            raise table.error(f"{instrument.symbol} ({instrument.security_id}) is there twice")
        self.bonds[instrument.security_id] = bond


@cache
def load_default_bonds() -> BondCatalogue:
    """The packaged catalogue, read once a process."""
    text = resources.files("pregao.exchange.bonds").joinpath(DEFAULT_CATALOGUE).read_bytes()
    return load_bonds(text, DEFAULT_CATALOGUE)


def load_bonds(content: str | bytes, file: str = "") -> BondCatalogue:
    """Read a catalogue; raises ConfigurationError with the file and the key at fault."""
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        document = TomlTable(tomllib.loads(text, parse_float=Decimal), file, "")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(str(error), file=file) from error
    catalogue = BondCatalogue()
    families = (("government", _add_government), ("casadas", _add_casadas), ("corporate", _add_corporate))
    for name, add in families:
        for table in document.tables(name):
            add(table, catalogue)
            table.close()
    if document.has("fixings"):
        _read_fixings(document.table("fixings"), catalogue)
    document.close()
    return catalogue


def _read_fixings(table: TomlTable, catalogue: BondCatalogue) -> None:
    for row in table.rows("vna", 2, 2):
        if row.words[0] not in _GOVERNMENT:
            raise row.error(f"{row.words[0]} is none of {', '.join(_GOVERNMENT)}")
        catalogue.vna[_GOVERNMENT[row.words[0]]] = Decimal(_row_fine(row, 1)) / BOND_SCALE
    for row in table.rows("rates", 2, 2):
        catalogue.rates[row.words[0]] = Decimal(_row_fine(row, 1)) / BOND_SCALE
    table.close()


def _add_government(table: TomlTable, catalogue: BondCatalogue) -> None:
    """Each maturity in whole lots, then each in fractional ones."""
    kind = table.choice("kind", _GOVERNMENT)
    maturities = [_date(table, "maturities", word) for word in table.words("maturities")]
    closing = [_fine(table, "closing", word) for word in table.words("closing")]
    has_coupon = table.has("coupon")
    paid = table.words("coupon_dates") if has_coupon else []
    coupon_dates = [_date(table, "coupon_dates", word) for word in paid]
    if len(closing) != len(maturities) or (has_coupon and len(coupon_dates) != len(maturities)):
        raise table.error("needs a closing rate, and with a coupon its next date, for each maturity")
    coupon = table.fine("coupon") if has_coupon else None
    sectors, largest = _numbers(table, "sectors", 2), _numbers(table, "largest", 3)
    number, increment = table.integer("first_id", 1, 1 << 53), table.fine("rate_increment")
    is_negative = table.flag("negative", False)
    for sector, is_whole in zip(sectors, (True, False), strict=True):
        for place, maturity in enumerate(maturities):
            attributes = [(int(BondAttribute.COUPON_PERIOD), "6")] if has_coupon else []
            lot = WHOLE_LOT if is_whole else 1
            instrument = Instrument(
                security_id=number, symbol=f"{kind.name}{maturity:%d%m%y}{'' if is_whole else 'F'}",
                channel=CHANNEL, group=kind.name, asset=kind.name, security_type=SecurityType.GOVBOND,
                product=Product.GOVERNMENT, description=f"{kind.name} {maturity}", sub_type=kind,
                isin=isin_of(f"BR{kind.name:X<4}{number % 10**5:05d}"), cfi_code=_CFI[kind], tick=increment,
                lot=lot, minimum_quantity=lot, maximum_quantity=largest[0],
                issue_date=to_days(date(min(maturity.year - 10, LAST_ISSUES), 1, 5)),
                maturity_date=to_days(maturity), closing_price=closing[place], clearing_id=number % 10**6,
                price_kind=PriceKind.YIELD, price_exponent=BOND_EXPONENT,
            )  # fmt: skip
            bond = Bond(
                instrument, kind, PriceKind.YIELD, LotType.ROUND if is_whole else LotType.ODD,
                coupon_fine=coupon, coupon_type=_government_coupon(kind, has_coupon),
                coupon_date=to_days(coupon_dates[place]) if has_coupon else None, rate_increment=increment,
                largest_rfq=largest[1], largest_voice=largest[2], allows_negative=is_negative,
                attributes=_attributes(attributes, sector), valid_until_ns=_end_of_trading(maturity),
            )  # fmt: skip
            catalogue.add(bond, table)
            number += 1


def _add_casadas(table: TomlTable, catalogue: BondCatalogue) -> None:
    kind = table.choice("kind", _GOVERNMENT)
    sector, largest = table.integer("sector", 1, 999), _numbers(table, "largest", 3)
    number, increment = table.integer("first_id", 1, 1 << 53), table.fine("rate_increment")
    closing, is_negative = _fine(table, "closing", table.text("closing")), table.flag("negative", False)
    for row in table.rows("rows", 4, 4):
        maturity = _date(table, "rows", row.words[0])
        leg = catalogue.named(f"{kind.name}{maturity:%d%m%y}")
        if leg is None or not row.words[2].isdigit():
            raise row.error(f"a {kind.name} of the list, its future and the future's id are wanted")
        legs = (
            Underlying(leg.instrument.security_id, leg.instrument.symbol),
            Underlying(int(row.words[2]), row.words[1]),
        )
        instrument = Instrument(
            security_id=number, symbol=f"C{kind.name}{maturity:%d%m%y}", channel=CHANNEL,
            group=f"C{kind.name}", asset=kind.name,
            security_type=SecurityType.GOVBOND, product=Product.GOVERNMENT, sub_type=kind,
            description=f"{kind.name} {maturity} x {row.words[1]}", cfi_code=_CASADA_CFI, tick=increment,
            lot=WHOLE_LOT, minimum_quantity=WHOLE_LOT, maximum_quantity=largest[0],
            issue_date=leg.instrument.issue_date, maturity_date=to_days(maturity), closing_price=closing,
            underlyings=legs, clearing_id=number % 10**6, price_kind=PriceKind.SPREAD,
            price_exponent=BOND_EXPONENT,
        )  # fmt: skip
        bond = Bond(
            instrument, kind, PriceKind.SPREAD, factor_fine=_row_fine(row, 3), rate_increment=increment,
            coupon_type=leg.coupon_type, largest_rfq=largest[1], largest_voice=largest[2],
            allows_negative=is_negative, attributes=_attributes([], sector),
            valid_until_ns=_end_of_trading(maturity),
        )  # fmt: skip
        catalogue.add(bond, table)
        number += 1


def _add_corporate(table: TomlTable, catalogue: BondCatalogue) -> None:
    kind, price_kind = table.choice("kind", _CORPORATE), table.choice("price_kind", _PRICE_KINDS)
    sector, largest = table.integer("sector", 1, 999), _numbers(table, "largest", 3)
    number, increment = table.integer("first_id", 1, 1 << 53), table.fine("increment")
    has_fractions, coupon_type = table.flag("fractions", False), table.choice("coupon_type", _COUPON_TYPES)
    scale = BOND_SCALE if has_fractions else 1
    for row in table.rows("rows", 8, 10):
        symbol, maturity = row.words[0], _date(table, "rows", row.words[4])
        flags = row.words[8:]
        for flag in flags:
            if flag not in _FLAGS:
                raise row.error(f"{flag} is none of {', '.join(_FLAGS)}")
        lot = scale // 100 if has_fractions else 1
        coupon = _row_fine(row, 3) // 100
        is_credit = kind is BondKind.CBIO
        instrument = Instrument(
            security_id=number, symbol=symbol, channel=CHANNEL, group=kind.name, asset=kind.name,
            security_type=SecurityType.CBIO if is_credit else SecurityType.CORP, product=Product.CORPORATE,
            description=f"{kind.name} {symbol}", sub_type=kind,
            isin=isin_of(f"BR{kind.name:X<4}{number % 10**5:05d}"), cfi_code=_CFI[kind],
            tick=increment, lot=lot, minimum_quantity=lot, maximum_quantity=largest[0] * scale,
            issue_date=to_days(date(2025, 3, 14)), maturity_date=to_days(maturity),
            closing_price=_row_fine(row, 1), clearing_id=number % 10**6, price_kind=price_kind,
            price_exponent=BOND_EXPONENT, size_exponent=BOND_EXPONENT if has_fractions else 0,
        )  # fmt: skip
        bond = Bond(
            instrument, kind, price_kind, coupon_fine=coupon or None, coupon_type=coupon_type,
            coupon_date=to_days(date(2027, maturity.month, maturity.day)) if coupon else None,
            registration=Registration.MANUAL if "manual" in flags else Registration.AUTOMATIC,
            rate_increment=increment if price_kind is PriceKind.YIELD else None,
            largest_rfq=largest[1] * scale, largest_voice=largest[2] * scale, allows_fractions=has_fractions,
            attributes=_attributes(_corporate_attributes(row, flags, bool(coupon)), sector),
            valid_until_ns=_end_of_trading(maturity),
        )  # fmt: skip
        catalogue.add(bond, table)
        catalogue.par[symbol] = Decimal(_row_fine(row, 2)) / BOND_SCALE
        number += 1


def _corporate_attributes(row: TomlRow, flags: list[str], has_coupon: bool) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = [(BondAttribute.COUPON_PERIOD, "6")] if has_coupon else []
    found.append((BondAttribute.IN_DEFAULT, "1" if "default" in flags else "0"))
    found.append((BondAttribute.RESTRICTED_EFFORT, "1" if "restricted" in flags else "0"))
    if row.words[5] != "-":
        found.append((BondAttribute.RATING_FITCH, row.words[6]))
        found.append((BondAttribute.RATING_SP, row.words[5]))
    if row.words[7] != "0":
        found.append((BondAttribute.CUSTOM_02, row.words[7]))
    if "private" in flags:  # the text has owner and id as yes or no: raw text either way
        found += [(BondAttribute.PRIVATE_BOOK_OWNER, "DESK7"), (BondAttribute.PRIVATE_BOOK_ID, "1")]
    if "taker" in flags:
        found.append((BondAttribute.IS_TAKER, "1"))
    return found


def _attributes(found: list[tuple[int, str]], sector: int) -> tuple[tuple[int, str], ...]:
    found = [*found, (BondAttribute.TRADING_DEADLINE, DEADLINE)]
    if sector:
        found.append((BondAttribute.TRADING_SECTOR, str(sector)))
    return tuple((int(kind), text) for kind, text in sorted(found))


def _government_coupon(kind: BondKind, has_coupon: bool) -> CouponType:
    if has_coupon:
        return CouponType.FIXED
    return CouponType.FLOATING if kind is BondKind.LFT else CouponType.ZERO


def _end_of_trading(maturity: date) -> int:
    """The deadline of the day before the maturity."""
    return (to_days(maturity) - 1) * _DAY_NS + _DEADLINE_NS


def _numbers(table: TomlTable, name: str, count: int) -> list[int]:
    value = table.numbers(name)
    if len(value) != count:
        raise table.error(f"must be {count} whole numbers, not {len(value)}", name)
    return value


def _date(table: TomlTable, name: str, word: str) -> date:
    try:
        found = date.fromisoformat(word)
    except ValueError as error:
        raise table.error(f"must be dates as 2027-01-01, not {word!r}", name) from error
    if not date(2001, 1, 1) <= found <= date(2100, 1, 1) - timedelta(days=1):
        raise table.error(f"{word} is out of the years 2001 to 2099", name)
    return found


def _fine(table: TomlTable, name: str, word: str) -> int:
    try:
        return to_fine(word)
    except ValueError as error:
        raise table.error(str(error), name) from error


def _row_fine(row: TomlRow, column: int) -> int:
    try:
        return to_fine(row.words[column])
    except ValueError as error:
        raise row.error(str(error)) from error
