"""A script played in memory, and the example client as it is or with a bug in it."""

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pregao.certification.comparing import ClientJudge
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import MemoryClient
from pregao.certification.runner import Runner, StepResult, Verdict
from pregao.certification.scenario import Segment
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


def play(segment: Segment, make_client: Any, sections: frozenset[str], until: str = "") -> list[StepResult]:
    """The sections in order, and no further than `until` fails."""
    desk = CertificationDesk(segment)
    runner = Runner(desk, MemoryClient(make_client, desk), ClientJudge(desk))
    results: list[StepResult] = []
    for section in sections_for(segment):
        if section.id in sections:
            results += runner.play(section)
            if until and any(each.step.id == until for each in results):
                break
    return results


def failures(results: list[StepResult]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (result.step.id, box.box.name, box.reasons)
        for result in results
        for box in result.boxes
        if box.verdict is not Verdict.PASSED
    ]
