"""What a system of TCP sessions offers (see `feeds.port`): the messages of a journal in order, rows of them,
and to whoever has connections and a clock a client without I/O.

A client's owner makes and closes connections as it is told, gives it bytes and times, and takes messages in
order. Books are somebody else's: the client only says when what was told so far is no longer to be believed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pregao.feeds.port import Array, NewsDesk, UnitReader
from pregao.model.errors import Fault
from pregao.model.records import record
from pregao.recovery.policy import RecoveryPolicy


class SessionMessage(NamedTuple):
    """A message of a session. `epoch` counts how often its numbers began again; `offset` is where its first
    byte is in the journal, so that whoever finds it wrong can say where."""

    epoch: int
    number: int
    sent_ns: int
    received_ns: int
    offset: int
    payload: bytes


class SessionRun(NamedTuple):
    """Messages that follow each other, for those who take many at once: numbers from `first` on, where each
    is in the buffer (int64) and how long (uint32). The buffer's first byte is the journal's byte `base`;
    `sent_ns` says when each was sent (int64; 0: it does not say)."""

    epoch: int
    first: int
    received_ns: int
    buffer: Array  # uint8
    offsets: Array
    lengths: Array
    base: int
    sent_ns: Array


class JournalFault(NamedTuple):
    """Bytes of a journal that are no message, or numbers that are missing: reading goes on after it."""

    fault: Fault
    offset: int
    detail: str


class SessionJournal(Protocol):
    """What a server sent in a session, byte by byte, to its messages: each once and in the order of their
    numbers. Connections may break and begin again, and a server may repeat itself when it is asked to: that
    is the session's business, and nobody above sees it. Without I/O: who has a file or socket brings the
    bytes."""

    def receive(self, data: bytes, now_ns: int) -> list[SessionMessage | JournalFault]:
        """Any number of bytes, as they came; a message that is not whole yet is kept."""

    def connected(self) -> list[JournalFault]:
        """The bytes that follow are those of another connection: what is not whole now will never be."""

    def finish(self) -> list[JournalFault]:
        """Nothing more will come."""

    def join(self) -> None:
        """Bytes before those that follow are missing: the first message that comes is the next."""

    def rest(self) -> list[SessionMessage | JournalFault]:
        """Messages that waited for others to the end, and what was missing before them."""


@runtime_checkable
class RunJournal(SessionJournal, Protocol):
    """A journal that gives runs of ordinary messages at once."""

    def receive_runs(self, data: bytes, now_ns: int) -> list[SessionRun | SessionMessage | JournalFault]:
        """As `receive`."""


@runtime_checkable
class SessionSystem(Protocol):
    """A system of TCP sessions. What a multicast system needs headers, arbitration and loops for, the session
    does: so a system gives only the messages of a journal, in order, and rows of them. The sequenced unit is
    a message; a source is a session where a multicast system has a channel."""

    name: str
    title: str

    def journal(self) -> SessionJournal: ...

    def reader(self, channel: int) -> UnitReader:
        """As that of a multicast system: `at` are places made of epoch and number."""

    def news_desk(self, channel: int) -> NewsDesk: ...


class SessionParties(NamedTuple):
    """Who sends to whom, by the names that both have in their session."""

    sender: str
    target: str


@runtime_checkable
class StoredSessionSystem(SessionSystem, Protocol):
    """A system of sessions whose journals can be made into tables."""

    policy: RecoveryPolicy

    def parties(self, data: bytes) -> SessionParties | None:
        """By the first message that begins in these bytes; None: there is none that says it."""

    def is_servers(self, message: bytes) -> bool | None:
        """Whether only a server sends such messages; None: both may."""

    def noted(self, buffer: Array, offsets: Array, lengths: Array) -> Array:
        """Which messages of a buffer tell what concerns a whole day: definitions, news, phases."""


# The client of a session.


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of the session: the primary, or a standby."""

    name: str
    host: str
    port: int


