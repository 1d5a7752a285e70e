"""Values of Trademate's fields, written and read.

Prices have eight places here, sizes too where a bond may be traded in fractions; texts have as few decimals
as they need. Times are UTC to the millisecond, with separators; those without (hhmmssSSS) are read too.
"""

from datetime import date
from functools import lru_cache
from typing import Any, Final

from pregao.codecs.fix import Entry, ValueFormatError
from pregao.codecs.fix.formats import format_timestamp
from pregao.codecs.fix.types import parse_date, parse_mantissa, parse_time, parse_timestamp
from pregao.model.errors import DecodeError, Fault
from pregao.model.market import EXCHANGE, State
from pregao.model.rows import NULL

Fields = dict[int, Any]  # bytes; of groups a list of such

DAY_NS: Final = 86_400_000_000_000
SOURCE, MARKET = b"8", EXCHANGE.encode("ascii")
ELECTRONIC: Final = b"E"
STATES: Final = {State.PAUSE: b"2", State.OPEN: b"17", State.RESERVED: b"21"}
_TOP: Final = 1 << 63
_DAY_ONE: Final = date(1970, 1, 1).toordinal()

# Written


@lru_cache(maxsize=1 << 16)
def decimal_text(value: int, exponent: int) -> bytes:
    """An integer of ten to an exponent, without zeros at its end: 1332000000 and -8 are 13.32."""
    if not exponent:
        return b"%d" % value
    sign, (whole, rest) = b"-" if value < 0 else b"", divmod(abs(value), 10**-exponent)
    text = b"%b%d.%0*d" % (sign, whole, -exponent, rest)
    return text.rstrip(b"0").rstrip(b".")


@lru_cache(maxsize=1024)
def date_text(days: int) -> bytes:
    return format_timestamp(days * DAY_NS, 0)[:8]


def time_text(time_ns: int) -> bytes:
    return format_timestamp(time_ns, 3)[9:]


def moment_fields(time_ns: int) -> Fields:
    return {272: date_text(time_ns // DAY_NS), 273: time_text(time_ns)}


# Read


def text_of(entry: Entry, tag: int) -> bytes | None:
    value = entry.get(tag)
    return value if isinstance(value, bytes) else None


def group_of(entry: Entry, tag: int) -> list[Entry]:
    value = entry.get(tag)
    return value if isinstance(value, list) else []


def number_of(raw: bytes | None) -> int:
    """Digits as a number; NULL where there are none, or too many."""
    if raw is None or not raw.isdigit() or len(raw) > 19:
        return NULL
    number = int(raw)
    return number if number < _TOP else NULL


def small_of(raw: bytes | None, most: int = 255) -> int:
    """0 where there is none that fits."""
    number = number_of(raw)
    return number if 0 <= number <= most else 0


def scaled(entry: Entry, tag: int, exponent: int) -> int:
    """A decimal as an integer of ten to an exponent, never rounded; NULL where it is absent."""
    raw = text_of(entry, tag)
    if raw is None:
        return NULL
    try:
        number = parse_mantissa(raw, exponent)
    except ValueFormatError as error:
        raise DecodeError(Fault.FIX_BEYOND_SCALE, 0, f"{tag}: {error}") from None
    if not -_TOP < number < _TOP:
        raise DecodeError(Fault.FIX_BEYOND_SCALE, 0, f"{tag}={raw!r:.40}")
    return number


def days_of(entry: Entry, tag: int) -> int:
    raw = text_of(entry, tag)
    if raw is None:
        return NULL
    try:
        return parse_date(raw).toordinal() - _DAY_ONE
    except ValueFormatError as error:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"{tag}: {error}") from None


def moment_of(entry: Entry, date_tag: int, time_tag: int) -> int:
    """Nanoseconds since 1970; NULL where date or time is absent."""
    days, clock = days_of(entry, date_tag), text_of(entry, time_tag)
    if days == NULL or clock is None:
        return NULL
    try:
        return _bounded(days * DAY_NS + parse_time(clock), date_tag)
    except ValueFormatError as error:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"{time_tag}: {error}") from None


def timestamp_of(entry: Entry, tag: int) -> int:
    raw = text_of(entry, tag)
    if raw is None:
        return NULL
    try:
        return _bounded(parse_timestamp(raw), tag)
    except ValueFormatError as error:
        raise DecodeError(Fault.FIX_UNKNOWN_VALUE, 0, f"{tag}: {error}") from None


def _bounded(time_ns: int, tag: int) -> int:
    """Years that int64 nanoseconds cannot hold are well written, and no time of ours."""
    if not -_TOP < time_ns < _TOP:
        raise DecodeError(Fault.FIX_BEYOND_SCALE, 0, f"{tag}: a time out of range")
    return time_ns
