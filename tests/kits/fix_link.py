"""Two FIX sessions against each other in memory: a link that loses, cuts and repeats, a clock that jumps.

Each message that goes over the link may be lost, may come twice, or may be the last of its connection, of
which some bytes still arrive. A new connection is made after a cut. What must hold in the end: each side has
received what the other has sent, all of it, once, in order.
"""

import random
from dataclasses import dataclass, field

from pregao.codecs.fix import Framed, Framer, load_builtin_dictionary
from pregao.sessions.fix import (
    B3,
    FixSession,
    LocalProtocolError,
    MessageStore,
    Rules,
    SessionDirectory,
    SessionRecord,
    SessionSettings,
    SessionState,
)
from pregao.sessions.fix.events import ConnectionCut, Event, MessageReceived

SECOND = 1_000_000_000
START = 1_794_916_800 * SECOND
DICTIONARY = load_builtin_dictionary()


@dataclass
class Trouble:
    """Chances of each kind, of a message; of a jump, in every step."""

    lost: float = 0.0
    repeated: float = 0.0
    cut: float = 0.0
    jump: float = 0.0


@dataclass
class Side:
    record: SessionRecord
    session: FixSession | None = None
    framer: Framer = field(default_factory=Framer)
    sent: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)


class Link:
    def __init__(
        self, seed: int, trouble: Trouble, rules: Rules = B3, *, next_expected: bool = False
    ) -> None:
        self.random = random.Random(seed)
        self.trouble = trouble
        self.now_ns = START
        # An hour that the clock jumps must not make messages too old to be sent again.
        self.client = Side(SessionRecord("CLIENT", "B3", store=MessageStore(max_age_ns=10**18)))
        self.server = Side(SessionRecord("B3", "CLIENT", store=MessageStore(max_age_ns=10**18)))
        self.directory = SessionDirectory()
        self.directory.add(self.server.record)
        self.settings = SessionSettings("CLIENT", "B3", rules=rules, use_next_expected=next_expected)
        self.connections = 0

    def run(self, messages: int) -> None:
        """Send so many messages each way, then let the link be good until both sides rest."""
        for number in range(messages):
            self.step()
            for side in (self.client, self.server):
                self.say(side, f"{number}")
        self.trouble = Trouble()
        for _ in range(60):
            self.step()

    def step(self) -> None:
        if self.random.random() < self.trouble.jump:
            self.now_ns += self.random.choice([-3600, -40, 40, 3600]) * SECOND
        self.now_ns += self.random.randrange(5 * SECOND)
        if self.client.session is None:
            self.connect()
        for side in (self.client, self.server):
            if side.session is not None:  # due or not: a clock that is set back makes all times late
                self.told(side, side.session.on_timeout(self.now_ns))
        for _ in range(50):
            moved = self.carry(self.client, self.server)
            if not self.carry(self.server, self.client) and not moved:
                break

    def connect(self) -> None:
        self.connections += 1
        self.client.session = FixSession.initiator(self.settings, DICTIONARY, self.client.record)
        settings = SessionSettings(rules=self.settings.rules)
        self.server.session = FixSession.acceptor(settings, DICTIONARY, self.directory)
        for side in (self.client, self.server):
            assert side.session is not None
            side.framer = Framer()
            side.session.connect(self.now_ns)

    def say(self, side: Side, text: str) -> None:
        """An application sends when it can; what it sent while it could is what must arrive."""
        if side.session is not None:
            try:
                side.session.send(b"UTOTP", {262: text}, self.now_ns)
            except LocalProtocolError:
                return
            side.sent.append(text)

    def carry(self, source: Side, target: Side) -> bool:
        if source.session is None:
            return False
        data = source.session.data_to_send()
        over = source.session.state is SessionState.CUT
        for item in source.framer.feed(data):
            assert isinstance(item, Framed), item
            if target.session is None:
                return True
            dice = self.random.random()
            if dice < self.trouble.cut:
                self.deliver(target, item.data[: self.random.randrange(len(item.data))])
                self.hang_up()
                return True
            if self.random.random() >= self.trouble.lost:
                self.deliver(target, item.data)
                if self.random.random() < self.trouble.repeated and b"\x0143=Y\x01" in item.data:
                    self.deliver(target, item.data)
        if over:
            self.hang_up()
        return bool(data)

    def deliver(self, target: Side, data: bytes) -> None:
        """In pieces: no machine may care how bytes are cut."""
        at = 0
        while at < len(data) and target.session is not None:
            size = self.random.choice([1, 7, 50, len(data)])
            self.told(target, target.session.receive(data[at : at + size], self.now_ns))
            at += size

    def told(self, side: Side, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, MessageReceived):
                side.received.append(event.message.text(262))
            elif isinstance(event, ConnectionCut) and side.session is not None:
                assert side.session.state is SessionState.CUT

    def hang_up(self) -> None:
        for side in (self.client, self.server):
            if side.session is not None:
                side.session.data_to_send()
                self.told(side, side.session.disconnected(self.now_ns))
                side.session = None
