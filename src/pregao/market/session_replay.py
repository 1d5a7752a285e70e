"""A market from journals: what `market.sessions` brings live, read from captures of sessions.

Only what servers sent is looked at. Times are those of the captures; there is no pace but that of reading.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from pregao.captures.decoded import Finding
from pregao.captures.reader import CaptureReader
from pregao.captures.sessions import (
    CapturedMessage,
    CapturedSessions,
    ChangeKind,
    Direction,
    SegmentReader,
    StreamChange,
    is_answer,
)
from pregao.feeds.registry import load_session_system
from pregao.feeds.session_port import (
    InstrumentsListed,
    JournalFault,
    SessionBegun,
    SessionCounters,
    SessionEvent,
    SessionLost,
    SessionMessage,
    SessionStatus,
    SessionSystem,
    SnapshotsTaken,
)
from pregao.io.captures import open_capture
from pregao.market.live import Reception
from pregao.model.streams import StreamId
from pregao.recovery.events import Event

MOST_AT_ONCE: Final = 1_024  # events
_MOST_FINDINGS: Final = 100


class ReplayedSessions:
    """Journals, or dumps of the network, one after the other. A file goes on where the one before ended."""

    speed: float | None = 0.0

    def __init__(self, paths: Sequence[str | Path], system: str) -> None:
        self.system: SessionSystem = load_session_system(system)
        self.lines: Sequence[StreamId] = ()
        self.now_ns = 0
        self.ended = False
        self.findings = 0
        self.first_findings: list[Finding] = []
        self._journal = self.system.journal()
        self._server: Direction | None = None
        self._epoch = self._number = 0
        self._is_on = False
        self._counters = SessionCounters()
        self._events = self._read([str(path) for path in paths])

    def start(self) -> None:
        """Nothing has to be ready."""

    def take(self, timeout_s: float, due_ns: int | None) -> list[SessionEvent] | None:
        taken: list[SessionEvent] = []
        for event in self._events:
            taken.append(event)
            if len(taken) >= MOST_AT_ONCE or not isinstance(event, SessionMessage):
                return taken
        self.ended = True
        return taken or None

    def _read(self, paths: Collection[str]) -> Iterator[SessionEvent]:
        sessions: CapturedSessions | None = None
        for path in paths:
            reader = SegmentReader()
            sessions = CapturedSessions(path)
            with open_capture(path) as source:
                for item in CaptureReader(path, reader).read(source):
                    if isinstance(item, Finding):
                        self._find(item)
                    for found in sessions.items(reader):
                        yield from self._take(found)
            for found in sessions.finish():
                yield from self._take(found)
        rest: list[SessionMessage | JournalFault] = getattr(self._journal, "rest", list)()
        yield from self._messages(rest)
        if self._is_on:
            yield SessionLost(self._name, "the captures are over")

    @property
    def _name(self) -> str:
        return "server" if self._server is None else f"server on port {self._server.src_port}"

    def _find(self, finding: Finding) -> None:
        self.findings += 1
        if len(self.first_findings) < _MOST_FINDINGS:
            self.first_findings.append(finding)

    def _take(self, found: CapturedMessage | Finding | StreamChange) -> Iterator[SessionEvent]:
        if isinstance(found, Finding):
            self._find(found)
        elif isinstance(found, StreamChange):
            yield from self._change(found)
        elif self._is_servers(found.direction):
            self.now_ns = found.ts_ns
            if not self._is_on:
                yield from self._begin(found.direction)
            self._counters.inflated_bytes += len(found.data)
            yield from self._messages(self._journal.receive(found.data, found.ts_ns))

    def _change(self, change: StreamChange) -> Iterator[SessionEvent]:
        if is_answer(change):
            self._journal.connected()
            yield from self._end("another connection")
            self._counters.connections += 1
            yield from self._begin(change.direction)
        elif change.change is ChangeKind.CLOSED and change.direction == self._server:
            yield from self._end("closed")

    def _begin(self, direction: Direction) -> Iterator[SessionEvent]:
        self._server, self._is_on = direction, True
        self._epoch += 1
        yield SessionBegun(self._name, self._epoch)
        # A list says of each instrument whether it is new; what has had its snapshot is known.
        yield InstrumentsListed(0)
        yield SnapshotsTaken("", 0, True)

    def _end(self, reason: str) -> Iterator[SessionEvent]:
        if self._is_on:
            self._is_on = False
            self._counters.losses += 1
            yield SessionLost(self._name, reason)

    def _is_servers(self, direction: Direction) -> bool:
        """By the handshake; without one, servers have the lower ports."""
        if self._server is None:
            return direction.src_port < direction.dst_port
        return direction == self._server

    def _messages(self, found: Sequence[SessionMessage | JournalFault]) -> Iterator[SessionEvent]:
        for each in found:
            if isinstance(each, JournalFault):
                self._find(Finding("", each.fault.label, 0, None, each.detail))
                continue
            self._number = each.number
            self._counters.messages += 1
            self._counters.lag_ns = each.received_ns - each.sent_ns
            yield each._replace(epoch=self._epoch)

    def refresh(self, security_id: int) -> None:
        """Nobody can be asked."""

    def follow(self, events: Sequence[Event]) -> None:
        """There is nothing to join or leave."""

    def reception(self) -> Reception | None:
        return None

    def status(self) -> SessionStatus:
        counters = {name: int(getattr(self._counters, name)) for name in self._counters.__slots__}
        return SessionStatus(
            "journal", self.system.name, self._name, self._is_on, self._epoch, self._number, 0, counters
        )

    def close(self) -> None:
        self.ended = True
