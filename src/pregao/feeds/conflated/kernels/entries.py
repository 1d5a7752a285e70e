"""Columns of incremental messages (35=X) to rows of `model.rows`. The plain twin is
`feeds.conflated.entries`.

A message that has anything unusual is left to that: an entry of a rare type, a value that no dictionary
lists, a price that does not fit. So there is one set of rules for those, and it is not here. All arguments
are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fix import formats as f
from pregao.feeds.conflated.kernels.values import (
    ATS,
    BEYOND,
    BLOCK,
    BODY_DATE,
    BODY_EXTRAS,
    BODY_VALUES,
    BODY_WIDTH,
    CURSOR,
    ENTRIES,
    EPOCHS,
    OUTCOMES,
    PARENTS,
    ROWS,
    decimal,
    digits,
    letter,
    moment,
    text,
    value,
)
from pregao.kernels import (
    inlined,
    kernel,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.model import rows as r
from pregao.model.market import Action, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind

# Tags of an entry, as words of the context: the number of the column, or -1.
ENTRY_TAGS = (
    279, 269, 48, 22, 207, 37, 270, 271, 37780, 272, 273, 276, 277, 274, 286, 288, 289, 336, 451, 1003, 1020,
    1500, 37014, 287, 37016, 37017, 432, 37019, 37023, 37024, 37100, 15,
)  # fmt: skip
(
    UPDATE_ACTION, ENTRY_TYPE, SECURITY_ID, ID_SOURCE, EXCHANGE, ORDER_ID, PRICE, SIZE, PREVIOUS_SIZE, DATE,
    TIME, QUOTE_CONDITION, CONDITION, TICK, FLAG, BUYER, SELLER, SESSION, NET_CHANGE, TRADE_ID, VOLUME,
    STREAM_ID, INTEREST_RATE, SELLER_DAYS, INSERT_DATE, INSERT_TIME, EXPIRES, EARLY, CERTIFIED, CONTRACT,
    INDEX_SEQUENCE, CURRENCY,
) = range(0, 8 * len(ENTRY_TAGS), 8)  # fmt: skip

PRICE_DECIMALS, FINE_DECIMALS = 4, 8
_BVMF, _EIGHT = int.from_bytes(b"BVMF", "little"), ord("8")

ORDER, SIDE, EMPTY_BOOK = int(Kind.ORDER), int(Kind.SIDE), int(Kind.EMPTY_BOOK)
TRADE, BUST, INDEX, TOTALS = int(Kind.TRADE), int(Kind.BUST), int(Kind.INDEX), int(Kind.TOTALS)
HIGH, LOW, VWAP, IMBALANCE = int(Kind.HIGH), int(Kind.LOW), int(Kind.VWAP), int(Kind.IMBALANCE)
THEORETICAL, OPEN_INTEREST = int(Kind.THEORETICAL), int(Kind.OPEN_INTEREST)
END_OF_EVENT, RECOVERY, IMPLIED = int(Flag.END_OF_EVENT), int(Flag.RECOVERY), int(Flag.IMPLIED)
PRICE_UNTOLD, BY_TIME, FORWARD = int(Flag.PRICE_UNTOLD), int(Flag.BY_TIME), int(Flag.FORWARD)
NEW, DELETE, DELETE_THRU = int(Action.NEW), int(Action.DELETE), int(Action.DELETE_THRU)
OPENING_PRICE, CROSSED = int(TradeCondition.OPENING_PRICE), int(TradeCondition.CROSSED)
LAST_AT_SAME, ON_BEHALF = int(TradeCondition.LAST_AT_SAME_PRICE), int(TradeCondition.ON_BEHALF)
LEG, MULTI_ASSET = int(TradeSubType.LEG), int(TradeSubType.MULTI_ASSET)
LENDING = ord("L")


# Entries


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
def _firm(context, tag, entry, row, field):
    """0: it is not ordinary."""
    number = digits(context, tag, entry)
    if number == BEYOND or number >= 1 << 32:
        return 0
    store_32(row, field, 0 if number == NULL else number)
    return 1


@kernel
def _lending(context, entry, row):
    """What only lending contracts have; 0: it is not ordinary."""
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
def _book(context, entry, row, side, action):
    """By price and OrderID; 0: it is not ordinary."""
    at, size = text(context, QUOTE_CONDITION, entry)
    flags = 0 if size < 0 else _quote_flags(at, size)
    if flags < 0 or size == 0:
        return 0
    store_8(row, r.SIDE, side)
    if action == DELETE_THRU:
        store_8(row, r.KIND, SIDE)
        store_8(row, r.FLAGS, flags)
        return 1
    number = digits(context, ORDER_ID, entry)
    before = decimal(context, PREVIOUS_SIZE, entry, 0)
    inserted = moment(context, INSERT_DATE, INSERT_TIME, entry)
    if number < 0 or before == BEYOND or inserted == BEYOND or action > DELETE:
        return 0
    store_8(row, r.KIND, ORDER)
    store_8(row, r.FLAGS, flags | PRICE_UNTOLD)
    store_64(row, r.ID, number)
    store_64(row, r.OTHER, before)
    store_64(row, r.INSERTED, inserted)
    if not _firm(context, BUYER if side == 1 else SELLER, entry, row, r.FIRM):
        return 0
    return _lending(context, entry, row)


@kernel
def _conditions(at, size, row):
    """277 of a trade where every word is a letter; 0: it is not ordinary."""
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
    """0: it is not ordinary."""
    tick = letter(context, TICK, entry)
    if tick == NULL:
        return 1
    if tick < 48 or tick > 51:
        return 0
    store_8(row, r.TYPE, tick - 47)
    return 1


@kernel
def _trade(context, entry, row, action):
    """0: it is not ordinary."""
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
    if not _firm(context, BUYER, entry, row, r.FIRM) or not _firm(context, SELLER, entry, row, r.POSITION):
        return 0
    return _tick(context, entry, row)


@kernel
def _totals(context, entry, row):
    """0: it is not ordinary."""
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
    """0: it is not ordinary."""
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
def _statistic(context, entry, row, kind):
    """Of the frequent ones; 0: it is not ordinary."""
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


@inlined
def _is_plain_instrument(context, entry):
    """Whether 22 and 207 are what they always are."""
    source = letter(context, ID_SOURCE, entry)
    at, size = text(context, EXCHANGE, entry)
    ours = size < 0 or (size == 4 and load_u32(at, 0) == _BVMF)
    return ours and (source in (NULL, _EIGHT))


@inlined
def _stream(context, entry):
    """BEYOND: none that is listed."""
    stream = letter(context, STREAM_ID, entry)
    if stream == NULL:
        return ord("E")
    for known in (ord("E"), ord("X"), ord("T"), ord("O"), ord("N"), ord("L"), ord("A")):
        if stream == known:
            return stream
    return BEYOND


@inlined
def _entry(context, entry, row, date):
    """One entry to one row; 0: it is not ordinary. `date` is that of the message, or NULL."""
    kind, action = letter(context, ENTRY_TYPE, entry), letter(context, UPDATE_ACTION, entry)
    security_id, stream = digits(context, SECURITY_ID, entry), _stream(context, entry)
    time, days = moment(context, DATE, TIME, entry), value(context, DATE, entry)
    price, size = decimal(context, PRICE, entry, PRICE_DECIMALS), decimal(context, SIZE, entry, 0)
    if kind < 0 or action < 48 or action > 51 or security_id < 0 or stream == BEYOND:
        return 0
    if time == BEYOND or price == BEYOND or size == BEYOND or not _is_plain_instrument(context, entry):
        return 0
    action -= 48
    days = days if date == NULL else date
    store_8(row, r.ACTION, action)
    store_64(row, r.SECURITY_ID, security_id)
    store_8(row, r.STREAM, stream)
    store_64(row, r.TIME, time)
    store_16(row, r.TRADE_DATE, days if 0 < days < 1 << 16 else 0)
    store_64(row, r.PRICE, price)
    store_64(row, r.SIZE, size)
    if kind == ord("0") or kind == ord("1"):
        return _book(context, entry, row, kind - 47, action)
    if kind == ord("2"):
        return _trade(context, entry, row, action)
    return _statistic(context, entry, row, kind)


@inlined
def _date_of(context, body_row):
    """75 of a message: NULL where it is absent, BEYOND where it is no date."""
    column = load_i64(context, BODY_DATE)
    place = body_row * load_i64(context, BODY_WIDTH) + column
    beside = load_i32(load_i64(context, BODY_EXTRAS), place * 4)
    if beside == f.ABSENT:
        return NULL
    return BEYOND if beside == f.MALFORMED else load_i64(load_i64(context, BODY_VALUES), place * 8)


@kernel
def fill_rows(context, message, count, made):
    """Rows of messages from `message` to `count`, from `made` on: (message that is left to others; rows made
    before it)."""
    parents, last = load_i64(context, PARENTS), load_i64(context, ENTRIES)
    cursor, block = load_i64(context, CURSOR), load_i64(context, BLOCK)
    while message < count:
        outcome = load_i64(context, OUTCOMES) + message * f.OUT_SIZE
        body_row = load_i64(outcome, f.OUT_ROW)
        if load_i64(outcome, f.OUT_BLOCK) != block:
            break
        while cursor < last and load_i64(parents, cursor * 8) < body_row:
            cursor += 1
        sound = load_i64(outcome, f.OUT_FAULT) == f.NONE and load_i64(outcome, f.OUT_REASON) == f.NO_PROBLEM
        date = _date_of(context, body_row)
        if not sound or load_i64(outcome, f.OUT_UNKNOWN) != 0 or date == BEYOND:
            break
        first, entry = made, cursor
        at = load_i64(load_i64(context, ATS), message * 8)
        epoch = load_u16(load_i64(context, EPOCHS), message * 2)
        ordinary = 1
        while ordinary and entry < last and load_i64(parents, entry * 8) == body_row:
            row = load_i64(context, ROWS) + made * r.ROW_SIZE
            _blank(row, at, epoch, message, made - first)
            ordinary = _entry(context, entry, row, date)
            entry += 1
            made += 1
        if not ordinary or made == first:  # without entries: the count may be missing
            made = first
            break
        row = load_i64(context, ROWS) + (made - 1) * r.ROW_SIZE
        store_8(row, r.FLAGS, load_u8(row, r.FLAGS) | END_OF_EVENT)
        cursor = entry
        message += 1
    store_64(context, CURSOR, cursor)
    return message, made
