"""Rows onto books: one at a time for other kernels (`apply_row`), or in runs of the stream (`apply_rows`).

A book waits for memory more than it computes, so a run is done in pieces of `PIECE` rows, each gone
through three times: find the instruments, fetch what their headers point to, apply.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.by_level import apply_level
from pregao.books.kernels.by_price import bits_of, home_of
from pregao.books.kernels.ladder import price_of, ranked
from pregao.books.kernels.statistics import apply_statistic
from pregao.books.kernels.updates import apply_order, apply_side, clear_book
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    prefetch,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.model import rows as r
from pregao.model.rows import Flag, Kind

ORDER, SIDE, EMPTY_BOOK, LEVEL = int(Kind.ORDER), int(Kind.SIDE), int(Kind.EMPTY_BOOK), int(Kind.LEVEL)
SNAPSHOT_ORDER, SNAPSHOT_LEVEL = int(Kind.SNAPSHOT_ORDER), int(Kind.SNAPSHOT_LEVEL)
END_OF_EVENT = int(Flag.END_OF_EVENT)


@inlined
def header_of(context, instrument):
    return load_i64(context, t.HEADERS) + instrument * t.HEADER_SIZE


@inlined
def touch(context, header, instrument):
    """Put an instrument on the list of those to look at when the event ends."""
    if load_u8(header, t.IS_TOUCHED) == 0:
        store_8(header, t.IS_TOUCHED, 1)
        count = load_i64(context, t.TOUCHED_COUNT)
        store_32(load_i64(context, t.TOUCHED), count * 4, instrument)
        store_64(context, t.TOUCHED_COUNT, count + 1)


@inlined
def first_of(context, number):
    """The number of the instrument that a book is of."""
    return load_u32(load_i64(context, t.FIRSTS), number * 4)


@inlined
def next_book(header):
    """The number of the next book of the same instrument; -1 behind the last."""
    return (load_u32(header, t.NEXT_BOOK) & t.NEXT_BOOK_MASK) - 1


@inlined
def book_stream(row):
    stream = load_u8(row, r.STREAM)
    return t.E_BOOK if stream == 0 or stream == r.ELECTRONIC else stream


@kernel
def find_book(context, instrument, stream):
    """An instrument's book of a stream; -1: there is none. Its first is of the stream that tells first."""
    header = header_of(context, instrument)
    if load_u8(header, t.BOOK_STREAM) == 0:
        store_8(header, t.BOOK_STREAM, stream)
    number = instrument
    while number >= 0 and load_u8(header, t.BOOK_STREAM) != stream:
        number = next_book(header)
        header = header_of(context, number)
    return number


@inlined
def book_of(context, instrument, row):
    """The number of the book that a row of an instrument is for: each stream has its own. -1: none yet."""
    stream = book_stream(row)
    if load_u8(header_of(context, instrument), t.BOOK_STREAM) == stream:
        return instrument
    return find_book(context, instrument, stream)


@inlined
def clear_books(context, instrument):
    """All books of an instrument are empty."""
    number = instrument
    while number >= 0:
        header = header_of(context, number)
        clear_book(context, header)
        touch(context, header, number)
        number = next_book(header)


@kernel
def want_book(context, instrument, row):
    """A row for a book that is not there: have it made, or skip it when there are as many as there may be."""
    if load_i64(context, t.SKIP_BOOKS) != 0:
        store_64(context, t.SKIPPED, load_i64(context, t.SKIPPED) + 1)
        return t.DONE
    store_64(context, t.WANTED_BOOK, instrument << 8 | book_stream(row))
    return t.NEEDS_MEMORY


