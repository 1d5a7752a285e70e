"""A slice of fuzz-fast: the same cases that `make proof` begins with."""

import pytest

from tests.proofs.fuzz_fast import A_CASE, NAME, cases, run_case
from tests.proofs.result import Result

CASES = 2


@pytest.mark.proof
def test_damaged_messages_are_judged_the_same_by_both_decoders() -> None:
    result = Result(NAME)
    for case in cases(CASES * A_CASE, 1):
        result.add(run_case(case)[0])
    assert not result.failures, "\n".join(result.failed[:5])
    assert result.trials == result.comparisons == CASES * A_CASE
