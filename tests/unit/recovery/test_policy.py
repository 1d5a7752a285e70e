"""Epochs over the rollover (6.5.5.1), and places of units."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.recovery.policy import RecoveryPolicy, number_of, place

POLICY = RecoveryPolicy(last_epoch=65_534)
EPOCHS = st.integers(1, 65_534)


def test_after_the_last_comes_the_first() -> None:
    assert POLICY.next_epoch(65_534) == 1
    assert POLICY.next_epoch(1) == 2
    assert POLICY.is_newer(1, 65_534)
    assert not POLICY.is_newer(65_534, 1)


@given(EPOCHS, EPOCHS)
def test_one_of_two_is_newer(one: int, other: int) -> None:
    assert abs(POLICY.distance(one, other)) <= 32_767
    if abs(POLICY.distance(one, other)) != 32_767:
        assert POLICY.distance(one, other) == -POLICY.distance(other, one)
    assert POLICY.is_newer(POLICY.next_epoch(one), one)


def test_a_system_with_few_epochs() -> None:
    few = RecoveryPolicy(first_epoch=0, last_epoch=9)
    assert few.next_epoch(9) == 0
    assert few.is_newer(0, 9)
    assert few.distance(2, 8) == 4
    assert few.distance(8, 2) == -4


@given(st.integers(1, 1_000), st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_a_later_appearance_is_a_later_place(appearance: int, number: int, next_number: int) -> None:
    assert place(appearance + 1, next_number) > place(appearance, number)
    assert number_of(place(appearance, number)) == number
