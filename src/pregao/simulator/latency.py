"""Delays of a simulated exchange: from the order-entry queue to the match, and from the match to the wire.

Both have a body of some microseconds and a tail of milliseconds. They are drawn once from the seed and
gone through in a circle, so that a day costs no random number an order.
"""

from random import Random
from typing import Final

SEND_EVERY_NS: Final = 2_000  # what happens within it leaves together
_DRAWN: Final = 8192
_SPREAD_CELLS: Final = 2_654_435_761  # odd: neighbouring cells of time get unrelated delays


class _Delay:
    """A log-normal body above a floor, and now and then a stall with a Pareto tail."""

    __slots__ = ("floor_ns", "longest_ns", "median_ns", "stall_ns", "stalls")

    def __init__(self, floor_ns: int, median_ns: int, stalls: float, stall_ns: int, longest_ns: int) -> None:
        self.floor_ns, self.median_ns, self.stalls = floor_ns, median_ns, stalls
        self.stall_ns, self.longest_ns = stall_ns, longest_ns

    def draw(self, random: Random) -> int:
        body = self.floor_ns + self.median_ns * random.lognormvariate(0, 0.8)
        if random.random() < self.stalls:
            body += self.stall_ns * random.paretovariate(1.3)
        return min(int(body), self.longest_ns)


_MATCHING: Final = _Delay(4_000, 11_000, 0.004, 90_000, 20_000_000)
_SENDING: Final = _Delay(3_000, 6_000, 0.003, 60_000, 5_000_000)


def _drawn(delay: _Delay, name: str) -> list[int]:
    random = Random(name)
    return [delay.draw(random) for _ in range(_DRAWN)]


class EntryQueue:
    """When each order entered the queue from which it was matched (aggressorTime, 13.1).

    `entered` is asked in the order of matching. The queue is first in, first out, so no order entered
    before the one in front of it; orders that are matched close together have waited for each other.
    """

    __slots__ = ("_backlog_ns", "_entered_ns", "_matched_ns", "_next", "_service_ns")

    def __init__(self, seed: int) -> None:
        self._service_ns = _drawn(_MATCHING, f"matching/{seed}")
        self._next = 0
        self._backlog_ns = self._matched_ns = self._entered_ns = 0

    def entered(self, matched_ns: int) -> int:
        """Never after `matched_ns`."""
        self._next = (self._next + 1) % _DRAWN
        left_ns = self._backlog_ns - (matched_ns - self._matched_ns)
        self._backlog_ns = self._service_ns[self._next] + (left_ns if left_ns > 0 else 0)
        self._matched_ns = matched_ns
        entered_ns = matched_ns - self._backlog_ns
        if entered_ns > self._entered_ns:
            self._entered_ns = entered_ns
        return self._entered_ns


class Departures:
    """When what happens at a time is sent: after it, together with what happens next to it."""

    __slots__ = ("_lags_ns",)

    def __init__(self, name: str) -> None:
        self._lags_ns = _drawn(_SENDING, f"sending/{name}")

    def after(self, now_ns: int) -> int:
        cell = now_ns // SEND_EVERY_NS + 1
        return cell * SEND_EVERY_NS + self._lags_ns[cell * _SPREAD_CELLS % _DRAWN]
