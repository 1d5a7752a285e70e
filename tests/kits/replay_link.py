"""A replay client and its servers in memory, on a clock of their own. A message is `number|text` in bytes."""

from collections.abc import Callable

from pregao.codecs.fix import load_builtin_dictionary
from pregao.sessions.fix import SessionDirectory, SessionRecord, SessionSettings, SessionState
from pregao.sessions.replay import (
    Archive,
    ReplayClient,
    ReplayClientSettings,
    ReplayConnectWanted,
    ReplayDisconnectWanted,
    Replayed,
    ReplayEvent,
    ReplayServer,
    ReplayServerSettings,
    SpanFailed,
)

MILLISECOND = 1_000_000
SECOND = 1000 * MILLISECOND
START = 1_794_916_800 * SECOND
DICTIONARY = load_builtin_dictionary()
TODAY = 739_936


def packed(number: int, channel: str = "5") -> bytes:
    return b"%d|channel %b, \x01 in the middle" % (number, channel.encode())


def number_of(data: bytes) -> int | None:
    number = data.partition(b"|")[0]
    return int(number) if number.isdigit() else None


def archive(
    numbers: range = range(1, 5001), channels: tuple[str, ...] = ("5", "6"), history_days: int = 1
) -> Archive:
    made = Archive()
    made.begin_day(TODAY, history_days)
    for channel in channels:
        for number in numbers:
            made.add(channel, number, packed(number, channel), START - SECOND)
    return made


class ReplayLink:
    """`tamper` may change what a server sends; `reachable` are the endpoints that take connections."""

    def __init__(
        self,
        store: Archive,
        server_settings: ReplayServerSettings | None = None,
        client_settings: ReplayClientSettings | None = None,
        *,
        comp_id: str = "CLIENT",
    ) -> None:
        self.store, self.server_settings = store, server_settings or ReplayServerSettings()
        self.now_ns = START
        self.reachable = {"A", "B"}
        self.tamper: Callable[[bytes], bytes] = lambda data: data
        self.bytes_at_once: int | None = None
        self.replayed: list[tuple[str, int]] = []
        self.failed: list[SpanFailed] = []
        self.endpoints: list[str] = []
        self.server: ReplayServer | None = None
        self.waiting = b""
        self.records = {name: SessionRecord("B3", "CLIENT") for name in "AB"}
        session = SessionSettings(comp_id, "B3")
        self.client = ReplayClient(client_settings or ReplayClientSettings(), session, DICTIONARY, number_of)

    def want(self, channel: str, begin: int, end: int) -> None:
        self.told(self.client.want(channel, begin, end, self.now_ns))

    def run(self, seconds: float, step_ns: int = 5 * MILLISECOND) -> None:
        end = self.now_ns + round(seconds * SECOND)
        while self.now_ns < end:
            self.exchange()
            self.now_ns += step_ns
            due = self.client.next_timeout()
            if due is not None and due <= self.now_ns:
                self.told(self.client.on_timeout(self.now_ns))
            if self.server is not None:
                self.server.session.on_timeout(self.now_ns)
        self.exchange()

    def exchange(self) -> None:
        for _ in range(20):
            if self.server is None:
                self.client.data_to_send()
                return
            data = self.client.data_to_send()
            if data:
                self.server.receive(data, self.now_ns)
            self.waiting += self.tamper(self.server.session.data_to_send())
            over = self.server.session.state is SessionState.CUT
            size = self.bytes_at_once or len(self.waiting)
            answer, self.waiting = self.waiting[:size], self.waiting[size:]
            if answer:
                self.told(self.client.receive(answer, self.now_ns))
            if over and self.server is not None and not self.waiting:
                self.hang_up()
            if not data and (not answer or self.bytes_at_once):
                return

    def told(self, events: list[ReplayEvent]) -> None:
        for event in events:
            if isinstance(event, Replayed):
                assert event.data == packed(event.number, event.channel)
                self.replayed.append((event.channel, event.number))
            elif isinstance(event, SpanFailed):
                self.failed.append(event)
            elif isinstance(event, ReplayConnectWanted):
                self.endpoints.append(event.endpoint)
                self.connect(event.endpoint)
            elif isinstance(event, ReplayDisconnectWanted):
                self.close()

    def connect(self, endpoint: str) -> None:
        if endpoint not in self.reachable:
            self.told(self.client.disconnected(self.now_ns))
            return
        directory = SessionDirectory()
        directory.add(self.records[endpoint])
        settings = SessionSettings(reset_on_logon=True)
        self.server = ReplayServer(self.server_settings, settings, DICTIONARY, directory, self.store)
        self.server.connect(self.now_ns)
        self.told(self.client.connected(self.now_ns))

    def close(self) -> None:
        if self.server is not None:
            self.server.session.disconnected(self.now_ns)
        self.server, self.waiting = None, b""

    def hang_up(self) -> None:
        self.close()
        self.told(self.client.disconnected(self.now_ns))
