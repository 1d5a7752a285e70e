"""Ten price levels of both sides of instruments that changed, at the end of each second, to flat words."""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.ladder import price_of, ranked
from pregao.books.kernels.quotes import header_of
from pregao.books.kernels.rows import first_of, next_book
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64
from pregao.lake.slices.kernels.states import packed_state
from pregao.lake.tables.analytics import Quality
from pregao.recovery.instruments import BOOK, SYNC_SIZE, BookStatus
from pregao.recovery.instruments import SYNC as RECORD

LEVELS = 10
SAMPLE_STATE = 16  # above the quality: what the instrument is in
QUALITY_MASK = (1 << SAMPLE_STATE) - 1
# A sample: instrument, quality and state, bids, offers, the packet after which it was taken, then price, size
# and orders of each level, bids first.
HEAD_WORDS = 5
SIDE_WORDS = LEVELS * 3
SAMPLE_WORDS = HEAD_WORDS + 2 * SIDE_WORDS
SAMPLE_SIZE = SAMPLE_WORDS * 8

# The context: words of 64 bits.
SAMPLING_FIELDS = (
    "books",
    "sync",
    "changed",  # a byte for each instrument: its book changed since the last sample
    "changed_list",
    "changed_count",
    "places",  # after which a second ends, by place; the last is never reached
    "packets",  # of those places
    "next",  # which of them comes next
    "emit_from",  # samples of these places are kept
    "emit_to",
    "samples",
    "sample_count",
    "sample_room",
)
(
    BOOKS, SYNC, CHANGED, CHANGED_LIST, CHANGED_COUNT, PLACES, PACKETS, NEXT, EMIT_FROM, EMIT_TO, SAMPLES,
    SAMPLE_COUNT, SAMPLE_ROOM,
) = range(0, 8 * len(SAMPLING_FIELDS), 8)  # fmt: skip

CLEAN = int(BookStatus.CLEAN)
KNOWN_ONCE = RECORD.fields["spare"][1]  # type: ignore[index]  # with a bit for each part
BOOK_ONCE, STATISTICS_ONCE = 1, 2
UNKNOWN, AFTER_GAP = int(Quality.BOOK_UNKNOWN), int(Quality.AFTER_GAP)


@inlined
def doubt(sync, offset):
    """What is to be said of a row of a part of an instrument."""
    if load_u8(sync, offset) == CLEAN:
        return 0
    once = BOOK_ONCE if offset == BOOK else STATISTICS_ONCE
    return AFTER_GAP if load_u8(sync, KNOWN_ONCE) & once else UNKNOWN


@inlined
def mark_changed(sampling, number):
    changed = load_i64(sampling, CHANGED)
    if load_u8(changed, number) == 0:
        store_8(changed, number, 1)
        count = load_i64(sampling, CHANGED_COUNT)
        store_32(load_i64(sampling, CHANGED_LIST), count * 4, number)
        store_64(sampling, CHANGED_COUNT, count + 1)


@kernel
def note_change(sampling, number):
    """Of all books of an instrument."""
    while number >= 0:
        mark_changed(sampling, number)
        number = next_book(header_of(load_i64(sampling, BOOKS), number))


@inlined
def _levels(books, side, sign, target):
    """Best first; how many."""
    count = load_u32(side, t.SIDE_LEVELS)
    shown, sign = min(count, LEVELS), ranked(side, sign)
    levels = address_of(books, load_u32(side, t.SIDE_LEVELS_AT))
    for place in range(shown):
        level = levels + (count - 1 - place) * t.LEVEL_SIZE
        store_64(target, place * 8, price_of(sign, load_i64(level, t.LEVEL_KEY)))
        store_64(target, (LEVELS + place) * 8, load_i64(level, t.LEVEL_TOTAL))
        store_64(target, (2 * LEVELS + place) * 8, load_i64(level, t.LEVEL_ORDERS))
    return shown


@kernel
def _sample(sampling, packet, wanted):
    """All that changed since the last time, which is forgotten."""
    books, count = load_i64(sampling, BOOKS), load_i64(sampling, CHANGED_COUNT)
    written = load_i64(sampling, SAMPLE_COUNT)
    for place in range(count):
        number = load_u32(load_i64(sampling, CHANGED_LIST), place * 4)
        store_8(load_i64(sampling, CHANGED), number, 0)
        if wanted:
            target = load_i64(sampling, SAMPLES) + (written + place) * SAMPLE_SIZE
            header, levels = header_of(books, number), target + HEAD_WORDS * 8
            store_64(target, 0, number)
            first = first_of(books, number)
            quality = doubt(load_i64(sampling, SYNC) + first * SYNC_SIZE, BOOK)
            store_64(target, 8, quality | packed_state(header_of(books, first)) << SAMPLE_STATE)
            store_64(target, 16, _levels(books, header, 1, levels))
            store_64(target, 24, _levels(books, header + t.SIDE_SIZE, -1, levels + SIDE_WORDS * 8))
            store_64(target, 32, packet)
    store_64(sampling, CHANGED_COUNT, 0)
    if wanted:
        store_64(sampling, SAMPLE_COUNT, written + count)


@inlined
def second_ends(sampling, place):
    """Whether a second ends before what stands at a place."""
    return load_i64(load_i64(sampling, PLACES), load_i64(sampling, NEXT) * 8) < place


@kernel
def sample_until(sampling, place):
    """The ends of all seconds before a place; False when there is no room: take the samples first."""
    while second_ends(sampling, place):
        number = load_i64(sampling, NEXT)
        ended = load_i64(load_i64(sampling, PLACES), number * 8)
        wanted = load_i64(sampling, EMIT_FROM) <= ended < load_i64(sampling, EMIT_TO)
        needed = load_i64(sampling, SAMPLE_COUNT) + load_i64(sampling, CHANGED_COUNT)
        if wanted and needed > load_i64(sampling, SAMPLE_ROOM):
            return False
        _sample(sampling, load_i64(load_i64(sampling, PACKETS), number * 8), wanted)
        store_64(sampling, NEXT, number + 1)
    return True
