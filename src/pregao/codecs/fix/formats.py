"""Values as bytes: the other direction of `types`."""

from datetime import date
from decimal import Decimal

from pregao.codecs.fix.types import (
    COUNTS,
    FLOATS,
    FieldType,
    FixValue,
    MonthYear,
    ValueFormatError,
    parse_value,
)

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
