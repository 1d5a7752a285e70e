"""Where things lie in the memory of a `BookStore`: what its kernels and its Python side agree on.

    context      one block of 64-bit words: addresses of the rest, free lists, bounds
    headers      a cache line per instrument: where its sides, levels and statistics are
    tops         a cache line per instrument: its best bid and offer as last told
    firsts       the number of the instrument that each book is of
    anomalies    counters per instrument, rarely touched
    depth told   the first levels of both sides of each instrument as last told, if somebody wants them
    lookup       security_id to instrument (`model.numbering`)
    arena        blocks for orders, levels and statistics, addressed by offset in cache lines, so that
                 Python can move the arena to a larger place between two calls

A side's levels are sorted, the best at the END: that is where nearly everything happens, and what is
inserted there moves nothing. Its orders are a hash table by id where prices order the book (priority
within a level is only looked for by whoever looks at orders), and an array, position 1 at the END,
where positions do. Both have the same slots, in blocks of the same sizes. Where levels are told there are no
orders, and the levels lie by position, 1 at the END.

A level is kept by its key, which rises towards the top on both sides and is greatest for no price:
price - 1 for bids, -price - 1 for offers, so that the greatest number is left for NULL; of rates, whose lower
one is the better bid, the other way round. Nothing here may rely on numbers that wrap: numba tells LLVM that
signed ones do not.
"""

from typing import Final

import numpy as np

from pregao.books.views import Anomaly, SidePolicy
from pregao.model import numbering
from pregao.model.rows import ROW_SIZE, Flag

LINE: Final = 64

# Context: offsets in bytes.
(
    HEADERS, INSTRUMENTS, TOPS, ANOMALIES, LOOKUP, LOOKUP_BITS, SKIP_UNKNOWN, SKIPPED, ARENA, ARENA_SIZE,
    ARENA_USED, WANTED, ORDERS_HELD, MAX_ORDERS, TOUCHED, TOUCHED_COUNT, QUOTES, QUOTES_CAPACITY,
    QUOTES_COUNT, SECURITY_IDS, FOUND, DEPTH_LEVELS, DEPTH_SHOWN, DEPTHS, DEPTHS_CAPACITY, DEPTHS_COUNT,
    WANTED_BOOK, SKIP_BOOKS, FIRSTS,
) = range(0, 29 * 8, 8)  # fmt: skip
CLASSES: Final = 32  # of block sizes, each twice the one before
FREE_ORDERS: Final = 29 * 8
FREE_LEVELS: Final = FREE_ORDERS + CLASSES * 8
FREE_STATISTICS: Final = FREE_LEVELS + CLASSES * 8
FREE_STREAMS: Final = FREE_STATISTICS + 8
CONTEXT_WORDS: Final = FREE_STREAMS // 8 + 1

# Header of an instrument.
HEADER_SIZE: Final = LINE
SIDE_SIZE: Final = 24
SIDE: Final = np.dtype(
    [
        ("orders_at", "<u4"), ("orders", "<u4"), ("levels_at", "<u4"), ("levels", "<u4"),
        ("orders_class", "u1"), ("levels_class", "u1"), ("policy", "u1"), ("dirty", "u1"), ("depth", "<u4"),
    ]
)  # fmt: skip
assert SIDE.itemsize == SIDE_SIZE
SIDE_ORDERS_AT: Final = 0  # u32, in lines; 0: none
SIDE_ORDERS: Final = 4  # u32: how many
SIDE_LEVELS_AT: Final = 8
SIDE_LEVELS: Final = 12
SIDE_ORDERS_CLASS: Final = 16  # u8: capacity is FIRST_CAPACITY << class
SIDE_LEVELS_CLASS: Final = 17
SIDE_POLICY: Final = 18  # u8
SIDE_DIRTY: Final = 19  # u8: the best level may have changed
SIDE_DEPTH: Final = 20  # u32: how many levels there may be, where they are told; 0: as many as there are
STATISTICS_AT: Final = 48  # u32, in lines; 0: none
SUSPECT: Final = 52  # u8
OWN_STATE: Final = 53  # u8; 0: as its group
GROUP_PHASE: Final = 54  # u8; 0: not known
IS_TOUCHED: Final = 55  # u8: in the list of those touched since the end of an event
STREAMS_AT: Final = 56  # u32, in lines: statistics of streams other than 0; 0: none
NEXT_BOOK: Final = 60  # u32, three bytes of it: number + 1 of another book of the same instrument; 0: none
NEXT_BOOK_MASK: Final = (1 << 24) - 1
BOOK_STREAM: Final = 63  # u8: what stream the book is of, E_BOOK or an MDStreamID; 0: no row has said it yet
E_BOOK: Final = 1

BY_PRICE, BY_POSITION, BY_LEVEL, BY_RATE = map(int, SidePolicy)

FIRST_CAPACITY: Final = 8  # of orders or levels in a block
FIRST_CAPACITY_BITS: Final = 3

