"""What is drawn at random for the flow: when commands come, for which instrument, how large they are."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogue import Catalogue
from pregao.exchange.catalogues.rules import ListedInstrument
from pregao.exchange.flow.prices import TRADING_DAY_NS, InstrumentValues
from pregao.exchange.flow.settings import FIRMS, FlowSettings, OrderIntent
from pregao.model.instruments import Instrument, SecurityType
from pregao.model.market import PRICE_SCALE, BandType, LimitType

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Gaps within a burst: some answer in microseconds, machines to a price; others in a tenth of a second.
_SHORTEST_GAP_NS, _LONGEST_GAP_NS = 3e3, 1e8


def popularity(listings: tuple[ListedInstrument, ...], exponent: float) -> Floats:
    """Zipf's law over the rank of the weights. Forwards are agreed upon, not ordered: none for them."""
    weights = np.array([listing.weight for listing in listings])
    ranks = np.empty(len(listings))
    ranks[np.argsort(-weights, kind="stable")] = np.arange(1, len(listings) + 1)
    chances = ranks**-exponent
    ordered = [listing.instrument.security_type is not SecurityType.FORWARD for listing in listings]
    chances[~np.array(ordered)] = 0
    normed: Floats = chances / chances.sum()
    return normed


def draw_arrivals(
    rng: np.random.Generator, start_ns: int, end_ns: int, count: int, chances: Floats, settings: FlowSettings
) -> tuple[Ints, Ints]:
    """Times in order, from `start_ns` to before `end_ns`, and the instrument of each.

    A burst is a chain: each command calls forth the next with a fixed chance, at a pace of its own.
    What would come after the end comes at the start instead, so that `count` are always there.
    """
    sizes = _burst_sizes(rng, count, settings.burst_continues)
    bursts = len(sizes)
    first = np.zeros(count, bool)
    first[np.cumsum(sizes) - sizes] = True
    burst = np.cumsum(first) - 1
    span = end_ns - start_ns
    pace = np.exp(rng.uniform(np.log(_SHORTEST_GAP_NS), np.log(_LONGEST_GAP_NS), bursts))
    gaps = np.where(first, 0.0, rng.exponential(1.0, count)) * pace[burst]
    elapsed = np.cumsum(gaps)
    since = elapsed - elapsed[first][burst]
    offsets = (rng.uniform(0, span, bursts)[burst] + since).astype(np.int64) % span
    chosen = rng.choice(len(chances), count, p=chances)
    of_burst = chosen[first][burst]
    instruments = np.where(rng.random(count) < settings.burst_same, of_burst, chosen)
    order = np.argsort(offsets, kind="stable")
    return offsets[order] + start_ns, instruments[order].astype(np.int64)


def _burst_sizes(rng: np.random.Generator, count: int, continues: float) -> Ints:
    """Sizes that sum to `count`; one burst in a hundred is twenty times as long."""
    sizes = rng.geometric(1 - continues, count)
    sizes[rng.random(count) < 0.01] *= 20
    ends = np.cumsum(sizes)
    last = int(np.searchsorted(ends, count))
    sizes = sizes[: last + 1]
    sizes[-1] -= ends[last] - count
    return sizes.astype(np.int64)


# How large orders are: by class of instrument and by what one lot of it costs.


_SHARES, _FUNDS = 12_000, 8_000  # reais of a usual order of shares, and of funds and receipts
_ODD_LOT = 12.0  # shares
_OPTIONS = {
    SecurityType.OPT: 10.0, SecurityType.INDEXOPT: 3.0, SecurityType.FOPT: 2.0, SecurityType.SOPT: 4.0,
}  # fmt: skip
_CONTRACTS = {"WIN": 2.0, "WDO": 1.6, "IND": 1.2, "DOL": 1.4, "DI1": 8.0}  # lots
_OTHER_CONTRACTS, _STRATEGIES = 2.5, 4.0
_LARGEST = 60  # times the usual


class OrderSizes:
    """Log-normal lots around what is usual for the instrument, often a round number of them."""

    def __init__(self, listings: tuple[ListedInstrument, ...]) -> None:
        self.usual_lots = np.array([_usual_lots(listing.instrument) for listing in listings])
        self._lots = np.array([listing.instrument.lot for listing in listings], np.int64)
        self._largest = np.array(
            [min(each.instrument.maximum_quantity, each.largest_order or 1 << 40) for each in listings],
            np.int64,
        )

    def draw(self, rng: np.random.Generator, which: Ints) -> Ints:
        usual = self.usual_lots[which]
        drawn = np.minimum(usual * rng.lognormal(0.0, 1.0, len(which)), _LARGEST * usual)
        lots = np.maximum(np.rint(drawn), 1).astype(np.int64)
        rounds = rng.random(len(which)) < 0.7
        lots = np.where((lots > 7) & rounds, (lots + 4) // 5 * 5, lots)
        lots = np.where((lots > 70) & rounds, (lots + 24) // 50 * 50, lots)
        bounded: Ints = np.minimum(lots, self._largest[which] // self._lots[which]) * self._lots[which]
        return bounded


def _usual_lots(instrument: Instrument) -> float:
    if instrument.legs:
        return _STRATEGIES
    if instrument.is_odd_lot:
        return _ODD_LOT
    kind = instrument.security_type
    if kind in _OPTIONS:
        return _OPTIONS[kind]
    if kind in (SecurityType.FUT, SecurityType.SPOT):
        return _CONTRACTS.get(instrument.asset, _OTHER_CONTRACTS)
    money = _FUNDS if instrument.lot == 1 else _SHARES
    lot_costs = (instrument.closing_price or 0) / PRICE_SCALE**2 * instrument.lot
    return max(money / max(lot_costs, 1.0), 1.0)


# Everything random about some thousand commands, drawn at once as columns: what is left for the loop is to
# look at the orders that live.


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
        self.prices = InstrumentValues(catalogue, seed, settings.day_ns)
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
        intents[moved & (intents == OrderIntent.KEEP)] = OrderIntent.CHANGE
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
        away = np.where((intents >= OrderIntent.AGGRESS) & (intents <= OrderIntent.MINIMUM), across, behind)
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
