"""Sequence versions over the rollover (6.5.5.1)."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.recovery.sequence import distance, is_newer, number_of, place, successor, valid_version

VERSIONS = st.integers(1, 65_534)


def test_after_the_last_comes_the_first() -> None:
    assert successor(65_534) == 1
    assert successor(1) == 2
    assert is_newer(1, 65_534)
    assert not is_newer(65_534, 1)
    assert not valid_version(0)
    assert not valid_version(65_535)


@given(VERSIONS, VERSIONS)
def test_one_of_two_is_newer(one: int, other: int) -> None:
    assert abs(distance(one, other)) <= 32_767
    if abs(distance(one, other)) != 32_767:
        assert distance(one, other) == -distance(other, one)
    assert is_newer(successor(one), one)


@given(st.integers(1, 1_000), st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_a_later_appearance_is_a_later_place(appearance: int, number: int, next_number: int) -> None:
    assert place(appearance + 1, next_number) > place(appearance, number)
    assert number_of(place(appearance, number)) == number
