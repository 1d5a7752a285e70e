"""How the day is spread over the clock: when orders come, and how often the loops go round."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from pregao.exchange.catalogues.rules import AuctionTemplate, Catalogue
from pregao.exchange.day import SECOND_NS
from pregao.feeds.publishing import LoopPace, Paces
from pregao.recovery.policy import RecoveryPolicy
from pregao.simulator.settings import Settings

# The clock of a day: B3's hours, or the same day in a fraction of them.
#
# Everything planned is written in B3's local time. A proof that plays hundreds of days has no use for their
# quiet hours, so a day can be squeezed: what happens keeps its order and its share of the day, only
# heartbeats and loops become fewer.


STARTS_S: Final = 8 * 3600  # local time at which the channels come up
ENDS_S: Final = 18 * 3600 + 45 * 60
_MOMENTS: Final = ("now_ns", "ends_ns")
_LENGTHS: Final = ("by_ns",)


@dataclass(frozen=True, slots=True)
class DayClock:
    """`squeeze` 1 is B3's own clock; 40 makes a day of sixteen minutes."""

    midnight_ns: int
    squeeze: int = 1

    @property
    def starts_ns(self) -> int:
        return self.at(STARTS_S)

    @property
    def ends_ns(self) -> int:
        return self.at(ENDS_S)

    def at(self, local_s: float) -> int:
        """When it is that much of B3's day."""
        return self.moment(self.midnight_ns + int(local_s * SECOND_NS))

    def moment(self, regular_ns: int) -> int:
        """When that happens which B3's clock has at `regular_ns`."""
        starts_ns = self.midnight_ns + STARTS_S * SECOND_NS
        return starts_ns + (regular_ns - starts_ns) // self.squeeze

    def command(self, command: Any) -> Any:
        """A planned command, at its time."""
        if self.squeeze == 1:
            return command
        moments = {name: getattr(command, name, None) for name in _MOMENTS}
        lengths = {name: getattr(command, name, None) for name in _LENGTHS}
        changed = {name: self.moment(ns) for name, ns in moments.items() if ns}
        changed |= {name: ns // self.squeeze for name, ns in lengths.items() if ns}
        return replace(command, **changed)


def squeezed(catalogue: Catalogue, squeeze: int) -> Catalogue:
    """A catalogue whose auctions are as much shorter as the day."""
    if squeeze == 1:
        return catalogue
    listings = (replace(each, auction=_template(each.auction, squeeze)) for each in catalogue.listings)
    groups = (replace(each, auction=_template(each.auction, squeeze)) for each in catalogue.groups)
    return replace(catalogue, listings=tuple(listings), groups=tuple(groups))


def _template(template: AuctionTemplate, squeeze: int) -> AuctionTemplate:
    return replace(
        template,
        duration_ns=template.duration_ns // squeeze,
        extension_ns=template.extension_ns // squeeze,
        extension_window_ns=template.extension_window_ns // squeeze,
        random_end_ns=template.random_end_ns // squeeze,
    )


_SLICE_S: Final = 300
_SQUEEZED_SLICE_S: Final = 1200  # drawing a slice costs as much as a hundred orders
_SHARE_OF_SNAPSHOTS: Final = 0.02  # of incremental packets, as on the real days
_PACKETS_OF_LOOP: Final = 80
_FEWEST_LOOPS: Final = 16
_INTERVAL_NS: Final = 5_000_000

# Until when (local time) orders come how densely: busy at the opening and towards the close.
_DENSITY: Final = (
    (8 * 3600 + 55 * 60, 0.0), (9 * 3600, 0.3), (9 * 3600 + 45 * 60, 0.5), (10 * 3600, 0.5),
    (10 * 3600 + 1800, 2.2), (11 * 3600, 1.8), (12 * 3600, 1.2), (14 * 3600, 0.7), (16 * 3600, 1.0),
    (16 * 3600 + 55 * 60, 1.7),
    (17 * 3600 + 5 * 60, 0.8), (17 * 3600 + 25 * 60, 0.3), (18 * 3600, 0.35), (18 * 3600 + 600, 0.1),
)  # fmt: skip


# A short day has as many orders in its auctions (until these times) as it needs for them to be some.
_AUCTIONS_END: Final = frozenset((9 * 3600, 10 * 3600, 17 * 3600 + 5 * 60))
_MORE_IN_AUCTIONS: Final = 5
_BURST_NS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class DayStretch:
    """A stretch of the day with its share of the orders, or with so many."""

    start_ns: int
    end_ns: int
    weight: float
    orders: int | None = None


def slices(clock: DayClock) -> list[DayStretch]:
    found: list[DayStretch] = []
    length_s = _SLICE_S if clock.squeeze == 1 else _SQUEEZED_SLICE_S
    at_s = _DENSITY[0][0]
    for until_s, density in _DENSITY[1:]:
        if clock.squeeze > 1 and until_s in _AUCTIONS_END:
            density *= _MORE_IN_AUCTIONS
        while at_s < until_s:
            end_s = min(at_s + length_s, until_s)
            found.append(DayStretch(clock.at(at_s), clock.at(end_s), density * (end_s - at_s)))
            at_s = end_s
    return found


def with_bursts(found: Sequence[DayStretch], bursts: Sequence[tuple[int, int]]) -> list[DayStretch]:
    """The same with so many orders within a moment, each at its time."""
    sliced = list(found)
    for at_ns, orders in sorted(bursts):
        place = next((n for n, each in enumerate(sliced) if each.start_ns <= at_ns < each.end_ns), None)
        if place is None:
            continue
        around = sliced[place]
        end_ns = min(at_ns + _BURST_NS, around.end_ns)
        before = (at_ns - around.start_ns) / (around.end_ns - around.start_ns)
        sliced[place : place + 1] = [
            replace(around, end_ns=at_ns, weight=around.weight * before),
            DayStretch(at_ns, end_ns, 0.0, orders),
            replace(around, start_ns=end_ns, weight=around.weight * (1 - before)),
        ]
    return [each for each in sliced if each.end_ns > each.start_ns]


def paces(settings: Settings, channels: int, policy: RecoveryPolicy) -> Paces:
    """Snapshots are some two of a hundred packets, with a few loops on the quietest day; the
    definitions go round as often."""
    clock = DayClock(0, settings.squeeze)
    usual = max(_FEWEST_LOOPS, round(_SHARE_OF_SNAPSHOTS * settings.messages / channels / _PACKETS_OF_LOOP))
    loop_ns = (clock.ends_ns - clock.starts_ns) // (settings.loops or usual)
    pace = LoopPace(_INTERVAL_NS, max(loop_ns - _PACKETS_OF_LOOP * _INTERVAL_NS, _INTERVAL_NS))
    asked_s = settings.heartbeat_s
    heartbeat_ns = policy.heartbeat_ns if asked_s is None else int(asked_s * SECOND_NS)
    return Paces(pace, pace, heartbeat_ns=heartbeat_ns)


# Delays of a simulated exchange: from the order-entry queue to the match, and from the match to the wire.
#
# Both have a body of some microseconds and a tail of milliseconds. They are drawn once from the seed and gone
# through in a circle, so that a day costs no random number an order.


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