@inlined
def apply_row(context, instrument, row):
    """One row onto a book or the statistics of an instrument; DONE, REJOINED or NEEDS_MEMORY."""
    kind = load_u8(row, r.KIND)
    if kind == EMPTY_BOOK:
        clear_books(context, instrument)
        return t.DONE
    if r.LAST_BOOK_KIND < kind < r.FIRST_ENTRY_KIND:
        return apply_statistic(context, header_of(context, instrument), row)
    number = book_of(context, instrument, row)
    if number < 0:
        return want_book(context, instrument, row)
    header = header_of(context, number)
    if kind in (ORDER, SNAPSHOT_ORDER):
        code = apply_order(context, header, row)
    elif kind == SIDE:
        code = apply_side(context, header, row)
    elif kind in (LEVEL, SNAPSHOT_LEVEL):
        code = apply_level(context, header, row)
    else:
        return t.DONE
    dirty = load_u8(header, t.SIDE_DIRTY) | load_u8(header, t.SIDE_SIZE + t.SIDE_DIRTY)
    if dirty or load_i64(context, t.DEPTH_LEVELS) != 0:
        touch(context, header, number)
    return code


@inlined
def settle_top(context, side, sign, top):
    """Bring what was told of a side up to date; whether it changed."""
    store_8(side, t.SIDE_DIRTY, 0)
    sign = ranked(side, sign)
    count = load_u32(side, t.SIDE_LEVELS)
    price, size, orders = r.NULL, 0, 0
    if count > 0:
        level = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)) + (count - 1) * t.LEVEL_SIZE
        price = price_of(sign, load_i64(level, t.LEVEL_KEY))
        size, orders = load_i64(level, t.LEVEL_TOTAL), load_i64(level, t.LEVEL_ORDERS)
    same = load_i64(top, 0) == price and load_i64(top, 8) == size and load_i64(top, 16) == orders
    if same:
        return 0
    store_64(top, 0, price)
    store_64(top, 8, size)
    store_64(top, 16, orders)
    return 1


@inlined
def settle_instrument(context, instrument):
    """Which sides of an instrument have another top than was told: 1 the bids, 2 the offers."""
    header = header_of(context, instrument)
    top = load_i64(context, t.TOPS) + instrument * t.TOP_SIZE
    offers, changed = header + t.SIDE_SIZE, 0
    store_8(header, t.IS_TOUCHED, 0)
    if load_u8(header, t.SIDE_DIRTY) != 0:
        changed = settle_top(context, header, 1, top)
    if load_u8(offers, t.SIDE_DIRTY) != 0:
        changed |= 2 * settle_top(context, offers, -1, top + t.TOP_SIDE)
    return changed


@inlined
def settle_depth_side(context, side, sign, shown, depth):
    """As `settle_top`, of the first `depth` levels."""
    count, changed, sign = load_u32(side, t.SIDE_LEVELS), 0, ranked(side, sign)
    best = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)) + (count - 1) * t.LEVEL_SIZE
    for place in range(depth):
        price, size, orders = r.NULL, 0, 0
        if place < count:
            level = best - place * t.LEVEL_SIZE
            price = price_of(sign, load_i64(level, t.LEVEL_KEY))
            size, orders = load_i64(level, t.LEVEL_TOTAL), load_i64(level, t.LEVEL_ORDERS)
        entry = shown + place * t.LEVEL_SIZE
        if load_i64(entry, 0) != price or load_i64(entry, 8) != size or load_i64(entry, 16) != orders:
            store_64(entry, 0, price)
            store_64(entry, 8, size)
            store_64(entry, 16, orders)
            changed = 1
    return changed


@inlined
def settle_depth(context, instrument, depth):
    """Which sides of an instrument have other first levels than were told: 1 the bids, 2 the offers."""
    header, size = header_of(context, instrument), depth * t.LEVEL_SIZE
    shown = load_i64(context, t.DEPTH_SHOWN) + instrument * 2 * size
    changed = settle_depth_side(context, header, 1, shown, depth)
    return changed | 2 * settle_depth_side(context, header + t.SIDE_SIZE, -1, shown + size, depth)


