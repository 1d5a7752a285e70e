"""Values of columns, as rows have them, and the context and tags of the kernels. The plain twins are in
`feeds.conflated.entries`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fix import formats as f
from pregao.kernels import inlined, load_i32, load_i64, load_u8
from pregao.model.rows import NULL

CONTEXT_FIELDS = (
    "buffer",  # of the messages
    "columns",  # int64 for each tag of an entry
    "width",  # columns of an entry
    "values", "extras", "parents", "entries",  # of all entries, and how many there are
    "outcomes",  # of the messages
    "block",  # number of the table of 35=X
    "body_values", "body_extras", "body_width", "body_date", "body_depth",  # 75 and 1021 are of the message
    "at", "epochs",  # of messages: int64, uint16
    "rows",  # with room for all entries
    "cursor",  # the next entry
)  # fmt: skip
(
    BUFFER, COLUMNS, WIDTH, VALUES, EXTRAS, PARENTS, ENTRIES, OUTCOMES, BLOCK, BODY_VALUES, BODY_EXTRAS,
    BODY_WIDTH, BODY_DATE, BODY_DEPTH, ATS, EPOCHS, ROWS, CURSOR,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip

# Tags of an entry, as words of the context: the number of the column, or -1.
ENTRY_TAGS = (
    279, 269, 48, 22, 207, 37, 270, 271, 37780, 272, 273, 276, 277, 274, 286, 288, 289, 336, 451, 1003, 1020,
    1500, 37014, 287, 37016, 37017, 432, 37019, 37023, 37024, 37100, 15, 346,
)  # fmt: skip
(
    UPDATE_ACTION, ENTRY_TYPE, SECURITY_ID, ID_SOURCE, EXCHANGE, ORDER_ID, PRICE, SIZE, PREVIOUS_SIZE, DATE,
    TIME, QUOTE_CONDITION, CONDITION, TICK, FLAG, BUYER, SELLER, SESSION, NET_CHANGE, TRADE_ID, VOLUME,
    STREAM_ID, INTEREST_RATE, SELLER_DAYS, INSERT_DATE, INSERT_TIME, EXPIRES, EARLY, CERTIFIED, CONTRACT,
    INDEX_SEQUENCE, CURRENCY, NUMBER_OF_ORDERS,
) = range(0, 8 * len(ENTRY_TAGS), 8)  # fmt: skip
PRICE_DECIMALS, FINE_DECIMALS = 4, 8

BEYOND = NULL + 1  # a value that cannot be had here
DAY = 86_400_000_000_000
_LONGEST_NUMBER = 18


@inlined
def cell(context, tag, row):
    """The number of a cell; -1: there is no such column."""
    column = load_i64(load_i64(context, COLUMNS), tag)
    return column if column < 0 else row * load_i64(context, WIDTH) + column


@inlined
def extra(context, place):
    return f.ABSENT if place < 0 else load_i32(load_i64(context, EXTRAS), place * 4)


@inlined
def value(context, tag, row):
    """Of a number; NULL where it is absent, BEYOND where it is none."""
    place = cell(context, tag, row)
    beside = extra(context, place)
    if beside == f.ABSENT:
        return NULL
    if beside == f.MALFORMED:
        return BEYOND
    return load_i64(load_i64(context, VALUES), place * 8)


@inlined
def decimal(context, tag, row, decimals):
    """Of a decimal, as an integer with so many decimals."""
    place = cell(context, tag, row)
    beside = extra(context, place)
    if beside == f.ABSENT:
        return NULL
    if beside == f.MALFORMED:
        return BEYOND
    mantissa = load_i64(load_i64(context, VALUES), place * 8)
    while beside < decimals:
        if mantissa > (1 << 59) or mantissa < -(1 << 59):
            return BEYOND
        mantissa *= 10
        beside += 1
    while beside > decimals:
        if mantissa % 10 != 0:
            return BEYOND
        mantissa //= 10
        beside -= 1
    return mantissa


@inlined
def text(context, tag, row):
    """(address, length) of a text; length -1: it is absent."""
    place = cell(context, tag, row)
    size = extra(context, place)
    if size < 0:
        return 0, -1
    return load_i64(context, BUFFER) + load_i64(load_i64(context, VALUES), place * 8), size


@inlined
def digits(context, tag, row):
    """A text of digits as a number: NULL where it is absent, BEYOND where it is another or may be too
    long."""
    at, size = text(context, tag, row)
    if size < 0:
        return NULL
    if size == 0 or size > _LONGEST_NUMBER:
        return BEYOND
    number = 0
    for index in range(size):
        digit = load_u8(at, index) - 48
        if digit < 0 or digit > 9:
            return BEYOND
        number = number * 10 + digit
    return number


@inlined
def letter(context, tag, row):
    """A text of one letter; NULL where it is absent, BEYOND: another."""
    at, size = text(context, tag, row)
    if size < 0:
        return NULL
    return load_u8(at, 0) if size == 1 else BEYOND


@inlined
def moment(context, date, time, row):
    days, clock = value(context, date, row), value(context, time, row)
    if days == BEYOND or clock == BEYOND:
        return BEYOND
    return NULL if days == NULL or clock == NULL else days * DAY + clock
