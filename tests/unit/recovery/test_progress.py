"""How far a channel is: looking again at what has not changed would change nothing."""

import pytest

from pregao.recovery.progress import Progress
from tests.unit.recovery.toy_scenarios import SCENARIOS


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_what_is_not_looked_at_again_would_have_changed_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = SCENARIOS[name](5).run().events
    assert events
    settle = Progress.settle
    passes = [0, 0]

    def looking_again(progress: Progress) -> None:
        passes[progress._settled is None] += 1
        progress._settled = None
        settle(progress)

    monkeypatch.setattr(Progress, "settle", looking_again)
    assert SCENARIOS[name](5).run().events == events
    assert passes[False] > passes[True] > 0  # most are left out, and not all
