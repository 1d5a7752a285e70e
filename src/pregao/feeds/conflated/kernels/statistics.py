"""Entries of trades and of the frequent statistics to rows. 0 says of each that it is not ordinary."""

from pregao.feeds.conflated.kernels.books import firm
from pregao.feeds.conflated.kernels.values import (
    BEYOND,
    BUYER,
    CONDITION,
    CURRENCY,
    FINE_DECIMALS,
    FLAG,
    INDEX_SEQUENCE,
    INTEREST_RATE,
    NET_CHANGE,
    PRICE_DECIMALS,
    SELLER,
    SELLER_DAYS,
    SESSION,
    TICK,
    TRADE_ID,
    VOLUME,
    decimal,
    digits,
    letter,
    text,
    value,
)
from pregao.kernels import inlined, kernel, load_i64, load_u8, store_8, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import Action, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind

TRADE, BUST, INDEX, TOTALS = int(Kind.TRADE), int(Kind.BUST), int(Kind.INDEX), int(Kind.TOTALS)
HIGH, LOW, VWAP, IMBALANCE = int(Kind.HIGH), int(Kind.LOW), int(Kind.VWAP), int(Kind.IMBALANCE)
THEORETICAL, OPEN_INTEREST = int(Kind.THEORETICAL), int(Kind.OPEN_INTEREST)
BY_TIME, FORWARD = int(Flag.BY_TIME), int(Flag.FORWARD)
NEW, DELETE = int(Action.NEW), int(Action.DELETE)
OPENING_PRICE, CROSSED = int(TradeCondition.OPENING_PRICE), int(TradeCondition.CROSSED)
LAST_AT_SAME, ON_BEHALF = int(TradeCondition.LAST_AT_SAME_PRICE), int(TradeCondition.ON_BEHALF)
LEG, MULTI_ASSET = int(TradeSubType.LEG), int(TradeSubType.MULTI_ASSET)
LENDING = ord("L")


@kernel
def _conditions(at, size, row):
    """277 of a trade where every word is a letter."""
    found, flags = 0, load_u8(row, r.FLAGS)
    if size & 1 == 0:
        return 0
    for index in range(size):
        told = load_u8(at, index)
        if index & 1:
            if told != 32:
                return 0
        elif told == ord("R"):
            found |= OPENING_PRICE
        elif told == ord("X"):
            found |= CROSSED
        elif told == ord("L"):
            found |= LAST_AT_SAME
        elif told == ord("2"):
            found |= ON_BEHALF
        elif told == ord("1"):
            store_8(row, r.DETAIL, LEG)
        elif told == ord("3"):
            flags |= FORWARD
            if load_u8(row, r.DETAIL) == 0:
                store_8(row, r.DETAIL, MULTI_ASSET)
        else:
            return 0
    store_32(row, r.CONDITION, found)
    store_8(row, r.FLAGS, flags)
    return 1


@inlined
def _tick(context, entry, row):
    tick = letter(context, TICK, entry)
    if tick == NULL:
        return 1
    if tick < 48 or tick > 51:
        return 0
    store_8(row, r.TYPE, tick - 47)
    return 1


@kernel
def fill_trade(context, entry, row, action):
    if (action != NEW and action != DELETE) or load_u8(row, r.STREAM) == LENDING:
        return 0
    store_8(row, r.FLAGS, BY_TIME)
    at, size = text(context, CONDITION, entry)
    if size >= 0 and not _conditions(at, size, row):
        return 0
    number, session = digits(context, TRADE_ID, entry), digits(context, SESSION, entry)
    rate = decimal(context, INTEREST_RATE, entry, PRICE_DECIMALS)
    change = decimal(context, NET_CHANGE, entry, FINE_DECIMALS)
    volume, days = decimal(context, VOLUME, entry, 0), value(context, SELLER_DAYS, entry)
    if number == BEYOND or rate == BEYOND or change == BEYOND or volume == BEYOND:
        return 0
    if (session != NULL and session != 1 and session != 6) or (days != NULL and days < 0):
        return 0
    store_8(row, r.KIND, BUST if action == DELETE else TRADE)
    store_64(row, r.ID, number)
    store_64(row, r.OTHER, rate)
    store_8(row, r.SESSION, 0 if session == NULL else session)
    store_64(row, r.LOW, days)
    store_64(row, r.HIGH, volume)
    store_64(row, r.FINE, change)
    if not firm(context, BUYER, entry, row, r.FIRM) or not firm(context, SELLER, entry, row, r.POSITION):
        return 0
    return _tick(context, entry, row)


@kernel
def _totals(context, entry, row):
    volume = decimal(context, VOLUME, entry, 0)
    at, size = text(context, CURRENCY, entry)
    if volume == BEYOND or size != 3:
        return 0
    store_8(row, r.KIND, TOTALS)
    store_64(row, r.LOW, load_i64(row, r.PRICE))
    store_64(row, r.PRICE, NULL)
    store_64(row, r.OTHER, load_i64(row, r.SIZE))
    store_64(row, r.SIZE, volume)
    store_32(row, r.CONDITION, load_u8(at, 0) | load_u8(at, 1) << 8 | load_u8(at, 2) << 16)
    return 1


@kernel
def _index(context, entry, row):
    sequence, change = (
        value(context, INDEX_SEQUENCE, entry),
        decimal(context, NET_CHANGE, entry, FINE_DECIMALS),
    )
    if (sequence != NULL and sequence < 0) or change == BEYOND:
        return 0
    store_8(row, r.KIND, INDEX)
    store_64(row, r.OTHER, sequence)
    store_64(row, r.FINE, change)
    return _tick(context, entry, row)


@inlined
def fill_statistic(context, entry, row, kind):
    """Of the frequent ones."""
    if kind == ord("7"):
        store_8(row, r.KIND, HIGH)
    elif kind == ord("8"):
        store_8(row, r.KIND, LOW)
    elif kind == ord("9"):
        store_8(row, r.KIND, VWAP)
    elif kind == ord("C"):
        store_8(row, r.KIND, OPEN_INTEREST)
    elif kind == ord("4"):
        if letter(context, FLAG, entry) != ord("5"):
            return 0
        store_8(row, r.KIND, THEORETICAL)
        store_8(row, r.ORIGIN, 6)
    elif kind == ord("A"):
        told = letter(context, CONDITION, entry)
        if told != ord("P") and told != ord("Q") and told != NULL:
            return 0
        store_8(row, r.KIND, IMBALANCE)
        store_8(row, r.SIDE, 1 if told == ord("P") else 2 if told == ord("Q") else 0)
    elif kind == ord("B"):
        return _totals(context, entry, row)
    elif kind == ord("3"):
        return _index(context, entry, row)
    else:
        return 0
    return 1
