"""Our server of Trademate and our client in memory, with whatever may happen between them: connections cut in
the middle of a message, readers that are slow, passwords that are wrong."""

from random import Random
from typing import Any

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.day import BondDay
from pregao.feeds.serving import SessionGrant
from pregao.feeds.session_port import (
    ConnectWanted,
    DisconnectWanted,
    SessionBegun,
    SessionEvent,
    SessionLost,
    SessionMessage,
)
from pregao.feeds.trademate.server import TrademateConnection
from pregao.feeds.trademate.system import TRADEMATE, Trademate
from pregao.handler.session import SessionHandler
from pregao.model.market import Side
from pregao.recovery.instruments import BookStatus
from tests.kits.bonds import CATALOGUE, DAY
from tests.kits.trademate import SECRET, Floor

SETTINGS: dict[str, Any] = {
    "sender": "CLIENT", "target": "B3", "primary": "127.0.0.1:1", "retry_s": 1, "user": "desk",
    "password": SECRET,
}  # fmt: skip


class BothEnds:
    """A day of bonds, a server, and one client with its books."""

    def __init__(
        self, seed: int, *, orders: int = 400, settings: Any = None, system: Trademate = TRADEMATE,
        rate_order: RateOrder = RateOrder.MARKET, **serving: Any,
    ) -> None:  # fmt: skip
        self.day = BondDay(CATALOGUE, DAY, seed=seed, orders=orders, rate_order=rate_order)
        self.steps = self.day.run()
        now_ns, events = next(self.steps)
        self.floor = Floor(now_ns=now_ns, market=self.day.market, **serving)
        self.server = self.floor.server(SessionGrant("CLIENT"))
        self.client = system.client(SETTINGS | (settings or {}), "", ())
        self.handler = SessionHandler(0, system)
        self.connection: TrademateConnection | None = None
        self.is_slow = False  # the client reads nothing
        self.findings: list[Any] = []
        self.began = self.lost = 0
        self._unread = b""
        self.floor.publish(events)
        self._take(self.client.start(now_ns))
        self.pump()

    def _take(self, events: list[SessionEvent]) -> None:
        now_ns = self.floor.now_ns
        messages: list[SessionMessage] = []
        for event in events:
            if isinstance(event, SessionMessage):
                messages.append(event)
                continue
            self._hear(messages, now_ns)
            messages = []
            self.handler.on_session(event, now_ns)
            self.began += isinstance(event, SessionBegun)
            self.lost += isinstance(event, SessionLost)
            if isinstance(event, ConnectWanted):
                self._unread = b""
                self.connection = self.server.accept("127.0.0.1", now_ns)
                if self.connection is None:
                    self._take(self.client.disconnected("refused", now_ns))
                    continue
                self.connection.unread = lambda: len(self._unread)
                self._take(self.client.connected(now_ns))
            elif isinstance(event, DisconnectWanted):
                self._hang_up()
        self._hear(messages, now_ns)

    def _hear(self, messages: list[SessionMessage], now_ns: int) -> None:
        self.findings += [
            each for each in self.handler.take(messages, now_ns) if type(each).__name__ == "PacketDamaged"
        ]
        for security_id in self.handler.machine.take_suspects():
            self._take(self.client.refresh(security_id, now_ns))

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.disconnected(self.floor.now_ns)
            self.connection = None

    def cut(self, draw: Random | None = None) -> None:
        """The connection breaks; of what was on its way some bytes still come."""
        if self.connection is not None and draw is not None:
            data = self._unread + self.connection.data_to_send()
            if data:
                self._take(self.client.receive(data[: draw.randrange(len(data))], self.floor.now_ns))
        self._unread = b""
        self._hang_up()
        self._take(self.client.disconnected("cut by the test", self.floor.now_ns))

    def pump(self) -> None:
        now_ns = self.floor.now_ns
        while True:
            due_ns = self.client.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self._take(self.client.on_timeout(now_ns))
            data = self.client.data_to_send()
            if data and self.connection is not None:
                self.connection.receive(data, now_ns)
            while self.server.has_work:
                self.server.work(now_ns)
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

    def step(self) -> bool:
        """The next thing of the day, told; False: the day is over."""
        found = next(self.steps, None)
        if found is None:
            return False
        now_ns, events = found
        while (due_ns := self._due()) is not None and due_ns < now_ns:
            self.floor.pass_time(max(due_ns, self.floor.now_ns))
            self.pump()
        self.floor.pass_time(now_ns)
        self.floor.publish(events)
        self.floor.feed.flush(now_ns)  # so that books can be compared after every message
        self.pump()
        return True

    def _due(self) -> int | None:
        connection = self.connection
        times = [
            self.floor.feed.next_timeout(), self.client.next_timeout(),
            None if connection is None else connection.next_timeout(),
        ]  # fmt: skip
        return min((each for each in times if each is not None), default=None)

    @property
    def is_settled(self) -> bool:
        return self.client.is_live and all(each.is_clean for each in self.handler.books())

    def check(self, *, levels_too: bool = True) -> int:
        """Every book equals the engine's; how many orders there are."""
        orders = 0
        for bond in CATALOGUE:
            number = bond.instrument.security_id
            book, truth = self.handler.book(number), self.day.market.floor.listed[number].book
            assert book.status is BookStatus.CLEAN
            for side in Side:
                theirs = [(each.order_id, each.price, each.size) for each in book.orders(side)]
                ours = [(each.order_id, each.price, each.size) for each in truth.sides[side].orders]
                assert theirs == ours, bond.instrument.symbol
                # Levels come in the order of what ranks first, also where that is the lowest rate.
                orders += len(ours)
                if not levels_too:
                    continue
                levels = [each.price for each in (book.bids if side is Side.BUY else book.offers)]
                assert levels == list(dict.fromkeys(price for _, price, _ in ours)), bond.instrument.symbol
        return orders
