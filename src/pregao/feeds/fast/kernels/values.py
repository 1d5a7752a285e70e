"""Values of columns, as rows have them. The plain twins are in `feeds.fast.entries`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.fast import kernel_tables as t
from pregao.feeds.fast.kernels.times import NO_TIME, clock_ns, day_ns
from pregao.kernels import inlined, kernel, load_i64, load_u8
from pregao.model.rows import NULL

BEYOND = NULL + 1  # a value that cannot be had here
_LONGEST_NUMBER = 19
_MOST_BEFORE = ((1 << 63) - 10) // 10
_LONGEST_CLOCK = 9  # digits: HHMMSSsss

# The context begins with what values need.
DECODER, BUFFER = 0, 8


@inlined
def value(columns, shape, field, row):
    """Of a column; NULL where it is absent."""
    column = load_i64(shape, field)
    if column < 0:
        return NULL
    entry = columns + column * 16
    if load_u8(load_i64(entry, 8), row) == 0:
        return NULL
    return load_i64(load_i64(entry, 0), row * 8)


@inlined
def text_at(context, piece):
    """Where a string begins."""
    if piece & t.IN_HEAP:
        return load_i64(load_i64(context, DECODER), t.HEAP) + ((piece & ~t.IN_HEAP) >> t.LENGTH_BITS)
    return load_i64(context, BUFFER) + (piece >> t.LENGTH_BITS)


@inlined
def letter_of(context, piece):
    """A string of one letter; BEYOND: another."""
    if piece & t.LENGTH_MASK != 1:
        return BEYOND
    return load_u8(text_at(context, piece), 0) & 0x7F


@inlined
def digits(context, piece):
    """A string of digits as a number: NULL where it is absent or no number, BEYOND where it may be too
    long."""
    if piece == NULL:
        return NULL
    size, at, number = piece & t.LENGTH_MASK, text_at(context, piece), 0
    if size > _LONGEST_NUMBER:
        return BEYOND
    for index in range(size):
        digit = (load_u8(at, index) & 0x7F) - 48
        if digit < 0 or digit > 9:
            return NULL
        if number > _MOST_BEFORE:  # the next digit may be one too many
            return BEYOND
        number = number * 10 + digit
    return number if size else NULL


@kernel
def clock_of(context, piece):
    """A time that is text, with separators or without, as digits: NULL where it is absent, BEYOND where there
    is no such."""
    if piece == NULL:
        return NULL
    size, at, number, count = piece & t.LENGTH_MASK, text_at(context, piece), 0, 0
    for index in range(size):
        letter = load_u8(at, index) & 0x7F
        if letter == ord("-") or letter == ord(":") or letter == ord("."):
            continue
        if letter < ord("0") or letter > ord("9") or count == _LONGEST_CLOCK:
            return BEYOND
        number = number * 10 + letter - ord("0")
        count += 1
    return number if count else BEYOND


@kernel
def rescaled(mantissa, shift):
    """Times ten to a power; BEYOND: it does not fit."""
    if mantissa == 0:
        return 0
    if shift > 18 or shift < -18:
        return BEYOND
    power = 1
    for _ in range(abs(shift)):
        power *= 10
    if shift < 0:
        return mantissa // power if mantissa % power == 0 else BEYOND
    most = ((1 << 63) - 1) // power
    return mantissa * power if -most <= mantissa <= most else BEYOND


@inlined
def decimal(columns, shape, field, row, exponent):
    """Of a decimal, whose exponents are the column behind it in the shape."""
    mantissa = value(columns, shape, field, row)
    if mantissa == NULL:
        return NULL
    exponents = load_i64(columns + load_i64(shape, field + 8) * 16, 0)
    shift = load_i64(exponents, row * 8) - exponent
    return mantissa if shift == 0 else rescaled(mantissa, shift)


@inlined
def moment(known, date, clock):
    """A date and a time; NULL where one is absent, BEYOND where there is no such."""
    begins = 0 if date == NULL else day_ns(known, date)
    since = 0 if clock == NULL else clock_ns(clock)
    if begins == NO_TIME or since == NO_TIME:
        return BEYOND
    return NULL if date == NULL or clock == NULL else begins + since
