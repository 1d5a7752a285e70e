"""São Paulo's clock, with the summer time that it had until 2019."""

from datetime import UTC, date, datetime

import pytest

from pregao.captures.formats.times import Clock
from pregao.lake.book_at import local_time
from pregao.lake.plan.index import calendar_day
from pregao.lake.verbs.book import parse_time
from pregao.model.local_time import local_datetime, local_day, local_midnight_ns
from pregao.report.markup import clock
from pregao.simulator.live.schedule import trade_date_at

NS = 1_000_000_000
WINTER, SUMMER, TODAY = date(2018, 7, 2), date(2018, 12, 3), date(2026, 11, 16)
OFFSETS = {WINTER: 3, SUMMER: 2, TODAY: 3}


def utc(day: date, hour: int, minute: int = 0) -> int:
    return int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC).timestamp()) * NS


def days(day: date) -> int:
    return (day - date(1970, 1, 1)).days


@pytest.mark.parametrize("day", OFFSETS)
def test_the_day_begins_at_its_own_midnight(day: date) -> None:
    midnight = utc(day, OFFSETS[day])
    assert local_midnight_ns(days(day)) == midnight
    for of in (local_day, calendar_day, trade_date_at):
        assert [of(midnight - 1), of(midnight)] == [days(day) - 1, days(day)], of


@pytest.mark.parametrize("day", OFFSETS)
def test_every_clock_that_people_read_says_the_same(day: date) -> None:
    ns = utc(day, 10 + OFFSETS[day], 15) + 123_456_789
    assert f"{local_datetime(ns):%H:%M}" == "10:15"
    assert clock(ns) == "10:15"
    assert local_time(ns) == f"{day} 10:15:00.123456789"
    assert parse_time(f"{day}T10:15:00.123456789") == ns
    assert Clock().local(ns, ns) == "10:15:00.123456789"


@pytest.mark.parametrize("ns", [0, -1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1, 1 << 70])
def test_a_time_that_no_calendar_has_still_has_a_day(ns: int) -> None:
    assert abs(local_day(ns) - ns // (86_400 * NS)) <= 1
