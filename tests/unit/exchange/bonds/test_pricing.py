"""Unit prices from rates. `tests/proofs/bond_prices.py` holds ten thousand of them to a judge; here is what
each rule does, with values that can be worked out by hand."""

from datetime import date
from decimal import Decimal

import pytest

from pregao.exchange.bonds.pricing import (
    Fixings,
    PricingError,
    casada_price,
    cash_flows,
    money,
    payment_dates,
    price_of_percentage,
    quotation,
    unit_price,
    years,
)
from pregao.model.fixed_income import BondKind

D = Decimal


def test_prices_of_each_kind() -> None:
    assert unit_price(BondKind.LTN, date(2024, 7, 5), date(2030, 1, 1), D("12.145")) == D("535.279902")
    assert unit_price(BondKind.NTNF, date(2024, 7, 5), date(2035, 1, 1), D("11.921")) == D("895.359254")
    indexed = [
        (
            BondKind.NTNB,
            date(2024, 8, 15),
            date(2032, 8, 15),
            "5.929",
            "100.6409",
            "4315.498383",
            "4343.156412",
        ),
        (
            BondKind.NTNC,
            date(2025, 3, 21),
            date(2031, 1, 1),
            "6.7626",
            "126.4958",
            "6598.913723",
            "8347.348705",
        ),
    ]
    for kind, settlement, maturity, rate, quoted, vna, price in indexed:
        assert quotation(kind, settlement, maturity, D(rate)) == D(quoted)
        assert unit_price(kind, settlement, maturity, D(rate), D(vna)) == D(price)
    assert quotation(BondKind.LFT, date(2024, 7, 24), date(2030, 9, 1), D("0.1717")) == D("98.9645")


def test_a_price_that_is_exact_stays_so() -> None:
    """Half a year of 126 days at 56.25 % is a factor of 1.25: a hair more, and the cut would take a digit."""
    settlement, maturity = date(2025, 1, 2), date(2025, 7, 7)
    assert years(settlement, maturity) == D("0.5")
    assert unit_price(BondKind.LTN, settlement, maturity, D("56.25")) == D(800)
    assert unit_price(BondKind.LTN, settlement, maturity, D(0)) == D(1000)


def test_a_negative_rate_prices_above_the_nominal_value() -> None:
    vna = D("15785.324502")
    assert unit_price(BondKind.LFT, date(2026, 1, 5), date(2027, 9, 1), D("-0.02"), vna) > vna


def test_flows_are_the_coupons_after_settlement_and_the_principal() -> None:
    assert payment_dates(date(2024, 5, 10), date(2025, 5, 15)) == [
        date(2024, 5, 15), date(2024, 11, 15), date(2025, 5, 15),
    ]  # fmt: skip
    assert payment_dates(date(2024, 5, 15), date(2025, 5, 15))[0] == date(2024, 11, 15)
    coupons = {
        (BondKind.NTNB, date(2035, 5, 15)): ("2.956301", "102.956301"),
        (BondKind.NTNC, date(2031, 1, 1)): ("5.830052", "105.830052"),
        (BondKind.NTNC, date(2030, 1, 1)): ("2.956301", "102.956301"),
        (BondKind.NTNF, date(2035, 1, 1)): ("48.80885", "1048.80885"),
    }
    for (kind, maturity), (coupon, last) in coupons.items():
        flows = [flow for _, flow in cash_flows(kind, date(2025, 3, 3), maturity)]
        assert set(flows[:-1]) == {D(coupon)}
        assert flows[-1] == D(last)
    assert cash_flows(BondKind.LTN, date(2025, 3, 3), date(2030, 1, 1)) == [(date(2030, 1, 1), D(1000))]


def test_years_are_business_days_over_252_cut_at_14_places() -> None:
    assert years(date(2024, 1, 2), date(2024, 1, 3)) == D("0.00396825396825")
    # The list of before 26 December 2023 does not know 20 November of 2024.
    assert years(date(2023, 12, 22), date(2024, 12, 2)) - years(date(2023, 12, 26), date(2024, 12, 2)) == (
        D("0.94047619047619") - D("0.93253968253968")
    )


def test_corporate_bonds_and_money() -> None:
    assert price_of_percentage(D("1043.217655"), D("99.1234")) == D("1034.072809")
    assert money(D("1034.072809"), D("0.5")) == D("517.03")
    assert money(D("1034.072809"), D(1_000_000)) == D("1034072809.00")


def test_a_casada_is_its_bond_at_the_futures_rate_and_the_spread() -> None:
    fixings = Fixings(date(2026, 11, 16), {BondKind.NTNB: D("4629.157034")}, {}, {"DAPQ30": D("7.25")})
    price = casada_price(BondKind.NTNB, date(2030, 8, 15), "DAPQ30", D("-0.12"), fixings)
    vna = D("4629.157034")
    assert price == unit_price(BondKind.NTNB, date(2026, 11, 16), date(2030, 8, 15), D("7.13"), vna)
    with pytest.raises(PricingError, match="DI1F30: its rate of 2026-11-16 is not given"):
        casada_price(BondKind.LTN, date(2030, 1, 1), "DI1F30", D(0), fixings)


def test_what_cannot_be_priced_is_named() -> None:
    settlement, maturity = date(2025, 3, 3), date(2030, 8, 15)
    with pytest.raises(PricingError, match="NTNB of 2025-03-03: no nominal value"):
        unit_price(BondKind.NTNB, settlement, maturity, D(6))
    with pytest.raises(PricingError, match="has matured"):
        unit_price(BondKind.LTN, maturity, settlement, D(6))
    with pytest.raises(PricingError, match="leaves nothing"):
        unit_price(BondKind.LTN, settlement, maturity, D(-100))
    with pytest.raises(PricingError, match="DEB is not priced from a rate"):
        unit_price(BondKind.DEB, settlement, maturity, D(6))
    with pytest.raises(PricingError, match="LTN has no quotation"):
        quotation(BondKind.LTN, settlement, maturity, D(6))
    with pytest.raises(PricingError, match="coupons of day 31"):
        unit_price(BondKind.NTNB, settlement, date(2030, 8, 31), D(6), D(1000))
