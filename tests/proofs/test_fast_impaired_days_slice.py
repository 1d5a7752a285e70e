"""A slice of fast-impaired-days: some seeds of `make proof`, each with books of all kinds and with a replayer
that is there, is not, or is late."""

import pytest

from tests.proofs.day_report import summary
from tests.proofs.fast_impaired_days import REPLAYERS, replayer_of, run_case

# A replayer; sequences heard in another order; joined late; every event, a reset in a loop.
SEEDS = (1, 3, 4, 12)


@pytest.mark.proof
def test_clean_books_are_the_truth_whatever_feeds_and_replayers_do() -> None:
    assert {replayer_of(seed) for seed in SEEDS} == set(REPLAYERS)
    outcomes = [run_case(seed) for seed in SEEDS]
    assert not [line for result, _ in outcomes for line in result.failed]
    found = summary([report for _, report in outcomes if report is not None])
    assert found["healed_by_snapshot"] > 0
    assert found["healed_by_replay"] > 0
    assert sum(result.comparisons for result, _ in outcomes) > 5_000
    assert sum(result.impairments for result, _ in outcomes) > 500
