"""A slice of fast-impaired-days: the same seeds that `make proof` begins with, one of each kind of book."""

import pytest

from tests.proofs.fast_impaired_days import NAME, cases, run_case
from tests.proofs.result import Result

SEEDS = 3


@pytest.mark.proof
def test_clean_books_are_the_truth_whatever_feeds_and_replayers_do() -> None:
    result = Result(NAME)
    for seed in cases(SEEDS, 1):
        result.add(run_case(seed)[0])
    assert not result.failures, "\n".join(result.failed[:5])
    assert result.comparisons > 1_000
    assert result.impairments > 100
