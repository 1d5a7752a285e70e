"""Rows in the order of the stream onto the books: what is to be done with each is decided by what is
known of its instrument (`recovery`), and done by `books`. The plain twin is `ChannelMachine.on_row` with
`tests/twins/plain_book.py`.

A book waits for memory more than it computes, so rows are gone through in pieces, as in `books.kernels.rows`.
"""

from pregao.books import layout as t
from pregao.books.kernels.rows import (
    apply_row,
    end_event,
    fetch_book,
    find_instrument,
    header_of,
    quotes_fit,
    touch,
)
from pregao.books.kernels.statistics import (
    RESERVED,
    SESSION_CHANGE,
    forget_auction,
    is_auction,
    reset_session,
)
from pregao.books.kernels.updates import clear_book
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, prefetch, store_8, store_64
from pregao.model import rows as r
from pregao.model.market import Phase
from pregao.model.rows import Kind
from pregao.recovery.instruments import BOOK, BOUND, MISSING, NEVER, NOTABLE, SYNC_SIZE, Decision, Known
from pregao.recovery.kernels.instruments import (
    decide,
    first_held,
    forget_held,
    held_row,
    next_held,
    push,
    recount,
)

# The context: words of 64 bits.
CONTEXT_FIELDS = (
    "books",  # context of the book store
    "sync",  # records of the instruments
    "unclean",  # address of how many of them are not clean
    "pool",  # held rows
    "notes",  # four words each: index, decision, kind, place
    "note_count",
    "note_room",
    "decided",  # of a row that was not applied for want of memory: what was decided about it; else -1
    "skip_unknown",  # rows of instruments that are not in the table are of no interest
    "skipped",
)
(BOOKS, SYNC, UNCLEAN, POOL, NOTES, NOTE_COUNT, NOTE_ROOM, DECIDED, SKIP_UNKNOWN, SKIPPED) = range(
    0, 8 * len(CONTEXT_FIELDS), 8
)
NOTE_SIZE = 32

# Codes beyond those of `books.layout`.
OVERFLOW = 16  # the row was applied if that was decided, but there is no room to hold it
NOTES_FULL = 17  # not looked at: take the notes and call again

SUSPECTED = 256  # in a note: an update did not fit the book

APPLY, HOLD, FORGET = int(Decision.APPLY), int(Decision.HOLD), int(Decision.FORGET)
EMPTIED = int(Decision.EMPTIED)
STALE = int(Known.STALE)
END_OF_EVENT, RECOVERY = int(r.Flag.END_OF_EVENT), int(r.Flag.RECOVERY)
EMPTY_BOOK = int(Kind.EMPTY_BOOK)
PHASE = int(Kind.PHASE)
PRE_OPEN = int(Phase.PRE_OPEN)
NOT_DECIDED = -1


@inlined
def _note(context, index, outcome, kind, at):
    count = load_i64(context, NOTE_COUNT)
    note = load_i64(context, NOTES) + count * NOTE_SIZE
    store_64(note, 0, index)
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
def _take_row(context, books, number, row, at_first):
    """(code, decision) of one row of an instrument that is known."""
    sync = load_i64(context, SYNC) + number * SYNC_SIZE
    pool, header = load_i64(context, POOL), header_of(books, number)
    kind, at = load_u8(row, r.KIND), load_i64(row, r.AT)
    outcome = load_i64(context, DECIDED)
    if not at_first or outcome == NOT_DECIDED:
        recovery = load_u8(row, r.FLAGS) & RECOVERY
        outcome = decide(sync, kind, load_u32(row, r.RPT_SEQ), at, recovery)
    if outcome & FORGET:
        forget_held(pool, sync)
    if outcome & EMPTIED and kind != EMPTY_BOOK:
        clear_book(books, header)
        touch(books, header, number)
    code = t.DONE
    if outcome & APPLY:
        code = apply_row(books, number, row)
        if code == t.NEEDS_MEMORY:
            store_64(context, DECIDED, outcome)
            return code, outcome
        if kind <= r.LAST_BOOK_KIND:
            outcome |= _suspect(sync, header, at)
    if outcome & HOLD and not push(pool, sync, row):
        code = OVERFLOW
    if outcome & (NOTABLE | SUSPECTED):  # no other decision changes what is known of an instrument
        recount(load_i64(context, UNCLEAN), sync)
        _note(context, number, outcome, kind, at)
    return code, outcome


