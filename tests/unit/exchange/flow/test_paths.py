"""Values move by the day: ranges, fat tails and clusters do not depend on who looks, or how often."""

import numpy as np
import pytest

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.catalogues.options import option_value
from pregao.exchange.flow.draws import OrderSizes
from pregao.exchange.flow.prices import NARROWEST, STEPS, TRADING_DAY_NS, WIDEST, InstrumentValues, draw_paths

START = 1_794_830_400_000_000_000
EVERY = START + np.arange(0, TRADING_DAY_NS, TRADING_DAY_NS // STEPS)


@pytest.fixture(scope="module")
def prices() -> InstrumentValues:
    found = InstrumentValues(load_default_catalogue(), 7, TRADING_DAY_NS)
    assert found.start(START)
    return found


def number(symbol: str) -> int:
    return [each.symbol for each in load_default_catalogue().instruments].index(symbol)


def path(prices: InstrumentValues, symbol: str) -> np.ndarray:
    return prices.draw(EVERY, np.full(len(EVERY), number(symbol)))


@pytest.mark.parametrize("symbol", ["PETR4", "VALE3", "MGLU3", "WINZ26", "WDOZ26", "DI1F29", "BOVA11"])
def test_ranges_of_a_day(prices: InstrumentValues, symbol: str) -> None:
    values = path(prices, symbol)
    assert 0.008 <= (values.max() - values.min()) / values[0] <= 0.045


def test_a_value_does_not_depend_on_who_looks(prices: InstrumentValues) -> None:
    other = InstrumentValues(load_default_catalogue(), 7, TRADING_DAY_NS)
    other.start(START)
    moment, which = EVERY[1_000:1_001], np.array([number("VALE3")])
    assert other.draw(moment, which) == prices.draw(moment, which)
    assert other.value(int(which[0]), int(moment[0])) == prices.draw(moment, which)[0]


def test_returns_have_fat_tails_and_clusters() -> None:
    rng = np.random.default_rng(5)
    moves = draw_paths(rng, np.full(300, 0.015), np.arange(1, 300), 0)
    returns = np.diff(moves[:, ::6], axis=1)  # of a minute
    scaled = returns / returns.std(axis=1, keepdims=True)
    assert 1.5 < (scaled**4).mean() - 3 < 20
    size = np.abs(scaled) - np.abs(scaled).mean(axis=1, keepdims=True)
    assert (size[:, 1:] * size[:, :-1]).mean() / (size**2).mean() > 0.1
    signed = (scaled[:, 1:] * scaled[:, :-1]).mean()
    assert abs(signed) < 0.05  # which way the next one goes cannot be seen
    window = moves[:, 400:2880]
    spread = window.max(axis=1) - window.min(axis=1)
    assert spread.min() >= NARROWEST * 0.999
    assert spread.max() <= WIDEST * 1.001


def test_shares_follow_the_index() -> None:
    moves = draw_paths(np.random.default_rng(6), np.full(60, 0.015), np.arange(1, 60), 0)
    steps = np.diff(moves[:, ::30], axis=1)
    assert np.mean([np.corrcoef(steps[0], each)[0, 1] for each in steps[1:]]) > 0.4


def test_an_option_follows_its_share_with_a_smile(prices: InstrumentValues) -> None:
    catalogue = load_default_catalogue()
    listing = catalogue.by_symbol["PETRX372"]
    share, put = path(prices, "PETR4"), path(prices, "PETRX372")
    years = (listing.instrument.maturity_date - START // 86_400_000_000_000) / 365
    fair = option_value(share.astype(float), listing.instrument.strike, years, 0.32, True)
    assert np.abs(put - fair).max() <= 2 * listing.instrument.tick
    assert np.corrcoef(share, put)[0, 1] < -0.95


def test_a_strategy_is_the_sum_of_its_legs(prices: InstrumentValues) -> None:
    for strategy, bought, sold, ticks in (
        ("PETRL372L392", "PETRL372", "PETRL392", 2), ("DR1Z26F27", "DOLF27", "DOLZ26", 2),
    ):  # fmt: skip
        apart = path(prices, strategy) - path(prices, bought) + path(prices, sold)
        assert np.abs(apart).max() <= ticks * prices.ticks[number(strategy)]


def test_another_day_goes_on_from_the_last(prices: InstrumentValues) -> None:
    one = InstrumentValues(load_default_catalogue(), 7, TRADING_DAY_NS)
    one.start(START)
    which, end = number("PETR4"), START + TRADING_DAY_NS - 1
    before = one.value(which, end)
    assert not one.start(end)
    assert one.start(START + 86_400_000_000_000)
    after = one.value(which, START + 86_400_000_000_000)
    assert abs(after - before) / before < 0.02


def test_who_comes_seldom_keeps_away(prices: InstrumentValues) -> None:
    seldom, often = (prices.half_spreads(np.full(len(prices.ticks), rate)) for rate in (10.0, 100_000.0))
    assert (seldom >= often).all()
    assert (often >= prices.ticks).all()
    assert seldom[number("PETR4")] > 3 * often[number("PETR4")]


def test_sizes_are_by_instrument_and_class() -> None:
    listings = load_default_catalogue().listings
    sizes, rng = OrderSizes(listings), np.random.default_rng(1)

    def usual(symbol: str) -> float:
        return float(np.median(sizes.draw(rng, np.full(2_000, number(symbol)))))

    assert usual("SBSP3") < usual("PETR4") < usual("MGLU3") < usual("COGN3")  # the cheaper, the more
    assert usual("WINZ26") <= 3
    assert usual("DI1F29") >= 20
    assert usual("PETR4F") < 30
    assert usual("PETRL392") >= 500
    for n, listing in enumerate(listings):
        drawn = sizes.draw(rng, np.full(50, n))
        assert (drawn % listing.instrument.lot == 0).all()
        assert drawn.min() > 0
        assert drawn.max() <= listing.instrument.maximum_quantity
