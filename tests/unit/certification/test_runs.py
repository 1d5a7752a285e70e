"""Runs that begin in the middle, are resumed, or judged by a person; and how they end."""

import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.results import (
    BoxResult,
    StepResult,
    Verdict,
    exit_status,
    is_unbroken,
    missed_steps,
)
from pregao.certification.run import Run, RunSettings, run_script
from pregao.certification.saved import FILE, SavedSteps
from pregao.certification.scenario import Box, ScriptSegment
from pregao.certification.scenario_files import sections_for
from pregao.certification.streams import read_config
from pregao.cli.main import main
from pregao.io.terminal import Terminal
from pregao.model.errors import ConfigurationError

SECTIONS = sections_for(ScriptSegment.EQUITIES)
ONE = (ScriptSegment.DERIVATIVES,)
PASSED = [Verdict.PASSED] * 3


def _result(step: str, *verdicts: Verdict, excused: bool = False) -> StepResult:
    section = next(each for each in SECTIONS if any(one.id == step for one in each.steps))
    found = next(one for one in section.steps if one.id == step)
    boxes = tuple(
        BoxResult(box, verdict, (), excused) for box, verdict in zip(found.boxes, verdicts, strict=True)
    )
    return StepResult(found, section, boxes)


# How they end


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([_result("B1.1", *PASSED)], 0),
        ([_result("B1.1", Verdict.PASSED, Verdict.FAILED, Verdict.PASSED)], 1),
        ([_result("B3.1", Verdict.FAILED, *PASSED[1:])], 1),
        ([_result("C1", Verdict.FAILED, *PASSED[1:])], 0),  # not required
        ([_result("B1.1", Verdict.FAILED, *PASSED[1:]), _result("B1.2", Verdict.INVALID, *PASSED[1:])], 3),
        ([_result("B1.1", *[Verdict.NOT_RUN] * 3)], 1),  # required, and not played
        ([_result("B1.1", Verdict.PASSED, Verdict.NOT_RUN, Verdict.PASSED)], 1),
        ([_result("B3.1", *[Verdict.NOT_RUN] * 3), _result("C1", *[Verdict.NOT_RUN] * 3)], 0),
        ([_result("D2.2", Verdict.NOT_RUN)], 1),
        ([_result("D2.2", Verdict.NOT_RUN, excused=True)], 0),  # another recovery is used
    ],
)
def test_the_exit_status_says_the_worst(results: list[StepResult], status: int) -> None:
    assert exit_status([(ScriptSegment.EQUITIES, results)]) == status


def test_only_a_whole_run_is_called_unbroken() -> None:
    whole = [(ScriptSegment.EQUITIES, [_result("B1.1", *PASSED)])]
    assert is_unbroken(whole, broken=False)
    assert not is_unbroken(whole, broken=True)
    assert not is_unbroken(
        [(ScriptSegment.EQUITIES, [_result("B1.1", *[Verdict.NOT_RUN] * 3)])], broken=False
    )


# Restarts


def _run(folder: Path, **settings: object) -> tuple[Run, list[str]]:
    """Without PDFs, which take longer than most runs here."""
    judged: list[str] = []
    run = run_script(
        RunSettings(folder, **{"segments": ONE, "languages": ("en",), "pdf": False} | settings),  # type: ignore[arg-type]
        lambda _, result: judged.append(result.step.id),
    )
    return run, judged


def _verdicts(run: Run) -> dict[str, Verdict]:
    return {result.step.id: result.verdict for _, results in run.played for result in results}


def test_a_restart_plays_earlier_steps_unjudged(tmp_path: Path) -> None:
    """From B2.6: the pause of B2.4 and all else before it happened, and B2.8 finds its book."""
    run, judged = _run(tmp_path, steps="B2.6-B2.9")
    assert judged == ["B2.6", "B2.7", "B2.8", "B2.9"]
    verdicts = _verdicts(run)
    assert {step for step, verdict in verdicts.items() if verdict is Verdict.PASSED} == set(judged)
    assert len(verdicts) == 57
    assert not run.unbroken
    assert exit_status(run.played) == 1
    assert "derivatives B2.5" in missed_steps(run.played)


@pytest.mark.parametrize("first", ["B3.1", "B3.3"])
def test_a_run_may_begin_where_no_step_connects(tmp_path: Path, first: str) -> None:
    """B3 goes on with the client of B2. Where there was no B2 it is connected first, unjudged."""
    run, judged = _run(tmp_path, steps=f"{first}-B3.4", segments=(ScriptSegment.EQUITIES,))
    assert judged[0] == first
    assert [_verdicts(run)[step] for step in judged] == [Verdict.PASSED] * len(judged)


def test_a_run_from_a_step_goes_to_the_end(tmp_path: Path) -> None:
    run, judged = _run(tmp_path, first="E4.4")
    assert judged == ["E4.4", "E4.5", "E4.6"]
    assert not run.unbroken


