"""Values as bytes: the other direction of `types`."""

from datetime import date
from decimal import Decimal
from functools import lru_cache

from pregao.codecs.fix.message import SessionRejectReason
from pregao.codecs.fix.types import (
    COUNTS,
    FLOATS,
    FieldType,
    FixValue,
    MonthYear,
    ValueFormatError,
    parse_value,
)
from pregao.model.errors import Fault

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_DAY_ONE = date(1970, 1, 1).toordinal()
_DIVISORS = {0: _SECOND, 3: 1_000_000, 6: 1_000, 9: 1}
_TIMESTAMPS = {FieldType.UTCTIMESTAMP, FieldType.TIME}


def format_value(kind: FieldType, value: FixValue, decimals: int = 3) -> bytes:
    """The bytes of a value of a type; `decimals` (0, 3, 6 or 9) are those of a time's seconds. What is not a
    value of the type is refused with a `ValueFormatError`: we never send what we would not accept."""
    if type(value) is int and (kind is FieldType.INT or (kind in COUNTS and value >= 0)):
        return b"%d" % value
    raw = _bytes_of(kind, value, decimals)
    parse_value(kind, raw)
    if kind not in (FieldType.DATA, FieldType.XMLDATA) and b"\x01" in raw:
        raise ValueFormatError("a delimiter inside of a value")
    return raw


def _bytes_of(kind: FieldType, value: FixValue, decimals: int) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"Y" if value else b"N"
    if isinstance(value, int):
        if kind in _TIMESTAMPS:
            return format_timestamp(value, decimals)
        if kind is FieldType.UTCTIMEONLY:
            return format_time(value, decimals)
        return b"%d" % value
    if isinstance(value, Decimal):
        if kind not in FLOATS or not value.is_finite():
            raise ValueFormatError(f"{value} is no {kind.name}")
        return format(value, "f").encode("ascii")
    if isinstance(value, date):
        return b"%04d%02d%02d" % (value.year, value.month, value.day)
    if isinstance(value, MonthYear):
        return format_month_year(value)
    try:
        return (" ".join(value) if isinstance(value, tuple) else value).encode("latin-1")
    except UnicodeEncodeError as error:
        raise ValueFormatError(str(error)) from None


@lru_cache(maxsize=256)  # all sessions of a server are told something at the same time
def format_timestamp(time_ns: int, decimals: int = 3) -> bytes:
    days, rest = divmod(time_ns, _DAY)
    day = date.fromordinal(days + _DAY_ONE)
    return b"%04d%02d%02d-%b" % (day.year, day.month, day.day, format_time(rest, decimals))


def format_time(time_ns: int, decimals: int = 3) -> bytes:
    """HH:MM:SS, cut (not rounded) to 0, 3, 6 or 9 decimals."""
    if not 0 <= time_ns < _DAY:
        raise ValueFormatError(f"{time_ns} ns is no time of a day")
    seconds, rest = divmod(time_ns, _SECOND)
    minutes, second = divmod(seconds, 60)
    clock = b"%02d:%02d:%02d" % (*divmod(minutes, 60), second)
    return clock + b".%0*d" % (decimals, rest // _DIVISORS[decimals]) if decimals else clock


def format_month_year(value: MonthYear) -> bytes:
    month = b"%04d%02d" % (value.year, value.month)
    if value.day is not None:
        return month + b"%02d" % value.day
    if value.week is not None:
        return month + (b"w%d" if value.lettered else b"%d") % value.week
    return month


def format_mantissa(mantissa: int, exponent: int) -> bytes:
    """An integer of units of 10^exponent with all its decimals: prices keep their scale."""
    if exponent >= 0:
        return b"%d" % (mantissa * 10**exponent)
    whole, rest = divmod(abs(mantissa), 10**-exponent)
    return b"%b%d.%0*d" % (b"-" if mantissa < 0 else b"", whole, -exponent, rest)


# How the tables that drive the FIX kernels are laid out. Written by `columns`, read by `kernels`.


NONE = int(Fault.NONE)
BAD_FIELD = int(Fault.FIX_FIELD)
BAD_DATA_LENGTH = int(Fault.FIX_DATA_LENGTH)
NO_PROBLEM = -1
TWICE = int(SessionRejectReason.TAG_APPEARS_TWICE)
OUT_OF_ORDER = int(SessionRejectReason.TAG_OUT_OF_ORDER)
GROUP_ORDER = int(SessionRejectReason.GROUP_OUT_OF_ORDER)
GROUP_COUNT = int(SessionRejectReason.GROUP_COUNT_INCORRECT)

# What a value is turned into: a slice of the buffer, or a number.
SLICE, INTEGER, COUNT, DECIMAL, TIMESTAMP, TIME, DATE, GROUP = range(8)

# Beside every value stands an int32: the length of a slice, the decimals of a decimal, 0 of another number.
ABSENT = -1
MALFORMED = -2

MAX_TAG = 65_535  # greater ones are unknown to the kernel
MAX_DEPTH = 20

# A member of a block, packed: its column, its kind, and the block of its group plus one.
KIND_SHIFT, CHILD_SHIFT = 12, 16
COLUMN_MASK, KIND_MASK = 0xFFF, 0xF
NO_MEMBER = -1

HEADER_BLOCK, TRAILER_BLOCK, EMPTY_BLOCK = 0, 1, 2

# Fields of a row of `tables`, in bytes: a block's rows.
TABLE_VALUES, TABLE_EXTRAS, TABLE_PARENTS, TABLE_COLUMNS = range(0, 32, 8)
TABLE_CAPACITY, TABLE_ROWS, TABLE_SAVED = range(32, 56, 8)
TABLE_SIZE = 56

# Fields of a row of `outcomes`, in bytes: a message.
OUT_FAULT, OUT_REASON, OUT_TAG, OUT_UNKNOWN, OUT_BLOCK, OUT_ROW = range(0, 48, 8)
OUT_SIZE = 48

# Fields of a row of the stack, in bytes: a group that is being read.
LEVEL_BLOCK, LEVEL_LEAD, LEVEL_ROW, LEVEL_ENTRIES, LEVEL_COUNT, LEVEL_TAG, LEVEL_PARENT = range(0, 56, 8)
LEVEL_SIZE = 56

# Fields of the context, in bytes.
CONTEXT_FIELDS = (
    "field_of_tag",  # int32[MAX_TAG + 1]: number of the field, -1 unknown
    "members",  # int32[blocks, fields]
    "fields",  # how many
    "data_of_field",  # int32[fields]: the data field that a length measures, -1 none
    "types",  # int64[n, 2]: message type as a number, block
    "type_count",
    "tables",  # one a block
    "table_count",
    "outcomes",  # one a message
    "stack",
    "date_text",  # the last date that was read, as eight bytes, and its days: dates repeat
    "date_days",
)
FIELD_OF_TAG, MEMBERS, FIELDS, DATA_OF_FIELD, TYPES, TYPE_COUNT = range(0, 48, 8)
TABLES, TABLE_COUNT, OUTCOMES, STACK, DATE_TEXT, DATE_DAYS = range(48, 96, 8)
