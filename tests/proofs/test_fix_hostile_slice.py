"""A slice of `fix-hostile`."""

import pytest

from tests.proofs import fix_hostile


@pytest.mark.proof
def test_damaged_streams_do_no_harm() -> None:
    result, _ = fix_hostile.run_case(1)
    assert result.failed == []
    assert result.comparisons == 2 * fix_hostile.A_CASE
