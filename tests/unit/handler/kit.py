"""What the handler's tests share: an exchange's channel made by hand, and a handler that hears it."""

from collections.abc import Iterable
from typing import Any

from pregao.feeds.binary.publisher import ChannelPublisher, Habits, LoopPace, OutgoingPacket, Paces
from pregao.feeds.binary.system import BINARY
from pregao.handler.handler import ChannelHandler
from pregao.model import events as e
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction
from pregao.recovery.events import Event
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import ChannelSettings
from tests.unit.feeds.binary.publisher.desk import (
    MS,
    NOW,
    SECOND,
    A,
    B,
    Book,
    Market,
    instrument,
    order,
    publisher,
)

FAST = Paces(LoopPace(MS, 100 * MS), LoopPace(MS, 100 * MS))


class Channel:
    """Instruments A and B, a publisher, a handler. `hear` has everything delivered on A and on B."""

    def __init__(
        self,
        version: int = 16,
        settings: ChannelSettings | None = None,
        *,
        hear: bool = True,
        habits: Habits | None = None,
        **handler: Any,
    ) -> None:
        self.market = Market([instrument(A), instrument(B)], {A: Book(), B: Book()})
        self.publisher: ChannelPublisher = publisher(
            self.market, version, paces=FAST, habits=habits or Habits()
        )
        self.handler = ChannelHandler(84, BINARY, settings, **handler)
        self.now_ns, self.events = NOW, list[Event]()
        self.publisher.start_week(NOW)
        if hear:
            self.pass_time(2 * SECOND)
        else:
            self.publisher.take()

    def deliver(self, packets: Iterable[OutgoingPacket]) -> None:
        for packet in packets:
            for feed in packet.feeds:
                self.events += self.handler.receive(packet.payload, packet.stream, feed, self.now_ns)

    def pass_time(self, span_ns: int) -> None:
        """Loops and heartbeats, as they are due."""
        end_ns = self.now_ns + span_ns
        while (due_ns := self.publisher.next_timeout()) <= end_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.publisher.on_timeout(self.now_ns)
            self.deliver(self.publisher.take())
        self.now_ns = end_ns

    def packets(self, *updates: e.Update) -> list[OutgoingPacket]:
        """Of one event; not yet delivered."""
        self.now_ns += MS
        self.publisher.publish(e.Event(updates), self.now_ns)
        self.publisher.flush(self.now_ns)
        return self.publisher.take()

    def say(self, *updates: e.Update) -> None:
        self.deliver(self.packets(*updates))

    def define(self, which: Instrument, action: DefinitionAction) -> None:
        self.say(e.Definition(which, action))

    def known(self, security_id: int = A) -> tuple[BookStatus, BookStatus]:
        return self.handler.known(self.handler.book(security_id).index)

    def ids(self, security_id: int = A) -> list[int]:
        """Orders to buy, best first."""
        return [each.order_id for each in self.handler.book(security_id).orders(order().side)]


CLEAN = BookStatus.CLEAN, BookStatus.CLEAN
