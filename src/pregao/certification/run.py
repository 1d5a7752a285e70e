"""A whole run of the script: both segments or one, by some client, to a folder of reports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import FAST_PACES, CertificationDesk, ScriptPaces
from pregao.certification.memory import client_config, memory_client
from pregao.certification.process import ProcessClient, SessionProcess
from pregao.certification.report import LANGUAGES, Played, junit, page
from pregao.certification.runner import BoxResult, ClientEnd, Runner, StepResult, Verdict
from pregao.certification.scenario import Box, Section, Segment
from pregao.certification.scenario_files import sections_for
from pregao.certification.selection import chosen_steps, is_played, unjudged
from pregao.certification.systems import script_system
from pregao.io.clock import system_time_ns


@dataclass(frozen=True, slots=True)
class RunSettings:
    """`client`: a command line; None: Pregão's own, in memory."""

    folder: Path
    system: str = "fast"
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
    desk = _desk(segment, settings)
    with _client(desk, segment, settings) as client:
        runner = Runner(desk, client, ClientJudge(desk))
        stopped = False
        for section in sections:
            if stopped or section.id in desk.system.not_played or not is_played(section, chosen):
                results = _not_run(section)
            else:
                results = runner.play(section, unjudged(section, chosen))
            for result in results:
                _leave_out(result, settings.boxes)
                on_step(segment, result)
                yield result
            failed = any(each.verdict in (Verdict.FAILED, Verdict.INVALID) for each in results)
            stopped = stopped or (failed and not settings.keep_going)


def _desk(segment: Segment, settings: RunSettings) -> CertificationDesk:
    """The clock is virtual. Sessions of programs look at theirs (52): it begins as late as it is."""
    if settings.client is not None and script_system(settings.system).served:
        return CertificationDesk(segment, settings.system, settings.paces, system_time_ns())
    return CertificationDesk(segment, settings.system, settings.paces)


@contextmanager
def _client(desk: CertificationDesk, segment: Segment, settings: RunSettings) -> Iterator[ClientEnd]:
    if settings.client is None:
        yield memory_client(desk, CertifyClient)
        return
    config, folder = client_config(desk), settings.folder
    client = (
        ProcessClient(settings.client, config, folder, segment.value)
        if desk.served is None
        else SessionProcess(settings.client, config, folder, desk.served, segment.value)
    )
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
