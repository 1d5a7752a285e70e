"""Sessions of a served system on a simulated clock: a primary server and a standby, and clients that ask for
everything. What passes between them is kept as journals, one a session and day (`captures.journal`)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao.captures.journal import JournalWriter
from pregao.captures.recorder import RecordSettings
from pregao.feeds.publishing import BookSource
from pregao.feeds.registry import load_serving_system, load_session_system
from pregao.feeds.serving import BondSource, ServedConnection, ServingSettings, SessionGrant, SessionLimits
from pregao.feeds.session_port import (
    AskingClient,
    ClientSystem,
    ConnectWanted,
    DisconnectWanted,
    SessionClient,
)
from pregao.model.errors import ConfigurationError
from pregao.model.events import Event

_WHOLE_DAY_NS: Final = 86_400 * 1_000_000_000
_PORT: Final = 9_700
_HOST: Final = "198.51.100.7"  # of the documentation ranges, as are clients
_SERVERS: Final = 2  # the primary's port, and the next
_FIRST_CLIENT_PORT: Final = 50_000
MOST_SESSIONS: Final = 200


class AskedRequest(NamedTuple):
    """A message of a user, without its header."""

    msg_type: bytes
    fields: dict[int, Any]


class _Member:
    """A client, its connection and its journal."""

    def __init__(self, number: int, client: SessionClient) -> None:
        self.name, self.client = f"SESSION{number}", client
        self.address = f"198.51.100.{10 + number}"
        self.connection: ServedConnection | None = None
        self.connections = 0
        self.journal: JournalWriter | None = None


class ServedSessions:
    """`logon` are settings of all clients: user and password, where a system has them. `set_time` is called
    before anything is due."""

    def __init__(
        self, system: str, sessions: int, settings: ServingSettings,
        set_time: Callable[[int], None] = lambda _: None, logon: Mapping[str, Any] | None = None,
        limits: SessionLimits | None = None,
    ) -> None:  # fmt: skip
        if not 1 <= sessions <= MOST_SESSIONS:
            raise ConfigurationError(f"must be from 1 to {MOST_SESSIONS}, not {sessions}", key="sessions")
        self.system, self._sessions, self.settings = system, sessions, settings
        self._set_time, self._logon = set_time, dict(logon or {})
        self._limits = limits or SessionLimits()
        self._members: list[_Member] = []
        self._stopped_until_ns = 0  # the primary lets nobody in
        self.is_open = False

    def open_day(self, source: BookSource | BondSource, trade_date: int, folder: Path, now_ns: int) -> None:
        """Clients log on and ask; the server has the market as it is now."""
        self._set_time(now_ns)
        serving = load_serving_system(self.system)
        self._members = [self._member(number, folder) for number in range(1, self._sessions + 1)]
        grants = [SessionGrant(each.name, (each.address,), limits=self._limits) for each in self._members]
        settings = replace(self.settings, most_of_address=max(self._sessions, 100))
        self.feed = serving.feed(source, settings, now_ns=now_ns)
        self._servers = [serving.server(self.feed, settings, grants) for _ in range(_SERVERS)]
        for server in self._servers:
            server.begin_day(trade_date)
        self.is_open = True
        for member in self._members:
            self._heed(member, member.client.start(now_ns), now_ns)
        self._pump(now_ns)

    def _member(self, number: int, folder: Path) -> _Member:
        system = load_session_system(self.system)
        assert isinstance(system, ClientSystem)
        session_settings: Mapping[str, Any] = {
            "sender": f"SESSION{number}", "target": "B3", "primary": f"{_HOST}:{_PORT}",
            "standbys": [f"{_HOST}:{_PORT + place}" for place in range(1, _SERVERS)], **self._logon,
        }  # fmt: skip
        member = _Member(number, system.client(session_settings, "", ()))
        member.journal = JournalWriter(member.name, RecordSettings(folder, rotate_ns=_WHOLE_DAY_NS))
        return member

    def publish(self, event: Event, now_ns: int) -> None:
        self.feed.publish(event, now_ns)

    def advance(self, now_ns: int) -> None:
        """Ticks, heartbeats and whatever else is due by now, each at its time."""
        while (due_ns := self._next_timeout()) is not None and due_ns <= now_ns:
            self._set_time(due_ns)
            self.feed.advance(due_ns)
            for member in self._members:
                client_ns = member.client.next_timeout()
                if client_ns is not None and client_ns <= due_ns:
                    self._heed(member, member.client.on_timeout(due_ns), due_ns)
                if member.connection is not None:
                    server_ns = member.connection.next_timeout()
                    if server_ns is not None and server_ns <= due_ns:
                        member.connection.on_timeout(due_ns)
            self._pump(due_ns)

    def _next_timeout(self) -> int | None:
        times = [self.feed.next_timeout()]
        for member in self._members:
            times.append(member.client.next_timeout())
            if member.connection is not None:
                times.append(member.connection.next_timeout())
        return min((time for time in times if time is not None), default=None)

    def _pump(self, now_ns: int) -> None:
        """Both sides speak until neither has anything to say."""
        self._work(now_ns)
        speaking = True
        while speaking:
            speaking = False
            for member in self._members:
                speaking |= self._exchange(member, now_ns)
            self._work(now_ns)

    def _work(self, now_ns: int) -> None:
        for server in self._servers:
            while server.has_work:
                server.work(now_ns)

    def _exchange(self, member: _Member, now_ns: int) -> bool:
        connection = member.connection
        if connection is None or member.journal is None:
            return False
        request = member.client.data_to_send()
        if request:
            member.journal.sent(request, now_ns)
            connection.receive(request, now_ns)
        answer = connection.data_to_send()
        if answer:
            member.journal.received(answer, now_ns)
            self._heed(member, member.client.receive(answer, now_ns), now_ns)
        if connection.is_over and member.connection is connection:
            self._hang_up(member, "ended by the server", now_ns)
        return bool(request or answer)

    def _hang_up(self, member: _Member, reason: str, now_ns: int) -> None:
        if member.connection is None or member.journal is None:
            return
        member.connection.disconnected(now_ns)
        member.connection = None
        member.journal.closed(now_ns)
        self._heed(member, member.client.disconnected(reason, now_ns), now_ns)

    def ask(self, requests: Iterable[AskedRequest], now_ns: int) -> None:
        """Requests of the first session, beside those of its client, at once."""
        member = self._members[0]
        assert isinstance(member.client, AskingClient)
        for request in requests:
            self._heed(member, member.client.ask(request.msg_type, request.fields, now_ns), now_ns)
        self._pump(now_ns)

    # What goes wrong

    def cut(self, now_ns: int, part: float) -> None:
        """All connections break; of what was on its way only a part comes."""
        self.feed.advance(now_ns)
        self._work(now_ns)
        for member in self._members:
            if member.connection is None or member.journal is None:
                continue
            data = member.connection.data_to_send()
            arrived = data[: int(part * len(data))]
            member.journal.received(arrived, now_ns)
            self._heed(member, member.client.receive(arrived, now_ns), now_ns)
            self._hang_up(member, "cut", now_ns)
        self._pump(now_ns)

    def stop_primary(self, now_ns: int, lasts_ns: int) -> None:
        """Its sessions end with 35=5, and for so long it lets nobody in."""
        self._stopped_until_ns = now_ns + lasts_ns
        for connection in self._servers[0].connections:
            connection.cut("The server is stopped", now_ns)
        self._pump(now_ns)

    def _heed(self, member: _Member, events: Any, now_ns: int) -> None:
        for event in events:
            if isinstance(event, ConnectWanted) and member.journal is not None:
                self._connect(member, event.endpoint.port - _PORT, now_ns)
            elif isinstance(event, DisconnectWanted) and member.connection is not None:
                member.connection.disconnected(now_ns)
                member.connection = None

    def _connect(self, member: _Member, place: int, now_ns: int) -> None:
        stopped = place == 0 and now_ns < self._stopped_until_ns
        member.connection = None if stopped else self._servers[place].accept(member.address, now_ns)
        if member.connection is None or member.journal is None:
            self._heed(member, member.client.disconnected("refused", now_ns), now_ns)
            return
        local = member.address, _FIRST_CLIENT_PORT + member.connections
        member.connections += 1
        member.journal.connected(local, (_HOST, _PORT + place), now_ns)
        self._heed(member, member.client.connected(now_ns), now_ns)

    def close_day(self, now_ns: int) -> int:
        """After what tells the last of it clients log out; the bytes of all journals."""
        now_ns += max(self.settings.tick_ns, self.settings.delay_ns)
        self.advance(now_ns)
        for member in self._members:
            self._heed(member, member.client.stop(now_ns), now_ns)
        self._pump(now_ns)
        size = 0
        for member in self._members:
            if member.journal is not None:
                member.journal.close(now_ns)
                size += member.journal.bytes
        self.is_open = False
        return size

    def discard_day(self) -> None:
        """The files of a day that failed: what was named goes, what was not is left unnamed."""
        self.is_open = False
        for member in self._members:
            if member.journal is not None:
                for path in member.journal.files:
                    path.unlink(missing_ok=True)
