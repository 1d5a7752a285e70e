"""A slice of impaired-days: some seeds of `make proof`, chosen so that each kind of trouble is there."""

import pytest

from tests.proofs.day_report import summary
from tests.proofs.impaired_days import run_case
from tests.proofs.impaired_scenarios import scenario_of

# Old wire version; joined late; every event, stream reset; books emptied; many resets.
SEEDS = (3, 4, 12, 16, 21)


@pytest.mark.proof
def test_what_is_shown_as_clean_is_the_exchanges() -> None:
    scenarios = [scenario_of(seed) for seed in SEEDS]
    assert {scenario.version for scenario in scenarios} == {8, 16}
    assert any(scenario.every_event for scenario in scenarios)
    assert any(scenario.joins_at for scenario in scenarios)
    assert len({scenario.batch for scenario in scenarios}) > 1
    assert {bool(scenario.habits.replenishment_orders) for scenario in scenarios} == {False, True}
    outcomes = [run_case(seed) for seed in SEEDS]
    assert not [line for result, _ in outcomes for line in result.failed]
    told = summary([report for _, report in outcomes if report is not None])
    assert told["days_with_losses"] == len(SEEDS)
    assert told["healed_by_snapshot"] > 0
    assert sum(result.comparisons for result, _ in outcomes) > 5_000
