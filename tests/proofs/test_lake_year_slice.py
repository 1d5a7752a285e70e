"""A slice of lake-year: two channels and six days, with a summary after each entry of a log."""

from pathlib import Path

import pytest

from pregao.lake.store import summaries
from tests.proofs.lake_year import SLICE_OF_IT, run_year


@pytest.mark.proof
def test_what_a_commit_and_a_batch_cost_does_not_grow_with_the_lake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "MOST_ENTRIES", 1)
    year = run_year(tmp_path, SLICE_OF_IT)
    assert year.checks > 15
    assert year.runner.ran["try_slice"] > 6 * 2
    assert year.details["commit_requests_last"] > 100
