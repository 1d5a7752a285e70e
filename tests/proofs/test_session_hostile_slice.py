"""A slice of `session-hostile`."""

import pytest

from tests.proofs import session_hostile


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_journals_cost_nobody_else(seed: int) -> None:
    result, _ = session_hostile.run_case(seed)
    assert result.failed == []
    assert result.comparisons == session_hostile.A_CASE * len(session_hostile.TABLES)
