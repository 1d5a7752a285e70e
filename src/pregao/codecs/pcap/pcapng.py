"""The blocks of pcapng: sections in either byte order, interfaces, and three kinds of packet.

Rules:
- A block whose lengths are wrong, or a section or interface block whose content is wrong, ends the
  reading: after it neither the next block nor the meaning of a packet can be known.
- A packet block with sound lengths and wrong content is one damaged packet; reading goes on.
- All other blocks are stepped over.
"""

import struct
from dataclasses import dataclass

from pregao.codecs.pcap.formats import (
    NS_PER_SECOND,
    PCAPNG_BYTE_ORDER_MAGIC,
    PCAPNG_SECTION_HEADER,
    TakenRecord,
)
from pregao.codecs.pcap.outcomes import Damage, Record
from pregao.model.errors import Fault

INTERFACE_DESCRIPTION = 1
PACKET = 2  # obsolete
SIMPLE_PACKET = 3
ENHANCED_PACKET = 6

MIN_BLOCK = 12
MIN_SECTION_HEADER = 28
MAX_BLOCK = 16 * 1024 * 1024
MAX_INTERFACES = 4096  # in one section

OPTION_END = 0
OPTION_TSRESOL = 9
OPTION_TSOFFSET = 14

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Interface:
    """What an interface description says about its packets."""

    linktype: int
    snaplen: int  # 0: no limit
    units_per_second: int = 1_000_000
    offset_s: int = 0


def units_per_second(tsresol: int) -> int:
    """if_tsresol: a negative power of ten, or of two when the highest bit is set."""
    exponent = tsresol & 0x7F
    return 1 << exponent if tsresol & 0x80 else int(10**exponent)


def timestamp_ns(units: int, interface: Interface) -> int:
    """Units since the epoch as nanoseconds, rounded down, held within int64."""
    ts_ns = units * NS_PER_SECOND // interface.units_per_second + interface.offset_s * NS_PER_SECOND
    return min(max(ts_ns, INT64_MIN), INT64_MAX)


class PcapngBlocks:
    """Takes pcapng apart, one block a step; remembers the section's byte order and interfaces."""

    def __init__(self) -> None:
        self.order = "<"
        self.interfaces: list[Interface] = []

    def step(self, window: memoryview, at: int, offset: int, number: int) -> TakenRecord | Fault | None:
        """The block at `at`, which is byte `offset` of the file; a packet in it would be `number`.

        None when the window ends before the block does; a Fault when the file cannot be read on.
        Nothing is remembered of a block before all of it is there.
        """
        if at + MIN_BLOCK > len(window):
            return None
        order = self._order_at(window, at)
        if order is None:
            return Fault.RECORD_MALFORMED
        kind, length = struct.unpack_from(order + "II", window, at)
        if length < MIN_BLOCK or length % 4:
            return Fault.RECORD_MALFORMED
        if length > MAX_BLOCK:
            return Fault.RECORD_TOO_LONG
        if at + length > len(window):
            return None
        if struct.unpack_from(order + "I", window, at + length - 4)[0] != length:
            return Fault.RECORD_MALFORMED

        body = window[at + 8 : at + length - 4]
        if kind == PCAPNG_SECTION_HEADER:
            return self._begin_section(order, body, length)
        if kind == INTERFACE_DESCRIPTION:
            return self._add_interface(body, length)
        if kind in (ENHANCED_PACKET, PACKET, SIMPLE_PACKET):
            packet = self._simple_packet(body) if kind == SIMPLE_PACKET else self._packet(kind, body)
            return TakenRecord(length, _outcome(packet, body, offset, number))
        return TakenRecord(length, None)

    def _order_at(self, window: memoryview, at: int) -> str | None:
        """The byte order of the block: a section header brings its own."""
        if struct.unpack_from("<I", window, at)[0] != PCAPNG_SECTION_HEADER:
            return self.order
        for order in "<>":
            if struct.unpack_from(order + "I", window, at + 8)[0] == PCAPNG_BYTE_ORDER_MAGIC:
                return order
        return None

    def _begin_section(self, order: str, body: memoryview, length: int) -> TakenRecord | Fault:
        """The section length is not used: it is often -1, and blocks are walked one by one."""
        if length < MIN_SECTION_HEADER or struct.unpack_from(order + "H", body, 4)[0] != 1:
            return Fault.RECORD_MALFORMED
        self.order, self.interfaces = order, []
        return TakenRecord(length, None)

    def _add_interface(self, body: memoryview, length: int) -> TakenRecord | Fault:
        if len(body) < 8 or len(self.interfaces) == MAX_INTERFACES:
            return Fault.RECORD_MALFORMED
        interface = _interface(body, self.order)
        if interface is None:
            return Fault.RECORD_MALFORMED
        self.interfaces.append(interface)
        return TakenRecord(length, None)

    def _packet(self, kind: int, body: memoryview) -> "_Packet | None":
        """The enhanced and the obsolete packet block differ only in the width of the interface."""
        if len(body) < 20:
            return None
        high, low, captured, original = struct.unpack_from(self.order + "IIII", body, 4)
        number = struct.unpack_from(self.order + ("I" if kind == ENHANCED_PACKET else "H"), body)[0]
        if number >= len(self.interfaces) or 20 + captured > len(body):
            return None
        interface = self.interfaces[number]
        ts_ns = timestamp_ns(high << 32 | low, interface)
        return _Packet(ts_ns, interface.linktype, 20, captured, original)

    def _simple_packet(self, body: memoryview) -> "_Packet | None":
        """No time (0), always interface 0, and the captured length follows from its snap length."""
        if len(body) < 4 or not self.interfaces:
            return None
        original = struct.unpack_from(self.order + "I", body)[0]
        interface = self.interfaces[0]
        captured = min(original, interface.snaplen) if interface.snaplen else original
        if 4 + captured > len(body):
            return None
        return _Packet(0, interface.linktype, 4, captured, original)


@dataclass(frozen=True, slots=True)
class _Packet:
    ts_ns: int
    linktype: int
    start: int  # of the frame in the block's body
    captured: int
    original: int


def _outcome(packet: _Packet | None, body: memoryview, offset: int, number: int) -> Record | Damage:
    if packet is None:
        return Damage(Fault.RECORD_MALFORMED, offset, number)
    return Record(
        number=number,
        offset=offset,
        ts_ns=packet.ts_ns,
        linktype=packet.linktype,
        data_offset=offset + 8 + packet.start,
        data=body[packet.start : packet.start + packet.captured],
        original_length=packet.original,
    )


def _interface(body: memoryview, order: str) -> Interface | None:
    """An interface with its time options; None when the option list is broken."""
    linktype, _, snaplen = struct.unpack_from(order + "HHI", body)
    units, offset_s = 1_000_000, 0
    at = 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        if code == OPTION_END:
            break
        at += 4
        if at + size > len(body):
            return None
        if code == OPTION_TSRESOL:
            if size != 1:
                return None
            units = units_per_second(body[at])
        elif code == OPTION_TSOFFSET:
            if size != 8:
                return None
            offset_s = struct.unpack_from(order + "q", body, at)[0]
        at += (size + 3) & ~3
    return Interface(linktype, snaplen, units, offset_s)
