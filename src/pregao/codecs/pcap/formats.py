"""Which capture format a file has, from its first bytes."""

import struct
from dataclasses import dataclass

Buffer = bytes | bytearray | memoryview

PCAP_MICROSECONDS = 0xA1B2C3D4
PCAP_NANOSECONDS = 0xA1B23C4D
PCAPNG_SECTION_HEADER = 0x0A0D0D0A  # reads the same in both byte orders
PCAPNG_BYTE_ORDER_MAGIC = 0x1A2B3C4D

MAGIC_SIZE = 4
HEAD_SIZE = 24  # a pcap file header; no pcapng section header is shorter

_UNIT_NS = {PCAP_MICROSECONDS: 1000, PCAP_NANOSECONDS: 1}


@dataclass(frozen=True, slots=True)
class PcapHeader:
    """The file header of classic pcap."""

    big_endian: bool
    ts_unit_ns: int  # nanoseconds in one unit of the sub-second part: 1000 or 1
    snaplen: int
    linktype: int
    header_size: int = HEAD_SIZE


@dataclass(frozen=True, slots=True)
class PcapngHeader:
    """The first section header of pcapng: an ordinary block, so nothing of it is consumed."""

    big_endian: bool
    header_size: int = 0


def has_capture_magic(head: Buffer) -> bool:
    """Whether these (at least four) bytes can begin a capture at all."""
    little, big = struct.unpack_from("<I", head)[0], struct.unpack_from(">I", head)[0]
    return little in _UNIT_NS or big in _UNIT_NS or little == PCAPNG_SECTION_HEADER


def recognise(head: Buffer) -> PcapHeader | PcapngHeader | None:
    """The format of a capture from its first `HEAD_SIZE` bytes, or None when it is not one."""
    if len(head) < HEAD_SIZE:
        return None
    for order, big_endian in (("<", False), (">", True)):
        magic = struct.unpack_from(order + "I", head)[0]
        if magic in _UNIT_NS:
            snaplen, network = struct.unpack_from(order + "II", head, 16)
            # The upper half of the link type field tells about frame check sequences.
            return PcapHeader(big_endian, _UNIT_NS[magic], snaplen, network & 0xFFFF)
        byte_order_magic = struct.unpack_from(order + "I", head, 8)[0]
        if magic == PCAPNG_SECTION_HEADER and byte_order_magic == PCAPNG_BYTE_ORDER_MAGIC:
            return PcapngHeader(big_endian)
    return None
