"""What a report is about, and what came of it in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pregao.certification.results import Played, StepResult, Verdict, exit_status
from pregao.certification.scenario import ScriptSegment
from pregao.certification.systems import ScriptSystem, script_system

Digests = Mapping[str, str]  # sha256 by the path of a file, from the folder of the report


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Of a whole run. `unbroken` None: nobody says. `files` are those of evidence, by segment and step."""

    client: str = "pregao.CertifyClient"
    system: ScriptSystem = field(default_factory=lambda: script_system("fast"))
    at_ns: int = 0
    unbroken: bool | None = None
    files: Mapping[tuple[ScriptSegment, str], Digests] = field(default_factory=dict)

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.at_ns // 1_000_000_000, UTC)

    @property
    def date(self) -> str:
        return f"{self.created:%Y-%m-%d %H:%M} UTC"


def count(played: Played) -> dict[Verdict, int]:
    """Boxes by verdict."""
    found = dict.fromkeys(Verdict, 0)
    for _, results in played:
        for result in results:
            for box in result.boxes:
                found[box.verdict] += 1
    return found


def outcome_word(played: Played) -> str:
    """Key of `words`: how the run is to be called."""
    return {0: "approved", 1: "refused"}.get(exit_status(played), "broken")


def by_section(results: Sequence[StepResult]) -> list[list[StepResult]]:
    """In the order in which they are."""
    sections: dict[str, list[StepResult]] = {}
    for result in results:
        sections.setdefault(result.section.id, []).append(result)
    return list(sections.values())
