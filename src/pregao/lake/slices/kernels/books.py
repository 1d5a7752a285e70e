"""What only a slice does with rows: the loop is `handler.kernels.core`.

Each row goes to the table it belongs to, and keeps in `spare` how far it can be believed. Nothing is held:
in a lake a snapshot is applied at its place, before the rows after it. Books are sampled as seconds end.
"""

from pregao.books import layout as t
from pregao.books.kernels.quotes import end_event, header_of, settle_top
from pregao.books.kernels.rows import book_of, first_of
from pregao.handler.kernels.core import (
    APPLY,
    BOOKS,
    CORE_FIELDS,
    CORE_SIZE,
    EMPTIED,
    EMPTY_BOOK,
    FIRST_OWN_CODE,
    HOLD,
    NOT_DECIDED,
    SYNC,
    run,
    sync_of,
)
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
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
    note_change,
    sample_until,
    second_ends,
)
from pregao.lake.slices.kernels.snapshots import settle_told
from pregao.lake.slices.kernels.states import (
    NOT_KNOWN,
    NUMBER_BITS,
    enter_phase,
    mark_trade,
    packed_state,
    tell_state,
)
from pregao.model import rows as r
from pregao.model.rows import Kind
from pregao.recovery.instruments import BOOK, STATISTICS, Decision

