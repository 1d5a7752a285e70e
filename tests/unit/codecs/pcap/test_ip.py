"""IP headers, by hand."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap.ip import Fragment, IpPacket, Network, parse_ip
from pregao.model.errors import Fault

SRC, DST = 0x7F000001, 0xE0000201
SRC6, DST6 = 0x20010DB8 << 96 | 1, 0xFF05 << 112 | 2


def v4(*, first: int = 0x45, total: int = 28, flags: int = 0, protocol: int = 17) -> bytes:
    return struct.pack(">BBHHHBBHII", first, 0, total, 0xBEEF, flags, 64, protocol, 0, SRC, DST)


def v6(length: int, next_header: int, first: int = 0x60) -> bytes:
    header = struct.pack(">BxxxHBB", first, length, next_header, 64)
    return header + SRC6.to_bytes(16, "big") + DST6.to_bytes(16, "big")


def parse(data: bytes, offset: int = 0, *, version: int = 4, wire: int = 0) -> IpPacket | Fault:
    ethertype = 0x0800 if version == 4 else 0x86DD
    return parse_ip(memoryview(data), Network(ethertype, offset), wire or len(data))


def test_ipv4_and_the_padding_behind_it() -> None:
    frame = bytes(14) + v4(total=24) + b"data" + bytes(8)
    assert parse(frame, 14) == IpPacket(4, SRC, DST, 17, 34, 38, None)


def test_ipv4_options() -> None:
    packet = v4(first=0x47, total=32) + bytes(8) + b"data"
    assert parse(packet) == IpPacket(4, SRC, DST, 17, 28, 32, None)


def test_a_total_length_of_zero_is_the_frame() -> None:
    packet = v4(total=0) + b"to be segmented"
    assert parse(packet) == IpPacket(4, SRC, DST, 17, 20, 35, None)
    assert parse(packet, wire=99) == IpPacket(4, SRC, DST, 17, 20, 99, None)  # cut by the capture


def test_a_total_length_past_the_frame_is_kept_for_the_caller_to_judge() -> None:
    assert parse(v4(total=1000)) == IpPacket(4, SRC, DST, 17, 20, 1000, None)


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (0x4000, None),  # don't fragment
        (0x2000, Fragment(0xBEEF, 0, True)),
        (0x2001, Fragment(0xBEEF, 8, True)),
        (0x1FFF, Fragment(0xBEEF, 65528, False)),
    ],
)
def test_ipv4_fragments(flags: int, fragment: Fragment | None) -> None:
    packet = parse(v4(flags=flags) + bytes(8))
    assert isinstance(packet, IpPacket)
    assert packet.fragment == fragment


@pytest.mark.parametrize(
    ("packet", "fault"),
    [
        (b"", Fault.IP_TRUNCATED),
        (v4()[:19], Fault.IP_TRUNCATED),
        (v4(first=0x46), Fault.IP_TRUNCATED),  # options that are not there
        (v4(first=0x65), Fault.IP_MALFORMED),
        (v4(first=0x44), Fault.IP_MALFORMED),
        (v4(total=19), Fault.IP_MALFORMED),
        (v4(first=0x46, total=20) + bytes(4), Fault.IP_MALFORMED),
    ],
)
def test_faults_of_ipv4(packet: bytes, fault: Fault) -> None:
    assert parse(packet) == fault


def test_ipv6() -> None:
    frame = bytes(14) + v6(4, 17) + b"data" + bytes(4)
    assert parse(frame, 14, version=6) == IpPacket(6, SRC6, DST6, 17, 54, 58, None)


def test_ipv6_extension_headers() -> None:
    hop_by_hop = bytes([43, 1]) + bytes(14)
    routing = bytes([60, 0]) + bytes(6)
    destination = bytes([44, 0]) + bytes(6)
    atomic = struct.pack(">BxHI", 17, 0, 77)
    extensions = hop_by_hop + routing + destination + atomic
    packet = v6(len(extensions) + 4, 0) + extensions + b"data"
    assert parse(packet, version=6) == IpPacket(6, SRC6, DST6, 17, 80, 84, None)


def test_an_ipv6_fragment_ends_the_walk() -> None:
    packet = v6(16, 44) + struct.pack(">BxHI", 60, 1480 | 1, 77) + bytes(8)
    assert parse(packet, version=6) == IpPacket(6, SRC6, DST6, 60, 48, 56, Fragment(77, 1480, True))


def test_an_ipv6_length_of_zero_is_the_frame() -> None:
    assert parse(v6(0, 17) + bytes(9), version=6) == IpPacket(6, SRC6, DST6, 17, 40, 49, None)


def extension_chain(count: int) -> bytes:
    return b"".join(bytes([17 if left == 1 else 60, 0]) + bytes(6) for left in range(count, 0, -1))


def test_eight_extension_headers_are_walked_and_no_more() -> None:
    packet = v6(64, 60) + extension_chain(8)
    assert parse(packet, version=6) == IpPacket(6, SRC6, DST6, 17, 104, 104, None)
    assert parse(v6(72, 60) + extension_chain(9), version=6) == Fault.IP_MALFORMED


@pytest.mark.parametrize(
    ("packet", "fault"),
    [
        (v6(0, 17)[:39], Fault.IP_TRUNCATED),
        (v6(8, 17, first=0x40), Fault.IP_MALFORMED),
        (v6(7, 0) + bytes(8), Fault.IP_MALFORMED),  # an extension header past the payload
        (v6(8, 0) + bytes([17, 1]) + bytes(6), Fault.IP_MALFORMED),
        (v6(8, 0) + bytes(7), Fault.IP_TRUNCATED),
        (v6(7, 44) + bytes(8), Fault.IP_MALFORMED),
    ],
)
def test_faults_of_ipv6(packet: bytes, fault: Fault) -> None:
    assert parse(packet, version=6) == fault


@given(st.sampled_from([4, 6]), st.binary(max_size=120), st.integers(0, 200))
def test_any_bytes(version: int, tail: bytes, wire: int) -> None:
    packet = parse(bytes([version << 4 | 5]) + tail, version=version, wire=wire)
    if isinstance(packet, IpPacket):
        assert 20 <= packet.payload_start <= packet.payload_end
