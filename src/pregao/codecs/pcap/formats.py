"""Which capture format a file has, from its first bytes."""

import struct
from dataclasses import dataclass
from typing import NamedTuple

from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.model.errors import Fault

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


# The records of classic pcap: a 16-byte header, then the frame.


RECORD_HEADER_SIZE = 16
# libpcap's largest snap length, and some room for the link header of writers that add it on top.
MAX_RECORD = 262_144 + 4_096
NS_PER_SECOND = 1_000_000_000


class TakenRecord(NamedTuple):
    """One record or block taken from a window: its size, and what it held for the caller.

    `outcome` is None for a block that is no packet; every other step counts one packet.
    """

    size: int
    outcome: Record | Damage | None


class PcapRecords:
    """Takes classic pcap apart, one record a step. Has no state but the file header."""

    def __init__(self, header: PcapHeader) -> None:
        self._header = header
        self._fields = struct.Struct(">IIII" if header.big_endian else "<IIII")

    def step(self, window: memoryview, at: int, offset: int, number: int) -> TakenRecord | Fault | None:
        """The record at `at`, which is byte `offset` of the file and would be packet `number`.

        None when the window ends before the record does; a Fault when the file cannot be read on.
        """
        if at + RECORD_HEADER_SIZE > len(window):
            return None
        seconds, fraction, captured, original = self._fields.unpack_from(window, at)
        if captured > MAX_RECORD:
            return Fault.RECORD_TOO_LONG
        start, end = at + RECORD_HEADER_SIZE, at + RECORD_HEADER_SIZE + captured
        if end > len(window):
            return None
        record = Record(
            number=number,
            offset=offset,
            # A sub-second part of a second or more is added as it stands: 2^32 units cannot overflow.
            ts_ns=seconds * NS_PER_SECOND + fraction * self._header.ts_unit_ns,
            linktype=self._header.linktype,
            data_offset=offset + RECORD_HEADER_SIZE,
            data=window[start:end],
            original_length=original,
        )
        return TakenRecord(end - at, record)
