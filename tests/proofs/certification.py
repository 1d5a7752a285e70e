"""Certification: both clients pass every box of both segments, and each bug of a client first fails at the
step and depths where the script is to find it. A case is a client or a bug in a segment."""

from typing import Any, Final

from pregao.certification.client import CertifyClient
from pregao.certification.scenario import ScriptSegment
from tests.proofs.result import Result
from tests.unit.certification.bugs import BUGS, PLAYED, first_failure, wanted_failure
from tests.unit.certification.kit import example_client, failures, play

NAME = "certification"
BOXES: Final = {ScriptSegment.EQUITIES: 178, ScriptSegment.DERIVATIVES: 151}
CLIENTS: Final = (example_client, CertifyClient)
CASES: Final = [
    *((client, segment) for client in CLIENTS for segment in ScriptSegment),
    *((bug, segment) for bug in BUGS for segment in ScriptSegment),
]


def cases(trials: int, first: int) -> list[int]:
    """All of them; no other seed has another."""
    return list(range(min(trials, len(CASES))))


def run_case(number: int) -> tuple[Result, Any]:
    what, segment = CASES[number]
    return (_bug(what, segment) if isinstance(what, str) else _client(what, segment)), None


def _client(make: Any, segment: ScriptSegment) -> Result:
    results = play(segment, make, PLAYED)
    boxes = sum(len(result.boxes) for result in results)
    found = [f"{step} {box}: {reasons[:1]}" for step, box, reasons in failures(results)]
    if boxes != BOXES[segment]:
        found.append(f"{boxes} boxes, not {BOXES[segment]}")
    return _result(boxes, 0, [f"{make.__name__} {segment.value} {each}" for each in found])


def _bug(bug: str, segment: ScriptSegment) -> Result:
    wanted, found = wanted_failure(bug, segment), first_failure(bug, segment)
    words = f"{bug}, {segment.value}: first fails at {found}, not {wanted}"
    return _result(1, 1, [words] if found != wanted else [])


def _result(comparisons: int, impairments: int, failed: list[str]) -> Result:
    return Result(NAME, 1, comparisons, impairments, len(failed), failed)
