"""TCP in captures: segments read and written, and the bytes of each direction put in order.

A capture may begin in the middle of a connection, lack segments and have them twice: what is repeated counts
once, what is out of order waits (bounded), and what never comes is a gap that is told. Fragments of IP are
left out: TCP does not make them.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.ip import parse_ip, strip_link
from pregao.codecs.pcap.outcomes import Damage, Datagram, Record, Skip
from pregao.codecs.pcap.writer import checksum, ethernet_frame, ipv4_packet, ipv6_packet
from pregao.model.errors import Fault

PROTOCOL_TCP: Final = 6
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
_HEADER: Final = 20
_WINDOW: Final = 65_535
_AROUND: Final = 1 << 32
MOST_HELD: Final = 4 << 20  # bytes of a direction that wait for those before them
MOST_DIRECTIONS: Final = 4_096


class Direction(NamedTuple):
    """Who sends to whom: addresses as numbers, as `ip_version` says."""

    ip_version: int
    src: int
    src_port: int
    dst: int
    dst_port: int


@dataclass(frozen=True, slots=True)
class TcpSegment:
    number: int  # of the record
    ts_ns: int
    direction: Direction
    sequence: int
    flags: int
    payload: bytes
    payload_offset: int  # in the file
    record_offset: int


# Written


def tcp_frame(
    payload: bytes, direction: Direction, *, sequence: int, acknowledged: int, flags: int = ACK | PSH
) -> bytes:
    """An Ethernet frame with one segment, its sums right."""
    width = 16 if direction.ip_version == 6 else 4
    numbers = (direction.src_port, direction.dst_port, sequence % _AROUND, acknowledged % _AROUND)
    before = struct.pack(">HHIIBBH", *numbers, _HEADER // 4 << 4, flags, _WINDOW)
    addresses = direction.src.to_bytes(width, "big") + direction.dst.to_bytes(width, "big")
    pseudo = addresses + struct.pack(">II", _HEADER + len(payload), PROTOCOL_TCP)
    segment = before + struct.pack(">HH", checksum(pseudo + before + bytes(4) + payload), 0) + payload
    if direction.ip_version == 6:
        packet = ipv6_packet(segment, direction.src, direction.dst, next_header=PROTOCOL_TCP)
    else:
        packet = ipv4_packet(segment, direction.src, direction.dst, protocol=PROTOCOL_TCP)
    return ethernet_frame(packet, direction.dst, ipv6=direction.ip_version == 6)


# Read


def segment_of(record: Record) -> TcpSegment | Skip | Damage:
    """The segment in a record; why there is none; or what is wrong, at the record's offset."""
    network = strip_link(record.data, record.linktype)
    if isinstance(network, Skip):
        return network
    packet = network if isinstance(network, Fault) else parse_ip(record.data, network, record.original_length)
    if isinstance(packet, Fault):
        cut = record.is_cut and packet in (Fault.LINK_TRUNCATED, Fault.IP_TRUNCATED)
        return Damage(Fault.FRAME_CUT if cut else packet, record.offset, record.number)
    if packet.protocol != PROTOCOL_TCP or packet.fragment is not None:
        return Skip.NON_TCP
    start, end = packet.payload_start, packet.payload_end
    if end > len(record.data) or end - start < _HEADER:
        fault = Fault.FRAME_CUT if record.is_cut else Fault.TCP_TRUNCATED
        return Damage(fault, record.offset, record.number)
    src_port, dst_port, sequence, _, size, flags = struct.unpack_from(">HHIIBB", record.data, start)
    header = (size >> 4) * 4
    if header < _HEADER or start + header > end:
        return Damage(Fault.TCP_TRUNCATED, record.offset, record.number)
    direction = Direction(packet.version, packet.src, src_port, packet.dst, dst_port)
    payload = bytes(record.data[start + header : end])
    where = record.data_offset + start + header
    return TcpSegment(record.number, record.ts_ns, direction, sequence, flags, payload, where, record.offset)


class SegmentReader(DatagramReader):
    """`DatagramReader` of segments: what is found is in `segments`, in order; the caller takes them."""

    def __init__(self) -> None:
        super().__init__()
        self.segments: list[TcpSegment] = []

    def step(self, window: memoryview, base: int) -> list[Datagram | Skip | Damage] | None:
        step = self.records.step(window, base)
        if step is None:
            return None
        if not isinstance(step.outcome, Record):
            return [] if step.outcome is None else [step.outcome]
        found = segment_of(step.outcome)
        if isinstance(found, TcpSegment):
            self.segments.append(found)
            return [Skip.SEGMENT]
        return [found]


