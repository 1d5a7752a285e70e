"""What people ask of one book, answered without walking it in Python. The plain twins are the lists of
`tests.twins.plain_book` and what `tests.twins.lookups` finds in them."""

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of
from pregao.books.kernels.by_price import bits_of, copy_slot, find_slot, gather
from pregao.books.kernels.ladder import key_of, price_of, ranked
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_64

SCRATCH = t.SLOT_SIZE  # bytes behind the orders of `read_orders`, for its own use


@inlined
def _side_of(context, instrument, number):
    return load_i64(context, t.HEADERS) + instrument * t.HEADER_SIZE + (number - 1) * t.SIDE_SIZE


@inlined
def _copy_levels(context, side, sign, depth, target):
    """The first levels of a side as three columns of `depth` words each; how many there are."""
    total = load_u32(side, t.SIDE_LEVELS)
    count = min(total, depth)
    if count == 0:
        return 0
    sign = ranked(side, sign)
    best = address_of(context, load_u32(side, t.SIDE_LEVELS_AT)) + (total - 1) * t.LEVEL_SIZE
    for place in range(count):
        level = best - place * t.LEVEL_SIZE
        store_64(target, place * 8, price_of(sign, load_i64(level, t.LEVEL_KEY)))
        store_64(target, (depth + place) * 8, load_i64(level, t.LEVEL_TOTAL))
        store_64(target, (2 * depth + place) * 8, load_i64(level, t.LEVEL_ORDERS))
    return count


@kernel
def read_levels(context, instrument, depth, target):
    """The first levels of both sides: price, size and orders of the bids, then of the offers, in columns
    of `depth` words. (bids, offers) that there are."""
    bids = _copy_levels(context, _side_of(context, instrument, 1), 1, depth, target)
    offers = _copy_levels(context, _side_of(context, instrument, 2), -1, depth, target + 24 * depth)
    return bids, offers


@inlined
def _find_in_side(context, side, order_id):
    """Address of the slot of an order; 0 when it is not on this side."""
    count, at = load_u32(side, t.SIDE_ORDERS), load_u32(side, t.SIDE_ORDERS_AT)
    if count == 0 or at == 0:
        return 0
    slots = address_of(context, at)
    if load_u8(side, t.SIDE_POLICY) == t.BY_PRICE:
        slot = find_slot(slots, bits_of(side), order_id)
        return slot if load_u32(slot, t.SLOT_FLAGS) != 0 else 0
    for place in range(count - 1, -1, -1):  # position 1 is at the end
        slot = slots + place * t.SLOT_SIZE
        if load_i64(slot, t.SLOT_ID) == order_id:
            return slot
    return 0


@kernel
def find_order(context, instrument, order_id, target):
    """Copy the slot of an order; the number of its side, 0 when there is no such order."""
    for number in range(1, 3):
        slot = _find_in_side(context, _side_of(context, instrument, number), order_id)
        if slot != 0:
            copy_slot(slot, target)
            return number
    return 0


@kernel
def count_ahead(context, instrument, number, order_id):
    """(orders, quantity) that stand before an order at its own price. It must be there."""
    side = _side_of(context, instrument, number)
    slots = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    mine = _find_in_side(context, side, order_id)
    price = load_i64(mine, t.SLOT_PRICE)
    orders, size = 0, 0
    if load_u8(side, t.SIDE_POLICY) == t.BY_PRICE:
        for place in range(1 << bits_of(side)):
            slot = slots + place * t.SLOT_SIZE
            if load_u32(slot, t.SLOT_FLAGS) == 0 or load_i64(slot, t.SLOT_PRICE) != price:
                continue
            if load_i64(slot, t.SLOT_ID) < order_id:
                orders += 1
                size += load_i64(slot, t.SLOT_ORDER_SIZE)
        return orders, size
    first = (mine - slots) // t.SLOT_SIZE + 1
    for place in range(first, load_u32(side, t.SIDE_ORDERS)):
        slot = slots + place * t.SLOT_SIZE
        if load_i64(slot, t.SLOT_PRICE) == price:
            orders += 1
            size += load_i64(slot, t.SLOT_ORDER_SIZE)
    return orders, size


@inlined
def _is_before(sign, one, other):
    """Priority: price, then id (12.1)."""
    key, other_key = key_of(sign, load_i64(one, t.SLOT_PRICE)), key_of(sign, load_i64(other, t.SLOT_PRICE))
    if key != other_key:
        return key > other_key
    return load_i64(one, t.SLOT_ID) < load_i64(other, t.SLOT_ID)


@inlined
def _sort(slots, count, sign, scratch):
    """By priority, in place: a shell sort, for books of some hundred orders."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            copy_slot(slots + place * t.SLOT_SIZE, scratch)
            hole = place
            while hole >= gap and _is_before(sign, scratch, slots + (hole - gap) * t.SLOT_SIZE):
                copy_slot(slots + (hole - gap) * t.SLOT_SIZE, slots + hole * t.SLOT_SIZE)
                hole -= gap
            copy_slot(scratch, slots + hole * t.SLOT_SIZE)
        gap //= 3


@kernel
def read_orders(context, instrument, number, target):
    """The orders of a side, best first. `target` has room for them and SCRATCH more."""
    side, sign = _side_of(context, instrument, number), 3 - 2 * number
    count = load_u32(side, t.SIDE_ORDERS)
    if count == 0:
        return
    if load_u8(side, t.SIDE_POLICY) == t.BY_PRICE:
        gather(context, side, target)
        _sort(target, count, sign, target + count * t.SLOT_SIZE)
        return
    slots = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    for place in range(count):
        copy_slot(slots + (count - 1 - place) * t.SLOT_SIZE, target + place * t.SLOT_SIZE)
