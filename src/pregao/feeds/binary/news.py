"""News_5 in parts, put together (5.8): a machine without I/O and without a clock.

A text too long for one packet comes as partCount messages with partNumber 1 to partCount. Only
`text` is cut; it is joined as bytes, since a cut may fall inside a character. One assembler
serves one channel, after A and B were merged.

- **Whose part.** Parts belong together when newsID, source and language agree, and so do
  partCount and totalTextLength: a part that disagrees on these is of another text (counted as
  `split`). The trading engine sends no newsID; then security and origTime stand in for it.
- **Headline and link** may be in the first part or in several: the lowest-numbered part that
  has one gives it, and so for security and origTime; `VARIES` says that parts differed.
- **Repeated parts** are counted. The same part again is ignored; a differing one too: the first
  is kept and the news flagged `CONFLICT`.
- **After completion** the same newsID is a new news, unless it brings nothing new: what within
  `timeout_ns` is byte for byte a part of the news just finished is a late repetition. Without
  newsID and origTime a second news cannot be told from a repetition, so it is delivered.
- **Missing parts.** `timeout_ns` after its first part a news is delivered as incomplete.
  Nothing of it is remembered: parts that come later still start over.
- **Bounds.** Beyond `max_open` news or `max_bytes` of parts the oldest is delivered as
  incomplete. A part that cannot be placed (partCount 0 or above `max_parts`, partNumber 0 or
  above partCount) is delivered by itself at once, incomplete, and never kept.
- **The clock** may jump. Going back by no more than `timeout_ns` counts as standing still (two
  captures' clocks); going back further moves every deadline with it.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from pregao.feeds.binary.news_parts import (
    PART_OVERHEAD_BYTES,
    AssembledNews,
    NewsEnding,
    NewsFlag,
    NewsPart,
    join_parts,
)

__all__ = [
    "PART_OVERHEAD_BYTES",
    "AssembledNews",
    "NewsAssembler",
    "NewsCounters",
    "NewsEnding",
    "NewsFlag",
    "NewsPart",
]

_Key = tuple[Hashable, int, int | None]


@dataclass(slots=True)
class NewsCounters:
    """How parts and news fared."""

    parts: int = 0
    repeated: int = 0  # parts ignored, equal to one held or just delivered
    conflicting: int = 0  # parts that came again with other content
    split: int = 0  # news opened beside one of the same newsID with other partCount or length
    unusable: int = 0
    complete: int = 0
    timed_out: int = 0
    evicted: int = 0
    cut_off: int = 0  # still incomplete at the end of input
    length_differs: int = 0

    def count(self, news: AssembledNews) -> None:
        counter = _COUNTERS[news.ending]
        setattr(self, counter, getattr(self, counter) + 1)
        self.length_differs += NewsFlag.LENGTH_DIFFERS in news.flags


_COUNTERS: Final = {
    NewsEnding.WHOLE: "complete",
    NewsEnding.TIMED_OUT: "timed_out",
    NewsEnding.EVICTED: "evicted",
    NewsEnding.END_OF_INPUT: "cut_off",
    NewsEnding.UNUSABLE: "unusable",
}


class _Clock:
    """Time that does not run backwards, made from one that may."""

    def __init__(self, tolerance_ns: int) -> None:
        self._tolerance_ns = tolerance_ns
        self._offset_ns = 0
        self._latest_ns: int | None = None

    def advance(self, now_ns: int) -> int:
        time_ns = now_ns + self._offset_ns
        back_ns = 0 if self._latest_ns is None else self._latest_ns - time_ns
        if back_ns > self._tolerance_ns:
            self._offset_ns += back_ns
        self._latest_ns = time_ns + max(back_ns, 0)
        return self._latest_ns

    def outside(self, time_ns: int) -> int:
        return time_ns - self._offset_ns


@dataclass(slots=True)
class _Finished:
    """What a complete news consisted of, to know its late repetitions."""

    until_ns: int
    hashes: dict[int, int]  # partNumber -> hash of the part


@dataclass(slots=True)
class _Open:
    """A news whose parts are coming in."""

    deadline_ns: int
    parts: dict[int, NewsPart] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)  # numbers of parts that repeat a finished news
    cost: int = 0
    conflict: bool = False

    def put(self, part: NewsPart, *, late: bool) -> int:
        """Hold a part, perhaps in place of another; returns by how much the cost grew."""
        number = part.part_number
        held = self.parts.get(number)
        growth = part.cost - (held.cost if held else 0)
        self.parts[number] = part
        self.late.discard(number)
        if late:
            self.late.add(number)
        self.cost += growth
        return growth


class NewsAssembler:
    """Parts in, whole news out."""

    def __init__(
        self,
        timeout_ns: int = 30_000_000_000,
        max_open: int = 256,
        max_parts: int = 4096,
        max_bytes: int = 16 << 20,
    ) -> None:
        if min(timeout_ns, max_open, max_parts, max_bytes) < 1:
            raise ValueError("the time-out and the bounds must be positive")
        self.counters = NewsCounters()
        self.held_bytes = 0
        self._timeout_ns, self._max_open = timeout_ns, max_open
        self._max_parts, self._max_bytes = max_parts, max_bytes
        self._clock = _Clock(timeout_ns)
        # Both in order of time, because the clock never runs backwards: the oldest is the first.
        self._open: dict[_Key, _Open] = {}
        self._finished: dict[_Key, _Finished] = {}
        self._finished_parts = 0

    @property
    def open_news(self) -> int:
        return len(self._open)

    def receive(self, part: NewsPart, now_ns: int) -> list[AssembledNews]:
        """Take a part; returns what it completed, and what had to go: timed out or evicted."""
        time_ns = self._clock.advance(now_ns)
        delivered = self._expire(time_ns)
        self.counters.parts += 1
        if not 1 <= part.part_number <= part.part_count <= self._max_parts:
            return [*delivered, self._deliver([part], NewsEnding.UNUSABLE)]
        key = _key(part)
        self._place(key, part, time_ns)
        if len(self._open[key].parts) == part.part_count:
            delivered += self._close(key, NewsEnding.WHOLE, time_ns)
        while len(self._open) > self._max_open or self.held_bytes > self._max_bytes:
            delivered += self._close(next(iter(self._open)), NewsEnding.EVICTED, time_ns)
        return delivered

    def next_timeout(self) -> int | None:
        """When `on_timeout` is due, by the caller's clock; None while nothing is open."""
        oldest = next(iter(self._open.values()), None)
        return None if oldest is None else self._clock.outside(oldest.deadline_ns)

    def on_timeout(self, now_ns: int) -> list[AssembledNews]:
        """Let time pass: the news whose time is over, as incomplete."""
        return self._expire(self._clock.advance(now_ns))

    def flush(self) -> list[AssembledNews]:
        """End of input: everything still open, as incomplete, oldest first."""
        news = [news for key in list(self._open) for news in self._close(key, NewsEnding.END_OF_INPUT, 0)]
        self._finished.clear()
        self._finished_parts = 0
        return news

    def _expire(self, time_ns: int) -> list[AssembledNews]:
        while self._finished and next(iter(self._finished.values())).until_ns <= time_ns:
            self._forget(next(iter(self._finished)))
        delivered: list[AssembledNews] = []
        while self._open and next(iter(self._open.values())).deadline_ns <= time_ns:
            delivered += self._close(next(iter(self._open)), NewsEnding.TIMED_OUT, time_ns)
        return delivered

    def _place(self, key: _Key, part: NewsPart, time_ns: int) -> None:
        news = self._open.get(key)
        if news is None:
            if part.news_id is not None:
                self.counters.split += any(identity == key[0] for identity, *_ in self._open)
            news = self._open[key] = _Open(time_ns + self._timeout_ns)
        held = news.parts.get(part.part_number)
        if held == part:
            self.counters.repeated += 1
        elif held is not None and part.part_number not in news.late:
            self.counters.conflicting += 1
            news.conflict = True
        else:
            self.counters.repeated += held is not None  # the late one that makes room for this
            finished = self._finished.get(key)
            late = finished is not None and finished.hashes.get(part.part_number) == hash(part)
            self.held_bytes += news.put(part, late=late)

    def _close(self, key: _Key, ending: NewsEnding, time_ns: int) -> list[AssembledNews]:
        """Take a news out and deliver it, unless all of it repeats a finished one."""
        news = self._open.pop(key)
        self.held_bytes -= news.cost
        if len(news.late) == len(news.parts):
            self.counters.repeated += len(news.parts)
            return []
        parts = [news.parts[number] for number in sorted(news.parts)]
        joined = self._deliver(parts, ending, conflict=news.conflict)
        if joined.complete and (joined.news_id, joined.orig_time_ns) != (None, None):
            self._remember(key, parts, time_ns)
        return [joined]

    def _deliver(self, parts: list[NewsPart], ending: NewsEnding, *, conflict: bool = False) -> AssembledNews:
        news = join_parts(parts, ending, conflict=conflict)
        self.counters.count(news)
        return news

    def _remember(self, key: _Key, parts: list[NewsPart], time_ns: int) -> None:
        self._forget(key)  # so that it goes to the end
        hashes = {part.part_number: hash(part) for part in parts}
        self._finished[key] = _Finished(time_ns + self._timeout_ns, hashes)
        self._finished_parts += len(hashes)
        while self._finished_parts > self._max_parts:  # bounded by parts: news differ in size
            self._forget(next(iter(self._finished)))

    def _forget(self, key: _Key) -> None:
        finished = self._finished.pop(key, None)
        self._finished_parts -= len(finished.hashes) if finished else 0


def _key(part: NewsPart) -> _Key:
    """Parts with the same key are of one text. The first member alone names the news."""
    common = (part.source, part.language)
    if part.news_id is not None:
        return (part.news_id, *common), part.part_count, part.total_text_length
    return (None, part.security_id, part.orig_time_ns, *common), part.part_count, part.total_text_length
