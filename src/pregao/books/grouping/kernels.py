"""Rows applied one instrument after the other: each book is brought near once. For whoever has many rows
at hand and asks only for what came of them; the quotes are those of the stream, in another order."""

from pregao.books import layout as t
from pregao.books.kernels import (
    apply_row,
    fetch_book,
    find_instrument,
    header_of,
    settle_instrument,
    write_quote,
)
from pregao.kernels import kernel, load_i64, load_u8, load_u32, prefetch, store_32, store_64
from pregao.model import rows as r

END_OF_EVENT = 1
NO_END = 0xFFFFFFFF
NEAR, FAR = 8, 24  # rows ahead whose books, and which themselves, are brought near


@kernel
def find_rows(context, rows, first, count, found, counts):
    """The instrument of each row, and how many rows each instrument has (from `counts` + 1 on); (code,
    first row that is left)."""
    for i in range(first, count):
        row = rows + i * r.ROW_SIZE
        if load_u8(row, r.KIND) >= r.FIRST_SPECIAL:
            return t.SPECIAL, i
        instrument = find_instrument(context, load_i64(row, r.SECURITY_ID))
        if instrument < 0 and load_i64(context, t.SKIP_UNKNOWN) == 0:
            return t.UNKNOWN_INSTRUMENT, i
        store_32(found, i * 4, instrument + 1)  # 0: skipped
        place = (instrument + 2) * 4
        store_32(counts, place, load_u32(counts, place) + 1)
    return t.DONE, count


@kernel
def order_rows(rows, first, count, found, counts, instruments, order, ends):
    """Numbers of the rows by instrument, in the order of the stream within one; and for each row the
    number of the one that ends its event."""
    for place in range(1, instruments + 2):
        store_32(counts, place * 4, load_u32(counts, place * 4) + load_u32(counts, place * 4 - 4))
    for i in range(first, count):
        place = load_u32(found, i * 4) * 4
        at = load_u32(counts, place)
        store_32(order, at * 4, i)
        store_32(counts, place, at + 1)
    end, i = NO_END, count
    while i > first:
        i -= 1
        if load_u8(rows, i * r.ROW_SIZE + r.FLAGS) & END_OF_EVENT:
            end = i
        store_32(ends, i * 4, end)


@kernel
def _end_here(context, instrument, row, rows, end):
    """The event of an instrument's row is over, as far as it concerns that instrument."""
    header = header_of(context, instrument)
    if load_u8(header, t.IS_TOUCHED) == 0:
        return
    store_64(context, t.TOUCHED_COUNT, load_i64(context, t.TOUCHED_COUNT) - 1)  # it is the last of the list
    changed = settle_instrument(context, instrument)
    if changed != 0 and load_i64(context, t.QUOTES) != 0:
        write_quote(context, instrument, changed, rows + end * r.ROW_SIZE)


@kernel
def apply_grouped(context, rows, order, found, ends, first, count):
    """Rows in the order that `order_rows` made; (code, first place in it that is left)."""
    for k in range(first, count):
        i = load_u32(order, k * 4)
        row, instrument, end = rows + i * r.ROW_SIZE, load_u32(found, i * 4) - 1, load_u32(ends, i * 4)
        if k + FAR < count:
            far = rows + load_u32(order, (k + FAR) * 4) * r.ROW_SIZE
            prefetch(far)
            prefetch(far + t.LINE)
            near = load_u32(order, (k + NEAR) * 4)
            fetch_book(context, load_u32(found, near * 4) - 1, rows + near * r.ROW_SIZE)
        if instrument < 0:
            store_64(context, t.SKIPPED, load_i64(context, t.SKIPPED) + 1)
            continue
        quotes = load_i64(context, t.QUOTES)
        if quotes != 0 and load_i64(context, t.QUOTES_COUNT) >= load_i64(context, t.QUOTES_CAPACITY):
            return t.QUOTES_FULL, k
        code = apply_row(context, instrument, row)
        if code == t.NEEDS_MEMORY:
            return code, k
        if end != NO_END:
            following = i if k + 1 == count else load_u32(order, k * 4 + 4)
            another = load_u32(found, following * 4) != instrument + 1
            if following == i or another or load_u32(ends, following * 4) != end:
                _end_here(context, instrument, row, rows, end)
        if code != t.DONE:
            return code, k + 1
    return t.DONE, count
