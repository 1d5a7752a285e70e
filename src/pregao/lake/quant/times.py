"""Times and lengths as people write them.

moment_ns("2026-11-16T10:15:00.123456789")    # São Paulo's clock unless it says another
moment_ns(datetime(…, tzinfo=UTC)), moment_ns(1794787200000000000)
interval_ns("100ms"), interval_name(60_000_000_000)      # "1m"
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from pregao.lake.errors import LakeError
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import SAO_PAULO

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
