"""A slice of fast-hostile: some hundred datagrams at a channel of each kind."""

import pytest

from tests.proofs.fast_hostile import NAME, cases, run_case
from tests.proofs.result import Result

DATAGRAMS = 300


@pytest.mark.proof
def test_no_clean_book_is_wrong_whoever_sends() -> None:
    result = Result(NAME)
    for seed in cases(1, 1) + cases(1, 2) + cases(1, 3):
        result.add(run_case(seed, DATAGRAMS)[0])
    assert not result.failures, "\n".join(result.failed[:5])
    assert result.trials >= 3 * DATAGRAMS
    assert result.comparisons > 500
