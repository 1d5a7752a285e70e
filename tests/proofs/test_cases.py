"""Cases in processes of their own: whatever one does, the others are done and it is named."""

from tests.proofs.cases import CrashError, run_cases
from tests.proofs.crashing_case import CRASHES, RAISES, squared


def test_a_case_that_crashes_or_raises_is_named_and_the_others_are_done() -> None:
    outcomes = dict(run_cases(squared, range(5), jobs=2))
    assert sorted(outcomes) == [0, 1, 2, 3, 4]
    assert [outcomes[seed] for seed in (0, 1, 4)] == [0, 1, 16]
    assert isinstance(outcomes[CRASHES], CrashError)
    assert isinstance(outcomes[RAISES], ValueError)
