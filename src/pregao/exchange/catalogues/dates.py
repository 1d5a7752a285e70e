"""When contracts end. Weekends are kept, holidays are not: the simulated days know none."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

_LETTERS = "FGHJKMNQUVXZ"
_WEDNESDAY, _FRIDAY, _SATURDAY = 2, 4, 5


def parse_maturity(code: str) -> tuple[int, int]:
    """Year and month of a code such as Z26; ValueError if it is none."""
    if len(code) != 3 or code[0] not in _LETTERS or not code[1:].isdecimal():
        raise ValueError(f"{code!r} is not a maturity such as Z26")
    return 2000 + int(code[1:]), _LETTERS.index(code[0]) + 1


def first_business_day(year: int, month: int) -> date:
    return _business_day(date(year, month, 1))


def wednesday_near_fifteenth(year: int, month: int) -> date:
    middle = date(year, month, 15)
    offset = (_WEDNESDAY - middle.weekday() + 3) % 7 - 3
    return middle + timedelta(days=offset)


def fifteenth(year: int, month: int) -> date:
    return _business_day(date(year, month, 15))


def third_friday(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(_FRIDAY - first.weekday()) % 7 + 14)


def _business_day(day: date) -> date:
    return day if day.weekday() < _SATURDAY else day + timedelta(days=7 - day.weekday())


MATURITY_RULES: Final[dict[str, Callable[[int, int], date]]] = {
    "first-business-day": first_business_day,
    "wednesday-near-15": wednesday_near_fifteenth,
    "15": fifteenth,
    "third-friday": third_friday,
}
