"""The first bytes of a capture."""

import struct

import pytest

from pregao.codecs.pcap.formats import PcapHeader, PcapngHeader, has_capture_magic, recognise


@pytest.mark.parametrize(
    ("magic", "big_endian", "unit"),
    [
        ("d4c3b2a1", False, 1000),
        ("a1b2c3d4", True, 1000),
        ("4d3cb2a1", False, 1),
        ("a1b23c4d", True, 1),
    ],
)
def test_the_four_magics_of_pcap(magic: str, big_endian: bool, unit: int) -> None:
    rest = struct.pack(">HHiIII" if big_endian else "<HHiIII", 2, 4, 0, 0, 65535, 113)
    head = bytes.fromhex(magic) + rest
    assert has_capture_magic(head)
    assert recognise(head) == PcapHeader(big_endian, unit, 65535, 113, 24)


def test_the_upper_half_of_the_link_type_is_not_the_link_type() -> None:
    # Bits 28–31: four bytes of frame check sequence; bit 26 says that this field is valid.
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 0x24000001)
    header = recognise(head)
    assert isinstance(header, PcapHeader)
    assert header.linktype == 1


@pytest.mark.parametrize(("order", "big_endian"), [("<", False), (">", True)])
def test_pcapng_in_both_byte_orders(order: str, big_endian: bool) -> None:
    head = struct.pack(order + "IIIHHq", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1)
    assert has_capture_magic(head)
    assert recognise(head) == PcapngHeader(big_endian)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xd4\xc3\xb2\xa1",
        b"\xd4\xc3\xb2\xa1" + bytes(19),
        bytes(24),
        b"GET / HTTP/1.1\r\nHost: b3",
        struct.pack("<IIIHHq", 0x0A0D0D0A, 28, 0x11223344, 1, 0, -1),
    ],
)
def test_anything_else_is_not_a_capture(head: bytes) -> None:
    assert recognise(head) is None


def test_no_magic() -> None:
    assert not has_capture_magic(b"PK\x03\x04")
