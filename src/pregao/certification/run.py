"""A whole run of the script: both segments or one, by some client or by hand, to a folder of reports."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pregao.certification.by_hand import (
    Console,
    HandClient,
    HandSession,
    HandStopped,
    introduce,
    judge_by_hand,
)
from pregao.certification.client import CertifyClient
from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import FAST_PACES, CertificationDesk, ScriptPaces
from pregao.certification.memory import client_config, memory_client
from pregao.certification.process import ProcessClient, SessionProcess, client_command
from pregao.certification.report import LANGUAGES, RunFacts, read_digests, write_evidence, write_reports
from pregao.certification.results import BoxResult, StepResult, Verdict, is_unbroken
from pregao.certification.runner import ClientEnd, ScriptRunner
from pregao.certification.saved import SavedSteps
from pregao.certification.scenario import Box, ScriptSegment, Section, Step
from pregao.certification.scenario_files import sections_for
from pregao.certification.selection import chosen_steps, unjudged
from pregao.certification.systems import script_system
from pregao.extras import need
from pregao.io.clock import system_time_ns
from pregao.simulator.live.replayers import ReplayerHost

OnStep = Callable[[ScriptSegment, StepResult], None]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """`client`: a command line; None: Pregão's own, in memory. `console`: a person judges. `resume`: what has
    passed in that folder is not played again."""

    folder: Path
    system: str = "fast"
    segments: tuple[ScriptSegment, ...] = tuple(ScriptSegment)
    client: str | None = None
    boxes: frozenset[Box] = frozenset(Box)
    steps: str | None = None
    first: str | None = None
    keep_going: bool = False
    paces: ScriptPaces = FAST_PACES
    resume: Path | None = None
    console: Console | None = None
    languages: tuple[str, ...] = LANGUAGES
    pdf: bool = True


@dataclass(slots=True)
class Run:
    """What came of it. `broken`: something was chosen, resumed, repeated or stopped."""

    played: list[tuple[ScriptSegment, list[StepResult]]] = field(default_factory=list)
    broken: bool = False

    @property
    def unbroken(self) -> bool:
        return is_unbroken(self.played, self.broken)


def run_script(settings: RunSettings, on_step: OnStep) -> Run:
    """Plays it, tells of every step, saves it at once with its evidence, and writes the reports."""
    if settings.pdf:
        need("fpdf")
    if settings.client is not None:
        client_command(settings.client)  # before anything of an earlier run is written over
    settings.folder.mkdir(parents=True, exist_ok=True)
    saved = SavedSteps(settings.folder)
    sections = {segment: sections_for(segment) for segment in settings.segments}
    chosen = {each: chosen_steps(own, settings.steps, settings.first) for each, own in sections.items()}
    before = {} if settings.resume is None else SavedSteps(settings.resume).load(sections, settings.system)
    same = settings.resume is not None and settings.resume.resolve() == settings.folder.resolve()
    facts = {"system": settings.system, "client": settings.client, "steps": settings.steps}
    saved.begin(facts, resumed=same)
    for (segment, _), result in before.items() if not same else ():
        saved.add(segment, result)
        write_evidence(settings.folder, segment, result, settings.resume)
    run = Run(broken=bool(settings.resume or settings.steps or settings.first))

    def judged(segment: ScriptSegment, result: StepResult) -> None:
        saved.add(segment, result)
        write_evidence(settings.folder, segment, result)
        on_step(segment, result)

    stopped = False
    for segment, own in sections.items():
        known = {step: result for (of, step), result in before.items() if of is segment}
        left = frozenset(chosen[segment] - {step for step, result in known.items() if _is_done(result)})
        if left and not stopped:
            stopped = _Segment(segment, settings, run, judged).play(own, left, known)
        run.played.append((segment, [_result(each, step, known) for each in own for step in each.steps]))
    write_reports(settings.folder, run.played, _facts(run, settings), settings.languages, pdf=settings.pdf)
    return run


def _facts(run: Run, settings: RunSettings) -> RunFacts:
    files = {
        (segment, result.step.id): read_digests(settings.folder, segment, result.step.id)
        for segment, results in run.played
        for result in results
        if any(box.verdict is not Verdict.NOT_RUN for box in result.boxes)
    }
    client = settings.client or ("by hand" if settings.console else "pregao.CertifyClient")
    return RunFacts(client, script_system(settings.system), system_time_ns(), run.unbroken, files)


def _is_done(result: StepResult) -> bool:
    return all(each.verdict is Verdict.PASSED or each.excused for each in result.boxes)


def _result(section: Section, step: Step, known: Mapping[str, StepResult]) -> StepResult:
    if step.id in known:
        return known[step.id]
    return StepResult(step, section, tuple(BoxResult(box, Verdict.NOT_RUN) for box in step.boxes))


def _excused(section: Section) -> Iterator[tuple[str, StepResult]]:
    """What the system has not: N/E in the form, and not missed."""
    for step in section.steps:
        boxes = tuple(BoxResult(box, Verdict.NOT_RUN, excused=True) for box in step.boxes)
        yield step.id, StepResult(step, section, boxes)


class _Segment:
    """The sections of a segment, as far as they are wanted."""

    def __init__(self, segment: ScriptSegment, settings: RunSettings, run: Run, on_step: OnStep) -> None:
        self._segment, self._settings, self._run, self._on_step = segment, settings, run, on_step

    def play(self, sections: tuple[Section, ...], left: frozenset[str], known: dict[str, StepResult]) -> bool:
        """Adds what it finds to `known`; whether somebody stopped it."""
        desk = _desk(self._segment, self._settings)
        with _client(desk, self._segment, self._settings) as client:
            runner = ScriptRunner(desk, client, None if self._settings.console else ClientJudge(desk))
            if isinstance(client, HandClient) and self._settings.console is not None:
                client.idle = runner.idle
                introduce(desk, self._settings.console)
            for section in sections:
                if section.id in desk.system.not_played:
                    known.update(_excused(section))
                    continue
                found = {}
                try:
                    for result in self._section(runner, section, left):
                        found[result.step.id] = known[result.step.id] = result
                        self._on_step(self._segment, result)
                except HandStopped:
                    self._run.broken = True
                    return True
                self._run.broken |= client.trouble is not None  # it died, or said what is no line
                verdicts = {each.verdict for each in found.values()}
                if verdicts & {Verdict.FAILED, Verdict.INVALID} and not self._settings.keep_going:
                    return False
        return False

    def _section(
        self, runner: ScriptRunner, section: Section, chosen: frozenset[str]
    ) -> Iterator[StepResult]:
        """The chosen steps; those before them are played unjudged. One that is to be repeated begins with the
        section's preparation again."""
        left = [step.id for step in section.steps if step.id in chosen]
        while left:
            for result in runner.steps(section, unjudged(section, frozenset(left))):
                if result.step.id != left[0]:
                    continue
                if not self._judged(runner, result):
                    self._run.broken = True
                    break
                left.pop(0)
                yield result
                if not left:
                    return

    def _judged(self, runner: ScriptRunner, result: StepResult) -> bool:
        """False: somebody wants to see it again."""
        settings = self._settings
        done = settings.console is None or judge_by_hand(result, settings.console, runner.idle)
        result.boxes = tuple(
            each
            if each.box in settings.boxes or each.box is Box.STEP
            else BoxResult(each.box, Verdict.NOT_RUN, excused=True)
            for each in result.boxes
        )
        return done


