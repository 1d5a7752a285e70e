"""Runs of ordinary datagrams, taken from a capture by machine code.

The kernel knows the ordinary shapes: classic pcap and pcapng's enhanced packets, Ethernet with
or without VLAN tags, cooked and raw frames, IPv4, UDP. At anything else (a fragment, IPv6, any
fault, a section or interface block) it stops and says so, and the plain chain of `datagrams`
judges that one record: so there is one place that decides what is wrong, and it is readable.
"""

import numpy as np

from pregao.codecs.pcap.classic import MAX_RECORD, NS_PER_SECOND, RECORD_HEADER_SIZE
from pregao.codecs.pcap.link import LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2, LINKTYPE_RAW
from pregao.codecs.pcap.outcomes import Skip
from pregao.codecs.pcap.pcapng import ENHANCED_PACKET, MAX_BLOCK
from pregao.kernels import kernel, load_u8, load_u16, load_u32

OK = 0
UNUSUAL = 255  # for the plain chain
NON_IP = int(Skip.NON_IP)
NON_UDP = int(Skip.NON_UDP)

# Why a run ended.
ENDED_FULL = 0  # the run's arrays are full
ENDED_WINDOW = 1  # no whole record is left in the window
ENDED_UNUSUAL = 2  # the record at the position is for the plain chain

# What a capture's records look like to the kernel: one row of `shape`.
PCAP, PCAPNG = 0, 1
SHAPE_FORM, SHAPE_SWAPPED, SHAPE_UNIT_NS, SHAPE_LINKTYPE = 0, 1, 2, 3
SHAPE_SIZE = 4
# A row of `interfaces` (pcapng): link type, nanoseconds a unit (0: not exact, unusual), offset.
INTERFACE_LINKTYPE, INTERFACE_UNIT_NS, INTERFACE_OFFSET_NS = 0, 1, 2
INTERFACE_SIZE = 3

_ETHERNET = 1
_MAX_TAGS = 4


@kernel
def swap16(value):
    return ((value & 0xFF) << 8) | (value >> 8)


@kernel
def swap32(value):
    return (
        ((value & np.uint32(0xFF)) << np.uint32(24))
        | ((value & np.uint32(0xFF00)) << np.uint32(8))
        | ((value >> np.uint32(8)) & np.uint32(0xFF00))
        | (value >> np.uint32(24))
    )


@kernel
def _number(base, at, swapped):
    value = load_u32(base, at)
    return np.int64(swap32(value)) if swapped else np.int64(value)


@kernel
def _ip_start(base, at, end, linktype):
    """Where the IPv4 header begins, or a negative code: -NON_IP, -UNUSUAL."""
    if linktype == _ETHERNET:
        kind, start = at + 12, at + 14
    elif linktype == LINKTYPE_LINUX_SLL:
        kind, start = at + 14, at + 16
    elif linktype == LINKTYPE_LINUX_SLL2:
        kind, start = at, at + 20
    elif linktype == LINKTYPE_RAW:
        return at if at < end and (load_u8(base, at) >> 4) == 4 else -UNUSUAL
    else:
        return -UNUSUAL
    if start > end:
        return -UNUSUAL
    ethertype = swap16(np.int64(load_u16(base, kind)))
    for _ in range(_MAX_TAGS):
        if ethertype != 0x8100 and ethertype != 0x88A8 and ethertype != 0x9100:
            break
        if start + 4 > end:
            return -UNUSUAL
        ethertype = swap16(np.int64(load_u16(base, start + 2)))
        start += 4
    if ethertype == 0x0800:
        return start
    return -UNUSUAL if ethertype == 0x86DD else -NON_IP


@kernel
def locate_udp(base, at, captured, linktype):
    """(code, payload offset, payload length, flow) of a frame. A flow is address << 16 | port."""
    end = at + captured
    nothing = np.int64(0)
    if linktype == _ETHERNET and captured >= 42 and load_u16(base, at + 12) == 0x0008:
        start = at + 14  # the shape of nearly every packet, without the walk
    else:
        start = _ip_start(base, at, end, linktype)
        if start < 0:
            return -start, nothing, nothing, nothing
    if start + 20 > end:
        return np.int64(UNUSUAL), nothing, nothing, nothing
    first = np.int64(load_u8(base, start))
    header = (first & 0x0F) * 4
    total = swap16(np.int64(load_u16(base, start + 2)))
    if (first >> 4) != 4 or header < 20 or total < header or start + header > end:
        return np.int64(UNUSUAL), nothing, nothing, nothing
    if load_u8(base, start + 9) != 17:
        return np.int64(NON_UDP), nothing, nothing, nothing
    udp = start + header
    stop = start + total
    # The flag "more fragments" and the fragment offset, as they lie in memory.
    if (load_u16(base, start + 6) & 0xFF3F) != 0 or stop > end or udp + 8 > stop:
        return np.int64(UNUSUAL), nothing, nothing, nothing
    length = swap16(np.int64(load_u16(base, udp + 4)))
    if length < 8 or udp + length > stop:
        return np.int64(UNUSUAL), nothing, nothing, nothing
    address = np.int64(swap32(load_u32(base, start + 16)))
    port = swap16(np.int64(load_u16(base, udp + 2)))
    return np.int64(OK), udp + 8, length - 8, (address << 16) | port


