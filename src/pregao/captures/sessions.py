"""Sessions in captures: TCP connections to FIX messages, in both directions.

A journal of ours (`captures.journal`) has the inflated bytes in headers that were made for it; a capture of
the network has what the server compressed. Both are read alike: a connection's first byte tells which it is.
What is no such connection is counted and left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pregao.captures.decoded import CaptureCounts, CaptureFlow, DecodedPacket, Finding, SocketAddress
from pregao.captures.reader import CaptureReader
from pregao.codecs.fix import Framed, Framer
from pregao.codecs.fix.compression import StreamInflater
from pregao.codecs.pcap.outcomes import Datagram, Skip
from pregao.codecs.pcap.tcp import ACK, ChangeKind, Direction, SegmentReader, StreamChange, TcpStreams
from pregao.feeds.decoding import Decoder
from pregao.io.captures import CaptureSource
from pregao.model.errors import DecodeError, Fault

__all__ = [
    "CapturedMessage",
    "CapturedSessions",
    "ChangeKind",
    "Direction",
    "SegmentReader",
    "SessionFileReader",
    "StreamChange",
    "is_answer",
]

_START = b"8=FIX"
_FOREIGN = "other-tcp"


def is_answer(change: StreamChange) -> bool:
    """Whether a server opens its direction of a connection: it answers a SYN."""
    return change.change is ChangeKind.OPENED and bool(change.segment.flags & ACK)


@dataclass(frozen=True, slots=True)
class CapturedMessage:
    """A message of a connection, and the record that brought its last byte. `offset` is that of its first
    byte in the file, where it is there as it is."""

    data: bytes
    direction: Direction
    number: int
    ts_ns: int
    offset: int | None


@dataclass(slots=True)
class _Side:
    """One direction of a connection."""

    inflater: StreamInflater = field(default_factory=StreamInflater)
    framer: Framer = field(default_factory=Framer)
    is_foreign: bool = False
    is_broken: bool = False


class CapturedSessions:
    """What is told of a capture's connections, segment by segment."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._streams = TcpStreams()
        self._sides: dict[Direction, _Side] = {}
        self.foreign = 0  # segments of connections that are none of ours

    def items(self, reader: SegmentReader) -> Iterator[CapturedMessage | Finding | StreamChange]:
        """Of the segments that were read since the last time."""
        segments, reader.segments = reader.segments, []
        for segment in segments:
            for change in self._streams.take(segment):
                yield from self._change(change)

    def finish(self) -> Iterator[CapturedMessage | Finding | StreamChange]:
        for change in self._streams.finish():
            yield from self._change(change)
        for side in self._sides.values():
            if side.framer.waiting and not side.is_foreign and not side.is_broken:
                detail = f"{side.framer.waiting} bytes of a message"
                yield Finding(self._file, Fault.FRAME_TRUNCATED.label, 0, None, detail)

    def _change(self, change: StreamChange) -> Iterator[CapturedMessage | Finding | StreamChange]:
        side = self._sides.get(change.direction)
        if change.change is ChangeKind.OPENED:
            self._sides[change.direction] = _Side()
            yield change
        elif change.change is ChangeKind.BYTES:
            if side is None:
                side = self._sides[change.direction] = _Side()
            yield from self._bytes(side, change)
        elif change.change is ChangeKind.GAP and side is not None and not side.is_foreign:
            side.is_broken |= bool(side.inflater.is_compressed)
            yield self._finding(change, Fault.TCP_BYTES_MISSING, f"{change.missing} bytes")
        elif change.change is ChangeKind.CLOSED and side is not None:
            if not side.is_foreign:
                yield change
            self._sides.pop(change.direction, None)

    def _bytes(self, side: _Side, change: StreamChange) -> Iterator[CapturedMessage | Finding | StreamChange]:
        data = change.data
        if side.is_foreign or side.is_broken:
            self.foreign += side.is_foreign
            return
        if not change.begun and side.inflater.is_compressed is None:
            at = data.find(_START)  # the capture began in mid-connection: only a plain one can be read
            if at < 0:
                self.foreign += 1
                if data[:1] == b"\x78":
                    side.is_foreign = True
                    yield self._finding(change, Fault.TCP_BEGUN_BEFORE, "cannot be inflated")
                return
            data = data[at:]
        try:
            for piece in side.inflater.feed(data):
                yield from self._messages(side, change, piece)
        except DecodeError as error:
            if side.inflater.received <= len(data) and not side.inflater.inflated:
                side.is_foreign = True  # of somebody else
                self.foreign += 1
            else:
                side.is_broken = True
                yield self._finding(change, error.fault, error.detail)

    def _messages(
        self, side: _Side, change: StreamChange, piece: bytes
    ) -> Iterator[CapturedMessage | Finding]:
        segment, framer = change.segment, side.framer
        piece_at = framer.offset + framer.waiting  # place of the piece's first byte among the side's bytes
        place = framer.offset
        # The data of a segment that was there in part before are its last bytes.
        file_at = segment.payload_offset + len(segment.payload) - len(change.data)
        for item in framer.feed(piece):
            if isinstance(item, Framed):
                plain = (
                    not side.inflater.is_compressed and place >= piece_at and len(piece) == len(change.data)
                )
                offset = file_at + place - piece_at if plain else None
                yield CapturedMessage(item.data, change.direction, segment.number, segment.ts_ns, offset)
                place += len(item.data)
            else:
                yield self._finding(change, item.fault, f"{item.length} bytes")
                place = item.offset + item.length

    def _finding(self, change: StreamChange, fault: Fault, detail: str) -> Finding:
        segment = change.segment
        return Finding(self._file, fault.label, segment.number, segment.record_offset, detail)


