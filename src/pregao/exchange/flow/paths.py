"""How values move in a day: paths on a clock of the day, drawn whole and scaled to a range of the day.

Nothing here knows how many orders come: a quiet day and a busy one of the same seed have the same paths.
Returns have a volatility that walks by itself and with the market's, is higher near the opening and the
close, and their innovations have fat tails; so large moves come together.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TRADING_DAY_NS: Final = 33_300_000_000_000  # from 8:55 to 18:10
STEPS: Final = 3_330  # of ten seconds
NARROWEST, WIDEST = 0.0145, 0.028  # ranges of a day while every group trades, as fractions
WIDEST_WHOLE: Final = 0.033  # from the first to the last trade of any group
_RANGE_OF_VOLATILITY: Final = 1.6  # expected range of a walk by its deviation
_RANGE_DEVIATION: Final = 0.2  # from day to day, of its logarithm
_CALM_STEPS: Final = 300.0  # in which a volatility forgets
_VOLATILITY_DEVIATION: Final = 0.75  # of its logarithm
_COMMON: Final = 0.6  # share of the market in the volatility of each
_FREEDOM: Final = 10  # of Student's distribution
_MARKET_SHARE: Final = 0.55  # of the index's move that every share takes part in
_WINDOW: Final = slice(400, 2_880)  # in which every group trades: the range is of this
_WHOLE: Final = slice(30, 3_270)  # in which some group trades, from 9:00 to 18:00


def draw_paths(
    rng: np.random.Generator,
    volatility: Floats,
    shares: Ints,
    index: int | None,
    coarse: Floats | float = 0.0,
) -> Floats:
    """Moves of a day as fractions, a row a factor, from 0 on: `shares` take part in those of `index`.
    `coarse` is what ticks alone add to a range."""
    factors = len(volatility)
    walks = np.zeros((factors, STEPS + 1))
    innovations = rng.standard_t(_FREEDOM, (factors, STEPS))
    walks[:, 1:] = np.cumsum(innovations * _volatilities(rng, factors) * _hours(), axis=1)
    walks *= (volatility / walks.std(axis=1))[:, None]
    if index is not None and len(shares):
        walks[shares] += (
            _MARKET_SHARE
            / (1 - _MARKET_SHARE)
            * (walks[index] / volatility[index] * volatility[shares][:, None])
        )
    spread = np.exp(_RANGE_DEVIATION * rng.standard_normal(factors))
    widest = np.maximum(WIDEST - coarse, NARROWEST)
    wanted = np.clip(_RANGE_OF_VOLATILITY * volatility * spread, NARROWEST, widest)
    walks *= (wanted / np.ptp(walks[:, _WINDOW], axis=1))[:, None]
    whole = np.ptp(walks[:, _WHOLE], axis=1)
    scaled: Floats = walks * np.minimum(WIDEST_WHOLE / whole, 1)[:, None]
    return scaled


def _volatilities(rng: np.random.Generator, factors: int) -> Floats:
    """Of each step, by a logarithm that walks and returns: a common part and one of its own."""
    kept = np.exp(-1 / _CALM_STEPS)
    powers = kept ** np.arange(1, STEPS + 1)
    shocks = rng.standard_normal((factors + 1, STEPS)) * np.sqrt(1 - kept**2)
    start = rng.standard_normal((factors + 1, 1))
    logs = powers * (start + np.cumsum(shocks / powers, axis=1))
    mixed = _COMMON * logs[0] + np.sqrt(1 - _COMMON**2) * logs[1:]
    found: Floats = np.exp(_VOLATILITY_DEVIATION * mixed)
    return found


def _hours() -> Floats:
    """Busy after the opening at 10:00 and before the close at 16:55, quiet in the early afternoon."""
    hour = 8 + 55 / 60 + np.arange(STEPS) / 360
    opening, close = np.exp(-np.maximum(hour - 10, 0) / 0.8), np.exp(-np.abs(hour - 16.8) / 0.7)
    found: Floats = np.where(hour < 10, 0.8, 0.75 + 0.9 * opening + 0.4 * close)
    return found
