"""Which trade date the packets of an incremental stream belong to: as messages say, not file names.

The phases of groups tell it. Where two dates follow each other in one file, the cut is at the last long
pause before the new one is first told, for a night lies there; without a pause, where it is told.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final, NamedTuple

import numpy as np

from pregao.lake.plan.index import StreamIndex
from pregao.model.local_time import local_day
from pregao.model.rows import Kind
from pregao.model.streams import Stream

EPOCH: Final = date(1970, 1, 1)
_FIRST, _LAST = -1, (1 << 63) - 1


class DateRange(NamedTuple):
    """Keys `first` up to but not including `end` of a stream are of a date."""

    first: int
    end: int
    trade_date: int  # days since 1970


def as_date(days: int) -> date:
    return EPOCH + timedelta(days=days)


def calendar_day(sent_ns: int) -> int:
    """Days since 1970 where the exchange is: for what no message tells a date of."""
    return local_day(sent_ns)


def date_ranges(stream: StreamIndex, told: "Timeline") -> list[DateRange]:
    marks = stream.marks[(stream.marks["kind"] == Kind.PHASE) & (stream.marks["trade_date"] > 0)]
    if not len(marks):
        return [DateRange(_FIRST, _LAST, told.at(int(stream.pieces["first_ns"][0])))]
    marks = marks[np.argsort(marks["key"], kind="stable")]
    newest = np.maximum.accumulate(marks["trade_date"])
    changes = np.flatnonzero(np.diff(newest)) + 1
    ranges, first, current = [], _FIRST, int(newest[0])
    for change in changes.tolist():
        begins = _boundary(stream, int(marks["key"][change - 1]), int(marks["key"][change]))
        ranges.append(DateRange(first, begins, current))
        first, current = begins, int(newest[change])
    return [*ranges, DateRange(first, _LAST, current)]


def _boundary(stream: StreamIndex, before: int, told: int) -> int:
    nights = [key for key, _ in stream.pauses if before < key <= told]
    return nights[-1] if nights else told


class Timeline:
    """Dates told on a channel, by any of its files."""

    def __init__(self, streams: Iterable[StreamIndex]) -> None:
        found = {
            (int(mark["sent_ns"]), int(mark["trade_date"]))
            for stream in streams
            if stream.stream is Stream.INCREMENTAL
            for mark in stream.marks
            if mark["kind"] == Kind.PHASE and mark["trade_date"] > 0
        }
        self._told = sorted(found)

    def at(self, sent_ns: int) -> int:
        """The date in force; on a day of which nothing is told, the calendar's."""
        calendar = calendar_day(sent_ns)
        before = [day for told_ns, day in self._told if told_ns <= sent_ns]
        after = [day for told_ns, day in self._told if told_ns > sent_ns]
        if before and before[-1] >= calendar:
            return before[-1]
        return after[0] if after and after[0] == calendar else calendar
