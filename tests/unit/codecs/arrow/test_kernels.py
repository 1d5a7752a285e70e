"""Each kernel against its plain twin, which is written here."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.arrow.kernels import (
    bitmap_of_nulls,
    count_outside,
    gathered,
    is_plain_text,
    measure_strings,
    pack_strings,
)

TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@st.composite
def arrays(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], Any]:
    """An array of any integer type with some value of it, often one that occurs."""
    kind = np.dtype(draw(st.sampled_from(TYPES)))
    information = np.iinfo(kind)
    numbers = st.integers(int(information.min), int(information.max))
    values = draw(st.lists(st.one_of(numbers, st.sampled_from([0, int(information.max)])), max_size=40))
    chosen = draw(st.one_of(numbers, st.sampled_from(values))) if values else draw(numbers)
    return np.array(values, kind), kind.type(chosen)


@given(arrays())
@settings(deadline=None)
def test_bitmap_has_a_bit_for_every_value_that_is_there(made: tuple[np.ndarray[Any, Any], Any]) -> None:
    values, null = made
    bits = np.full((len(values) + 7) // 8, 0xAA, np.uint8)
    nulls = bitmap_of_nulls(values, null, bits)
    there = [value != null for value in values]
    expected = bytearray(len(bits))
    for row, valid in enumerate(there):
        expected[row // 8] |= valid << row % 8
    assert (nulls, bits.tobytes()) == (there.count(False), bytes(expected))


@given(arrays(), st.data())
@settings(deadline=None)
def test_values_outside_are_counted_unless_null(
    made: tuple[np.ndarray[Any, Any], Any], data: st.DataObject
) -> None:
    values, null = made
    information = np.iinfo(values.dtype)
    numbers = st.integers(int(information.min), int(information.max))
    low, high = sorted((data.draw(numbers), data.draw(numbers)))
    expected = sum(1 for value in values.tolist() if value != int(null) and not low <= value <= high)
    assert count_outside(values, values.dtype.type(low), values.dtype.type(high), null) == expected


@given(st.integers(1, 12), st.lists(st.binary(max_size=14), max_size=12))
@settings(deadline=None)
def test_strings_are_measured_and_packed_up_to_their_first_nul(width: int, texts: list[bytes]) -> None:
    fixed = [text[:width].ljust(width, b"\0") for text in texts]
    raw = np.frombuffer(b"".join(fixed), np.uint8)
    ends = np.zeros(len(fixed) + 1, np.int32)
    total = measure_strings(raw, width, len(fixed), ends)
    bodies = [text.split(b"\0")[0] for text in fixed]
    if any(byte >= 0x80 for body in bodies for byte in body):
        assert total == -1
        return
    assert ends.tolist() == np.cumsum([0, *map(len, bodies)]).tolist()
    packed = np.zeros(total, np.uint8)
    pack_strings(raw, width, len(fixed), ends, packed)
    assert packed.tobytes() == b"".join(bodies)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [(b"", True), (b"PETR4", True), (b"a\0b", False), (b"a\x80", False), (b"\x7f", True)],
)
def test_plain_text_has_no_nul_and_is_ascii(raw: bytes, plain: bool) -> None:
    assert is_plain_text(np.frombuffer(raw, np.uint8)) == plain


@pytest.mark.parametrize("kind", [*TYPES, "f4", "f8"])
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_gathering_takes_what_indices_say(kind: str, data: st.DataObject) -> None:
    source = np.frombuffer(data.draw(st.binary(min_size=64, max_size=64)), kind)
    indices = data.draw(st.lists(st.integers(0, len(source) - 1), max_size=20))
    taken = gathered(source, np.array(indices, np.uint32))
    assert taken.dtype == source.dtype
    assert taken.tobytes() == b"".join(source[index].tobytes() for index in indices)
