"""What changed in an event, told at its end: tops of the books that it touched, and their first levels."""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.ladder import price_of, ranked
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
from pregao.model import rows as r


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


@kernel
def settle(context):
    """Have the tops and first levels told that are now, without an event."""
    touched, depth = load_i64(context, t.TOUCHED), load_i64(context, t.DEPTH_LEVELS)
    for place in range(load_i64(context, t.TOUCHED_COUNT)):
        settle_instrument(context, load_u32(touched, place * 4))
        if depth != 0:
            settle_depth(context, load_u32(touched, place * 4), depth)
    store_64(context, t.TOUCHED_COUNT, 0)
