"""A slice of `conflated-days`."""

import pytest

from tests.proofs import conflated_days


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2])
def test_books_are_the_engines_at_every_tick(seed: int) -> None:
    result, _ = conflated_days.run_case(seed, ticks=60)
    assert result.failed == []
    assert result.comparisons > 300
    assert result.impairments > 3
