"""A whole run of the script: both segments or one, by some client, to a folder of reports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import FAST_PACES, CertificationDesk, ScriptPaces
from pregao.certification.memory import MemoryClient, client_config
from pregao.certification.process import ProcessClient
from pregao.certification.report import LANGUAGES, Played, junit, page
from pregao.certification.runner import BoxResult, ClientEnd, Runner, StepResult, Verdict
from pregao.certification.scenario import Box, Section, Segment
from pregao.certification.scenario_files import sections_for
from pregao.certification.selection import chosen_steps, is_played, unjudged


@dataclass(frozen=True, slots=True)
class RunSettings:
    """`client`: a command line; None: Pregão's own, in memory."""

    folder: Path
    segments: tuple[Segment, ...] = tuple(Segment)
    client: str | None = None
    boxes: frozenset[Box] = frozenset(Box)
    steps: str | None = None
    first: str | None = None
    keep_going: bool = False
    paces: ScriptPaces = FAST_PACES


def run_script(
    settings: RunSettings, on_step: Callable[[Segment, StepResult], None]
) -> list[tuple[Segment, list[StepResult]]]:
    """Plays it, tells of every step, and writes the reports."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    played = [(segment, list(_play(segment, settings, on_step))) for segment in settings.segments]
    write_reports(played, settings)
    return played


def _play(
    segment: Segment, settings: RunSettings, on_step: Callable[[Segment, StepResult], None]
) -> Iterator[StepResult]:
    sections = sections_for(segment)
    chosen = chosen_steps(sections, settings.steps, settings.first)
    desk = CertificationDesk(segment, paces=settings.paces)
    with _client(desk, segment, settings) as client:
        runner = Runner(desk, client, ClientJudge(desk))
        stopped = False
        for section in sections:
            if stopped or not is_played(section, chosen):
                results = _not_run(section)
            else:
                results = runner.play(section, unjudged(section, chosen))
            for result in results:
                _leave_out(result, settings.boxes)
                on_step(segment, result)
                yield result
            failed = any(each.verdict in (Verdict.FAILED, Verdict.INVALID) for each in results)
            stopped = stopped or (failed and not settings.keep_going)


@contextmanager
def _client(desk: CertificationDesk, segment: Segment, settings: RunSettings) -> Iterator[ClientEnd]:
    config = client_config(desk)
    if settings.client is None:
        yield MemoryClient(CertifyClient(config), config)
        return
    client = ProcessClient(settings.client, config, settings.folder, segment.value)
    try:
        yield client
    finally:
        client.close()


def _not_run(section: Section) -> list[StepResult]:
    return [
        StepResult(step, section, tuple(BoxResult(box, Verdict.NOT_RUN) for box in step.boxes))
        for step in section.steps
    ]


def _leave_out(result: StepResult, boxes: frozenset[Box]) -> None:
    """Depths that were not asked for are not judged."""
    result.boxes = tuple(
        each if each.box in boxes or each.box is Box.STEP else BoxResult(each.box, Verdict.NOT_RUN)
        for each in result.boxes
    )


def write_reports(played: Played, settings: RunSettings) -> None:
    name = settings.client or "pregao.CertifyClient"
    (settings.folder / "junit.xml").write_text(junit(played), "utf-8")
    for language in LANGUAGES:
        (settings.folder / f"report.{language}.html").write_text(page(played, language, name), "utf-8")
