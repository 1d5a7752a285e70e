"""What a client of PUMA Conflated asks for beyond lists and market data: trade history and market totals (7.4
to 7.7). History is asked for beside the rest, as its answers are no snapshots."""

from collections.abc import Iterator
from typing import Any

from pregao.codecs.fix import Entry, FixMessage
from pregao.feeds.conflated.history import TradeHistory
from pregao.feeds.conflated.settings import ClientSettings, Filter
from pregao.feeds.fix.requests import BUSY, FixRequests, Request, RequestKind, reason_text, symbol_of
from pregao.feeds.fix_values import number_of, text_of
from pregao.feeds.session_port import HistoryFilled, RequestRefused, SessionEvent
from pregao.model.rows import NULL

_EVERYTHING = Filter()
_BY_LEVEL, _BY_ORDER = 2, 3  # 1021


class ConflatedRequests(FixRequests):
    def __init__(self, settings: ClientSettings, symbols: frozenset[str]) -> None:
        self._settings = settings
        self.by_level = settings.price_depth
        self._depth = _BY_LEVEL if self.by_level else _BY_ORDER
        self.history = TradeHistory()
        self._history_tries = 0
        super().__init__(settings, symbols)

    def _clear(self) -> None:
        super()._clear()
        self._asks_history: Request | None = None
        self._groups: dict[str, None] = {}
        self._subscribed: set[int] = set()
        self._history_due_ns: int | None = None
        self._history_not_before_ns = 0

    def _first_requests(self) -> Iterator[Request]:
        filters = self._settings.filters or (_EVERYTHING,)
        for each in dict.fromkeys(Filter(f.security_type, f.product, f.cfi_code) for f in filters):
            fields = each.fields()
            wanted = 4 if not fields else 2 if set(fields) == {460} else 1
            body = {263: "1", **fields, **({559: wanted} if wanted == 4 or len(fields) == 1 else {})}
            yield Request(RequestKind.INSTRUMENTS, "", b"x", body)
        if self._settings.totals:
            yield Request(RequestKind.TOTALS, "", b"UTOTQ", {263: "1"})

    def cut(self) -> None:
        self.history.ask_again()
        super().cut()

    @property
    def awaited(self) -> int:
        return super().awaited + self.history.waiting

    def move(self, by_ns: int) -> None:
        super().move(by_ns)
        if self._history_due_ns is not None:
            self._history_due_ns += by_ns
        self._history_not_before_ns += by_ns

    def next_timeout(self) -> int | None:
        times = [super().next_timeout(), self._history_due_ns]
        if self._asks_history is None and self.history.waiting:
            times.append(self._history_not_before_ns)
        return min((time for time in times if time is not None), default=None)

    def is_late(self, now_ns: int) -> bool:
        late = self._history_due_ns is not None and self._history_due_ns <= now_ns
        return late or super().is_late(now_ns)

    def next(self, now_ns: int) -> Request | None:
        request = super().next(now_ns)
        if request is not None or self._asks_history is not None or now_ns < self._history_not_before_ns:
            return request
        entries = self.history.next_request()
        if entries is None:
            return None
        request = Request(RequestKind.HISTORY, "", b"UTHQ", {263: "0", 146: entries})
        self._name(request, 262)
        self._asks_history, self._history_due_ns = request, now_ns + self._settings.answer_ns
        self.history_requests += 1
        return request

    def _refresh_request(self, security_id: int) -> Request | None:
        body = self._data_body({146: [_instrument(security_id)]})
        return Request(RequestKind.MARKET_DATA, "", b"V", body, refreshes=security_id)

    def _data_body(self, filters: dict[int, Any]) -> dict[int, Any]:
        return {263: "1", 1021: self._depth, **filters}

    def _cancel_body(self, request: Request) -> dict[int, Any]:
        return {**super()._cancel_body(request), 1021: self._depth}

    # Answers

    def take(self, message: FixMessage, now_ns: int) -> Iterator[SessionEvent]:
        match message.msg_type:
            case b"X":
                self._note_trades(message.group(268))
            case b"UTHP":
                yield from self._take_history(message, now_ns)
            case b"UTOTP":
                if 281 in message.body:
                    yield from self._take_refusal(message, message.text(262), now_ns)
                elif self._is_under_way(message.text(262)):
                    self._done()
            case _:
                yield from super().take(message, now_ns)

    def reject(self) -> str:
        request = self._asks_history
        if self._under_way is not None or request is None:
            return super().reject()
        self.refused += 1
        self._asks_history = self._history_due_ns = None
        self.history.refuse()
        return f"{request.kind.value} {request.name}"

    # Market data

    def _market_bodies(self) -> list[dict[int, Any]]:
        if self._symbols:
            ids = [self._ids[symbol] for symbol in sorted(self._symbols) if symbol in self._ids]
            self._subscribed.update(ids)
            parts = [{146: [_instrument(each) for each in part]} for part in self._parts(ids)]
            return [self._data_body(each) for each in parts]
        bodies = [self._filter_body(each) for each in self._settings.filters]
        return [self._data_body(each) for each in bodies or self._group_bodies()]

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

    def _learned(self, entry: Entry) -> None:
        self._groups[(text_of(entry, 1151) or b"").decode("latin-1").strip()] = None

    def _listed_later(self, listed: list[Entry]) -> None:
        """An instrument created in the day: one that was chosen by its symbol is asked for; one of a filter
        comes by itself."""
        for entry in listed:
            symbol = symbol_of(entry)
            security_id = self._ids.get(symbol)
            if symbol in self._symbols and security_id is not None and security_id not in self._subscribed:
                self._subscribed.add(security_id)
                body = self._data_body({146: [_instrument(security_id)]})
                self._waiting.append(Request(RequestKind.MARKET_DATA, "", b"V", body))

    # History

    def _saw_snapshot(self, security_id: int, message: FixMessage) -> None:
        last = _last_number(message.group(268))
        if last is not None and self._settings.history != "none":
            self.history.snapshot(security_id, last, whole_day=self._settings.history == "day")

    def _note_trades(self, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.get(269) in (b"2", b"3"):
                security_id, number = number_of(text_of(entry, 48)), _number_in(entry)
                if security_id != NULL and number is not None:
                    self.history.saw(security_id, number)

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
        if reason in BUSY and self._history_tries < self._settings.tries:
            self.history.ask_again()
            self._history_not_before_ns = now_ns + self._settings.again_ns
            return
        self._history_tries = 0
        self.refused += 1
        yield RequestRefused(f"{request.kind.value} {request.name}", reason_text(message, reason))
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
