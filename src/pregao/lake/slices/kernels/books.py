"""Rows in the order of the stream onto the books of a slice, and to the tables they belong to.

What is to be done with a row is decided by what is known of its instrument (`recovery`); nothing is held,
for in a lake a snapshot is applied at its place. The row keeps how far it can be believed in `spare`. Rows
are gone through in pieces, as in `books.kernels.rows`: a book waits for memory more than it computes.
"""

from pregao.books import layout as t
from pregao.books.kernels.rows import (
    apply_row,
    end_event,
    fetch_book,
    find_instrument,
    header_of,
    quotes_fit,
    settle_top,
    touch,
)
from pregao.books.kernels.updates import clear_book
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
from pregao.lake.slices.kernels.sampling import (
    BOOK_ONCE,
    KNOWN_ONCE,
    STATISTICS_ONCE,
    doubt,
    mark_changed,
    sample_until,
    second_ends,
)
from pregao.lake.slices.kernels.snapshots import settle_told
from pregao.model import rows as r
from pregao.model.rows import Flag, Kind
from pregao.recovery.instruments import (
    BOOK,
    BOUND,
    MISSING,
    NEVER,
    STATISTICS,
    SYNC_SIZE,
    Decision,
    Known,
)
from pregao.recovery.kernels.instruments import decide

