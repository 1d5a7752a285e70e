"""Everything random about some thousand commands, drawn at once as columns: what is left for the loop
is to look at the orders that live."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.flow.arrivals import draw_arrivals, popularity
from pregao.exchange.flow.paths import TRADING_DAY_NS
from pregao.exchange.flow.prices import Prices
from pregao.exchange.flow.settings import FIRMS, FlowSettings, Intent
from pregao.exchange.flow.sizes import OrderSizes
from pregao.model.market import BandType, LimitType

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# time, instrument, intent, buys, middle, distance from it, quantity, firm, depth, a random number, life
Draw = tuple[int, int, int, bool, int, int, int, int, int, int, int]

_FARTHEST = 0.04  # of the value, whatever the ticks say
_OF_BAND = 0.4  # of the distance at which orders are rejected: the value moves too
_SECOND_NS = 1_000_000_000
# Lives of orders, brief, usual and long: median in seconds, deviation of the logarithm.
_LIVES = ((0.12, 1.7), (20.0, 1.3), (2_400.0, 1.1))
_USUAL = 0.62  # of those that are not brief
_SHORTEST_LIFE_NS = 500_000
_ACROSS = 0.001  # of the value, or a tick: so far beyond the other side does somebody go who wants to trade
_THIN = 0.3  # of its usual depth: with so few orders a book is thin


class Blocks:
    """Columns for one catalogue."""

    def __init__(
        self, catalogue: Catalogue, rng: np.random.Generator, settings: FlowSettings, seed: int
    ) -> None:
        self.prices = Prices(catalogue, seed, settings.day_ns)
        self._rng, self._settings = rng, settings
        self.popularity = popularity(catalogue.listings, settings.zipf)
        self.sizes = OrderSizes(catalogue.listings)
        # Prices of shares are moved about more than those of futures: an order's replacement is two messages.
        self._restless = np.array([entry.average_daily is not None for entry in catalogue.listings])
        scale = self.popularity / self.popularity.max()
        self._depths = np.maximum(settings.deepest * np.sqrt(scale), settings.shallowest)
        self.thin: list[int] = np.maximum(_THIN * self._depths, settings.shallowest).astype(int).tolist()
        self._cumulative = np.cumsum(settings.shares())[:-1]
        firms = np.arange(1, len(FIRMS) + 1) ** -0.8
        self._firms, self._firm_chances = np.array(FIRMS), firms / firms.sum()
        self._farthest = _farthest(catalogue)
        self.half_spreads = self.prices.half_spreads(np.full(len(self.popularity), 1e9))

    def draw(self, start_ns: int, end_ns: int, count: int, active: npt.NDArray[np.bool_]) -> Iterator[Draw]:
        """The draws of one block, over the instruments that are not closed; none if all are."""
        chances = np.where(active, self.popularity, 0.0)
        if not chances.any():
            return iter(())
        chances /= chances.sum()
        rng, settings = self._rng, self._settings
        self.half_spreads = self.prices.half_spreads(
            count * chances * (settings.day_ns / (end_ns - start_ns))
        )
        times, which = draw_arrivals(rng, start_ns, end_ns, count, chances, settings)
        intents = np.searchsorted(self._cumulative, rng.random(count))
        moved = self._restless[which] & (rng.random(count) < settings.shares_change)
        intents[moved & (intents == Intent.KEEP)] = Intent.CHANGE
        buys = rng.random(count) < 0.5
        middles = self.prices.draw(times, which)
        lives, patience = self._lives(count)
        away = self._distances(which, intents, middles, patience)
        depths = (self._depths[which] * rng.uniform(0.6, 1.4, count)).astype(np.int64)
        firms = rng.choice(self._firms, count, p=self._firm_chances)
        picks = rng.integers(0, 1 << 31, count)
        sizes = self.sizes.draw(rng, which)
        columns = (times, which, intents, buys, middles, away, sizes, firms, depths, picks, lives)
        return zip(*(column.tolist() for column in columns), strict=True)

    def _lives(self, count: int) -> tuple[Ints, Ints]:
        """How long each order is to live, and of which kind it is."""
        brief = self._settings.brief
        kinds = self._rng.choice(3, count, p=(brief, (1 - brief) * _USUAL, (1 - brief) * (1 - _USUAL)))
        medians, deviations = (np.array(column)[kinds] for column in zip(*_LIVES, strict=True))
        seconds = medians * np.exp(deviations * self._rng.standard_normal(count))
        pace = self._settings.day_ns / TRADING_DAY_NS
        lives = np.maximum(seconds * pace * _SECOND_NS, _SHORTEST_LIFE_NS * pace)
        return lives.astype(np.int64), kinds

    def _distances(self, which: Ints, intents: Ints, middles: Ints, patience: Ints) -> Ints:
        """From the middle: a power law behind the touch, wider for those who wait, or across it for those
        who want to trade."""
        rng, settings = self._rng, self._settings
        ticks, half = self.prices.ticks[which], self.half_spreads[which]
        tail = rng.random(len(which)) ** (-1 / settings.distance_exponent) - 1
        wider = (2 + 3 * patience) * np.maximum(half / ticks / 2, 1)
        reach = np.minimum(tail * wider, settings.farthest_ticks)
        limit = np.maximum(np.abs(middles) * self._farthest[which] / ticks, 4)
        behind = half + np.minimum(reach, limit).astype(np.int64) * ticks
        beyond = np.clip((np.abs(middles) * _ACROSS / ticks).astype(np.int64), 1, 4)
        across = -2 * half - np.minimum(rng.geometric(0.5, len(which)), beyond) * ticks
        away = np.where((intents >= Intent.AGGRESS) & (intents <= Intent.MINIMUM), across, behind)
        # An outright price stays at a tick or above; a spread may go below zero.
        outright = self.prices.outright[which]
        bounded: Ints = np.where(outright, np.minimum(away, middles - ticks), away)
        return bounded


def _farthest(catalogue: Catalogue) -> Floats:
    """How far from the value orders are sent, as a fraction of it: well inside of what is rejected."""
    found = np.full(len(catalogue.listings), _FARTHEST)
    for n, listing in enumerate(catalogue.listings):
        for rule in listing.bands:
            if rule.type in (BandType.REJECTION, BandType.AUCTION) and listing.closing > 0:
                relative = (
                    rule.high / 1e6 if rule.limit_type is LimitType.PERCENTAGE
                    else (rule.high - listing.closing) / listing.closing
                )  # fmt: skip
                found[n] = min(found[n], _OF_BAND * relative)
    return found
