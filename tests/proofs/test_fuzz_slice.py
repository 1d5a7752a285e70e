"""A slice of fuzz-decode: the same cases that `make proof` begins with."""

import pytest

from tests.proofs.fuzz_decode import NAME, cases, run_case
from tests.proofs.result import Result

TRIALS = 3_150


@pytest.mark.proof
def test_damaged_input_is_judged_the_same_by_both_decoders() -> None:
    result = Result(NAME)
    for number, trials in cases(TRIALS):
        result.add(run_case(1, number, trials))
    assert not result.failures, "\n".join(result.failed)
    assert result.trials == TRIALS
    assert result.comparisons > TRIALS * 10
    assert result.impairments >= TRIALS
