"""Orders of a side by position: an array with position 1 at the end."""

from pregao.books import layout as t
from pregao.books.kernels.arena import (
    ORDER_EXISTS,
    POLICY,
    address_of,
    clear_side,
    copy_words,
    count_anomaly,
    count_order,
    give_block,
    release_orders,
    take_block,
)
from pregao.books.kernels.by_price import copy_slot, find_slot, gather, new_table
from pregao.books.kernels.ladder import key_of, take_from_level, turn_levels
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64


@kernel
def _grow_array(context, side):
    at, capacity_class = load_u32(side, t.SIDE_ORDERS_AT), load_u8(side, t.SIDE_ORDERS_CLASS)
    target_class = capacity_class + 1 if at != 0 else 0
    lines = take_block(context, t.FREE_ORDERS + target_class * 8, t.ORDERS_BLOCK << target_class)
    if lines == 0:
        return t.NEEDS_MEMORY
    if at != 0:
        words = load_u32(side, t.SIDE_ORDERS) * (t.SLOT_SIZE // 8)
        copy_words(address_of(context, at), address_of(context, lines), words)
        give_block(context, t.FREE_ORDERS + capacity_class * 8, at)
    store_32(side, t.SIDE_ORDERS_AT, lines)
    store_8(side, t.SIDE_ORDERS_CLASS, target_class)
    return t.DONE


@inlined
def reserve_place(context, side):
    capacity = t.FIRST_CAPACITY << load_u8(side, t.SIDE_ORDERS_CLASS)
    if load_u32(side, t.SIDE_ORDERS) < capacity and load_u32(side, t.SIDE_ORDERS_AT) != 0:
        return t.DONE
    return _grow_array(context, side)


@kernel
def open_place(orders, count, place):
    """Those from `place` on, which are better, move up by one."""
    word = count * (t.SLOT_SIZE // 8) - 1
    first = place * (t.SLOT_SIZE // 8)
    while word >= first:
        store_64(orders, word * 8 + t.SLOT_SIZE, load_i64(orders, word * 8))
        word -= 1


@kernel
def close_place(orders, count, place):
    """Those behind `place` in memory, which are better, move down by one."""
    target = orders + place * t.SLOT_SIZE
    copy_words(target + t.SLOT_SIZE, target, (count - 1 - place) * (t.SLOT_SIZE // 8))


@inlined
def _is_worse(one, other, sign):
    """By price, then by id (12.1): what a sorted array has first."""
    key, other_key = key_of(sign, load_i64(one, t.SLOT_PRICE)), key_of(sign, load_i64(other, t.SLOT_PRICE))
    if key != other_key:
        return key < other_key
    return load_i64(one, t.SLOT_ID) > load_i64(other, t.SLOT_ID)


@inlined
def _swap(one, other):
    for word in range(t.SLOT_SIZE // 8):
        kept = load_i64(one, word * 8)
        store_64(one, word * 8, load_i64(other, word * 8))
        store_64(other, word * 8, kept)


@kernel
def _sift_down(orders, first, count, sign):
    parent = first
    while True:
        child = 2 * parent + 1
        if child >= count:
            return
        slot = orders + child * t.SLOT_SIZE
        if child + 1 < count and _is_worse(slot, slot + t.SLOT_SIZE, sign):
            child += 1
            slot += t.SLOT_SIZE
        if not _is_worse(orders + parent * t.SLOT_SIZE, slot, sign):
            return
        _swap(orders + parent * t.SLOT_SIZE, slot)
        parent = child


@kernel
def sort_orders(orders, count, sign):
    """Heap sort, best at the end: no memory of its own, and no worst case."""
    first = count // 2
    while first > 0:
        first -= 1
        _sift_down(orders, first, count, sign)
    last = count - 1
    while last > 0:
        _swap(orders, orders + last * t.SLOT_SIZE)
        _sift_down(orders, 0, last, sign)
        last -= 1


# A side put in another order, when its feed changes its policy in mid-stream.


@kernel
def _to_positions(context, side, sign):
    """A table becomes an array."""
    capacity_class, at = load_u8(side, t.SIDE_ORDERS_CLASS), load_u32(side, t.SIDE_ORDERS_AT)
    lines = take_block(context, t.FREE_ORDERS + capacity_class * 8, t.ORDERS_BLOCK << capacity_class)
    if lines == 0:
        return t.NEEDS_MEMORY
    gather(context, side, address_of(context, lines))
    sort_orders(address_of(context, lines), load_u32(side, t.SIDE_ORDERS), sign)
    give_block(context, t.FREE_ORDERS + capacity_class * 8, at)
    store_32(side, t.SIDE_ORDERS_AT, lines)
    return t.DONE


@kernel
def _to_table(context, header, side, sign):
    """An array becomes a table; of two orders with one id the better stays."""
    old_class, at = load_u8(side, t.SIDE_ORDERS_CLASS), load_u32(side, t.SIDE_ORDERS_AT)
    new_class = old_class + 1  # an array may be full
    lines = new_table(context, new_class)
    if lines == 0:
        return t.NEEDS_MEMORY
    orders, table = address_of(context, at), address_of(context, lines)
    place = load_u32(side, t.SIDE_ORDERS)
    while place > 0:
        place -= 1
        order = orders + place * t.SLOT_SIZE
        slot = find_slot(table, new_class + t.FIRST_CAPACITY_BITS, load_i64(order, t.SLOT_ID))
        if load_u32(slot, t.SLOT_FLAGS) == 0:
            copy_slot(order, slot)
        else:
            count_anomaly(context, header, ORDER_EXISTS)
            key = key_of(sign, load_i64(order, t.SLOT_PRICE))
            take_from_level(context, side, key, load_i64(order, t.SLOT_ORDER_SIZE))
            count_order(context, side, -1)
    give_block(context, t.FREE_ORDERS + old_class * 8, at)
    store_32(side, t.SIDE_ORDERS_AT, lines)
    store_8(side, t.SIDE_ORDERS_CLASS, new_class)
    return t.DONE


@kernel
def convert_side(context, header, side, sign, policy):
    """What orders the side has changed. Orders and levels cannot become each other. `sign` is that of a side
    whose prices are no rates."""
    code, before = t.DONE, load_u8(side, t.SIDE_POLICY)
    if policy == t.BY_LEVEL or before == t.BY_LEVEL:
        if load_u32(side, t.SIDE_LEVELS) != 0:
            count_anomaly(context, header, POLICY)
        clear_side(context, side)
    elif load_u32(side, t.SIDE_ORDERS) == 0:
        release_orders(context, side)
    elif policy == t.BY_PRICE:
        code = _to_table(context, header, side, -sign if before == t.BY_RATE else sign)
    elif before == t.BY_PRICE:
        code = _to_positions(context, side, -sign if policy == t.BY_RATE else sign)
    if code == t.DONE:
        if (before == t.BY_RATE) != (policy == t.BY_RATE) and load_u32(side, t.SIDE_LEVELS) != 0:
            turn_levels(context, side, -sign if before == t.BY_RATE else sign)
        store_8(side, t.SIDE_POLICY, policy)
    return code
