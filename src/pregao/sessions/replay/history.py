"""What a replayer can send again: the messages of each channel, within their session, week and age.

A message is there some time after it was sent (25 ms as a rule). A sequence reset takes away all that was
before it (5.2.8). The Replayer has the session of the day, the Historical one the days of the week that
`history_days` allows. All is bounded by count and bytes: the oldest go first.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pregao.sessions.replay.messages import NumberRange, ReplayError, merge_spans

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


# The numbers that a client wants from a replayer: merged, tried some times, given up in time.


@dataclass(frozen=True, slots=True)
class Want:
    """A span that is wanted until a time, tried so often, not again before a time."""

    span: NumberRange
    until_ns: int
    tries: int = 0
    not_before_ns: int = 0


class Wants:
    """What waits to be asked for. Bounded: more spans than that are refused."""

    def __init__(self, max_spans: int) -> None:
        self.max_spans = max_spans
        self._wants: list[Want] = []

    def __len__(self) -> int:
        return len(self._wants)

    def add(self, want: Want) -> bool:
        """Wants that touch become one: with the later end, and as many tries as the less tried has had."""
        touching = [each for each in self._wants if _touch(each.span, want.span)]
        if not touching and len(self._wants) >= self.max_spans:
            return False
        together = [*touching, want]
        [span] = merge_spans(each.span for each in together)
        merged = Want(
            span,
            max(each.until_ns for each in together),
            min(each.tries for each in together),
            min(each.not_before_ns for each in together),
        )
        self._wants = [each for each in self._wants if each not in touching]
        self._wants.append(merged)
        return True

    def take(self, limit: int, max_channels: int, now_ns: int) -> list[Want]:
        """What one request asks for: due spans, one a channel, no more messages than the limit. A span that
        is longer is cut, and its rest waits."""
        taken: list[Want] = []
        channels: set[str] = set()
        for want in sorted(self._wants, key=lambda each: each.until_ns):
            span = want.span
            if want.not_before_ns > now_ns or span.channel in channels or not limit:
                continue
            if len(channels) >= max_channels:
                break
            self._wants.remove(want)
            if span.count > limit:
                cut = span.begin + limit - 1
                rest = Want(
                    NumberRange(span.channel, cut + 1, span.end),
                    want.until_ns,
                    want.tries,
                    want.not_before_ns,
                )
                self._wants.append(rest)
                want = Want(NumberRange(span.channel, span.begin, cut), want.until_ns, want.tries)
            taken.append(want)
            channels.add(span.channel)
            limit -= want.span.count
        return taken

    def expired(self, now_ns: int) -> list[NumberRange]:
        """What is wanted no longer, removed."""
        late = [each for each in self._wants if each.until_ns <= now_ns]
        self._wants = [each for each in self._wants if each.until_ns > now_ns]
        return [each.span for each in late]

    def next_due(self) -> int | None:
        """When the next may be asked for."""
        return min((each.not_before_ns for each in self._wants), default=None)

    def next_end(self) -> int | None:
        return min((each.until_ns for each in self._wants), default=None)


def _touch(one: NumberRange, other: NumberRange) -> bool:
    return one.channel == other.channel and one.begin <= other.end + 1 and other.begin <= one.end + 1


def spans_of(channel: str, numbers: Iterable[int]) -> Iterator[NumberRange]:
    """Numbers as spans."""
    yield from merge_spans(NumberRange(channel, number, number) for number in numbers)
