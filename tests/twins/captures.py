"""Packets put together from messages, and captures from packets, in many shapes."""

import random
from collections.abc import Iterable, Sequence

from pregao.codecs.pcap.writer import (
    ethernet_frame,
    ethernet_udp_frame,
    ipv4_packet,
    ipv6_fragment,
    ipv6_packet,
    pcap_header,
    pcap_record,
    pcapng_block,
    pcapng_interface,
    pcapng_packet,
    pcapng_section_header,
    udp_datagram,
)
from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import SBE_BIG_ENDIAN, SBE_LITTLE_ENDIAN, PacketHeader, frame

START_NS = 1_700_000_000_123_456_789
SOURCE, GROUP = 0x0A000001, 0xE0001401
SOURCE6, GROUP6 = 0x20010DB8 << 96 | 1, 0xFF05 << 112 | 0x1234
PORT = 20_001

ETHERNET, RAW, SLL, SLL2, LOOP, NULL, IPV4_ONLY, STRANGE = 1, 101, 113, 276, 108, 0, 228, 147
LINKTYPES = (ETHERNET, RAW, SLL, SLL2, LOOP, NULL, IPV4_ONLY, 12, STRANGE)


def packet(schema: Schema, messages: Iterable[bytes], rng: random.Random) -> bytes:
    """A packet with a random header around some messages."""
    encoding = SBE_LITTLE_ENDIAN if schema.byte_order == "<" else SBE_BIG_ENDIAN
    time = rng.choice((START_NS, rng.getrandbits(64)))
    header = PacketHeader(rng.randrange(256), rng.randrange(4), rng.getrandbits(32), time, rng.randrange(2))
    return header.encode() + b"".join(frame(message, encoding) for message in messages)


def pcap(payloads: Iterable[bytes]) -> bytes:
    """An ordinary capture: Ethernet, IPv4, nanoseconds."""
    parts = [pcap_header()]
    for number, payload in enumerate(payloads):
        parts.append(pcap_record(START_NS + number * 1_000, udp_frame(payload)))
    return b"".join(parts)


def udp_frame(payload: bytes) -> bytes:
    return ethernet_udp_frame(payload, src=SOURCE, dst=GROUP, src_port=PORT, dst_port=PORT)


