"""What we write, against bytes by hand and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.pcap import writer
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.model.errors import EncodeError


def test_a_file_by_hand() -> None:
    assert writer.pcap_header() == bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
    big = writer.pcap_header(nanoseconds=False, big_endian=True, linktype=101)
    assert big == bytes.fromhex("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000065")
    record = writer.pcap_record(3_000_005_999, b"ab", nanoseconds=False, original_length=9)
    assert record == bytes.fromhex("03000000 05000000 02000000 09000000") + b"ab"


def test_a_frame_by_hand() -> None:
    frame = writer.ethernet_udp_frame(
        b"hi", src="127.0.0.1", dst="239.255.2.1", src_port=5000, dst_port=30001
    )
    assert frame == bytes.fromhex(
        "01005e7f0201 020000000001 08004500001e 00000000 1011 39ce 7f000001 efff02011388 7531 000a 9db5 6869"
    )


def checksum_holds(data: bytes) -> bool:
    """The definition: all 16-bit words, the checksum among them, sum to ffff in ones' complement."""
    padded = data + b"\0" * (len(data) % 2)
    total = sum(padded[at] << 8 | padded[at + 1] for at in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total == 0xFFFF


@given(
    payload=st.binary(max_size=1400),
    src=st.integers(0, 2**32 - 1),
    dst=st.integers(0, 2**32 - 1),
    ports=st.tuples(st.integers(0, 65535), st.integers(0, 65535)),
    options=st.integers(0, 10).map(lambda words: b"\1" * (4 * words)),
)
def test_checksums(payload: bytes, src: int, dst: int, ports: tuple[int, int], options: bytes) -> None:
    udp = writer.udp_datagram(payload, src, dst, *ports)
    packet = writer.ipv4_packet(udp, src, dst, options=options)
    pseudo = packet[12:20] + b"\0\x11" + udp[4:6]
    assert checksum_holds(packet[: 20 + len(options)])
    assert checksum_holds(pseudo + udp)


@given(
    payloads=st.lists(st.binary(max_size=50), min_size=1, max_size=5),
    ipv6=st.booleans(),
    nanoseconds=st.booleans(),
    big_endian=st.booleans(),
    vlan_tags=st.lists(
        st.tuples(st.sampled_from([0x8100, 0x88A8, 0x9100]), st.integers(0, 4095)), max_size=4
    ),
)
def test_what_was_written_is_read(
    payloads: list[bytes],
    ipv6: bool,
    nanoseconds: bool,
    big_endian: bool,
    vlan_tags: list[tuple[int, int]],
) -> None:
    src, dst = ("2001:db8::1", "ff05::2") if ipv6 else ("127.0.0.1", "224.0.2.1")
    data = writer.pcap_header(nanoseconds=nanoseconds, big_endian=big_endian)
    for number, payload in enumerate(payloads):
        frame = writer.ethernet_udp_frame(
            payload, src=src, dst=dst, src_port=1, dst_port=2, vlan_tags=vlan_tags, ipv6=ipv6
        )
        data += writer.pcap_record(number * 1_000_000, frame, nanoseconds=nanoseconds, big_endian=big_endian)
    reader = DatagramReader()
    outcomes = list(reader.outcomes(data))
    datagrams = [outcome for outcome in outcomes if isinstance(outcome, Datagram)]
    assert [bytes(datagram.payload) for datagram in datagrams] == payloads
    assert [datagram.ts_ns for datagram in datagrams] == [n * 1_000_000 for n in range(len(payloads))]
    assert {(d.src, d.dst) for d in datagrams} == {(writer.address(src), writer.address(dst))}
    assert reader.finish(len(data)) == []


@pytest.mark.parametrize(
    ("dst", "ipv6", "mac"),
    [
        ("224.0.2.1", False, "01005e000201"),
        ("239.255.2.1", False, "01005e7f0201"),  # only 23 bits of the group
        ("127.0.0.2", False, "020000000002"),
        ("ff05::1:2", True, "333300010002"),
        ("2001:db8::2", True, "020000000002"),
    ],
)
def test_destination_macs(dst: str, ipv6: bool, mac: str) -> None:
    assert writer.ethernet_frame(b"", writer.address(dst), ipv6=ipv6)[:6].hex() == mac


def test_pcapng_by_hand() -> None:
    assert writer.pcapng_section_header() == bytes.fromhex(
        "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"
    )
    assert writer.pcapng_interface(tsresol=9, tsoffset_s=1, big_endian=True) == bytes.fromhex(
        "00000001 0000002c 0001 0000 000000000009 0001 09000000 000e 0008 0000000000000001 0000 0000 0000002c"
    )
    assert writer.pcapng_packet(2**32 + 2, b"abc") == bytes.fromhex(
        "06000000 24000000 00000000 01000000 02000000 03000000 03000000 61626300 24000000"
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(EncodeError):
        writer.udp_datagram(bytes(65528), 1, 2, 3, 4)
    with pytest.raises(EncodeError):
        writer.ipv4_packet(bytes(65516), 1, 2)
    with pytest.raises(EncodeError):
        writer.ipv4_packet(b"", 1, 2, options=b"odd")
    with pytest.raises(EncodeError):
        writer.ipv6_packet(bytes(65536), 1, 2)