def test_every_step_is_saved_as_it_is_judged(tmp_path: Path) -> None:
    lines: list[int] = []

    def on_step(segment: ScriptSegment, result: StepResult) -> None:
        lines.append(len((tmp_path / FILE).read_text().splitlines()))

    run_script(RunSettings(tmp_path, segments=ONE, steps="B1.1-B1.3", pdf=False), on_step)
    assert lines == [2, 3, 4]  # and one for the run


def test_what_was_saved_comes_back_whole(tmp_path: Path) -> None:
    run, _ = _run(tmp_path, steps="D2,B1.4")
    sections = {ScriptSegment.DERIVATIVES: sections_for(ScriptSegment.DERIVATIVES)}
    loaded = SavedSteps(tmp_path).load(sections, "fast")
    played = {result.step.id: result for _, results in run.played for result in results}
    assert {step for _, step in loaded} == {"B1.4", "D2.1", "D2.2", "D2.3"}
    for (_, step), result in loaded.items():
        one = played[step]
        assert (result.boxes, result.commands, result.books) == (one.boxes, one.commands, one.books)
        assert result.sessions == one.sessions
        assert [each.text for each in result.messages] == [each.text for each in one.messages]
        assert json.dumps(result.lines) == json.dumps(one.lines)


def test_a_resumed_run_plays_what_has_not_passed(tmp_path: Path) -> None:
    """Also from a file that ends in the middle of a line, as a kill leaves it."""
    _run(tmp_path, steps="A,B1.1-B1.4")
    file = tmp_path / FILE
    saved = file.read_text().splitlines()
    assert json.loads(saved[4])["step"] == "B1.2"
    failed = json.loads(saved[4])
    failed["boxes"][1][1] = "failed"
    saved[4] = json.dumps(failed)
    file.write_text("\n".join(saved)[:-100])  # B1.4 is cut
    run, judged = _run(tmp_path, steps="A,B1", resume=tmp_path)
    assert judged == ["B1.2", "B1.4", "B1.5", "B1.6"]
    verdicts = _verdicts(run)
    assert all(verdicts[f"B1.{number}"] is Verdict.PASSED for number in range(1, 7))
    assert verdicts["A.1"] is Verdict.PASSED
    assert not run.unbroken
    _, again = _run(tmp_path, steps="A,B1", resume=tmp_path)
    assert not again


def test_a_folder_can_be_resumed_into_another(tmp_path: Path) -> None:
    _run(tmp_path / "one", steps="B1.1-B1.2")
    run, judged = _run(tmp_path / "two", steps="B1.1-B1.3", resume=tmp_path / "one")
    assert judged == ["B1.3"]
    assert len((tmp_path / "two" / FILE).read_text().splitlines()) == 4
    assert _verdicts(run)["B1.1"] is Verdict.PASSED


@pytest.mark.parametrize("content", [None, '{"segment": "equities"}\n{}\n', "[1]\n\n", "\x00\n", '"run"\n'])
def test_what_cannot_be_resumed_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / FILE).write_text(content)
    with pytest.raises(ConfigurationError, match=FILE):
        _run(tmp_path, resume=tmp_path)
    assert main(["certify", "--resume", str(tmp_path)]) == 2


def test_a_run_is_not_resumed_in_another_system(tmp_path: Path) -> None:
    """Its form would say that all of it was played in one."""
    _run(tmp_path, system="binary", steps="A.1")
    with pytest.raises(ConfigurationError, match="has steps in 'binary', not in 'fast'"):
        _run(tmp_path, resume=tmp_path)


def test_a_depth_alone_is_enough(tmp_path: Path) -> None:
    """Depths that nobody asked for are not missed."""
    run, _ = _run(tmp_path, steps="B1", boxes=frozenset([Box.MBP]))
    results = {result.step.id: result for _, results in run.played for result in results}
    assert [each.verdict for each in results["B1.2"].boxes] == [
        Verdict.NOT_RUN,
        Verdict.PASSED,
        Verdict.NOT_RUN,
    ]
    missed = list(missed_steps(run.played))
    assert not [each for each in missed if "B1." in each]
    assert "derivatives B2.1" in missed


# By hand


