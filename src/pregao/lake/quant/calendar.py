"""B3's trading days: holidays by rule, and a list of the days that no rule gives.

Rules (since 2000): weekends; the national holidays of Brazil; those that hang on Easter; the last
weekday of the year, on which banks are closed to the public, and 24 December when it is a weekday. The
holidays of the city and of the state of São Paulo closed the market until 2021 (20 November: 2019); it
is open then since. Days that were decided once are in `SPECIAL_CLOSED` and `SPECIAL_OPEN`, each with its
reason: add to them what a rule cannot know. On Ash Wednesday trading begins at 13:00.

B3 publishes the calendar of each year; where it differs from this, it is right and the lists are to be
mended.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from pregao.lake.errors import LakeError

FIRST_YEAR, LAST_YEAR = 2000, 2100
_SATURDAY: Final = 5
_DAY: Final = timedelta(days=1)
# Month and day: reason, first year, last year.
_FIXED: Final[tuple[tuple[int, int, str, int, int], ...]] = (
    (1, 1, "New Year", FIRST_YEAR, LAST_YEAR),
    (1, 25, "anniversary of São Paulo", FIRST_YEAR, 2021),
    (4, 21, "Tiradentes", FIRST_YEAR, LAST_YEAR),
    (5, 1, "Labour Day", FIRST_YEAR, LAST_YEAR),
    (7, 9, "Constitutionalist Revolution (São Paulo)", FIRST_YEAR, 2021),
    (9, 7, "Independence", FIRST_YEAR, LAST_YEAR),
    (10, 12, "Our Lady of Aparecida", FIRST_YEAR, LAST_YEAR),
    (11, 2, "All Souls", FIRST_YEAR, LAST_YEAR),
    (11, 15, "Republic", FIRST_YEAR, LAST_YEAR),
    (11, 20, "Black Awareness (São Paulo)", 2004, 2019),
    (11, 20, "Black Awareness", 2024, LAST_YEAR),  # national by law since then
    (12, 24, "Christmas Eve", FIRST_YEAR, LAST_YEAR),
    (12, 25, "Christmas", FIRST_YEAR, LAST_YEAR),
)
# Days from Easter Sunday.
_BY_EASTER: Final = (
    (-48, "Carnival Monday"), (-47, "Carnival Tuesday"), (-2, "Good Friday"), (60, "Corpus Christi"),
)  # fmt: skip
ASH_WEDNESDAY: Final = -46

SPECIAL_CLOSED: Final[dict[date, str]] = {
    date(2014, 6, 12): "opening of the World Cup in São Paulo",
}
SPECIAL_OPEN: Final[dict[date, str]] = {
    date(2020, 7, 9): "holiday of the state, brought forward in the pandemic",
}


def easter(year: int) -> date:
    """Sunday of the Gregorian calendar, by the anonymous algorithm of 1876."""
    century, rest = divmod(year, 100)
    golden = year % 19
    leaps, skipped = divmod(century, 4)
    correction = (century + 8) // 25
    moon = (19 * golden + century - leaps - (century - correction + 1) // 3 + 15) % 30
    quarter, left = divmod(rest, 4)
    weekday = (32 + 2 * skipped + 2 * quarter - moon - left) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


@lru_cache(maxsize=256)
def holidays(year: int) -> dict[date, str]:
    """Weekdays of a year without trading, with their reasons, in order."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise LakeError(f"trading days of {year}: known from {FIRST_YEAR} to {LAST_YEAR}")
    sunday = easter(year)
    found = {date(year, month, day): why for month, day, why, first, last in _FIXED if first <= year <= last}
    found |= {sunday + timedelta(days=days): why for days, why in _BY_EASTER}
    found[_last_weekday(year)] = "last weekday of the year"
    found |= {day: why for day, why in SPECIAL_CLOSED.items() if day.year == year}
    return {
        day: why
        for day, why in sorted(found.items())
        if day.weekday() < _SATURDAY and day not in SPECIAL_OPEN
    }


def _last_weekday(year: int) -> date:
    day = date(year, 12, 31)
    while day.weekday() >= _SATURDAY:
        day -= _DAY
    return day


def is_trading_day(day: date) -> bool:
    return day.weekday() < _SATURDAY and day not in holidays(day.year)


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