@inlined
def write_depth(context, instrument, changed, depth, row):
    count, size = load_i64(context, t.DEPTHS_COUNT), 2 * depth * t.LEVEL_SIZE
    target = load_i64(context, t.DEPTHS) + count * (t.DEPTH_BIDS + size)
    write_head(context, target, instrument, changed, row)
    shown = load_i64(context, t.DEPTH_SHOWN) + instrument * size
    for word in range(size // 8):
        store_64(target, t.DEPTH_BIDS + word * 8, load_i64(shown, word * 8))
    store_64(context, t.DEPTHS_COUNT, count + 1)


@inlined
def write_head(context, quote, instrument, changed, row):
    """What quotes and depths begin with: of what, and which row ended the event."""
    store_64(quote, t.QUOTE_SECURITY, load_i64(load_i64(context, t.SECURITY_IDS), instrument * 8))
    store_64(quote, t.QUOTE_AT, load_i64(row, r.AT))
    store_64(quote, t.QUOTE_TIME, load_i64(row, r.TIME))
    store_32(quote, t.QUOTE_PACKET, load_u32(row, r.PACKET))
    store_32(quote, t.QUOTE_RPT_SEQ, load_u32(row, r.RPT_SEQ))
    store_16(quote, t.QUOTE_INDEX, load_u16(row, r.INDEX))
    store_16(quote, t.QUOTE_SIDES, changed)
    store_32(quote, t.QUOTE_INSTRUMENT, instrument)


@inlined
def write_quote(context, instrument, changed, row):
    count = load_i64(context, t.QUOTES_COUNT)
    quote = load_i64(context, t.QUOTES) + count * t.QUOTE_SIZE
    write_head(context, quote, instrument, changed, row)
    top = load_i64(context, t.TOPS) + instrument * t.TOP_SIZE
    for word in range(2 * t.TOP_SIDE // 8):
        store_64(quote, t.QUOTE_BID + word * 8, load_i64(top, word * 8))
    store_64(context, t.QUOTES_COUNT, count + 1)


@inlined
def quotes_fit(context):
    """Whether the end of an event may be told now: a quote and a depth, where they are wanted, of each
    instrument touched, and of this one."""
    more = load_i64(context, t.TOUCHED_COUNT) + 1
    quotes, depths = load_i64(context, t.QUOTES_COUNT) + more, load_i64(context, t.DEPTHS_COUNT) + more
    if load_i64(context, t.QUOTES) != 0 and quotes > load_i64(context, t.QUOTES_CAPACITY):
        return False
    return load_i64(context, t.DEPTH_LEVELS) == 0 or depths <= load_i64(context, t.DEPTHS_CAPACITY)


@inlined
def end_event(context, row):
    """Tell the tops, and the first levels, that changed in the event that `row` ends."""
    touched = load_i64(context, t.TOUCHED)
    wanted, depth = load_i64(context, t.QUOTES) != 0, load_i64(context, t.DEPTH_LEVELS)
    for place in range(load_i64(context, t.TOUCHED_COUNT)):
        instrument = load_u32(touched, place * 4)
        changed = settle_instrument(context, instrument)
        if changed != 0 and wanted:
            write_quote(context, instrument, changed, row)
        if depth != 0:
            changed = settle_depth(context, instrument, depth)
            if changed != 0:
                write_depth(context, instrument, changed, depth, row)
    store_64(context, t.TOUCHED_COUNT, 0)


@inlined
def find_instrument(context, security_id):
    """-1 when it is not known."""
    bits = load_i64(context, t.LOOKUP_BITS)
    table, mask, place = load_i64(context, t.LOOKUP), (1 << bits) - 1, home_of(security_id, bits)
    while True:
        entry = table + place * t.LOOKUP_SIZE
        number = load_i64(entry, 8)
        if number == 0 or load_i64(entry, 0) == security_id:
            return number - 1
        place = (place + 1) & mask


@inlined
def fetch_book(context, instrument, row):
    """Have what an order row will touch brought near. Where it is may change until then: no harm."""
    number = load_u8(row, r.SIDE)
    if instrument < 0 or load_u8(row, r.KIND) != ORDER or number < 1 or number > 2:
        return
    side = header_of(context, instrument) + (number - 1) * t.SIDE_SIZE
    table = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    prefetch(table + home_of(load_i64(row, r.ID), bits_of(side)) * t.SLOT_SIZE)
    levels = address_of(context, load_u32(side, t.SIDE_LEVELS_AT))
    prefetch(levels + load_u32(side, t.SIDE_LEVELS) * t.LEVEL_SIZE - t.LEVEL_SIZE)


@kernel
def apply_rows(context, rows, first, count):
    """Rows from `first` to `count` in the order of the stream; (code, first row that is left)."""
    found = load_i64(context, t.FOUND)
    piece = first
    while piece < count:
        size = min(t.PIECE, count - piece)
        for i in range(size):
            instrument = find_instrument(context, load_i64(rows, (piece + i) * r.ROW_SIZE + r.SECURITY_ID))
            store_64(found, i * 8, instrument)
            prefetch(header_of(context, instrument))
        for i in range(size):
            fetch_book(context, load_i64(found, i * 8), rows + (piece + i) * r.ROW_SIZE)
        for i in range(size):
            row, instrument = rows + (piece + i) * r.ROW_SIZE, load_i64(found, i * 8)
            ends = load_u8(row, r.FLAGS) & END_OF_EVENT
            if load_u8(row, r.KIND) >= r.FIRST_SPECIAL:
                return t.SPECIAL, piece + i
            if ends and not quotes_fit(context):
                return t.QUOTES_FULL, piece + i
            if instrument < 0:
                if load_i64(context, t.SKIP_UNKNOWN) == 0:
                    return t.UNKNOWN_INSTRUMENT, piece + i
                store_64(context, t.SKIPPED, load_i64(context, t.SKIPPED) + 1)
                code = t.DONE
            else:
                code = apply_row(context, instrument, row)
            if code == t.NEEDS_MEMORY:
                return code, piece + i
            if ends:
                end_event(context, row)
            if code != t.DONE:
                return code, piece + i + 1
        piece += size
    return t.DONE, count


@kernel
def load_rows(context, instrument, rows, count, first_kind, last_kind):
    """Rows of one instrument whose kinds lie between two; (code, first row that is left)."""
    for i in range(count):
        row = rows + i * r.ROW_SIZE
        if first_kind <= load_u8(row, r.KIND) <= last_kind:
            code = apply_row(context, instrument, row)
            if code == t.NEEDS_MEMORY:
                return code, i
    return t.DONE, count


@kernel
def load_books(context, instruments, rows, counts, first, count):
    """Orders of snapshots, `counts` rows at the address in `rows` for each instrument, in the place of their
    books; (code, first instrument that is left)."""
    for i in range(first, count):
        instrument = load_i64(instruments, i * 8)
        clear_books(context, instrument)
        for place in range(load_i64(counts, i * 8)):
            row = load_i64(rows, i * 8) + place * r.ROW_SIZE
            if apply_row(context, instrument, row) == t.NEEDS_MEMORY:
                return t.NEEDS_MEMORY, i
    return t.DONE, count


@kernel
def clear_instrument(context, instrument):
    clear_books(context, instrument)


@kernel
def settle(context):
    """Have the tops and first levels told that are now, without an event."""
    touched, depth = load_i64(context, t.TOUCHED), load_i64(context, t.DEPTH_LEVELS)
    for place in range(load_i64(context, t.TOUCHED_COUNT)):
        settle_instrument(context, load_u32(touched, place * 4))
        if depth != 0:
            settle_depth(context, load_u32(touched, place * 4), depth)
    store_64(context, t.TOUCHED_COUNT, 0)
