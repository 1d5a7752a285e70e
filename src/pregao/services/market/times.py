"""How long packets are on their way, and which of two feeds is earlier. The last few thousand are kept."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from pregao.model.packets import Int64s, PacketBatch
from pregao.services.market.headers import Headers

_SLOTS: Final = 1 << 14
_KEPT: Final = 4096
_A, _B = 1, 2


@dataclass(frozen=True, slots=True)
class Spread:
    """Of some durations, in nanoseconds."""

    count: int
    p50: int
    p99: int
    greatest: int


class _Window:
    """The last durations."""

    def __init__(self) -> None:
        self._values, self._next, self.count = np.zeros(_KEPT, np.int64), 0, 0

    def add(self, values: Int64s) -> None:
        self.count += len(values)
        values = values[-_KEPT:]
        places = (self._next + np.arange(len(values))) % _KEPT
        self._values[places] = values
        self._next = (self._next + len(values)) % _KEPT

    @property
    def kept(self) -> Int64s:
        return self._values[: min(self.count, _KEPT)]

    def spread(self) -> Spread | None:
        if not self.count:
            return None
        p50, p99 = np.percentile(self.kept, (50, 99))
        return Spread(self.count, int(p50), int(p99), int(self.kept.max()))


class _Arrivals:
    """When a feed brought which packets, lately."""

    def __init__(self) -> None:
        self.words, self.times = np.zeros(_SLOTS, np.int64), np.zeros(_SLOTS, np.int64)

    def put(self, words: Int64s, times: Int64s) -> None:
        slots = _slots(words)
        self.words[slots], self.times[slots] = words, times

    def find(self, words: Int64s) -> tuple[Int64s, Int64s]:
        """Those that were brought, by their place in `words`, and when."""
        slots = _slots(words)
        found = np.flatnonzero(self.words[slots] == words)
        return found, self.times[slots[found]]


def _slots(words: Int64s) -> Int64s:
    """By number and channel."""
    return ((words >> 32) + (words & 0xFF) * 1021) & (_SLOTS - 1)


@dataclass(frozen=True, slots=True)
class Race:
    """A against B: how much later B is (negative: A is later), and how often A was first."""

    lead: Spread
    a_first: float


class FeedTimes:
    """Over all channels."""

    def __init__(self) -> None:
        self._delays: dict[tuple[int, int], _Window] = {}
        self._leads: dict[int, _Window] = {}
        self._arrivals = {_A: _Arrivals(), _B: _Arrivals()}

    def take(self, batch: PacketBatch, headers: Headers) -> None:
        if not len(headers.rows):
            return
        channels, delays = headers.words & 0xFF, headers.arrival_ns - headers.sent_ns(batch)
        for key in np.unique(channels << 8 | headers.feed).tolist():
            channel, feed = key >> 8, key & 0xFF
            window = self._delays.setdefault((channel, feed), _Window())
            window.add(delays[(channels == channel) & (headers.feed == feed)])
        # Each pair once: A looks for what B brought in batches before, B then for all that A has.
        for feed, other, sign in ((_A, _B, -1), (_B, _A, 1)):
            mine = headers.feed == feed
            words, times = headers.words[mine], headers.arrival_ns[mine]
            found, theirs = self._arrivals[other].find(words)
            self._arrivals[feed].put(words, times)
            self._lead(words[found] & 0xFF, sign * (times[found] - theirs))

    def _lead(self, channels: Int64s, leads: Int64s) -> None:
        for channel in np.unique(channels).tolist():
            self._leads.setdefault(channel, _Window()).add(leads[channels == channel])

    def delay(self, channel: int, feed: int) -> Spread | None:
        """From the sending time that a packet tells to its arrival: clocks have to agree."""
        window = self._delays.get((channel, feed))
        return None if window is None else window.spread()

    def race(self, channel: int) -> Race | None:
        window = self._leads.get(channel)
        spread = None if window is None else window.spread()
        if window is None or spread is None:
            return None
        return Race(spread, float((window.kept > 0).mean()))
