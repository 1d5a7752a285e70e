"""Price levels of a side: sorted by key, the best at the end (see `layout`)."""

from pregao.books import layout as t
from pregao.books.kernels.arena import add_to, address_of, copy_words, give_block, take_block
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64
from pregao.model.rows import NULL

NEAR = 8  # levels from the top that are looked at one by one


@kernel
def _find_far(levels, count, key):
    """How many levels have a smaller key."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if load_i64(levels, middle * t.LEVEL_SIZE) < key:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def find_level(levels, count, key):
    """How many levels have a smaller key: where a level is, or belongs."""
    place = count
    limit = count - NEAR
    while place > 0 and load_i64(levels, (place - 1) * t.LEVEL_SIZE) >= key:
        place -= 1
        if place == limit:
            return _find_far(levels, place, key)
    return place


@kernel
def _grow_levels(context, side):
    at, capacity_class = load_u32(side, t.SIDE_LEVELS_AT), load_u8(side, t.SIDE_LEVELS_CLASS)
    target_class = capacity_class + 1 if at != 0 else 0
    lines = take_block(context, t.FREE_LEVELS + target_class * 8, t.LEVELS_BLOCK << target_class)
    if lines == 0:
        return t.NEEDS_MEMORY
    if at != 0:
        words = load_u32(side, t.SIDE_LEVELS) * (t.LEVEL_SIZE // 8)
        copy_words(address_of(context, at), address_of(context, lines), words)
        give_block(context, t.FREE_LEVELS + capacity_class * 8, at)
    store_32(side, t.SIDE_LEVELS_AT, lines)
    store_8(side, t.SIDE_LEVELS_CLASS, target_class)
    return t.DONE


@inlined
def reserve_level(context, side):
    """Room for one more level."""
    capacity = t.FIRST_CAPACITY << load_u8(side, t.SIDE_LEVELS_CLASS)
    if load_u32(side, t.SIDE_LEVELS) < capacity and load_u32(side, t.SIDE_LEVELS_AT) != 0:
        return t.DONE
    return _grow_levels(context, side)


@inlined
def add_to_level(context, side, key, size):
    """An order joins a level, which may be new; room must have been reserved."""
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    place = find_level(levels, count, key)
    level = levels + place * t.LEVEL_SIZE
    if place >= count - 1:
        store_8(side, t.SIDE_DIRTY, 1)
    if place < count and load_i64(level, t.LEVEL_KEY) == key:
        add_to(level, t.LEVEL_TOTAL, size)
        add_to(level, t.LEVEL_ORDERS, 1)
        return
    moved = count - 1
    while moved >= place:  # from the end: the places overlap
        source = levels + moved * t.LEVEL_SIZE
        store_64(source, t.LEVEL_SIZE, load_i64(source, 0))
        store_64(source, t.LEVEL_SIZE + 8, load_i64(source, 8))
        store_64(source, t.LEVEL_SIZE + 16, load_i64(source, 16))
        moved -= 1
    store_64(level, t.LEVEL_KEY, key)
    store_64(level, t.LEVEL_TOTAL, size)
    store_64(level, t.LEVEL_ORDERS, 1)
    store_32(side, t.SIDE_LEVELS, count + 1)


@inlined
def take_from_level(context, side, key, size):
    """An order leaves its level, which is there; an empty level goes."""
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    place = find_level(levels, count, key)
    level = levels + place * t.LEVEL_SIZE
    if place == count - 1:
        store_8(side, t.SIDE_DIRTY, 1)
    orders = load_i64(level, t.LEVEL_ORDERS) - 1
    if orders > 0:
        add_to(level, t.LEVEL_TOTAL, -size)
        store_64(level, t.LEVEL_ORDERS, orders)
        return
    for moved in range(place, count - 1):
        target = levels + moved * t.LEVEL_SIZE
        store_64(target, 0, load_i64(target, t.LEVEL_SIZE))
        store_64(target, 8, load_i64(target, t.LEVEL_SIZE + 8))
        store_64(target, 16, load_i64(target, t.LEVEL_SIZE + 16))
    store_32(side, t.SIDE_LEVELS, count - 1)


@inlined
def resize_level(context, side, key, change):
    """An order of a level has another size."""
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    place = find_level(levels, count, key)
    if place == count - 1:
        store_8(side, t.SIDE_DIRTY, 1)
    add_to(levels + place * t.LEVEL_SIZE, t.LEVEL_TOTAL, change)


@inlined
def ranked(side, sign):
    """The sign of a side's keys, of 1 for bids and -1 for offers: that of rates is turned."""
    return -sign if load_u8(side, t.SIDE_POLICY) == t.BY_RATE else sign


@inlined
def key_of(sign, price):
    """`sign` as `ranked` gives it."""
    return t.NO_PRICE_KEY if price == NULL else sign * price - 1


@inlined
def price_of(sign, key):
    return NULL if key == t.NO_PRICE_KEY else sign * (key + 1)


@kernel
def turn_levels(context, side, sign):
    """Prices become rates, or rates prices: the best level is the worst. `sign` is that of the keys there
    are. A level without a price stays the best."""
    levels, count = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)), load_u32(side, t.SIDE_LEVELS)
    if count > 0 and load_i64(levels, (count - 1) * t.LEVEL_SIZE) == t.NO_PRICE_KEY:
        count -= 1
    for place in range((count + 1) // 2):
        low, high = levels + place * t.LEVEL_SIZE, levels + (count - 1 - place) * t.LEVEL_SIZE
        low_key = key_of(-sign, price_of(sign, load_i64(low, t.LEVEL_KEY)))
        high_key = key_of(-sign, price_of(sign, load_i64(high, t.LEVEL_KEY)))
        store_64(low, t.LEVEL_KEY, high_key)
        store_64(high, t.LEVEL_KEY, low_key)
        for word in (t.LEVEL_TOTAL, t.LEVEL_ORDERS):
            if low != high:
                kept = load_i64(low, word)
                store_64(low, word, load_i64(high, word))
                store_64(high, word, kept)
    store_8(side, t.SIDE_DIRTY, 1)


@kernel
def move_order(context, side, old_key, new_key, old_size, size):
    """An order changes its level; room for one more must have been reserved."""
    if old_key == new_key:
        resize_level(context, side, old_key, size - old_size)
        return
    take_from_level(context, side, old_key, old_size)
    add_to_level(context, side, new_key, size)