@kernel
def _enhanced_packet(base, position, end, swapped, interfaces):
    """(next position, ts_ns, linktype, frame offset, captured); next position -1: unusual, -2: cut."""
    if position + 12 > end:
        return -2, 0, 0, 0, 0
    kind = _number(base, position, swapped)
    length = _number(base, position + 4, swapped)
    if kind != ENHANCED_PACKET or length < 32 or length % 4 != 0 or length > MAX_BLOCK:
        return -1, 0, 0, 0, 0
    if position + length > end:
        return -2, 0, 0, 0, 0
    if _number(base, position + length - 4, swapped) != length:
        return -1, 0, 0, 0, 0
    interface = _number(base, position + 8, swapped)
    captured = _number(base, position + 20, swapped)
    if interface >= interfaces.shape[0] or 32 + captured > length:
        return -1, 0, 0, 0, 0
    unit = interfaces[interface, INTERFACE_UNIT_NS]
    high = _number(base, position + 12, swapped)
    low = _number(base, position + 16, swapped)
    # Beyond the year 2262 the product leaves int64; the plain chain clamps it.
    if unit == 0 or high >= (np.int64(1) << 31) // unit:
        return -1, 0, 0, 0, 0
    ts_ns = ((high << 32) | low) * unit + interfaces[interface, INTERFACE_OFFSET_NS]
    return position + length, ts_ns, interfaces[interface, INTERFACE_LINKTYPE], position + 28, captured


@kernel
def _classic_record(base, position, end, shape):
    """As `_enhanced_packet`, for a record of classic pcap."""
    start = position + RECORD_HEADER_SIZE
    if start > end:
        return -2, 0, 0, 0, 0
    swapped = shape[SHAPE_SWAPPED] != 0
    captured = _number(base, position + 8, swapped)
    if captured > MAX_RECORD:
        return -1, 0, 0, 0, 0
    if start + captured > end:
        return -2, 0, 0, 0, 0
    ts_ns = (
        _number(base, position, swapped) * NS_PER_SECOND
        + _number(base, position + 4, swapped) * shape[SHAPE_UNIT_NS]
    )
    return start + captured, ts_ns, shape[SHAPE_LINKTYPE], start, captured


@kernel
def take_run(buffer, position, end, shape, interfaces, first, most_bytes, run, skipped):
    """Fill `run` with datagrams from `position`; count what is skipped by its code.

    `run` is (ts_ns, payload offset, payload length, flow, record number) as arrays of one size;
    `first` is the number of the record at `position`. The run also ends once its payloads reach
    `most_bytes`. Returns (position, datagrams, their bytes, records, why it ended).
    """
    ts, offsets, lengths, flows, numbers = run
    base = np.uint64(buffer.ctypes.data)
    classic = shape[SHAPE_FORM] == PCAP
    swapped = shape[SHAPE_SWAPPED] != 0
    count, records, total = 0, 0, 0
    capacity = ts.shape[0]
    while count < capacity and total < most_bytes:
        if classic:
            following, ts_ns, linktype, at, captured = _classic_record(base, position, end, shape)
        else:
            following, ts_ns, linktype, at, captured = _enhanced_packet(
                base, position, end, swapped, interfaces
            )
        if following < 0:
            return position, count, total, records, ENDED_WINDOW if following == -2 else ENDED_UNUSUAL
        code, payload, length, flow = locate_udp(base, at, captured, linktype)
        if code == UNUSUAL:
            return position, count, total, records, ENDED_UNUSUAL
        if code == OK:
            ts[count] = ts_ns
            offsets[count] = payload
            lengths[count] = length
            flows[count] = flow
            numbers[count] = first + records
            count += 1
            total += length
        else:
            skipped[code] += 1
        records += 1
        position = following
    return position, count, total, records, ENDED_FULL
