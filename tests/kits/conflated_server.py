"""A small scripted server of PUMA Conflated for tests of the client: a real session machine on its side,
answers as a test sets them. The exchange's own server is another program: `feeds.conflated.publisher`."""

from collections.abc import Callable
from typing import Any

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.compression import StreamDeflater
from pregao.sessions.fix import FixSession, SessionDirectory, SessionRecord, SessionSettings
from pregao.sessions.fix import events as fix
from tests.kits.conflated_wire import DEFINITION, DICTIONARY, INSTRUMENT, WHEN

NOW = 1_795_006_800_000_000_000
SECOND = 1_000_000_000
SYMBOLS = {"PETR4": 900_001, "VALE3": 900_002, "ITUB4": 900_003}


def instrument(security_id: int) -> dict[int, Any]:
    return {**INSTRUMENT, 48: str(security_id)}


def definition(symbol: str, security_id: int, **more: Any) -> dict[int, Any]:
    entry = {**DEFINITION, 55: symbol, 48: str(security_id), 980: "M"}
    return entry | {int(tag[1:]): value for tag, value in more.items()}


class ScriptedServer:
    """One connection. `books` are the entries of each instrument's snapshot, `trades` the numbers of trades
    that its history has. `handlers` may replace what is done with a type of message."""

    def __init__(self, *, compress: bool = True, directory: SessionDirectory | None = None) -> None:
        self.directory = directory or SessionDirectory()
        if directory is None:
            self.directory.add(SessionRecord("B3MD", "SCREENS1"))
        self.session = FixSession.acceptor(SessionSettings(), DICTIONARY, self.directory)
        self._deflater = StreamDeflater() if compress else None
        self.books: dict[int, list[dict[int, Any]]] = {each: [] for each in SYMBOLS.values()}
        self.trades: dict[int, list[int]] = {}
        self.handlers: dict[bytes, Callable[[FixMessage], bool]] = {}
        self.received: list[FixMessage] = []
        self.events: list[fix.Event] = []
        self.now_ns = NOW
        self.most_entries = 1_000
        self.refuse_history = b""

    def connect(self) -> None:
        self.session.connect(self.now_ns)

    def receive(self, data: bytes) -> None:
        for event in self.session.receive(data, self.now_ns):
            self.events.append(event)
            if isinstance(event, fix.MessageReceived):
                self.received.append(event.message)
                own = self.handlers.get(event.message.msg_type)
                if own is None or not own(event.message):
                    self._answer(event.message)

    def data_to_send(self) -> bytes:
        parts = self.session.messages_to_send()
        if self._deflater is None:
            return b"".join(each.join() for each in parts)
        return self._deflater.write(parts) if parts else b""

    def send(self, msg_type: bytes, body: dict[int, Any]) -> None:
        if self.session.core.is_live:  # or the client has gone meanwhile
            self.session.send(msg_type, body, self.now_ns)

    def update(self, security_id: int, *entries: dict[int, Any]) -> None:
        told = [{279: b"0", **instrument(security_id), **WHEN, **entry} for entry in entries]
        self.send(b"X", {268: told})

    def asked(self, msg_type: bytes) -> list[FixMessage]:
        return [each for each in self.received if each.msg_type == msg_type]

    # Answers

    def _answer(self, message: FixMessage) -> None:
        match message.msg_type:
            case b"x":
                self._list(message)
            case b"V" if message.get(263) == b"1":
                self._snapshots(message)
            case b"UTHQ":
                self._history(message)
            case b"UTOTQ":
                self.send(b"UTOTP", {262: message.text(262)})
            case _:
                pass

    def _list(self, message: FixMessage) -> None:
        entries = [definition(symbol, number) for symbol, number in SYMBOLS.items()]
        head = {320: message.text(320), 322: "1", 560: 0, 393: len(entries)}
        self.send(b"y", {**head, 146: entries[:2]})
        self.send(b"y", {**head, 893: "Y", 146: entries[2:]})

    def _snapshots(self, message: FixMessage) -> None:
        wanted = [int(each[48]) for each in message.group(146)] or list(self.books)
        for place, security_id in enumerate(wanted, 1):
            entries = [{**WHEN, **entry} for entry in self.books.get(security_id, [])]
            if self.trades.get(security_id):
                entries.append(
                    {**WHEN, 269: b"2", 270: b"10", 271: 5, 1003: str(max(self.trades[security_id]))}
                )
            last = {893: "Y"} if place == len(wanted) else {}
            body = {262: message.text(262), 911: len(wanted), **instrument(security_id), 268: entries}
            self.send(b"W", {**body, **last})

    def _history(self, message: FixMessage) -> None:
        if self.refuse_history:
            self.send(b"UTHP", {281: self.refuse_history, 262: message.text(262), 893: "Y", 268: []})
            return
        left, wanted = self.most_entries, message.group(146)
        for place, each in enumerate(wanted, 1):
            security_id, first, last = int(each[48]), int(each[7174]), int(each[7175])
            assert last - first <= 10_000
            numbers = [n for n in sorted(self.trades.get(security_id, [])) if first <= n <= last][:left]
            left -= len(numbers)
            entries = [{**WHEN, 269: b"2", 270: b"10", 271: 5, 1003: str(n)} for n in numbers]
            end = {893: "Y"} if place == len(wanted) else {}
            self.send(b"UTHP", {262: message.text(262), **instrument(security_id), 268: entries, **end})
