"""PUMA Conflated in memory: an engine, the feed, a server and clients, on a clock that the test moves."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pregao.codecs.fix import Encoder, FixMessage, load_builtin_dictionary, parse_message
from pregao.codecs.fix.bodies import Body
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.engine import CommandOutcome
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.server.connection import ServerConnection
from pregao.feeds.conflated.server.server import ConflatedServer
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.bulletins import Bulletin, Refresh
from pregao.feeds.publishing import BookOrder
from pregao.feeds.serving import ServingSettings, SessionGrant
from pregao.model.events import Event, OrderUpdate, StateChanged, Update
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import Action, Side
from pregao.sessions.fix import FixSession, SessionSettings
from pregao.sessions.fix.events import Event as SessionEvent
from pregao.sessions.fix.events import MessageReceived
from pregao.simulator.live.schedule import DayKind, Schedule, trade_date_at
from pregao.simulator.venue import Venue, default_catalogue
from pregao.simulator.whole_market import WholeMarket, market_totals

MS = 1_000_000
SECOND = 1_000 * MS
START = 1_794_916_800 * SECOND  # Tuesday 2026-11-17, 12:00 UTC
DICTIONARY = load_builtin_dictionary()
PETR4 = Instrument(200_001, "PETR4", 84, "01", "PETR", SecurityType.PS, Product.EQUITY)


@dataclass
class StillBook:
    """Of one instrument, as a test says it is."""

    bids: list[BookOrder] = field(default_factory=list)
    offers: list[BookOrder] = field(default_factory=list)
    statistics: list[Update] = field(default_factory=list)
    state: StateChanged | None = None


@dataclass
class StillMarket:
    """A `BookSource` without an engine."""

    instruments_listed: list[Instrument] = field(default_factory=lambda: [PETR4])
    books: dict[int, StillBook] = field(default_factory=dict)

    def definitions(self) -> Sequence[Instrument]:
        return self.instruments_listed

    def phases(self) -> Sequence[Any]:
        return ()

    def instruments(self) -> Sequence[int]:
        return [each.security_id for each in self.instruments_listed]

    def book(self, security_id: int) -> StillBook:
        return self.books.setdefault(security_id, StillBook())


class Recorder:
    """An audience that keeps all bulletins."""

    def __init__(self, feed: ConflatedFeed) -> None:
        self.feed = feed
        self.told: list[tuple[int, Bulletin]] = []
        feed.audiences.append(self)

    def deliver(self, batch: Batch, now_ns: int) -> None:
        self.told += [(now_ns, bulletin) for bulletin in batch.bulletins]

    def refreshes(self, *, is_book: bool, by_level: bool = False) -> list[tuple[int, list[dict[int, Any]]]]:
        """Times and entries of each 35=X."""
        found = []
        for now_ns, bulletin in self.told:
            wanted = isinstance(bulletin, Refresh) and (bulletin.is_book, bulletin.by_level)
            if isinstance(bulletin, Refresh) and wanted == (is_book, by_level):
                body = self.feed.outbox.body(bulletin, tuple(bulletin.parts))
                found.append((now_ns, read_body(body).group(268)))
        return found


def read_body(body: Body) -> FixMessage:
    """As a client reads it."""
    header = {34: 1, 49: "B3", 52: START, 56: "CLIENT"}
    return parse_message(Encoder(DICTIONARY).frame(body, header), DICTIONARY)


def order(
    action: Action, side: Side, order_id: int, price: int | None, size: int, now_ns: int, **more: Any
) -> Event:
    """Of PETR4; prices in ten-thousandths."""
    update = OrderUpdate(PETR4.security_id, action, side, order_id, price, size, 1, now_ns, now_ns, **more)
    return Event((update,))


@cache
def small_catalogue() -> Catalogue:
    return default_catalogue(12)


class Engine:
    """A venue of a few instruments, open, whose events go to a feed."""

    def __init__(self, seed: int = 1, *, now_ns: int = START, **settings: Any) -> None:
        catalogue, date = small_catalogue(), trade_date_at(now_ns)
        self.now_ns = now_ns
        self.venue = Venue(catalogue, seed, date)
        self.source = WholeMarket(catalogue, self.venue.engine, self.venue.desk)
        self.source.now_ns = now_ns
        self.settings = ServingSettings(totals=market_totals(catalogue), **settings)
        self.feed = ConflatedFeed(self.source, self.settings, DICTIONARY, now_ns=now_ns)
        for command in Schedule(DayKind.OPEN, catalogue, date, seed).start(now_ns):
            self.submit(command)
        self.venue.flow.start_day()

    def submit(self, command: Any) -> CommandOutcome:
        outcome = self.venue.engine.submit(command)
        for event in outcome.events:
            for update in event.updates:
                self.source.observe(update)
            self.feed.publish(event, self.now_ns)
        return outcome

    def trade(self, commands: int, duration_ns: int) -> None:
        """The order flow of the simulation."""
        flow = self.venue.flow
        end_ns = self.now_ns + duration_ns
        for now_ns, command in flow.commands(self.now_ns, end_ns, commands):
            self.pass_time(now_ns)
            flow.answered(self.submit(command))
        self.pass_time(end_ns)

    def pass_time(self, now_ns: int) -> None:
        """Ticks that are due on the way happen at their time."""
        while (due_ns := self.feed.next_timeout()) is not None and due_ns <= now_ns:
            self.now_ns = self.source.now_ns = max(due_ns, self.now_ns)
            self.feed.advance(self.now_ns)
        self.now_ns = self.source.now_ns = now_ns

    def server(self, *grants: SessionGrant) -> ConflatedServer:
        return ConflatedServer(self.feed, self.settings, grants or [SessionGrant("CLIENT")])


class Client:
    """A FIX client that keeps what it gets. `pump` lets both sides and the server's queue come to rest."""

    def __init__(
        self, server: ConflatedServer, comp_id: str = "CLIENT", *, now_ns: int, address: str = "127.0.0.1"
    ) -> None:
        self.server, self.now_ns = server, now_ns
        self.session = FixSession.initiator(SessionSettings(comp_id, "B3", reset_on_logon=True), DICTIONARY)
        found = server.accept(address, now_ns)
        assert found is not None
        self.connection: ServerConnection = found
        self._inflater = zlib.decompressobj() if server.settings.compress else None
        self.plain = bytearray()  # all that the server sent
        self.messages: list[FixMessage] = []
        self.events: list[SessionEvent] = []
        self.session.connect(now_ns)
        self.pump()

    def pump(self, now_ns: int | None = None) -> None:
        self.now_ns = self.now_ns if now_ns is None else now_ns
        while True:
            data = self.session.data_to_send()
            if data and not self.connection.is_over:
                self.connection.receive(data, self.now_ns)
            while self.server.has_work:
                self.server.work(self.now_ns)
            answer = self.connection.data_to_send()
            if answer:
                self._hear(answer)
            if not data and not answer:
                return

    def _hear(self, answer: bytes) -> None:
        plain = answer if self._inflater is None else self._inflater.decompress(answer)
        self.plain += plain
        events = self.session.receive(plain, self.now_ns)
        self.events += events
        self.messages += [each.message for each in events if isinstance(each, MessageReceived)]

    def ask(self, msg_type: bytes, fields: dict[int, Any]) -> list[FixMessage]:
        """What came after the request."""
        before = len(self.messages)
        self.session.send(msg_type, fields, self.now_ns)
        self.pump()
        return self.messages[before:]

    def take(self) -> list[FixMessage]:
        self.pump()
        taken, self.messages = self.messages, []
        return taken

    def take_into(self, books: "dict[int, ClientBook]") -> None:
        """Entries of 35=X since the last time, to the books they are of."""
        for message in self.take():
            if message.msg_type == b"X":
                for entry in message.group(268):
                    books[int(entry[48])].apply(entry)  # type: ignore[arg-type]

    def subscribe(self, request_id: str, *security_ids: int, **more: Any) -> list[FixMessage]:
        instruments = [{48: str(each), 22: "8", 207: "BVMF"} for each in security_ids]
        fields: dict[int, Any] = {262: request_id, 263: "1", 1021: 3} | (
            {146: instruments} if instruments else {}
        )
        return self.ask(b"V", fields | more.get("fields", {}))


