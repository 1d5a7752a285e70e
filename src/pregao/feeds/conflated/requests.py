"""What a client asks a server for, in which order, and what becomes of it (7.4 to 7.7).

One request of a kind is under way at a time: a server may be busy with the one before (281=T). What it
refuses is told once; what it is too busy for is asked for again, some times.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pregao.codecs.fix import Entry, FixMessage
from pregao.feeds.conflated.history import TradeHistory
from pregao.feeds.conflated.settings import ClientSettings, Filter
from pregao.feeds.fix_values import number_of, text_of
from pregao.feeds.session_port import (
    HistoryFilled,
    InstrumentsListed,
    RequestRefused,
    SessionEvent,
    SnapshotsTaken,
)
from pregao.model.rows import NULL

MOST_REFRESHES: Final = 10_000  # books that wait for their snapshot
_BUSY: Final = (b"T", b"X")  # 281
_EVERYTHING: Final = Filter()
_REASONS: Final = {
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
    refreshes: int | None = None  # the instrument whose snapshot is wanted again
    answers: int = 0


class Requests:
    """`symbols` empty: all instruments."""

    def __init__(self, settings: ClientSettings, symbols: frozenset[str]) -> None:
        self._settings, self._symbols = settings, symbols
        self.history = TradeHistory()
        self.is_on = False
        self.refused = self.entries = self._history_tries = 0
        self._last_id = 0
        self._clear()

    def _clear(self) -> None:
        self._waiting: deque[Request] = deque()
        self._under_way: Request | None = None
        self._asks_history: Request | None = None
        self._ids: dict[str, int] = {}  # of symbols
        self._groups: dict[str, None] = {}
        self._subscribed: set[int] = set()
        self._refreshing: set[int] = set()
        self._due_ns: int | None = None  # until when an answer is awaited
        self._history_due_ns: int | None = None
        self._not_before_ns = self._history_not_before_ns = 0

    # The session

    def begin(self) -> None:
        """Logged on: nothing has been asked for in this session."""
        self._clear()
        self.is_on = True
        filters = self._settings.filters or (_EVERYTHING,)
        for each in dict.fromkeys(Filter(f.security_type, f.product, f.cfi_code) for f in filters):
            fields = each.fields()
            wanted = 4 if not fields else 2 if set(fields) == {460} else 1
            body = {263: "1", **fields, **({559: wanted} if wanted == 4 or len(fields) == 1 else {})}
            self._waiting.append(Request(RequestKind.INSTRUMENTS, "", b"x", body))
        if self._settings.totals:
            self._waiting.append(Request(RequestKind.TOTALS, "", b"UTOTQ", {263: "1"}))

    def cut(self) -> None:
        self.is_on = False
        self.history.ask_again()
        self._clear()

    @property
    def awaited(self) -> int:
        return len(self._waiting) + (self._under_way is not None) + self.history.waiting

    def move(self, by_ns: int) -> None:
        """A clock was set: what is due moves with it."""
        if self._due_ns is not None:
            self._due_ns += by_ns
        if self._history_due_ns is not None:
            self._history_due_ns += by_ns
        self._not_before_ns += by_ns
        self._history_not_before_ns += by_ns

    def next_timeout(self) -> int | None:
        times = [self._due_ns, self._history_due_ns]
        if self._under_way is None and self._waiting:
            times.append(self._not_before_ns)
        if self._asks_history is None and self.history.waiting:
            times.append(self._history_not_before_ns)
        return min((time for time in times if time is not None), default=None)

    def is_late(self, now_ns: int) -> bool:
        return any(due is not None and due <= now_ns for due in (self._due_ns, self._history_due_ns))

    # What is next

    def next(self, now_ns: int) -> Request | None:
        """A request to be sent now."""
        if self._under_way is None and self._waiting and now_ns >= self._not_before_ns:
            request = self._waiting.popleft()
            request.answers = 0
            self._name(request, 320 if request.kind is RequestKind.INSTRUMENTS else 262)
            if request.kind is not RequestKind.CANCEL:  # which is silent
                self._under_way, self._due_ns = request, now_ns + self._settings.answer_ns
            return request
        if self._asks_history is None and now_ns >= self._history_not_before_ns:
            entries = self.history.next_request()
            if entries is not None:
                request = Request(RequestKind.HISTORY, "", b"UTHQ", {263: "0", 146: entries})
                self._name(request, 262)
                self._asks_history, self._history_due_ns = request, now_ns + self._settings.answer_ns
                return request
        return None

    def _name(self, request: Request, tag: int) -> None:
        """Each try has an id of its own; a cancel has that of what it cancels."""
        if request.kind is not RequestKind.CANCEL:
            self._last_id += 1
            request.name = f"{request.kind.name[0]}{self._last_id}"
            request.body[tag] = request.name

    def refresh(self, security_id: int) -> None:
        """Have a snapshot sent again: a subscription more, which is cancelled when it has done that."""
        if security_id in self._refreshing or len(self._refreshing) >= MOST_REFRESHES or not self.is_on:
            return
        self._refreshing.add(security_id)
        body = {263: "1", 1021: 3, 146: [_instrument(security_id)]}
        self._waiting.append(Request(RequestKind.MARKET_DATA, "", b"V", body, refreshes=security_id))

    # Answers

    def take(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        """An application message of the server; what it does to requests."""
        match message.msg_type:
            case b"y":
                yield from self._take_list(message, now_ns)
            case b"W":
                yield from self._take_snapshot(message, now_ns)
            case b"X":
                self._note_trades(message.group(268))
            case b"Y":
                yield from self._take_refusal(message, message.text(262), now_ns)
            case b"UTHP":
                yield from self._take_history(message, now_ns)
            case b"UTOTP":
                if 281 in message.body:
                    yield from self._take_refusal(message, message.text(262), now_ns)
                elif self._is_under_way(message.text(262)):
                    self._done()
            case _:
                pass

    def reject(self) -> str:
        """The session rejected something of ours, which can only be what is under way."""
        request = self._under_way or self._asks_history
        self.refused += 1
        if request is None:
            return "a message"
        if request is self._under_way:
            self._done()
        else:
            self._asks_history = self._history_due_ns = None
            self.history.refuse()
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
            self._subscribe_new(listed)
        elif asked and self._under_way is not None:
            self._under_way.answers += len(listed)
            self._due_ns = now_ns + self._settings.answer_ns
            total = number_of(message.get(393))
            if message.flag(893) or (total != NULL and self._under_way.answers >= total):
                self._done()
                yield from self._end_list()

    def _end_list(self) -> Iterator[SessionEvent]:
        """One of the lists is whole: after the last of them come market data."""
        if not any(each.kind is RequestKind.INSTRUMENTS for each in self._waiting):
            self._subscribe()
            yield InstrumentsListed(len(self._ids))

    def _learn(self, listed: list[Entry]) -> None:
        for entry in listed:
            symbol, security_id = (text_of(entry, 55) or b"").decode("latin-1"), number_of(text_of(entry, 48))
            if security_id == NULL or len(self._ids) >= self._settings.most_instruments:
                continue
            if text_of(entry, 980) == b"D":
                self._ids.pop(symbol, None)
            else:
                self._ids[symbol] = security_id
                self._groups[(text_of(entry, 1151) or b"").decode("latin-1").strip()] = None

    def _subscribe(self) -> None:
        """All instruments are listed: market data of those that are wanted, before anything else."""
        if self._symbols:
            ids = [self._ids[symbol] for symbol in sorted(self._symbols) if symbol in self._ids]
            bodies = [{146: [_instrument(each) for each in part]} for part in self._parts(ids)]
            self._subscribed.update(ids)
        else:
            bodies = [self._filter_body(each) for each in self._settings.filters]
            bodies = bodies or self._group_bodies()
        requests = [
            Request(RequestKind.MARKET_DATA, "", b"V", {263: "1", 1021: 3, **each}) for each in bodies
        ]
        self._waiting.extendleft(reversed(requests))

    def _parts(self, ids: list[int]) -> Iterator[list[int]]:
        size = self._settings.instruments_in_a_request
        return (ids[at : at + size] for at in range(0, len(ids), size))

    def _filter_body(self, told: Filter) -> dict[int, Any]:
        groups = {37022: [{1151: each} for each in told.groups]} if told.groups else {}
        return {**told.fields(), **groups}

    def _group_bodies(self) -> list[dict[int, Any]]:
        """A filter is mandatory (7.5.1): all groups that the list has."""
        names, size = [name for name in self._groups if name], self._settings.groups_in_a_request
        parts = (names[at : at + size] for at in range(0, len(names), size))
        return [{37022: [{1151: name} for name in part]} for part in parts]

    def _subscribe_new(self, listed: list[Entry]) -> None:
        """An instrument created in the day: one that was chosen by its symbol is asked for; one of a filter
        comes by itself."""
        for entry in listed:
            symbol = (text_of(entry, 55) or b"").decode("latin-1")
            security_id = self._ids.get(symbol)
            if symbol in self._symbols and security_id is not None and security_id not in self._subscribed:
                self._subscribed.add(security_id)
                body = {263: "1", 1021: 3, 146: [_instrument(security_id)]}
                self._waiting.append(Request(RequestKind.MARKET_DATA, "", b"V", body))

    def _take_snapshot(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        security_id = number_of(message.get(48))
        if security_id != NULL:
            last = _last_number(message.group(268))
            if last is not None and self._settings.history != "none":
                self.history.snapshot(security_id, last, whole_day=self._settings.history == "day")
        request = self._under_way
        if request is None or request.name != message.text(262):
            return
        request.answers += security_id != NULL
        self._due_ns = now_ns + self._settings.answer_ns
        total = number_of(message.get(911))
        if message.flag(893) or (total != NULL and request.answers >= total):
            self._done()
            is_last = not any(each.kind is RequestKind.MARKET_DATA for each in self._waiting)
            yield SnapshotsTaken(request.name, request.answers, is_last)
            if request.refreshes is not None:
                body = {262: request.name, 263: "2", 1021: 3}
                self._waiting.appendleft(Request(RequestKind.CANCEL, request.name, b"V", body))

    def _note_trades(self, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.get(269) in (b"2", b"3"):
                security_id, number = number_of(text_of(entry, 48)), _number_in(entry)
                if security_id != NULL and number is not None:
                    self.history.saw(security_id, number)

    def _take_refusal(self, message: FixMessage, name: str, now_ns: int) -> Iterator[SessionEvent]:
        """35=Y, UTOTP with 281, or y with 560."""
        if not self._is_under_way(name) or self._under_way is None:
            return
        request, reason = self._under_way, message.get(281) or message.get(560) or b""
        again = reason in _BUSY or (reason == b"1" and request.kind is not RequestKind.INSTRUMENTS)
        request.tries += 1
        if again and request.tries < self._settings.tries:
            self._under_way, self._due_ns = None, None
            self._not_before_ns = now_ns + self._settings.again_ns
            self._waiting.appendleft(request)
            return
        self._done()
        self.refused += 1
        told = message.text(58) or _REASONS.get(reason, reason.decode("latin-1"))
        yield RequestRefused(f"{request.kind.value} {name}", told)
        if request.kind is RequestKind.INSTRUMENTS:
            yield from self._end_list()

    def _take_history(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        request = self._asks_history
        if request is None or request.name != message.text(262):
            return
        reason = message.get(281)
        if reason is not None:
            yield from self._refuse_history(request, message, reason, now_ns)
            return
        security_id = number_of(message.get(48))
        numbers = [number for entry in message.group(268) if (number := _number_in(entry)) is not None]
        self.entries += len(numbers)
        self._history_due_ns = now_ns + self._settings.answer_ns
        if security_id != NULL:
            self.history.answered(security_id, numbers)
        if message.flag(893):
            self._asks_history = self._history_due_ns = None
            self._history_tries = 0
            for span in self.history.finish():
                yield HistoryFilled(span.security_id, span.first, span.last, span.is_whole)

    def _refuse_history(
        self, request: Request, message: FixMessage, reason: bytes, now_ns: int
    ) -> Iterator[SessionEvent]:
        self._asks_history = self._history_due_ns = None
        self._history_tries += 1
        if reason in _BUSY and self._history_tries < self._settings.tries:
            self.history.ask_again()
            self._history_not_before_ns = now_ns + self._settings.again_ns
            return
        self._history_tries = 0
        self.refused += 1
        told = message.text(58) or _REASONS.get(reason, reason.decode("latin-1"))
        yield RequestRefused(f"{request.kind.value} {request.name}", told)
        for span in self.history.refuse():
            yield HistoryFilled(span.security_id, span.first, span.last, whole=False)


def _instrument(security_id: int) -> dict[int, Any]:
    return {48: str(security_id), 22: "8", 207: "BVMF"}


def _number_in(entry: Entry) -> int | None:
    """TradeID of a trade, IndexSeq of an index value."""
    number = number_of(text_of(entry, 1003 if entry.get(269) == b"2" else 37100))
    return None if number == NULL else number


def _last_number(entries: list[Entry]) -> int | None:
    told = [entry for entry in entries if entry.get(269) in (b"2", b"3")]
    numbers = [number for entry in told if (number := _number_in(entry)) is not None]
    return max(numbers, default=None)
