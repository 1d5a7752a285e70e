"""Rows onto books: one at a time for other kernels (`apply_row`), or in runs of the stream (`apply_rows`).

A book waits for memory more than it computes, so a run is done in pieces of `PIECE` rows, each gone
through three times: find the instruments, fetch what their headers point to, apply.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.by_level import apply_level
from pregao.books.kernels.by_price import bits_of, home_of
from pregao.books.kernels.quotes import end_event, header_of, quotes_fit, touch
from pregao.books.kernels.statistics import apply_statistic
from pregao.books.kernels.updates import apply_order, apply_side, clear_book
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u32,
    prefetch,
    store_8,
    store_64,
)
from pregao.model import rows as r
from pregao.model.rows import Flag, Kind

ORDER, SIDE, EMPTY_BOOK, LEVEL = int(Kind.ORDER), int(Kind.SIDE), int(Kind.EMPTY_BOOK), int(Kind.LEVEL)
SNAPSHOT_ORDER, SNAPSHOT_LEVEL = int(Kind.SNAPSHOT_ORDER), int(Kind.SNAPSHOT_LEVEL)
END_OF_EVENT = int(Flag.END_OF_EVENT)


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
