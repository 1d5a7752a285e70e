"""Runs of units in sequence, by kernel. The plain twins are `Arbiter` and `arbitration_state.messages_hash`.

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
    FEED_BITS,
    FEED_SIZE,
    FEEDS,
    FILLED,
    FIRST,
    HEARD_NS,
    HIGHEST,
    LAST_NS,
    LOST,
    LOWEST_HELD,
    MISSED,
    MULTIPLIER,
    NEXT,
    NO_DEADLINE,
    OUT_AT,
    OUT_LENGTH,
    OUT_OFFSET,
    OUT_ROW,
    OUT_VERSION,
    OWN_BYTES,
    PROVEN,
    RECEIVED,
    RING,
    RING_MASK,
    STOP,
    STOP_END,
    STOP_FULL,
    STOP_ODD,
    STOP_RELEASE,
    UNKNOWN,
    VERSION,
)

_MULTIPLIER = MULTIPLIER - (1 << 64)  # as int64
_LOW_29 = (1 << 29) - 1
_LOW_32 = (1 << 32) - 1
_HASH_BITS = ~FEED_BITS
_BOTH = 3  # A and B: the one that is not the feed is 3 - feed


@inlined
def messages_hash(unit, unit_size, own_bytes):
    """Of a unit of at least its own bytes, of what follows them."""
    base, size = unit + own_bytes, unit_size - own_bytes
    value = size
    end = base + size - 7
    at = base
    while at < end:
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ load_i64(at, 0)) * _MULTIPLIER
        at += 8
    if size & 7:
        word = 0
        if size >= 8:
            word = load_i64(base, size - 8)
        else:
            for byte in range(size):
                word |= load_u8(base, byte) << 8 * byte
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ word) * _MULTIPLIER
    value = (value ^ (value >> 32 & _LOW_32)) & _HASH_BITS
    return value if value != 0 else FEED_BITS + 1


@kernel
def hash_of(unit, unit_size, own_bytes):
    return messages_hash(unit, unit_size, own_bytes)


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


@inlined
def _hear_beat(state, feed, epoch, next_number, arrival_ns):
    """A heartbeat that says what is known while nothing is waited for, as `Arbiter.on_heartbeat` has it;
    0: not such a one, it is left to that."""
    if load_i64(state, DEADLINE) != NO_DEADLINE:
        return 0
    if next_number < 1 or epoch != load_i64(state, VERSION) or next_number != load_i64(state, NEXT):
        return 0
    area = FEED_AREA + feed * FEED_SIZE
    _count(state, area + RECEIVED)
    store_64(state, area + HEARD_NS, arrival_ns)
    store_64(state, PROVEN, 1)
    store_64(state, LAST_NS, arrival_ns)
    return 1


@kernel
def take_in_sequence(
    state, base, rows, channels, epochs, numbers, offsets, lengths, _sent, nexts, sources, arrivals, feeds,
    first, last, room,
):  # fmt: skip
    """Units `first` to `last`: those next in sequence are accepted, repetitions dropped, heartbeats heard
    that say what is known. Returns the index of the first that is not judged; `stop` says why.

    `rows` to `nexts` are the columns of `model.packets`. `feeds` has a byte for each source: its feed.
    Sources and arrivals are columns of the batch of packets.
    """
    # One loop, longer than we like: every way out of it says why it stopped, and a call of Python each would
    # cost more than the packet.
    accepted = 0
    stop = STOP_END
    ring, mask = load_i64(state, RING), load_i64(state, RING_MASK)
    channel, epoch = load_i64(state, CHANNEL), load_i64(state, VERSION)
    deadline_ns, own_bytes = load_i64(state, DEADLINE), load_i64(state, OWN_BYTES)
    index = first
    while index < last:
        row, number = load_u32(rows, index * 4), load_i64(numbers, index * 8)
        arrival_ns, feed = load_i64(arrivals, row * 8), load_u8(feeds, load_u16(sources, row * 2))
        if load_i64(channels, index * 8) != channel:
            stop = STOP_ODD
            break
        if number == 0:
            if not _hear_beat(
                state, feed, load_i64(epochs, index * 8), load_i64(nexts, index * 8), arrival_ns
            ):
                stop = STOP_ODD
                break
            index += 1
            continue
        if number < 0 or not load_i64(state, PROVEN) or arrival_ns >= deadline_ns:
            stop = STOP_ODD
            break
        behind = load_i64(state, NEXT) - number
        if load_i64(epochs, index * 8) != epoch or behind < 0 or behind > mask + 1:
            stop = STOP_ODD
            break
        offset, size = load_i64(offsets, index * 8), load_u32(lengths, index * 4)
        value = messages_hash(base + offset, size, own_bytes)
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
