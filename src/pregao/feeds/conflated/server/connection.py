"""One connection of a client: its FIX session, its requests, its subscriptions, its compression.

Answers of many messages are not written at once: they wait in `_answers` and go out in slices, when it is the
connection's turn (`ConflatedServer.work`) and the other side takes what it is sent. So a large request never
delays others, and only a client that does not read at all is cut.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from pregao.codecs.fix import FixMessage, Problem, SessionRejectReason
from pregao.codecs.fix.bodies import Body
from pregao.codecs.fix.compression import StreamDeflater
from pregao.feeds.conflated.publisher.bulletins import Bulletin, Listing, Notice, Refresh, Totals
from pregao.feeds.conflated.server import histories, lists, market_data
from pregao.feeds.conflated.server.filters import RefusedRequestError, RejectReason
from pregao.feeds.conflated.server.subscribers import Subscriber
from pregao.feeds.serving import SECOND_NS, SessionGrant, SessionLimits
from pregao.sessions.fix import FixSession, SessionDirectory, SessionState
from pregao.sessions.fix.events import Event, LoggedOn, MessageReceived

if TYPE_CHECKING:
    from pregao.feeds.conflated.server.server import ConflatedServer

LIST_REQUEST, DATA_REQUEST, HISTORY_REQUEST, TOTALS_REQUEST = b"x", b"V", b"UTHQ", b"UTOTQ"
SERVED: Final = frozenset((LIST_REQUEST, DATA_REQUEST, HISTORY_REQUEST, TOTALS_REQUEST))
OF_A_SLICE: Final = 16  # messages of answers
ROOM: Final = 1 << 20  # unread bytes above which answers wait
_AGAIN_NS: Final = 20_000_000
_NOBODY: Final = SessionGrant("")


class _Answer(NamedTuple):
    request: bytes
    messages: Iterator[Body]


class ServerConnection:
    """Bytes and times in, bytes out. `wake` and `unread` are set by who has the socket."""

    def __init__(self, server: "ConflatedServer", address: str, directory: SessionDirectory) -> None:
        self._server, self._feed, self.address = server, server.feed, address
        self.session = FixSession.acceptor(server.session_settings, server.feed.dictionary, directory)
        self.wake: Callable[[], None] | None = None
        self.unread: Callable[[], int] | None = None
        self.grant = _NOBODY
        self.subscriber = Subscriber(_NOBODY.permissions)
        self._deflater = StreamDeflater() if server.settings.compress else None
        self._backlog: list[Refresh] = []  # books of ticks that have not gone yet
        self._answers: deque[_Answer] = deque()
        self._requests: deque[int] = deque()  # when they came
        self._again_ns: int | None = None
        self._next_id = 1
        self._is_counted = False

    # The machine of bytes

    @property
    def is_over(self) -> bool:
        return self.session.state is SessionState.CUT

    @property
    def comp_id(self) -> str:
        return self.grant.comp_id

    @property
    def limits(self) -> SessionLimits:
        return self.grant.limits

    @property
    def most_unread(self) -> tuple[int, int]:
        return self.limits.unread_bytes, self.limits.unread_ns

    def connect(self, now_ns: int) -> None:
        self.session.connect(now_ns)

    def receive(self, data: bytes, now_ns: int) -> None:
        self._take(self.session.receive(data, now_ns), now_ns)

    def data_to_send(self) -> bytes:
        messages = self.session.messages_to_send()
        if not messages:
            return b""
        if self._deflater is not None:
            return self._deflater.write(messages)
        return b"".join([each.join() for each in messages])

    def next_timeout(self) -> int | None:
        times = [time for time in (self.session.next_timeout(), self._again_ns) if time is not None]
        return min(times, default=None)

    def on_timeout(self, now_ns: int) -> None:
        self._take(self.session.on_timeout(now_ns), now_ns)
        if self._again_ns is not None and self._again_ns <= now_ns:
            self._again_ns = None
            self._server.enqueue(self)

    def resume(self, now_ns: int) -> None:
        if self.has_work:
            self._again_ns = None
            self._server.enqueue(self)

    def disconnected(self, now_ns: int) -> None:
        self._take(self.session.disconnected(now_ns), now_ns)

    def overflow(self, now_ns: int) -> None:
        self.cut("Messages are not taken", now_ns)

    def cut(self, text: str, now_ns: int) -> None:
        if self.session.core.is_live:
            self.session.core.say_and_cut(text, now_ns)
        self._take(self.session.disconnected(now_ns), now_ns)

    def _take(self, events: list[Event], now_ns: int) -> None:
        for event in events:
            if isinstance(event, LoggedOn) and self.grant is _NOBODY:
                self.grant = self._server.grants[event.sender]
                self.subscriber = Subscriber(self.grant.permissions)
                self._server.logged_on(self)
            elif isinstance(event, MessageReceived) and self.session.core.is_live:
                self._request(event.message, event.number, now_ns)
        if self.is_over and not self._is_counted:
            self._is_counted = True
            self._server.left(self, now_ns)
            self._answers.clear()
            self._backlog.clear()

    # Bulletins

    def deliver(self, bulletin: Bulletin, now_ns: int) -> None:
        subscriber = self.subscriber
        if isinstance(bulletin, Refresh):
            if bulletin.is_book:
                self._backlog.append(bulletin)
                self._server.enqueue(self)
            else:
                self._refresh(bulletin, now_ns)
        elif isinstance(bulletin, Notice):
            if subscriber.wants(bulletin):
                self._send(bulletin.body, now_ns, dict(bulletin.header))
        elif isinstance(bulletin, Listing):
            if subscriber.wants_listing(bulletin):
                self._send(bulletin.body, now_ns)
            subscriber.follow(bulletin)
        elif isinstance(bulletin, Totals) and subscriber.totals:
            self._send(bulletin.body, now_ns)

    def _refresh(self, refresh: Refresh, now_ns: int) -> None:
        for security_ids in self.subscriber.share(refresh):
            self._send(self._feed.outbox.body(refresh, security_ids), now_ns)

    def _send(self, body: Body, now_ns: int, header: dict[int, bytes] | None = None) -> None:
        if self.session.core.is_live:
            self.session.send_body(body, now_ns, header)
            if self.wake is not None:
                self.wake()

    # Requests

    @property
    def has_work(self) -> bool:
        return bool(self._backlog or self._answers)

    def work(self, now_ns: int) -> None:
        """A slice: the books of ticks, then some messages of answers."""
        self._tell_books(now_ns)
        for _ in range(OF_A_SLICE):
            if not self._answers:
                return
            if self.unread is not None and self.unread() > ROOM:
                self._again_ns = now_ns + _AGAIN_NS
                return
            body = next(self._answers[0].messages, None)
            if body is None:
                self._answers.popleft()
            else:
                self._send(body, now_ns)
        if self._answers:
            self._server.enqueue(self)

    def _tell_books(self, now_ns: int) -> None:
        backlog, self._backlog = self._backlog, []
        for refresh in backlog:
            self._refresh(refresh, now_ns)

    def _is_answering(self, request: bytes) -> bool:
        return any(each.request == request for each in self._answers)

    def _answer(self, request: bytes, messages: Iterator[Body]) -> None:
        self._answers.append(_Answer(request, messages))
        self._server.enqueue(self)

    def _request(self, message: FixMessage, number: int, now_ns: int) -> None:
        requests = self._requests
        requests.append(now_ns)
        while requests and now_ns - requests[0] >= SECOND_NS:
            requests.popleft()
        if len(requests) > self.limits.requests_a_second:
            self.session.core.say_and_cut("Too many requests", now_ns)
            return
        if message.msg_type == LIST_REQUEST:
            self._list(message)
        elif message.msg_type == DATA_REQUEST:
            self._subscribe(message, now_ns)
        elif message.msg_type == HISTORY_REQUEST:
            self._history(message, now_ns)
        else:
            self._totals(message, number, now_ns)

    def _list(self, message: FixMessage) -> None:
        result, found = lists.answer_list(self._feed, self.subscriber, self.limits, message)
        messages = lists.list_messages(self._feed, message.text(320), self._next_id, result, found)
        self._next_id += 1 + len(found or ()) // lists.OF_A_MESSAGE
        self._answer(LIST_REQUEST, messages)

    def _subscribe(self, message: FixMessage, now_ns: int) -> None:
        request_id = message.text(262)
        try:
            found = market_data.subscribe(
                self._feed, self.subscriber, self.limits, message,
                in_progress=self._is_answering(DATA_REQUEST),
            )  # fmt: skip
        except RefusedRequestError as error:
            self._send(market_data.rejection(self._feed, request_id, error), now_ns)
            return
        if found is not None:
            self._answer(DATA_REQUEST, self._snapshots(request_id, found, now_ns))

    def _snapshots(self, request_id: str, found: list[int], now_ns: int) -> Iterator[Body]:
        """Each as of now: what was told before it has gone before it."""
        messages = market_data.snapshot_messages(self._feed, self.subscriber, request_id, found)
        while True:
            self._feed.flush(max(now_ns, self._server.now_ns))
            self._tell_books(max(now_ns, self._server.now_ns))
            body = next(messages, None)
            if body is None:
                return
            yield body

    def _history(self, message: FixMessage, now_ns: int) -> None:
        request_id = message.text(262)
        try:
            spans = histories.read_spans(
                self._feed, self.subscriber, message, in_progress=self._is_answering(HISTORY_REQUEST)
            )
        except RefusedRequestError as error:
            self._send(histories.history_rejection(self._feed, request_id, error), now_ns)
            return
        self._answer(HISTORY_REQUEST, histories.history_messages(self._feed, request_id, spans))

    def _totals(self, message: FixMessage, number: int, now_ns: int) -> None:
        request_id, kind, known = message.text(262), message.text(263), self.subscriber.totals
        if kind == "2":
            reason = None if request_id in known else RejectReason.UNKNOWN_REQUEST
            known.discard(request_id)
            self._send(histories.totals_answer(self._feed, request_id, reason), now_ns)
        elif kind != "1":
            problem = Problem(SessionRejectReason.VALUE_INCORRECT, 263)
            self.session.core.reject(message, number, problem, now_ns)
        elif request_id in known or self._is_answering(TOTALS_REQUEST):
            reason = RejectReason.DUPLICATE_REQUEST
            self._send(histories.totals_answer(self._feed, request_id, reason), now_ns)
        else:
            self._answer(TOTALS_REQUEST, self._total(request_id))
        self._server.count_totals()

    def _total(self, request_id: str) -> Iterator[Body]:
        """Broadcasts begin behind all compositions (7.7)."""
        yield from histories.totals_messages(self._feed, request_id)
        self.subscriber.totals.add(request_id)
        self._server.count_totals()
