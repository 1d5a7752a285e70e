"""What instruments are worth: every one follows a factor, so that a future moves with its index and an
option with its share.

    outright    closing price × (1 + move of its factor)
    option      Black's formula of its underlying's value, with a smile
    strategy    the sum of its legs
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.catalogues.options import option_value
from pregao.exchange.catalogues.rules import ListedInstrument
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Side

# How values move in a day: paths on a clock of the day, drawn whole and scaled to a range of the day.
#
# Nothing here knows how many orders come: a quiet day and a busy one of the same seed have the same paths.
# Returns have a volatility that walks by itself and with the market's, is higher near the opening and the
# close, and their innovations have fat tails; so large moves come together.


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


_RETURN_DAYS = 3.0  # moves fade overnight, so that months of them stay inside the limits
_SPREAD = 0.00012  # half of what the popular ones cost to cross, as a fraction of the price
_WIDEST = 0.004  # the same at most, however seldom somebody comes
_WIDEST_OPTION = 0.15  # of its premium
_TICKS_ACROSS = 4
_CALENDAR_DAY_NS = 86_400_000_000_000
_YEAR = 365.0
# The mini contract follows the large one, and the spot the future.
_FAMILIES = {"WIN": "IND", "WDO": "DOL", "USD": "DOL"}


@dataclass(frozen=True, slots=True)
class _Options:
    """What options are priced by, a column an instrument; only those of options mean anything."""

    is_option: npt.NDArray[np.bool_]
    underlying: Floats  # closing price
    strike: Floats
    maturity: Floats  # days since 1970
    volatility: Floats
    is_put: npt.NDArray[np.bool_]


class InstrumentValues:
    """The values of all instruments at any time of the day that `start` began."""

    def __init__(self, catalogue: Catalogue, seed: int, day_ns: int) -> None:
        listings = catalogue.listings
        self._seed, self._day_ns = seed, day_ns
        self.ticks = np.array([listing.instrument.tick for listing in listings], np.int64)
        self.outright = np.array([not listing.instrument.legs for listing in listings])
        self._closings = np.array([float(listing.closing) for listing in listings])
        self._floors = np.where(self.outright, 2 * self.ticks, -(1 << 60))
        self._options = _options(catalogue)
        self._legs = _legs(catalogue)
        names = [_factor(catalogue, listing.instrument) for listing in listings]
        factors = {name: n for n, name in enumerate(dict.fromkeys(names))}
        self._factor = np.array([factors[name] for name in names], np.int64)
        self._volatility = np.zeros(len(factors))
        for n, listing in zip(self._factor, listings, strict=True):
            self._volatility[n] = max(self._volatility[n], listing.volatility)
        self._shares = np.unique(
            [n for n, entry in zip(self._factor, listings, strict=True) if entry.average_daily is not None]
        ).astype(np.int64)
        self._coarse = np.zeros(len(factors))  # the ticks across a spread, as a fraction of the price
        outrights = self.outright & ~self._options.is_option & (self._closings > 0)
        ticks = _TICKS_ACROSS * self.ticks[outrights] / self._closings[outrights]
        np.maximum.at(self._coarse, self._factor[outrights], ticks)
        self._index = factors.get("IND")
        self._paths = np.zeros((len(factors), STEPS + 1))
        self._days = 0
        self._starts_ns, self._ends_ns, self._date = 0, 0, 0.0
        self._set_spreads(listings)

    def start(self, now_ns: int) -> bool:
        """Whether a day begins now: where the last one ended, a little nearer to where all began."""
        if now_ns < self._ends_ns:
            return False
        kept = self._paths[:, -1] * np.exp(-1 / _RETURN_DAYS)
        rng = np.random.default_rng((self._seed, 0x9A7, self._days))
        drawn = draw_paths(rng, self._volatility, self._shares, self._index, self._coarse)
        self._paths = kept[:, None] + drawn
        self._days += 1
        self._starts_ns, self._ends_ns = now_ns, now_ns + self._day_ns
        self._date = float(now_ns // _CALENDAR_DAY_NS)
        return True

    def end_day(self) -> None:
        """The next `start` begins a day, whenever it comes."""
        self._ends_ns = 0

    def draw(self, times: Ints, instruments: Ints) -> Ints:
        """The value of each instrument at its time, on its tick."""
        ticks = self.ticks[instruments]
        rounded: Ints = np.rint(self._values(times, instruments) / ticks).astype(np.int64) * ticks
        floored: Ints = np.maximum(rounded, self._floors[instruments])
        return floored

    def value(self, instrument: int, now_ns: int) -> int:
        """The value of one instrument now."""
        return int(self.draw(np.array([now_ns]), np.array([instrument]))[0])

    def half_spreads(self, rates: Floats) -> Ints:
        """From the middle to the touch, on ticks, of instruments that get so many orders a day: who
        looks seldom keeps away from a value that moves on between two looks."""
        moved = self._swings / np.sqrt(np.maximum(rates, 1.0))
        wide = np.minimum(np.maximum(self._spreads, moved), np.maximum(self._widest, self._spreads))
        found: Ints = np.maximum(np.rint(wide / self.ticks), 1).astype(np.int64) * self.ticks
        return found

    def _values(self, times: Ints, instruments: Ints) -> Floats:
        moves = self._moves(times, self._factor[instruments])
        found = self._closings[instruments] * (1 + moves)
        options = np.flatnonzero(self._options.is_option[instruments])
        if len(options):
            found[options] = self._premiums(instruments[options], moves[options])
        strategies = np.flatnonzero(~self.outright[instruments])
        for which in np.unique(instruments[strategies]):
            rows = strategies[instruments[strategies] == which]
            found[rows] = sum(
                signed * self._values(times[rows], np.full(len(rows), leg))
                for leg, signed in self._legs[int(which)]
            )
        return found

    def _premiums(self, instruments: Ints, moves: Floats) -> Floats:
        of = self._options
        years = (of.maturity[instruments] - self._date) / _YEAR
        return option_value(
            of.underlying[instruments] * (1 + moves), of.strike[instruments], years,
            of.volatility[instruments], of.is_put[instruments],
        )  # fmt: skip

    def _moves(self, times: Ints, factors: Ints) -> Floats:
        steps = np.clip((times - self._starts_ns) * (STEPS / self._day_ns), 0, STEPS)
        before = np.minimum(steps.astype(np.int64), STEPS - 1)
        share = steps - before
        found: Floats = self._paths[factors, before] * (1 - share) + self._paths[factors, before + 1] * share
        return found

    def _set_spreads(self, listings: tuple[ListedInstrument, ...]) -> None:
        """The narrowest and widest half spreads, and how far a value goes in a day."""
        weights = np.array([listing.weight for listing in listings])
        rarity = np.minimum(np.sqrt(weights.max() / np.maximum(weights, 1e-6)), 12.0)
        self._spreads = np.maximum(np.abs(self._closings) * _SPREAD * rarity, self.ticks)
        widest = np.where(self._options.is_option, _WIDEST_OPTION, _WIDEST) * np.abs(self._closings)
        self._widest = np.where(self.outright, widest, 20.0 * self.ticks)
        every = np.arange(len(listings))
        maturities = self._options.maturity[self._options.is_option]
        self._date = float(maturities.min() - 30) if len(maturities) else 0.0
        ends = []
        for move in (-0.01, 0.01):
            self._paths[:] = move
            ends.append(self._values(np.zeros(len(listings), np.int64), every))
        self._paths[:] = 0
        slopes = (ends[1] - ends[0]) / 0.02
        self._swings = np.abs(slopes) * self._volatility[self._factor]


def _options(catalogue: Catalogue) -> _Options:
    listings = catalogue.listings
    indices = {index.security_id: index.closing for index in catalogue.indices}
    underlying = np.ones(len(listings))
    is_option = np.zeros(len(listings), bool)
    for n, listing in enumerate(listings):
        instrument = listing.instrument
        if listing.annual_volatility and instrument.strike and instrument.underlyings:
            of = instrument.underlyings[0].security_id
            closing = catalogue.by_id[of].closing if of in catalogue.by_id else indices.get(of)
            if closing:
                underlying[n], is_option[n] = closing, True
    instruments = [listing.instrument for listing in listings]
    return _Options(
        is_option,
        underlying,
        np.array([float(each.strike or 1) for each in instruments]),
        np.array([float(each.maturity_date or 0) for each in instruments]),
        np.array([listing.annual_volatility or 0.3 for listing in listings]),
        np.array([bool(each.is_put) for each in instruments]),
    )


def _legs(catalogue: Catalogue) -> dict[int, list[tuple[int, int]]]:
    """Of every strategy: its legs with their ratios, those sold below zero."""
    numbers = {entry.instrument.security_id: n for n, entry in enumerate(catalogue.listings)}
    return {
        n: [
            (numbers[leg.security_id], leg.ratio if leg.side is Side.BUY else -leg.ratio)
            for leg in entry.instrument.legs
        ]
        for n, entry in enumerate(catalogue.listings)
        if entry.instrument.legs
    }


def _factor(catalogue: Catalogue, instrument: Instrument) -> str:
    """The name of what an instrument follows: that of its first leg, of its underlying, or its own."""
    if instrument.legs:
        return _factor(catalogue, catalogue.by_id[instrument.legs[0].security_id].instrument)
    for underlying in instrument.underlyings:
        if underlying.security_id in catalogue.by_id:
            return _factor(catalogue, catalogue.by_id[underlying.security_id].instrument)
    if instrument.security_type in (SecurityType.FUT, SecurityType.SPOT):
        return _FAMILIES.get(instrument.asset, instrument.asset)
    return "IND" if instrument.security_type is SecurityType.INDEXOPT else instrument.symbol
