"""Where Pregão's own client has its market from: packets that it is handed or receives, or a session."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pregao.feeds.registry import load_session_system
from pregao.feeds.session_port import (
    ClientSystem,
    InstrumentsListed,
    SessionEvent,
    SessionHeartbeat,
    SessionSystem,
)
from pregao.market.live import Reception
from pregao.market.sessions import ByteStream, SessionPackets
from pregao.model.errors import ConfigurationError
from pregao.model.packets import PacketBatch, batch_of
from pregao.model.streams import Stream, StreamId
from pregao.recovery.events import Event

STREAMS: Final = {
    "incremental": Stream.INCREMENTAL,
    "snapshot": Stream.SNAPSHOT,
    "definition": Stream.DEFINITION,
}


class PushedPackets:
    """A `PacketSource` that is given its packets one by one, with their time."""

    speed: float | None = None
    ended = False
    findings = 0
    replayer = None  # the script's own section asks one

    def __init__(self, lines: Sequence[StreamId]) -> None:
        self.lines = lines
        self._numbers = {line: number for number, line in enumerate(lines)}
        self._next: PacketBatch | None = None
        self.now_ns = 0

    def push(self, line: StreamId, payload: bytes, now_ns: int) -> None:
        self._next = batch_of([(self._numbers[line], now_ns, payload)])
        self.now_ns = now_ns

    def start(self) -> None:
        """Nothing has to be joined."""

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        batch, self._next = self._next, None
        return batch

    def follow(self, events: Sequence[Event]) -> None:
        """All streams are there all the time."""

    def reception(self) -> Reception | None:
        return None

    def close(self) -> None:
        """There is nothing to close."""


class WatchedSession(SessionPackets):
    """A session that remembers whether anything came, and what its market keeps to itself."""

    def __init__(
        self, name: str, settings: Mapping[str, Any], stream: ByteStream | None, clock: Callable[[], int]
    ) -> None:
        system: object = load_session_system(name)
        if not isinstance(system, ClientSystem) or not isinstance(system, SessionSystem):
            raise ConfigurationError(f"the system {name!r} has no client", key="system")
        super().__init__(system, system.client(settings, "", ()), stream=stream, clock=clock)
        self.heartbeats = 0
        self.is_listed = False  # definitions that come now are news
        self.has_taken = False

    def take(self, timeout_s: float, due_ns: int | None) -> list[SessionEvent] | None:
        taken = super().take(timeout_s, due_ns)
        self.has_taken |= bool(taken)
        for event in taken or ():
            self.heartbeats += isinstance(event, SessionHeartbeat)
            self.is_listed |= isinstance(event, InstrumentsListed)
        return taken