@record
class ConnectWanted:
    endpoint: Endpoint


@record
class DisconnectWanted:
    reason: str


@record
class SessionBegun:
    """Logged on: `epoch` counts logons. Nothing that was told before is to be believed any more. `by_level`:
    books will be of price levels."""

    endpoint: str
    epoch: int
    by_level: bool = False


@record
class SessionLost:
    """The connection is gone, or was given up: what is known is as of now, and goes stale."""

    endpoint: str
    reason: str


@record
class RequestRefused:
    """What a server does not give, and why."""

    request: str
    reason: str


@record
class HistoryFilled:
    """What a session missed of an instrument's trades, or an index's values, has come, up to a number; not
    `whole`: some of it could not be had."""

    security_id: int
    first: int
    last: int
    whole: bool = True


@record
class InstrumentsListed:
    """All instruments that were asked for have been told."""

    instruments: int


@record
class SnapshotsTaken:
    """All snapshots of a request have come. `is_last`: no other is waiting."""

    request: str
    snapshots: int
    is_last: bool


@record
class SessionHeartbeat:
    """The server has nothing to say, and says so. Told where the client's settings want it."""

    payload: bytes


SessionEvent = (
    SessionMessage
    | SessionHeartbeat
    | ConnectWanted
    | DisconnectWanted
    | SessionBegun
    | SessionLost
    | RequestRefused
    | HistoryFilled
    | InstrumentsListed
    | SnapshotsTaken
)


@dataclass(slots=True)
class SessionCounters:
    """What a client counts. Bytes are those of the connection, before and after they are inflated."""

    connections: int = 0
    failed_connections: int = 0
    losses: int = 0
    messages: int = 0
    received_bytes: int = 0
    inflated_bytes: int = 0
    sent_bytes: int = 0
    gaps: int = 0
    resends: int = 0  # messages that came again because they were asked for
    garbled: int = 0
    rejects: int = 0  # of ours by the server, and of theirs by us
    refused: int = 0
    snapshots: int = 0
    history_requests: int = 0
    history_entries: int = 0
    lag_ns: int = 0  # of the last message, as far as both clocks agree
    most_lag_ns: int = 0


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """How a session is: for health and metrics."""

    name: str
    system: str
    endpoint: str
    is_live: bool
    epoch: int
    number: int  # of the last message
    awaited: int  # requests that are not answered
    counters: Mapping[str, int] = field(default_factory=dict)
    unknown_tags: Mapping[str, int] = field(default_factory=dict)


class SessionClient(Protocol):
    """All methods give what happened, in order. `data_to_send` is asked for after each."""

    def start(self, now_ns: int) -> list[SessionEvent]: ...

    def connected(self, now_ns: int) -> list[SessionEvent]:
        """The connection that was wanted is there."""

    def disconnected(self, reason: str, now_ns: int) -> list[SessionEvent]:
        """It is gone, or could not be made."""

    def receive(self, data: bytes, now_ns: int) -> list[SessionEvent]: ...

    def data_to_send(self) -> bytes: ...

    def next_timeout(self) -> int | None: ...

    def on_timeout(self, now_ns: int) -> list[SessionEvent]: ...

    def refresh(self, security_id: int, now_ns: int) -> list[SessionEvent]:
        """A book is wrong: have its snapshot sent again."""

    def stop(self, now_ns: int) -> list[SessionEvent]:
        """Log out; nothing is connected to any more."""

    def status(self) -> SessionStatus: ...


@runtime_checkable
class AskingClient(Protocol):
    """A client that sends what its owner wants, too."""

    def ask(self, msg_type: bytes, body: Mapping[int, Any], now_ns: int) -> list[SessionEvent]: ...


@runtime_checkable
class ClientSystem(Protocol):
    """A system of sessions that one can connect to."""

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> SessionClient:
        """By a configuration of the system's own kind, read from TOML; ConfigurationError where it is wrong.
        `symbols`: these instruments only; none: all that the configuration asks for."""