# In order


class ChangeKind(Enum):
    OPENED = "opened"  # a connection begins: SYN
    BYTES = "bytes"
    GAP = "gap"  # bytes are missing before what comes next
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class StreamChange:
    """What became of a direction with a segment. `begun` is False of a connection whose beginning is not in
    the capture; `missing` counts bytes of a gap."""

    change: ChangeKind
    direction: Direction
    segment: TcpSegment
    data: bytes = b""
    begun: bool = True
    missing: int = 0


@dataclass(slots=True)
class _Bytes:
    next: int | None = None
    begun: bool = False
    held: dict[int, TcpSegment] = field(default_factory=dict)
    size: int = 0


class TcpStreams:
    """All directions of a capture; the segments of more than there may be are left out."""

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._most_held = most_held
        self._directions: dict[Direction, _Bytes] = {}
        self.repeated = self.left_out = 0  # segments

    def take(self, segment: TcpSegment) -> Iterator[StreamChange]:
        known = self._directions.get(segment.direction)
        if known is None or segment.flags & SYN:
            if known is None and len(self._directions) >= MOST_DIRECTIONS:
                self.left_out += 1
                return
            if known is not None and known.begun and known.next == (segment.sequence + 1) % _AROUND:
                self.repeated += 1  # the same SYN again
                return
            if known is not None:
                yield from self._give_up(segment.direction, known, segment)
            known = self._directions[segment.direction] = _Bytes()
        if segment.flags & SYN:
            known.next, known.begun = (segment.sequence + 1) % _AROUND, True
            yield StreamChange(ChangeKind.OPENED, segment.direction, segment)
        elif segment.payload:
            yield from self._payload(known, segment)
        if segment.flags & (FIN | RST):
            yield from self._give_up(segment.direction, known, segment)
            self._directions.pop(segment.direction, None)
            yield StreamChange(ChangeKind.CLOSED, segment.direction, segment)

    def _payload(self, known: _Bytes, segment: TcpSegment) -> Iterator[StreamChange]:
        if known.next is None:
            known.next = segment.sequence
        ahead = _distance(segment.sequence, known.next)
        if ahead > 0:
            if segment.sequence not in known.held:
                known.held[segment.sequence] = segment
                known.size += len(segment.payload)
            if known.size > self._most_held:
                yield from self._give_up(segment.direction, known, segment)
            return
        yield from self._in_order(known, segment)
        yield from self._release(known)

    def _in_order(self, known: _Bytes, segment: TcpSegment) -> Iterator[StreamChange]:
        assert known.next is not None
        behind = -_distance(segment.sequence, known.next)
        data = segment.payload[behind:]
        if not data:
            self.repeated += 1
            return
        known.next = (known.next + len(data)) % _AROUND
        yield StreamChange(ChangeKind.BYTES, segment.direction, segment, data, known.begun)

    def _release(self, known: _Bytes) -> Iterator[StreamChange]:
        """Held segments whose turn has come."""
        while known.held and known.next is not None:
            reached = known.next
            due = [each for each in known.held if _distance(each, reached) <= 0]
            if not due:
                return
            first = min(due, key=lambda each: _distance(each, reached))
            segment = known.held.pop(first)
            known.size -= len(segment.payload)
            yield from self._in_order(known, segment)

    def _give_up(self, direction: Direction, known: _Bytes, segment: TcpSegment) -> Iterator[StreamChange]:
        """What is missing will not come: go on with what is there."""
        while known.held and known.next is not None:
            reached = known.next
            first = min(known.held, key=lambda each: _distance(each, reached))
            missing = _distance(first, reached)
            if missing > 0:
                yield StreamChange(ChangeKind.GAP, direction, segment, missing=missing)
                known.next = first
            yield from self._release(known)

    def finish(self) -> Iterator[StreamChange]:
        """The capture is over."""
        for direction, known in list(self._directions.items()):
            if known.held:
                yield from self._give_up(direction, known, next(iter(known.held.values())))
        self._directions.clear()


def _distance(sequence: int, since: int) -> int:
    """How far a number is ahead of another, by the shorter way round."""
    steps = (sequence - since) % _AROUND
    return steps if steps < _AROUND // 2 else steps - _AROUND
