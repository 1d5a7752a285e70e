"""What shapes the flow. The defaults are those of a busy day: see the tests for what they give."""

from dataclasses import dataclass
from enum import IntEnum

from pregao.exchange.flow.prices import TRADING_DAY_NS

# Codes of some thirty participants, the busiest first.
FIRMS = (
    3, 8, 85, 40, 13, 16, 72, 114, 27, 39, 45, 77, 88, 90, 93, 107, 120, 127, 129, 147,
    172, 174, 177, 187, 190, 226, 238, 262, 308, 386, 735, 1099, 1130, 1618, 1982, 3701,
)  # fmt: skip


class OrderIntent(IntEnum):
    """What a participant is about to do. KEEP adds or cancels, whichever the depth of the book asks;
    those from AGGRESS to MINIMUM want to trade at once."""

    KEEP = 0
    AGGRESS = 1
    IMMEDIATE = 2  # IOC
    FILL_OR_KILL = 3
    MARKET = 4
    MINIMUM = 5  # of what it takes to trade at all
    CHANGE = 6
    ICEBERG = 7
    GOOD_TILL = 8
    STOP = 9


# Some in a hundred want to trade. A match is several messages, so that with this nearly nine of ten
# messages are orders added, changed and cancelled. KEEP has what is left.
_SHARES = {
    OrderIntent.AGGRESS: 0.0060,
    OrderIntent.IMMEDIATE: 0.0045,
    OrderIntent.FILL_OR_KILL: 0.0009,
    OrderIntent.MARKET: 0.0016,
    OrderIntent.MINIMUM: 0.0008,
    OrderIntent.CHANGE: 0.0450,
    OrderIntent.ICEBERG: 0.0120,
    OrderIntent.GOOD_TILL: 0.0200,
    OrderIntent.STOP: 0.0110,
}
_WANT_TO_TRADE = range(OrderIntent.AGGRESS, OrderIntent.CHANGE)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """`deepest` orders rest in the most popular book, falling by rank to `shallowest`. With `trading` 2
    twice as many want to trade."""

    trading: float = 1.0
    shares_change: float = 0.40  # of what is kept up in shares: another price instead (12.2.2)
    zipf: float = 1.05
    deepest: int = 400
    shallowest: int = 10
    burst_continues: float = 0.7  # chance that a command calls forth another
    burst_same: float = 0.8  # that it is in the same instrument
    distance_exponent: float = 1.3  # of the power law of ticks from the touch
    farthest_ticks: int = 150
    block: int = 8192  # commands drawn at a time
    brief: float = 0.56  # share of orders that are there for an instant
    day_ns: int = TRADING_DAY_NS  # how long a day of trading is

    def shares(self) -> list[float]:
        """Of each Intent, in its order."""
        found = {
            intent: share * (self.trading if intent in _WANT_TO_TRADE else 1.0)
            for intent, share in _SHARES.items()
        }
        return [1 - sum(found.values()), *(found[intent] for intent in OrderIntent if intent in found)]
