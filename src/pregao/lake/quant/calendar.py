"""B3's trading days: holidays by rule, and a list of the days that no rule gives.

Rules (since 2000): weekends; the national holidays of Brazil; those that hang on Easter; the last
weekday of the year, on which banks are closed to the public, and 24 December when it is a weekday. The
holidays of the city and of the state of São Paulo closed the market until 2021 (20 November: 2019); it
is open then since. Days that were decided once are in `SPECIAL_CLOSED` and `SPECIAL_OPEN`, each with its
reason: add to them what a rule cannot know. On Ash Wednesday trading begins at 13:00.

B3 publishes the calendar of each year; where it differs from this, it is right and the lists are to be
mended.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from pregao.lake.errors import LakeError
from pregao.model.errors import ConfigurationError
from pregao.model.holidays import FIRST_YEAR, LAST_YEAR, SATURDAY, easter, national_holidays
from pregao.model.local_time import SAO_PAULO

_DAY: Final = timedelta(days=1)
# What closes B3 besides the national holidays. Month and day: reason, first year, last year.
_OURS: Final[tuple[tuple[int, int, str, int, int], ...]] = (
    (1, 25, "anniversary of São Paulo", FIRST_YEAR, 2021),
    (7, 9, "Constitutionalist Revolution (São Paulo)", FIRST_YEAR, 2021),
    (11, 20, "Black Awareness (São Paulo)", 2004, 2019),
    (12, 24, "Christmas Eve", FIRST_YEAR, LAST_YEAR),
)
ASH_WEDNESDAY: Final = -46

SPECIAL_CLOSED: Final[dict[date, str]] = {
    date(2014, 6, 12): "opening of the World Cup in São Paulo",
}
SPECIAL_OPEN: Final[dict[date, str]] = {
    date(2020, 7, 9): "holiday of the state, brought forward in the pandemic",
}


@lru_cache(maxsize=256)
def holidays(year: int) -> dict[date, str]:
    """Weekdays of a year without trading, with their reasons, in order."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise LakeError(f"trading days of {year}: known from {FIRST_YEAR} to {LAST_YEAR}")
    found = national_holidays(year)
    found |= {date(year, month, day): why for month, day, why, first, last in _OURS if first <= year <= last}
    found[_last_weekday(year)] = "last weekday of the year"
    found |= {day: why for day, why in SPECIAL_CLOSED.items() if day.year == year}
    return {
        day: why for day, why in sorted(found.items()) if day.weekday() < SATURDAY and day not in SPECIAL_OPEN
    }


def _last_weekday(year: int) -> date:
    day = date(year, 12, 31)
    while day.weekday() >= SATURDAY:
        day -= _DAY
    return day


def is_trading_day(day: date) -> bool:
    return day.weekday() < SATURDAY and day not in holidays(day.year)


def opens_late(day: date) -> bool:
    """Ash Wednesday: from 13:00."""
    return day == easter(day.year) + timedelta(days=ASH_WEDNESDAY)


def trading_days(first: date, last: date) -> Iterator[date]:
    """Both ends included."""
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        if is_trading_day(day):
            yield day


def next_trading_day(day: date) -> date:
    day += _DAY
    while not is_trading_day(day):
        day += _DAY
    return day


def previous_trading_day(day: date) -> date:
    day -= _DAY
    while not is_trading_day(day):
        day -= _DAY
    return day


# Times and lengths as people write them.
#
# moment_ns("2026-11-16T10:15:00.123456789")    # São Paulo's clock unless it says another
# moment_ns(datetime(…, tzinfo=UTC)), moment_ns(1794787200000000000) interval_ns("100ms"),
# interval_name(60_000_000_000)      # "1m"


Moment = str | int | date | datetime | None
DAY_NS: Final = 86_400_000_000_000
_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000,
    "min": 60_000_000_000, "h": 3_600_000_000_000, "d": DAY_NS,
}  # fmt: skip
_NAMES: Final = ("d", "h", "m", "s", "ms", "us", "ns")
_LENGTH: Final = re.compile(r"(\d{1,9})\s*([a-zµ]+)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From and to, both included, in nanoseconds; None: open."""

    start_ns: int | None = None
    end_ns: int | None = None

    def conditions(self, column: str = "ts_event") -> list[tuple[str, str, int]]:
        ends = ((">=", self.start_ns), ("<=", self.end_ns))
        return [(column, sign, value) for sign, value in ends if value is not None]


def span(start: Moment, end: Moment) -> TimeSpan:
    """A date is the whole of it: its first nanosecond as a start, its last as an end."""
    found = TimeSpan(moment_ns(start), moment_ns(end, at_end=True))
    if found.start_ns is not None and found.end_ns is not None and found.end_ns < found.start_ns:
        raise LakeError(f"from {start} to {end}: the end is before the start")
    return found


def moment_ns(moment: Moment, *, at_end: bool = False) -> int | None:
    if moment is None or (isinstance(moment, int) and not isinstance(moment, bool)):
        return moment
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise LakeError(f"{moment}: a time without a zone would be guessed at; give it one")
        return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
    if isinstance(moment, date):
        day = moment + timedelta(days=at_end)
        midnight = datetime(day.year, day.month, day.day, tzinfo=SAO_PAULO)
        return int(midnight.timestamp()) * 1_000_000_000 - at_end
    if not isinstance(moment, str):
        raise LakeError(f"{moment!r} is no time")
    from pregao.lake.verbs.book import parse_time

    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", moment):
            return moment_ns(date.fromisoformat(moment), at_end=at_end)
        return parse_time(moment)
    except (ValueError, ConfigurationError) as error:
        raise LakeError(str(error)) from error


def interval_ns(length: str | int) -> int:
    """Of "1m", "100ms", "1d", or nanoseconds as they are."""
    if isinstance(length, int) and not isinstance(length, bool):
        found = length
    else:
        match = _LENGTH.fullmatch(str(length).strip())
        if match is None or match[2] not in _UNITS:
            raise LakeError(f"{length!r} is not a length as 100ms, 5s, 1m, 4h, 1d")
        found = int(match[1]) * _UNITS[match[2]]
    if not 0 < found <= DAY_NS:
        raise LakeError(f"{length!r}: longer than nothing, and no longer than a day")
    return found


def interval_name(length_ns: int) -> str:
    """The shortest: 60_000_000_000 is "1m"."""
    for name in _NAMES:
        if length_ns % _UNITS[name] == 0:
            return f"{length_ns // _UNITS[name]}{name}"
    raise LakeError(f"{length_ns} is no length")


def local_date(ns: int) -> date:
    """In São Paulo."""
    return datetime.fromtimestamp(ns // 1_000_000_000, SAO_PAULO).date()
