"""What a client of FIX sessions asks a server for, in which order, and what becomes of it.

First lists of instruments (35=x), then market data of those that are wanted (35=V), a request at a time, each
until its last snapshot: a server may be busy with the one before (281=T). What it refuses is told once; what
it is too busy for is asked for again, some times. A system says which requests there are.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pregao.codecs.fix import Entry, FixMessage
from pregao.feeds.fix.settings import ConnectionSettings
from pregao.feeds.fix_values import number_of, text_of
from pregao.feeds.session_port import InstrumentsListed, RequestRefused, SessionEvent, SnapshotsTaken
from pregao.model.rows import NULL

MOST_REFRESHES: Final = 10_000  # books that wait for their snapshot
BUSY: Final = (b"T", b"X")  # 281
REASONS: Final = {
    b"0": "unknown instrument", b"1": "duplicate request", b"3": "insufficient permissions",
    b"4": "unsupported subscription type", b"M": "too many subscriptions", b"T": "a request is in progress",
    b"X": "temporarily unavailable", b"Y": "no such request", b"Z": "invalid request",
}  # fmt: skip


class RequestKind(Enum):
    INSTRUMENTS = "instruments"
    MARKET_DATA = "market data"
    HISTORY = "trade history"
    TOTALS = "market totals"
    CANCEL = "cancel"


@dataclass(slots=True)
class Request:
    kind: RequestKind
    name: str  # 262 or 320; made when it is sent
    msg_type: bytes
    body: dict[int, Any]
    tries: int = 0
    refreshes: int | None = None  # what is wanted again: an instrument's snapshot, or several instruments'
    answers: int = 0


class FixRequests:
    """`symbols` empty: all instruments. A system has `_first_requests`, `_market_bodies`, `_refresh_request`
    and `_cancel_body`. `by_level`: books are asked for by price level."""

    by_level = False

    def __init__(self, settings: ConnectionSettings, symbols: frozenset[str]) -> None:
        self._connection, self._symbols = settings, symbols
        self.is_on = False
        self.refused = self.entries = self.history_requests = 0
        self._last_id = 0
        self._clear()

    def _clear(self) -> None:
        self._waiting: deque[Request] = deque()
        self._under_way: Request | None = None
        self._ids: dict[str, int] = {}  # of symbols
        self._refreshing: set[int] = set()
        self._due_ns: int | None = None  # until when an answer is awaited
        self._not_before_ns = 0

    # What a system has of its own

    def _first_requests(self) -> Iterator[Request]:
        raise NotImplementedError

    def _market_bodies(self) -> list[dict[int, Any]]:
        """Of 35=V, when all instruments are listed."""
        raise NotImplementedError

    def _refresh_request(self, security_id: int) -> Request | None:
        """A subscription more, which is cancelled when its snapshots have come."""
        raise NotImplementedError

    def _cancel_body(self, request: Request) -> dict[int, Any]:
        return {262: request.name, 263: "2"}

    def _learned(self, entry: Entry) -> None:
        """An instrument of a list, not a deleted one."""

    def _listed_later(self, listed: list[Entry]) -> None:
        """Instruments that came in the day."""

    def _saw_snapshot(self, security_id: int, message: FixMessage) -> None:
        """35=W, before it is counted."""

    # The session

    def begin(self) -> None:
        """Logged on: nothing has been asked for in this session."""
        self._clear()
        self.is_on = True
        self._waiting.extend(self._first_requests())

    def cut(self) -> None:
        self.is_on = False
        self._clear()

    @property
    def awaited(self) -> int:
        return len(self._waiting) + (self._under_way is not None)

    def move(self, by_ns: int) -> None:
        """A clock was set: what is due moves with it."""
        if self._due_ns is not None:
            self._due_ns += by_ns
        self._not_before_ns += by_ns

    def next_timeout(self) -> int | None:
        times = [self._due_ns]
        if self._under_way is None and self._waiting:
            times.append(self._not_before_ns)
        return min((time for time in times if time is not None), default=None)

    def is_late(self, now_ns: int) -> bool:
        return self._due_ns is not None and self._due_ns <= now_ns

    # What is next

    def next(self, now_ns: int) -> Request | None:
        """A request to be sent now."""
        if self._under_way is not None or not self._waiting or now_ns < self._not_before_ns:
            return None
        request = self._waiting.popleft()
        request.answers = 0
        self._name(request, 320 if request.kind is RequestKind.INSTRUMENTS else 262)
        if request.kind is not RequestKind.CANCEL:  # which is silent
            self._under_way, self._due_ns = request, now_ns + self._connection.answer_ns
        return request

    def _name(self, request: Request, tag: int) -> None:
        """Each try has an id of its own; a cancel has that of what it cancels."""
        if request.kind is not RequestKind.CANCEL:
            self._last_id += 1
            request.name = f"{request.kind.name[0]}{self._last_id}"
            request.body[tag] = request.name

    def refresh(self, security_id: int) -> None:
        """Have a snapshot sent again."""
        if len(self._refreshing) >= MOST_REFRESHES or not self.is_on:
            return
        request = self._refresh_request(security_id)
        if request is None or request.refreshes is None or request.refreshes in self._refreshing:
            return
        self._refreshing.add(request.refreshes)
        self._waiting.append(request)

    # Answers

    def take(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        """An application message of the server; what it does to requests."""
        match message.msg_type:
            case b"y":
                yield from self._take_list(message, now_ns)
            case b"W":
                yield from self._take_snapshot(message, now_ns)
            case b"Y":
                yield from self._take_refusal(message, message.text(262), now_ns)
            case _:
                pass

    def reject(self) -> str:
        """The session rejected something of ours, which can only be what is under way."""
        request = self._under_way
        self.refused += 1
        if request is None:
            return "a message"
        self._done()
        return f"{request.kind.value} {request.name}"

    def _is_under_way(self, name: str) -> bool:
        return self._under_way is not None and self._under_way.name == name

    def _done(self) -> None:
        request, self._under_way, self._due_ns = self._under_way, None, None
        if request is not None and request.refreshes is not None:
            self._refreshing.discard(request.refreshes)

    def _take_list(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        """35=y: an answer, or an instrument that is new."""
        listed = message.group(146)
        asked = self._under_way is not None and self._is_under_way(message.text(320))
        if message.get(320) is not None and message.get(560) not in (None, b"0"):
            yield from self._take_refusal(message, message.text(320), now_ns)
            return
        self._learn(listed)
        if message.get(320) is None:
            self._listed_later(listed)
        elif asked and self._under_way is not None:
            self._under_way.answers += len(listed)
            self._due_ns = now_ns + self._connection.answer_ns
            if _is_last(message, 393, self._under_way.answers, is_empty=not listed):
                self._done()
                yield from self._end_list()

    def _end_list(self) -> Iterator[SessionEvent]:
        """One of the lists is whole: after the last of them come market data, before anything else."""
        if not any(each.kind is RequestKind.INSTRUMENTS for each in self._waiting):
            bodies = self._market_bodies()
            requests = [Request(RequestKind.MARKET_DATA, "", b"V", body) for body in bodies]
            self._waiting.extendleft(reversed(requests))
            yield InstrumentsListed(len(self._ids))

    def _learn(self, listed: list[Entry]) -> None:
        for entry in listed:
            symbol, security_id = symbol_of(entry), number_of(text_of(entry, 48))
            if security_id == NULL or len(self._ids) >= self._connection.most_instruments:
                continue
            if text_of(entry, 980) == b"D":
                self._ids.pop(symbol, None)
            else:
                self._ids[symbol] = security_id
                self._learned(entry)

    def _take_snapshot(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        security_id = number_of(message.get(48))
        if security_id != NULL:
            self._saw_snapshot(security_id, message)
        request = self._under_way
        if request is None or request.name != message.text(262):
            return
        request.answers += security_id != NULL
        self._due_ns = now_ns + self._connection.answer_ns
        if _is_last(message, 911, request.answers, is_empty=security_id == NULL):
            self._done()
            is_last = not any(each.kind is RequestKind.MARKET_DATA for each in self._waiting)
            yield SnapshotsTaken(request.name, request.answers, is_last)
            if request.refreshes is not None:
                cancel = Request(RequestKind.CANCEL, request.name, b"V", self._cancel_body(request))
                self._waiting.appendleft(cancel)

    def _take_refusal(self, message: FixMessage, name: str, now_ns: int) -> Iterator[SessionEvent]:
        """35=Y, an answer with 281, or y with 560."""
        if not self._is_under_way(name) or self._under_way is None:
            return
        request, reason = self._under_way, message.get(281) or message.get(560) or b""
        again = reason in BUSY or (reason == b"1" and request.kind is not RequestKind.INSTRUMENTS)
        request.tries += 1
        if again and request.tries < self._connection.tries:
            self._under_way, self._due_ns = None, None
            self._not_before_ns = now_ns + self._connection.again_ns
            self._waiting.appendleft(request)
            return
        self._done()
        self.refused += 1
        yield RequestRefused(f"{request.kind.value} {name}", reason_text(message, reason))
        if request.kind is RequestKind.INSTRUMENTS:
            yield from self._end_list()


def _is_last(message: FixMessage, total_tag: int, answers: int, *, is_empty: bool) -> bool:
    """Whether nothing follows of an answer: 893 says so, or as many came as were promised, or, where nobody
    counts, one of nothing."""
    total = number_of(message.get(total_tag))
    return message.flag(893) or (is_empty if total == NULL else answers >= total)


def symbol_of(entry: Entry) -> str:
    return (text_of(entry, 55) or b"").decode("latin-1")


def reason_text(message: FixMessage, reason: bytes) -> str:
    return message.text(58) or REASONS.get(reason, reason.decode("latin-1"))
