"""Level rows onto a side that is kept by level: the levels as they are told, by position, 1 at the END.

A side of a depth has at most so many levels: what an insertion pushes beyond it is dropped without a message
(9.2.1 of the FIX/FAST guidelines). The top of a book is a side of depth 1 (9.3).

Where a feed tells no positions (PUMA Conflated) a level is found by its price.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import (
    MALFORMED,
    OVERFLOW,
    POSITION,
    PRICE_DIFFERS,
    PRICE_ORDER,
    SIZE_DIFFERS,
    UNKNOWN_CHANGE,
    UNKNOWN_DELETE,
    address_of,
    copy_words,
    count_anomaly,
)
from pregao.books.kernels.by_position import convert_side
from pregao.books.kernels.ladder import find_level, key_of, reserve_level
from pregao.books.views import MAX_LEVELS, MAX_SIZE
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import Action
from pregao.model.rows import Flag

NEW, CHANGE, DELETE, OVERLAY = int(Action.NEW), int(Action.CHANGE), int(Action.DELETE), int(Action.OVERLAY)
FOUND_BY_PRICE = int(Flag.FOUND_BY_PRICE)
WORDS = t.LEVEL_SIZE // 8


@kernel
def _write(context, header, side, row, place, key):
    """A level at a place of the array; its price is to lie between those of its neighbours."""
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    level = levels + place * t.LEVEL_SIZE
    store_64(level, t.LEVEL_KEY, key)
    store_64(level, t.LEVEL_TOTAL, load_i64(row, r.SIZE))
    store_64(level, t.LEVEL_ORDERS, max(load_u32(row, r.FIRM), 1))
    if place == count - 1:
        store_8(side, t.SIDE_DIRTY, 1)
    is_wrong = place > 0 and load_i64(level - t.LEVEL_SIZE, t.LEVEL_KEY) >= key
    if place < count - 1:
        is_wrong |= load_i64(level + t.LEVEL_SIZE, t.LEVEL_KEY) <= key
    if is_wrong:
        count_anomaly(context, header, PRICE_ORDER)


@kernel
def _insert(context, header, side, sign, row, position):
    if reserve_level(context, side) != t.DONE:
        return t.NEEDS_MEMORY
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    depth = load_u32(side, t.SIDE_DEPTH)
    if depth == 0 and count >= MAX_LEVELS:
        count_anomaly(context, header, OVERFLOW)
        return t.DONE
    is_wrong = position < 1 or position > count + 1
    if is_wrong:
        position = count + 1
    is_beyond = depth != 0 and position > depth
    if is_wrong or is_beyond:
        count_anomaly(context, header, POSITION)
    if is_beyond:
        return t.DONE
    if depth != 0 and count == depth:  # the worst is dropped: those before it move down
        place = count - position
        copy_words(levels + t.LEVEL_SIZE, levels, place * WORDS)
    else:
        place = count + 1 - position
        word = count * WORDS - 1
        while word >= place * WORDS:  # from the end: the places overlap
            store_64(levels, word * 8 + t.LEVEL_SIZE, load_i64(levels, word * 8))
            word -= 1
        store_32(side, t.SIDE_LEVELS, count + 1)
    _write(context, header, side, row, place, key_of(sign, load_i64(row, r.PRICE)))
    return t.DONE


@inlined
def _remove(context, side, place):
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    level = levels + place * t.LEVEL_SIZE
    copy_words(level + t.LEVEL_SIZE, level, (count - 1 - place) * WORDS)
    store_32(side, t.SIDE_LEVELS, count - 1)
    if place == count - 1:
        store_8(side, t.SIDE_DIRTY, 1)


@kernel
def _apply_by_price(context, header, side, sign, row, action):
    """A level that its price finds: no price is one too, that of orders at the auction's."""
    if action == OVERLAY:
        count_anomaly(context, header, MALFORMED)
        return t.DONE
    count, key = load_u32(side, t.SIDE_LEVELS), key_of(sign, load_i64(row, r.PRICE))
    levels, place = 0, 0
    if count > 0:
        levels = address_of(context, load_u32(side, t.SIDE_LEVELS_AT))
        place = find_level(levels, count, key)
    level = levels + place * t.LEVEL_SIZE
    if place == count or load_i64(level, t.LEVEL_KEY) != key:
        if action == DELETE:
            count_anomaly(context, header, UNKNOWN_DELETE)
            return t.DONE
        if action == CHANGE:
            count_anomaly(context, header, UNKNOWN_CHANGE)
        return _insert(context, header, side, sign, row, count + 1 - place)
    if action == DELETE:
        _remove(context, side, place)
        return t.DONE
    before = load_i64(row, r.OTHER)
    if action == NEW:
        count_anomaly(context, header, PRICE_ORDER)
    elif before != r.NULL and before != load_i64(level, t.LEVEL_TOTAL):
        count_anomaly(context, header, SIZE_DIFFERS)
    _write(context, header, side, row, place, key)
    return t.DONE


