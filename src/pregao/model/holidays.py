"""Brazil's national holidays by rule, and business days counted by them.

Bonds are priced over business days, and the lists by which they are counted differ: 20 November became a
national holiday by a law of December 2023. A price made before 26 December 2023 counts by the list without
it, also the days after 2024 (`calendar_of`); whoever asks what is a holiday takes `national_calendar`.

What closes B3 besides (`lake/quant/calendar.py`) is added there: the rules that both share live here once.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from pregao.model.errors import PregaoError

FIRST_YEAR, LAST_YEAR = 2000, 2100
SATURDAY: Final = 5
# From this date on prices count by the list with 20 November.
NEW_LIST_SINCE: Final = date(2023, 12, 26)
BLACK_AWARENESS: Final = (11, 20)
BLACK_AWARENESS_SINCE: Final = 2024

_FIXED: Final[tuple[tuple[int, int, str], ...]] = (
    (1, 1, "New Year"),
    (4, 21, "Tiradentes"),
    (5, 1, "Labour Day"),
    (9, 7, "Independence"),
    (10, 12, "Our Lady of Aparecida"),
    (11, 2, "All Souls"),
    (11, 15, "Republic"),
    (12, 25, "Christmas"),
)
# Days from Easter Sunday.
_BY_EASTER: Final = (
    (-48, "Carnival Monday"), (-47, "Carnival Tuesday"), (-2, "Good Friday"), (60, "Corpus Christi"),
)  # fmt: skip
# Monday is day 1 of the proleptic calendar, so that ordinals count weeks from a Monday.
_WEEK: Final = 7
_WEEKDAYS: Final = 5


class UnknownYearError(PregaoError):
    """A year for which no rule of holidays is known."""

    def __init__(self, year: int) -> None:
        self.year = year
        super().__init__(f"holidays of {year}: known from {FIRST_YEAR} to {LAST_YEAR}")


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


def national_holidays(year: int, *, black_awareness: bool = True) -> dict[date, str]:
    """All of a year, also those on weekends, with their names, in order. Without `black_awareness`: the list
    of before the law."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise UnknownYearError(year)
    sunday = easter(year)
    found = {date(year, month, day): name for month, day, name in _FIXED}
    found |= {sunday + timedelta(days=days): name for days, name in _BY_EASTER}
    if black_awareness and year >= BLACK_AWARENESS_SINCE:
        found[date(year, *BLACK_AWARENESS)] = "Black Awareness"
    return dict(sorted(found.items()))


class BusinessCalendar:
    """Business days by one list of national holidays, from `FIRST_YEAR` to `LAST_YEAR`."""

    def __init__(self, *, black_awareness: bool = True) -> None:
        self._holidays = [
            day.toordinal()
            for year in range(FIRST_YEAR, LAST_YEAR + 1)
            for day in national_holidays(year, black_awareness=black_awareness)
            if day.weekday() < SATURDAY
        ]
        self._set = frozenset(self._holidays)

    def is_business_day(self, day: date) -> bool:
        self._check(day)
        return day.weekday() < SATURDAY and day.toordinal() not in self._set

    def count(self, first: date, end: date) -> int:
        """Business days from `first`, included, to `end`, not included. None before `first`."""
        self._check(first)
        self._check(end)
        if end <= first:
            return 0
        since, until = first.toordinal(), end.toordinal()
        weekdays = _weekdays_before(until) - _weekdays_before(since)
        return weekdays - (bisect_left(self._holidays, until) - bisect_left(self._holidays, since))

    def on_or_after(self, day: date) -> date:
        while not self.is_business_day(day):
            day += timedelta(days=1)
        return day

    def after(self, day: date, days: int = 1) -> date:
        """The business day so many later."""
        for _ in range(days):
            day = self.on_or_after(day + timedelta(days=1))
        return day

    def before(self, day: date) -> date:
        day -= timedelta(days=1)
        while not self.is_business_day(day):
            day -= timedelta(days=1)
        return day

    def between(self, first: date, last: date) -> Iterator[date]:
        """Both ends included."""
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            if self.is_business_day(day):
                yield day

    @staticmethod
    def _check(day: date) -> None:
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise UnknownYearError(day.year)


def _weekdays_before(ordinal: int) -> int:
    """Mondays to Fridays of all days before this one, counted from day 1, which is a Monday."""
    weeks, days = divmod(ordinal - 1, _WEEK)
    return weeks * _WEEKDAYS + min(days, _WEEKDAYS)


@lru_cache(maxsize=2)
def _calendar(black_awareness: bool) -> BusinessCalendar:
    return BusinessCalendar(black_awareness=black_awareness)


def national_calendar() -> BusinessCalendar:
    """What is a business day, by today's law."""
    return _calendar(True)


def calendar_of(priced: date) -> BusinessCalendar:
    """By which a price of this date counts its days."""
    return _calendar(priced >= NEW_LIST_SINCE)
