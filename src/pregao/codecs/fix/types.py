"""The data types of FIX 4.4: which bytes a value may have, and what they mean.

Numbers are exact: an integer or a `Decimal`, never a float. A plus sign, an exponent and an empty value are
refused, as the standard says. Times are integers in nanoseconds: since 1970 for a timestamp, since midnight
for a time alone. Text is Latin-1, so that every byte comes back as it was; what `347` encodes is of type
`data`, which is bytes.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

SOH = b"\x01"
MAX_INTEGER_DIGITS = 19  # an int64 and no more: Python's integers have no end
MAX_DECIMAL_BYTES = 40

_DAY_ONE = date(1970, 1, 1).toordinal()
_SECOND = 1_000_000_000


class FieldType(Enum):
    """Named as QuickFIX's dictionaries name them."""

    AMT = "AMT"
    BOOLEAN = "BOOLEAN"
    CHAR = "CHAR"
    COUNTRY = "COUNTRY"
    CURRENCY = "CURRENCY"
    DATA = "DATA"
    DATE = "DATE"
    DAYOFMONTH = "DAYOFMONTH"
    EXCHANGE = "EXCHANGE"
    FLOAT = "FLOAT"
    INT = "INT"
    LANGUAGE = "LANGUAGE"
    LENGTH = "LENGTH"
    LOCALMKTDATE = "LOCALMKTDATE"
    MONTHYEAR = "MONTHYEAR"
    MULTIPLECHARVALUE = "MULTIPLECHARVALUE"
    MULTIPLESTRINGVALUE = "MULTIPLESTRINGVALUE"
    MULTIPLEVALUESTRING = "MULTIPLEVALUESTRING"
    NUMINGROUP = "NUMINGROUP"
    PATTERN = "PATTERN"
    PERCENTAGE = "PERCENTAGE"
    PRICE = "PRICE"
    PRICEOFFSET = "PRICEOFFSET"
    QTY = "QTY"
    RESERVED100PLUS = "RESERVED100PLUS"
    RESERVED1000PLUS = "RESERVED1000PLUS"
    RESERVED4000PLUS = "RESERVED4000PLUS"
    SEQNUM = "SEQNUM"
    STRING = "STRING"
    TAGNUM = "TAGNUM"
    TENOR = "TENOR"
    TIME = "TIME"
    TZTIMEONLY = "TZTIMEONLY"
    TZTIMESTAMP = "TZTIMESTAMP"
    UTCDATE = "UTCDATE"
    UTCDATEONLY = "UTCDATEONLY"
    UTCTIMEONLY = "UTCTIMEONLY"
    UTCTIMESTAMP = "UTCTIMESTAMP"
    XMLDATA = "XMLDATA"


T = FieldType
FLOATS = {T.AMT, T.FLOAT, T.PERCENTAGE, T.PRICE, T.PRICEOFFSET, T.QTY}
COUNTS = {T.LENGTH, T.NUMINGROUP, T.SEQNUM, T.TAGNUM}  # integers that are never negative
DATES = {T.DATE, T.LOCALMKTDATE, T.UTCDATE, T.UTCDATEONLY}
LISTS = {T.MULTIPLECHARVALUE, T.MULTIPLESTRINGVALUE, T.MULTIPLEVALUESTRING}
RAW = {T.DATA, T.XMLDATA}


class ValueFormatError(ValueError):
    """Bytes that are no value of their type."""


@dataclass(frozen=True, slots=True)
class MonthYear:
    """A maturity: a month, perhaps with a day or a week of it. `lettered` where the week had its `w`: B3
    writes YYYYMMW, the standard YYYYMMwN, and both go back to the bytes that they came as."""

    year: int
    month: int
    day: int | None = None
    week: int | None = None
    lettered: bool = False


FixValue = int | str | bool | bytes | Decimal | date | MonthYear | tuple[str, ...]

