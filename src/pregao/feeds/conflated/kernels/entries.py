"""Columns of incremental messages (35=X) to rows of `model.rows`. The plain twin is
`feeds.conflated.entries`.

A message that has anything unusual is left to that: an entry of a rare type, a value that no dictionary
lists, a price that does not fit. So there is one set of rules for those, and it is not here. All arguments
are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fix import formats as f
from pregao.feeds.conflated.kernels.books import fill_book
from pregao.feeds.conflated.kernels.statistics import fill_statistic, fill_trade
from pregao.feeds.conflated.kernels.values import (
    ATS,
    BEYOND,
    BLOCK,
    BODY_DATE,
    BODY_DEPTH,
    BODY_EXTRAS,
    BODY_VALUES,
    BODY_WIDTH,
    CURSOR,
    DATE,
    ENTRIES,
    ENTRY_TYPE,
    EPOCHS,
    EXCHANGE,
    ID_SOURCE,
    OUTCOMES,
    PARENTS,
    PRICE,
    PRICE_DECIMALS,
    ROWS,
    SECURITY_ID,
    SIZE,
    STREAM_ID,
    TIME,
    UPDATE_ACTION,
    decimal,
    digits,
    letter,
    moment,
    text,
    value,
)
from pregao.feeds.kernels import blank_row
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
    store_64,
)
from pregao.model import rows as r
from pregao.model.rows import NULL, Flag

_BVMF, _EIGHT = int.from_bytes(b"BVMF", "little"), ord("8")
_BY_LEVEL = 2  # 1021
END_OF_EVENT = int(Flag.END_OF_EVENT)


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
def _entry(context, entry, row, date, by_level):
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
        return fill_book(context, entry, row, kind - 47, action, by_level)
    if kind == ord("2"):
        return fill_trade(context, entry, row, action)
    return fill_statistic(context, entry, row, kind)


@inlined
def _of_body(context, body_row, column):
    """A number of a message: NULL where it is absent, BEYOND where it is none."""
    if column < 0:
        return NULL
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
        date = _of_body(context, body_row, load_i64(context, BODY_DATE))
        depth = _of_body(context, body_row, load_i64(context, BODY_DEPTH))
        if not sound or load_i64(outcome, f.OUT_UNKNOWN) != 0 or date == BEYOND or depth == BEYOND:
            break
        first, entry = made, cursor
        at = load_i64(load_i64(context, ATS), message * 8)
        epoch = load_u16(load_i64(context, EPOCHS), message * 2)
        ordinary = 1
        while ordinary and entry < last and load_i64(parents, entry * 8) == body_row:
            row = load_i64(context, ROWS) + made * r.ROW_SIZE
            blank_row(row, at, epoch, message, made - first)
            ordinary = _entry(context, entry, row, date, depth == _BY_LEVEL)
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
