"""The whole chain, from records to datagrams."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap import writer
from pregao.codecs.pcap.datagrams import DatagramReader, datagram_of
from pregao.codecs.pcap.fragments import Reassembler
from pregao.codecs.pcap.outcomes import Damage, Datagram, Record, Skip
from pregao.model.errors import Fault

SRC, DST = 0x7F000001, 0xE0000201
SRC6, DST6 = 0x20010DB8 << 96 | 1, 0xFF05 << 112 | 2

# Ethernet, IPv4 (127.0.0.1 → 224.0.2.1), UDP 5000 → 30001, four bytes, then Ethernet padding.
BY_HAND = bytes.fromhex(
    "01005e000201 020000000001 0800"
    "45 00 0020 0000 0000 10 11 0000 7f000001 e0000201"
    "1388 7531 000c 0000 70617373 0000 0000 0000"
)


def record(frame: bytes, linktype: int = 1, *, original: int | None = None, number: int = 1) -> Record:
    length = len(frame) if original is None else original
    return Record(number, 1000, 42, linktype, 1016, memoryview(frame), length)


def outcome(frame: bytes, linktype: int = 1, original: int | None = None) -> Datagram | Skip | Damage:
    return datagram_of(record(frame, linktype, original=original), Reassembler())


def fault(frame: bytes, linktype: int = 1, original: int | None = None) -> Fault:
    damage = outcome(frame, linktype, original)
    assert isinstance(damage, Damage)
    assert (damage.offset, damage.number, damage.left) == (1000, 1, 0)
    return damage.fault


def test_a_frame_by_hand() -> None:
    expected = Datagram(1, 42, SRC, DST, 5000, 30001, 4, memoryview(b"pass"), 1016 + 42, 1000)
    assert outcome(BY_HAND) == expected


@pytest.mark.parametrize(
    ("linktype", "link"),
    [
        (1, bytes(12) + bytes.fromhex("0800")),
        (1, bytes(12) + bytes.fromhex("88a8 0001 8100 0002 0800")),
        (113, bytes(14) + bytes.fromhex("0800")),
        (276, bytes.fromhex("0800") + bytes(18)),
        (12, b""),
        (14, b""),
        (101, b""),
        (228, b""),
        (0, b"\2\0\0\0"),
        (0, b"\0\0\0\2"),
        (108, b"\0\0\0\2"),
    ],
)
def test_every_link_layer(linktype: int, link: bytes) -> None:
    datagram = outcome(link + BY_HAND[14:], linktype)
    assert isinstance(datagram, Datagram)
    assert bytes(datagram.payload) == b"pass"
    assert datagram.payload_offset == 1016 + len(link) + 28


def test_ipv6() -> None:
    packet = writer.ipv6_packet(writer.udp_datagram(b"six", SRC6, DST6, 1, 2, ipv6=True), SRC6, DST6)
    assert outcome(packet, 229) == Datagram(1, 42, SRC6, DST6, 1, 2, 6, memoryview(b"six"), 1016 + 48, 1000)


def test_others_are_skipped_even_when_cut() -> None:
    tcp = BY_HAND[:23] + b"\6" + BY_HAND[24:]
    assert outcome(tcp) == Skip.NON_UDP
    assert outcome(tcp[:40], original=1500) == Skip.NON_UDP
    assert outcome(bytes(12) + b"\x08\x06", original=60) == Skip.NON_IP
    assert outcome(BY_HAND, 147) == Skip.UNKNOWN_LINK


@pytest.mark.parametrize("length", range(46))
def test_a_frame_cut_by_the_snap_length(length: int) -> None:
    assert fault(BY_HAND[:length], original=len(BY_HAND)) == Fault.FRAME_CUT


@pytest.mark.parametrize("length", range(46, 52))
def test_padding_may_be_cut(length: int) -> None:
    datagram = outcome(BY_HAND[:length], original=len(BY_HAND))
    assert isinstance(datagram, Datagram)
    assert bytes(datagram.payload) == b"pass"


@pytest.mark.parametrize("length", range(46))
def test_a_frame_that_was_short_on_the_wire(length: int) -> None:
    assert fault(BY_HAND[:length]) == (Fault.LINK_TRUNCATED if length < 14 else Fault.IP_TRUNCATED)


def with_udp(total: int, udp_length: int) -> bytes:
    head = BY_HAND[:16] + struct.pack(">H", total) + BY_HAND[18:38]
    return head + struct.pack(">H", udp_length) + BY_HAND[40:]


@pytest.mark.parametrize(
    ("total", "udp_length", "expected"),
    [
        (20, 12, Fault.UDP_TRUNCATED),
        (27, 12, Fault.UDP_TRUNCATED),
        (32, 13, Fault.UDP_MALFORMED),
        (32, 7, Fault.UDP_MALFORMED),
        (32, 0, Fault.UDP_MALFORMED),
        (19, 12, Fault.IP_MALFORMED),
    ],
)
def test_lengths_that_lie(total: int, udp_length: int, expected: Fault) -> None:
    assert fault(with_udp(total, udp_length)) == expected


@pytest.mark.parametrize(("total", "udp_length", "payload"), [(32, 9, b"p"), (32, 8, b""), (0, 12, b"pass")])
def test_the_udp_length_ends_the_payload(total: int, udp_length: int, payload: bytes) -> None:
    datagram = outcome(with_udp(total, udp_length))
    assert isinstance(datagram, Datagram)
    assert datagram.payload == payload


def test_a_segmented_frame_that_was_cut() -> None:
    assert fault(with_udp(0, 1000), original=1034) == Fault.FRAME_CUT


def test_ipv4_fragments() -> None:
    udp = writer.udp_datagram(bytes(range(100)), SRC, DST, 1, 2)
    first = writer.ipv4_packet(udp[:56], SRC, DST, identification=7, more_fragments=True)
    last = writer.ipv4_packet(udp[56:], SRC, DST, identification=7, fragment_offset=56)
    reassembler = Reassembler()
    assert datagram_of(record(last, 101, number=1), reassembler) == Skip.FRAGMENT_PENDING
    datagram = datagram_of(record(first + bytes(6), 101, number=2), reassembler)
    assert datagram == Datagram(2, 42, SRC, DST, 1, 2, 4, memoryview(bytes(range(100))), None, 1000)


def ipv6_fragments(whole: bytes, protocol: int) -> Datagram | Skip | Damage:
    reassembler = Reassembler()
    result: Datagram | Skip | Damage = Skip.FRAGMENT_PENDING
    for start in range(0, len(whole), 8):
        assert result == Skip.FRAGMENT_PENDING
        more = start + 8 < len(whole)
        packet = writer.ipv6_fragment(
            whole[start : start + 8], SRC6, DST6, identification=9, offset=start, more=more, protocol=protocol
        )
        result = datagram_of(record(packet, 229), reassembler)
    return result


def test_ipv6_fragments() -> None:
    udp = writer.udp_datagram(b"0123456789", SRC6, DST6, 1, 2, ipv6=True)
    expected = Datagram(1, 42, SRC6, DST6, 1, 2, 6, memoryview(b"0123456789"), None, 1000)
    assert ipv6_fragments(udp, 17) == expected
    assert ipv6_fragments(bytes([17, 1]) + bytes(14) + udp, 60) == expected  # behind options
    assert ipv6_fragments(bytes([6, 0]) + bytes(14), 60) == Skip.NON_UDP
    assert ipv6_fragments(bytes([17, 9]) + bytes(14), 60) == Damage(Fault.IP_MALFORMED, 1000, 1)
    nested = struct.pack(">BxHI", 17, 1, 5)
    assert ipv6_fragments(bytes([44, 0]) + bytes(6) + nested, 60) == Damage(Fault.IP_MALFORMED, 1000, 1)


def test_fragments_of_other_protocols_are_skipped() -> None:
    tcp = writer.ipv4_packet(bytes(8), SRC, DST, protocol=6, more_fragments=True)
    assert outcome(tcp, 101) == Skip.NON_UDP


def test_a_capture_of_everything() -> None:
    fragment = writer.ipv4_packet(bytes(8), SRC, DST, identification=1, more_fragments=True)
    frames = [
        BY_HAND,
        writer.ethernet_frame(fragment, DST),
        bytes(12) + b"\x08\x06",
        writer.ethernet_frame(
            writer.ipv4_packet(bytes(8), SRC, DST, identification=2, fragment_offset=8), DST
        ),
        BY_HAND[:30],
    ]
    times = [0, 0, 0, 31 * 10**9, 0]
    data = writer.pcap_header() + b"".join(map(writer.pcap_record, times, frames)) + b"cut"
    reader = DatagramReader()
    outcomes = list(reader.outcomes(data))
    first = outcomes[0]
    assert isinstance(first, Datagram)
    assert first.payload_offset is not None
    assert data[first.payload_offset : first.payload_offset + 4] == b"pass"
    second = 24 + 16 + len(BY_HAND)
    assert outcomes[1:4] == [
        Skip.FRAGMENT_PENDING,
        Skip.NON_IP,
        Damage(Fault.FRAGMENT_LOST, second, 2),  # given up when the fourth packet came
    ]
    assert outcomes[4] == Skip.FRAGMENT_PENDING
    assert isinstance(outcomes[5], Damage)
    assert outcomes[5].fault == Fault.IP_TRUNCATED
    assert reader.position == len(data) - 3
    lost, ending = reader.finish(len(data))
    assert (lost.fault, lost.number) == (Fault.FRAGMENT_LOST, 4)
    assert ending == Damage(Fault.RECORD_TRUNCATED, len(data) - 3, 6, left=3)


LINKTYPES = [0, 1, 12, 14, 101, 108, 113, 228, 229, 276, 999]


@given(st.sampled_from(LINKTYPES), st.binary(max_size=120), st.integers(0, 200))
def test_any_frame_has_an_outcome(linktype: int, frame: bytes, original: int) -> None:
    assert isinstance(outcome(frame, linktype, original), Datagram | Skip | Damage)


@given(st.lists(st.tuples(st.integers(0, len(BY_HAND) - 1), st.integers(0, 255))))
def test_any_damaged_frame_has_an_outcome_within_it(damages: list[tuple[int, int]]) -> None:
    frame = bytearray(BY_HAND)
    for at, value in damages:
        frame[at] = value
    datagram = outcome(bytes(frame))
    if isinstance(datagram, Datagram):
        assert datagram.payload_offset is not None
        start = datagram.payload_offset - 1016
        assert frame[start : start + len(datagram.payload)] == datagram.payload
