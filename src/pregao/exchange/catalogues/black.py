"""What an option is worth by Black's formula of 1976, without interest, under a volatility that smiles.

Arrays in, arrays out; prices in any unit, times in years, volatilities of a year as fractions.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SKEW, _CURVE = -0.05, 0.35  # of the smile, by deviations from the money
_STEEPEST = 2.0  # times the volatility at the money
_DAY = 1 / 365
_erf = np.frompyfunc(math.erf, 1, 1)  # numpy has none; a block of draws has a few hundred


def _floats(value: Any) -> Floats:
    return np.asarray(value, np.float64)


def normal_cdf(x: Any) -> Floats:
    found: Floats = 0.5 * (1 + np.asarray(_erf(_floats(x) / math.sqrt(2)), np.float64))
    return found


def premium(forward: Any, strike: Any, years: Any, volatility: Any, is_put: Any) -> Floats:
    """The price of calls and puts on a forward."""
    forward, strike = _floats(forward), _floats(strike)
    width = _floats(volatility) * np.sqrt(np.maximum(_floats(years), _DAY))
    d1 = np.log(forward / strike) / width + width / 2
    call = forward * normal_cdf(d1) - strike * normal_cdf(d1 - width)
    found: Floats = np.where(is_put, call - forward + strike, call)
    return found


def smile(forward: Any, strike: Any, years: Any, at_the_money: Any) -> Floats:
    """The volatility of a strike: lowest near the money, higher below it than above."""
    at_the_money = _floats(at_the_money)
    width = at_the_money * np.sqrt(np.maximum(_floats(years), _DAY))
    away = np.log(_floats(strike) / _floats(forward)) / width
    found: Floats = at_the_money * np.clip(1 + _SKEW * away + _CURVE * away**2, 0.5, _STEEPEST)
    return found


def option_value(forward: Any, strike: Any, years: Any, at_the_money: Any, is_put: Any) -> Floats:
    return premium(forward, strike, years, smile(forward, strike, years, at_the_money), is_put)


def implied_volatility(price: Any, forward: Any, strike: Any, years: Any, is_put: Any) -> Floats:
    """The volatility at which the formula gives a price, by bisection; nan where none does."""
    price = _floats(price)
    low, high = np.full(price.shape, 0.005), np.full(price.shape, 5.0)
    outside = (price <= premium(forward, strike, years, low, is_put)) | (
        price >= premium(forward, strike, years, high, is_put)
    )
    for _ in range(40):
        middle = (low + high) / 2
        above = premium(forward, strike, years, middle, is_put) > price
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found: Floats = np.where(outside, np.nan, (low + high) / 2)
    return found
