"""Runs of ordinary datagrams, taken from a capture by machine code.

The kernel knows the ordinary shapes: classic pcap and pcapng's enhanced packets, Ethernet with
or without VLAN tags, cooked and raw frames, IPv4, UDP. At anything else (a fragment, IPv6, any
fault, a section or interface block) it stops and says so, and the plain chain of `datagrams`
judges that one record: so there is one place that decides what is wrong, and it is readable.
"""

from typing import NamedTuple

from pregao.codecs.pcap.formats import MAX_RECORD, NS_PER_SECOND, RECORD_HEADER_SIZE
from pregao.codecs.pcap.ip import LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2, LINKTYPE_RAW
from pregao.codecs.pcap.outcomes import Skip
from pregao.codecs.pcap.pcapng import ENHANCED_PACKET, MAX_BLOCK
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32, store_64

OK = 0
UNUSUAL = 255  # for the plain chain
NON_IP = int(Skip.NON_IP)
NON_UDP = int(Skip.NON_UDP)

# Why a run ended.
ENDED_FULL = 0  # there are as many datagrams or bytes as were asked for
ENDED_WINDOW = 1  # no whole record is left in the window
ENDED_UNUSUAL = 2  # the record at the position is for the plain chain

PCAP, PCAPNG = 0, 1
INTERFACE_SIZE = 3  # int64s: link type, nanoseconds a unit (0: not exact, unusual), offset

_ETHERNET = 1
_MAX_TAGS = 4


class Shape(NamedTuple):
    """What the records of a capture look like."""

    form: int  # PCAP or PCAPNG
    swapped: int  # numbers are big-endian
    unit_ns: int  # of classic pcap
    linktype: int  # of classic pcap
    interfaces: int  # of pcapng: address of int64[count, INTERFACE_SIZE]
    interface_count: int


class RunAddresses(NamedTuple):
    """Addresses of where the datagrams of a run are written."""

    ts: int  # int64: nanoseconds
    offset: int  # int64: of the payload in the buffer
    length: int  # uint32: of the payload
    flow: int  # int64: address « 16 | port
    number: int  # int64: of the record


@inlined
def swap16(value):
    return ((value & 0xFF) << 8) | (value >> 8)


@inlined
def swap32(value):
    return ((value & 0xFF) << 24) | ((value & 0xFF00) << 8) | ((value >> 8) & 0xFF00) | (value >> 24)


@inlined
def _number(base, at, swapped):
    value = load_u32(base, at)
    return swap32(value) if swapped else value


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
    ethertype = swap16(load_u16(base, kind))
    for _ in range(_MAX_TAGS):
        if ethertype != 0x8100 and ethertype != 0x88A8 and ethertype != 0x9100:
            break
        if start + 4 > end:
            return -UNUSUAL
        ethertype = swap16(load_u16(base, start + 2))
        start += 4
    if ethertype == 0x0800:
        return start
    return -UNUSUAL if ethertype == 0x86DD else -NON_IP


@inlined
def locate_udp(base, at, captured, linktype):
    """(code, payload offset, payload length, flow) of a frame."""
    end = at + captured
    if linktype == _ETHERNET and captured >= 42 and load_u16(base, at + 12) == 0x0008:
        start = at + 14  # the shape of nearly every packet, without the walk
    else:
        start = _ip_start(base, at, end, linktype)
        if start < 0:
            return -start, 0, 0, 0
    if start + 20 > end:
        return UNUSUAL, 0, 0, 0
    first = load_u8(base, start)
    header = (first & 0x0F) * 4
    total = swap16(load_u16(base, start + 2))
    if (first >> 4) != 4 or header < 20 or total < header or start + header > end:
        return UNUSUAL, 0, 0, 0
    if load_u8(base, start + 9) != 17:
        return NON_UDP, 0, 0, 0
    udp = start + header
    stop = start + total
    # The flag "more fragments" and the fragment offset, as they lie in memory.
    if (load_u16(base, start + 6) & 0xFF3F) != 0 or stop > end or udp + 8 > stop:
        return UNUSUAL, 0, 0, 0
    length = swap16(load_u16(base, udp + 4))
    if length < 8 or udp + length > stop:
        return UNUSUAL, 0, 0, 0
    flow = (swap32(load_u32(base, start + 16)) << 16) | swap16(load_u16(base, udp + 2))
    return OK, udp + 8, length - 8, flow


@kernel
def _enhanced_packet(base, position, end, shape):
    """(next position, ts_ns, linktype, frame offset, captured); next position -1: unusual, -2: cut."""
    if position + 12 > end:
        return -2, 0, 0, 0, 0
    swapped = shape.swapped != 0
    length = _number(base, position + 4, swapped)
    if _number(base, position, swapped) != ENHANCED_PACKET or length < 32 or length % 4 or length > MAX_BLOCK:
        return -1, 0, 0, 0, 0
    if position + length > end:
        return -2, 0, 0, 0, 0
    interface = _number(base, position + 8, swapped)
    captured = _number(base, position + 20, swapped)
    if interface >= shape.interface_count or 32 + captured > length:
        return -1, 0, 0, 0, 0
    if _number(base, position + length - 4, swapped) != length:
        return -1, 0, 0, 0, 0
    row = interface * INTERFACE_SIZE * 8
    unit = load_i64(shape.interfaces, row + 8)
    high, low = _number(base, position + 12, swapped), _number(base, position + 16, swapped)
    # Beyond the year 2262 the product leaves int64; the plain chain clamps it.
    if unit == 0 or high >= (1 << 30) // unit:
        return -1, 0, 0, 0, 0
    ts_ns = ((high << 32) | low) * unit + load_i64(shape.interfaces, row + 16)
    return position + length, ts_ns, load_i64(shape.interfaces, row), position + 28, captured


