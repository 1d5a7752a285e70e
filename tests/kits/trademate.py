"""Trademate in memory: a market of bonds, its feed, a server and clients, on a clock that the test moves."""

from collections.abc import Iterable
from typing import Any

from pregao.codecs.fix import FixMessage, load_builtin_dictionary
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.market import BondMarket, BondOutcome
from pregao.feeds.serving import ServingSettings, SessionGrant
from pregao.feeds.trademate.reader import TrademateReader
from pregao.feeds.trademate.served import ServedBonds
from pregao.feeds.trademate.server import TrademateConnection, TrademateServer
from pregao.model.events import Event
from pregao.model.fixed_income import Bond
from pregao.model.rows import Rows
from pregao.sessions.fix import FixSession, SessionSettings
from pregao.sessions.fix.events import Event as SessionEvent
from pregao.sessions.fix.events import MessageReceived
from pregao.sessions.fix.passwords import Cost, PasswordBook, hash_password
from tests.kits.bonds import CATALOGUE, FIXINGS, NOW

TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
MS = 1_000_000
SECOND = 1_000 * MS
DELAY = 20 * MS
SECRET = "open sesame 42"
CHEAP = Cost(16, 1, 1)
PASSWORDS = PasswordBook({
    user: hash_password(SECRET.encode(), b"salt of tests", CHEAP) for user in ("desk", "other")
})  # fmt: skip
LOGON = {553: b"desk", 554: SECRET.encode()}


def served_settings(**more: Any) -> ServingSettings:
    return ServingSettings(**{"compress": False, "conflate": False, "passwords": PASSWORDS} | more)


class BondsOf:
    """A `BondSource`."""

    def __init__(self, market: BondMarket) -> None:
        self._market = market
        self.trade_date = market.floor.trade_date

    def bonds(self) -> Iterable[Bond]:
        return [listed.bond for listed in self._market.floor.listed.values()]


class Floor:
    """A market of all bonds of the catalogue, whose events go to a feed."""

    def __init__(self, *, now_ns: int = NOW, market: BondMarket | None = None, **settings: Any) -> None:
        self.now_ns, self.market = now_ns, market or BondMarket(CATALOGUE, FIXINGS)
        self.settings = served_settings(**settings)
        self.feed = ServedBonds(BondsOf(self.market), self.settings, TRADEMATE, now_ns=now_ns)

    def open_day(self) -> None:
        self.publish(self.market.open_day(self.now_ns))

    def submit(self, command: c.BondCommand) -> BondOutcome:
        outcome = self.market.submit(command)
        assert outcome.rejection is None, outcome.rejection
        self.publish(outcome.events)
        return outcome

    def publish(self, events: Iterable[Event]) -> None:
        for event in events:
            self.feed.publish(event, self.now_ns)

    def pass_time(self, now_ns: int) -> None:
        """What is due on the way happens at its time."""
        while (due_ns := self.feed.next_timeout()) is not None and due_ns <= now_ns:
            self.now_ns = max(due_ns, self.now_ns)
            self.feed.advance(self.now_ns)
        self.now_ns = now_ns

    def server(self, *grants: SessionGrant) -> TrademateServer:
        return TrademateServer(self.feed, self.settings, grants or [SessionGrant("CLIENT")])


class Client:
    """A FIX client that keeps what it gets. `pump` lets both sides and the server's queue come to rest."""

    def __init__(
        self, server: TrademateServer, comp_id: str = "CLIENT", *, now_ns: int, address: str = "127.0.0.1",
        logon: dict[int, bytes] | None = None,
    ) -> None:  # fmt: skip
        self.server, self.now_ns = server, now_ns
        fields = LOGON if logon is None else logon
        settings = SessionSettings(comp_id, "B3", reset_on_logon=True, logon_fields=fields)
        self.session = FixSession.initiator(settings, TRADEMATE)
        found = server.accept(address, now_ns)
        assert found is not None
        self.connection: TrademateConnection = found
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
                self.plain += answer
                events = self.session.receive(answer, self.now_ns)
                self.events += events
                self.messages += [each.message for each in events if isinstance(each, MessageReceived)]
            if not data and not answer:
                return

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


def read_one(reader: TrademateReader, text: bytes) -> tuple[Rows, list[Any]]:
    """Rows and faults of one message."""
    reading = reader.read_unit(text)
    return reading.rows, reading.faults
