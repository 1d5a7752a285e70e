"""A toy exchange: a dozen instruments, books as dicts, three streams, and every kind of reset.

What the stream has told so far, applied without loss, is the truth: `truth` has it for every packet.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000 * MILLISECOND
MESSAGES: Final = 30  # in a packet, at most
LAST_VERSION: Final = 65_534
ORDER_LENGTH: Final = 6  # of a message; one of a book that is told again has one value more
HALF_TOLD: Final = "half"

Message = tuple[Any, ...]


@dataclass(slots=True)
class Sent:
    """A packet on its way: stream "I" (incremental), "D" or "S"; number 0 is a heartbeat."""

    stream: str
    time_ns: int
    version: int
    number: int
    messages: tuple[Message, ...]


@dataclass(slots=True)
class Toy:
    """An instrument, as the exchange has it."""

    security_id: int
    weight: float
    book: dict[int, int] = field(default_factory=dict)
    statistics: dict[str, int] = field(default_factory=dict)
    rpt_seq: int = 0
    booked: bool = False
    listed: bool = False  # in the snapshot loops


class Truth:
    """What a client that lost nothing would have, after each packet."""

    def __init__(self) -> None:
        self.ordinals: dict[tuple[int, int], int] = {}
        self._history: dict[int, tuple[list[int], list[Any]]] = {}
        self.books: dict[int, dict[int, int]] = {}
        self.statistics: dict[int, dict[str, int]] = {}

    def note(self, security_id: int, muted: bool, *, half: bool = False) -> None:
        ordinals, states = self._history.setdefault(security_id, ([], []))
        book: Any = None if muted else HALF_TOLD if half else dict(self.books.get(security_id, {}))
        ordinals.append(len(self.ordinals))
        states.append((book, dict(self.statistics.get(security_id, {}))))

    def at(self, security_id: int, version: int, number: int) -> tuple[Any, dict[str, int]]:
        """(book, None where nobody can tell, HALF_TOLD while it is being told again; statistics) after a
        packet."""
        ordinal = self.ordinals[version, number]
        ordinals, states = self._history.get(security_id, ([], []))
        index = bisect_right(ordinals, ordinal) - 1
        return states[index] if index >= 0 else ({}, {})


class ToyExchange:
    """Call `advance` with rising times; packets gather in `sent`."""

    def __init__(self, seed: int, *, named_version: bool = True, version: int = 1, number: int = 1) -> None:
        self.random = Random(f"exchange/{seed}")
        self.named_version = named_version  # wire version 15 and later: lastSequenceVersion
        self.version, self.number = version, number
        self.sent: list[Sent] = []
        self.truth = Truth()
        self.toys = {one: Toy(one, weight) for one, weight in enumerate(_WEIGHTS, 101)}
        self.toys[111].listed = True  # illiquid: in the loops, without reports (7.4.1)
        self.toys[111].statistics = {"state": 0}
        self.truth.statistics[111] = {"state": 0}
        self.truth.note(111, False)
        self.deleted: set[int] = set()
        self.muted: list[int] = []
        self._vague = False  # a book that is to be told again is neither the old one nor empty
        self.gradually_ns = 0
        self._order = 0
        self._pending: list[Message] = []
        self._loops = {"D": _Loop(self._definitions), "S": _Loop(self._snapshots)}
        self._beat_ns = 0
        self._recover_ns = 0
        self.idle_recovery = False
        # Before anybody listens there is a past.
        for _ in range(60):
            self.act(0)
        self.sent.clear()

    # Trading

    def act(self, now_ns: int) -> None:
        """One packet of ordinary life."""
        random = self.random
        toys = [toy for toy in self.toys.values() if toy.security_id not in self.deleted]
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            toy = random.choices(toys, [each.weight for each in toys])[0]
            self._event(toy)
        if random.random() < 0.01:
            self._tell(("phase",))
        self.flush(now_ns)

    def _event(self, toy: Toy) -> None:
        random, chance = self.random, self.random.random()
        if chance < 0.25:
            self._report(toy, "trade", random.randint(1, 99), random.randint(1, 9))
        elif chance < 0.3:
            self._report(toy, "state", random.randint(1, 5))
        elif chance < 0.6 or not toy.book:
            self._order += 1
            self._book(toy, "new", self._order, random.randint(1, 99))
        elif chance < 0.85:
            self._book(toy, "change", random.choice(list(toy.book)), random.randint(1, 99))
        else:
            self._book(toy, "delete", random.choice(list(toy.book)), 0)

    def _book(self, toy: Toy, action: str, order: int, size: int) -> None:
        if action == "delete":
            del toy.book[order]
        else:
            toy.book[order] = size
        if toy.security_id not in self.muted:
            toy.booked = True
            self._report(toy, "order", action, order, size)

    def _report(self, toy: Toy, kind: str, *values: Any) -> None:
        toy.rpt_seq += 1
        toy.listed = True
        if kind == "trade":
            toy.statistics["last"] = values[0]
            toy.statistics["volume"] = toy.statistics.get("volume", 0) + values[1]
        elif kind == "state":
            toy.statistics["state"] = values[0]
        self._tell((kind, toy.security_id, toy.rpt_seq, *values))

    # Resets (6.5.11, 6.5.12, 6.5.13, 7.4.1)

    def reset_stream(self, now_ns: int) -> None:
        self._end_sequence(now_ns)
        self._recover_all(now_ns, vague=True)

    def fail_over(self, now_ns: int) -> None:
        self.flush(now_ns)
        self._next_version()
        self._recover_all(now_ns, vague=True)
        for loop in self._loops.values():
            loop.restart()

    def reset_channel(self, now_ns: int) -> None:
        self.flush(now_ns)
        self._tell(("channel_reset",))
        self.flush(now_ns)
        self._recover_all(now_ns)

    def reset_week(self, now_ns: int) -> None:
        self._end_sequence(now_ns)
        for toy in self.toys.values():
            toy.rpt_seq = 0
        self.reset_channel(now_ns)

    def reset_book(self, security_id: int, now_ns: int) -> None:
        self._recover(self.toys[security_id])
        self.flush(now_ns)

    def _end_sequence(self, now_ns: int) -> None:
        self.flush(now_ns)
        self._tell(("sequence_reset",))
        self.flush(now_ns)
        self._next_version()

    def _next_version(self) -> None:
        self.version = 1 if self.version == LAST_VERSION else self.version + 1
        self.number = 1

    def _recover_all(self, now_ns: int, *, vague: bool = False) -> None:
        self.muted = [one for one in self.toys if one not in self.deleted]
        self._vague = vague
        for one in self.muted:
            self.truth.note(one, vague)
        self._recover_ns = now_ns
        if not self.gradually_ns:
            self._recover_some(now_ns)

    def _recover_some(self, now_ns: int) -> None:
        while self.muted and self._recover_ns <= now_ns:
            self._recover(self.toys[self.muted.pop(0)])
            self._recover_ns += self.gradually_ns
        self.flush(now_ns)

    def _recover(self, toy: Toy) -> None:
        if toy.security_id in self.muted:
            self.muted.remove(toy.security_id)
        if toy.book or toy.booked:
            toy.rpt_seq = 0
            left = len(toy.book)
            self._tell(("empty", toy.security_id, left))
            for order, size in toy.book.items():
                left -= 1
                self._report(toy, "order", "new", order, size, left)  # marked RecoveryMsg
        self.truth.note(toy.security_id, False)

    # Definitions

    def add_instrument(self, security_id: int, now_ns: int) -> None:
        self.deleted.discard(security_id)
        self.toys[security_id] = Toy(security_id, 1.0)
        self._tell(("define", security_id, "new"))
        self.flush(now_ns)

    def delete_instrument(self, security_id: int, now_ns: int) -> None:
        self.deleted.add(security_id)
        self._tell(("define", security_id, "deleted"))
        self.flush(now_ns)

    # Streams

    def _tell(self, message: Message) -> None:
        self._pending.append(message)

    def flush(self, now_ns: int) -> None:
        pending, self._pending = self._pending, []
        for start in range(0, len(pending), MESSAGES):
            messages = tuple(pending[start : start + MESSAGES])
            touched = {one for message in messages for one in self._remember(message)}
            left = {message[1]: message[-1] for message in messages if _is_recovery(message)}
            for one in touched:
                self.truth.note(one, self._vague and one in self.muted, half=left.get(one, 0) > 0)
            self.truth.ordinals[self.version, self.number] = len(self.truth.ordinals)
            self.sent.append(Sent("I", now_ns, self.version, self.number, messages))
            self.number += 1
            self._beat_ns = now_ns + SECOND

    def _remember(self, message: Message) -> list[int]:
        """What a perfect client does; written once more, on purpose, and simply."""
        kind, books, figures = message[0], self.truth.books, self.truth.statistics
        if kind == "order":
            book = books.setdefault(message[1], {})
            if message[3] == "delete":
                del book[message[4]]
            else:
                book[message[4]] = message[5]
        elif kind == "trade":
            mine = figures.setdefault(message[1], {})
            mine["last"], mine["volume"] = message[3], mine.get("volume", 0) + message[4]
        elif kind == "state":
            figures.setdefault(message[1], {})["state"] = message[3]
        elif kind == "empty":
            books[message[1]] = {}
        elif kind == "channel_reset":
            books.clear()
            return list(self.toys)
        elif kind == "phase":
            for one in self.toys:
                for name in ("last", "volume"):
                    figures.get(one, {}).pop(name, None)
                    self.toys[one].statistics.pop(name, None)
            return list(self.toys)
        elif kind == "define" and message[2] == "new":
            books[message[1]], figures[message[1]] = {}, {}
        else:
            return []
        return [message[1]]

    def advance(self, now_ns: int) -> None:
        """Loops, gradual recovery and heartbeats."""
        if self.muted:
            self._recover_some(now_ns)
        for stream, loop in self._loops.items():
            loop.advance(stream, now_ns, self.sent, idle=self.idle_recovery)
        if now_ns >= self._beat_ns:
            self._beat_ns = now_ns + SECOND
            self.sent.append(Sent("I", now_ns, self.version, 0, (("sequence", self.number),)))

    def _definitions(self) -> Any:
        listed = [one for one in self.toys if one not in self.deleted]
        for one in listed:
            yield [("listed", one, len(listed))]

    def _snapshots(self) -> Any:
        left_out = self.deleted.union(self.muted)
        listed = [toy for one, toy in self.toys.items() if toy.listed and one not in left_out]
        for toy in listed:
            yield self._snapshot(toy, len(listed))

    def _snapshot(self, toy: Toy, reports: int) -> list[Message]:
        one = toy.security_id
        version = self.version if self.named_version else None
        if one in self.deleted or one in self.muted:
            return [("head", one, self.number - 1, version, 0, reports, 0, 0)]
        orders, figures = list(toy.book.items()), list(toy.statistics.items())
        head = ("head", one, self.number - 1, version, toy.rpt_seq, reports, len(orders), len(figures))
        parts = [("orders", one, tuple(orders[at : at + 5])) for at in range(0, len(orders), 5)]
        return [head, *parts, *(("figure", one, name, value) for name, value in figures)]


def _is_recovery(message: Message) -> bool:
    """Of a book that is told again: the last value is how many orders are left."""
    return message[0] == "empty" or (message[0] == "order" and len(message) == ORDER_LENGTH + 1)


class _Loop:
    """A looping stream: a packet every 5 ms, three messages in each, 200 ms between loops."""

    def __init__(self, begin: Any) -> None:
        self._begin, self._items, self._ahead = begin, None, []
        self._version, self._number, self._due_ns = 1, 1, 0

    def restart(self) -> None:
        if self._items is not None:
            self._items, self._ahead = None, []
            self._version, self._number = self._version % LAST_VERSION + 1, 1

    def advance(self, stream: str, now_ns: int, sent: list[Sent], *, idle: bool) -> None:
        while self._due_ns <= now_ns:
            if idle:
                sent.append(Sent(stream, now_ns, self._version, 0, (("sequence", self._number),)))
                self._due_ns = now_ns + SECOND
                return
            self._send(stream, now_ns, sent)

    def _send(self, stream: str, now_ns: int, sent: list[Sent]) -> None:
        if self._items is None:
            self._items = self._begin()
        while len(self._ahead) < 3:
            item = next(self._items, None)
            if item is None:
                break
            self._ahead += item
        if self._ahead:
            messages, self._ahead = tuple(self._ahead[:3]), self._ahead[3:]
            sent.append(Sent(stream, now_ns, self._version, self._number, messages))
            self._number += 1
            self._due_ns = now_ns + 5 * MILLISECOND
            return
        sent.append(Sent(stream, now_ns, self._version, self._number, (("sequence_reset",),)))
        self._items = None
        self._version, self._number = self._version % LAST_VERSION + 1, 1
        self._due_ns = now_ns + 200 * MILLISECOND


# One very busy, most ordinary, one rare; 111 is illiquid and 112 never heard of.
_WEIGHTS: Final = (40.0, 10.0, 5.0, 5.0, 2.0, 2.0, 1.0, 1.0, 0.5, 0.1, 0.0, 0.0)
