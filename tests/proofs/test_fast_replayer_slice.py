"""A slice of fast-replayer: one day of every kind of mischief."""

import pytest

from tests.proofs.fast_replayer import NAME, cases, run_case
from tests.proofs.result import Result

KINDS, LOSSES = 18, 2


@pytest.mark.proof
def test_no_clean_book_is_wrong_whatever_a_replayer_sends() -> None:
    result, healed = Result(NAME), 0
    for seed in cases(KINDS, 0):
        outcome, filled = run_case(seed, LOSSES)
        result.add(outcome)
        healed += filled
    assert not result.failures, "\n".join(result.failed[:5])
    assert result.comparisons > 200
    assert healed > 5
