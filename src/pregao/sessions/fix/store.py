"""What a session keeps beyond its connection: the numbers of both directions, and what may be asked for
again.

Messages are kept as encoded bodies, which sessions share: the same book update goes to hundreds of them. The
store is bounded by count, bytes and age; what it has dropped is answered with a gap fill. Numbers are what
must survive a restart (`Numbers`); bodies need not.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class MessageStore:
    """Sent application messages by number, oldest first."""

    max_count: int = 100_000
    max_bytes: int = 64 << 20
    max_age_ns: int = 3600 * SECOND
    size: int = 0
    _messages: "OrderedDict[int, StoredMessage]" = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, number: int, message: StoredMessage) -> None:
        self._messages[number] = message
        self.size += message.body.size
        while len(self._messages) > self.max_count or self.size > self.max_bytes:
            self._drop_oldest()

    def forget_before(self, now_ns: int) -> None:
        """Drop what is too old."""
        while self._messages:
            oldest = next(iter(self._messages.values()))
            if now_ns - oldest.sent_ns <= self.max_age_ns:
                return
            self._drop_oldest()

    def between(self, begin: int, end: int) -> Iterator[tuple[int, StoredMessage]]:
        """What is still there of a range, in order. Looks at what is stored, never at the range's length."""
        if end - begin < len(self._messages):
            for number in range(begin, end + 1):
                if number in self._messages:
                    yield number, self._messages[number]
        else:
            yield from ((n, m) for n, m in list(self._messages.items()) if begin <= n <= end)

    def clear(self) -> None:
        self._messages.clear()
        self.size = 0

    def _drop_oldest(self) -> None:
        _, message = self._messages.popitem(last=False)
        self.size -= message.body.size


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
