"""Where the script contradicts itself or the specification: what is played instead."""

from pregao.certification.desk import CertificationDesk
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import Box, ScriptSegment
from pregao.certification.scenario_files import parse_section, sections_for

HEAD = "section B9  Um | One   for equities\nprepare state open, phase open, second, empty\n"


def _play(text: str) -> StepResult:
    section = parse_section(f"{HEAD}step B9.1 required: {text}\n", "B9.txt")
    return ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES)).play(section)[-1]


def _steps(name: str) -> dict[str, StepResult]:
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == name]
    return {
        each.step.id: each for each in ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES)).play(section)
    }


def test_tags_are_compared_as_numbers() -> None:
    """326=02 of the script is 2 on the wire."""
    assert _play("desk state paused\n  all message f 326=02 1174=101").verdict is Verdict.PASSED
    assert _play("desk state paused\n  all message f 326=20 1174=101").verdict is Verdict.INVALID


def test_a_raised_quantity_is_another_order() -> None:
    """B5.4 at MBO is delete and new (FAST 13.4), with another OrderID."""
    steps = _steps("B5")
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    channel = desk.channels(desk.instrument)[0]

    def entries(step: str) -> list[tuple[int, str | None]]:
        return [
            (entry["MDUpdateAction"], entry.get("OrderID"))
            for message in steps[step].messages
            if message.kind == "X" and message.channel == channel
            for entry in message.entries(desk.instrument)
            if entry["MDEntryType"] == "1"
        ]

    ((_, entered),) = entries("B5.2")
    (deleted, of), (new, other) = entries("B5.4")
    assert (deleted, new) == (2, 0)
    assert entered == of
    assert other not in (None, entered)


def test_trades_and_phase_of_the_closing_call_are_one_change() -> None:
    """B5.6 and B5.7: one command, judged twice."""
    steps = _steps("B5")
    assert len(steps["B5.6"].commands) == 2  # the instrument's group, and that of its options
    assert not steps["B5.7"].commands
    assert steps["B5.7"].verdict is Verdict.PASSED


def test_nothing_rests_of_b6_5() -> None:
    """With B6.2's order the bids exceed 100: no new top offer, and no state changes."""
    step = _steps("B6")["B6.5"]
    before, after = step.books[Box.MBO]
    assert before.offers == after.offers
    assert [row.size for row in after.bids] == [100]
    assert not [each for each in step.messages if each.kind == "f"]


def test_a_trade_at_the_last_price_moves_no_index() -> None:
    """B7.2: so it is elsewhere."""
    prepared = "prepare buy 100@P, sell 100@P\n"
    for price, verdict in (("P", Verdict.INVALID), ("P+2", Verdict.PASSED)):
        text = (
            f"{HEAD}{prepared}step B9.1 required: desk buy 100@{price}, sell 100@{price}\n"
            f"  mbo message X 269=3, trades 100@{price}, bids none, offers none\n"
        )
        (result,) = ScriptRunner(CertificationDesk(ScriptSegment.EQUITIES)).play(
            parse_section(text, "B9.txt")
        )
        assert result.verdict is verdict, price


def test_an_empty_snapshot_is_sent_in_certification() -> None:
    """D1.1; elsewhere it may be left out (FAST 5.1.2)."""
    step = _steps("D1")["D1.1"]
    desk = CertificationDesk(ScriptSegment.EQUITIES)
    books = [
        each for each in step.messages if each.kind == "W" and each.fields["SecurityID"] == desk.instrument
    ]
    assert books
    assert not any(entry["MDEntryType"] in "01" for each in books for entry in each.fields["MDEntries"])


def test_there_is_no_e1_to_e3() -> None:
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == "E"]
    assert [step.id for step in section.steps] == [f"E4.{number}" for number in range(1, 7)]
