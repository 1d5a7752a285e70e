"""Rows in the order of the stream onto the books: the one loop of the live handler and of the lake's slices.

What is to be done with a row is decided by what is known of its instrument (`recovery`), and done by `books`.
What only one of them does is in the helpers that each gives to `run`: see `handler.kernels.live` and
`lake.slices.kernels.books`. The plain twin is `ChannelMachine.on_row` with `tests/twins/plain_book.py`.

A book waits for memory more than it computes, so rows are gone through in pieces, as in `books.kernels.rows`.
"""

from pregao.books import layout as t
from pregao.books.kernels.quotes import header_of, quotes_fit
from pregao.books.kernels.rows import apply_row, book_of, clear_books, fetch_book, find_instrument
from pregao.kernels import hooked, inlined, load_i64, load_u8, load_u32, prefetch, store_8, store_64
from pregao.model import rows as r
from pregao.model.rows import Kind
from pregao.recovery.instruments import BOOK, BOUND, MISSING, NEVER, NOTABLE, SYNC_SIZE, BookStatus, Decision
from pregao.recovery.kernels.instruments import decide, forget_held, push

# A context begins with these words of 64 bits; what its owner needs besides comes behind them.
CORE_FIELDS = (
    "books",  # context of the book store
    "sync",  # records of the instruments
    "pool",  # held rows; 0: nothing is held
    "with_statistics",  # whether statistics are kept, or books alone
    "notes",  # four words each: instrument, decision, kind, place
    "note_count",
    "note_room",
    "decided",  # of a row that was not applied for want of memory: what was decided about it; else -1
)
BOOKS, SYNC, POOL, WITH_STATISTICS, NOTES, NOTE_COUNT, NOTE_ROOM, DECIDED = range(0, 8 * len(CORE_FIELDS), 8)
CORE_SIZE = 8 * len(CORE_FIELDS)
NOTE_WORDS = 4
NOTE_SIZE = 8 * NOTE_WORDS

# Codes beyond those of `books.layout`; owners have theirs from FIRST_OWN_CODE on.
OVERFLOW = 16  # the row was applied if that was decided, but there is no room to hold it
NOTES_FULL = 17  # not looked at: take the notes and call again
FIRST_OWN_CODE = 32

SUSPECTED = 256  # in a note: an update did not fit the book
NOTED = NOTABLE | SUSPECTED  # no other decision changes what is known of an instrument
NOT_DECIDED = -1

APPLY, HOLD, FORGET = int(Decision.APPLY), int(Decision.HOLD), int(Decision.FORGET)
EMPTIED = int(Decision.EMPTIED)
STALE = int(BookStatus.STALE)
END_OF_EVENT, RECOVERY = int(r.Flag.END_OF_EVENT), int(r.Flag.RECOVERY)
EMPTY_BOOK = int(Kind.EMPTY_BOOK)


@inlined
def sync_of(context, number):
    return load_i64(context, SYNC) + number * SYNC_SIZE


@inlined
def _note(context, number, outcome, kind, at):
    count = load_i64(context, NOTE_COUNT)
    note = load_i64(context, NOTES) + count * NOTE_SIZE
    store_64(note, 0, number)
    store_64(note, 8, outcome)
    store_64(note, 16, kind)
    store_64(note, 24, at)
    store_64(context, NOTE_COUNT, count + 1)


@inlined
def _suspect(sync, header, at):
    """An update did not fit the book, so the book is wrong: whether that is news."""
    if load_u8(header, t.SUSPECT) == 0 or load_u8(sync, BOOK) == STALE:
        return 0
    store_8(sync, BOOK, STALE)
    store_64(sync, MISSING, max(load_i64(sync, MISSING), at))
    store_64(sync, BOUND, NEVER)
    return SUSPECTED


@inlined
def _take_row(context, books, number, row, kind):
    """(code, decision) of one row of an instrument. When it needs memory it is not applied, and what was
    decided is kept: one cannot decide twice."""
    sync, pool = sync_of(context, number), load_i64(context, POOL)
    at = load_i64(row, r.AT)
    outcome = load_i64(context, DECIDED)
    store_64(context, DECIDED, NOT_DECIDED)
    if outcome == NOT_DECIDED:
        recovery = load_u8(row, r.FLAGS) & RECOVERY
        outcome = decide(sync, kind, load_u32(row, r.RPT_SEQ), at, recovery)
    if outcome & FORGET:  # something is held, so there is a pool
        forget_held(pool, sync)
    if outcome & EMPTIED and kind != EMPTY_BOOK:
        clear_books(books, number)
    code, is_book = t.DONE, kind <= r.LAST_BOOK_KIND
    if outcome & APPLY and (is_book or load_i64(context, WITH_STATISTICS) != 0):
        code = apply_row(books, number, row)
        if code == t.NEEDS_MEMORY:
            store_64(context, DECIDED, outcome)
            return code, outcome
        if is_book:
            book = book_of(books, number, row)
            if book >= 0:
                outcome |= _suspect(sync, header_of(books, book), at)
    if outcome & HOLD and pool != 0 and not push(pool, sync, row):
        code = OVERFLOW
    if outcome & NOTED:
        _note(context, number, outcome, kind, at)
    return code, outcome


@hooked
def run(context, rows, first, count, due, concerns, after_row, ended):
    """Rows from `first` to `count`; (code, first row that is left).

    due(context, books, row, kind)             the code to stop with before a row; DONE: go on
    concerns(context, row, kind, number)       whether a row is of an instrument that is kept here
    told(context, number, row, kind, outcome)  after a row; `outcome` is NOT_DECIDED if it does not concern
    ended(context, books, row, kind)           at the end of an event
    """
    books = load_i64(context, BOOKS)
    found, sync = load_i64(books, t.FOUND), load_i64(context, SYNC)
    piece = first
    while piece < count:
        size = min(t.PIECE, count - piece)
        if load_i64(context, NOTE_COUNT) + size > load_i64(context, NOTE_ROOM):
            return NOTES_FULL, piece
        for i in range(size):
            number = find_instrument(books, load_i64(rows, (piece + i) * r.ROW_SIZE + r.SECURITY_ID))
            store_64(found, i * 8, number)
            prefetch(header_of(books, number))
            prefetch(sync + number * SYNC_SIZE)
        for i in range(size):
            fetch_book(books, load_i64(found, i * 8), rows + (piece + i) * r.ROW_SIZE)
        for i in range(size):
            row, number = rows + (piece + i) * r.ROW_SIZE, load_i64(found, i * 8)
            kind, ends = load_u8(row, r.KIND), load_u8(row, r.FLAGS) & END_OF_EVENT
            code = due(context, books, row, kind)
            if code != t.DONE:
                return code, piece + i
            if ends and not quotes_fit(books):
                return t.QUOTES_FULL, piece + i
            outcome = NOT_DECIDED
            if concerns(context, row, kind, number):
                if number < 0:
                    return t.UNKNOWN_INSTRUMENT, piece + i
                code, outcome = _take_row(context, books, number, row, kind)
                if code == t.NEEDS_MEMORY:
                    return code, piece + i
            after_row(context, number, row, kind, outcome)
            if ends:
                ended(context, books, row, kind)
            if code != t.DONE:
                return code, piece + i + 1
        piece += size
    return t.DONE, count
