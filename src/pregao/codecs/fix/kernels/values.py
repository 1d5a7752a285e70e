"""Single values: bytes that are known to end at a place, to a number and what stands beside it.

The plain versions are in `types`; see `kernel_tables` for what a cell has.
"""

from pregao.codecs.fix import formats as t
from pregao.kernels import inlined, kernel, load_i64, load_u8, store_32, store_64

_SECOND = 1_000_000_000
_LIMIT = (2**63 - 1) // 10  # a number below this takes any digit more, this one takes up to 7
_NO_DATE = -(1 << 40)

# Eight bytes at once, the first in the lowest byte: what digits have in their upper halves, and a 6 for each:
# a byte that was more than 9 then reaches into its upper half.
_UPPER, _DIGITS, _SIX = 0x70F0F0F0F0F0F0F0, 0x3030303030303030, 0x0606060606060606
# The same for HH:MM:SS.
_CLOCK_UPPER, _CLOCK, _CLOCK_SIX = 0x70F0FFF0F0FFF0F0, 0x30303A30303A3030, 0x0606000606000606


@inlined
def digit_of(base, at):
    """A digit's value; what is none is above 9."""
    value = load_u8(base, at) - 48
    return value if 0 <= value <= 9 else 99


@inlined
def _two(base, at):
    """A number of two bytes that are known to be digits."""
    return load_u8(base, at) * 10 + load_u8(base, at + 1) - 528


@inlined
def put_cell(value_at, extra_at, value, extra):
    store_64(value_at, 0, value)
    store_32(extra_at, 0, extra)


@inlined
def _read_integer(base, at, end, value_at, extra_at):
    """Digits, with a minus sign before them: what does not fit 64 bits is malformed."""
    value, start = 0, at
    negative = at < end and load_u8(base, at) == 45
    if negative:
        at += 1
    good = at < end and end - at <= 19
    while at < end and good:
        digit = load_u8(base, at) - 48
        good = 0 <= digit <= 9 and (value < _LIMIT or (value == _LIMIT and digit <= 7))
        value = value * 10 + digit
        at += 1
    put_cell(
        value_at, extra_at, (-value if negative else value) if good else start, 0 if good else t.MALFORMED
    )


@inlined
def _read_decimal(base, at, end, value_at, extra_at):
    """Sign, digits, point, digits: a mantissa and its decimals."""
    value, point, digits, start = 0, 0, 0, at
    negative = at < end and load_u8(base, at) == 45
    good = end - at <= 40
    if negative:
        at += 1
    while at < end and good:
        byte = load_u8(base, at)
        at += 1
        if byte == 46:
            good = point == 0
            point = at
        else:
            digit = byte - 48
            good = 0 <= digit <= 9 and (value < _LIMIT or (value == _LIMIT and digit <= 7))
            value = value * 10 + digit
            digits += 1
    if good and digits > 0:
        put_cell(value_at, extra_at, -value if negative else value, end - point if point else 0)
    else:
        put_cell(value_at, extra_at, start, t.MALFORMED)


@kernel
def days_since_1970(text):
    """The days of YYYYMMDD in eight bytes, or a number below what any date has."""
    digits = text ^ _DIGITS
    if digits < 0 or (digits & _UPPER) != 0 or ((digits + _SIX) & _UPPER) != 0:
        return _NO_DATE
    year = (
        (digits & 15) * 1000 + ((digits >> 8) & 15) * 100 + ((digits >> 16) & 15) * 10 + ((digits >> 24) & 15)
    )
    month = ((digits >> 32) & 15) * 10 + ((digits >> 40) & 15)
    day = ((digits >> 48) & 15) * 10 + ((digits >> 56) & 15)
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    last = 31
    if month == 2:
        last = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        last = 30
    if year < 1 or month < 1 or month > 12 or day < 1 or day > last:
        return _NO_DATE
    # Days of the years before, then of the months before with March as the first.
    shifted = year - (1 if month <= 2 else 0)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@inlined
def _days(base, at, context):
    """The same, remembered: nearly all dates of a batch are one."""
    text = load_i64(base, at)
    if text != load_i64(context, t.DATE_TEXT):
        store_64(context, t.DATE_TEXT, text)
        store_64(context, t.DATE_DAYS, days_since_1970(text))
    return load_i64(context, t.DATE_DAYS)


@inlined
def _nanoseconds_of_day(base, at, end):
    """HH:MM:SS with 0, 3, 6 or 9 decimals, or -1."""
    size = end - at
    if size != 12 and size != 8 and size != 15 and size != 18:
        return -1
    text = load_i64(base, at) ^ _CLOCK
    if text < 0 or (text & _CLOCK_UPPER) != 0 or ((text + _CLOCK_SIX) & _CLOCK_UPPER) != 0:
        return -1
    hour = (text & 15) * 10 + ((text >> 8) & 15)
    minute = ((text >> 24) & 15) * 10 + ((text >> 32) & 15)
    second = ((text >> 48) & 15) * 10 + ((text >> 56) & 15)
    if hour > 23 or minute > 59 or second > 60:
        return -1
    fraction = 0
    if size > 8:
        if load_u8(base, at + 8) != 46:
            return -1
        for i in range(at + 9, end):
            digit = digit_of(base, i)
            if digit > 9:
                return -1
            fraction = fraction * 10 + digit
        fraction *= 1_000_000 if size == 12 else 1_000 if size == 15 else 1
    return (hour * 3600 + minute * 60 + second) * _SECOND + fraction


@kernel
def _short_time(base, at):
    for i in range(9):
        if digit_of(base, at + i) > 9:
            return -1
    hour, minute, second = _two(base, at), _two(base, at + 2), _two(base, at + 4)
    thousandths = digit_of(base, at + 6) * 100 + _two(base, at + 7)
    if hour > 23 or minute > 59 or second > 60:
        return -1
    return (hour * 3600 + minute * 60 + second) * _SECOND + thousandths * 1_000_000


@inlined
def _read_time(base, at, end, kind, context, value_at, extra_at):
    """A date, a time or both."""
    value, good = at, False
    if kind == t.DATE:
        if end - at == 8:
            value = _days(base, at, context)
            good = value > _NO_DATE
    elif kind == t.TIMESTAMP:
        if end - at > 9 and load_u8(base, at + 8) == 45:
            days, rest = _days(base, at, context), _nanoseconds_of_day(base, at + 9, end)
            good = rest >= 0 and -106_751 <= days <= 106_750  # what 64 bits hold: 1677 to 2262
            value = days * 86_400 * _SECOND + rest
    elif end - at == 9:  # hhmmssSSS, as B3's text has it
        value = _short_time(base, at)
        good = value >= 0
    else:
        value = _nanoseconds_of_day(base, at, end)
        good = value >= 0
    put_cell(value_at, extra_at, value if good else at, 0 if good else t.MALFORMED)


@inlined
def read_number(base, at, end, kind, context, value_at, extra_at):
    """A value that is more than its bytes."""
    if kind == t.DECIMAL:
        _read_decimal(base, at, end, value_at, extra_at)
    elif kind >= t.TIMESTAMP and kind <= t.DATE:
        _read_time(base, at, end, kind, context, value_at, extra_at)
    elif kind != t.INTEGER and at < end and load_u8(base, at) == 45:
        put_cell(value_at, extra_at, at, t.MALFORMED)
    else:
        _read_integer(base, at, end, value_at, extra_at)
