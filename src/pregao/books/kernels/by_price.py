"""Orders of a side by id: open addressing, linear probing. A deleted slot is filled from behind, so that
there are no tombstones and a table never needs cleaning."""

import numpy as np

from pregao.books import layout as t
from pregao.books.kernels.arena import address_of, copy_words, give_block, take_block
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64

FACTOR = np.uint64(t.HASH_FACTOR)  # unsigned numbers wrap


@inlined
def home_of(order_id, bits):
    return np.int64(np.uint64(order_id) * FACTOR >> np.uint64(64 - bits))


@inlined
def bits_of(side):
    return load_u8(side, t.SIDE_ORDERS_CLASS) + t.FIRST_CAPACITY_BITS


@inlined
def find_slot(table, bits, order_id):
    """Address of the slot of an order, or of the empty one where it belongs."""
    mask, place = (1 << bits) - 1, home_of(order_id, bits)
    while True:
        slot = table + place * t.SLOT_SIZE
        if load_u32(slot, t.SLOT_FLAGS) == 0 or load_i64(slot, t.SLOT_ID) == order_id:
            return slot
        place = (place + 1) & mask


@inlined
def copy_slot(source, target):
    for word in range(t.SLOT_SIZE // 8):
        store_64(target, word * 8, load_i64(source, word * 8))


@inlined
def remove_slot(table, bits, slot):
    """Empty a slot, and move back those behind it that could not have their own place."""
    mask = (1 << bits) - 1
    hole = (slot - table) // t.SLOT_SIZE
    place = hole
    while True:
        place = (place + 1) & mask
        source = table + place * t.SLOT_SIZE
        if load_u32(source, t.SLOT_FLAGS) == 0:
            break
        wanted = home_of(load_i64(source, t.SLOT_ID), bits)
        if ((place - wanted) & mask) >= ((place - hole) & mask):
            copy_slot(source, table + hole * t.SLOT_SIZE)
            hole = place
    store_32(table + hole * t.SLOT_SIZE, t.SLOT_FLAGS, 0)


@kernel
def new_table(context, capacity_class):
    """An empty table, in lines; 0 when there is no room."""
    lines = take_block(context, t.FREE_ORDERS + capacity_class * 8, t.ORDERS_BLOCK << capacity_class)
    if lines != 0:
        table = address_of(context, lines)
        for place in range(t.FIRST_CAPACITY << capacity_class):
            store_32(table, place * t.SLOT_SIZE + t.SLOT_FLAGS, 0)
    return lines


@kernel
def _grow_table(context, side):
    at, capacity_class = load_u32(side, t.SIDE_ORDERS_AT), load_u8(side, t.SIDE_ORDERS_CLASS)
    target_class = capacity_class + 1 if at != 0 else 0
    lines = new_table(context, target_class)
    if lines == 0:
        return t.NEEDS_MEMORY
    if at != 0:
        source, target = address_of(context, at), address_of(context, lines)
        bits = target_class + t.FIRST_CAPACITY_BITS
        for place in range(t.FIRST_CAPACITY << capacity_class):
            slot = source + place * t.SLOT_SIZE
            if load_u32(slot, t.SLOT_FLAGS) != 0:
                copy_slot(slot, find_slot(target, bits, load_i64(slot, t.SLOT_ID)))
        give_block(context, t.FREE_ORDERS + capacity_class * 8, at)
    store_32(side, t.SIDE_ORDERS_AT, lines)
    store_8(side, t.SIDE_ORDERS_CLASS, target_class)
    return t.DONE


@inlined
def reserve_slot(context, side):
    """Room for one more order: a table is at most three quarters full."""
    capacity = t.FIRST_CAPACITY << load_u8(side, t.SIDE_ORDERS_CLASS)
    if load_u32(side, t.SIDE_ORDERS) * 4 < capacity * 3 and load_u32(side, t.SIDE_ORDERS_AT) != 0:
        return t.DONE
    return _grow_table(context, side)


@kernel
def gather(context, side, target):
    """The orders of a table, one after the other in no order."""
    table = address_of(context, load_u32(side, t.SIDE_ORDERS_AT))
    count = 0
    for place in range(1 << bits_of(side)):
        slot = table + place * t.SLOT_SIZE
        if load_u32(slot, t.SLOT_FLAGS) != 0:
            copy_words(slot, target + count * t.SLOT_SIZE, t.SLOT_SIZE // 8)
            count += 1
