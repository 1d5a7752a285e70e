"""Blocks of the arena: sizes are a family's smallest times a power of two, freed blocks wait in a list
per size. Nothing is given back to the system, and nothing is lost: what one book grows out of is the
next one's."""

from pregao.books import layout as t
from pregao.books.views import Anomaly
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u32, store_8, store_32, store_64


@inlined
def add_to(address, offset, amount):
    store_64(address, offset, load_i64(address, offset) + amount)


@inlined
def address_of(context, lines):
    return load_i64(context, t.ARENA) + lines * t.LINE


@kernel
def take_block(context, free, size):
    """A block of `size` bytes whose free list is `free`, in lines; 0 when the arena is full, and then
    WANTED says how much was asked for."""
    lines = load_i64(context, free)
    if lines != 0:
        store_64(context, free, load_i64(address_of(context, lines), 0))
        return lines
    used = load_i64(context, t.ARENA_USED)
    if used + size > load_i64(context, t.ARENA_SIZE):
        store_64(context, t.WANTED, size)
        return 0
    store_64(context, t.ARENA_USED, used + size)
    return used // t.LINE


@kernel
def give_block(context, free, lines):
    store_64(address_of(context, lines), 0, load_i64(context, free))
    store_64(context, free, lines)


@kernel
def copy_words(source, target, count):
    for i in range(count):
        store_64(target, i * 8, load_i64(source, i * 8))


@kernel
def release_orders(context, side):
    """The orders of a side are gone."""
    lines = load_u32(side, t.SIDE_ORDERS_AT)
    add_to(context, t.ORDERS_HELD, -load_u32(side, t.SIDE_ORDERS))
    store_32(side, t.SIDE_ORDERS, 0)
    if lines != 0:
        give_block(context, t.FREE_ORDERS + load_u8(side, t.SIDE_ORDERS_CLASS) * 8, lines)
        store_32(side, t.SIDE_ORDERS_AT, 0)
        store_8(side, t.SIDE_ORDERS_CLASS, 0)


@kernel
def release_levels(context, side):
    lines = load_u32(side, t.SIDE_LEVELS_AT)
    store_32(side, t.SIDE_LEVELS, 0)
    if lines != 0:
        give_block(context, t.FREE_LEVELS + load_u8(side, t.SIDE_LEVELS_CLASS) * 8, lines)
        store_32(side, t.SIDE_LEVELS_AT, 0)
        store_8(side, t.SIDE_LEVELS_CLASS, 0)


@kernel
def clear_side(context, side):
    release_orders(context, side)
    release_levels(context, side)
    store_8(side, t.SIDE_DIRTY, 1)


# What is counted of books: orders, and updates that did not fit (`views.Anomaly`).


ORDER_EXISTS, UNKNOWN_CHANGE = int(Anomaly.ORDER_EXISTS), int(Anomaly.UNKNOWN_CHANGE)
UNKNOWN_DELETE, PRICE_DIFFERS = int(Anomaly.UNKNOWN_DELETE), int(Anomaly.PRICE_DIFFERS)
ID_DIFFERS, POSITION = int(Anomaly.ID_DIFFERS), int(Anomaly.POSITION)
MALFORMED, OVERFLOW = int(Anomaly.MALFORMED), int(Anomaly.OVERFLOW)
PRICE_ORDER, POLICY = int(Anomaly.PRICE_ORDER), int(Anomaly.POLICY)
SIZE_DIFFERS = int(Anomaly.SIZE_DIFFERS)


@kernel
def count_anomaly(context, header, anomaly):
    place = (header - load_i64(context, t.HEADERS)) // t.HEADER_SIZE * t.ANOMALIES_SIZE + anomaly * 4
    counters = load_i64(context, t.ANOMALIES)
    store_32(counters, place, load_u32(counters, place) + 1)
    store_8(header, t.SUSPECT, 1)


@inlined
def count_order(context, side, change):
    store_32(side, t.SIDE_ORDERS, load_u32(side, t.SIDE_ORDERS) + change)
    add_to(context, t.ORDERS_HELD, change)
