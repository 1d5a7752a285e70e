"""A session as a market's source: a client of `feeds.session_port` on TCP, by its file, and what it keeps of
what passes. `market.session_channels` has the books that its messages make."""

import tomllib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from pregao.captures.journal import JournalWriter
from pregao.captures.recorder import RecordSettings
from pregao.feeds.registry import is_session_system, load_session_system
from pregao.feeds.session_port import (
    ClientSystem,
    ConnectWanted,
    DisconnectWanted,
    SessionClient,
    SessionEvent,
    SessionStatus,
    SessionSystem,
)
from pregao.io.clock import NS_PER_SECOND, system_time_ns
from pregao.io.files import read_private, read_small_file
from pregao.io.tcp_stream import Closed, Connected, Happened, Received, TcpStream
from pregao.market.live import Reception
from pregao.model.errors import ConfigurationError
from pregao.model.streams import StreamId
from pregao.recovery.events import Event

_RECORD_WAIT_S: Final = 0.2
_STOP_S: Final = 1.0  # for a logout to be answered


class Journal(Protocol):
    """Who keeps what passes over a connection: see `captures.journal`."""

    def connected(self, local: tuple[str, int], remote: tuple[str, int], now_ns: int) -> None: ...

    def received(self, data: bytes, now_ns: int) -> None:
        """Bytes of the server as they came."""

    def sent(self, data: bytes, now_ns: int) -> None: ...

    def closed(self, now_ns: int) -> None: ...


class ByteStream(Protocol):
    """A connection: `io.tcp_stream.TcpStream`, or one in memory."""

    @property
    def is_open(self) -> bool: ...

    def open(self, host: str, port: int) -> None: ...

    def send(self, data: bytes) -> None: ...

    def poll(self, timeout_s: float) -> list[Happened]: ...

    def close(self) -> None: ...

    def release(self) -> None: ...


class Stop(Protocol):
    """When to end: a `threading.Event`."""

    def is_set(self) -> bool: ...


