"""Rows in the order of their instruments, and their fields as columns."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pregao.books.layout import QUOTE
from pregao.lake.slices.known import LAKE_ROW, joined
from pregao.lake.tasks.arrays import ColumnRows, by_instrument
from pregao.model.rows import NULL, ROW

INSTRUMENTS = 6
a_time = st.one_of(st.just(NULL), st.integers(0, 9))
some_rows = st.lists(st.tuples(st.integers(0, INSTRUMENTS - 1), a_time), max_size=60)


def lake_rows(told: list[tuple[int, int]]) -> np.ndarray:
    rows = np.zeros(len(told), LAKE_ROW)
    for row, (number, time_ns) in zip(rows, told, strict=True):
        row["number"], row["time_ns"] = number, time_ns
    return rows


@given(some_rows, st.permutations(range(INSTRUMENTS)))
def test_rows_are_sorted_by_instrument_then_time(told: list[tuple[int, int]], ranks: list[int]) -> None:
    rows = lake_rows(told)
    order = by_instrument(rows["number"], np.array(ranks), rows["time_ns"]).tolist()
    by_rank = sorted(range(len(told)), key=lambda i: ranks[told[i][0]])
    assert sorted(order) == list(range(len(told)))
    assert [told[i][0] for i in order] == [told[i][0] for i in by_rank]
    times = {n: [t for number, t in told if number == n and t != NULL] for n in range(INSTRUMENTS)}
    if all(each == sorted(each) for each in times.values()):
        assert order == by_rank  # what tells no time stays where it stood in the stream
    else:
        assert order == sorted(range(len(told)), key=lambda i: (ranks[told[i][0]], told[i][1]))


def test_nothing_to_sort() -> None:
    rows = lake_rows([])
    assert not len(by_instrument(rows["number"], np.zeros(0, np.int64), rows["time_ns"]))


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_fields_of_rows_of_any_kind_are_taken_in_order(count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    for kind in (LAKE_ROW, QUOTE):
        rows = np.frombuffer(draw.bytes(count * kind.itemsize), kind)
        order = draw.permutation(count)
        taken = ColumnRows(rows, order, kind.names or ())
        assert len(taken) == count
        for name in kind.names or ():
            assert taken[name].tolist() == rows[name][order].tolist()


def test_rows_are_joined_as_they_are() -> None:
    rows = np.frombuffer(np.random.default_rng(1).bytes(5 * ROW.itemsize), ROW)
    assert joined([rows[:2], rows[:0], rows[2:]]).tobytes() == rows.tobytes()
    assert joined([]).dtype == ROW
