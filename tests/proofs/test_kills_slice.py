"""A slice of kills: real builds on one Java, in which a worker or the driver is killed."""

from collections.abc import Iterator

import pytest

from tests.proofs.kills import DRIVER, WORKER, Plan, run_case
from tests.proofs.kills_setting import Setting, prepared

# By what happens in each: see `Plan`.
SEEDS = {WORKER: 33, DRIVER: 31}


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    with prepared(tmp_path_factory.mktemp("kills"), with_cluster=False, computed=False) as made:
        yield made


@pytest.mark.proof
@pytest.mark.parametrize("target", SEEDS)
def test_a_build_that_is_killed_and_started_again_ends_up_right(setting: Setting, target: str) -> None:
    seed = SEEDS[target]
    assert Plan.of(seed, "").kills[0][0] == target
    result, tally = run_case(setting, seed)
    assert not result.failed
    assert result.comparisons > 40
    assert tally.targets.total() + tally.others["too_late"] >= 1
