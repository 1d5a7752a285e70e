"""Order rows onto a side of a book: by price or by position, with the rules of `views.Anomaly`.
The plain twin is `tests/twins/plain_sides.py`.

Room is made before anything is changed, so that a row is applied whole or not at all.
"""

from pregao.books import layout as t
from pregao.books.kernels.arena import (
    ID_DIFFERS,
    MALFORMED,
    ORDER_EXISTS,
    OVERFLOW,
    POSITION,
    PRICE_DIFFERS,
    SIZE_DIFFERS,
    UNKNOWN_CHANGE,
    UNKNOWN_DELETE,
    address_of,
    clear_side,
    count_anomaly,
    count_order,
)
from pregao.books.kernels.by_level import delete_levels_from
from pregao.books.kernels.by_position import close_place, convert_side, open_place, reserve_place
from pregao.books.kernels.by_price import bits_of, find_slot, remove_slot, reserve_slot
from pregao.books.kernels.ladder import (
    add_to_level,
    key_of,
    move_order,
    ranked,
    reserve_level,
    resize_level,
    take_from_level,
)
from pregao.books.views import MAX_SIZE
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u32,
    store_8,
    store_32,
    store_64,
)
from pregao.model import rows as r
from pregao.model.market import Action
from pregao.model.rows import Flag

NEW, CHANGE, DELETE, OVERLAY = int(Action.NEW), int(Action.CHANGE), int(Action.DELETE), int(Action.OVERLAY)
DELETE_THRU, DELETE_FROM = int(Action.DELETE_THRU), int(Action.DELETE_FROM)
BY_POSITION, PRICE_UNTOLD, IN_RATES = int(Flag.BY_POSITION), int(Flag.PRICE_UNTOLD), int(Flag.IN_RATES)


@inlined
def write_slot(slot, row):
    store_64(slot, t.SLOT_ID, load_i64(row, r.ID))
    store_64(slot, t.SLOT_PRICE, load_i64(row, r.PRICE))
    store_64(slot, t.SLOT_ORDER_SIZE, load_i64(row, r.SIZE))
    store_64(slot, t.SLOT_INSERTED, load_i64(row, r.INSERTED))
    store_32(slot, t.SLOT_FIRM, load_u32(row, r.FIRM))
    store_32(slot, t.SLOT_FLAGS, t.SLOT_USED | load_u8(row, r.FLAGS) & t.SLOT_IMPLIED)


@inlined
def delete_by_price(context, header, side, sign, row):
    if load_u32(side, t.SIDE_ORDERS) == 0:
        count_anomaly(context, header, UNKNOWN_DELETE)
        return t.DONE
    table, bits = address_of(context, load_u32(side, t.SIDE_ORDERS_AT)), bits_of(side)
    slot = find_slot(table, bits, load_i64(row, r.ID))
    if load_u32(slot, t.SLOT_FLAGS) == 0:
        count_anomaly(context, header, UNKNOWN_DELETE)
        return t.DONE
    price, row_price = load_i64(slot, t.SLOT_PRICE), load_i64(row, r.PRICE)
    if row_price != price and (row_price != r.NULL or load_u8(row, r.FLAGS) & PRICE_UNTOLD == 0):
        count_anomaly(context, header, PRICE_DIFFERS)
    take_from_level(context, side, key_of(sign, price), load_i64(slot, t.SLOT_ORDER_SIZE))
    remove_slot(table, bits, slot)
    count_order(context, side, -1)
    return t.DONE


@kernel
def replace_by_price(context, header, side, sign, slot, row):
    """A new order with the id of one that is there, or a change to another price."""
    anomaly = ORDER_EXISTS if load_u8(row, r.ACTION) == NEW else PRICE_DIFFERS
    count_anomaly(context, header, anomaly)
    old_key, key = key_of(sign, load_i64(slot, t.SLOT_PRICE)), key_of(sign, load_i64(row, r.PRICE))
    move_order(context, side, old_key, key, load_i64(slot, t.SLOT_ORDER_SIZE), load_i64(row, r.SIZE))
    write_slot(slot, row)
    return t.DONE


