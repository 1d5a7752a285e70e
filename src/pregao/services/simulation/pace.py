"""How the day is spread over the clock: when orders come, and how often the loops go round."""

from dataclasses import dataclass
from typing import Final

from pregao.exchange.day import SECOND_NS
from pregao.feeds.binary.publisher import Pace, Paces

STARTS_S: Final = 8 * 3600  # local time at which the channels come up
ENDS_S: Final = 18 * 3600 + 45 * 60
_SLICE_S: Final = 300
_SHARE_OF_SNAPSHOTS: Final = 0.02  # of incremental packets, as on the real days
_PACKETS_OF_LOOP: Final = 80
_FEWEST_LOOPS: Final = 16
_INTERVAL_NS: Final = 5_000_000

# Until when (local time) orders come how densely: busy at the opening and towards the close.
_DENSITY: Final = (
    (8 * 3600 + 55 * 60, 0.0), (9 * 3600, 0.3), (9 * 3600 + 45 * 60, 0.5), (10 * 3600, 0.5),
    (10 * 3600 + 1800, 2.2), (12 * 3600, 1.3), (14 * 3600, 0.7), (16 * 3600, 1.0), (16 * 3600 + 55 * 60, 1.7),
    (17 * 3600 + 5 * 60, 0.8), (17 * 3600 + 25 * 60, 0.3), (18 * 3600, 0.35), (18 * 3600 + 600, 0.1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of the day with its share of the orders."""

    start_ns: int
    end_ns: int
    weight: float


def slices(midnight_ns: int) -> list[Slice]:
    found: list[Slice] = []
    at_s = _DENSITY[0][0]
    for until_s, density in _DENSITY[1:]:
        while at_s < until_s:
            end_s = min(at_s + _SLICE_S, until_s)
            start_ns, end_ns = (midnight_ns + second * SECOND_NS for second in (at_s, end_s))
            found.append(Slice(start_ns, end_ns, density * (end_s - at_s)))
            at_s = end_s
    return found


def paces(messages: int, channels: int, heartbeat_s: float) -> Paces:
    """Snapshots are some two of a hundred packets, with a few loops on the quietest day; the
    definitions go round as often."""
    day_ns = (ENDS_S - STARTS_S) * SECOND_NS
    loops = max(_FEWEST_LOOPS, round(_SHARE_OF_SNAPSHOTS * messages / channels / _PACKETS_OF_LOOP))
    pace = Pace(_INTERVAL_NS, max(day_ns // loops - _PACKETS_OF_LOOP * _INTERVAL_NS, _INTERVAL_NS))
    return Paces(pace, pace, heartbeat_ns=int(heartbeat_s * SECOND_NS))