@kernel
def take_rows(context, rows, first, count):
    """Rows from `first` to `count`; (code, first row that is left)."""
    books = load_i64(context, BOOKS)
    found = load_i64(books, t.FOUND)
    sync, piece = load_i64(context, SYNC), first
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
            ends = load_u8(row, r.FLAGS) & END_OF_EVENT
            if load_u8(row, r.KIND) >= r.FIRST_SPECIAL:
                return t.SPECIAL, piece + i
            if ends and not quotes_fit(books):
                return t.QUOTES_FULL, piece + i
            code = t.DONE
            if number >= 0:
                code, _ = _take_row(context, books, number, row, piece + i == first)
                if code == t.NEEDS_MEMORY:
                    return code, piece + i
                store_64(context, DECIDED, NOT_DECIDED)
            elif load_i64(context, SKIP_UNKNOWN):
                store_64(context, SKIPPED, load_i64(context, SKIPPED) + 1)
            else:
                return t.UNKNOWN_INSTRUMENT, piece + i
            if ends:
                end_event(books, row)
            if code != t.DONE:
                return code, piece + i + 1
        piece += size
    return t.DONE, count


@kernel
def end_without_row(books, row):
    """The tops that changed are told as of the place and the time of `row`, which is no message."""
    if not quotes_fit(books):
        return t.QUOTES_FULL
    end_event(books, row)
    return t.DONE


@inlined
def _affect(books, header, row):
    """What a phase of its group does to an instrument: see `groups.Groups.affect`."""
    before, own, phase = load_u8(header, t.GROUP_PHASE), load_u8(header, t.OWN_STATE), load_u8(row, r.TYPE)
    if is_auction(before, own):
        left_opening = before == PRE_OPEN and phase != before
        if not is_auction(phase, own) or (left_opening and own != RESERVED):
            forget_auction(books, header)
    if load_u8(row, r.DETAIL) == SESSION_CHANGE:
        reset_session(books, header)


@kernel
def take_phase(context, row, indexes, first, count, is_theirs):
    """The phase of a group onto its instruments; or, not `is_theirs`, held for some that may be of it.
    (code, first that is left): OVERFLOW or DONE."""
    books, pool = load_i64(context, BOOKS), load_i64(context, POOL)
    at = load_i64(row, r.AT)
    for place in range(first, count):
        number = load_u32(indexes, place * 4)
        sync, header = load_i64(context, SYNC) + number * SYNC_SIZE, header_of(books, number)
        outcome = decide(sync, PHASE, 0, at, 0)
        if is_theirs:
            if outcome & APPLY:
                _affect(books, header, row)
            store_8(header, t.GROUP_PHASE, load_u8(row, r.TYPE))
        if outcome & HOLD and not push(pool, sync, row):
            return OVERFLOW, place + 1
    return t.DONE, count


@kernel
def whole_events(rows, count):
    """How many of the rows belong to events that have ended; a row that is not about one instrument
    belongs to none."""
    while count > 0:
        row = rows + (count - 1) * r.ROW_SIZE
        if load_u8(row, r.FLAGS) & END_OF_EVENT or load_u8(row, r.KIND) >= r.FIRST_SPECIAL:
            break
        count -= 1
    return count


@kernel
def apply_held(context, number, slot, after_at, with_book, with_statistics):
    """Rows held of an instrument from a slot on (below 0: from the first), those that stand after a
    place and are of the parts wanted. (code, slot that is left): SPECIAL is a phase of its group."""
    books, pool = load_i64(context, BOOKS), load_i64(context, POOL)
    sync = load_i64(context, SYNC) + number * SYNC_SIZE
    if slot < 0:
        slot = first_held(sync)
    while slot >= 0:
        row = held_row(pool, slot)
        kind = load_u8(row, r.KIND)
        wanted = with_book if kind <= r.LAST_BOOK_KIND else with_statistics
        if wanted and load_i64(row, r.AT) > after_at:
            if kind >= r.FIRST_SPECIAL:
                return t.SPECIAL, slot
            code = apply_row(books, number, row)
            if code == t.NEEDS_MEMORY:
                return code, slot
        slot = next_held(pool, slot)
    return t.DONE, slot
