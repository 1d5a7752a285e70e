"""Columns of messages (35=X and 35=W) to rows of `model.rows`. The plain twin is `feeds.fast.entries`.

A message that has anything unusual is left to that: an entry of a rare type, a value out of its domain, a
price that does not fit. So there is one set of rules for those, and it is not here. All arguments are
numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fast import kernel_tables as t
from pregao.feeds.fast.kernels import layout as f
from pregao.feeds.fast.kernels.statistics import fill_other, fill_statistic, has_price
from pregao.feeds.fast.kernels.times import DAY, NO_TIME, day_ns, ns_of
from pregao.feeds.fast.kernels.values import (
    BEYOND,
    DECODER,
    clock_of,
    decimal,
    digits,
    letter_of,
    moment,
    text_at,
    value,
)
from pregao.feeds.kernels import blank_row
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, store_8, store_16, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, Action, TradeCondition, TradeSubType
from pregao.model.rows import NO_ACTION, NULL, Flag, Kind

ORDER, LEVEL, SIDE, TRADE, BUST = (int(k) for k in (Kind.ORDER, Kind.LEVEL, Kind.SIDE, Kind.TRADE, Kind.BUST))
LAST_TRADE, EMPTY_BOOK = int(Kind.LAST_TRADE), int(Kind.EMPTY_BOOK)
SNAPSHOT, SNAPSHOT_ORDER, SNAPSHOT_LEVEL = (
    int(Kind.SNAPSHOT), int(Kind.SNAPSHOT_ORDER), int(Kind.SNAPSHOT_LEVEL),
)  # fmt: skip
END_OF_EVENT, RECOVERY, NO_EVENT = int(Flag.END_OF_EVENT), int(Flag.RECOVERY), int(Flag.NO_EVENT)
IMPLIED = int(Flag.IMPLIED)
BY_POSITION = int(Flag.BY_POSITION | Flag.PRICE_UNTOLD)
SIDE_BY_POSITION, FORWARD, BY_TIME = int(Flag.BY_POSITION), int(Flag.FORWARD), int(Flag.BY_TIME)
NEW, DELETE, DELETE_THRU = int(Action.NEW), int(Action.DELETE), int(Action.DELETE_THRU)
DELETE_FROM, OVERLAY = int(Action.DELETE_FROM), int(Action.OVERLAY)
OPENING_PRICE, CROSSED = int(TradeCondition.OPENING_PRICE), int(TradeCondition.CROSSED)
LAST_AT_SAME, ON_BEHALF = int(TradeCondition.LAST_AT_SAME_PRICE), int(TradeCondition.ON_BEHALF)
LEG = int(TradeSubType.LEG)
ELECTRONIC, LENDING, INDEX, EX_PIT, TERMO = ord("E"), ord("L"), ord("N"), ord("X"), ord("T")
EXERCISE, ALL, SURVEILLANCE, COUNTER = ord("O"), ord("A"), ord("S"), ord("C")


@inlined
def _firm(context, columns, shape, field, row):
    number = digits(context, value(columns, shape, field, row))
    return number if 0 <= number < 1 << 32 else 0


@kernel
def _lending(context, columns, shape, entry, row):
    """What only lending contracts have; 0: it is not ordinary."""
    expires = value(columns, shape, f.EXPIRES, entry)
    if expires != NULL:
        begins = day_ns(context + f.KNOWN_INSERTED_DAY, expires)
        if begins == NO_TIME:
            return 0
        store_64(row, r.HIGH, begins // DAY)
    is_lent, kept = 0, 0
    for index in range(3):
        part = value(columns, shape, f.EARLY + 8 * index, entry)
        if part != NULL:
            if part < (1 if index == 2 else 0) or part > (1 if index == 1 else 2):
                return 0
            is_lent = 1
            kept |= part + 1 << 8 * index
    if is_lent:
        store_64(row, r.FINE, kept)
    return 1


@inlined
def _book(context, columns, shape, entry, row, letter, action):
    """9: by position in every kind of book; 0: it is not ordinary."""
    side, flags, snapshot = letter - 47, load_u8(row, r.FLAGS), load_i64(shape, f.IS_SNAPSHOT)
    condition = value(columns, shape, f.QUOTE_CONDITION, entry)
    if condition != NULL:
        quoted = letter_of(context, condition)
        if quoted == BEYOND:
            return 0
        if quoted == ord("R"):
            flags |= RECOVERY
        elif quoted == ord("K"):
            flags |= IMPLIED
        elif quoted != ord("C"):
            return 0
    position = value(columns, shape, f.POSITION_NO, entry)
    store_8(row, r.SIDE, side)
    store_32(row, r.POSITION, 0 if position == NULL else position)
    by_level = load_i64(context, f.BY_LEVEL)
    if snapshot:
        store_8(row, r.ACTION, NEW)
    elif action in (DELETE_THRU, DELETE_FROM):
        store_8(row, r.KIND, SIDE)
        store_8(row, r.FLAGS, flags | SIDE_BY_POSITION)
        return 1
    if by_level != 0:
        orders = value(columns, shape, f.NUMBER_OF_ORDERS, entry)
        store_8(row, r.KIND, SNAPSHOT_LEVEL if snapshot else LEVEL)
        store_8(row, r.FLAGS, flags)
        store_32(row, r.FIRM, 0 if orders == NULL else orders)
        return by_level == 1
    store_8(row, r.KIND, SNAPSHOT_ORDER if snapshot else ORDER)
    store_8(row, r.FLAGS, flags | BY_POSITION)
    return _order(context, columns, shape, entry, row, f.BUYER if side == 1 else f.SELLER)


@inlined
def _order(context, columns, shape, entry, row, whose):
    """What only orders have; 0: it is not ordinary."""
    number = digits(context, value(columns, shape, f.ORDER_ID, entry))
    inserted = moment(
        context + f.KNOWN_INSERTED_DAY, value(columns, shape, f.INSERT_DATE, entry),
        value(columns, shape, f.INSERT_TIME, entry),
    )  # fmt: skip
    if number == BEYOND or inserted == BEYOND:
        return 0
    store_64(row, r.ID, number)
    store_32(row, r.FIRM, _firm(context, columns, shape, whose, entry))
    store_64(row, r.INSERTED, inserted)
    return _lending(context, columns, shape, entry, row)


@kernel
def _conditions(context, piece, row):
    """277 of a trade, one letter each with a space between; 0: it is not ordinary."""
    size, at = piece & t.LENGTH_MASK, text_at(context, piece)
    found, flags = 0, load_u8(row, r.FLAGS)
    for index in range(size):
        letter = load_u8(at, index) & 0x7F
        if index & 1:
            if letter != ord(" "):
                return 0
        elif letter == ord("R"):
            found |= OPENING_PRICE
        elif letter == ord("X"):
            found |= CROSSED
        elif letter == ord("L"):
            found |= LAST_AT_SAME
        elif letter == ord("2"):
            found |= ON_BEHALF
        elif letter == ord("1"):
            store_8(row, r.DETAIL, LEG)
        elif letter == ord("U"):
            store_8(row, r.KIND, LAST_TRADE)
        elif letter == ord("3"):
            flags |= FORWARD
        else:
            return 0
    store_32(row, r.CONDITION, found)
    store_8(row, r.FLAGS, flags)
    return 1


@inlined
def _trade(context, columns, shape, entry, row, action):
    """10.1; 0: it is not ordinary."""
    if action != NEW and action != DELETE and action != NO_ACTION:
        return 0
    store_8(row, r.FLAGS, load_u8(row, r.FLAGS) | BY_TIME)
    condition = value(columns, shape, f.CONDITION, entry)
    if condition != NULL and not _conditions(context, condition, row):
        return 0
    number = digits(context, value(columns, shape, f.TRADE_ID, entry))
    rate = decimal(columns, shape, f.INTEREST_RATE, entry, PRICE_EXPONENT)
    session, tick = value(columns, shape, f.SESSION, entry), value(columns, shape, f.TICK, entry)
    if number == BEYOND or rate == BEYOND or (session != NULL and session != 1 and session != 6):
        return 0
    if tick != NULL:
        tick = letter_of(context, tick) - ord("0")
        if tick < 0 or tick > 3:
            return 0
    if load_u8(row, r.KIND) == 0:
        store_8(row, r.KIND, BUST if action == DELETE else TRADE)
    store_64(row, r.ID, number)
    store_64(row, r.OTHER, rate)
    store_8(row, r.SESSION, 0 if session == NULL else session)
    store_8(row, r.TYPE, 0 if tick == NULL else tick + 1)
    store_32(row, r.FIRM, _firm(context, columns, shape, f.BUYER, entry))
    store_32(row, r.POSITION, _firm(context, columns, shape, f.SELLER, entry))
    store_64(row, r.LOW, value(columns, shape, f.SELLER_DAYS, entry))
    if load_u8(row, r.STREAM) == LENDING:
        return 0
    change = decimal(columns, shape, f.NET_CHANGE, entry, FINE_EXPONENT)
    volume = value(columns, shape, f.VOLUME, entry)
    store_64(row, r.HIGH, volume)
    store_64(row, r.FINE, change)
    return change != BEYOND and (volume == NULL or volume >= 0)


@inlined
def _times(context, columns, shape, entry, row):
    """272 and 273; 0: there is no such time."""
    date, clock = value(columns, shape, f.DATE, entry), value(columns, shape, f.TIME, entry)
    if load_i64(shape, f.IS_TEXT_TIME):
        clock = clock_of(context, clock)
        if clock == BEYOND:
            return 0
    time = moment(context + f.KNOWN_DAY, date, clock)
    if time == BEYOND:
        return 0
    store_64(row, r.TIME, time)
    if date != NULL:
        store_16(row, r.TRADE_DATE, day_ns(context + f.KNOWN_DAY, date) // DAY)
    return 1


@inlined
def _is_stream(letter):
    """Of the domain of 1500."""
    return letter in (ELECTRONIC, LENDING, INDEX, EX_PIT, TERMO, EXERCISE, ALL, SURVEILLANCE, COUNTER)


@inlined
def _whose(context, columns, shape, entry, row, parent):
    """The instrument and stream, and the report; in a snapshot the message has them. 0: not ordinary."""
    if load_i64(shape, f.IS_SNAPSHOT):
        security_id = value(columns, shape, f.ROOT_SECURITY_ID, parent)
        report = value(columns, shape, f.ROOT_REPORT, parent)
        store_8(row, r.FLAGS, NO_EVENT)
    else:
        security_id = value(columns, shape, f.SECURITY_ID, entry)
        report = value(columns, shape, f.REPORT, entry)
    stream, letter = value(columns, shape, f.STREAM_ID, entry), ELECTRONIC
    if stream != NULL:
        letter = letter_of(context, stream)
        if not _is_stream(letter):
            return 0
    store_64(row, r.SECURITY_ID, security_id)
    store_32(row, r.RPT_SEQ, 0 if report == NULL else report)
    store_8(row, r.STREAM, letter)
    return security_id >= 0


@inlined
def _entry(context, columns, shape, entry, row, parent):
    """One entry to one row; 0: it is not ordinary."""
    kind, action = value(columns, shape, f.ENTRY_TYPE, entry), NO_ACTION
    if load_i64(shape, f.IS_SNAPSHOT) == 0:
        action = value(columns, shape, f.UPDATE_ACTION, entry)
        if action < 0 or action > OVERLAY:
            return 0
    store_8(row, r.ACTION, action)
    if kind == NULL or not _whose(context, columns, shape, entry, row, parent):
        return 0
    letter = letter_of(context, kind)
    if letter == BEYOND or not _times(context, columns, shape, entry, row):
        return 0
    if letter == ord("J"):
        store_8(row, r.KIND, EMPTY_BOOK)
        return 1
    if not has_price(letter):
        return fill_other(context, columns, shape, entry, row, letter)
    price = decimal(columns, shape, f.PRICE, entry, PRICE_EXPONENT)
    if price == BEYOND:
        return 0
    store_64(row, r.PRICE, price)
    store_64(row, r.SIZE, value(columns, shape, f.SIZE, entry))
    if letter == ord("0") or letter == ord("1"):
        return _book(context, columns, shape, entry, row, letter, action)
    if letter == ord("2"):
        return _trade(context, columns, shape, entry, row, action)
    return fill_statistic(context, columns, shape, entry, row, letter)


@kernel
def _snapshot(context, columns, shape, row, parent):
    """The row of a snapshot, which comes before its entries; 0: it is not ordinary. What its books are is
    known from then on."""
    depth = value(columns, shape, f.DEPTH, parent)
    security_id = value(columns, shape, f.ROOT_SECURITY_ID, parent)
    sent_ns = ns_of(context + f.KNOWN_DAY, value(columns, shape, f.SENT, parent))
    if sent_ns == NO_TIME or security_id < 0 or (depth != NULL and depth <= 0):
        return 0
    if depth == NULL and load_i64(context, f.BY_LEVEL) == 1:
        return 0  # whether it says that orders are told depends on its rows
    reports = value(columns, shape, f.REPORTS, parent)
    store_8(row, r.KIND, SNAPSHOT)
    store_8(row, r.ACTION, NO_ACTION)
    store_8(row, r.FLAGS, NO_EVENT)
    store_64(row, r.SECURITY_ID, security_id)
    store_32(row, r.RPT_SEQ, value(columns, shape, f.ROOT_REPORT, parent))
    store_64(row, r.PRICE, value(columns, shape, f.LAST_NUMBER, parent))
    store_64(row, r.SIZE, 0 if reports == NULL else reports)
    store_64(row, r.TIME, sent_ns)
    store_32(row, r.FIRM, 0 if depth == NULL else depth)
    store_64(context, f.BY_LEVEL, 0 if depth == NULL else 1)
    store_64(context, f.KNOWN_DEPTH, 0 if depth == NULL else depth)
    return 1


@inlined
def _count_entries(row, entries):
    """Into the row of a snapshot: bids, offers and all others of those that follow it."""
    bids, offers = 0, 0
    for index in range(1, entries + 1):
        entry = row + index * r.ROW_SIZE
        if load_u8(entry, r.KIND) >= SNAPSHOT_ORDER:
            if load_u8(entry, r.SIDE) == 1:
                bids += 1
            else:
                offers += 1
    store_64(row, r.LOW, bids)
    store_64(row, r.HIGH, offers)
    store_32(row, r.POSITION, entries - bids - offers)


@kernel
def fill_rows(context, message, count, made):
    """Rows of messages from `message` to `count`, from `made` on: (message that is left to others, or that
    has no room; rows made before it)."""
    decoder = load_i64(context, DECODER)
    columns, tables = load_i64(decoder, t.COLUMNS), load_i64(decoder, t.TABLES)
    shapes = load_i64(context, f.SHAPES)
    while message < count:
        number = load_i64(load_i64(context, f.SHAPE_OF), message * 8) - 1
        if number < 0:
            return message, made
        shape = shapes + number * f.SHAPE_WORDS * 8
        table = tables + load_i64(shape, f.TABLE) * t.TABLE_SIZE * 8
        origins, last = load_i64(table, t.TABLE_ORIGINS), load_i64(table, t.TABLE_ROWS)
        cursor = load_i64(load_i64(context, f.CURSORS), number * 8)
        parent = load_i64(load_i64(context, f.ROOT_ROW), message * 8)
        while cursor < last and load_i64(origins, cursor * 8) < parent:
            cursor += 1
        first, before = made, made
        at = load_i64(load_i64(context, f.ATS), message * 8)
        epoch = load_u16(load_i64(context, f.EPOCHS), message * 2)
        snapshot = load_i64(shape, f.IS_SNAPSHOT)
        if snapshot:
            row = load_i64(context, f.ROWS) + made * r.ROW_SIZE
            blank_row(row, at, epoch, message, 0)
            if not _snapshot(context, columns, shape, row, parent):
                return message, before
            first = made = made + 1
        while cursor < last and load_i64(origins, cursor * 8) == parent:
            row = load_i64(context, f.ROWS) + made * r.ROW_SIZE
            blank_row(row, at, epoch, message, made - first)
            if not _entry(context, columns, shape, cursor, row, parent):
                return message, before
            cursor += 1
            made += 1
        if snapshot:
            _count_entries(load_i64(context, f.ROWS) + before * r.ROW_SIZE, made - first)
        elif made > first:
            row = load_i64(context, f.ROWS) + (made - 1) * r.ROW_SIZE
            store_8(row, r.FLAGS, load_u8(row, r.FLAGS) | END_OF_EVENT)
        store_64(load_i64(context, f.CURSORS), number * 8, cursor)
        message += 1
    return message, made
