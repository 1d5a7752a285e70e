"""A slice of `trademate-hostile`."""

import pytest

from tests.proofs import trademate_hostile


@pytest.mark.proof
def test_damaged_messages_and_requests_do_no_harm() -> None:
    result, _ = trademate_hostile.run_case(1)
    assert result.failed == []
    assert result.comparisons > trademate_hostile.A_CASE
