"""A side put in another order, when its feed changes its policy in mid-stream."""

from pregao.books import layout as t
from pregao.books.kernels.arena import (
    ORDER_EXISTS,
    POLICY,
    address_of,
    clear_side,
    count_anomaly,
    count_order,
    give_block,
    release_orders,
    take_block,
)
from pregao.books.kernels.by_position import sort_orders
from pregao.books.kernels.by_price import copy_slot, find_slot, gather, new_table
from pregao.books.kernels.ladder import key_of, take_from_level
from pregao.kernels import kernel, load_i64, load_u8, load_u32, store_8, store_32


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
    """What orders the side has changed. Orders and levels cannot become each other."""
    code = t.DONE
    if policy == t.BY_LEVEL or load_u8(side, t.SIDE_POLICY) == t.BY_LEVEL:
        if load_u32(side, t.SIDE_LEVELS) != 0:
            count_anomaly(context, header, POLICY)
        clear_side(context, side)
    elif load_u32(side, t.SIDE_ORDERS) == 0:
        release_orders(context, side)
    elif policy == t.BY_POSITION:
        code = _to_positions(context, side, sign)
    else:
        code = _to_table(context, header, side, sign)
    if code == t.DONE:
        store_8(side, t.SIDE_POLICY, policy)
    return code