class ClientBook:
    """The book of one instrument and MDStreamID as a client has it: 35=W, then 35=X."""

    def __init__(self, stream: bytes = b"E") -> None:
        self._stream = stream
        self.orders: dict[tuple[bytes, bytes], tuple[bytes | None, int]] = {}  # side and OrderID

    def snapshot(self, message: FixMessage) -> None:
        self.orders.clear()
        for entry in message.group(268):
            if entry[269] in (b"0", b"1") and entry.get(1500, b"E") == self._stream:
                self._set(entry)

    def apply(self, entry: dict[int, Any]) -> None:
        kind, action = entry[269], entry[279]
        if kind == b"J":
            self.orders.clear()
        elif kind in (b"0", b"1") and entry.get(1500, b"E") == self._stream:
            if action == b"3":
                self.orders = {key: value for key, value in self.orders.items() if key[0] != kind}
            elif action == b"2":
                price, _ = self.orders.pop((kind, entry[37]))
                assert price == entry.get(270)
            elif action == b"1":
                price, size = self.orders[kind, entry[37]]
                assert (price, size) == (entry.get(270), int(entry[37780]))
                self._set(entry)
            else:
                assert (kind, entry[37]) not in self.orders
                self._set(entry)

    def _set(self, entry: dict[int, Any]) -> None:
        self.orders[entry[269], entry[37]] = entry.get(270), int(entry[271])
