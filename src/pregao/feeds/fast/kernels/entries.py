"""Columns of incremental messages (35=X) to rows of `model.rows`. The plain twin is `feeds.fast.entries`.

A message that has anything unusual is left to that: an entry of a rare type, a value out of its domain, a
price that does not fit. So there is one set of rules for those, and it is not here. All arguments are
numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fast import kernel_tables as t
from pregao.feeds.fast.kernels.times import DAY, NO_TIME, day_ns
from pregao.feeds.fast.kernels.values import (
    BEYOND,
    DECODER,
    decimal,
    digits,
    letter_of,
    moment,
    text_at,
    value,
)
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, store_8, store_16, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT, Action, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind

# Columns of an entry, as words of a shape: the number of the column, or -1. Exponents follow their decimal.
ENTRY_FIELDS = (
    "MDUpdateAction", "MDEntryType", "SecurityID", "RptSeq", "QuoteCondition", "MDEntryPx",
    "MDEntryPx.exponent", "MDEntryInterestRate", "MDEntryInterestRate.exponent", "NumberOfOrders",
    "MDEntryTime", "MDEntrySize", "MDEntryDate", "MDInsertDate", "MDInsertTime", "MDStreamID",
    "NetChgPrevDay", "NetChgPrevDay.exponent", "SellerDays", "TradeVolume", "TickDirection",
    "TradeCondition", "TradingSessionID", "OpenCloseSettlFlag", "OrderID", "TradeID", "MDEntryBuyer",
    "MDEntrySeller", "MDEntryPositionNo", "ExpireDate", "EarlyTermination", "BTBCertIndicator",
    "BTBContractInfo",
)  # fmt: skip
(
    UPDATE_ACTION, ENTRY_TYPE, SECURITY_ID, REPORT, QUOTE_CONDITION, PRICE, _, INTEREST_RATE, _,
    NUMBER_OF_ORDERS, TIME, SIZE, DATE, INSERT_DATE, INSERT_TIME, STREAM_ID, NET_CHANGE, _, SELLER_DAYS,
    VOLUME, TICK, CONDITION, SESSION, FLAG, ORDER_ID, TRADE_ID, BUYER, SELLER, POSITION_NO, EXPIRES, EARLY,
    _, _,
) = range(0, 8 * len(ENTRY_FIELDS), 8)  # fmt: skip
# Behind them: the table of the entries; whether 286 is text.
TABLE, IS_TEXT = 8 * len(ENTRY_FIELDS), 8 * len(ENTRY_FIELDS) + 8
SHAPE_WORDS = len(ENTRY_FIELDS) + 2

CONTEXT_FIELDS = (
    "decoder",  # context of the column decoder
    "buffer",  # of the messages
    "shapes",  # of entries, for each kind of message that is read here
    "shape_of",  # int64 for each message: which of them + 1; 0: it is left to others
    "root_row",  # int64 for each message: its row in its table
    "cursors",  # int64 for each shape: the next row of its entries
    "at", "epochs",  # of messages: int64, uint16
    "by_level",  # 1: levels are told; 0: orders; -1: not known
    "rows",  # with room for all entries
    "day", "day_ns", "inserted_day", "inserted_day_ns",
)  # fmt: skip
(
    _, _, SHAPES, SHAPE_OF, ROOT_ROW, CURSORS, ATS, EPOCHS, BY_LEVEL, ROWS, KNOWN_DAY, _,
    KNOWN_INSERTED_DAY, _,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip

ORDER, LEVEL, SIDE, TRADE, BUST = (int(k) for k in (Kind.ORDER, Kind.LEVEL, Kind.SIDE, Kind.TRADE, Kind.BUST))
HIGH, LOW, VWAP, TOTALS = int(Kind.HIGH), int(Kind.LOW), int(Kind.VWAP), int(Kind.TOTALS)
THEORETICAL, OPENING, IMBALANCE = int(Kind.THEORETICAL), int(Kind.OPENING), int(Kind.IMBALANCE)
OPEN_INTEREST = int(Kind.OPEN_INTEREST)
END_OF_EVENT, RECOVERY = int(Flag.END_OF_EVENT), int(Flag.RECOVERY)
BY_POSITION = int(Flag.BY_POSITION | Flag.PRICE_UNTOLD)
SIDE_BY_POSITION, FORWARD, BY_TIME = int(Flag.BY_POSITION), int(Flag.FORWARD), int(Flag.BY_TIME)
NEW, DELETE, DELETE_THRU = int(Action.NEW), int(Action.DELETE), int(Action.DELETE_THRU)
DELETE_FROM, OVERLAY = int(Action.DELETE_FROM), int(Action.OVERLAY)
OPENING_PRICE, CROSSED = int(TradeCondition.OPENING_PRICE), int(TradeCondition.CROSSED)
LAST_AT_SAME, ON_BEHALF = int(TradeCondition.LAST_AT_SAME_PRICE), int(TradeCondition.ON_BEHALF)
LEG = int(TradeSubType.LEG)
ELECTRONIC, LENDING = ord("E"), ord("L")


@inlined
def _blank(row, at, epoch, message, index):
    for word in range(0, r.ROW_SIZE, 8):
        store_64(row, word, 0)
    for field in (r.SECURITY_ID, r.ID, r.PRICE, r.SIZE, r.OTHER, r.TIME, r.INSERTED, r.FINE, r.LOW, r.HIGH):
        store_64(row, field, NULL)
    store_16(row, r.INDEX, index)
    store_32(row, r.PACKET, message)
    store_64(row, r.AT, at)
    store_16(row, r.SEQUENCE_VERSION, epoch)


@inlined
def _firm(context, columns, shape, field, row):
    number = digits(context, value(columns, shape, field, row))
    return number if 0 <= number < 1 << 32 else 0


@kernel
def _lending(context, columns, shape, entry, row):
    """What only lending contracts have; 0: it is not ordinary."""
    expires = value(columns, shape, EXPIRES, entry)
    if expires != NULL:
        begins = day_ns(context + KNOWN_INSERTED_DAY, expires)
        if begins == NO_TIME:
            return 0
        store_64(row, r.HIGH, begins // DAY)
    told, kept = 0, 0
    for index in range(3):
        part = value(columns, shape, EARLY + 8 * index, entry)
        if part != NULL:
            told = 1
            kept |= (part + 1 if 0 <= part < 255 else 0) << 8 * index
    if told:
        store_64(row, r.FINE, kept)
    return 1


@inlined
def _book(context, columns, shape, entry, row, letter, action):
    """9: by position in every kind of book; 0: it is not ordinary."""
    side, flags = letter - 47, load_u8(row, r.FLAGS)
    condition = value(columns, shape, QUOTE_CONDITION, entry)
    if condition != NULL:
        told = letter_of(context, condition)
        if told == BEYOND:
            return 0
        if told == ord("R"):
            flags |= RECOVERY
    position = value(columns, shape, POSITION_NO, entry)
    store_8(row, r.SIDE, side)
    store_32(row, r.POSITION, 0 if position == NULL else position)
    by_level = load_i64(context, BY_LEVEL)
    if action in (DELETE_THRU, DELETE_FROM):
        store_8(row, r.KIND, SIDE)
        store_8(row, r.FLAGS, flags | SIDE_BY_POSITION)
        return 1
    if by_level != 0:
        orders = value(columns, shape, NUMBER_OF_ORDERS, entry)
        store_8(row, r.KIND, LEVEL)
        store_8(row, r.FLAGS, flags)
        store_32(row, r.FIRM, 0 if orders == NULL else orders)
        return by_level == 1
    number = digits(context, value(columns, shape, ORDER_ID, entry))
    inserted = moment(
        context + KNOWN_INSERTED_DAY, value(columns, shape, INSERT_DATE, entry),
        value(columns, shape, INSERT_TIME, entry),
    )  # fmt: skip
    if number == BEYOND or inserted == BEYOND:
        return 0
    store_8(row, r.KIND, ORDER)
    store_8(row, r.FLAGS, flags | BY_POSITION)
    store_64(row, r.ID, number)
    store_32(row, r.FIRM, _firm(context, columns, shape, BUYER if side == 1 else SELLER, entry))
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
    if action != NEW and action != DELETE:
        return 0
    store_8(row, r.FLAGS, load_u8(row, r.FLAGS) | BY_TIME)
    condition = value(columns, shape, CONDITION, entry)
    if condition != NULL and not _conditions(context, condition, row):
        return 0
    number = digits(context, value(columns, shape, TRADE_ID, entry))
    rate = decimal(columns, shape, INTEREST_RATE, entry, PRICE_EXPONENT)
    session, tick = value(columns, shape, SESSION, entry), value(columns, shape, TICK, entry)
    if number == BEYOND or rate == BEYOND or (session != NULL and session > 255):
        return 0
    tick = digits(context, tick)
    store_8(row, r.KIND, BUST if action == DELETE else TRADE)
    store_64(row, r.ID, number)
    store_64(row, r.OTHER, rate)
    store_8(row, r.SESSION, 0 if session == NULL else session)
    store_8(row, r.TYPE, tick + 1 if 0 <= tick < 9 else 0)
    store_32(row, r.FIRM, _firm(context, columns, shape, BUYER, entry))
    store_32(row, r.POSITION, _firm(context, columns, shape, SELLER, entry))
    store_64(row, r.LOW, value(columns, shape, SELLER_DAYS, entry))
    if load_u8(row, r.STREAM) == LENDING:
        return 0
    change = decimal(columns, shape, NET_CHANGE, entry, FINE_EXPONENT)
    volume = value(columns, shape, VOLUME, entry)
    store_64(row, r.HIGH, volume)
    store_64(row, r.FINE, change)
    return change != BEYOND and (volume == NULL or volume >= 0)


@inlined
def _flag(context, columns, shape, entry):
    flag = value(columns, shape, FLAG, entry)
    return digits(context, flag) if load_i64(shape, IS_TEXT) else flag


@inlined
def _statistic(context, columns, shape, entry, row, letter):
    """Of the frequent ones; 0: it is not ordinary."""
    if letter == ord("7"):
        store_8(row, r.KIND, HIGH)
    elif letter == ord("8"):
        store_8(row, r.KIND, LOW)
    elif letter == ord("9"):
        store_8(row, r.KIND, VWAP)
    elif letter == ord("C"):
        store_8(row, r.KIND, OPEN_INTEREST)
    elif letter == ord("4"):
        if _flag(context, columns, shape, entry) != 5:
            return 0
        store_8(row, r.KIND, THEORETICAL)
        store_8(row, r.ORIGIN, 6)
    elif letter == ord("A"):
        condition = value(columns, shape, CONDITION, entry)
        side = 0
        if condition != NULL:
            told = letter_of(context, condition)
            if told == BEYOND:
                return 0
            side = 1 if told == ord("P") else 2 if told == ord("Q") else 0
        store_8(row, r.KIND, IMBALANCE)
        store_8(row, r.SIDE, side)
    else:
        return 0
    return 1


@inlined
def _entry(context, columns, shape, entry, row):
    """One entry to one row; 0: it is not ordinary."""
    kind = value(columns, shape, ENTRY_TYPE, entry)
    action = value(columns, shape, UPDATE_ACTION, entry)
    if kind == NULL or action < 0 or action > OVERLAY:
        return 0
    letter = letter_of(context, kind)
    security_id, report = value(columns, shape, SECURITY_ID, entry), value(columns, shape, REPORT, entry)
    stream, date = value(columns, shape, STREAM_ID, entry), value(columns, shape, DATE, entry)
    time = moment(context + KNOWN_DAY, date, value(columns, shape, TIME, entry))
    price = decimal(columns, shape, PRICE, entry, PRICE_EXPONENT)
    if time == BEYOND or price == BEYOND or security_id < 0:
        return 0
    store_8(row, r.ACTION, action)
    store_64(row, r.SECURITY_ID, security_id)
    store_32(row, r.RPT_SEQ, 0 if report == NULL else report)
    store_64(row, r.TIME, time)
    store_64(row, r.PRICE, price)
    store_64(row, r.SIZE, value(columns, shape, SIZE, entry))
    if date != NULL:
        begins = day_ns(context + KNOWN_DAY, date)
        if begins == NO_TIME:
            return 0
        store_16(row, r.TRADE_DATE, begins // DAY)
    stream_letter = ELECTRONIC
    if stream != NULL:
        stream_letter = letter_of(context, stream)
        if stream_letter == BEYOND:
            return 0
    store_8(row, r.STREAM, stream_letter)
    if letter == ord("0") or letter == ord("1"):
        return _book(context, columns, shape, entry, row, letter, action)
    if letter == ord("2"):
        return _trade(context, columns, shape, entry, row, action)
    return _statistic(context, columns, shape, entry, row, letter)


@kernel
def fill_rows(context, message, count, made):
    """Rows of messages from `message` to `count`, from `made` on: (message that is left to others, or that
    has no room; rows made before it)."""
    decoder = load_i64(context, DECODER)
    columns, tables = load_i64(decoder, t.COLUMNS), load_i64(decoder, t.TABLES)
    shapes = load_i64(context, SHAPES)
    while message < count:
        number = load_i64(load_i64(context, SHAPE_OF), message * 8) - 1
        if number < 0:
            return message, made
        shape = shapes + number * SHAPE_WORDS * 8
        table = tables + load_i64(shape, TABLE) * t.TABLE_SIZE * 8
        origins, last = load_i64(table, t.TABLE_ORIGINS), load_i64(table, t.TABLE_ROWS)
        cursor = load_i64(load_i64(context, CURSORS), number * 8)
        parent = load_i64(load_i64(context, ROOT_ROW), message * 8)
        while cursor < last and load_i64(origins, cursor * 8) < parent:
            cursor += 1
        first = made
        at = load_i64(load_i64(context, ATS), message * 8)
        epoch = load_u16(load_i64(context, EPOCHS), message * 2)
        while cursor < last and load_i64(origins, cursor * 8) == parent:
            row = load_i64(context, ROWS) + made * r.ROW_SIZE
            _blank(row, at, epoch, message, made - first)
            if not _entry(context, columns, shape, cursor, row):
                return message, first
            cursor += 1
            made += 1
        if made > first:
            row = load_i64(context, ROWS) + (made - 1) * r.ROW_SIZE
            store_8(row, r.FLAGS, load_u8(row, r.FLAGS) | END_OF_EVENT)
        store_64(load_i64(context, CURSORS), number * 8, cursor)
        message += 1
    return message, made
