"""Everything random about some thousand commands, drawn at once as columns: what is left for the loop
is to look at the orders that live."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.flow.arrivals import draw_arrivals, popularity
from pregao.exchange.flow.prices import Prices
from pregao.exchange.flow.settings import FIRMS, FlowSettings, Intent

Ints = npt.NDArray[np.int64]

# time, instrument, intent, buys, middle, distance from it, quantity, firm, depth, a random number
Draw = tuple[int, int, int, bool, int, int, int, int, int, int]

_LARGEST_LOTS = 500
_FARTHEST = 0.04  # of the value, whatever the ticks say: inside the rejection bands


class Blocks:
    """Columns for one catalogue; `prices` walks on with every block."""

    def __init__(self, catalogue: Catalogue, rng: np.random.Generator, settings: FlowSettings) -> None:
        self.prices = Prices(catalogue)
        self._rng, self._settings = rng, settings
        self.popularity = popularity(catalogue.listings, settings.zipf)
        instruments = [listing.instrument for listing in catalogue.listings]
        self._lots = np.array([instrument.lot for instrument in instruments], np.int64)
        self._largest = np.array(
            [
                min(entry.instrument.maximum_quantity, entry.largest_order or 1 << 40)
                for entry in catalogue.listings
            ],
            np.int64,
        )
        # Prices of shares are moved about more than those of futures: an order's replacement is two messages.
        self._restless = np.array([entry.average_daily is not None for entry in catalogue.listings])
        scale = self.popularity / self.popularity.max()
        self._depths = np.maximum(settings.deepest * np.sqrt(scale), settings.shallowest)
        self._cumulative = np.cumsum(settings.shares())[:-1]
        firms = np.arange(1, len(FIRMS) + 1) ** -0.8
        self._firms, self._firm_chances = np.array(FIRMS), firms / firms.sum()

    def draw(self, start_ns: int, end_ns: int, count: int, active: npt.NDArray[np.bool_]) -> Iterator[Draw]:
        """The draws of one block, over the instruments that are not closed; none if all are."""
        chances = np.where(active, self.popularity, 0.0)
        if not chances.any():
            return iter(())
        rng = self._rng
        times, which = draw_arrivals(rng, start_ns, end_ns, count, chances / chances.sum(), self._settings)
        intents = np.searchsorted(self._cumulative, rng.random(count))
        moved = self._restless[which] & (rng.random(count) < self._settings.shares_change)
        intents[moved & (intents == Intent.KEEP)] = Intent.CHANGE
        buys = rng.random(count) < 0.5
        middles = self.prices.draw(rng, times, which)
        away = self._distances(which, intents, middles)
        depths = (self._depths[which] * rng.uniform(0.6, 1.4, count)).astype(np.int64)
        firms = rng.choice(self._firms, count, p=self._firm_chances)
        picks = rng.integers(0, 1 << 31, count)
        columns = (times, which, intents, buys, middles, away, self._quantities(which), firms, depths, picks)
        return zip(*(column.tolist() for column in columns), strict=True)

    def _distances(self, which: Ints, intents: Ints, middles: Ints) -> Ints:
        """From the middle: a power law behind the touch, or across it for those who want to trade."""
        rng, settings = self._rng, self._settings
        ticks, half = self.prices.ticks[which], self.prices.half_spreads[which]
        tail = rng.random(len(which)) ** (-1 / settings.distance_exponent) - 1
        reach = np.minimum(tail * 2, settings.farthest_ticks)
        limit = np.maximum(np.abs(middles) * _FARTHEST / ticks, 4)
        behind = half + np.minimum(reach, limit).astype(np.int64) * ticks
        across = -half - np.minimum(rng.geometric(0.5, len(which)), 4) * ticks
        away = np.where((intents >= Intent.AGGRESS) & (intents <= Intent.MINIMUM), across, behind)
        # An outright price stays at a tick or above; a spread may go below zero.
        outright = self.prices.outright[which]
        bounded: Ints = np.where(outright, np.minimum(away, middles - ticks), away)
        return bounded

    def _quantities(self, which: Ints) -> Ints:
        """Few lots mostly, now and then many, often a round number of them."""
        rng = self._rng
        lots = np.minimum(rng.lognormal(0.6, 1.1, len(which)), _LARGEST_LOTS).astype(np.int64) + 1
        lots = np.where((lots > 7) & (rng.random(len(which)) < 0.7), (lots + 4) // 5 * 5, lots)
        bounded: Ints = np.minimum(lots * self._lots[which], self._largest[which])
        return bounded