class Person:
    """Answers questions one after the other, and has time pass at each."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.heard: list[str] = []
        self.asked: list[str] = []

    def say(self, text: str) -> None:
        self.heard.append(text)

    def ask(self, question: str, idle: Callable[[int], None]) -> str | None:
        idle(700_000_000)
        self.asked.append(question)
        if "Enter" in question:
            return ""
        return self._answers.pop(0) if self._answers else None


def test_a_person_judges(tmp_path: Path) -> None:
    person = Person(["p", "failed mbp tob", "note wrong price", "maybe", "f", "n/e mbo", "passed"])
    run, judged = _run(tmp_path, steps="B1", console=person, keep_going=True)
    assert judged == ["B1.1", "B1.2", "B1.3", "B1.4", "B1.5"]  # then there was no answer
    results = {result.step.id: result for _, results in run.played for result in results}
    assert results["B1.1"].verdict is Verdict.PASSED
    assert [each.verdict for each in results["B1.2"].boxes] == [
        Verdict.PASSED,
        Verdict.FAILED,
        Verdict.FAILED,
    ]
    assert results["B1.3"].note == "wrong price"
    assert results["B1.3"].boxes[0].reasons == ("B1.3 wrong price",)
    assert results["B1.4"].boxes[0].verdict is Verdict.NOT_RUN
    assert results["B1.6"].verdict is Verdict.NOT_RUN
    assert exit_status(run.played) == 1
    assert not run.unbroken
    assert any("depths are mbo, mbp, tob" in each for each in person.heard)
    assert any("bid 6 new 100@P" in each for each in person.heard)
    assert any("CERZ26 (200000900401); P is 5400.00, P+1 5400.50" in each for each in person.heard)
    assert person.asked[0].startswith("Connect your client")  # nobody was there who could disconnect
    assert sum("Connect your client" in each for each in person.asked) == 1


def test_what_a_person_judged_is_resumed(tmp_path: Path) -> None:
    _run(tmp_path, steps="A", console=Person(["p", "stop"]))
    run, judged = _run(tmp_path, steps="A", console=Person(["p"]), resume=tmp_path)
    assert judged == ["A.2"]
    assert _verdicts(run)["A.1"] is Verdict.PASSED


def test_a_step_is_repeated_with_what_comes_before_it(tmp_path: Path) -> None:
    person = Person(["p", "p", "r", "p"])
    run, judged = _run(tmp_path, steps="B1.1-B1.3", console=person)
    assert judged == ["B1.1", "B1.2", "B1.3"]
    assert run.broken
    assert sum("step B1.3" in each for each in person.heard) == 2
    assert sum("step B1.2" in each for each in person.heard) == 1  # played again, not judged again
    assert sum("Connect your client" in each for each in person.asked) == 2


def test_a_person_is_told_what_to_ask_replayers_for(tmp_path: Path) -> None:
    person = Person(["p", "n", "n"])
    run, _ = _run(tmp_path, steps="D2", console=person)
    assert any("Ask the replayer session with 35=BW for channel" in each for each in person.asked)
    results = {result.step.id: result for _, results in run.played for result in results}
    assert results["D2.2"].boxes[0].excused  # N/E: another recovery is used
    told = json.loads((tmp_path / "derivatives.json").read_text())
    assert told["sessions"]["replayer"]["port"] > 0


class Operator(Person):
    """Has a client of PUMA Conflated that logs on over TCP, and says what it sees. It answers by that."""

    def __init__(self, folder: Path) -> None:
        super().__init__([])
        self._file = folder / "derivatives.json"
        self.client: CertifyClient | None = None
        self.books: dict[tuple[str, int], dict[str, object]] = {}

    def ask(self, question: str, idle: Callable[[int], None]) -> str | None:
        self.asked.append(question)
        if "Log your client" in question:
            self.client = CertifyClient(read_config(str(self._file))) if self.client is None else self.client
            todo = "connect" if "on to" in question else "disconnect"
            list(self.client.obey({"do": todo}))
        for _ in range(10):
            idle(30_000_000)
            for line in () if self.client is None else self.client.obey({"do": "settle"}):
                if line["see"] == "book":
                    self.books[line["depth"], line["id"]] = line
        return "" if "Enter" in question else "p"


def test_a_person_judges_sessions(tmp_path: Path) -> None:
    """PUMA Conflated, whose client has a clock and a TCP connection of its own."""
    person = Operator(tmp_path)
    run, judged = _run(tmp_path, system="conflated", steps="B1.1-B1.2", console=person)
    assert person.client is not None
    list(person.client.obey({"do": "end"}))
    assert judged == ["B1.1", "B1.2"]
    assert all(_verdicts(run)[step] is Verdict.PASSED for step in judged)
    instrument = read_config(str(tmp_path / "derivatives.json"))["instruments"][0]
    assert [row[1:] for row in person.books["mbp", instrument]["bids"]] == [[20, 2], [20, 2], [150, 2]]
    assert sum("Log your client on" in each for each in person.asked) == 1


def test_a_terminal_waits_for_lines_and_lets_time_pass() -> None:
    shown = StringIO()
    terminal = Terminal(StringIO("passed\n"), shown)
    terminal.say("step")
    assert terminal.ask("? ", lambda by_ns: None) == "passed"
    assert terminal.ask("? ", lambda by_ns: None) is None
    assert shown.getvalue() == "step\n? ? "


@pytest.mark.parametrize("client", ["", "no-such-program-of-ours --fast", "python 'x"])
def test_a_client_that_cannot_be_started_ends_with_2(
    client: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line, and what an earlier run saved there stays."""
    (tmp_path / FILE).write_text("earlier\n")
    assert main(["certify", "--client", client, "--out", str(tmp_path)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "client: " in said
    assert (tmp_path / FILE).read_text() == "earlier\n"


def test_by_hand_and_a_client_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["certify", "--by-hand", "--client", "x"])
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err
