"""What a replayer can send again: the messages of each channel, within their session, week and age.

A message is there some time after it was sent (25 ms as a rule). A sequence reset takes away all that was
before it (5.2.8). The Replayer has the session of the day, the Historical one the days of the week that
`history_days` allows. All is bounded by count and bytes: the oldest go first.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from pregao.sessions.replay.messages import ReplayError

MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    number: int
    previous: int  # of the message before it: a jump is a reset
    sent_ns: int
    day: int  # ordinal of its trading day
    data: bytes


@dataclass(frozen=True, slots=True)
class Found:
    """What there is of a span; `error` where it is not all of it."""

    messages: tuple[Kept, ...]
    error: ReplayError | None


@dataclass(slots=True)
class ChannelHistory:
    """One channel's messages, ascending by number."""

    max_messages: int = 5_000_000
    max_bytes: int = 2 << 30
    _kept: list[Kept] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)
    _first: int = 0  # index of the first that is still valid: lists are cut now and then, not each time
    _bytes: int = 0
    _last_number: int = 0

    def __len__(self) -> int:
        return len(self._kept) - self._first

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        return self._bytes

    def add(self, number: int, data: bytes, sent_ns: int, day: int) -> None:
        """A message that was published. Numbers that do not ascend begin a new sequence."""
        if number <= self._last_number and self._kept:
            self.reset()
        self._kept.append(Kept(number, self._last_number, sent_ns, day, data))
        self._numbers.append(number)
        self._last_number = number
        self._bytes += len(data)
        while len(self) > self.max_messages or self._bytes > self.max_bytes:
            self._drop_first()

    def reset(self) -> None:
        """The sequence begins anew: nothing before it can be asked for."""
        self._kept.clear()
        self._numbers.clear()
        self._first = self._bytes = 0

    def forget_before_day(self, day: int) -> None:
        while len(self) and self._kept[self._first].day < day:
            self._drop_first()

    def find(self, begin: int, end: int, now_ns: int, delay_ns: int, first_day: int) -> Found:
        """What there is now of a span, and why the rest is not there."""
        low = bisect_left(self._numbers, begin, self._first)
        high = bisect_right(self._numbers, end, low)
        there = [
            each
            for each in self._kept[low:high]
            if each.day >= first_day and each.sent_ns + delay_ns <= now_ns
        ]
        if not there:
            return Found((), self._why_nothing(begin, low, high, first_day))
        gone, late = there[0].number > begin, there[-1].number < end
        error = None
        if gone and late:
            error = ReplayError.BOTH_ENDS_MISSING
        elif gone:
            error = ReplayError.BEGINNING_GONE
        elif late:
            error = ReplayError.END_PENDING
        return Found(tuple(there), error)

    def _why_nothing(self, begin: int, low: int, high: int, first_day: int) -> ReplayError:
        if low < high:  # kept, and too old or too new to be sent
            old = self._kept[high - 1].day < first_day
            return ReplayError.NOT_AVAILABLE if old else ReplayError.END_PENDING
        pending = not len(self) or begin > self._last_number
        return ReplayError.END_PENDING if pending else ReplayError.NOT_AVAILABLE

    def _drop_first(self) -> None:
        self._bytes -= len(self._kept[self._first].data)
        self._first += 1
        if self._first > 1000 and self._first * 2 > len(self._kept):
            del self._kept[: self._first], self._numbers[: self._first]
            self._first = 0
