"""Black's formula against printed examples and laws that hold for any price."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.exchange.catalogues.options import implied_volatility, normal_cdf, option_value, premium, smile

forwards = st.floats(1, 200_000)
moneyness = st.floats(0.7, 1.4)
volatilities = st.floats(0.05, 1.0)
years = st.floats(0.01, 2)


def test_a_put_on_a_future_as_textbooks_print_it() -> None:
    """Hull, Options, Futures and Other Derivatives: oil at 20, four months, 9 % interest, 25 %: 1.12."""
    put = math.exp(-0.09 * 4 / 12) * float(premium(20, 20, 4 / 12, 0.25, True))
    assert put == pytest.approx(1.12, abs=0.005)


def test_a_call_on_a_share_as_textbooks_print_it() -> None:
    """The same book: share at 42, strike 40, half a year, 10 % interest, 20 %: call 4.76, put 0.81."""
    forward, discount = 42 * math.exp(0.05), math.exp(-0.05)
    assert discount * float(premium(forward, 40, 0.5, 0.2, False)) == pytest.approx(4.76, abs=0.005)
    assert discount * float(premium(forward, 40, 0.5, 0.2, True)) == pytest.approx(0.81, abs=0.005)


def test_the_normal_distribution() -> None:
    assert normal_cdf([0, 1.96, -1.96]) == pytest.approx([0.5, 0.975, 0.025], abs=1e-4)


@given(forwards, moneyness, years, volatilities)
def test_call_less_put_is_forward_less_strike(
    forward: float, ratio: float, time: float, sigma: float
) -> None:
    strike = forward * ratio
    call, put = (float(option_value(forward, strike, time, sigma, is_put)) for is_put in (False, True))
    assert call - put == pytest.approx(forward - strike, abs=1e-9 * forward)
    assert call >= max(forward - strike, 0) - 1e-9 * forward
    assert put >= max(strike - forward, 0) - 1e-9 * forward


@given(st.floats(0.85, 1.15), st.floats(0.05, 1.0), st.floats(0.1, 0.8), st.booleans())
def test_the_implied_volatility_is_the_one_put_in(
    ratio: float, time: float, sigma: float, is_put: bool
) -> None:
    price = premium([100.0], 100 * ratio, time, sigma, is_put)
    if price[0] > max((100 * ratio - 100) * (1 if is_put else -1), 0) + 1e-6:
        found = implied_volatility(price, 100.0, 100 * ratio, time, is_put)
        assert found[0] == pytest.approx(sigma, rel=1e-3)


def test_no_volatility_gives_less_than_nothing() -> None:
    assert np.isnan(implied_volatility([0.0, 101.0], 100.0, 100.0, 0.5, False)).all()


def test_wings_smile() -> None:
    at, below, above, far = smile(100.0, [100.0, 90.0, 110.0, 70.0], 0.1, 0.3)
    assert at == pytest.approx(0.3)
    assert far > below > above > at * 0.99
