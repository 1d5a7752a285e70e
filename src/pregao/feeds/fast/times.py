"""Dates and times of UMDF FIX/FAST (3.1.3): digits in one number, or text in some templates."""

from datetime import UTC, date, datetime
from typing import Final

from pregao.model.errors import DecodeError, Fault

_EPOCH: Final = date(1970, 1, 1)
_DAY_NS: Final = 86_400 * 1_000_000_000
_MS_NS: Final = 1_000_000


def timestamp_ns(value: object) -> int | None:
    """YYYYMMDDHHMMSSsss as a number, or with separators as text; UTC. DecodeError when there is none."""
    digits = _digits(value)
    if digits is None:
        return None
    digits = digits.ljust(17, "0") if len(digits) == 14 else digits
    if len(digits) != 17:
        raise DecodeError(Fault.FAST_IMPOSSIBLE_TIME, 0, f"{value!r:.40}")
    day, clock = date_days(int(digits[:8])), clock_ns(int(digits[8:]))
    assert day is not None
    assert clock is not None
    return day * _DAY_NS + clock


def clock_ns(value: object) -> int | None:
    """HHMMSSsss, as a number or text, since midnight."""
    digits = _digits(value)
    if digits is None:
        return None
    number = int(digits) if digits else -1
    hours, rest = divmod(number, 10_000_000)
    minutes, milliseconds = divmod(rest, 100_000)
    if not (0 <= hours < 24 and minutes < 60 and milliseconds < 61_000):
        raise DecodeError(Fault.FAST_IMPOSSIBLE_TIME, 0, f"{value!r:.40}")
    return ((hours * 60 + minutes) * 60_000 + milliseconds) * _MS_NS


def date_days(value: object) -> int | None:
    """YYYYMMDD as days since 1970."""
    digits = _digits(value)
    if digits is None:
        return None
    try:
        year, month, day = int(digits[:-4] or 0), int(digits[-4:-2] or 0), int(digits[-2:] or 0)
        return (date(year, month, day) - _EPOCH).days
    except ValueError:
        raise DecodeError(Fault.FAST_IMPOSSIBLE_TIME, 0, f"{value!r:.40}") from None


def moment_ns(day: object, clock: object) -> int | None:
    """A date and a time in two fields, as 272 and 273."""
    days, since = date_days(day), clock_ns(clock)
    return None if days is None or since is None else days * _DAY_NS + since


def as_number(ns: int) -> int:
    """Nanoseconds as SendingTime has them."""
    moment = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    return int(moment.strftime("%Y%m%d%H%M%S")) * 1_000 + ns // _MS_NS % 1_000


def _digits(value: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, str):
        text = "".join(letter for letter in text if letter not in "-:.")
    if not text.isascii() or not text.isdigit():
        raise DecodeError(Fault.FAST_IMPOSSIBLE_TIME, 0, f"{value!r:.40}")
    return text
