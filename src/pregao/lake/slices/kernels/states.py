"""Phases of groups and states of instruments (14) as rows tell them, and the aggressor of a trade.

The header of each book has the phase of its group and the state of its own, as for the live handler; what a
state means is `books.kernels.statistics.own_after`. Which group an instrument is of, its definition says.
"""

from pregao.books import layout as t
from pregao.books.kernels.quotes import header_of
from pregao.books.kernels.statistics import REJOINS_GROUP, own_after
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, store_8, store_16, store_64
from pregao.model import rows as r
from pregao.recovery.instruments import BOOK, SYNC_SIZE, BookStatus

# The context: words of 64 bits.
STATES_FIELDS = (
    "instruments",  # how many there are
    "group_of",  # int64 of each instrument, as rows of phases name groups; 0: not known
    "phases",  # two int64s for each group whose phase is known: its name and the phase
    "phase_count",
    "days",  # uint16 of each instrument: the trade date of the state that it was told last
    "sync",  # what is known of each instrument
    "log",  # LOG_WORDS each: a known book that is crossed when its instrument comes into another state
    "log_count",
    "has_rates",  # 1: some prices are rates, of which the lower is the better bid; every book is logged
)
INSTRUMENTS, GROUP_OF, PHASES, PHASE_COUNT, DAYS, SYNC, LOG, LOG_COUNT, HAS_RATES = range(
    0, 8 * len(STATES_FIELDS), 8
)
LOG_WORDS = 5  # instrument and its new state as in a quote; place, message and time; bid; offer
LOG_ROOM = 1 << 12
MOST_GROUPS = 1 << 12
CLEAN = int(BookStatus.CLEAN)
# Phase and own state of an instrument in 14 bits, for quotes and samples.
STATE_BITS = 7
NUMBER_BITS = 17  # of a quote's `instrument`: the state is above them
NOT_KNOWN = (1 << STATE_BITS) - 1  # in the place of an own state: messages are missing that may have told one
# Of a trade, in fields that it has no other use for.
TRADE_PHASE, TRADE_OWN, AGGRESSOR, HAS_EXECUTION, AGGRESSOR_TIME = (
    r.ORIGIN,
    r.TYPE,
    r.SIDE,
    r.ACTION,
    r.INSERTED,
)


@inlined
def packed_state(header):
    phase = min(load_u8(header, t.GROUP_PHASE), NOT_KNOWN)
    return phase | min(load_u8(header, t.OWN_STATE), NOT_KNOWN) << STATE_BITS


@inlined
def _log_crossed(states, books, number, at, index, time_ns):
    """What is not logged for want of room is only a finding that begins or ends with the next quote."""
    top, count = load_i64(books, t.TOPS) + number * t.TOP_SIZE, load_i64(states, LOG_COUNT)
    bid, offer = load_i64(top, 0), load_i64(top, t.TOP_SIDE)
    sync = load_i64(states, SYNC) + number * SYNC_SIZE
    may_cross = bid >= offer or (bid != r.NULL and load_i64(states, HAS_RATES) != 0)
    if may_cross and offer != r.NULL and load_u8(sync, BOOK) == CLEAN and count < LOG_ROOM:
        entry = load_i64(states, LOG) + count * LOG_WORDS * 8
        store_64(entry, 0, number | packed_state(header_of(books, number)) << NUMBER_BITS)
        store_64(entry, 8, at << 16 | index)
        store_64(entry, 16, time_ns)
        store_64(entry, 24, bid)
        store_64(entry, 32, offer)
        store_64(states, LOG_COUNT, count + 1)


@kernel
def enter_phase(states, books, group, phase, at, index, time_ns):
    """A group is in a phase from now on, and so are its instruments, also those that come later."""
    for number in range(load_i64(states, INSTRUMENTS)):
        header = header_of(books, number)
        if load_i64(load_i64(states, GROUP_OF), number * 8) == group:
            before = load_u8(header, t.GROUP_PHASE)
            store_8(header, t.GROUP_PHASE, phase)
            if before != phase:
                _log_crossed(states, books, number, at, index, time_ns)
    count, phases = load_i64(states, PHASE_COUNT), load_i64(states, PHASES)
    place = 0
    while place < count and load_i64(phases, place * 16) != group:
        place += 1
    if place < MOST_GROUPS:
        store_64(phases, place * 16, group)
        store_64(phases, place * 16 + 8, phase)
        store_64(states, PHASE_COUNT, max(count, place + 1))


@kernel
def tell_state(states, books, number, row):
    """A state was told of an instrument. With a 102 it is the phase of the group."""
    header, day = header_of(books, number), load_i64(states, DAYS) + number * 2
    phase, own = load_u8(header, t.GROUP_PHASE), load_u8(header, t.OWN_STATE)
    state, event = load_u8(row, r.TYPE), load_u8(row, r.DETAIL)
    new_day = load_u16(day, 0) not in (0, load_u16(row, r.TRADE_DATE))
    after = own_after(0 if own == NOT_KNOWN else own, phase, state, event, new_day)
    store_8(header, t.OWN_STATE, after)
    if after != own:
        _log_crossed(
            states, books, number, load_i64(row, r.AT), load_u16(row, r.INDEX), load_i64(row, r.TIME)
        )
    store_16(day, 0, load_u16(row, r.TRADE_DATE))
    if event == REJOINS_GROUP and state != 0 and state != phase:
        store_8(header, t.GROUP_PHASE, state)
        group = load_i64(load_i64(states, GROUP_OF), number * 8)
        if group != 0:
            at, index, time_ns = load_i64(row, r.AT), load_u16(row, r.INDEX), load_i64(row, r.TIME)
            enter_phase(states, books, group, state, at, index, time_ns)


@inlined
def mark_trade(books, number, row, execution):
    """What its instrument is in, and who began it: the execution of the same event says so, if it is one of
    the same instrument (13.1). `execution`: 0: none is going on."""
    header = header_of(books, number)
    store_8(row, TRADE_PHASE, load_u8(header, t.GROUP_PHASE))
    store_8(row, TRADE_OWN, load_u8(header, t.OWN_STATE))
    begun = execution != 0 and load_i64(execution, r.SECURITY_ID) == load_i64(row, r.SECURITY_ID)
    store_8(row, HAS_EXECUTION, 1 if begun else 0)
    store_8(row, AGGRESSOR, load_u8(execution, r.SIDE) if begun else 0)
    if begun:  # else it is what the trade itself tells: of a lending contract its grace date
        store_64(row, AGGRESSOR_TIME, load_i64(execution, r.OTHER))