@inlined
def put_by_price(context, header, side, sign, row, action):
    """A new order, or a change of one."""
    if reserve_slot(context, side) != t.DONE or reserve_level(context, side) != t.DONE:
        return t.NEEDS_MEMORY
    table = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    slot = find_slot(table, bits_of(side), load_i64(row, r.ID))
    price, size = load_i64(row, r.PRICE), load_i64(row, r.SIZE)
    if load_u32(slot, t.SLOT_FLAGS) != 0:
        if action == NEW or price != load_i64(slot, t.SLOT_PRICE):
            return replace_by_price(context, header, side, sign, slot, row)
        before = load_i64(row, r.OTHER)
        if (
            before != r.NULL
            and before != load_i64(slot, t.SLOT_ORDER_SIZE)
            and load_u8(row, r.FLAGS) & PRICE_UNTOLD
        ):
            count_anomaly(context, header, SIZE_DIFFERS)
        resize_level(context, side, key_of(sign, price), size - load_i64(slot, t.SLOT_ORDER_SIZE))
        write_slot(slot, row)
        return t.DONE
    if action == CHANGE:
        count_anomaly(context, header, UNKNOWN_CHANGE)
    if load_i64(context, t.ORDERS_HELD) >= load_i64(context, t.MAX_ORDERS):
        count_anomaly(context, header, OVERFLOW)
        return t.DONE
    write_slot(slot, row)
    add_to_level(context, side, key_of(sign, price), size)
    count_order(context, side, 1)
    return t.DONE


@kernel
def insert_by_position(context, header, side, sign, row):
    if reserve_place(context, side) != t.DONE or reserve_level(context, side) != t.DONE:
        return t.NEEDS_MEMORY
    count, position = load_u32(side, t.SIDE_ORDERS), load_u32(row, r.POSITION)
    if position < 1 or position > count + 1:
        count_anomaly(context, header, POSITION)
        position = count + 1
    if load_i64(context, t.ORDERS_HELD) >= load_i64(context, t.MAX_ORDERS):
        count_anomaly(context, header, OVERFLOW)
        return t.DONE
    orders, place = address_of(context, load_u32(side, t.SIDE_ORDERS_AT)), count + 1 - position
    open_place(orders, count, place)
    write_slot(orders + place * t.SLOT_SIZE, row)
    add_to_level(context, side, key_of(sign, load_i64(row, r.PRICE)), load_i64(row, r.SIZE))
    count_order(context, side, 1)
    return t.DONE


@kernel
def apply_by_position(context, header, side, sign, row, action):
    """An OVERLAY is neither wrong where there is no entry nor where there is another one; without price and
    size it takes the entry away (9.6 of the FIX/FAST guidelines). A size alone is an order at the auction's
    price."""
    count, position = load_u32(side, t.SIDE_ORDERS), load_u32(row, r.POSITION)
    overlaid = action == OVERLAY
    removed = overlaid and load_i64(row, r.PRICE) == r.NULL and load_i64(row, r.SIZE) <= 0
    is_there = 1 <= position <= count
    if action == NEW or (overlaid and not removed and not is_there):
        return insert_by_position(context, header, side, sign, row)
    if not is_there:
        if not removed or position < 1:
            count_anomaly(context, header, POSITION)
        return t.DONE
    if reserve_level(context, side) != t.DONE:  # a change may move to a level of its own
        return t.NEEDS_MEMORY
    orders, place = address_of(context, load_u32(side, t.SIDE_ORDERS_AT)), count - position
    slot = orders + place * t.SLOT_SIZE
    old_key, old_size = key_of(sign, load_i64(slot, t.SLOT_PRICE)), load_i64(slot, t.SLOT_ORDER_SIZE)
    key = key_of(sign, load_i64(row, r.PRICE))
    old_id, new_id = load_i64(slot, t.SLOT_ID), load_i64(row, r.ID)
    if new_id != r.NULL and new_id != old_id:
        if not overlaid:
            count_anomaly(context, header, ID_DIFFERS)
    elif action == CHANGE and key != old_key:
        count_anomaly(context, header, PRICE_DIFFERS)
    if action == CHANGE or (overlaid and not removed):
        move_order(context, side, old_key, key, old_size, load_i64(row, r.SIZE))
        write_slot(slot, row)
        if action == CHANGE and new_id == r.NULL:  # only the position addresses
            store_64(slot, t.SLOT_ID, old_id)
        return t.DONE
    take_from_level(context, side, old_key, old_size)
    close_place(orders, count, place)
    count_order(context, side, -1)
    return t.DONE


