"""Rows of instruments and held rows, by kernel. The plain twins are `instruments.decide` and
`held.HeldRows`; packets are in `arrivals`.

All arguments are addresses and numbers: see `pregao.kernels`.
"""

from pregao.kernels import (
    inlined,
    kernel,
    load_i32,
    load_i64,
    load_u8,
    load_u32,
    store_8,
    store_32,
    store_64,
)
from pregao.model.rows import AT, FLAGS, KIND, LAST_BOOK_KIND, ROW_SIZE, RPT_SEQ, Flag, Kind
from pregao.recovery.held import (
    NO_REPORT_HELD,
    POOL_COUNT,
    POOL_FREE,
    POOL_NEXTS,
    POOL_ROWS,
    POOL_SIZE,
    POOL_USED,
    STARTS_AGAIN,
)
from pregao.recovery.instruments import (
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
    BookStatus,
    Decision,
    Mark,
)

STALE, UNVERIFIED, CLEAN = int(BookStatus.STALE), int(BookStatus.UNVERIFIED), int(BookStatus.CLEAN)
IGNORED, RESTART = int(Mark.IGNORED), int(Mark.RESTART)
REPORTED, AWAITED, COUNTED = int(Mark.REPORTED), int(Mark.AWAITED), int(Mark.COUNTED)
REPLENISHING = int(Mark.REPLENISHING)
APPLY, HOLD, FORGET = int(Decision.APPLY), int(Decision.HOLD), int(Decision.FORGET)
EMPTIED, HEALED = int(Decision.EMPTIED), int(Decision.HEALED)
WENT_STALE, VERIFIED = int(Decision.WENT_STALE), int(Decision.VERIFIED)
UNSETTLED = int(Decision.UNSETTLED)
EMPTY_BOOK = int(Kind.EMPTY_BOOK)
RECOVERY = int(Flag.RECOVERY)


# Instruments


@inlined
def _replenish(sync):
    outcome = UNSETTLED if load_u8(sync, BOOK) == CLEAN else 0
    store_8(sync, BOOK, UNVERIFIED)
    store_64(sync, BOUND, 0)
    store_8(sync, MARKS, load_u8(sync, MARKS) | REPLENISHING)
    return outcome


@inlined
def _empty(sync, over):
    outcome = EMPTIED
    if load_u8(sync, STATISTICS) == CLEAN and load_u32(sync, HELD) > 0:
        outcome |= FORGET
    store_8(sync, MARKS, load_u8(sync, MARKS) & ~(RESTART | AWAITED | REPLENISHING))
    store_64(sync, BOUND, 0)
    if over:
        if load_u8(sync, BOOK) != CLEAN:
            outcome |= HEALED
        store_8(sync, BOOK, CLEAN)
    else:
        outcome |= _replenish(sync)
    return outcome


@inlined
def _lose(sync, at):
    was_stale = load_u8(sync, BOOK) == STALE and load_u8(sync, STATISTICS) == STALE
    store_8(sync, BOOK, STALE)
    store_8(sync, STATISTICS, STALE)
    store_64(sync, MISSING, max(load_i64(sync, MISSING), at - 1))
    store_64(sync, BOUND, NEVER)
    store_8(sync, MARKS, load_u8(sync, MARKS) & ~REPLENISHING)
    outcome = 0 if was_stale else WENT_STALE
    return outcome | FORGET if load_u32(sync, HELD) > 0 else outcome


