"""A slice of certification: `tests/unit/certification/test_clients.py` has more of it."""

import pytest

from tests.proofs.certification import CASES, NAME, cases, run_case
from tests.proofs.result import Result
from tests.unit.certification.bugs import BUGS


@pytest.mark.proof
def test_a_bug_is_found_and_the_proof_would_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(CASES) == 4 + 2 * 28
    assert cases(1000, 7) == list(range(60))
    number = next(place for place, (what, _) in enumerate(CASES) if what == "279=1 inserts")
    result, _ = run_case(number)
    assert result == Result(NAME, 1, 1, 1, 0)
    changes, *_ = BUGS["279=1 inserts"]
    monkeypatch.setitem(BUGS, "279=1 inserts", (changes, "B1.3", "MBP"))
    wrong, _ = run_case(number)
    assert wrong.failures == 1
    assert "first fails at ('B1.2', 'MBP'), not ('B1.3', 'MBP')" in wrong.failed[0]
