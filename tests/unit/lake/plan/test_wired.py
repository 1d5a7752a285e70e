"""What a plan does for systems whose packets say neither their sequence nor a date that could be believed."""

from typing import Any

import numpy as np
import pytest

from pregao.lake.plan.flows import CalendarDays
from pregao.lake.plan.index import NUMBER_BITS, RUN, StreamIndex, Timeline, date_ranges
from pregao.lake.plan.units import number_epochs
from pregao.model.local_time import local_midnight_ns
from pregao.model.rows import NULL
from pregao.model.streams import Feed, Stream

S = 1_000_000_000
DAY = 20_700
MIDNIGHT = local_midnight_ns(DAY)


def stream(*sequences: tuple[int, int]) -> StreamIndex:
    """Of sequences that were heard from one second to another."""
    runs = np.zeros(len(sequences), RUN)
    for number, (first, last) in enumerate(sequences):
        runs[number] = (number << NUMBER_BITS | 1, number << NUMBER_BITS | 9, first * S, last * S)
    return StreamIndex(
        184, Stream.INCREMENTAL, Feed.A, 1, list(range(1, len(sequences) + 1)),
        [first * S for first, _ in sequences], runs=runs,
    )  # fmt: skip


def numbers(*streams: StreamIndex) -> list[list[int]]:
    number_epochs(streams)
    return [each.counted_versions for each in streams]


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        ([[(0, 9)]], [[1]]),
        ([[(0, 9), (10, 20)], [(0, 8), (12, 20)]], [[1, 2], [1, 2]]),  # each has lost some
        ([[(0, 9), (10, 20)], [(11, 20)]], [[1, 2], [2]]),  # one began to listen later
        ([[(0, 9), (10, 20)], [(0, 5)]], [[1, 2], [1]]),  # one has stopped before
        ([[(0, 9), (10, 15), (16, 20)], [(0, 9), (16, 20)]], [[1, 2, 3], [1, 3]]),  # nothing of one
        ([[(0, 9)], [(12, 15), (16, 20)], [(0, 9), (10, 15)]], [[1], [2, 3], [1, 2]]),
        ([[(0, 9), (9, 9), (9, 20)], [(0, 9), (9, 9), (9, 20)]], [[1, 2, 3], [1, 2, 3]]),  # one millisecond
    ],
)
def test_sequences_have_the_same_number_in_all_files(heard: Any, expected: list[list[int]]) -> None:
    """Packets say nothing of it: only times do."""
    assert numbers(*(stream(*sequences) for sequences in heard)) == expected


def take(days: CalendarDays, *units: tuple[int, int, int]) -> int:
    """Numbers, when they were sent, when they happened; how often events were asked for."""
    asked = []

    def events() -> Any:
        asked.append(1)
        return np.array([event for _, _, event in units], np.int64)

    days.take(np.array([key for key, _, _ in units]), np.array([sent for _, sent, _ in units]), events)
    return len(asked)


def test_a_day_begins_with_what_happens_on_it() -> None:
    days = CalendarDays()
    take(days, (1, MIDNIGHT - 60 * S, NULL), (2, MIDNIGHT - 5 * S, MIDNIGHT - 5 * S))
    assert take(days, (3, MIDNIGHT - 4 * S, NULL), (4, MIDNIGHT - S, NULL)) == 0  # nothing can begin there
    take(
        days,
        (5, MIDNIGHT + S, MIDNIGHT - S),  # it is of the evening before
        (6, MIDNIGHT + 2 * S, NULL),  # without an event: when it was sent
        (7, MIDNIGHT + 3 * S, MIDNIGHT - 90_000 * S),  # an old date that is told again
        (8, MIDNIGHT + 4 * S, MIDNIGHT - S),  # days do not go back
    )
    assert days.begins == [(1, DAY - 1), (6, DAY)]


def test_a_stream_is_cut_where_days_begin() -> None:
    mine = stream((0, 9))
    mine.days = [(3, DAY), (7, DAY + 1)]
    ranges = date_ranges(mine, Timeline([mine]))
    assert [(each.end, each.trade_date) for each in ranges] == [(7, DAY), ((1 << 63) - 1, DAY + 1)]
    assert [each.first for each in ranges] == [-1, 7]
