"""The sizes of incremental packets beside those of two real channel-days, and how near they are.

Percent of packets by size of the payload, up to each bound. The real ones were counted by others
from the payload to the end of the frame, perhaps with trailers: compare shapes, not bins. So the
distance is taken with a trailer added to ours, of whatever length brings the two nearest.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

BOUNDS: Final = (80, 128, 192, 256, 384, 512, 768, 1024, 1500)
# Packets of channel 84 (equities, 2025-03-31) and of channel 72 (derivatives, 2025-09-29).
EQUITIES: Final = (576_696, 15_229_944, 9_305_013, 241_728, 78_400, 21_640, 18_494, 6_091, 20_670)
DERIVATIVES: Final = (561, 18_447_176, 2_942_134, 108_826, 184_368, 106_077, 110_089, 57_507, 251_475)
REAL: Final = {84: EQUITIES, 72: DERIVATIVES}  # our channels of these numbers have the same instruments
TRAILERS: Final = range(0, 65, 4)


class SizeRow(NamedTuple):
    up_to: int
    ours: float
    equities: float
    derivatives: float


class Nearness(NamedTuple):
    """How far the shape of a channel is from the real one: the share of packets that would have to be
    of another size (total variation), with so many bytes of trailer."""

    distance: float
    trailer: int


def size_rows(sizes: Counter[int]) -> Iterator[SizeRow]:
    """Shares of a hundred, a row a bound."""
    shares = [_shares(each) for each in (_counted(sizes, 0), EQUITIES, DERIVATIVES)]
    for n, bound in enumerate(BOUNDS):
        yield SizeRow(bound, *(share[n] for share in shares))


def nearness(sizes: Counter[int], real: Sequence[int]) -> Nearness:
    wanted = _shares(real)

    def distance(trailer: int) -> float:
        ours = _shares(_counted(sizes, trailer))
        return sum(abs(one - other) for one, other in zip(ours, wanted, strict=True)) / 200

    return min(Nearness(distance(trailer), trailer) for trailer in TRAILERS)


def _counted(sizes: Counter[int], trailer: int) -> list[int]:
    counts = [0] * len(BOUNDS)
    last = len(BOUNDS) - 1
    for size, count in sizes.items():
        counts[next((n for n, bound in enumerate(BOUNDS) if size + trailer <= bound), last)] += count
    return counts


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [100 * count / total for count in counts]