CONTEXT_FIELDS = (
    "books",  # context of the book store
    "sync",  # records of the instruments
    "notes",  # three words each: instrument, decision, place
    "note_count",
    "note_room",
    "told",  # snapshots that wait for their places: context of `slices.snapshots`
    "emit_from",  # rows of these places go to tables
    "emit_to",
    "table_of_kind",  # a byte each
    "buffers",  # address and count of the rows of each table
    "execution",  # the row of the matching event that is going on; 0: none
    "sampling",  # context of the samples
    "decided",  # of a row that was not applied for want of memory: what was decided about it; else -1
    "first_rows",  # of each packet, for its time: the time, and kind and wire version of the row
    "shard",  # instruments are shared out to
    "shards",  # so many slices of the same rows
)
(
    BOOKS, SYNC, NOTES, NOTE_COUNT, NOTE_ROOM, TOLD, EMIT_FROM, EMIT_TO, TABLE_OF_KIND, BUFFERS,
    EXECUTION_ROW, SAMPLING, DECIDED, FIRST_ROWS, SHARD, SHARDS,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip
NOTE_SIZE = 24
FIRST_ROW_SIZE = 16
NO_TABLE = 255
NOT_DECIDED = -1

# Codes beyond those of `books.layout`.
EVENT = 16  # not looked at: do what is due first
NOTES_FULL = 17
SAMPLES_FULL = 18

SUSPECTED = 256  # in a note: an update did not fit the book
APPLY, EMPTIED, WENT_STALE = int(Decision.APPLY), int(Decision.EMPTIED), int(Decision.WENT_STALE)
VERIFIED, HEALED = int(Decision.VERIFIED), int(Decision.HEALED)
NOTED = WENT_STALE | VERIFIED | HEALED | SUSPECTED
STALE = int(Known.STALE)
END_OF_EVENT, RECOVERY = int(Flag.END_OF_EVENT), int(Flag.RECOVERY)
ORDER, SIDE, LEVEL, EMPTY_BOOK = int(Kind.ORDER), int(Kind.SIDE), int(Kind.LEVEL), int(Kind.EMPTY_BOOK)
TRADE, EXECUTION = int(Kind.TRADE), int(Kind.EXECUTION)
STATE, PHASE = int(Kind.STATE), int(Kind.PHASE)  # they tell transactTime in every version
CHANNEL_RESET, DEFINITION = int(Kind.CHANNEL_RESET), int(Kind.DEFINITION)

NUMBER = r.SEQUENCE_VERSION  # of `rows.LAKE_ROW`: number of the instrument + 1; the place has the version
FIRST_TRANSACTED = 15  # wire version from which orders and trades tell transactTime (9)
QUOTE_QUALITY, QUOTE_TRANSACTED = 8, 4  # in the field `sides` of a quote: shift, and bit
# What an execution counts, in fields that it has no other use for.
TRADES_COUNTED, CHANGES_COUNTED = r.FIRM, r.POSITION


@inlined
def _note(context, number, outcome, at):
    count = load_i64(context, NOTE_COUNT)
    note = load_i64(context, NOTES) + count * NOTE_SIZE
    store_64(note, 0, number)
    store_64(note, 8, outcome)
    store_64(note, 16, at)
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
    """When it needs memory it is not applied, and what was decided is kept: one cannot decide twice."""
    sync = load_i64(context, SYNC) + number * SYNC_SIZE
    header, at = header_of(books, number), load_i64(row, r.AT)
    outcome = load_i64(context, DECIDED)
    store_64(context, DECIDED, NOT_DECIDED)
    if outcome == NOT_DECIDED:
        recovery = load_u8(row, r.FLAGS) & RECOVERY
        outcome = decide(sync, kind, load_u32(row, r.RPT_SEQ), at, recovery)
    if outcome & EMPTIED and kind != EMPTY_BOOK:
        clear_book(books, header)
        touch(books, header, number)
        mark_changed(load_i64(context, SAMPLING), number)
    is_book = kind <= r.LAST_BOOK_KIND
    if is_book and outcome & APPLY:
        if apply_row(books, number, row) == t.NEEDS_MEMORY:
            store_64(context, DECIDED, outcome)
            return t.NEEDS_MEMORY
        mark_changed(load_i64(context, SAMPLING), number)
        outcome |= _suspect(sync, header, at)
    if outcome & (EMPTIED | WENT_STALE):
        # Statistics that were never known are not in doubt for what is missing, until something is. What a
        # book held before it was emptied is of no interest, though it may be told again by half.
        once = BOOK_ONCE if outcome & EMPTIED else STATISTICS_ONCE
        store_8(sync, KNOWN_ONCE, load_u8(sync, KNOWN_ONCE) | once)
    store_8(row, r.SPARE, doubt(sync, BOOK if is_book else STATISTICS))
    if outcome & NOTED:
        _note(context, number, outcome, at)
    return t.DONE


@inlined
def _note_time(context, row, kind):
    """The first row of a packet that tells a time says when what the packet tells happened."""
    time_ns = load_i64(row, r.TIME)
    first = load_i64(context, FIRST_ROWS) + load_u32(row, r.PACKET) * FIRST_ROW_SIZE
    if load_i64(first, 0) == r.NULL and time_ns != r.NULL:
        store_64(first, 0, time_ns)
        store_64(first, 8, kind | load_u16(row, r.VERSION) << 8)


@inlined
def _is_mine(context, row):
    shards = load_i64(context, SHARDS)
    return shards == 1 or load_i64(row, r.SECURITY_ID) % shards == load_i64(context, SHARD)


@inlined
def count_in_event(context, kind):
    """Trades and changes of the matching event that is going on, of whichever instruments they are."""
    going_on = load_i64(context, EXECUTION_ROW)
    if going_on != 0:
        if kind == TRADE:
            store_32(going_on, TRADES_COUNTED, load_u32(going_on, TRADES_COUNTED) + 1)
        elif kind in (ORDER, SIDE, LEVEL):
            store_32(going_on, CHANGES_COUNTED, load_u32(going_on, CHANGES_COUNTED) + 1)
    if kind == EXECUTION:
        store_64(context, EXECUTION_ROW, 0)


@inlined
def emit(context, row, kind, number):
    """The row, with the number of its instrument, to the table of its kind."""
    at = load_i64(row, r.AT)
    store_32(row, NUMBER, number + 1)
    if load_i64(context, EMIT_FROM) <= at < load_i64(context, EMIT_TO):
        table = load_u8(load_i64(context, TABLE_OF_KIND), kind)
        if table != NO_TABLE:
            buffer = load_i64(context, BUFFERS) + table * 16
            count = load_i64(buffer, 8)
            target = load_i64(buffer, 0) + count * r.ROW_SIZE
            for word in range(r.ROW_SIZE // 8):
                store_64(target, word * 8, load_i64(row, word * 8))
            store_64(buffer, 8, count + 1)
            if kind == EXECUTION:
                store_64(context, EXECUTION_ROW, target)


@inlined
def _end(context, books, row, kind):
    """The event ends: quotes, with how far their books can be believed and whose time they have."""
    first = load_i64(books, t.QUOTES_COUNT)
    end_event(books, row)
    of_matching = kind <= r.LAST_TRADING_KIND and kind != EMPTY_BOOK
    transacted = of_matching and load_u16(row, r.VERSION) >= FIRST_TRANSACTED
    transacted |= kind in (STATE, PHASE)
    for number in range(first, load_i64(books, t.QUOTES_COUNT)):
        quote = load_i64(books, t.QUOTES) + number * t.QUOTE_SIZE
        sync = load_i64(context, SYNC) + load_u32(quote, t.QUOTE_INSTRUMENT) * SYNC_SIZE
        sides = load_u16(quote, t.QUOTE_SIDES) | doubt(sync, BOOK) << QUOTE_QUALITY
        store_16(quote, t.QUOTE_SIDES, sides | (QUOTE_TRANSACTED if transacted else 0))
    store_64(context, EXECUTION_ROW, 0)


@kernel
def take_rows(context, rows, first, count):
    """Rows from `first` to `count`; (code, first row that is left)."""
    books = load_i64(context, BOOKS)
    found = load_i64(books, t.FOUND)
    sync, sampling, piece = load_i64(context, SYNC), load_i64(context, SAMPLING), first
    told = load_i64(context, TOLD)
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
            kind = load_u8(row, r.KIND)
            ends = load_u8(row, r.FLAGS) & END_OF_EVENT
            if not settle_told(told, books, sync, load_i64(row, r.AT)):
                return EVENT, piece + i
            if second_ends(sampling, load_i64(row, r.AT)) and not sample_until(sampling, load_i64(row, r.AT)):
                return SAMPLES_FULL, piece + i
            if kind in (CHANNEL_RESET, DEFINITION):
                return t.SPECIAL, piece + i
            if ends and not quotes_fit(books):
                return t.QUOTES_FULL, piece + i
            mine = _is_mine(context, row) if kind < r.FIRST_SPECIAL else load_i64(context, SHARD) == 0
            if kind < r.FIRST_SPECIAL and mine:
                if number < 0:
                    return t.UNKNOWN_INSTRUMENT, piece + i
                if _take_row(context, books, number, row, kind) == t.NEEDS_MEMORY:
                    return t.NEEDS_MEMORY, piece + i
            if kind < r.FIRST_SPECIAL or kind == PHASE:
                _note_time(context, row, kind)
                count_in_event(context, kind)
                if mine:
                    emit(context, row, kind, number)
            if ends:
                _end(context, books, row, kind)
        piece += size
    return t.DONE, count


@kernel
def settle_one(books, number):
    """Bring what was told of one instrument up to date in the middle of an event: which sides changed. It
    stays on the list of those touched, who look once more at the end of the event."""
    header = header_of(books, number)
    top = load_i64(books, t.TOPS) + number * t.TOP_SIZE
    changed = settle_top(books, header, 1, top)
    return changed | 2 * settle_top(books, header + t.SIDE_SIZE, -1, top + t.TOP_SIDE)
