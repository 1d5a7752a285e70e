"""The form that a run fills in, which steps are judged, and how the command ends."""

import sys
from pathlib import Path

import pytest

from pregao.certification.results import BoxResult, StepResult, Verdict
from pregao.certification.scenario import Need, ScriptSegment
from pregao.certification.scenario_files import sections_for
from pregao.certification.selection import chosen_steps
from pregao.cli.main import main
from pregao.io.line_process import LineProcess, LineProcessError
from pregao.model.errors import ConfigurationError

SECTIONS = sections_for(ScriptSegment.EQUITIES)


def step_result(step: str, *verdicts: Verdict, reasons: tuple[str, ...] = ()) -> StepResult:
    section = next(each for each in SECTIONS if any(one.id == step for one in each.steps))
    found = next(one for one in section.steps if one.id == step)
    boxes = tuple(
        BoxResult(box, verdict, reasons) for box, verdict in zip(found.boxes, verdicts, strict=True)
    )
    return StepResult(found, section, boxes)


PASSED = [Verdict.PASSED] * 3


@pytest.mark.parametrize(
    ("steps", "first", "chosen"),
    [
        ("B1.2", None, ["B1.2"]),
        ("A,B2.4-B2.6", None, ["A.1", "A.2", "B2.4", "B2.5", "B2.6"]),
        ("B1.5-B2.2", None, ["B1.5", "B1.6", "B2.1", "B2.2"]),
        (None, "E4.5", ["E4.5", "E4.6"]),
        ("B1", "B1.6", ["B1.6"]),
    ],
)
def test_steps_are_chosen(steps: str | None, first: str | None, chosen: list[str]) -> None:
    assert sorted(chosen_steps(SECTIONS, steps, first)) == sorted(chosen)


@pytest.mark.parametrize(("steps", "first"), [("B9", None), ("B1.1-B9.9", None), (None, "B0.1"), ("", "x")])
def test_a_step_that_is_not_there_is_named(steps: str | None, first: str | None) -> None:
    with pytest.raises(ConfigurationError, match="there is no step"):
        chosen_steps(SECTIONS, steps, first)


def test_the_command_plays_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = [
        "certify",
        "--segment",
        "derivatives",
        "--steps",
        "B1.2-B1.4",
        "--depth",
        "mbp",
        "--out",
        str(out),
    ]
    assert main(arguments) == 1  # other steps are required too
    said = capsys.readouterr()
    assert said.out.splitlines()[0].split() == [
        "derivatives",
        "B1.2",
        "MBO",
        "not",
        "run",
        "MBP",
        "passed",
        "TOB",
        "not",
        "run",
    ]
    assert len(said.out.splitlines()) == 3
    assert "3 passed, 0 failed, 0 invalid" in said.err
    assert "required steps not played: derivatives A.1, derivatives B1.1" in said.err
    assert {path.name for path in out.iterdir()} == {
        "junit.xml", "report.en.html", "report.pt.html", "report.en.pdf", "report.pt.pdf", "evidence",
        "steps.jsonl",
    }  # fmt: skip
    assert main(["certify", "--steps", "Z1", "--out", str(out)]) == 2


def test_needs_of_the_form() -> None:
    assert step_result("B1.1", *PASSED).step.need is Need.REQUIRED


# Programs that are no clients.


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit(3)", "ended with status 3"),
        ("import time; time.sleep(60)", "said nothing for 0.5 s"),
        ("print('x' * 2_000_000, flush=True, end=''); input()", "a line of more than"),
    ],
)
def test_a_program_that_fails_is_named(tmp_path: Path, program: str, reason: str) -> None:
    process = LineProcess([sys.executable, "-c", program], {}, str(tmp_path / "stderr"))
    try:
        with pytest.raises(LineProcessError, match=reason):
            process.read(0.5 if "sleep" in program else 20)
    finally:
        process.close()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be started"):
        LineProcess(["no-such-program-of-ours"], {}, str(tmp_path / "stderr"))