class SessionFileReader:
    """One pass over one open capture, for `captures.decode`."""

    def __init__(self, file: str, source: CaptureSource, decoder: Decoder, counts: CaptureCounts) -> None:
        self._file, self._source, self._decoder, self._counts = file, source, decoder, counts
        self._segments = SegmentReader()
        self._reader = CaptureReader(file, self._segments)
        self._sessions = CapturedSessions(file)
        self._flows: dict[Direction, CaptureFlow] = {}

    def items(self) -> Iterator[DecodedPacket | Finding]:
        counts, records = self._counts, self._segments.records
        for item in self._reader.read(self._source):
            counts.records = records.packets
            if item is Skip.SEGMENT:
                counts.datagrams += 1
                for found in self._sessions.items(self._segments):
                    yield from self._found(found)
            elif isinstance(item, Skip):
                counts.skip(item.name.lower().replace("_", "-"))
            elif not isinstance(item, Datagram):
                counts.bytes_left += item.left
                yield item
        for found in self._sessions.finish():
            yield from self._found(found)
        if self._sessions.foreign:
            counts.skipped[_FOREIGN] = self._sessions.foreign

    def _found(self, found: CapturedMessage | Finding | StreamChange) -> Iterator[DecodedPacket | Finding]:
        if isinstance(found, Finding):
            yield found
        elif isinstance(found, CapturedMessage):
            flow = self._flow(found.direction)
            try:
                (unit,) = self._decoder.decode(found.data)
            except DecodeError as error:
                offset = None if found.offset is None else found.offset + error.offset
                yield Finding(self._file, error.fault.label, found.number, offset, error.detail)
                return
            yield DecodedPacket(self._file, found.number, found.ts_ns, flow, found.offset, unit)
            for damage in unit.damage:
                yield Finding(
                    self._file, damage.error.fault.label, found.number, found.offset, damage.error.detail
                )

    def _flow(self, direction: Direction) -> CaptureFlow:
        flow = self._flows.get(direction)
        if flow is None:
            version, src, src_port, dst, dst_port = direction
            flow = CaptureFlow(SocketAddress(version, src, src_port), SocketAddress(version, dst, dst_port))
            self._flows[direction] = flow
        return flow