SLOT: Final = np.dtype(
    [
        ("id", "<i8"), ("price", "<i8"), ("size", "<i8"), ("inserted_ns", "<i8"),
        ("firm", "<u4"), ("flags", "<u4"),
    ]
)  # fmt: skip
SLOT_SIZE: Final = 40
SLOT_ID, SLOT_PRICE, SLOT_ORDER_SIZE, SLOT_INSERTED, SLOT_FIRM, SLOT_FLAGS = 0, 8, 16, 24, 32, 36
SLOT_USED: Final = 1
SLOT_IMPLIED: Final = int(Flag.IMPLIED)  # a row's own bit
ORDERS_BLOCK: Final = FIRST_CAPACITY * SLOT_SIZE  # bytes of the smallest
assert SLOT.itemsize == SLOT_SIZE
assert ORDERS_BLOCK % LINE == 0

LEVEL: Final = np.dtype([("key", "<i8"), ("size", "<i8"), ("orders", "<i8")])
LEVEL_SIZE: Final = 24
LEVEL_KEY, LEVEL_TOTAL, LEVEL_ORDERS = 0, 8, 16
NO_PRICE_KEY: Final = (1 << 63) - 1
LEVELS_BLOCK: Final = FIRST_CAPACITY * LEVEL_SIZE
assert LEVELS_BLOCK % LINE == 0

# Best bid and offer as last told.
TOP_SIZE: Final = LINE
TOP_SIDE: Final = 24  # price, size, orders of a side

ANOMALY_COUNTERS: Final = 16
assert len(Anomaly) <= ANOMALY_COUNTERS
ANOMALIES_SIZE: Final = ANOMALY_COUNTERS * 4

LOOKUP_SIZE: Final = numbering.LOOKUP_SIZE
HASH_FACTOR: Final = numbering.HASH_FACTOR

# Statistics are the rows that told them. The first ones are those that a new session resets (14.3).
(
    OPENING, THEORETICAL, HIGH, LOW, LAST_TRADE, TOTALS, INDEX, VWAP, IMBALANCE, CLOSING, PREVIOUS_CLOSING,
    SETTLEMENT, PREVIOUS_SETTLEMENT, OPEN_INTEREST, QUANTITY_BAND, STATE, COMPOSITE, VOLATILITY, BANDS,
) = range(19)  # fmt: skip
RESET_SLOTS: Final = 8
BAND_TYPES: Final = 5  # the first is the reference price, which has no type (13.11)
STATISTICS_SLOTS: Final = BANDS + BAND_TYPES
STATISTICS_BLOCK: Final = STATISTICS_SLOTS * ROW_SIZE
# Those of another stream (MDStreamID) than 0 come behind a line that says which, and where the next are.
STREAM_NEXT: Final = 0  # u32, in lines; 0: none
STREAM_NUMBER: Final = 4  # u8
STREAM_BLOCK: Final = LINE + STATISTICS_BLOCK
assert STATISTICS_BLOCK % LINE == 0

QUOTE: Final = np.dtype(
    [
        ("security_id", "<i8"), ("at", "<i8"), ("time_ns", "<i8"),  # of the row that ended the event
        ("packet", "<u4"), ("rpt_seq", "<u4"), ("index", "<u2"), ("sides", "<u2"), ("instrument", "<u4"),
        ("bid_price", "<i8"), ("bid_size", "<i8"), ("bid_orders", "<i8"),
        ("offer_price", "<i8"), ("offer_size", "<i8"), ("offer_orders", "<i8"),
    ]
)  # fmt: skip
QUOTE_SIZE: Final = 88
(
    QUOTE_SECURITY, QUOTE_AT, QUOTE_TIME, QUOTE_PACKET, QUOTE_RPT_SEQ, QUOTE_INDEX, QUOTE_SIDES,
    QUOTE_INSTRUMENT, QUOTE_BID,
) = (0, 8, 16, 24, 28, 32, 34, 36, 40)  # fmt: skip
assert QUOTE.itemsize == QUOTE_SIZE

# A depth begins as a quote does; then the first levels of the bids, then of the offers, best first.
DEPTH_BIDS: Final = QUOTE_BID
PRICE_LEVEL: Final = np.dtype([("price", "<i8"), ("size", "<i8"), ("orders", "<i8")])


def depth_type(levels: int) -> np.dtype[np.void]:
    """Of depths of so many levels a side; a level without orders is not there."""
    head = [(name, QUOTE.fields[name][0]) for name in (QUOTE.names or ())[:8]]  # type: ignore[index]
    return np.dtype([*head, ("bids", PRICE_LEVEL, (levels,)), ("offers", PRICE_LEVEL, (levels,))])


# What a kernel says.
DONE: Final = 0
NEEDS_MEMORY: Final = 1  # nothing was applied: make WANTED bytes of room in the arena and call again
REJOINED: Final = 2  # applied; the state tells a phase of the group that was not known (14)
UNKNOWN_INSTRUMENT: Final = 3  # not applied: add it and call again
SPECIAL: Final = 4  # not applied: a row that is not about one instrument
QUOTES_FULL: Final = 5  # not applied: take the quotes and call again

PIECE: Final = 32  # rows that are looked ahead
