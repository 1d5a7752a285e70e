"""The script has the steps and boxes of B3's form, and a broken file is told with its line."""

import pytest

from pregao.certification.scenario import Box, DemandedChange, EntryDemand, Need, ScriptSegment, TradesDemand
from pregao.certification.scenario_files import (
    SECTIONS,
    ScenarioError,
    load_script,
    parse_section,
    sections_for,
)
from pregao.model.market import Side

HEAD = "section B9  Um | One   for equities\n"
# Steps and boxes of each section, counted in the form by hand.
FORM = {
    "A": (2, 2), "B1": (6, 18), "B2": (12, 36), "B3": (8, 24), "B4": (4, 12), "B5": (7, 21), "B6": (7, 21),
    "B7": (3, 3), "C1": (1, 3), "D1": (4, 12), "D2": (3, 3), "D3": (5, 5), "E": (6, 18),
}  # fmt: skip


def test_each_section_has_the_steps_and_boxes_of_the_form() -> None:
    counted = {
        section.id: (len(section.steps), sum(len(step.boxes) for step in section.steps))
        for section in load_script()
    }
    assert counted == FORM
    assert tuple(counted) == SECTIONS


@pytest.mark.parametrize(
    ("segment", "steps", "boxes"), [(ScriptSegment.EQUITIES, 68, 178), (ScriptSegment.DERIVATIVES, 57, 151)]
)
def test_steps_and_boxes_of_a_segment(segment: ScriptSegment, steps: int, boxes: int) -> None:
    played = [step for section in sections_for(segment) for step in section.steps]
    assert len(played) == steps
    assert sum(len(step.boxes) for step in played) == boxes


def test_needs_are_those_of_the_form() -> None:
    needs = {section.id: {step.need for step in section.steps} for section in load_script()}
    assert needs.pop("A") == {Need.REQUIRED, Need.OPTIONAL}
    assert needs.pop("B3") == {Need.CONDITIONAL}
    assert {name for name, some in needs.items() if some == {Need.OPTIONAL}} == {"B7", "C1", "E"}
    assert all(some == {Need.REQUIRED} for name, some in needs.items() if name not in ("B7", "C1", "E"))


def test_numbers_of_steps_follow_each_other() -> None:
    for section in load_script():
        if len(section.steps) > 1:
            assert [int(step.id.partition(".")[2]) for step in section.steps] == list(
                range(1, len(section.steps) + 1)
            )


def test_a_demand_is_read_in_full() -> None:
    text = HEAD + (
        "step B9.1 required: desk buy 20@moa, sell 100@P+3 as v; client connect\n"
        "  mbo bid 6 new 100@P-2, offer 2 gone\n"
        "  tob bid 20@none, trades 100@P 277=2\n"
    )
    (step,) = parse_section(text, "B9.txt").steps
    assert step.boxes == (Box.MBO, Box.TOB)
    first, gone = step.demands[Box.MBO]
    assert isinstance(first, EntryDemand)
    assert (first.side, first.position, first.change) == (Side.BUY, 6, DemandedChange.NEW)
    assert first.row is not None
    assert (first.row.size, str(first.row.price)) == (100, "P-2")
    assert gone == EntryDemand(Side.SELL, 2, DemandedChange.GONE)
    trades = step.demands[Box.TOB][1]
    assert isinstance(trades, TradesDemand)
    assert trades.tags == ((277, "2"),)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("step B9.1 required: desk buy 1@P\n", 1, "begins with its section"),
        (HEAD + "\nstep B9.1 must: desk buy 1@P\n  all no update\n", 3, "a need is one of"),
        (HEAD + "step B9.1 required: desk buy 1@Q\n  all no update\n", 2, "'Q' is no price"),
        (HEAD + "step B9.1 required: desk buy 0@P\n  all no update\n", 2, "is no size@price"),
        (HEAD + "step B9.1 required: desk jump\n  all no update\n", 2, "the desk knows no 'jump'"),
        (HEAD + "step B9.1 required: desk buy 1@P\n  mbx no update\n", 3, "a depth is one of"),
        (HEAD + "step B9.1 required: desk buy 1@P\n  mbo bid 1 new\n", 3, "size@price"),
        (HEAD + "step B9.1 required: desk buy 1@P\n  mbo message f 326\n", 3, "no tag=value"),
        (HEAD + "step B9.1 required: desk buy 1@P\n", 2, "demands nothing"),
        (HEAD + "step B9.1 required: desk empty\n  all no update\n  one no update\n", 4, "one box"),
        (HEAD + "step B9.1 required: desk empty\n  all no update\nbids 1@P\n", 4, "after the first step"),
        (HEAD + "step B9.1 required: desk phase dance\n  all no update\n", 2, "phase pre-open or"),
        (HEAD + "prepare phase\n", 2, "phase pre-open or"),
        (HEAD + "step B9.1 required: desk cancel\n  all no update\n", 2, "cancel best offer or NAME"),
        (HEAD + "step B9.1 required: desk cancel c\n  all no update\n", 2, "no order before is called c"),
        (HEAD + "step B9.1 required: desk buy now 1@P\n  all no update\n", 2, "buy nothing else, not 'now'"),
        (HEAD + "step B9.1 required: desk wait here\n  all no update\n", 2, "wait heartbeat or"),
        (HEAD + "prepare history many\n", 2, "history NUMBER"),
        (HEAD + "step B9.1 required: client sing\n  all no update\n", 2, "the client knows no 'sing'"),
        (HEAD + "step B9.1 required: client logon b3\n  all no update\n", 2, "not what a client can logon"),
        (HEAD + "step B9.1 required: client request replayer\n  all no update\n", 2, "client can request"),
        (HEAD + HEAD, 2, "one section"),
        (HEAD, 1, "no step"),
        (HEAD + "# " + "x" * 500 + "\nprepare " + "x" * 500 + "\n", 3, "longer than"),
    ],
)
def test_a_broken_file_is_told_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason) as caught:
        parse_section(text, "B9.txt")
    assert (caught.value.file, caught.value.line) == ("B9.txt", line)
    assert str(caught.value).startswith(f"B9.txt, line {line}: ")
