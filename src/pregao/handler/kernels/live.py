"""What only the live handler does with rows: what it skips, how many instruments are not clean, rows that are
held for a snapshot, phases of groups. The loop is `handler.kernels.core`.
"""

from pregao.books import layout as t
from pregao.books.kernels.quotes import end_event, header_of, quotes_fit
from pregao.books.kernels.rows import apply_row
from pregao.books.kernels.statistics import (
    RESERVED,
    SESSION_CHANGE,
    forget_auction,
    is_auction,
    reset_session,
)
from pregao.handler.kernels.core import (
    APPLY,
    BOOKS,
    CORE_FIELDS,
    CORE_SIZE,
    END_OF_EVENT,
    HOLD,
    NOT_DECIDED,
    NOTED,
    OVERFLOW,
    POOL,
    run,
    sync_of,
)
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import Phase
from pregao.model.rows import Kind
from pregao.recovery.kernels.instruments import decide, first_held, held_row, next_held, push, recount

CONTEXT_FIELDS = (
    *CORE_FIELDS,
    "unclean",  # address of how many of the instruments are not clean
    "skip_unknown",  # rows of instruments that are not in the table are of no interest
    "skipped",
)
UNCLEAN, SKIP_UNKNOWN, SKIPPED = range(CORE_SIZE, 8 * len(CONTEXT_FIELDS), 8)

PHASE = int(Kind.PHASE)
PRE_OPEN = int(Phase.PRE_OPEN)


@inlined
def _due(context, books, row, kind):
    return t.SPECIAL if kind >= r.FIRST_SPECIAL else t.DONE


@inlined
def _concerns(context, row, kind, number):
    if number >= 0 or load_i64(context, SKIP_UNKNOWN) == 0:
        return True
    store_64(context, SKIPPED, load_i64(context, SKIPPED) + 1)
    return False


@inlined
def _after_row(context, number, row, kind, outcome):
    if outcome != NOT_DECIDED and outcome & NOTED:
        recount(load_i64(context, UNCLEAN), sync_of(context, number))


@inlined
def _ended(context, books, row, kind):
    end_event(books, row)


@kernel
def take_rows(context, rows, first, count):
    """Rows from `first` to `count`; (code, first row that is left)."""
    return run(context, rows, first, count, _due, _concerns, _after_row, _ended)


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
        sync, header = sync_of(context, number), header_of(books, number)
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
    sync = sync_of(context, number)
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


# Packets of a batch by what their source is to a channel. Its plain twin is in its test.
#
# All arguments are numbers and addresses: see `pregao.kernels`.


# What a source is.
NOT_OURS, FOLLOWED, STANDBY, RECOVERY = range(4)


@kernel
def sort_packets(sources, arrivals, count, roles, feeds, followed, recovery, standby):
    """Rows of incremental packets of the site that is followed, and of packets of recovery streams; how
    many there are of each. `standby` has two words for each feed of the other site: when it was last
    heard, and how often."""
    taken, others = 0, 0
    for row in range(count):
        source = load_u16(sources, row * 2)
        role = load_u8(roles, source)
        if role == FOLLOWED:
            store_32(followed, taken * 4, row)
            taken += 1
        elif role == RECOVERY:
            store_32(recovery, others * 4, row)
            others += 1
        elif role == STANDBY:
            heard = standby + load_u8(feeds, source) * 16
            store_64(heard, 0, load_i64(arrivals, row * 8))
            store_64(heard, 8, load_i64(heard, 8) + 1)
    return taken, others
