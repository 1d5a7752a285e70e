"""Values of FIX fields as systems over FIX sessions read them into rows: whole numbers, NULL where a field is
absent, never rounded. What cannot be read, or held, is a fault that names its tag."""

from datetime import date
from typing import Final

from pregao.codecs.fix import Entry, ValueFormatError
from pregao.codecs.fix.types import parse_date, parse_mantissa, parse_time, parse_timestamp
from pregao.model.errors import DecodeError, Fault
from pregao.model.rows import NULL

DAY_NS: Final = 86_400_000_000_000
_TOP: Final = 1 << 63
_DAY_ONE: Final = date(1970, 1, 1).toordinal()


def text_of(entry: Entry, tag: int) -> bytes | None:
    value = entry.get(tag)
    return value if isinstance(value, bytes) else None


def number_of(raw: bytes | None) -> int:
    """Digits as a number; NULL where there are none, or too many."""
    if raw is None or not raw.isdigit() or len(raw) > 19:
        return NULL
    number = int(raw)
    return number if number < _TOP else NULL


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
    """A date as days since 1970; NULL where it is absent."""
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
