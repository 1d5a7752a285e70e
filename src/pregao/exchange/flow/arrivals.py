"""When commands come and for what: in bursts, by popularity."""

import numpy as np
import numpy.typing as npt

from pregao.exchange.catalogues.entries import Listing
from pregao.exchange.flow.settings import FlowSettings
from pregao.model.instruments import SecurityType

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Gaps within a burst: some answer in microseconds, machines to a price; others in a tenth of a second.
_SHORTEST_GAP_NS, _LONGEST_GAP_NS = 3e3, 1e8


def popularity(listings: tuple[Listing, ...], exponent: float) -> Floats:
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
