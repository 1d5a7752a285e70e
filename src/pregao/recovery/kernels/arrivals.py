"""Runs of packets in sequence, by kernel. The plain twins are `Arbiter` and `hashing.messages_hash`.

All arguments are addresses and numbers: see `pregao.kernels`.
"""

from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_16,
    store_32,
    store_64,
)
from pregao.recovery.arbitration_state import (
    ACCEPTED,
    APPEARANCE,
    CHANNEL,
    DEADLINE,
    DUPLICATE,
    FEED_AREA,
    FEED_SIZE,
    FEEDS,
    FILLED,
    FIRST,
    HEARD_NS,
    HIGHEST,
    LAST_NS,
    LOWEST_HELD,
    MISSED,
    NEXT,
    NO_DEADLINE,
    OUT_AT,
    OUT_LENGTH,
    OUT_OFFSET,
    OUT_ROW,
    OUT_VERSION,
    PROVEN,
    RECEIVED,
    RING,
    RING_MASK,
    STOP,
    STOP_END,
    STOP_FULL,
    STOP_ODD,
    STOP_RELEASE,
    VERSION,
)
from pregao.recovery.hashing import FEED_BITS, HEADER_SIZE, LOST, MULTIPLIER, UNKNOWN

_MULTIPLIER = MULTIPLIER - (1 << 64)  # as int64
_LOW_29 = (1 << 29) - 1
_LOW_32 = (1 << 32) - 1
_HASH_BITS = ~FEED_BITS
_BOTH = 3  # A and B: the one that is not the feed is 3 - feed


@inlined
def messages_hash(packet, packet_size):
    """Of a packet of at least a header, of what follows the header."""
    base, size = packet + HEADER_SIZE, packet_size - HEADER_SIZE
    value = size
    end = base + size - 7
    at = base
    while at < end:
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ load_i64(at, 0)) * _MULTIPLIER
        at += 8
    if size & 7:
        word = load_i64(base, size - 8)  # where there are fewer than eight bytes, the header's end is in it
        if size < 8:
            word = word >> (64 - 8 * size) & ((1 << 8 * size) - 1)
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ word) * _MULTIPLIER
    value = (value ^ (value >> 32 & _LOW_32)) & _HASH_BITS
    return value if value != 0 else FEED_BITS + 1


@kernel
def hash_of(packet, packet_size):
    return messages_hash(packet, packet_size)


@inlined
def _count(state, at):
    store_64(state, at, load_i64(state, at) + 1)


@kernel
def _count_missed(state, absent):
    for feed in range(1, 4):
        if absent >> (feed - 1) & 1:
            _count(state, FEED_AREA + feed * FEED_SIZE + MISSED)


@inlined
def _take(state, accepted, row, number, base, offset, size, feed, arrival_ns, value):
    """Next in sequence: into the ring, the columns and the counts."""
    area = FEED_AREA + feed * FEED_SIZE
    slot = (number & load_i64(state, RING_MASK)) * 8
    absent = load_i64(state, FEEDS) & ~load_i64(load_i64(state, RING), slot)
    if absent:
        _count_missed(state, absent)
    store_64(load_i64(state, RING), slot, value | 1 << (feed - 1))
    store_64(state, NEXT, number + 1)
    store_64(state, LAST_NS, arrival_ns)
    _count(state, area + FIRST)
    other = _BOTH - feed
    if other > 0 and load_i64(state, FEED_AREA + other * FEED_SIZE + HIGHEST) > number:
        _count(state, area + FILLED)
    store_64(load_i64(state, OUT_AT), accepted * 8, load_i64(state, APPEARANCE) << 32 | number)
    store_64(load_i64(state, OUT_OFFSET), accepted * 8, offset)
    store_32(load_i64(state, OUT_LENGTH), accepted * 4, size)
    store_32(load_i64(state, OUT_ROW), accepted * 4, row)
    store_16(load_i64(state, OUT_VERSION), accepted * 2, load_i64(state, VERSION))


@kernel
def take_in_sequence(state, base, offsets, lengths, sources, arrivals, feeds, rows, first, last, room):
    """Packets `first` to `last` of a list of rows of a batch: those next in sequence are accepted,
    repetitions dropped. Returns the index of the first that is not judged; `stop` says why.

    `feeds` has a byte for each source: its feed. `rows` is uint32, the other columns are the batch's.
    """
    accepted = 0
    stop = STOP_END
    ring, mask = load_i64(state, RING), load_i64(state, RING_MASK)
    channel, version = load_i64(state, CHANNEL), load_i64(state, VERSION)
    deadline_ns = load_i64(state, DEADLINE)
    index = first
    while index < last:
        row = load_u32(rows, index * 4)
        offset, size = load_i64(offsets, row * 8), load_u32(lengths, row * 4)
        arrival_ns = load_i64(arrivals, row * 8)
        if size < HEADER_SIZE or not load_i64(state, PROVEN) or arrival_ns >= deadline_ns:
            stop = STOP_ODD
            break
        header = load_i64(base + offset, 0)
        number = header >> 32 & _LOW_32
        if header & 0xFF != channel or header >> 16 & 0xFFFF != version or number == 0:
            stop = STOP_ODD
            break
        next_number = load_i64(state, NEXT)
        behind = next_number - number
        if behind < 0 or behind > mask + 1:
            stop = STOP_ODD
            break
        value = messages_hash(base + offset, size)
        feed = load_u8(feeds, load_u16(sources, row * 2))
        area = FEED_AREA + feed * FEED_SIZE
        if behind == 0:
            if accepted == room:
                stop = STOP_FULL
                break
            _take(state, accepted, row, number, base, offset, size, feed, arrival_ns, value)
            accepted += 1
        else:
            slot = (number & mask) * 8
            known = load_i64(ring, slot)
            if known in (UNKNOWN, LOST) or known & _HASH_BITS != value:
                stop = STOP_ODD
                break
            store_64(ring, slot, known | 1 << (feed - 1))
            _count(state, area + DUPLICATE)
        _count(state, area + RECEIVED)
        store_64(state, area + HEARD_NS, arrival_ns)
        if number > load_i64(state, area + HIGHEST):
            store_64(state, area + HIGHEST, number)
        index += 1
        if behind == 0 and number + 1 == load_i64(state, LOWEST_HELD):
            stop = STOP_RELEASE
            break
    store_64(state, STOP, stop)
    store_64(state, ACCEPTED, accepted)
    return index


@inlined
def hear_beat(state, feed, version, next_number, arrival_ns):
    """A heartbeat that says what is known while nothing is waited for, as `Arbiter.on_heartbeat` has it;
    0: not such a one, it is left to that."""
    if load_i64(state, DEADLINE) != NO_DEADLINE:
        return 0
    if version != load_i64(state, VERSION) or next_number != load_i64(state, NEXT):
        return 0
    area = FEED_AREA + feed * FEED_SIZE
    _count(state, area + RECEIVED)
    store_64(state, area + HEARD_NS, arrival_ns)
    store_64(state, PROVEN, 1)
    store_64(state, LAST_NS, arrival_ns)
    return 1