class FrameMaker:
    """Frames of every shape the link and IP layers know, and of some they do not."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._identification = 0

    def frames(self, payload: bytes, linktype: int) -> list[bytes]:
        """The frames of one datagram: one, or some fragments with others' frames between."""
        rng, kind = self._rng, self._rng.random()
        if kind < 0.12:
            return [self._link(piece, linktype, 6) for piece in self._fragments6(payload)]
        if kind < 0.24:
            return [self._link(piece, linktype, 4) for piece in self._fragments4(payload)]
        if kind < 0.34:
            udp = udp_datagram(payload, SOURCE6, GROUP6, PORT, PORT, ipv6=True)
            return [self._link(ipv6_packet(udp, SOURCE6, GROUP6), linktype, 6)]
        udp = udp_datagram(payload, SOURCE, GROUP + rng.randrange(3), PORT, PORT + rng.randrange(3))
        options = bytes(rng.choice((0, 0, 4, 8, 40)))
        protocol = 6 if kind > 0.94 else 17
        packet4 = ipv4_packet(udp, SOURCE, GROUP + rng.randrange(3), options=options, protocol=protocol)
        padding = bytes(rng.choice((0, 0, 6)))
        return [self._link(packet4, linktype, 4) + padding]

    def _pieces(self, datagram: bytes) -> list[tuple[int, bytes, bool]]:
        size = self._rng.choice((8, 16, 64, 512))
        size = max(size, len(datagram) // 64 * 8 + 8)
        starts = range(0, len(datagram), size)
        pieces = [(at, datagram[at : at + size], at + size < len(datagram)) for at in starts]
        if self._rng.random() < 0.4:
            self._rng.shuffle(pieces)
        if self._rng.random() < 0.1:
            pieces.pop()
        return pieces

    def _fragments4(self, payload: bytes) -> list[bytes]:
        self._identification += 1
        udp, group = udp_datagram(payload, SOURCE, GROUP, PORT, PORT), GROUP
        number = self._identification & 0xFFFF
        return [
            ipv4_packet(piece, SOURCE, group, identification=number, fragment_offset=at, more_fragments=more)
            for at, piece, more in self._pieces(udp)
        ]

    def _fragments6(self, payload: bytes) -> list[bytes]:
        self._identification += 1
        udp = udp_datagram(payload, SOURCE6, GROUP6, PORT, PORT, ipv6=True)
        return [
            ipv6_fragment(piece, SOURCE6, GROUP6, identification=self._identification, offset=at, more=more)
            for at, piece, more in self._pieces(udp)
        ]

    def _link(self, ip: bytes, linktype: int, version: int) -> bytes:
        rng, ipv6 = self._rng, version == 6
        ethertype = (0x86DD if ipv6 else 0x0800) if rng.random() > 0.03 else 0x0806
        kind = ethertype.to_bytes(2, "big")
        if linktype == ETHERNET:
            tags = rng.choice(((), (), (0x8100,), (0x88A8, 0x8100), (0x9100,) * 4, (0x8100,) * 5))
            made = ethernet_frame(ip, GROUP6 if ipv6 else GROUP, ipv6=ipv6, vlan_tags=[(t, 7) for t in tags])
            return made if ethertype != 0x0806 else made[:12] + kind + made[14:]
        if linktype == SLL:
            return bytes(14) + kind + ip
        if linktype == SLL2:
            return kind + bytes(18) + ip
        if linktype in (LOOP, NULL):
            order = "big" if linktype == LOOP or rng.random() < 0.5 else "little"
            return (30 if ipv6 else 2).to_bytes(4, order) + ip
        return ip


def mixed_pcap(payloads: Sequence[bytes], rng: random.Random) -> bytes:
    """A classic capture of any link type, unit and byte order; some frames cut by the snap length."""
    big, nano, linktype = rng.random() < 0.5, rng.random() < 0.5, rng.choice(LINKTYPES)
    maker, parts = FrameMaker(rng), [pcap_header(nanoseconds=nano, big_endian=big, linktype=linktype)]
    for number, payload in enumerate(payloads):
        for made in maker.frames(payload, linktype):
            original = len(made)
            kept = made[: rng.randrange(len(made))] if rng.random() < 0.05 else made
            ts_ns = START_NS + number * 1_000_003
            parts.append(pcap_record(ts_ns, kept, nanoseconds=nano, big_endian=big, original_length=original))
    return b"".join(parts)


def mixed_pcapng(payloads: Sequence[bytes], rng: random.Random) -> bytes:
    """Sections of either byte order, each with interfaces of other link types and resolutions."""
    maker, parts = FrameMaker(rng), []
    remaining = list(payloads)
    while remaining or not parts:
        big = rng.random() < 0.5
        linktypes = [rng.choice(LINKTYPES) for _ in range(rng.randint(1, 4))]
        parts.append(pcapng_section_header(big_endian=big))
        parts += [_interface(linktype, big, rng) for linktype in linktypes]
        taken, remaining = remaining[:40], remaining[40:]
        for payload in taken:
            interface = rng.randrange(len(linktypes))
            for made in maker.frames(payload, linktypes[interface]):
                parts.append(_packet_block(made, interface, big, rng))
    return b"".join(parts)


def _interface(linktype: int, big: bool, rng: random.Random) -> bytes:
    resolution = rng.choice((None, 9, 9, 6, 3, 0, 12, 0x80 | 10, 0x80 | 30))
    offset = rng.choice((None, None, 0, -5, 1 << 31, 1 << 32, -(1 << 40)))
    return pcapng_interface(linktype=linktype, tsresol=resolution, tsoffset_s=offset, big_endian=big)


def _packet_block(made: bytes, interface: int, big: bool, rng: random.Random) -> bytes:
    order = "big" if big else "little"
    kind = rng.random()
    if kind < 0.03:  # a simple packet: always of interface 0
        return pcapng_block(3, len(made).to_bytes(4, order) + made, big_endian=big)
    if kind < 0.06:  # a block to step over
        return pcapng_block(4, rng.randbytes(12), big_endian=big)
    if kind < 0.08:  # an interface that is not there
        interface = 99
    units = rng.choice((START_NS, START_NS, START_NS // 1_000, rng.getrandbits(64), (1 << 63) - 1))
    return pcapng_packet(units, made, interface=interface, big_endian=big)
