"""A batch of payloads into capture records, one growing run of records for each source."""

from pregao.codecs.pcap.formats import NS_PER_SECOND
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32, store_64

# What the kernel knows of a source: int64s.
OUT = 0  # address of its records
USED = 8  # bytes of them
PACKETS = 16
FIRST_NS = 24
LAST_NS = 32
HEAD = 40  # address of the 58 bytes in front of an empty payload
CHECKSUM = 48  # sum of the words of its IP header, without length and checksum
SOURCE_SIZE = 56

_RECORD, _ETHERNET, _IP, _UDP = 16, 14, 20, 8
_IP_AT = _RECORD + _ETHERNET
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
