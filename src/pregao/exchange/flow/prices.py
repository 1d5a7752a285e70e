"""Values that walk. Every instrument follows one factor by a slope, so that a spread is always the
difference of its legs and an option moves with its share:

    value = closing price + slope × move of its factor
"""

import math

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.catalogues.entries import Listing
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import Side

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_DAY_NS = 8 * 3600 * 1_000_000_000  # of trading
_RETURN_DAYS = 3.0  # moves fade in so many days, so that months of them stay inside the limits
_MARKET_SHARE = 0.5  # of the index's move that every share takes part in
_SPREAD = 0.00012  # half of what the popular ones cost to cross, as a fraction of the price
_STEP = 0.05  # of the half spread: the largest deviation of one step
# The mini contract follows the large one, and the spot the future.
_FAMILIES = {"WIN": "IND", "WDO": "DOL", "USD": "DOL"}


class Prices:
    """The values of all instruments, drawn a block of commands at a time."""

    def __init__(self, catalogue: Catalogue) -> None:
        listings = catalogue.listings
        self._catalogue = catalogue
        self.ticks = np.array([listing.instrument.tick for listing in listings], np.int64)
        self._closings = np.array([float(listing.closing) for listing in listings])
        self._slopes = np.array([self._slope(listing) for listing in listings])
        self.outright = np.array([not listing.instrument.legs for listing in listings])
        self._floors = np.where(self.outright, 2 * self.ticks, -(1 << 60))
        names = [_factor(catalogue, listing.instrument) for listing in listings]
        factors = {name: n for n, name in enumerate(dict.fromkeys(names))}
        self._factor = np.array([factors[name] for name in names], np.int64)
        self._volatility = np.zeros(len(factors))
        for n, listing in zip(self._factor, listings, strict=True):
            self._volatility[n] = max(self._volatility[n], listing.volatility)
        self._shares = np.unique(
            [n for n, entry in zip(self._factor, listings, strict=True) if entry.average_daily is not None]
        ).astype(np.int64)
        self._index = factors.get("IND")
        self._moves = np.zeros(len(factors))
        self._last_ns = np.zeros(len(factors))
        self.half_spreads = self._half_spreads(listings)
        self._largest_steps = self._steps_within_spreads(len(factors))

    def start(self, now_ns: int) -> None:
        """Nothing walked while nobody traded: a session starts where the last one ended."""
        self._last_ns[:] = now_ns

    def draw(self, rng: np.random.Generator, times: Ints, instruments: Ints) -> Ints:
        """The value of each command's instrument at its time, on its tick; every look lets it walk."""
        factors = self._factor[instruments]
        order = np.argsort(factors, kind="stable")
        grouped, at = factors[order], times[order].astype(np.float64)
        first = np.ones(len(order), bool)
        first[1:] = grouped[1:] != grouped[:-1]
        before = np.empty_like(at)
        before[1:] = at[:-1]
        before[first] = self._last_ns[grouped[first]]
        deviations = self._volatility[grouped] * np.sqrt(np.maximum(at - before, 0) / _DAY_NS)
        steps = np.minimum(deviations, self._largest_steps[grouped])
        path = np.cumsum(steps * rng.standard_normal(len(order)))
        starts = np.flatnonzero(first)
        base = np.where(starts > 0, path[starts - 1], 0.0)
        lengths = np.diff(np.append(starts, len(order)))
        moves = path - np.repeat(base, lengths) + self._moves[grouped]
        ends = starts + lengths - 1
        self._advance(grouped[ends], moves[ends], float(times[-1]))
        self._last_ns[grouped[ends]] = at[ends]
        values = np.empty_like(moves)
        values[order] = moves
        return self._on_tick(instruments, values)

    def value(self, instrument: int) -> int:
        """The value of one instrument now."""
        one = np.array([instrument])
        return int(self._on_tick(one, self._moves[self._factor[one]])[0])

    def _on_tick(self, instruments: Ints, moves: Floats) -> Ints:
        ticks = self.ticks[instruments]
        values = self._closings[instruments] + self._slopes[instruments] * moves
        rounded: Ints = np.rint(values / ticks).astype(np.int64) * ticks
        floored: Ints = np.maximum(rounded, self._floors[instruments])
        return floored

    def _advance(self, factors: Ints, moves: Floats, now_ns: float) -> None:
        """To the end of a block: shares feel the index, and all moves fade a little."""
        index_before = self._moves[self._index] if self._index is not None else 0.0
        faded = np.exp(-np.maximum(now_ns - self._last_ns[factors], 0) / (_RETURN_DAYS * _DAY_NS))
        self._moves[factors] = moves * faded
        if self._index is not None:
            self._moves[self._shares] += _MARKET_SHARE * (self._moves[self._index] - index_before)

    def _slope(self, listing: Listing) -> float:
        """How many ten-thousandths the price moves when its factor moves by one."""
        instrument = listing.instrument
        if instrument.legs:
            return sum(
                leg.ratio
                * (1 if leg.side is Side.BUY else -1)
                * self._slope(self._catalogue.by_id[leg.security_id])
                for leg in instrument.legs
            )
        if instrument.security_type is SecurityType.OPT and instrument.strike:
            spot = self._catalogue.by_id[instrument.underlyings[0].security_id].closing
            return spot * _delta(spot, instrument.strike, bool(instrument.is_put))
        return float(listing.closing)

    def _half_spreads(self, listings: tuple[Listing, ...]) -> Ints:
        """From the middle to the touch, at least a tick; the less popular, the wider."""
        weights = np.array([listing.weight for listing in listings])
        rarity = np.minimum(np.sqrt(weights.max() / np.maximum(weights, 1e-6)), 12.0)
        wide = np.abs(self._closings) * _SPREAD * rarity / self.ticks
        ticks: Ints = np.maximum(np.rint(wide), 1).astype(np.int64) * self.ticks
        return ticks

    def _steps_within_spreads(self, factors: int) -> Floats:
        """So small that a quiet market does not jump over the orders in its books at every look: with
        few commands a day prices walk less than their volatility, rather than trade all the time."""
        steps = np.full(factors, np.inf)
        relative = _STEP * self.half_spreads / np.maximum(np.abs(self._slopes), 1.0)
        np.minimum.at(steps, self._factor[self.outright], relative[self.outright])
        return steps


def _delta(spot: int, strike: int, is_put: bool) -> float:
    call = 0.5 * (1 + math.erf((spot / strike - 1) / 0.12))
    return call - 1 if is_put else call


def _factor(catalogue: Catalogue, instrument: Instrument) -> str:
    """The name of what an instrument follows: that of its first leg, of its share, or its own."""
    if instrument.legs:
        return _factor(catalogue, catalogue.by_id[instrument.legs[0].security_id].instrument)
    for underlying in instrument.underlyings:
        if underlying.security_id in catalogue.by_id:
            return _factor(catalogue, catalogue.by_id[underlying.security_id].instrument)
    if instrument.security_type in (SecurityType.FUT, SecurityType.SPOT):
        return _FAMILIES.get(instrument.asset, instrument.asset)
    return instrument.symbol