CONTEXT_FIELDS = (
    *CORE_FIELDS,
    "told",  # snapshots that wait for their places: context of `kernels.snapshots`
    "emit_from",  # rows of these places go to tables
    "emit_to",
    "table_of_kind",  # a byte each
    "buffers",  # address and count of the rows of each table
    "execution",  # the row of the matching event that is going on; 0: none
    "sampling",  # context of the samples
    "first_rows",  # of each packet, for its time: the time, and kind and wire version of the row
    "shard",  # instruments are shared out to
    "shards",  # so many slices of the same rows
    "transacts_from",  # version of messages from which orders and trades tell transactTime
    "states",  # context of `kernels.states`
)
(
    TOLD, EMIT_FROM, EMIT_TO, TABLE_OF_KIND, BUFFERS, EXECUTION_ROW, SAMPLING, FIRST_ROWS, SHARD, SHARDS,
    TRANSACTS_FROM, STATES,
) = range(CORE_SIZE, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip
FIRST_ROW_SIZE = 16
NO_TABLE = 255

# Codes beyond those of the core.
EVENT = FIRST_OWN_CODE  # not looked at: do what is due first
SAMPLES_FULL = FIRST_OWN_CODE + 1

WENT_STALE = int(Decision.WENT_STALE)
ORDER, SIDE, LEVEL = int(Kind.ORDER), int(Kind.SIDE), int(Kind.LEVEL)
TRADE, EXECUTION = int(Kind.TRADE), int(Kind.EXECUTION)
STATE, PHASE = int(Kind.STATE), int(Kind.PHASE)  # they tell transactTime in every version
CHANNEL_RESET, DEFINITION = int(Kind.CHANNEL_RESET), int(Kind.DEFINITION)

NUMBER = r.SEQUENCE_VERSION  # of `rows.LAKE_ROW`: number of the instrument + 1; the place has the version
QUOTE_QUALITY, QUOTE_TRANSACTED = 8, 4  # in the field `sides` of a quote: shift, and bit
# What an execution counts, in fields that it has no other use for.
TRADES_COUNTED, CHANGES_COUNTED = r.FIRM, r.POSITION


@inlined
def _due(context, books, row, kind):
    """Snapshots and seconds that come before the row; rows that are not for kernels."""
    at, sampling = load_i64(row, r.AT), load_i64(context, SAMPLING)
    if not settle_told(load_i64(context, TOLD), books, load_i64(context, SYNC), at):
        return EVENT
    if second_ends(sampling, at) and not sample_until(sampling, at):
        return SAMPLES_FULL
    return t.SPECIAL if kind in (CHANNEL_RESET, DEFINITION) else t.DONE


@inlined
def _concerns(context, row, kind, number):
    shards = load_i64(context, SHARDS)
    mine = shards == 1 or load_i64(row, r.SECURITY_ID) % shards == load_i64(context, SHARD)
    return kind < r.FIRST_SPECIAL and mine


@inlined
def _told(context, number, row, kind, outcome):
    is_special = kind >= r.FIRST_SPECIAL
    if is_special and kind != PHASE:
        return
    if outcome != NOT_DECIDED:
        _learn(context, number, row, kind, outcome)
    if kind in (TRADE, STATE, PHASE):
        _follow_states(context, number, row, kind, outcome)
    _note_time(context, row, kind)
    count_in_event(context, kind)
    if outcome != NOT_DECIDED or (is_special and load_i64(context, SHARD) == 0):
        emit(context, row, kind, number)


@inlined
def _follow_states(context, number, row, kind, outcome):
    books, states = load_i64(context, BOOKS), load_i64(context, STATES)
    if kind == PHASE:
        at, index, time_ns = load_i64(row, r.AT), load_u16(row, r.INDEX), load_i64(row, r.TIME)
        enter_phase(states, books, load_i64(row, r.ID), load_u8(row, r.TYPE), at, index, time_ns)
    elif outcome == NOT_DECIDED:
        return
    elif kind == TRADE:
        mark_trade(books, number, row, load_i64(context, EXECUTION_ROW))
    elif outcome & (APPLY | HOLD):  # not in what a snapshot has told already
        tell_state(states, books, number, row)


@inlined
def _learn(context, number, row, kind, outcome):
    """What a decision says of the instrument and of the row."""
    sync, is_book = sync_of(context, number), kind <= r.LAST_BOOK_KIND
    if outcome & EMPTIED:
        note_change(load_i64(context, SAMPLING), number)
    elif is_book and outcome & APPLY:
        mark_changed(load_i64(context, SAMPLING), max(book_of(load_i64(context, BOOKS), number, row), number))
    if outcome & (EMPTIED | WENT_STALE):
        # Statistics that were never known are not in doubt for what is missing, until something is. What a
        # book held before it was emptied is of no interest, though it may be told again by half.
        once = BOOK_ONCE if outcome & EMPTIED else STATISTICS_ONCE
        store_8(sync, KNOWN_ONCE, load_u8(sync, KNOWN_ONCE) | once)
        if outcome & WENT_STALE:
            store_8(header_of(load_i64(context, BOOKS), number), t.OWN_STATE, NOT_KNOWN)
    store_8(row, r.SPARE, doubt(sync, BOOK if is_book else STATISTICS))


@inlined
def _note_time(context, row, kind):
    """The first row of a packet that tells a time says when what the packet tells happened."""
    time_ns = load_i64(row, r.TIME)
    first = load_i64(context, FIRST_ROWS) + load_u32(row, r.PACKET) * FIRST_ROW_SIZE
    if load_i64(first, 0) == r.NULL and time_ns != r.NULL:
        store_64(first, 0, time_ns)
        store_64(first, 8, kind | load_u16(row, r.VERSION) << 8)


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
def _ended(context, books, row, kind):
    """The event ends: quotes, with how far their books can be believed and whose time they have."""
    first = load_i64(books, t.QUOTES_COUNT)
    end_event(books, row)
    of_matching = kind <= r.LAST_TRADING_KIND and kind != EMPTY_BOOK
    transacted = of_matching and load_u16(row, r.VERSION) >= load_i64(context, TRANSACTS_FROM)
    transacted |= kind in (STATE, PHASE)
    for number in range(first, load_i64(books, t.QUOTES_COUNT)):
        quote = load_i64(books, t.QUOTES) + number * t.QUOTE_SIZE
        instrument = load_u32(quote, t.QUOTE_INSTRUMENT)
        first_book = first_of(books, instrument)
        sync, state = sync_of(context, first_book), packed_state(header_of(books, first_book))
        store_32(quote, t.QUOTE_INSTRUMENT, instrument | state << NUMBER_BITS)
        sides = load_u16(quote, t.QUOTE_SIDES) | doubt(sync, BOOK) << QUOTE_QUALITY
        store_16(quote, t.QUOTE_SIDES, sides | (QUOTE_TRANSACTED if transacted else 0))
    store_64(context, EXECUTION_ROW, 0)


@kernel
def take_rows(context, rows, first, count):
    """Rows from `first` to `count`; (code, first row that is left)."""
    return run(context, rows, first, count, _due, _concerns, _told, _ended)


@kernel
def settle_one(books, number):
    """Bring what was told of one book up to date in the middle of an event: which sides changed. It
    stays on the list of those touched, who look once more at the end of the event."""
    header = header_of(books, number)
    top = load_i64(books, t.TOPS) + number * t.TOP_SIZE
    changed = settle_top(books, header, 1, top)
    return changed | 2 * settle_top(books, header + t.SIDE_SIZE, -1, top + t.TOP_SIDE)
