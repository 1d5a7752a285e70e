"""The plain chain: record → link → IP (→ fragments) → UDP.

Order of judgement, which the kernels follow: link, IP header, protocol, length of the IP packet
against the captured bytes, fragments, UDP header. So a foreign packet is skipped even when the
snap length cut it, and a datagram that was cut is `FRAME_CUT` before anything else is said of it.
UDP checksums are not looked at, for the reason given in `ip`.
"""

import struct
from collections.abc import Iterator

from pregao.codecs.pcap.formats import Buffer
from pregao.codecs.pcap.fragments import FragmentKey, Reassembler
from pregao.codecs.pcap.ip import (
    EXTENSION_HEADERS,
    PROTOCOL_UDP,
    Fragment,
    IpPacket,
    parse_ip,
    strip_link,
    walk_extensions,
)
from pregao.codecs.pcap.outcomes import Damage, Datagram, Record, Skip
from pregao.codecs.pcap.records import RecordReader
from pregao.model.errors import Fault

UDP_HEADER_SIZE = 8
_MOST_UNKNOWN = 16  # link types that are told apart; a file may name any number


class DatagramReader:
    """`RecordReader` with the chain behind it: the same windows in, outcomes of packets out."""

    def __init__(self) -> None:
        self.records = RecordReader()
        self.unknown_links: dict[int, int] = {}  # packets of each link type that nobody here knows
        self._reassembler = Reassembler()

    @property
    def position(self) -> int:
        """The byte of the file at which the next window must begin."""
        return self.records.position

    def skip_to(self, position: int, records: int) -> None:
        """The next window begins further on: so many records before it are somebody else's to read."""
        if position > self.position:
            self.records.advance(position - self.position, records)

    def outcomes(self, window: Buffer) -> Iterator[Datagram | Skip | Damage]:
        """One outcome for each packet of the window, and the datagrams it made the reassembler give up."""
        view = memoryview(window).toreadonly()
        base = self.position
        while (outcomes := self.step(view, base)) is not None:
            yield from outcomes

    def step(self, window: memoryview, base: int) -> list[Datagram | Skip | Damage] | None:
        """The outcomes of one record or block of a window that begins at byte `base`."""
        step = self.records.step(window, base)
        if step is None:
            return None
        if not isinstance(step.outcome, Record):
            return [] if step.outcome is None else [step.outcome]
        outcome = datagram_of(step.outcome, self._reassembler)
        if outcome is Skip.UNKNOWN_LINK:
            self._count_unknown(step.outcome.linktype)
        return [*self._reassembler.take_lost(), outcome]

    def _count_unknown(self, linktype: int) -> None:
        if linktype in self.unknown_links or len(self.unknown_links) < _MOST_UNKNOWN:
            self.unknown_links[linktype] = self.unknown_links.get(linktype, 0) + 1

    def finish(self, end: int) -> list[Damage]:
        """What is left to say of a file of `end` bytes: lost fragments, and how it ended."""
        ending = self.records.finish(end)
        return self._reassembler.finish() + ([ending] if ending else [])


def datagram_of(record: Record, reassembler: Reassembler) -> Datagram | Skip | Damage:
    """The datagram in a record; why there is none; or what is wrong, at the record's offset."""
    network = strip_link(record.data, record.linktype)
    if isinstance(network, Skip):
        return network
    if isinstance(network, Fault):
        return _damage(record, network)
    packet = parse_ip(record.data, network, record.original_length)
    if isinstance(packet, Fault):
        return _damage(record, packet)
    if not _may_be_udp(packet):
        return Skip.NON_UDP
    if packet.payload_end > len(record.data):
        return _damage(record, Fault.IP_TRUNCATED)
    if packet.fragment is not None:
        return _reassembled(record, packet, packet.fragment, reassembler)
    offset = record.data_offset + packet.payload_start
    return _udp(record, packet, record.data[packet.payload_start : packet.payload_end], offset)


def _may_be_udp(packet: IpPacket) -> bool:
    """In an IPv6 fragment the UDP header may hide behind extension headers that come in pieces too."""
    if packet.version == 6 and packet.fragment is not None and packet.protocol in EXTENSION_HEADERS:
        return True
    return packet.protocol == PROTOCOL_UDP


def _reassembled(
    record: Record, packet: IpPacket, fragment: Fragment, reassembler: Reassembler
) -> Datagram | Skip | Damage:
    key = FragmentKey(packet.version, packet.src, packet.dst, fragment.identification, packet.protocol)
    piece = record.data[packet.payload_start : packet.payload_end]
    whole = reassembler.add(key, fragment, piece, record)
    if isinstance(whole, Skip):
        return whole
    if isinstance(whole, Fault):
        return _damage(record, whole)
    view, start = memoryview(whole), 0
    if packet.version == 6:
        inner = walk_extensions(view, 0, len(view), packet.protocol)
        if isinstance(inner, Fault):
            return _damage(record, inner)
        if inner.fragment is not None:  # a fragment of a fragment
            return _damage(record, Fault.IP_MALFORMED)
        if inner.protocol != PROTOCOL_UDP:
            return Skip.NON_UDP
        start = inner.payload_start
    return _udp(record, packet, view[start:], None)


def _udp(record: Record, packet: IpPacket, udp: memoryview, offset: int | None) -> Datagram | Damage:
    if len(udp) < UDP_HEADER_SIZE:
        return _damage(record, Fault.UDP_TRUNCATED)
    src_port, dst_port, length = struct.unpack_from(">HHH", udp)
    if not UDP_HEADER_SIZE <= length <= len(udp):
        return _damage(record, Fault.UDP_MALFORMED)
    return Datagram(
        number=record.number,
        ts_ns=record.ts_ns,
        src=packet.src,
        dst=packet.dst,
        src_port=src_port,
        dst_port=dst_port,
        ip_version=packet.version,
        payload=udp[UDP_HEADER_SIZE:length],
        payload_offset=None if offset is None else offset + UDP_HEADER_SIZE,
        record_offset=record.offset,
    )


def _damage(record: Record, fault: Fault) -> Damage:
    """Headers or payload that end too early because the capture cut them are the capture's doing."""
    if record.is_cut and fault in (Fault.LINK_TRUNCATED, Fault.IP_TRUNCATED):
        fault = Fault.FRAME_CUT
    return Damage(fault, record.offset, record.number)