def _desk(segment: ScriptSegment, settings: RunSettings) -> CertificationDesk:
    """The clock is virtual. Sessions of programs look at theirs (52): it begins as late as it is."""
    is_outside = settings.client is not None or settings.console is not None
    if is_outside and script_system(settings.system).served:
        return CertificationDesk(segment, settings.system, settings.paces, system_time_ns())
    return CertificationDesk(segment, settings.system, settings.paces)


@contextmanager
def _client(desk: CertificationDesk, segment: ScriptSegment, settings: RunSettings) -> Iterator[ClientEnd]:
    if settings.client is None and settings.console is None:
        yield memory_client(desk, CertifyClient)
        return
    with ExitStack() as stack:
        replayers = desk.history.replayers
        addresses: Mapping[str, tuple[str, int]] = {}
        if replayers is not None:
            addresses = stack.enter_context(ReplayerHost(replayers.replayers)).addresses
        config, folder, name = client_config(desk), settings.folder, segment.value
        client: HandClient | ProcessClient
        if settings.console is not None:
            if desk.served is not None:
                client = HandSession(config, folder, name, desk.served, settings.console)
            else:
                client = HandClient(config, folder, name, addresses, settings.console)
        elif desk.served is not None:
            client = SessionProcess(settings.client or "", config, folder, desk.served, name)
        else:
            client = ProcessClient(settings.client or "", config, folder, name, addresses)
        stack.callback(client.close)
        yield client
