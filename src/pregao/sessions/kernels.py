"""The machines' inner loops: runs of packets in sequence, rows of instruments, held rows.

Each has a plain twin: `Arbiter` and `hashing.packet_hash`, `instruments.decide`, `held.HeldRows`. All
arguments are addresses and numbers: see `pregao.kernels`.
"""

from pregao.kernels import (
    inlined,
    kernel,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.model.rows import AT, KIND, ROW_SIZE, RPT_SEQ, Kind
from pregao.sessions.arbitration_state import (
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
from pregao.sessions.hashing import FEED_BITS, LOST, MULTIPLIER, UNKNOWN
from pregao.sessions.held import POOL_COUNT, POOL_FREE, POOL_NEXTS, POOL_ROWS, POOL_SIZE, POOL_USED
from pregao.sessions.instruments import (
    BOOK,
    BOUND,
    COVERED,
    HEAD,
    HELD,
    LAST,
    LAST_AT,
    MARKS,
    MISSING,
    NEVER,
    NOBODY,
    STATISTICS,
    TAIL,
    Decision,
    Known,
    Mark,
)

HEADER_SIZE = 16
_MULTIPLIER = MULTIPLIER - (1 << 64)  # as int64
_LOW_29 = (1 << 29) - 1
_LOW_32 = (1 << 32) - 1
_HASH_BITS = ~FEED_BITS
_BOTH = 3  # A and B: the one that is not the feed is 3 - feed

STALE, UNVERIFIED, CLEAN = int(Known.STALE), int(Known.UNVERIFIED), int(Known.CLEAN)
IGNORED, RESTART = int(Mark.IGNORED), int(Mark.RESTART)
REPORTED, AWAITED = int(Mark.REPORTED), int(Mark.AWAITED)
APPLY, HOLD, FORGET = int(Decision.APPLY), int(Decision.HOLD), int(Decision.FORGET)
EMPTIED, HEALED = int(Decision.EMPTIED), int(Decision.HEALED)
WENT_STALE, VERIFIED = int(Decision.WENT_STALE), int(Decision.VERIFIED)
EMPTY_BOOK = int(Kind.EMPTY_BOOK)


# Packets


@inlined
def packet_hash(base, size):
    """Of at least eight bytes."""
    value = size
    end = base + size - 7
    at = base
    while at < end:
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ load_i64(at, 0)) * _MULTIPLIER
        at += 8
    if size & 7:
        value = ((value << 29 | (value >> 35 & _LOW_29)) ^ load_i64(base, size - 8)) * _MULTIPLIER
    value = (value ^ (value >> 32 & _LOW_32)) & _HASH_BITS
    return value if value != 0 else FEED_BITS + 1


@kernel
def hash_of(base, size):
    return packet_hash(base, size)


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
        value = packet_hash(base + offset, size)
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


# Instruments


@inlined
def _empty(sync):
    outcome = EMPTIED
    if load_u8(sync, BOOK) != CLEAN:
        outcome |= HEALED
    if load_u8(sync, STATISTICS) == CLEAN and load_u32(sync, HELD) > 0:
        outcome |= FORGET
    store_8(sync, BOOK, CLEAN)
    store_64(sync, BOUND, 0)
    store_8(sync, MARKS, load_u8(sync, MARKS) & ~(RESTART | AWAITED))
    return outcome


@inlined
def _lose(sync, at):
    was_stale = load_u8(sync, BOOK) == STALE and load_u8(sync, STATISTICS) == STALE
    store_8(sync, BOOK, STALE)
    store_8(sync, STATISTICS, STALE)
    store_64(sync, MISSING, max(load_i64(sync, MISSING), at - 1))
    store_64(sync, BOUND, NEVER)
    outcome = 0 if was_stale else WENT_STALE
    return outcome | FORGET if load_u32(sync, HELD) > 0 else outcome


@kernel
def _odd_report(sync, rpt_seq, at, is_book):
    """A report that does not simply follow the last one of a clean book."""
    last, book = load_i64(sync, LAST), load_u8(sync, BOOK)
    restart = load_u8(sync, MARKS) & RESTART
    outcome = 0
    if rpt_seq == 1 and book != CLEAN and (is_book or not restart):
        outcome = _empty(sync)
        if load_u8(sync, STATISTICS) == CLEAN and not restart:
            store_8(sync, STATISTICS, UNVERIFIED)
            store_64(sync, MISSING, max(load_i64(sync, MISSING), at - 1))
    elif rpt_seq == last + 1 and last >= 0:
        if book == UNVERIFIED:
            if last <= load_i64(sync, BOUND):
                store_64(sync, BOUND, NEVER)
            elif is_book:
                store_8(sync, BOOK, CLEAN)
                store_64(sync, BOUND, 0)
                outcome = VERIFIED
    elif rpt_seq == 1 and restart:
        pass
    elif last >= 0:
        outcome = _lose(sync, at)
    elif book == UNVERIFIED:
        store_64(sync, BOUND, NEVER)
    return outcome


@inlined
def decide(sync, kind, rpt_seq, at):
    """What to do with a row of the instrument whose record is at `sync`: see `instruments.decide`."""
    marks = load_u8(sync, MARKS)
    if marks & IGNORED or at <= load_i64(sync, COVERED):
        return 0
    outcome = 0
    is_book = kind <= EMPTY_BOOK
    if kind == EMPTY_BOOK:
        outcome = _empty(sync)
        store_64(sync, LAST, 0)
        store_64(sync, LAST_AT, at)
    elif rpt_seq > 0:
        if rpt_seq != load_i64(sync, LAST) + 1 or load_u8(sync, BOOK) != CLEAN:
            outcome = _odd_report(sync, rpt_seq, at, is_book)
        store_64(sync, LAST, rpt_seq)
        store_64(sync, LAST_AT, at)
        store_8(sync, MARKS, (load_u8(sync, MARKS) & ~RESTART) | REPORTED)
    part = load_u8(sync, BOOK) if is_book else load_u8(sync, STATISTICS)
    if part != STALE:
        outcome |= APPLY
    if part != CLEAN or (kind == EMPTY_BOOK and load_u8(sync, STATISTICS) != CLEAN):
        outcome |= HOLD
    return outcome


@kernel
def decide_row(sync, row):
    """As `decide`, for whoever has a row."""
    return decide(sync, load_u8(row, KIND), load_u32(row, RPT_SEQ), load_i64(row, AT))


# Held rows


@inlined
def push(pool, sync, row):
    """Hold a row behind the others of its instrument; 0 when there is no room."""
    slot = load_i64(pool, POOL_FREE)
    nexts = load_i64(pool, POOL_NEXTS)
    if slot != NOBODY:
        store_64(pool, POOL_FREE, load_i32(nexts, slot * 4))
    else:
        slot = load_i64(pool, POOL_USED)
        if slot >= load_i64(pool, POOL_SIZE):
            return 0
        store_64(pool, POOL_USED, slot + 1)
    target = load_i64(pool, POOL_ROWS) + slot * ROW_SIZE
    for at in range(0, ROW_SIZE, 8):
        store_64(target, at, load_i64(row, at))
    store_32(nexts, slot * 4, NOBODY)
    if load_i32(sync, HEAD) == NOBODY:
        store_32(sync, HEAD, slot)
    else:
        store_32(nexts, load_i32(sync, TAIL) * 4, slot)
    store_32(sync, TAIL, slot)
    store_32(sync, HELD, load_u32(sync, HELD) + 1)
    store_64(pool, POOL_COUNT, load_i64(pool, POOL_COUNT) + 1)
    return 1


@inlined
def first_held(sync):
    """Slot of the oldest row held of an instrument, or NOBODY."""
    return load_i32(sync, HEAD)


@inlined
def next_held(pool, slot):
    return load_i32(load_i64(pool, POOL_NEXTS), slot * 4)


@inlined
def held_row(pool, slot):
    """Address of the row in a slot."""
    return load_i64(pool, POOL_ROWS) + slot * ROW_SIZE


@inlined
def forget_held(pool, sync):
    """All rows held of an instrument."""
    head = load_i32(sync, HEAD)
    if head != NOBODY:
        store_32(load_i64(pool, POOL_NEXTS), load_i32(sync, TAIL) * 4, load_i64(pool, POOL_FREE))
        store_64(pool, POOL_FREE, head)
        store_64(pool, POOL_COUNT, load_i64(pool, POOL_COUNT) - load_u32(sync, HELD))
        store_32(sync, HEAD, NOBODY)
        store_32(sync, TAIL, NOBODY)
        store_32(sync, HELD, 0)


@kernel
def sort_row(pool, sync, row):
    """Decide about a row and hold it if that is decided; -1 when there is no room to hold it."""
    outcome = decide_row(sync, row)
    if outcome & FORGET:
        forget_held(pool, sync)
    if outcome & HOLD and not push(pool, sync, row):
        return -1
    return outcome
