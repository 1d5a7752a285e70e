"""National holidays and business days. The judge's lists are in `tests/proofs/test_bond_prices_slice.py`."""

from datetime import date, timedelta

import pytest

from pregao.model.holidays import (
    BusinessCalendar,
    UnknownYearError,
    calendar_of,
    national_calendar,
    national_holidays,
)


def test_20_november_since_2024_and_never_in_the_old_list() -> None:
    assert date(2023, 11, 20) not in national_holidays(2023)
    assert national_holidays(2024)[date(2024, 11, 20)] == "Black Awareness"
    assert date(2024, 11, 20) not in national_holidays(2024, black_awareness=False)
    assert calendar_of(date(2023, 12, 25)).is_business_day(date(2024, 11, 20))
    assert not calendar_of(date(2023, 12, 26)).is_business_day(date(2024, 11, 20))


@pytest.mark.parametrize("is_new", [False, True])
def test_counting_is_looking_at_each_day(is_new: bool) -> None:
    calendar = BusinessCalendar(black_awareness=is_new)
    first = date(2023, 10, 28)
    for days in range(0, 900, 13):
        end = first + timedelta(days=days)
        expected = sum(calendar.is_business_day(first + timedelta(days=each)) for each in range(days))
        assert calendar.count(first, end) == expected
    assert calendar.count(first, first - timedelta(days=9)) == 0


def test_days_before_and_after() -> None:
    calendar = national_calendar()
    assert calendar.after(date(2026, 11, 19)) == date(2026, 11, 23)  # a holiday, then a weekend
    assert calendar.after(date(2026, 11, 19), 2) == date(2026, 11, 24)
    assert calendar.before(date(2026, 11, 23)) == date(2026, 11, 19)
    assert calendar.on_or_after(date(2026, 12, 25)) == date(2026, 12, 28)
    assert list(calendar.between(date(2026, 11, 18), date(2026, 11, 23))) == [
        date(2026, 11, 18), date(2026, 11, 19), date(2026, 11, 23),
    ]  # fmt: skip
    # 24 and 31 December close B3, and are business days of bonds.
    assert calendar.is_business_day(date(2026, 12, 24))
    assert calendar.is_business_day(date(2026, 12, 31))


def test_years_without_rules_are_refused() -> None:
    for day in (date(1999, 12, 31), date(2101, 1, 3)):
        with pytest.raises(UnknownYearError, match="known from 2000 to 2100"):
            national_calendar().is_business_day(day)
    with pytest.raises(UnknownYearError):
        national_calendar().count(date(2026, 1, 2), date(2101, 1, 3))
