"""Ten price levels of both sides of the instruments that changed, to flat columns."""

from pregao.books import layout as t
from pregao.books.arena.kernels import address_of
from pregao.books.kernels import header_of
from pregao.books.ladder.kernels import price_of
from pregao.kernels import inlined, kernel, load_i64, load_u32, store_8, store_64
from pregao.lake.slices.books.kernels import CHANGED, CHANGED_COUNT, CHANGED_LIST, SYNC, doubt
from pregao.sessions.instruments import BOOK, SYNC_SIZE

LEVELS = 10
# A sample: instrument, quality, bids, offers, then price, size and orders of each level, bids first.
SAMPLE_WORDS = 4 + 2 * LEVELS * 3
SAMPLE_SIZE = SAMPLE_WORDS * 8
SIDE_WORDS = LEVELS * 3


@inlined
def _levels(books, side, sign, target):
    """Best first; how many."""
    count = load_u32(side, t.SIDE_LEVELS)
    shown = min(count, LEVELS)
    levels = address_of(books, load_u32(side, t.SIDE_LEVELS_AT))
    for place in range(shown):
        level = levels + (count - 1 - place) * t.LEVEL_SIZE
        store_64(target, place * 8, price_of(sign, load_i64(level, t.LEVEL_KEY)))
        store_64(target, (LEVELS + place) * 8, load_i64(level, t.LEVEL_TOTAL))
        store_64(target, (2 * LEVELS + place) * 8, load_i64(level, t.LEVEL_ORDERS))
    return shown


@kernel
def sample(context, books, out):
    """All that changed since the last time, which is forgotten; how many samples were written."""
    count = load_i64(context, CHANGED_COUNT)
    for place in range(count):
        number = load_u32(load_i64(context, CHANGED_LIST), place * 4)
        store_8(load_i64(context, CHANGED), number, 0)
        target, header = out + place * SAMPLE_SIZE, header_of(books, number)
        store_64(target, 0, number)
        store_64(target, 8, doubt(load_i64(context, SYNC) + number * SYNC_SIZE, BOOK))
        store_64(target, 16, _levels(books, header, 1, target + 32))
        store_64(target, 24, _levels(books, header + t.SIDE_SIZE, -1, target + 32 + SIDE_WORDS * 8))
    store_64(context, CHANGED_COUNT, 0)
    return count


@kernel
def forget_changes(context):
    for place in range(load_i64(context, CHANGED_COUNT)):
        number = load_u32(load_i64(context, CHANGED_LIST), place * 4)
        store_8(load_i64(context, CHANGED), number, 0)
    store_64(context, CHANGED_COUNT, 0)