@kernel
def delete_from(context, header, side, sign, position):
    """Positions 1 to `position` go."""
    count = load_u32(side, t.SIDE_ORDERS)
    if position < 1 or position > count:
        count_anomaly(context, header, POSITION)
        position = min(position, count)
    orders = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    for place in range(count - position, count):
        slot = orders + place * t.SLOT_SIZE
        key = key_of(sign, load_i64(slot, t.SLOT_PRICE))
        take_from_level(context, side, key, load_i64(slot, t.SLOT_ORDER_SIZE))
    count_order(context, side, -position)
    return t.DONE


@inlined
def in_order(context, header, side, sign, row):
    """The side, in the order that a row says."""
    flags, policy = load_u8(row, r.FLAGS), t.BY_PRICE
    if flags & BY_POSITION:
        policy = t.BY_RATE if flags & IN_RATES else t.BY_POSITION
    if load_u8(side, t.SIDE_POLICY) == policy:
        return t.DONE
    return convert_side(context, header, side, sign, policy)


@kernel
def _apply_odd(context, header, row):
    """An order row of another action than most: an OVERLAY of a position, or one that makes no sense."""
    action, number, size = load_u8(row, r.ACTION), load_u8(row, r.SIDE), load_i64(row, r.SIZE)
    removed = load_i64(row, r.PRICE) == r.NULL and size <= 0
    sized = removed or 0 <= size <= MAX_SIZE
    by_position = load_u8(row, r.FLAGS) & BY_POSITION != 0
    if action != OVERLAY or not by_position or number < 1 or number > 2 or not sized:
        count_anomaly(context, header, MALFORMED)
        return t.DONE
    side, sign = header + (number - 1) * t.SIDE_SIZE, 3 - 2 * number
    if in_order(context, header, side, sign, row) != t.DONE:
        return t.NEEDS_MEMORY
    return apply_by_position(context, header, side, ranked(side, sign), row, action)


@inlined
def apply_order(context, header, row):
    """A row of kind ORDER or SNAPSHOT_ORDER."""
    action, number, size = load_u8(row, r.ACTION), load_u8(row, r.SIDE), load_i64(row, r.SIZE)
    sized = action == DELETE or 0 <= size <= MAX_SIZE
    if action > DELETE or number < 1 or number > 2 or not sized:
        return _apply_odd(context, header, row)
    side, sign = header + (number - 1) * t.SIDE_SIZE, 3 - 2 * number
    if in_order(context, header, side, sign, row) != t.DONE:
        return t.NEEDS_MEMORY
    if load_u8(side, t.SIDE_POLICY) != t.BY_PRICE:
        return apply_by_position(context, header, side, ranked(side, sign), row, action)
    if action == DELETE:
        return delete_by_price(context, header, side, sign, row)
    return put_by_price(context, header, side, sign, row, action)


@kernel
def apply_side(context, header, row):
    """A row of kind SIDE."""
    action, number = load_u8(row, r.ACTION), load_u8(row, r.SIDE)
    if number < 1 or number > 2 or (action != DELETE_THRU and action != DELETE_FROM):
        count_anomaly(context, header, MALFORMED)
        return t.DONE
    side, sign = header + (number - 1) * t.SIDE_SIZE, 3 - 2 * number
    if action == DELETE_THRU:
        clear_side(context, side)
        return t.DONE
    if load_u8(side, t.SIDE_POLICY) == t.BY_LEVEL:
        return delete_levels_from(context, header, side, load_u32(row, r.POSITION))
    if in_order(context, header, side, sign, row) != t.DONE:
        return t.NEEDS_MEMORY
    if load_u8(side, t.SIDE_POLICY) == t.BY_PRICE:
        count_anomaly(context, header, POSITION)
        return t.DONE
    return delete_from(context, header, side, ranked(side, sign), load_u32(row, r.POSITION))


@kernel
def clear_book(context, header):
    """Known to be empty, so nothing is suspect any more."""
    clear_side(context, header)
    clear_side(context, header + t.SIDE_SIZE)
    store_8(header, t.SUSPECT, 0)
