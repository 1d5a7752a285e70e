"""What a client says is held against the exchange; whatever it says, it ends in words."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import MemoryClient
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import Box, ScriptSegment
from pregao.certification.scenario_files import sections_for
from tests.unit.certification.kit import example_client, failures

SECTIONS = sections_for(ScriptSegment.EQUITIES)


@cache
def _desk() -> CertificationDesk:
    """As B1 begins."""
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    for command in SECTIONS[1].preparation:
        desk.do(command)
    return desk


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"see": "book", "depth": "mbo", "id": 1}, "none seen"),
        ({"see": "book", "depth": ["mbo"], "id": {}}, "none seen"),
        ({"see": "book", "depth": "mbo", "bids": 7, "offers": None}, "no row seen"),
        ({"see": "book", "depth": "mbo", "bids": [[None], 3, ["x", "y", "z"]], "offers": []}, "expected"),
        (
            {"see": "book", "depth": "mbo", "bids": [["1e9999", 1, 1], ["9" * 99, 1, 1]], "offers": []},
            "expected",
        ),
    ],
)
def test_a_book_that_is_none_is_told(line: dict[str, object], reason: str) -> None:
    told = json.loads(json.dumps({"id": _desk().instrument} | line))
    reasons = list(ClientJudge(_desk()).reasons(SECTIONS[1].steps[0], Box.MBO, [told]))
    assert any(reason in each for each in reasons)
    assert all(each.startswith("B1.1 MBO ") for each in reasons)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
KEYS = (
    "bids", "channel", "complete", "conditions", "error", "event", "headline", "last", "legs", "logon",
    "match", "numbers", "offers", "phase", "price", "report", "response", "seq", "session", "size", "state",
    "stream", "symbol", "value",
)  # fmt: skip
KINDS = ("book", "definition", "heartbeat", "index", "news", "replay", "state", "trade")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(KEYS), ANYTHING)), max_size=4)
)
def test_whatever_a_client_says_ends_in_words(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Every demand of the script, against lines that have the right names and anything in them."""
    desk = _desk()
    lines = [
        {"see": see, "id": own, "depth": "mbo", **line}
        for see, line in told
        for own in (desk.instrument, desk.legs[0], desk.index()[0])
    ]
    judge = ClientJudge(desk)
    for section in SECTIONS:
        for step in section.steps:
            reasons = list(judge.reasons(step, step.boxes[0], lines))
            assert len(reasons) <= 20


class Babbler:
    """Says things that are no text, or that would move the cursor of a terminal."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._ids = config["instruments"]

    def obey(self, command: Any) -> Any:
        bad = "\ud800\x1b[2J\r"
        for each in self._ids:
            yield {"see": "book", "depth": "mbo", "id": each, "bids": [[bad, bad, 1]], "offers": []}
            yield {"see": "state", "id": each, "phase": bad, "state": bad, "session": bad, "event": bad}


def test_reasons_can_be_shown() -> None:
    results = _play(Babbler, "B1")
    reasons = [reason for _, _, some in failures(results) for reason in some]
    assert any("bid 1: price 10.02 expected, ??[2J? seen" in each for each in reasons)
    assert all(each.isprintable() for each in reasons)


# What is true of other things than books.


def _play(make: Any, *names: str) -> list[StepResult]:
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    runner = ScriptRunner(desk, MemoryClient(make, desk), ClientJudge(desk))
    return [each for section in SECTIONS if section.id in names for each in runner.play(section)]


@pytest.mark.parametrize(
    ("change", "section", "step", "reason"),
    [
        (
            ('"value": str(entry["MDEntryPx"])', '"value": "1000.00"'),
            "B7", "B7.2", "B7.2 MBO index: 1001.20 expected, 1000.00 seen",
        ),
        (
            ('fields.get("EncodedHeadline") or fields["Headline"]', '"?"'),
            "C1", "C1", "news: 'Leilão amanhã às 10h' expected",
        ),
        (
            ('[leg["LegSecurityID"] for leg in each.get("Legs") or ()]', "[1, 2]"),
            "E", "E4.1", "definition: legs 200000900301 and 200000900302 expected, [1, 2] seen",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_other_things_is_the_exchanges_own(
    change: tuple[str, str], section: str, step: str, reason: str
) -> None:
    """A value of an index, a headline, the legs of a strategy: having seen some is not enough."""
    first = next(
        each
        for each in _play(lambda config: example_client(config, change), section)
        if each.verdict is not Verdict.PASSED
    )
    assert (first.step.id, first.verdict) == (step, Verdict.FAILED)
    assert any(reason in each for each in first.boxes[0].reasons), first.boxes[0].reasons
