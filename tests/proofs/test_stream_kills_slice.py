"""A slice of stream-kills: a real `pregao stream`, killed twice with its Java, its checkpoint lost once."""

from pathlib import Path

import pytest

from tests.proofs.stream_kills import Plan, prepared, run_case

SEED = 1


@pytest.mark.long
@pytest.mark.proof
def test_a_stream_that_is_killed_twice_ends_up_right(tmp_path: Path) -> None:
    assert Plan.of(SEED).late
    with prepared(tmp_path, computed=False) as setting:
        result, tally = run_case(setting, SEED)
    assert not result.failed
    assert result.impairments == 2
    assert tally["checkpoints_lost"] == 1
    assert result.comparisons > 40
