"""The example client passes what is played, and each bug in it first fails where the script is to find it."""

from typing import Any

import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.scenario import Segment
from tests.unit.certification.bugs import BUGS, PLAYED, first_failure, wanted_failure
from tests.unit.certification.kit import example_client, failures, play

STEPS = {Segment.EQUITIES: 68, Segment.DERIVATIVES: 57}
BOXES = {Segment.EQUITIES: 178, Segment.DERIVATIVES: 151}

# Those that `make test` plays; the proof `certification` plays all, in both segments.
SLICE = [
    *((bug, Segment.EQUITIES) for bug in tuple(BUGS)[:12]),
    ("inserts before deletes of one message", Segment.DERIVATIVES),
    ("stays apart after 102", Segment.DERIVATIVES),
    ("range short by one", Segment.DERIVATIVES),
    ("1426=4 taken as complete", Segment.DERIVATIVES),
]


@pytest.mark.parametrize("make_client", [example_client, CertifyClient])
@pytest.mark.parametrize("segment", Segment)
def test_both_clients_pass(segment: Segment, make_client: Any) -> None:
    results = play(segment, make_client, PLAYED)
    assert not failures(results)
    assert len(results) == STEPS[segment]
    assert sum(len(result.boxes) for result in results) == BOXES[segment]


@pytest.mark.parametrize(("bug", "segment"), SLICE)
def test_a_bug_first_fails_where_the_script_finds_it(bug: str, segment: Segment) -> None:
    assert first_failure(bug, segment) == wanted_failure(bug, segment)


def test_reasons_are_said_in_words() -> None:
    changes, *_ = BUGS["sorted by price, none as 0"]
    zero = ("None if price is None else str(price)", '"0.00" if price is None else str(price)')
    results = play(Segment.EQUITIES, lambda config: example_client(config, zero), PLAYED, until="B1.4")
    assert "B1.4 MBP bid 1: price none expected, 0.00 seen" in failures(results)[1][2]
    results = play(Segment.EQUITIES, lambda config: example_client(config, *changes), PLAYED, until="B1.4")
    assert failures(results)[0][2][0] == "B1.4 MBO bid 1: price none expected, 10.02 seen"