@kernel
def apply_level(context, header, row):
    """A row of kind LEVEL or SNAPSHOT_LEVEL. An OVERLAY is not wrong where there is no level, or one of
    another price; without a price and a size it takes the level away (9.6). With a size alone it is a level
    of orders that have no price: those at the auction's."""
    action, number, size = load_u8(row, r.ACTION), load_u8(row, r.SIDE), load_i64(row, r.SIZE)
    price = load_i64(row, r.PRICE)
    removed = action == DELETE or (action == OVERLAY and price == r.NULL and size <= 0)
    sized = removed or 0 <= size <= MAX_SIZE
    if (action > DELETE and action != OVERLAY) or number < 1 or number > 2 or not sized:
        count_anomaly(context, header, MALFORMED)
        return t.DONE
    side, sign = header + (number - 1) * t.SIDE_SIZE, 3 - 2 * number
    if load_u8(side, t.SIDE_POLICY) != t.BY_LEVEL:
        convert_side(context, header, side, sign, t.BY_LEVEL)
    count, position = load_u32(side, t.SIDE_LEVELS), load_u32(row, r.POSITION)
    if load_u8(row, r.FLAGS) & FOUND_BY_PRICE:
        return _apply_by_price(context, header, side, sign, row, action)
    is_there = 1 <= position <= count
    if action == NEW or (action == OVERLAY and not removed and not is_there):
        return _insert(context, header, side, sign, row, position)
    if not is_there:
        if action != OVERLAY or position < 1:
            count_anomaly(context, header, POSITION)
        return t.DONE
    place = count - position
    level = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)) + place * t.LEVEL_SIZE
    key = key_of(sign, price)
    if action == CHANGE and price == r.NULL:  # a change keeps its price (9.2), and need not tell it
        key = load_i64(level, t.LEVEL_KEY)
    differs = load_i64(level, t.LEVEL_KEY) != key
    if differs and (action == CHANGE or (action == DELETE and price != r.NULL)):
        count_anomaly(context, header, PRICE_DIFFERS)
    if removed:
        _remove(context, side, place)
    else:
        _write(context, header, side, row, place, key)
    return t.DONE


@kernel
def delete_levels_from(context, header, side, position):
    """Positions 1 to `position` go (9.4)."""
    count = load_u32(side, t.SIDE_LEVELS)
    if position < 1 or position > count:
        count_anomaly(context, header, POSITION)
    store_32(side, t.SIDE_LEVELS, count - min(position, count))
    store_8(side, t.SIDE_DIRTY, 1)
    return t.DONE


@kernel
def set_depth(context, header, depth):
    """Of both sides: what is beyond it goes."""
    for number in range(2):
        side = header + number * t.SIDE_SIZE
        store_32(side, t.SIDE_DEPTH, depth)
        count = load_u32(side, t.SIDE_LEVELS)
        if load_u8(side, t.SIDE_POLICY) == t.BY_LEVEL and 0 < depth < count:
            levels = address_of(context, load_u32(side, t.SIDE_LEVELS_AT))
            copy_words(levels + (count - depth) * t.LEVEL_SIZE, levels, depth * WORDS)
            store_32(side, t.SIDE_LEVELS, depth)
