"""Our server of PUMA Conflated and our client in memory, with whatever may happen between them: connections
cut in the middle of a message, servers that are stopped, readers that are slow."""

from random import Random
from typing import Any

from pregao.exchange.commands import CrossOrder
from pregao.feeds.conflated.server.connection import ServerConnection
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.serving import SessionGrant
from pregao.feeds.session_port import (
    ConnectWanted,
    DisconnectWanted,
    RequestRefused,
    SessionBegun,
    SessionEvent,
    SessionMessage,
)
from pregao.handler.session import SessionHandler
from pregao.model.market import Side
from pregao.recovery.instruments import BookStatus
from tests.kits.conflated import MS, Engine, small_catalogue

TICK = 380 * MS
SETTINGS = {
    "sender": "CLIENT", "target": "B3", "primary": "127.0.0.1:1", "standbys": ["127.0.0.1:2"], "retry_s": 1,
}  # fmt: skip


class BothEnds:
    """An engine with two servers, and one client with its books, by order or by level."""

    def __init__(self, seed: int, *, price_depth: bool = False) -> None:
        self.engine = Engine(seed, price_depth=price_depth)
        self.servers = [self.engine.server(SessionGrant("CLIENT")) for _ in range(2)]
        self.client = CONFLATED.client({**SETTINGS, "price_depth": price_depth}, "", ())
        self.handler = SessionHandler(0, CONFLATED)
        self.connection: ServerConnection | None = None
        self.refused: list[RequestRefused] = []
        self.stopped: set[int] = set()  # servers that let nobody in
        self.is_slow = False  # the client reads nothing
        self._unread = b""
        self.served_by: list[str] = []
        self._take(self.client.start(self.engine.now_ns))

    def _take(self, events: list[SessionEvent]) -> None:
        now_ns = self.engine.now_ns
        messages: list[SessionMessage] = []
        for event in events:
            if isinstance(event, SessionMessage):
                messages.append(event)
                continue
            self.handler.take(messages, now_ns)
            messages = []
            self._heed(event, now_ns)
        self.handler.take(messages, now_ns)

    def _heed(self, event: Any, now_ns: int) -> None:
        self.handler.on_session(event, now_ns)
        match event:
            case ConnectWanted():
                place = event.endpoint.port - 1
                self._unread = b""
                if place in self.stopped:
                    self._take(self.client.disconnected("refused", now_ns))
                    return
                self.connection = self.servers[place].accept("127.0.0.1", now_ns)
                assert self.connection is not None
                self.connection.unread = lambda: len(self._unread)
                self._take(self.client.connected(now_ns))
            case SessionBegun():
                self.served_by.append(event.endpoint)
            case RequestRefused():
                self.refused.append(event)
            case DisconnectWanted():
                self._hang_up()

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.disconnected(self.engine.now_ns)
            self.connection = None

    def cut(self, draw: Random | None = None) -> None:
        """The connection breaks; of what was on its way some bytes still come."""
        if self.connection is not None and draw is not None:
            data = self._unread + self.connection.data_to_send()
            if data:
                self._take(self.client.receive(data[: draw.randrange(len(data))], self.engine.now_ns))
        self._unread = b""
        self._hang_up()
        self._take(self.client.disconnected("cut by the test", self.engine.now_ns))

    def pump(self) -> None:
        now_ns = self.engine.now_ns
        while True:
            due_ns = self.client.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self._take(self.client.on_timeout(now_ns))
            data = self.client.data_to_send()
            if data and self.connection is not None:
                self.connection.receive(data, now_ns)
            for server in self.servers:
                while server.has_work:
                    server.work(now_ns)
            moved = self._answer(now_ns)
            if self.connection is not None and self.connection.is_over and not self.is_slow:
                self.cut()
            if not data and not moved:
                return

    def _answer(self, now_ns: int) -> bool:
        """What the server sent comes, or waits where the client is slow."""
        if self.connection is None:
            return False
        due_ns = self.connection.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self.connection.on_timeout(now_ns)
        self._unread += self.connection.data_to_send()
        if self.is_slow or not self._unread:
            return False
        answer, self._unread = self._unread, b""
        self.connection.resume(now_ns)
        self._take(self.client.receive(answer, now_ns))
        return True

    def tick(self, commands: int) -> None:
        """Order flow up to just before a tick, then the tick."""
        engine = self.engine
        left = TICK - (engine.now_ns - engine.feed._start_ns) % TICK
        engine.trade(commands, left - 1)
        engine.pass_time(engine.now_ns + 1)
        self.pump()

    def trade(self) -> None:
        first = small_catalogue().listings[0]
        engine = self.engine
        command = CrossOrder(engine.now_ns, first.instrument.security_id, 1_000, first.closing, 3, 8)
        assert engine.submit(command).rejection is None

    @property
    def is_settled(self) -> bool:
        """The client is logged on and has all its snapshots."""
        return self.client.is_live and all(each.is_clean for each in self.handler.books())

    def check(self) -> int:
        """Every book equals the engine's; how many orders there are."""
        orders = 0
        for instrument in small_catalogue().instruments:
            book, truth = (
                self.handler.book(instrument.symbol),
                self.engine.source.book(instrument.security_id),
            )
            assert truth is not None
            assert book.status is BookStatus.CLEAN
            for side, ours in ((Side.BUY, truth.bids), (Side.SELL, truth.offers)):
                theirs = [(each.order_id, each.price, each.size) for each in book.orders(side)]
                assert theirs == [(each.order_id, each.price, each.size) for each in ours], instrument.symbol
                orders += len(theirs)
        return orders
