"""The catalogue of bonds: what the packaged one has, and what a wrong one is told."""

from collections import Counter
from datetime import date
from decimal import Decimal

import pytest

from pregao.exchange.bonds.catalogue import load_bonds, load_default_bonds
from pregao.exchange.bonds.pricing import price_of_percentage, unit_price
from pregao.exchange.catalogues.tables import to_days
from pregao.model.errors import ConfigurationError
from pregao.model.fixed_income import Bond, BondAttribute, BondKind, CouponType, LotType, Registration
from pregao.model.market import PriceKind

BONDS = load_default_bonds()
TODAY = date(2026, 11, 16)


def of(bond: Bond, kind: BondAttribute) -> str | None:
    return dict(bond.attributes).get(kind)


def test_all_kinds_in_whole_and_fractional_lots() -> None:
    assert len(BONDS) == 84
    kinds = Counter((bond.kind, bond.lot_type) for bond in BONDS if not bond.is_casada)
    for kind in filter(None, BondKind):
        assert kinds[kind, LotType.ROUND] > 0
        assert (kinds[kind, LotType.ODD] == kinds[kind, LotType.ROUND]) == kind.is_government
    casadas = Counter(bond.kind for bond in BONDS if bond.is_casada)
    assert casadas == {BondKind.LTN: 4, BondKind.NTNF: 3, BondKind.NTNB: 4}


def test_every_sector_that_is_sent_and_never_8() -> None:
    sectors = {bond.sector for bond in BONDS}
    assert sectors == {str(number) for number in (*range(2, 8), *range(9, 22))} | {None}
    assert {bond.kind for bond in BONDS if bond.sector is None} == {BondKind.LFT}


def test_every_attribute_happens() -> None:
    assert {kind for bond in BONDS for kind, _ in bond.attributes} == {int(kind) for kind in BondAttribute}
    for flag in (BondAttribute.IN_DEFAULT, BondAttribute.RESTRICTED_EFFORT):
        assert {of(bond, flag) for bond in BONDS if not bond.kind.is_government} == {"0", "1"}
    assert {bond.coupon_type for bond in BONDS} == set(filter(None, CouponType))
    assert {bond.registration for bond in BONDS} == set(filter(None, Registration))
    kinds = {PriceKind.PERCENTAGE, PriceKind.PER_UNIT, PriceKind.SPREAD, PriceKind.YIELD}
    assert {bond.price_kind for bond in BONDS} == kinds
    for flags in ({bond.allows_fractions for bond in BONDS}, {bond.allows_negative for bond in BONDS}):
        assert flags == {True, False}


def test_bonds_are_consistent() -> None:
    for bond in BONDS:
        instrument = bond.instrument
        assert instrument.price_exponent == -8
        assert instrument.size_exponent == (-8 if bond.allows_fractions else 0)
        assert instrument.issue_date < to_days(TODAY) < (instrument.maturity_date or 0)
        assert 0 < instrument.minimum_quantity <= instrument.maximum_quantity
        assert instrument.maximum_quantity < bond.largest_rfq < bond.largest_voice
        assert (bond.rate_increment is not None) == bond.is_rate
        assert (instrument.closing_price or 0) % bond.increment == 0
        assert (instrument.closing_price or 0) > 0 or bond.allows_negative
        assert (bond.coupon_fine is not None) == (of(bond, BondAttribute.COUPON_PERIOD) is not None)
        assert (instrument.isin is None) == bond.is_casada
        assert bond.is_casada == (bond.factor_fine is not None) == (bond.price_kind is PriceKind.SPREAD)


def test_a_casada_names_its_bond_and_its_future() -> None:
    for bond in BONDS:
        if bond.is_casada:
            leg, future = bond.instrument.underlyings
            assert BONDS.bonds[leg.security_id].instrument.symbol == leg.symbol
            assert BONDS.bonds[leg.security_id].kind is bond.kind
            assert future.symbol.startswith("DAP" if bond.kind is BondKind.NTNB else "DI1")


def test_every_bond_has_a_price_in_reais() -> None:
    for bond in BONDS:
        closing = Decimal(bond.instrument.closing_price or 0).scaleb(-8)
        maturity = date.fromordinal(date(1970, 1, 1).toordinal() + (bond.instrument.maturity_date or 0))
        if bond.is_casada:
            continue
        if bond.price_kind is PriceKind.YIELD:
            assert unit_price(bond.kind, TODAY, maturity, closing, Decimal("4629.157034")) > 0
        elif bond.price_kind is PriceKind.PERCENTAGE:
            assert price_of_percentage(BONDS.par[bond.instrument.symbol], closing) > 0
        else:
            assert closing > 0


SMALL = """[[government]]
kind = "LTN"
first_id = 1
sectors = [5, 11]
rate_increment = "0.0001"
largest = [1, 2, 3]
maturities = "2027-01-01"
closing = "14.1"
"""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"LTN"', '"DEB"'), r"government\[0\].kind: must be one of LFT"),
        (('"2027-01-01"', '"2027-13-01"'), r"government\[0\].maturities: must be dates"),
        (('"2027-01-01"', '"2127-01-01"'), r"government\[0\].maturities: 2127-01-01 is out of the years"),
        (('"14.1"', '"14.1 14.2"'), r"government\[0\]: needs a closing rate"),
        (('"14.1"', '"x"'), r"government\[0\].closing: must be a number"),
        (("[5, 11]", "[5]"), r"government\[0\].sectors: must be 2 whole numbers, not 1"),
        (("[1, 2, 3]", "[1, 2, -3]"), r"government\[0\].largest: must be whole numbers from 0, not -3"),
        (("[1, 2, 3]", "7"), r"government\[0\].largest: must be a list"),
        (("first_id", "colour = 1\nfirst_id"), r"government\[0\].colour: unknown key"),
        (("[[government]]", "[[bonds]]"), "bonds: unknown key"),
        (("[[government]]", "[[government"), "at line 1"),
    ],
)
def test_a_wrong_catalogue_is_told_its_key(change: tuple[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        load_bonds(SMALL.replace(*change), "bonds.toml")
    assert len(load_bonds(SMALL)) == 2


def test_rows_that_are_wrong() -> None:
    casada = '[[casadas]]\nkind="LTN"\nfirst_id=9\nsector=15\nrate_increment="0.0001"\nclosing="0"\n'
    casada += "largest=[1,2,3]\n"
    with pytest.raises(ConfigurationError, match="a LTN of the list, its future and the future's id"):
        load_bonds(SMALL + casada + 'rows="2028-01-01 DI1F28 5 1.0"')
    with pytest.raises(ConfigurationError, match=r"LTN010127 \(1\) is there twice"):
        load_bonds(SMALL + SMALL)