_INTEGER = re.compile(rb"-?[0-9]{1,19}")
_COUNT = re.compile(rb"[0-9]{1,19}")
_DECIMAL = re.compile(rb"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_DATE = re.compile(rb"([0-9]{4})([0-9]{2})([0-9]{2})")
_CLOCK = rb"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{3}|[0-9]{6}|[0-9]{9}))?"
_TIME = re.compile(_CLOCK)
_TIME_OF_B3 = re.compile(rb"([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{3})")
_TIMESTAMP = re.compile(rb"([0-9]{8})-" + _CLOCK)
_ZONE = rb"(?:Z|([+-])([0-9]{2})(?::([0-9]{2}))?)?"
_ZONED_TIME = re.compile(rb"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{3}|[0-9]{6}|[0-9]{9}))?)?" + _ZONE)
_ZONED_TIMESTAMP = re.compile(rb"([0-9]{8})-" + _CLOCK + _ZONE)
_MONTH = re.compile(rb"([0-9]{4})([0-9]{2})(?:([0-9]{2})|(w?)([1-6]))?")
_TENOR = re.compile(rb"[DMWY][0-9]{1,9}")
_LETTERS = {T.COUNTRY: 2, T.CURRENCY: 3, T.LANGUAGE: 2}


def parse_value(kind: FieldType, raw: bytes) -> FixValue:
    """The meaning of a value, or a `ValueFormatError`."""
    if not raw and kind not in RAW:
        raise ValueFormatError("empty")
    return _PARSERS[kind](raw)


def is_valid(kind: FieldType, raw: bytes) -> bool:
    try:
        parse_value(kind, raw)
    except ValueFormatError:
        return False
    return True


def parse_integer(raw: bytes) -> int:
    if not _INTEGER.fullmatch(raw):
        raise ValueFormatError(f"not an integer: {raw[:40]!r}")
    return int(raw)


def parse_count(raw: bytes) -> int:
    if not _COUNT.fullmatch(raw):
        raise ValueFormatError(f"not a count: {raw[:40]!r}")
    return int(raw)


def parse_decimal(raw: bytes) -> Decimal:
    if len(raw) > MAX_DECIMAL_BYTES or not _DECIMAL.fullmatch(raw):
        raise ValueFormatError(f"not a decimal: {raw[:40]!r}")
    return Decimal(raw.decode("ascii"))


def parse_mantissa(raw: bytes, exponent: int) -> int:
    """A decimal as an integer of units of 10^exponent; one that has more decimals is refused, not rounded."""
    value = parse_decimal(raw)
    sign, digits, own = value.as_tuple()
    assert isinstance(own, int)
    mantissa: int = int("".join(map(str, digits)))
    if own >= exponent:
        mantissa *= int(10 ** (own - exponent))
    else:
        mantissa, rest = divmod(mantissa, int(10 ** (exponent - own)))
        if rest:
            raise ValueFormatError(f"more decimals than {-exponent}: {raw[:40]!r}")
    return -mantissa if sign else mantissa


def parse_date(raw: bytes) -> date:
    found = _DATE.fullmatch(raw)
    if not found:
        raise ValueFormatError(f"not a date: {raw[:40]!r}")
    try:
        return date(*map(int, found.groups()))
    except ValueError as error:
        raise ValueFormatError(str(error)) from None


def parse_timestamp(raw: bytes) -> int:
    """Nanoseconds since 1970. A leap second counts as the first of the next minute."""
    found = _TIMESTAMP.fullmatch(raw)
    if not found:
        raise ValueFormatError(f"not a timestamp: {raw[:40]!r}")
    return _days(found[1]) * 86_400 * _SECOND + _clock(*found.groups()[1:])


def parse_time(raw: bytes) -> int:
    """Nanoseconds since midnight; also as hhmmssSSS, which B3's text has beside the standard's form."""
    found = _TIME.fullmatch(raw) or _TIME_OF_B3.fullmatch(raw)
    if not found:
        raise ValueFormatError(f"not a time: {raw[:40]!r}")
    return _clock(*found.groups())


def _days(raw: bytes) -> int:
    return parse_date(raw).toordinal() - _DAY_ONE


def _clock(hour: bytes, minute: bytes, second: bytes | None, fraction: bytes | None) -> int:
    h, m, s = int(hour), int(minute), int(second or 0)
    if h > 23 or m > 59 or s > 60:
        raise ValueFormatError(f"no such time: {h:02}:{m:02}:{s:02}")
    return (h * 3600 + m * 60 + s) * _SECOND + (int(fraction.ljust(9, b"0")) if fraction else 0)


def _zone(sign: bytes | None, hours: bytes | None, minutes: bytes | None) -> int:
    if sign is None:
        return 0
    h, m = int(hours or 0), int(minutes or 0)
    if h > 14 or m > 59:
        raise ValueFormatError("no such zone")
    return (h * 3600 + m * 60) * _SECOND * (1 if sign == b"+" else -1)


def _zoned_time(raw: bytes) -> int:
    found = _ZONED_TIME.fullmatch(raw)
    if not found:
        raise ValueFormatError(f"not a time with zone: {raw[:40]!r}")
    return _clock(*found.groups()[:4]) - _zone(*found.groups()[4:])


def _zoned_timestamp(raw: bytes) -> int:
    found = _ZONED_TIMESTAMP.fullmatch(raw)
    if not found:
        raise ValueFormatError(f"not a timestamp with zone: {raw[:40]!r}")
    return _days(found[1]) * 86_400 * _SECOND + _clock(*found.groups()[1:5]) - _zone(*found.groups()[5:])


def parse_month_year(raw: bytes) -> MonthYear:
    """YYYYMM, YYYYMMDD, YYYYMMwN, and YYYYMMW as B3 writes weekly options (7.4.2)."""
    found = _MONTH.fullmatch(raw)
    if not found or not 1 <= int(found[2]) <= 12 or int(found[1]) == 0:
        raise ValueFormatError(f"not a month: {raw[:40]!r}")
    year, month = int(found[1]), int(found[2])
    if found[3]:
        day = int(found[3])
        if not 1 <= day <= monthrange(year, month)[1]:
            raise ValueFormatError(f"no such day: {raw[:40]!r}")
        return MonthYear(year, month, day=day)
    if found[5]:
        return MonthYear(year, month, week=int(found[5]), lettered=bool(found[4]))
    return MonthYear(year, month)


def _boolean(raw: bytes) -> bool:
    if raw not in (b"Y", b"N"):
        raise ValueFormatError(f"neither Y nor N: {raw[:40]!r}")
    return raw == b"Y"


def _character(raw: bytes) -> str:
    if len(raw) != 1:
        raise ValueFormatError(f"not one character: {raw[:40]!r}")
    return raw.decode("latin-1")


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")


def _letters(count: int) -> Callable[[bytes], str]:
    def parse(raw: bytes) -> str:
        if len(raw) != count or not raw.isalnum():
            raise ValueFormatError(f"not {count} letters: {raw[:40]!r}")
        return raw.decode("ascii")

    return parse


def _list(raw: bytes) -> tuple[str, ...]:
    parts = tuple(raw.decode("latin-1").split(" "))
    if not all(parts):
        raise ValueFormatError(f"an empty value in a list: {raw[:40]!r}")
    return parts


def _day_of_month(raw: bytes) -> int:
    day = parse_count(raw)
    if not 1 <= day <= 31:
        raise ValueFormatError(f"no such day: {day}")
    return day


def _tenor(raw: bytes) -> str:
    if not _TENOR.fullmatch(raw):
        raise ValueFormatError(f"not a tenor: {raw[:40]!r}")
    return raw.decode("ascii")


_PARSERS: dict[FieldType, Callable[[bytes], FixValue]] = {
    **dict.fromkeys(FieldType, _text),
    **dict.fromkeys(FLOATS, parse_decimal),
    **dict.fromkeys(COUNTS, parse_count),
    **dict.fromkeys(DATES, parse_date),
    **dict.fromkeys(LISTS, _list),
    **dict.fromkeys(RAW, bytes),
    **{kind: _letters(count) for kind, count in _LETTERS.items()},
    T.INT: parse_integer,
    T.BOOLEAN: _boolean,
    T.CHAR: _character,
    T.DAYOFMONTH: _day_of_month,
    T.MONTHYEAR: parse_month_year,
    T.TENOR: _tenor,
    T.TIME: parse_timestamp,
    T.UTCTIMESTAMP: parse_timestamp,
    T.UTCTIMEONLY: parse_time,
    T.TZTIMEONLY: _zoned_time,
    T.TZTIMESTAMP: _zoned_timestamp,
}
