"""Entries of books (269=0, 1) to rows: by order and by level. 0 says of each that it is not ordinary."""

from pregao.feeds.conflated.kernels.values import (
    BEYOND,
    BUYER,
    EARLY,
    EXPIRES,
    INSERT_DATE,
    INSERT_TIME,
    NUMBER_OF_ORDERS,
    ORDER_ID,
    PREVIOUS_SIZE,
    QUOTE_CONDITION,
    SELLER,
    decimal,
    digits,
    moment,
    text,
    value,
)
from pregao.kernels import inlined, kernel, load_u8, store_8, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import Action
from pregao.model.rows import NULL, Flag, Kind

ORDER, SIDE, LEVEL = int(Kind.ORDER), int(Kind.SIDE), int(Kind.LEVEL)
RECOVERY, IMPLIED, PRICE_UNTOLD = int(Flag.RECOVERY), int(Flag.IMPLIED), int(Flag.PRICE_UNTOLD)
FOUND_BY_PRICE = int(Flag.FOUND_BY_PRICE)
DELETE, DELETE_THRU = int(Action.DELETE), int(Action.DELETE_THRU)


@inlined
def firm(context, tag, entry, row, field):
    """A firm as a number."""
    number = digits(context, tag, entry)
    if number == BEYOND or number >= 1 << 32:
        return 0
    store_32(row, field, 0 if number == NULL else number)
    return 1


@kernel
def _lending(context, entry, row):
    """What only lending contracts have."""
    expires = value(context, EXPIRES, entry)
    if expires == BEYOND:
        return 0
    store_64(row, r.HIGH, expires)
    told, kept = 0, 0
    for index in range(3):
        part = value(context, EARLY + 8 * index, entry)
        if part != NULL:
            if part < 0 or part > 2:
                return 0
            told = 1
            kept |= (part + 1) << 8 * index
    if told:
        store_64(row, r.FINE, kept)
    return 1


@kernel
def _quote_flags(at, size):
    """276: words with a space between; -1: not ordinary."""
    flags, index = 0, 0
    while index < size:
        first, end = load_u8(at, index), index + 1
        while end < size and load_u8(at, end) != 32:
            end += 1
        if end - index == 1 and first == ord("R"):
            flags |= RECOVERY
        elif end - index == 1 and first == ord("K"):
            flags |= IMPLIED
        elif end - index != 2 or not (
            (first == ord("L") and load_u8(at, index + 1) == ord("M"))
            or (first == ord("A") and load_u8(at, index + 1) == ord("N"))
        ):
            return -1
        index = end + 1
        if end == size - 1:  # a space at the end
            return -1
    return flags


@inlined
def _order(context, entry, row, flags, whose):
    number, inserted = digits(context, ORDER_ID, entry), moment(context, INSERT_DATE, INSERT_TIME, entry)
    if number < 0 or inserted == BEYOND:
        return 0
    store_8(row, r.KIND, ORDER)
    store_8(row, r.FLAGS, flags | PRICE_UNTOLD)
    store_64(row, r.ID, number)
    store_64(row, r.INSERTED, inserted)
    if not firm(context, whose, entry, row, r.FIRM):
        return 0
    return _lending(context, entry, row)


@inlined
def _level(context, entry, row, flags):
    orders = value(context, NUMBER_OF_ORDERS, entry)
    if orders != NULL and not 0 <= orders < 1 << 32:
        return 0
    store_8(row, r.KIND, LEVEL)
    store_8(row, r.FLAGS, flags | FOUND_BY_PRICE)
    store_32(row, r.FIRM, 0 if orders == NULL else orders)
    return 1


@inlined
def fill_book(context, entry, row, side, action, by_level):
    """By price and OrderID, or by price alone."""
    at, size = text(context, QUOTE_CONDITION, entry)
    flags = 0 if size < 0 else _quote_flags(at, size)
    if flags < 0 or size == 0:
        return 0
    store_8(row, r.SIDE, side)
    if action == DELETE_THRU:
        store_8(row, r.KIND, SIDE)
        store_8(row, r.FLAGS, flags)
        return 1
    before = decimal(context, PREVIOUS_SIZE, entry, 0)
    if before == BEYOND or action > DELETE:
        return 0
    store_64(row, r.OTHER, before)
    if by_level:
        return _level(context, entry, row, flags)
    return _order(context, entry, row, flags, BUYER if side == 1 else SELLER)
