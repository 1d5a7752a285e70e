"""One connection of a client: its FIX session, its requests, its compression.

Answers of many messages are not written at once: they wait in `_answers` and go out in slices, when it is the
connection's turn (`FixServer.work`) and the other side takes what it is sent. So a large request never delays
others, and only a client that does not read at all is cut. What is asked for a system has: `_serve`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.bodies import Body
from pregao.codecs.fix.compression import StreamDeflater
from pregao.codecs.fix.runs import BodyRun
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.bulletins import Bulletin, Listing, Notice, Refresh
from pregao.feeds.fix.subscribers import Subscriber
from pregao.feeds.serving import SECOND_NS, SessionGrant, SessionLimits
from pregao.sessions.fix import FixSession, SessionDirectory, SessionSettings, SessionState
from pregao.sessions.fix.events import Event, LoggedOn, MessageReceived

if TYPE_CHECKING:
    from pregao.feeds.fix.server import FixServer

OF_A_SLICE: Final = 16  # messages of answers
ROOM: Final = 1 << 20  # unread bytes above which answers wait
_AGAIN_NS: Final = 20_000_000
_NOBODY: Final = SessionGrant("")


class _Answer(NamedTuple):
    request: bytes
    messages: Iterator[Body]


class FixConnection:
    """Bytes and times in, bytes out. `wake` and `unread` are set by who has the socket."""

    def __init__(
        self, server: "FixServer[Any]", address: str, directory: SessionDirectory, settings: SessionSettings
    ) -> None:
        self._server, self.address = server, address
        self.session = FixSession.acceptor(settings, server.dictionary, directory)
        self.wake: Callable[[], None] | None = None
        self.unread: Callable[[], int] | None = None
        self.grant = _NOBODY
        self.subscriber = Subscriber(_NOBODY.permissions)
        self._deflater = StreamDeflater() if server.settings.compress else None
        self._backlog: list[Refresh] = []  # books of ticks that have not gone yet
        self._answers: deque[_Answer] = deque()
        self._requests: deque[int] = deque()  # when they came
        self._again_ns: int | None = None
        self._is_counted = False

    # What a system has of its own

    def _follow(self, listing: Listing, now_ns: int) -> None:
        """An instrument came or went: one that comes begins with 35=X, unless a system has it otherwise."""
        self.subscriber.follow(listing)

    def _serve(self, message: FixMessage, number: int, now_ns: int) -> None:
        """A request that the dictionary allows."""
        raise NotImplementedError

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
        if self._deflater is None:
            return self.session.data_to_send()
        messages = self.session.messages_to_send()
        return self._deflater.write(messages) if messages else b""

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

    def _send(self, body: Body, now_ns: int, header: dict[int, bytes] | None = None) -> None:
        if self.session.core.is_live:
            self.session.send_body(body, now_ns, header)
            if self.wake is not None:
                self.wake()

    def _send_run(self, run: BodyRun, now_ns: int) -> None:
        if run.bodies and self.session.core.is_live:
            self.session.send_run(run, now_ns)
            if self.wake is not None:
                self.wake()

    # Books, and answers in their turn

    def deliver(self, batch: Batch, now_ns: int) -> None:
        """What all servers tell at once."""
        subscriber = self.subscriber
        if batch.instruments is not None and batch.instruments <= subscriber.live:
            self._send_run(batch.whole, now_ns)
            return
        bodies: list[Body] = []
        for bulletin in batch.bulletins:
            if isinstance(bulletin, Refresh) and not bulletin.is_book:
                shares = subscriber.share(bulletin)
                bodies += [self._server.outbox.body(bulletin, security_ids) for security_ids in shares]
            elif isinstance(bulletin, Notice) and not bulletin.header:
                if subscriber.wants(bulletin):
                    bodies.append(bulletin.body)
            else:
                self._send_run(batch.run(bodies), now_ns)
                bodies = []
                self._tell(bulletin, now_ns)
        self._send_run(batch.run(bodies), now_ns)

    def _tell(self, bulletin: Bulletin, now_ns: int) -> None:
        """One that goes by itself; books of ticks wait for the connection's turn."""
        if isinstance(bulletin, Refresh):
            self._backlog.append(bulletin)
            self._server.enqueue(self)
        elif isinstance(bulletin, Notice):
            if self.subscriber.wants(bulletin):
                self._send(bulletin.body, now_ns, dict(bulletin.header))
        elif isinstance(bulletin, Listing):
            if self.subscriber.wants_listing(bulletin):
                self._send(bulletin.body, now_ns)
            self._follow(bulletin, now_ns)

    def _refresh(self, refresh: Refresh, now_ns: int) -> None:
        for security_ids in self.subscriber.share(refresh):
            self._send(self._server.outbox.body(refresh, security_ids), now_ns)

    def _tell_books(self, now_ns: int) -> None:
        backlog, self._backlog = self._backlog, []
        for refresh in backlog:
            self._refresh(refresh, now_ns)

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

    def _is_answering(self, request: bytes) -> bool:
        return any(each.request == request for each in self._answers)

    def _answer(self, request: bytes, messages: Iterator[Body]) -> None:
        self._answers.append(_Answer(request, messages))
        self._server.enqueue(self)

    def _snapshots(self, messages: Iterator[Body], now_ns: int) -> Iterator[Body]:
        """Each as of now: what was told before it has gone before it."""
        while True:
            time_ns = max(now_ns, self._server.now_ns)
            self._server.flush(time_ns)
            self._tell_books(time_ns)
            body = next(messages, None)
            if body is None:
                return
            yield body

    # Requests

    def _request(self, message: FixMessage, number: int, now_ns: int) -> None:
        requests = self._requests
        requests.append(now_ns)
        while requests and now_ns - requests[0] >= SECOND_NS:
            requests.popleft()
        if len(requests) > self.limits.requests_a_second:
            self.session.core.say_and_cut("Too many requests", now_ns)
            return
        self._serve(message, number, now_ns)
