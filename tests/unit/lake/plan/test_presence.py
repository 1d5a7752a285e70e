"""Runs of sequence numbers against plain sets of numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.lake.plan.index import NUMBER_BITS
from pregao.lake.plan.presence import difference, holes, lost_beginnings, runs_of, union

# Numbers near each other, of up to three sequences; as they come: late, twice, in any order.
KEY = st.builds(
    lambda version, number: version << NUMBER_BITS | number, st.integers(0, 2), st.integers(1, 24)
)
KEYS = st.lists(KEY, max_size=40)


def _sent(key: int) -> int:
    """Sending times rise with numbers, as on the wire."""
    return key * 10


def _runs(keys: Iterable[int]) -> Any:
    array = np.array(list(keys), np.int64)
    return runs_of(array, array * 10)


def _numbers(runs: Any) -> list[int]:
    return [key for run in runs for key in range(int(run["first"]), int(run["last"]) + 1)]


def _checked(runs: Any, expected: Iterable[int]) -> None:
    """The numbers, each once and in order, and no two runs that are one."""
    assert _numbers(runs) == sorted(set(expected))
    ends, starts = runs["last"][:-1].tolist(), runs["first"][1:].tolist()
    assert all(after > before + 1 for before, after in zip(ends, starts, strict=True))


def _timed(runs: Any) -> None:
    """Times are those of the numbers at both ends."""
    assert runs["first_ns"].tolist() == [_sent(key) for key in runs["first"].tolist()]
    assert runs["last_ns"].tolist() == [_sent(key) for key in runs["last"].tolist()]


@given(KEYS)
def test_runs_have_the_numbers_that_came(keys: list[int]) -> None:
    runs = _runs(keys)
    _checked(runs, keys)
    _timed(runs)


@given(st.lists(KEYS, max_size=4))
def test_the_union_has_what_any_has(parts: list[list[int]]) -> None:
    runs = union([_runs(keys) for keys in parts])
    _checked(runs, [key for keys in parts for key in keys])
    _timed(runs)


@given(KEYS)
def test_holes_are_what_is_missing_inside_a_sequence(keys: list[int]) -> None:
    expected: list[int] = []
    for version in {key >> NUMBER_BITS for key in keys}:
        mine = [key for key in keys if key >> NUMBER_BITS == version]
        expected += set(range(min(mine), max(mine))) - set(mine)
    found = holes(_runs(keys))
    _checked(found, expected)
    for hole in found:
        assert int(hole["first_ns"]) == _sent(int(hole["first"]) - 1)
        assert int(hole["last_ns"]) == _sent(int(hole["last"]) + 1)


@given(KEYS)
def test_further_sequences_begin_with_1(keys: list[int]) -> None:
    """Of the first one nobody knows: numbers run on from day to day."""
    expected: list[int] = []
    for version in sorted({key >> NUMBER_BITS for key in keys})[1:]:
        least = min(key for key in keys if key >> NUMBER_BITS == version)
        expected += range((version << NUMBER_BITS) + 1, least)
    _checked(lost_beginnings(_runs(keys)), expected)


@given(KEYS, KEYS)
def test_the_difference_is_what_one_feed_lacks(ours: list[int], theirs: list[int]) -> None:
    mine = _runs(ours)
    whole = union([mine, _runs(theirs)])
    found = difference(whole, mine)
    assert _numbers(found) == sorted(set(theirs) - set(ours))