@kernel
def _odd_report(sync, rpt_seq, at, is_book, over):
    """A report that does not simply follow the last one of a clean book."""
    last, book, bound = load_i64(sync, LAST), load_u8(sync, BOOK), load_i64(sync, BOUND)
    restart, replenishing = load_u8(sync, MARKS) & RESTART, load_u8(sync, MARKS) & REPLENISHING
    begun = replenishing != 0 and last == 0 and bound == 0
    tells = is_book and over
    outcome = 0
    if rpt_seq == 1 and book != CLEAN and (is_book or not restart) and not begun:
        outcome = _empty(sync, over)
        if load_u8(sync, STATISTICS) == CLEAN and not restart:
            store_8(sync, STATISTICS, UNVERIFIED)
            store_64(sync, MISSING, max(load_i64(sync, MISSING), at - 1))
    elif rpt_seq == last + 1 and last >= 0:
        if book == UNVERIFIED:
            told_again = replenishing != 0 and bound == 0
            if not told_again and last <= bound:
                store_64(sync, BOUND, NEVER)
            elif tells:
                store_8(sync, BOOK, CLEAN)
                store_64(sync, BOUND, 0)
                outcome = VERIFIED | HEALED if told_again else VERIFIED
        elif book == CLEAN and is_book and not over:
            outcome = _replenish(sync)
    elif rpt_seq == 1 and restart:
        pass
    elif last >= 0:
        outcome = _lose(sync, at)
    elif book == UNVERIFIED:
        store_64(sync, BOUND, NEVER)
    if tells:
        store_8(sync, MARKS, load_u8(sync, MARKS) & ~REPLENISHING)
    return outcome


@inlined
def decide(sync, kind, rpt_seq, at, recovery):
    """What to do with a row of the instrument whose record is at `sync`: see `instruments.decide`."""
    marks = load_u8(sync, MARKS)
    if marks & IGNORED or at <= load_i64(sync, COVERED):
        return 0
    outcome = 0
    is_book = kind <= LAST_BOOK_KIND
    over = recovery == 0 and is_book and kind != EMPTY_BOOK
    if kind == EMPTY_BOOK:
        outcome = _empty(sync, over)
        store_64(sync, LAST, 0)
        store_64(sync, LAST_AT, at)
    elif rpt_seq > 0:
        told_again = is_book and not over
        if rpt_seq != load_i64(sync, LAST) + 1 or load_u8(sync, BOOK) != CLEAN or told_again:
            outcome = _odd_report(sync, rpt_seq, at, is_book, over)
        store_64(sync, LAST, rpt_seq)
        store_64(sync, LAST_AT, at)
        store_8(sync, MARKS, (load_u8(sync, MARKS) & ~RESTART) | REPORTED)
    part = load_u8(sync, BOOK) if is_book else load_u8(sync, STATISTICS)
    if part != STALE:
        outcome |= APPLY
    if part == UNVERIFIED and is_book and not over:
        store_64(sync, MISSING, max(load_i64(sync, MISSING), at))
    elif part != CLEAN:
        outcome |= HOLD
    if kind == EMPTY_BOOK and load_u8(sync, STATISTICS) != CLEAN:
        outcome |= HOLD
    return outcome


@kernel
def decide_row(sync, row):
    """As `decide`, for whoever has a row."""
    recovery = load_u8(row, FLAGS) & RECOVERY
    return decide(sync, load_u8(row, KIND), load_u32(row, RPT_SEQ), load_i64(row, AT), recovery)


@inlined
def recount(count, sync):
    """The status of an instrument may have changed: see `InstrumentTable.recount`. `count` is the address of
    how many are not clean."""
    marks = load_u8(sync, MARKS)
    clean = load_u8(sync, BOOK) == CLEAN and load_u8(sync, STATISTICS) == CLEAN
    unclean = 0 if clean or marks & IGNORED else COUNTED
    if marks & COUNTED != unclean:
        store_8(sync, MARKS, marks ^ COUNTED)
        store_64(count, 0, load_i64(count, 0) + (1 if unclean else -1))


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
def first_report_after(pool, slot, at):
    """As `HeldRows.first_report_after`, from the first slot of an instrument's chain."""
    while slot != NOBODY:
        row = held_row(pool, slot)
        if load_i64(row, AT) > at:
            if load_u8(row, KIND) == EMPTY_BOOK:
                return STARTS_AGAIN
            if load_u32(row, RPT_SEQ) > 0:
                return load_u32(row, RPT_SEQ)
        slot = next_held(pool, slot)
    return NO_REPORT_HELD


@kernel
def sort_row(pool, sync, row):
    """Decide about a row and hold it if that is decided; -1 when there is no room to hold it."""
    outcome = decide_row(sync, row)
    if outcome & FORGET:
        forget_held(pool, sync)
    if outcome & HOLD and not push(pool, sync, row):
        return -1
    return outcome
