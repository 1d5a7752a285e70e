"""What a session keeps beyond its connection: the numbers of both directions, and what may be asked for
again.

Messages are kept as encoded bodies, which sessions share: the same book update goes to hundreds of them;
those that were sent at once are one entry. The store is bounded by count, bytes and age; what it has
dropped is answered with a gap fill. Numbers are what must survive a restart (`Numbers`); bodies need not.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from pregao.codecs.fix.bodies import Body
from pregao.sessions.fix.states import SECOND


@dataclass(slots=True)
class Numbers:
    """The next number of each direction, and the trading day they belong to."""

    next_in: int = 1
    next_out: int = 1
    day: str = ""


class StoredMessage(NamedTuple):
    body: Body
    sent_ns: int
    header: tuple[tuple[int, bytes], ...] = ()  # beside those of every message, as 97


class _StoredRun(NamedTuple):
    """Messages that were sent at once, with numbers that follow each other."""

    first: int
    bodies: tuple[Body, ...]
    size: int
    sent_ns: int
    header: tuple[tuple[int, bytes], ...]


_FIRST = attrgetter("first")


@dataclass(slots=True)
class MessageStore:
    """Sent application messages by number, oldest first. Numbers only grow."""

    max_count: int = 100_000
    max_bytes: int = 64 << 20
    max_age_ns: int = 3600 * SECOND
    size: int = 0
    _runs: deque[_StoredRun] = field(default_factory=deque)
    _count: int = 0
    _dropped: int = 0  # messages of the oldest run

    def __len__(self) -> int:
        return self._count

    def add(self, number: int, message: StoredMessage) -> None:
        body = message.body
        self._add(_StoredRun(number, (body,), body.size, message.sent_ns, message.header))

    def add_run(self, first: int, bodies: tuple[Body, ...], size: int, sent_ns: int) -> None:
        """Several that were sent at once; `size` is that of all of them."""
        self._add(_StoredRun(first, bodies, size, sent_ns, ()))

    def _add(self, run: _StoredRun) -> None:
        self._runs.append(run)
        self._count += len(run.bodies)
        self.size += run.size
        while self._count > self.max_count or self.size > self.max_bytes:
            self._drop_oldest()

    def forget_before(self, now_ns: int) -> None:
        """Drop what is too old."""
        runs = self._runs
        while runs and now_ns - runs[0].sent_ns > self.max_age_ns:
            self._drop_oldest()

    def between(self, begin: int, end: int) -> Iterator[tuple[int, StoredMessage]]:
        """What is still there of a range, in order. Looks at what is stored, never at the range's length."""
        begin = max(begin, self._runs[0].first + self._dropped) if self._runs else begin
        start = max(bisect_right(self._runs, begin, key=_FIRST) - 1, 0)
        stop = bisect_right(self._runs, end, key=_FIRST)
        for run in list(islice(self._runs, start, stop)):
            wanted = slice(max(begin - run.first, 0), max(end + 1 - run.first, 0))
            for number, body in enumerate(run.bodies[wanted], run.first + wanted.start):
                yield number, StoredMessage(body, run.sent_ns, run.header)

    def clear(self) -> None:
        self._runs.clear()
        self.size = self._count = self._dropped = 0

    def _drop_oldest(self) -> None:
        run = self._runs[0]
        self.size -= run.bodies[self._dropped].size
        self._count -= 1
        self._dropped += 1
        if self._dropped == len(run.bodies):
            self._runs.popleft()
            self._dropped = 0


@dataclass(slots=True)
class SessionRecord:
    """One pair of CompIDs: its numbers, its store, and whether a connection uses it now."""

    sender: str  # ours
    target: str
    numbers: Numbers = field(default_factory=Numbers)
    store: MessageStore = field(default_factory=MessageStore)
    connected: bool = False

    def reset(self) -> None:
        """Both sides from 1."""
        self.numbers.next_in = self.numbers.next_out = 1
        self.store.clear()

    def begin_day(self, day: str) -> None:
        """A new trading day begins at 1 (4.4.1). The same day again changes nothing."""
        if day != self.numbers.day:
            self.reset()
            self.numbers.day = day


@dataclass(slots=True)
class SessionDirectory:
    """The identities that an acceptor knows (2.4). One connection at a time may use each."""

    records: dict[tuple[str, str], SessionRecord] = field(default_factory=dict)

    def add(self, record: SessionRecord) -> None:
        self.records[record.sender, record.target] = record

    def find(self, sender: str, target: str) -> SessionRecord | None:
        """By our CompID and theirs."""
        return self.records.get((sender, target))

    def begin_day(self, day: str) -> None:
        for record in self.records.values():
            if not record.connected:
                record.begin_day(day)
