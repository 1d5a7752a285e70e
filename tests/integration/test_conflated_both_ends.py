"""Our server of PUMA Conflated and our client, in memory: the client's books are the engine's at every tick,
through cuts and failovers."""

from random import Random
from typing import Any

import pytest

from pregao.exchange import control
from pregao.exchange.commands import CancelSide, CrossOrder
from pregao.feeds.conflated.server.connection import ServerConnection
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.port import SessionMessage
from pregao.feeds.serving import SessionGrant
from pregao.feeds.session_port import (
    ConnectWanted,
    DisconnectWanted,
    RequestRefused,
    SessionBegun,
    SessionEvent,
)
from pregao.handler.session import SessionHandler
from pregao.model.market import Side
from pregao.recovery.instruments import BookStatus
from tests.kits.conflated import MS, SECOND, Engine, small_catalogue

TICK = 380 * MS
SETTINGS = {
    "sender": "CLIENT", "target": "B3", "primary": "127.0.0.1:1", "standbys": ["127.0.0.1:2"], "retry_s": 1,
}  # fmt: skip


class BothEnds:
    """An engine with two servers, and one client with its books."""

    def __init__(self, seed: int) -> None:
        self.engine = Engine(seed)
        self.servers = [self.engine.server(SessionGrant("CLIENT")) for _ in range(2)]
        self.client = CONFLATED.client(SETTINGS, "", ())
        self.handler = SessionHandler(0, CONFLATED)
        self.connection: ServerConnection | None = None
        self.refused: list[RequestRefused] = []
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
                server = self.servers[event.endpoint.port - 1]
                self.connection = server.accept("127.0.0.1", now_ns)
                assert self.connection is not None
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

    def cut(self) -> None:
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
            answer = b"" if self.connection is None else self.connection.data_to_send()
            if answer:
                self._take(self.client.receive(answer, now_ns))
            if self.connection is not None and self.connection.is_over:
                self.cut()
            if not data and not answer:
                return

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


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_clients_books_are_the_engines_at_every_tick(seed: int) -> None:
    ends = BothEnds(seed)
    draw, ids = Random(seed), [each.security_id for each in small_catalogue().instruments]
    ends.tick(0)
    most = 0
    for place in range(25):
        if place == 8:
            ends.engine.submit(CancelSide(ends.engine.now_ns, draw.choice(ids), Side.SELL))
        if place == 12:
            ends.engine.submit(control.StartAuction(ends.engine.now_ns, draw.choice(ids)))
        if place == 16:
            ends.engine.feed.reset_book(draw.choice(ids), ends.engine.now_ns)
            ends.tick(10)
            ends.tick(0)
            ends.tick(0)
        ends.tick(40)
        most = max(most, ends.check())
    assert most > 50
    assert ends.refused == []
    status = ends.client.status()
    assert (status.counters["rejects"], status.counters["garbled"], status.counters["gaps"]) == (0, 0, 0)
    assert status.unknown_tags == {}


def test_a_cut_makes_books_stale_until_their_snapshot() -> None:
    """Trades that were missed come by 35=UTHQ."""
    ends = BothEnds(5)
    for _ in range(5):
        ends.tick(40)
    ends.trade()
    ends.tick(0)
    ends.check()
    ends.cut()
    assert {book.status for book in ends.handler.books()} == {BookStatus.STALE}
    for _ in range(3):
        ends.trade()
    ends.tick(60)
    ends.engine.pass_time(ends.engine.now_ns + 2 * SECOND)
    ends.pump()
    ends.tick(0)
    assert ends.check() > 20
    assert ends.served_by == ["primary", "primary"]
    counters = ends.client.status().counters
    assert counters["history_requests"] > 0
    assert counters["history_entries"] >= 3
    assert ends.refused == []