def session_system_of(config: str | None) -> str | None:
    """The system of a session file (`system = "conflated"`); None: it is a channel configuration."""
    if config is None:
        return None
    try:
        settings = tomllib.loads(read_small_file(config).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None  # whoever reads it as a channel configuration says what is wrong
    name = settings.get("system")
    return name if isinstance(name, str) and (is_session_system(name) or ":" in name) else None


def open_session(
    config: str, symbols: Collection[str] = (), journal: Journal | None = None
) -> "SessionPackets":
    """By a session file; ConfigurationError where it is wrong."""
    name = session_system_of(config)
    if name is None:
        raise ConfigurationError("no system of sessions is named", file=config, key="system")
    system: object = load_session_system(name)
    if not isinstance(system, ClientSystem) or not isinstance(system, SessionSystem):
        raise ConfigurationError(f"the system {name!r} has no client", file=config, key="system")
    settings = tomllib.loads(read_small_file(config).decode("utf-8"))
    _read_password(settings, config)
    return SessionPackets(system, system.client(settings, config, symbols), journal)


def _read_password(settings: dict[str, Any], config: str) -> None:
    """`password_file`, beside the session file and private, in the place of a password that all can read."""
    if "password" in settings:
        raise ConfigurationError(
            "belongs into a file of mode 0600: password_file", file=config, key="password"
        )
    name = settings.pop("password_file", None)
    if name is not None:
        if not isinstance(name, str):
            raise ConfigurationError("the name of a file", file=config, key="password_file")
        text = read_private(Path(config).parent / name)
        settings["password"] = text.splitlines()[0] if text else ""


class SessionPackets:
    """The connection of a client. In the place of packets it brings what the client tells."""

    speed: float | None = None
    findings = 0

    def __init__(
        self, system: SessionSystem, client: SessionClient, journal: Journal | None = None,
        stream: ByteStream | None = None, clock: Callable[[], int] = system_time_ns,
    ) -> None:  # fmt: skip
        """`stream` and `clock`: others than TCP and the system's, as of a connection in memory."""
        self.system, self.client, self._clock = system, client, clock
        self.lines: Sequence[StreamId] = ()
        self.now_ns = clock()
        self.ended = False
        self._stream: ByteStream = TcpStream() if stream is None else stream
        self.journal = journal
        self._waiting: list[SessionEvent] = []

    def start(self) -> None:
        self.now_ns = self._clock()
        self._take(self.client.start(self.now_ns))

    def take(self, timeout_s: float, due_ns: int | None) -> list[SessionEvent] | None:
        """What happened next; None: nothing did in time."""
        if not self._waiting:
            self._poll(timeout_s, due_ns)
        taken, self._waiting = self._waiting, []
        return taken or None

    def _poll(self, timeout_s: float, due_ns: int | None) -> None:
        times = [time for time in (due_ns, self.client.next_timeout()) if time is not None]
        if times:
            timeout_s = min(timeout_s, max(0.0, (min(times) - self._clock()) / NS_PER_SECOND))
        for happened in self._stream.poll(timeout_s):
            self.now_ns = self._clock()
            match happened:
                case Connected():
                    if self.journal is not None:
                        self.journal.connected(happened.local, happened.remote, self.now_ns)
                    self._take(self.client.connected(self.now_ns))
                case Received():
                    if self.journal is not None:
                        self.journal.received(happened.data, self.now_ns)
                    self._take(self.client.receive(happened.data, self.now_ns))
                case Closed():
                    self._tell_closed()
                    self._take(self.client.disconnected(happened.reason, self.now_ns))
        self.now_ns = self._clock()
        self._take(self.client.on_timeout(self.now_ns))

    def _take(self, events: list[SessionEvent]) -> None:
        """Connections are made and ended here; the rest is for whoever has the books."""
        self._send()
        for event in events:
            if isinstance(event, ConnectWanted):
                self._stream.open(event.endpoint.host, event.endpoint.port)
            elif isinstance(event, DisconnectWanted):
                self._stream.close()
                self._tell_closed()
            else:
                self._waiting.append(event)
        self._send()

    def _send(self) -> None:
        data = self.client.data_to_send()
        if data:
            if self.journal is not None:
                self.journal.sent(data, self.now_ns)
            self._stream.send(data)

    def _tell_closed(self) -> None:
        if self.journal is not None:
            self.journal.closed(self.now_ns)

    def refresh(self, security_id: int) -> None:
        """A book is wrong: its snapshot is asked for again."""
        self._take(self.client.refresh(security_id, self.now_ns))

    def status(self) -> SessionStatus:
        return self.client.status()

    def follow(self, events: Sequence[Event]) -> None:
        """There is nothing to join or leave."""

    def reception(self) -> Reception | None:
        return None

    def drop(self) -> None:
        """Without a word, as a connection that breaks."""
        self.ended = True
        self._stream.release()
        self._tell_closed()

    def close(self) -> None:
        """Log out, and wait a moment for the answer."""
        if self.ended:
            return
        self.ended = True
        self.now_ns = self._clock()
        until_ns = self.now_ns + int(_STOP_S * NS_PER_SECOND)
        self._take(self.client.stop(self.now_ns))
        while self._stream.is_open and self._clock() < until_ns:
            self._poll(0.05, None)
        self._stream.release()
        self._tell_closed()


def record_session(
    config: str, settings: RecordSettings, stop: Stop, seconds: float | None = None
) -> tuple[JournalWriter, SessionStatus]:
    """Keep all that passes over a session, until `stop` is set or a while is over. Books are not kept."""
    packets = open_session(config)
    journal = JournalWriter(packets.client.status().name, settings)
    packets.journal = journal
    ends_ns = None if seconds is None else system_time_ns() + int(seconds * NS_PER_SECOND)
    try:
        packets.start()
        while not stop.is_set() and (ends_ns is None or system_time_ns() < ends_ns):
            packets.take(_RECORD_WAIT_S, None)
            journal.tick(packets.now_ns)
    finally:
        packets.close()
        journal.close(packets.now_ns)
    return journal, packets.client.status()
