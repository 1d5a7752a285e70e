"""Messages of sessions in captures, many at once: what servers said, each message once and in order.

    units = SessionUnits(load_stored_sessions("conflated"))
    for path in paths:                      # of one recorder, in the order of their times
        for item in units.read(path): ...   # SessionBatch, SessionBreak, SessionFinding
    for item in units.finish(): ...

A connection that goes on in the next file is one connection. Bytes are inflated as they come and given to the
system's journal in large pieces, so that kernels see many messages at once; each message still has the time
and place of the record that brought its last byte. `captures.sessions` does it a message at a time, for
people.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.captures.decoded import Finding
from pregao.captures.reader import CaptureReader
from pregao.captures.session_batches import (
    Item,
    RecordStamps,
    SessionBatch,
    SessionBreak,
    SessionFinding,
    Stamp,
    source_of,
)
from pregao.codecs.fix.compression import StreamInflater
from pregao.codecs.pcap.tcp import ChangeKind, Direction, SegmentReader, StreamChange, TcpStreams
from pregao.feeds.session_port import (
    JournalFault,
    RunJournal,
    SessionJournal,
    SessionMessage,
    SessionParties,
    SessionRun,
    StoredSessionSystem,
)
from pregao.io.captures import open_capture
from pregao.model.errors import DecodeError, Fault

AT_ONCE: Final = 1 << 20  # inflated bytes of a direction that wait to be read
_NAMED_WITHIN: Final = 4_096  # bytes: a connection that has not said whose it is by then is somebody else's
MOST_JOURNALS: Final = 1_024  # of sessions that came in one reading


@dataclass(slots=True)
class _Line:
    """The journal of one side of a session at one address: connections may come and go."""

    number: int
    source: str
    journal: SessionJournal
    is_servers: bool | None = None
    fed: int = 0  # bytes that the journal has been given


@dataclass(slots=True)
class _Side:
    """One direction of a connection. Pieces wait until there are enough of them."""

    inflater: StreamInflater = field(default_factory=StreamInflater)
    line: _Line | None = None
    begun: bool = True
    is_closed: bool = False  # nothing behind this place can be read, or is ours
    pieces: list[bytes] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)  # of each piece
    size: int = 0


class SessionUnits:
    """`only`: the source that is wanted; None: all of them."""

    def __init__(self, system: StoredSessionSystem, only: str | None = None, at_once: int = AT_ONCE) -> None:
        self._system, self._only, self._at_once = system, only, at_once
        self._streams = TcpStreams()
        self._sides: dict[Direction, _Side] = {}
        self._lines: dict[tuple[Any, ...], _Line] = {}
        self._file = ""
        self.foreign = 0  # segments of connections that are none of ours

    def read(self, path: str, copy: str | None = None) -> Iterator[Item]:
        """`copy`: where its bytes are, if not there."""
        self._file, reader = path, SegmentReader()
        with open_capture(copy or path) as source:
            for item in CaptureReader(path, reader).read(source):
                if isinstance(item, Finding):
                    yield SessionFinding("", item, 0)
                segments, reader.segments = reader.segments, []
                for segment in segments:
                    for change in self._streams.take(segment):
                        yield from self._change(change)
        for side in self._sides.values():
            yield from self._flush(side)

    def finish(self) -> Iterator[Item]:
        for change in self._streams.finish():
            yield from self._change(change)
        for side in self._sides.values():
            yield from self._flush(side)
            if side.line is not None:
                yield from self._found(side, side.line, [*side.line.journal.finish()])
        for line in self._lines.values():
            yield from self._found(_Side(), line, line.journal.rest())

    # Connections

    def _change(self, change: StreamChange) -> Iterator[Item]:
        side = self._sides.get(change.direction)
        if change.change is ChangeKind.OPENED:
            self._sides[change.direction] = _Side()
        elif change.change is ChangeKind.BYTES:
            if side is None:
                side = self._sides[change.direction] = _Side(begun=change.begun)
            yield from self._bytes(side, change)
        elif side is not None and change.change is ChangeKind.GAP:
            yield from self._gap(side, change)
        elif side is not None and change.change is ChangeKind.CLOSED:
            yield from self._flush(side)
            if side.line is not None:
                yield from self._found(side, side.line, [*side.line.journal.connected()])
            self._sides.pop(change.direction, None)

    def _gap(self, side: _Side, change: StreamChange) -> Iterator[Item]:
        yield from self._flush(side)
        if side.line is None:
            return
        yield from self._found(side, side.line, [*side.line.journal.connected()])
        side.is_closed |= bool(side.inflater.is_compressed)
        found = self._finding(change, Fault.TCP_BYTES_MISSING, f"{change.missing} bytes")
        yield SessionFinding(side.line.source, found, change.segment.ts_ns, is_gap=True)
        side.line.journal.join()

    def _bytes(self, side: _Side, change: StreamChange) -> Iterator[Item]:
        if side.is_closed:
            self.foreign += side.line is None
            return
        segment = change.segment
        try:
            for piece in side.inflater.feed(change.data):
                side.pieces.append(piece)
                side.stamps.append((segment.ts_ns, segment.number, segment.record_offset))
                side.size += len(piece)
        except DecodeError as error:
            side.is_closed = True
            if side.line is None and not side.size:
                yield from self._refuse(side, change)
                return
            yield from self._flush(side)
            source = "" if side.line is None else side.line.source
            found = self._finding(change, error.fault, error.detail)
            yield SessionFinding(source, found, segment.ts_ns, is_gap=side.line is not None)
            return
        if side.line is None:
            yield from self._name(side, change)
        if side.size >= self._at_once:
            yield from self._flush(side)

    def _refuse(self, side: _Side, change: StreamChange) -> Iterator[Item]:
        """Bytes that neither begin a plain session nor a compressed one: somebody else's, or the middle of
        one, of which only a plain one can be read on."""
        data = change.data
        if not side.begun:
            at = data.find(b"8=FIX")
            if at >= 0:
                side.is_closed, side.inflater = False, StreamInflater()
                rest = StreamChange(change.change, change.direction, change.segment, data[at:], begun=False)
                yield from self._bytes(side, rest)
                return
            if not side.is_closed or data[:1] == b"\x78":
                found = self._finding(change, Fault.TCP_BEGUN_BEFORE, "cannot be inflated")
                yield SessionFinding("", found, change.segment.ts_ns)
            else:
                side.is_closed, side.inflater = False, StreamInflater()  # the next segment may be plain
        self.foreign += 1

    def _name(self, side: _Side, change: StreamChange) -> Iterator[Item]:
        """Whose connection it is, as soon as it says so."""
        begun = b"".join(side.pieces)
        parties = self._system.parties(begun)
        if parties is None:
            if len(begun) > _NAMED_WITHIN:
                side.is_closed, side.size = True, 0
                side.pieces.clear()
                side.stamps.clear()
                self.foreign += 1
            return
        line = self._line(parties, change.direction)
        if line is None:
            side.is_closed = True
            return
        for other in self._sides.values():
            if other is not side and other.line is not None and other.line.source == line.source:
                yield from self._flush(other)
        side.line = line
        if not side.begun and not line.fed:
            line.journal.join()
        yield SessionBreak(line.source, line.number, change.segment.ts_ns)

    def _line(self, parties: SessionParties, direction: Direction) -> _Line | None:
        key = parties, direction.src, direction.src_port
        line = self._lines.get(key)
        if line is None and len(self._lines) < MOST_JOURNALS:
            source = source_of(parties.target, parties.sender)
            line = _Line(len(self._lines), source, self._system.journal())
            self._lines[key] = line
        return line

    # Messages

    def _flush(self, side: _Side) -> Iterator[Item]:
        line = side.line
        if line is None or not side.pieces:
            return
        data = b"".join(side.pieces)
        now_ns = side.stamps[-1][0]
        journal = line.journal
        found: list[SessionRun | SessionMessage | JournalFault]
        if isinstance(journal, RunJournal):
            found = journal.receive_runs(data, now_ns)
        else:
            found = [*journal.receive(data, now_ns)]
        yield from self._found(side, line, found)
        line.fed += len(data)
        side.pieces.clear()
        side.stamps.clear()
        side.size = 0

    def _found(self, side: _Side, line: _Line, found: list[Any]) -> Iterator[Item]:
        """Of a server; what a client says is passed over. Single messages that follow each other are one
        batch."""
        stamps = RecordStamps(line.source, line.number, line.fed, side.pieces, side.stamps)
        singles: list[SessionMessage] = []
        for each in found:
            if isinstance(each, SessionMessage):
                if singles and each.epoch != singles[-1].epoch:
                    yield from self._wanted_batch(line, stamps.of_messages(singles, self._file))
                    singles = []
                singles.append(each)
                continue
            if singles:
                yield from self._wanted_batch(line, stamps.of_messages(singles, self._file))
                singles = []
            if isinstance(each, SessionRun):
                yield from self._wanted_batch(line, stamps.of_run(each, self._file))
            else:
                yield from self._fault(line, each, stamps)
        if singles:
            yield from self._wanted_batch(line, stamps.of_messages(singles, self._file))

    def _fault(self, line: _Line, fault: JournalFault, stamps: RecordStamps) -> Iterator[Item]:
        if line.is_servers is False or (self._only is not None and line.source != self._only):
            return
        ts_ns, record, offset = stamps.stamp(fault.offset)
        found = Finding(self._file, fault.fault.label, record, offset, fault.detail)
        yield SessionFinding(line.source, found, ts_ns, is_gap=fault.fault is Fault.FIX_NUMBERS_MISSING)

    def _wanted_batch(self, line: _Line, batch: SessionBatch) -> Iterator[SessionBatch]:
        if line.is_servers is None:
            at, size = int(batch.offsets[0]), int(batch.lengths[0])
            line.is_servers = self._system.is_servers(batch.buffer[at : at + size].tobytes())
        if line.is_servers is not False and self._only in (None, line.source):
            yield batch

    def _finding(self, change: StreamChange, fault: Fault, detail: str) -> Finding:
        segment = change.segment
        return Finding(self._file, fault.label, segment.number, segment.record_offset, detail)
