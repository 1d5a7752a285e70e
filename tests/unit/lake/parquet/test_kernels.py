"""What kernels write reads as what they were given: by a reader written from Parquet's own document."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from pregao.lake.parquet.kernels import (
    BLOCK,
    number_values,
    pack_deltas,
    pack_runs,
    room,
    take_valid,
)
from tests.twins.parquet import read_deltas, read_runs

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
WIDE = st.integers(LEAST, GREATEST)
NARROW = st.integers(-(1 << 31), (1 << 31) - 1)


def _repeated(values: Any) -> Any:
    """Lists in which values come once or many times in a row."""
    pairs = st.lists(st.tuples(values, st.sampled_from((1, 1, 2, 7, 8, 15, 16, 17, 40, 300))), max_size=12)
    return pairs.map(lambda runs: [value for value, times in runs for _ in range(times)])


def _written(pack: Any, count: int) -> bytes:
    out = np.full(room(count), 0xEE, np.uint8)
    size = pack(out.ctypes.data)
    assert size <= len(out)
    return out[:size].tobytes()


def _deltas(values: list[int], *, narrow: bool) -> bytes:
    words, scratch = np.array(values, np.int64), np.empty(BLOCK, np.int64)
    return _written(
        lambda out: pack_deltas(words.ctypes.data, len(words), narrow, scratch.ctypes.data, out), len(words)
    )


@given(_repeated(WIDE).filter(bool))
@example([LEAST, GREATEST, LEAST, 0])
@example(list(range(0, 3 * BLOCK, 3)))
@example([0] * (BLOCK + 1))
def test_differences_of_wide_numbers(values: list[int]) -> None:
    assert read_deltas(_deltas(values, narrow=False), 64) == values


@given(_repeated(NARROW).filter(bool))
@example([-(1 << 31), (1 << 31) - 1, -(1 << 31), 0])
def test_differences_of_narrow_numbers_need_no_more_bits_than_they_have(values: list[int]) -> None:
    assert read_deltas(_deltas(values, narrow=True), 32) == values


def test_random_walks() -> None:
    """As times and order ids are: differences of every width."""
    draw = np.random.default_rng(3)
    for width in range(1, 63):
        values = np.cumsum(draw.integers(-(1 << width), 1 << width, 500)).tolist()
        assert read_deltas(_deltas(values, narrow=False), 64) == values


@given(st.integers(1, 20), st.data())
def test_runs_of_codes(width: int, data: Any) -> None:
    codes = data.draw(_repeated(st.integers(0, (1 << width) - 1)))
    words = np.array(codes, np.int64)
    made = _written(lambda out: pack_runs(words.ctypes.data, len(words), width, out), len(words))
    read = list(read_runs(made, width))
    assert read[: len(codes)] == codes
    assert len(read) - len(codes) < 8


@given(st.lists(st.tuples(NARROW, st.booleans()), min_size=1, max_size=100), st.sampled_from((4, 8)))
def test_values_that_are_there(rows: list[tuple[int, bool]], size: int) -> None:
    values = np.array([value for value, _ in rows], np.int32 if size == 4 else np.int64)
    bits = np.packbits([there for _, there in rows], bitorder="little")
    found = np.empty(len(rows), np.int64)
    count = take_valid(values.ctypes.data, size, bits.ctypes.data, len(rows), found.ctypes.data)
    assert found[:count].tolist() == [value for value, there in rows if there]


@given(_repeated(st.one_of(WIDE, st.integers(0, 9))), st.integers(1, 16))
def test_codes_in_the_order_of_their_values(values: list[int], most: int) -> None:
    different = list(dict.fromkeys(values))
    words, codes = np.array(values, np.int64), np.empty(len(values), np.int64)
    keys, places = np.empty(most, np.int64), np.full(32, -1)
    found = number_values(
        words.ctypes.data, len(words), keys.ctypes.data, places.ctypes.data, 5, most, codes.ctypes.data
    )
    if len(different) > most:
        assert found == -1
        return
    assert keys[:found].tolist() == different
    assert [different[code] for code in codes.tolist()] == values
