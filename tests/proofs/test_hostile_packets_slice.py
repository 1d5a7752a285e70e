"""A slice of hostile-packets: one day of `make proof`."""

import pytest

from tests.proofs.hostile_packets import run_case


@pytest.mark.proof
def test_nothing_that_comes_crashes_the_handler_or_makes_it_show_a_wrong_book_as_clean() -> None:
    result, report = run_case(1)
    assert not result.failed
    assert result.trials > 2_000
    assert result.comparisons > 500
    assert report is not None
    assert report.stale > 0
