"""B3's trading days, and times and lengths as people write them."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest

from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import (
    FIRST_YEAR,
    LAST_YEAR,
    easter,
    holidays,
    interval_name,
    interval_ns,
    is_trading_day,
    moment_ns,
    next_trading_day,
    opens_late,
    previous_trading_day,
    span,
    trading_days,
)

# Weekdays without trading, as published for these years (months and days).
PUBLISHED = {
    2014: "0101 0303 0304 0418 0421 0501 0612 0619 0709 1120 1224 1225 1231",
    2019: "0101 0125 0304 0305 0419 0501 0620 0709 1115 1120 1224 1225 1231",
    2020: "0101 0224 0225 0410 0421 0501 0611 0907 1012 1102 1224 1225 1231",
    2021: "0101 0125 0215 0216 0402 0421 0603 0709 0907 1012 1102 1115 1224 1231",
    2023: "0220 0221 0407 0421 0501 0608 0907 1012 1102 1115 1225 1229",
    2024: "0101 0212 0213 0329 0501 0530 1115 1120 1224 1225 1231",
    2025: "0101 0303 0304 0418 0421 0501 0619 1120 1224 1225 1231",
}
EASTERS = {2000: (4, 23), 2008: (3, 23), 2011: (4, 24), 2024: (3, 31), 2026: (4, 5), 2038: (4, 25)}


@pytest.mark.parametrize("year", PUBLISHED)
def test_holidays_are_as_published(year: int) -> None:
    assert " ".join(f"{day:%m%d}" for day in holidays(year)) == PUBLISHED[year]


def test_easter() -> None:
    assert {year: (easter(year).month, easter(year).day) for year in EASTERS} == EASTERS
    assert {easter(year).weekday() for year in range(FIRST_YEAR, LAST_YEAR + 1)} == {6}


def test_every_year_has_its_days() -> None:
    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        days = list(trading_days(date(year, 1, 1), date(year, 12, 31)))
        assert 244 <= len(days) <= 255, year
        for day, after in pairwise(days[:20]):
            assert next_trading_day(day) == after
            assert previous_trading_day(after) == day
    assert opens_late(date(2026, 2, 18))
    assert is_trading_day(date(2026, 2, 18))
    assert not opens_late(date(2026, 2, 19))
    with pytest.raises(LakeError, match="known from 2000 to 2100"):
        is_trading_day(date(1999, 1, 4))


def test_lengths() -> None:
    lengths = {"1ns": 1, "5us": 5_000, "100ms": 10**8, "1s": 10**9, "15m": 900 * 10**9, "1h": 3600 * 10**9}
    for name, length in lengths.items():
        assert interval_ns(name) == interval_ns(length) == length
        assert interval_name(length) == name
    assert interval_ns("1min") == interval_ns("60 s") == interval_ns("1m")
    assert interval_name(interval_ns("1d")) == "1d"
    for wrong in ("", "m", "1 fortnight", "-1s", "0s", "2d", 0, -5, "1.5s"):
        with pytest.raises(LakeError, match=r"length as|longer than nothing"):
            interval_ns(wrong)


def test_moments() -> None:
    noon = datetime(2026, 11, 16, 15, tzinfo=UTC)
    expected = int(noon.timestamp()) * 10**9
    assert moment_ns(noon) == moment_ns("2026-11-16T12:00") == moment_ns("2026-11-16T15:00Z") == expected
    assert moment_ns("2026-11-16T12:00:00.000000001") == expected + 1
    assert moment_ns(expected) == expected
    assert moment_ns(None) is None
    day = span("2026-11-16", date(2026, 11, 16))
    assert day.start_ns is not None
    assert day.end_ns is not None
    assert day.end_ns - day.start_ns == 86_400 * 10**9 - 1
    assert datetime.fromtimestamp(day.start_ns / 1e9, UTC) == datetime(2026, 11, 16, 3, tzinfo=UTC)
    # Until 2019 there was summer time: the day on which it began had 23 hours.
    assert moment_ns("2018-12-03T12:00") == moment_ns("2018-12-03T14:00Z")
    began = span(date(2018, 11, 4), date(2018, 11, 4))
    assert began.start_ns is not None
    assert began.end_ns is not None
    assert began.end_ns + 1 - began.start_ns == 23 * 3600 * 10**9


def test_moments_that_are_none() -> None:
    naive = datetime(2026, 11, 16)
    for wrong in (naive, "noon", "2026-13-01", "10:00", 1.5):
        with pytest.raises(LakeError):
            moment_ns(wrong)  # type: ignore[arg-type]
    with pytest.raises(LakeError, match="the end is before the start"):
        span("2026-11-17", "2026-11-16")
    assert span(date(2026, 1, 1), date(2026, 1, 1) + timedelta(days=1)).end_ns is not None
