"""The example client passes what is played, and each bug in it first fails where the script is to find it."""

from typing import Any

import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.scenario import ScriptSegment
from tests.unit.certification.bugs import BUGS, first_failure, own_sections, wanted_failure
from tests.unit.certification.kit import example_client, failures, play, whole_run

STEPS = {ScriptSegment.EQUITIES: 68, ScriptSegment.DERIVATIVES: 57}
BOXES = {ScriptSegment.EQUITIES: 178, ScriptSegment.DERIVATIVES: 151}

# Each once, and of derivatives where they differ. Only the sections that a bug concerns are played: the proof
# `certification` plays the whole script, in both segments.
SLICE = [
    *((bug, ScriptSegment.EQUITIES) for bug in BUGS),
    *((bug, ScriptSegment.DERIVATIVES) for bug, (_, _, _, *others) in BUGS.items() if others),
]


@pytest.mark.parametrize("make_client", [example_client, CertifyClient])
@pytest.mark.parametrize("segment", ScriptSegment)
def test_both_clients_pass(segment: ScriptSegment, make_client: Any) -> None:
    results = whole_run(segment, make_client).results
    assert not failures(results)
    assert len(results) == STEPS[segment]
    assert sum(len(result.boxes) for result in results) == BOXES[segment]


@pytest.mark.parametrize(("bug", "segment"), SLICE)
def test_a_bug_first_fails_where_the_script_finds_it(bug: str, segment: ScriptSegment) -> None:
    assert first_failure(bug, segment, own_sections(bug, segment)) == wanted_failure(bug, segment)


def test_reasons_are_said_in_words() -> None:
    changes, *_ = BUGS["sorted by price, none as 0"]
    zero = ("None if price is None else str(price)", '"0.00" if price is None else str(price)')
    results = play(ScriptSegment.EQUITIES, lambda config: example_client(config, zero), frozenset(("B1",)))
    assert "B1.4 MBP bid 1: price none expected, 0.00 seen" in failures(results)[1][2]
    results = play(
        ScriptSegment.EQUITIES, lambda config: example_client(config, *changes), frozenset(("B1",))
    )
    assert failures(results)[0][2][0] == "B1.4 MBO bid 1: price none expected, 10.02 seen"