@inlined
def _classic_record(base, position, end, shape):
    """As `_enhanced_packet`, for a record of classic pcap."""
    start = position + RECORD_HEADER_SIZE
    if start > end:
        return -2, 0, 0, 0, 0
    swapped = shape.swapped != 0
    captured = _number(base, position + 8, swapped)
    if captured > MAX_RECORD:
        return -1, 0, 0, 0, 0
    if start + captured > end:
        return -2, 0, 0, 0, 0
    seconds, fraction = _number(base, position, swapped), _number(base, position + 4, swapped)
    ts_ns = seconds * NS_PER_SECOND + fraction * shape.unit_ns
    return start + captured, ts_ns, shape.linktype, start, captured


@kernel
def take_run(base, position, end, shape, number, run, first, last, most_bytes, skipped):
    """Write datagrams from `position` on to rows `first` to `last` of `run`.

    `number` is that of the record at `position`; `skipped` the address of int64[256], in which
    foreign records are counted by their code. Ends too once payloads reach `most_bytes`. Returns
    (position, row after the last datagram, next record number, bytes, why it ended).
    """
    row, size = first, 0
    while row < last and size < most_bytes:
        if shape.form == PCAP:
            following, ts_ns, linktype, at, captured = _classic_record(base, position, end, shape)
        else:
            following, ts_ns, linktype, at, captured = _enhanced_packet(base, position, end, shape)
        if following < 0:
            return position, row, number, size, ENDED_WINDOW if following == -2 else ENDED_UNUSUAL
        code, payload, length, flow = locate_udp(base, at, captured, linktype)
        if code == UNUSUAL:
            return position, row, number, size, ENDED_UNUSUAL
        if code == OK:
            store_64(run.ts, row * 8, ts_ns)
            store_64(run.offset, row * 8, payload)
            store_32(run.length, row * 4, length)
            store_64(run.flow, row * 8, flow)
            store_64(run.number, row * 8, number)
            row += 1
            size += length
        else:
            store_64(skipped, code * 8, load_i64(skipped, code * 8) + 1)
        number += 1
        position = following
    return position, row, number, size, ENDED_FULL


# A batch of payloads into capture records, one growing run of records for each source.


# What the kernel knows of a source: int64s.
OUT = 0  # address of its records
USED = 8  # bytes of them
PACKETS = 16
FIRST_NS = 24
LAST_NS = 32
HEAD = 40  # address of the 58 bytes in front of an empty payload
CHECKSUM = 48  # sum of the words of its IP header, without length and checksum
SOURCE_SIZE = 56

_RECORD, _ETHERNET_SIZE, _IP, _UDP = 16, 14, 20, 8
_IP_AT = _RECORD + _ETHERNET_SIZE
_UDP_AT = _IP_AT + _IP
_HEAD_SIZE = _UDP_AT + _UDP


@inlined
def copy(target, source, size):
    """Bytes that do not overlap, eight at a time."""
    at = 0
    while at + 8 <= size:
        store_64(target, at, load_i64(source, at))
        at += 8
    while at < size:
        store_8(target, at, load_u8(source, at))
        at += 1


@inlined
def _store_big_16(at, offset, value):
    store_8(at, offset, value >> 8)
    store_8(at, offset + 1, value & 0xFF)


@inlined
def _put_head(out, head, fixed_sum, ts_ns, length):
    copy(out, head, _HEAD_SIZE)
    captured = _HEAD_SIZE - _RECORD + length
    store_32(out, 0, ts_ns // NS_PER_SECOND)
    store_32(out, 4, ts_ns % NS_PER_SECOND)
    store_32(out, 8, captured)
    store_32(out, 12, captured)
    total = _IP + _UDP + length
    _store_big_16(out, _IP_AT + 2, total)
    total += fixed_sum
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    _store_big_16(out, _IP_AT + 10, 0xFFFF - total)
    _store_big_16(out, _UDP_AT + 4, _UDP + length)


@kernel
def put_records(sources, buffer, offsets, lengths, indexes, times, first, last):
    """Append packets `first` to `last` of a batch, each to its source's records; all must have room."""
    for row in range(first, last):
        source = sources + load_u16(indexes, row * 2) * SOURCE_SIZE
        ts_ns, length = load_i64(times, row * 8), load_u32(lengths, row * 4)
        used = load_i64(source, USED)
        out = load_i64(source, OUT) + used
        _put_head(out, load_i64(source, HEAD), load_i64(source, CHECKSUM), ts_ns, length)
        copy(out + _HEAD_SIZE, buffer + load_i64(offsets, row * 8), length)
        packets = load_i64(source, PACKETS)
        if packets == 0 or ts_ns < load_i64(source, FIRST_NS):
            store_64(source, FIRST_NS, ts_ns)
        if packets == 0 or ts_ns > load_i64(source, LAST_NS):
            store_64(source, LAST_NS, ts_ns)
        store_64(source, USED, used + _HEAD_SIZE + length)
        store_64(source, PACKETS, packets + 1)
