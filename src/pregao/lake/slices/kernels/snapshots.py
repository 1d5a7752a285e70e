"""Snapshots that wait for their places: compared with the books, and settled where all is as it should be.

That is what becomes of nearly all of them, tens of thousands a day. Whoever is stale, or is told something
else than is known, is left to `healing`.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.by_price import bits_of, find_slot
from pregao.books.kernels.ladder import key_of
from pregao.books.kernels.quotes import header_of
from pregao.books.kernels.rows import book_stream, next_book
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_64
from pregao.lake.slices.kernels.sampling import BOOK_ONCE, KNOWN_ONCE, STATISTICS_ONCE
from pregao.lake.slices.kernels.states import NOT_KNOWN
from pregao.model import rows as r
from pregao.model.rows import Kind
from pregao.recovery.instruments import (
    BOOK,
    BOUND,
    COVERED,
    LAST,
    LAST_AT,
    MARKS,
    STATISTICS,
    SYNC_SIZE,
    BookStatus,
    Mark,
)

# The context: words of 64 bits.
TOLD_FIELDS = (
    "records",  # by place
    "next",
    "count",
    "other_at",  # something else is to be done before what stands after this place
    "stale",  # a byte for each instrument: it is told when it is healed
)
RECORDS, NEXT, COUNT, OTHER_AT, STALE_TOLD = range(0, 8 * len(TOLD_FIELDS), 8)
# A record: words of 64 bits.
RECORD_FIELDS = ("place", "number", "orders", "order_count", "rpt_seq", "once", "loop", "row", "outcome")
PLACE, NUMBER, ORDERS, ORDER_COUNT, RPT_SEQ, ONCE, _LOOP, _ROW, OUTCOME = range(0, 8 * len(RECORD_FIELDS), 8)
RECORD_SIZE = 8 * len(RECORD_FIELDS)
WAITS, MATCHED, EQUAL, OLDER, LEFT = range(5)  # outcomes; EQUAL: it was not known to be right

SNAPSHOT_LEVEL = int(Kind.SNAPSHOT_LEVEL)
CLEAN, STALE = int(BookStatus.CLEAN), int(BookStatus.STALE)
AWAITED, REPORTED = int(Mark.AWAITED), int(Mark.REPORTED)
TOLD_AGAIN = int(Mark.AWAITED | Mark.REPLENISHING | Mark.RESTART)
ONCE_BOTH = BOOK_ONCE | STATISTICS_ONCE


@kernel
def settle_until(context, books, sync, at):
    return settle_told(context, books, sync, at)


@inlined
def settle_told(context, books, sync, at):
    """All that waits for a place before `at`; False when somebody else has to look at what comes next."""
    while True:
        next_one, other_at = load_i64(context, NEXT), load_i64(context, OTHER_AT)
        if next_one >= load_i64(context, COUNT):
            return other_at >= at
        record = load_i64(context, RECORDS) + next_one * RECORD_SIZE
        place = load_i64(record, PLACE)
        if place >= at:
            return other_at >= at
        if other_at <= place:
            return False
        number = load_i64(record, NUMBER)
        stale = load_u8(load_i64(context, STALE_TOLD), number)
        outcome = _settle(record, books, sync + number * SYNC_SIZE, place, stale)
        if outcome == LEFT:
            return False
        store_64(record, OUTCOME, outcome)
        store_64(context, NEXT, next_one + 1)


@inlined
def _is_plain_case(sync, stale):
    """Whether all that can come of a snapshot that tells what is known is that it is right. What was known
    once and may have missed something counts, too: after a loss that is nearly everybody."""
    marks = load_u8(sync, MARKS)
    if load_u8(sync, BOOK) == CLEAN and load_u8(sync, STATISTICS) == CLEAN:
        return marks & AWAITED == 0
    known_once = load_u8(sync, KNOWN_ONCE) & ONCE_BOTH == ONCE_BOTH
    return load_u8(sync, BOOK) != STALE and marks & TOLD_AGAIN == 0 and stale == 0 and known_once


@kernel
def _settle(record, books, sync, place, stale):
    """A book that is told as it is known is clean."""
    if place < load_i64(sync, COVERED):
        return OLDER
    rpt_seq = load_i64(record, RPT_SEQ)
    if not _is_plain_case(sync, stale) or load_i64(sync, LAST) != rpt_seq:
        return LEFT
    number, orders, count = load_i64(record, NUMBER), load_i64(record, ORDERS), load_i64(record, ORDER_COUNT)
    if load_u8(header_of(books, number), t.OWN_STATE) == NOT_KNOWN:
        return LEFT  # the snapshot tells it
    if not same_book(books, number, orders, count):
        return LEFT
    outcome = MATCHED if load_u8(sync, BOOK) == CLEAN else EQUAL
    store_8(sync, BOOK, CLEAN)
    if load_i64(record, ONCE) & STATISTICS_ONCE:
        store_8(sync, STATISTICS, CLEAN)
    store_64(sync, COVERED, place)
    store_64(sync, LAST_AT, place)
    store_64(sync, BOUND, 0)
    store_8(sync, MARKS, REPORTED if rpt_seq != 0 else 0)
    store_8(sync, KNOWN_ONCE, load_u8(sync, KNOWN_ONCE) | load_i64(record, ONCE))
    return outcome


@kernel
def same_book(books, number, rows, count):
    """Whether the orders of a snapshot, or its levels, in the order it tells them, are those of the books of
    an instrument."""
    by_level = count != 0 and load_u8(rows, r.KIND) == SNAPSHOT_LEVEL
    matched = 0
    while number >= 0:
        header = header_of(books, number)
        same = (
            _same_levels(books, header, rows, count) if by_level else _same_orders(books, header, rows, count)
        )
        if same < 0:
            return 0
        matched += same
        number = next_book(header)
    return 1 if matched == count else 0


@kernel
def _same_orders(books, header, rows, count):
    """How many orders of a snapshot are of this book; below 0: it has others."""
    for side in (header, header + t.SIDE_SIZE):
        if load_u8(side, t.SIDE_POLICY) == t.BY_LEVEL and load_u32(side, t.SIDE_LEVELS) != 0:
            return -1  # these rows tell orders
    told_bids, told_offers, stream = 0, 0, load_u8(header, t.BOOK_STREAM)
    for i in range(count):
        row = rows + i * r.ROW_SIZE
        if book_stream(row) != stream:
            continue
        which = load_u8(row, r.SIDE)
        if which != 1 and which != 2:
            return -1
        side = header + (which - 1) * t.SIDE_SIZE
        held = load_u32(side, t.SIDE_ORDERS)
        place = told_bids if which == 1 else told_offers
        if place >= held:
            return -1
        table = address_of(books, load_u32(side, t.SIDE_ORDERS_AT))
        if load_u8(side, t.SIDE_POLICY) != t.BY_PRICE:
            slot = table + (held - 1 - place) * t.SLOT_SIZE
        else:
            slot = find_slot(table, bits_of(side), load_i64(row, r.ID))
        if not _same_order(slot, row):
            return -1
        if which == 1:
            told_bids += 1
        else:
            told_offers += 1
    bids, offers = load_u32(header, t.SIDE_ORDERS), load_u32(header + t.SIDE_SIZE, t.SIDE_ORDERS)
    return bids + offers if told_bids == bids and told_offers == offers else -1


@kernel
def _same_levels(books, header, rows, count):
    """As `_same_orders`, of levels."""
    told_bids, told_offers, stream = 0, 0, load_u8(header, t.BOOK_STREAM)
    for i in range(count):
        row = rows + i * r.ROW_SIZE
        if book_stream(row) != stream:
            continue
        which = load_u8(row, r.SIDE)
        if which != 1 and which != 2:
            return -1
        side = header + (which - 1) * t.SIDE_SIZE
        held, place = load_u32(side, t.SIDE_LEVELS), told_bids if which == 1 else told_offers
        if load_u8(side, t.SIDE_POLICY) != t.BY_LEVEL or place >= held:
            return -1
        level = address_of(books, load_u32(side, t.SIDE_LEVELS_AT)) + (held - 1 - place) * t.LEVEL_SIZE
        if not _same_level(level, row, 3 - 2 * which):
            return -1
        if which == 1:
            told_bids += 1
        else:
            told_offers += 1
    bids, offers = load_u32(header, t.SIDE_LEVELS), load_u32(header + t.SIDE_SIZE, t.SIDE_LEVELS)
    return bids + offers if told_bids == bids and told_offers == offers else -1


@inlined
def _same_level(level, row, sign):
    """A level without orders is none: who does not tell them means one or more."""
    return (
        load_i64(level, t.LEVEL_KEY) == key_of(sign, load_i64(row, r.PRICE))
        and load_i64(level, t.LEVEL_TOTAL) == load_i64(row, r.SIZE)
        and load_i64(level, t.LEVEL_ORDERS) == max(load_u32(row, r.FIRM), 1)
    )


@inlined
def _same_order(slot, row):
    """When an order came need not be told twice: Trademate's snapshots leave it out."""
    implied = load_u8(row, r.FLAGS) & t.SLOT_IMPLIED
    held_ns, told_ns = load_i64(slot, t.SLOT_INSERTED), load_i64(row, r.INSERTED)
    return (
        load_u32(slot, t.SLOT_FLAGS) == t.SLOT_USED | implied
        and load_i64(slot, t.SLOT_ID) == load_i64(row, r.ID)
        and load_i64(slot, t.SLOT_PRICE) == load_i64(row, r.PRICE)
        and load_i64(slot, t.SLOT_ORDER_SIZE) == load_i64(row, r.SIZE)
        and (held_ns == told_ns or held_ns == r.NULL or told_ns == r.NULL)
        and load_u32(slot, t.SLOT_FIRM) == load_u32(row, r.FIRM)
    )
