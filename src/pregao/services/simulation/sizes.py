"""The sizes of incremental packets beside those of two real channel-days.

Percent of packets by size of the payload, up to each bound. The real ones were counted by others
from the payload to the end of the frame, perhaps with trailers: compare shapes, not bins.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

BOUNDS: Final = (80, 128, 192, 256, 384, 512, 768, 1024, 1500)
# Packets of channel 84 (equities, 2025-03-31) and of channel 72 (derivatives, 2025-09-29).
EQUITIES: Final = (576_696, 15_229_944, 9_305_013, 241_728, 78_400, 21_640, 18_494, 6_091, 20_670)
DERIVATIVES: Final = (561, 18_447_176, 2_942_134, 108_826, 184_368, 106_077, 110_089, 57_507, 251_475)


class SizeRow(NamedTuple):
    up_to: int
    ours: float
    equities: float
    derivatives: float


def size_rows(sizes: Counter[int]) -> Iterator[SizeRow]:
    """Shares of a hundred, a row a bound."""
    counts = [0] * len(BOUNDS)
    for size, count in sizes.items():
        counts[next(n for n, bound in enumerate(BOUNDS) if size <= bound)] += count
    shares = [_shares(each) for each in (counts, EQUITIES, DERIVATIVES)]
    for n, bound in enumerate(BOUNDS):
        yield SizeRow(bound, *(share[n] for share in shares))


def _shares(counts: tuple[int, ...] | list[int]) -> list[float]:
    total = sum(counts) or 1
    return [100 * count / total for count in counts]
