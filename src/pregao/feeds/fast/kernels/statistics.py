"""Statistics, bands and states of entries (7, 10, 11.4) to rows. The plain twin is `feeds.fast.entries`.

Each function says 0 where an entry is not ordinary: it is left to the twin then. All arguments are numbers
and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fast import kernel_tables as t
from pregao.feeds.fast.kernels import layout as f
from pregao.feeds.fast.kernels.times import DAY, NO_TIME, day_ns, ns_of
from pregao.feeds.fast.kernels.values import BEYOND, decimal, digits, letter_of, text_at, value
from pregao.kernels import inlined, kernel, load_i64, load_u8, store_8, store_32, store_64
from pregao.model import rows as r
from pregao.model.market import FINE_EXPONENT, PRICE_EXPONENT
from pregao.model.rows import NULL, Kind

HIGH, LOW, VWAP, TOTALS = int(Kind.HIGH), int(Kind.LOW), int(Kind.VWAP), int(Kind.TOTALS)
THEORETICAL, OPENING, IMBALANCE = int(Kind.THEORETICAL), int(Kind.OPENING), int(Kind.IMBALANCE)
CLOSING, SETTLEMENT, OPEN_INTEREST = int(Kind.CLOSING), int(Kind.SETTLEMENT), int(Kind.OPEN_INTEREST)
PRICE_BAND, QUANTITY_BAND, STATE = int(Kind.PRICE_BAND), int(Kind.QUANTITY_BAND), int(Kind.STATE)
_THEORETICAL_FLAG = 5
_LONGEST_CURRENCY = 4


@inlined
def _flag(context, columns, shape, entry):
    flag = value(columns, shape, f.FLAG, entry)
    return digits(context, flag) if load_i64(shape, f.IS_TEXT) else flag


@inlined
def _put_flag(context, columns, shape, entry, row):
    """286 + 1, where it is a number that fits."""
    flag = _flag(context, columns, shape, entry)
    store_8(row, r.ORIGIN, flag + 1 if 0 <= flag < 255 else 0)
    return flag


@kernel
def _opening(context, columns, shape, entry, row):
    """286=5 is theoretical (10.4)."""
    if _put_flag(context, columns, shape, entry, row) == _THEORETICAL_FLAG:
        store_8(row, r.KIND, THEORETICAL)
        return 1
    change = decimal(columns, shape, f.NET_CHANGE, entry, FINE_EXPONENT)
    rate = decimal(columns, shape, f.INTEREST_RATE, entry, PRICE_EXPONENT)
    if change == BEYOND or rate == BEYOND:
        return 0
    store_8(row, r.KIND, OPENING)
    store_64(row, r.FINE, change)
    store_64(row, r.OTHER, rate)
    return 1


@kernel
def _closing(context, columns, shape, entry, row):
    price = decimal(columns, shape, f.PRICE, entry, FINE_EXPONENT)
    date, method = value(columns, shape, f.LAST_DATE, entry), value(columns, shape, f.ADJUSTMENT, entry)
    if price == BEYOND or method > 4:
        return 0
    if date != NULL:
        begins = day_ns(context + f.KNOWN_INSERTED_DAY, date)
        if begins == NO_TIME:
            return 0
        store_64(row, r.OTHER, begins // DAY)
    _put_flag(context, columns, shape, entry, row)
    store_8(row, r.KIND, CLOSING)
    store_64(row, r.FINE, price)
    store_8(row, r.DETAIL, 0 if method == NULL else method + 1)
    return 1


@kernel
def _settlement(context, columns, shape, entry, row):
    kind = value(columns, shape, f.SETTLEMENT_KIND, entry)
    if kind > 255:
        return 0
    price_kind = value(columns, shape, f.PRICE_KIND, entry)
    if price_kind != NULL:
        price_kind = letter_of(context, price_kind) - ord("0")
        if price_kind < 1 or price_kind > 3:
            return 0
    _put_flag(context, columns, shape, entry, row)
    store_8(row, r.KIND, SETTLEMENT)
    store_8(row, r.DETAIL, 0 if kind == NULL else kind)
    store_8(row, r.TYPE, 0 if price_kind == NULL else price_kind)
    return 1


@kernel
def _totals(context, columns, shape, entry, row):
    """270 is money, 271 trades, 1020 the volume (10.2)."""
    money = decimal(columns, shape, f.PRICE, entry, PRICE_EXPONENT)
    volume = value(columns, shape, f.VOLUME, entry)
    if money == BEYOND or (volume != NULL and volume < 0):
        return 0
    currency, letters = value(columns, shape, f.CURRENCY, entry), 0
    if currency != NULL:
        at = text_at(context, currency)
        for index in range(min(currency & t.LENGTH_MASK, _LONGEST_CURRENCY)):
            letters |= (load_u8(at, index) & 0x7F) << 8 * index
    store_8(row, r.KIND, TOTALS)
    store_64(row, r.SIZE, volume)
    store_64(row, r.OTHER, value(columns, shape, f.SIZE, entry))
    store_64(row, r.LOW, money)
    store_32(row, r.CONDITION, letters)
    return 1


@kernel
def _imbalance(context, columns, shape, entry, row):
    condition, side = value(columns, shape, f.CONDITION, entry), 0
    if condition != NULL:
        letter = letter_of(context, condition)
        side = 1 if letter == ord("P") else 2 if letter == ord("Q") else 0
        if side == 0:
            return 0
    store_8(row, r.KIND, IMBALANCE)
    store_8(row, r.SIDE, side)
    return 1


@kernel
def _price_band(context, columns, shape, entry, row):
    band, kind = value(columns, shape, f.BAND, entry), 0
    if band != NULL:
        kind = letter_of(context, band) - ord("0")
        if kind < 1 or kind > 4:
            return 0
    low = decimal(columns, shape, f.LOW_LIMIT, entry, PRICE_EXPONENT)
    high = decimal(columns, shape, f.HIGH_LIMIT, entry, PRICE_EXPONENT)
    reference = decimal(columns, shape, f.REFERENCE, entry, FINE_EXPONENT)
    limit, middle = value(columns, shape, f.LIMIT_TYPE, entry), value(columns, shape, f.MIDPOINT, entry)
    if low == BEYOND or high == BEYOND or reference == BEYOND or limit > 254 or middle > 254:
        return 0
    store_8(row, r.KIND, PRICE_BAND)
    store_8(row, r.TYPE, kind)
    store_64(row, r.LOW, low)
    store_64(row, r.HIGH, high)
    store_64(row, r.FINE, reference)
    store_8(row, r.DETAIL, 0 if limit == NULL else limit + 1)
    store_8(row, r.ORIGIN, 0 if middle == NULL else middle + 1)
    return 1


@kernel
def _quantity_band(columns, shape, entry, row):
    most = value(columns, shape, f.MOST_QUANTITY, entry)
    daily = value(columns, shape, f.DAILY_QUANTITY, entry)
    if (most != NULL and most < 0) or (daily != NULL and daily < 0):
        return 0
    store_8(row, r.KIND, QUANTITY_BAND)
    store_64(row, r.SIZE, most)
    store_64(row, r.OTHER, daily)
    return 1


@kernel
def _state(context, columns, shape, entry, row):
    """Only in snapshots (11.4)."""
    phase = digits(context, value(columns, shape, f.PHASE, entry))
    state, event = value(columns, shape, f.STATE, entry), value(columns, shape, f.STATE_EVENT, entry)
    session, ends = value(columns, shape, f.SESSION, entry), value(columns, shape, f.ENDS, entry)
    if state > 255 or event > 255 or (session != NULL and session != 1 and session != 6):
        return 0
    if ends != NULL:
        ends = ns_of(context + f.KNOWN_INSERTED_DAY, ends)
        if ends == NO_TIME:
            return 0
    store_8(row, r.KIND, STATE)
    store_8(row, r.ORIGIN, phase if 0 <= phase < 256 else 0)
    store_64(row, r.INSERTED, ends)
    store_8(row, r.TYPE, 0 if state == NULL else state)
    store_8(row, r.DETAIL, 0 if event == NULL else event)
    store_8(row, r.SESSION, 0 if session == NULL else session)
    return 1


@kernel
def fill_plain_statistic(row, letter):
    """Those that have a price and a size, and nothing else."""
    kind = 0
    if letter == ord("7"):
        kind = HIGH
    elif letter == ord("8"):
        kind = LOW
    elif letter == ord("9"):
        kind = VWAP
    elif letter == ord("C"):
        kind = OPEN_INTEREST
    store_8(row, r.KIND, kind)
    return 1 if kind else 0


@inlined
def fill_statistic(context, columns, shape, entry, row, letter):
    """Of those whose 270 is a price."""
    if letter == ord("4"):
        return _opening(context, columns, shape, entry, row)
    if letter == ord("6"):
        return _settlement(context, columns, shape, entry, row)
    if letter == ord("A"):
        return _imbalance(context, columns, shape, entry, row)
    return fill_plain_statistic(row, letter)


@inlined
def has_price(letter):
    """Whether 270 and 271 of an entry are a price and a size."""
    return not (
        letter == ord("5") or letter == ord("B") or letter == ord("c") or letter == ord("g")
        or letter == ord("h")
    )  # fmt: skip


@inlined
def fill_other(context, columns, shape, entry, row, letter):
    """Of those whose 270 is none, or of another scale."""
    if letter == ord("5"):
        return _closing(context, columns, shape, entry, row)
    if letter == ord("B"):
        return _totals(context, columns, shape, entry, row)
    if letter == ord("g"):
        return _price_band(context, columns, shape, entry, row)
    if letter == ord("h"):
        return _quantity_band(columns, shape, entry, row)
    return _state(context, columns, shape, entry, row)
