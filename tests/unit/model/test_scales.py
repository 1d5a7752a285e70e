"""Scales: what the numbers of an instrument count, and how people read them."""

from decimal import Decimal

from pregao.market.row_values import places_of, price_text
from pregao.model.market import PriceKind
from pregao.model.scales import USUAL, Scale, ScaledSymbol, scale_of, scaled_symbol
from tests.kits.bonds import CATALOGUE, CRI, LTN
from tests.kits.conflated import PETR4


def test_a_rate_is_shown_as_a_rate() -> None:
    scale = Scale(-8, 0, PriceKind.YIELD)
    assert price_text(1_332_000_000, scale=scale) == "13.32%"
    assert price_text(-1_220_000, scale=scale) == "-0.0122%"
    assert price_text(101_844_287_100, scale=Scale(-8, -8, PriceKind.PER_UNIT)) == "1018.442871"
    assert price_text(360_500) == "36.05"
    assert price_text(None, scale=scale) == "market"
    assert scale.price(1_332_000_000) == Decimal("13.32")


def test_sizes_have_as_few_places_as_they_need() -> None:
    scale = Scale(-8, -8)
    assert [scale.size_text(each) for each in (50_000_000, 100_000_000, 123_456_700_000_000)] == [
        "0.5", "1", "1,234,567",
    ]  # fmt: skip
    assert USUAL.size_text(12_345) == "12,345"


def test_places_are_those_of_the_tick() -> None:
    assert places_of(10_000, Scale(-8)) == 4
    assert places_of(100) == 2


def test_a_symbol_carries_the_scale_of_a_bond_only() -> None:
    ltn, cri = (CATALOGUE.bonds[each].instrument for each in (LTN, CRI))
    symbol = scaled_symbol(ltn.symbol, ltn.scale)
    assert symbol == ltn.symbol
    assert isinstance(symbol, ScaledSymbol)
    assert scale_of(symbol).price_kind is PriceKind.YIELD
    assert cri.scale.size_exponent == -8
    assert scaled_symbol(PETR4.symbol, PETR4.scale) is PETR4.symbol
    assert scale_of("PETR4") is scale_of(None) is USUAL
