"""A script played in memory, and the example client as it is or with a bug in it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import MemoryClient
from pregao.certification.results import StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import ScriptSegment
from pregao.certification.scenario_files import sections_for

EXAMPLE = Path(__file__).parents[3] / "examples" / "certify_client.py"


@cache
def _source() -> str:
    return EXAMPLE.read_text("utf-8")


def example_client(config: dict[str, Any], *changes: tuple[str, str]) -> Any:
    """The example's client; each change replaces a piece of its text wherever that stands."""
    text = _source()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    module = ModuleType("certify_client")
    exec(compile(text, EXAMPLE.name, "exec"), module.__dict__)
    return module.Client(config)


def play(
    segment: ScriptSegment, make_client: Any, sections: frozenset[str], until: str = ""
) -> list[StepResult]:
    """The sections in order, and no further than `until` fails."""
    desk = CertificationDesk(segment)
    runner = ScriptRunner(desk, MemoryClient(make_client, desk), ClientJudge(desk))
    results: list[StepResult] = []
    for section in sections_for(segment):
        if section.id in sections:
            results += runner.play(section)
            if until and any(each.step.id == until for each in results):
                break
    return results


class Overheard:
    """A client whose lines are kept, both ways, as the JSON that they are on the wire; each once."""

    def __init__(self, client: Any, commands: set[str], lines: set[str]) -> None:
        self._client, self._commands, self._lines = client, commands, lines

    def obey(self, command: Mapping[str, Any]) -> Iterator[Any]:
        self._commands.add(json.dumps(command))
        for line in self._client.obey(command):
            self._lines.add(json.dumps(line))
            yield line


class WholeRun(NamedTuple):
    results: list[StepResult]
    commands: set[str]
    lines: set[str]


@cache
def whole_run(segment: ScriptSegment, make_client: Any) -> WholeRun:
    """All sections. Several tests look at the same one: it takes seconds."""
    commands: set[str] = set()
    lines: set[str] = set()
    every = frozenset(section.id for section in sections_for(segment))
    results = play(segment, lambda config: Overheard(make_client(config), commands, lines), every)
    return WholeRun(results, commands, lines)


def failures(results: list[StepResult]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (result.step.id, box.box.name, box.reasons)
        for result in results
        for box in result.boxes
        if box.verdict is not Verdict.PASSED
    ]
