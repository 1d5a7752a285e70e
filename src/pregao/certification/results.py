"""What playing the script gives: the verdict of each box of each step, and how a run ends with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pregao.certification import scenario as s
from pregao.certification.desk_truth import BookRows
from pregao.certification.scenario import Need, ScriptSegment
from pregao.certification.taps import TappedMessage
from pregao.feeds.publishing import OutgoingPacket

Line = Mapping[str, Any]


class Verdict(Enum):
    """Invalid: the exchange itself did not do what the script demands. Skipped: N/E in the form."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"
    NOT_RUN = "not run"


@dataclass(slots=True)
class BoxResult:
    box: s.Box
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    excused: bool = False  # not run, and not missed: another recovery is used, or nobody wants this depth


@dataclass(slots=True)
class StepResult:
    step: s.Step
    section: s.Section
    boxes: tuple[BoxResult, ...]
    commands: tuple[str, ...] = ()
    messages: tuple[TappedMessage, ...] = ()
    lines: tuple[Line, ...] = ()
    books: Mapping[s.Box, tuple[BookRows, BookRows]] = field(default_factory=dict)  # before and after
    sessions: tuple[str, ...] = ()  # what went over sessions of replayers
    note: str = ""  # of whoever judged by hand
    packets: tuple[tuple[int, OutgoingPacket], ...] = ()  # those of the messages, by channel

    @property
    def is_replay(self) -> bool:
        """Of a section that need not be played where another recovery is used (D2, D3)."""
        steps = self.section.steps
        return any(isinstance(act, s.ClientActs) and act.asks for step in steps for act in step.actions)

    @property
    def verdict(self) -> Verdict:
        found = {each.verdict for each in self.boxes}
        for verdict in (Verdict.INVALID, Verdict.FAILED, Verdict.NOT_RUN):
            if verdict in found:
                return verdict
        return Verdict.PASSED


Played = Sequence[tuple[ScriptSegment, Sequence[StepResult]]]
_MISSED_SHOWN = 12


def exit_status(played: Played) -> int:
    """3: the exchange missed a demand; 1: a required box failed, or was not played; 0: all passed. What is
    excused is not missed, nor what is optional; conditional boxes count once they are played."""
    boxes = [(result, box) for _, results in played for result in results for box in result.boxes]
    if any(box.verdict is Verdict.INVALID for _, box in boxes):
        return 3
    failed = any(
        box.verdict is Verdict.FAILED and result.step.need is not Need.OPTIONAL for result, box in boxes
    )
    return 1 if failed or any(missed_steps(played)) else 0


def missed_steps(played: Played) -> Iterator[str]:
    """Required steps of which some box was not judged."""
    for segment, results in played:
        for result in results:
            open_boxes = [box for box in result.boxes if box.verdict is Verdict.NOT_RUN and not box.excused]
            if open_boxes and result.step.need is Need.REQUIRED:
                yield f"{segment.value} {result.step.id}"


def missed_text(played: Played) -> str:
    """Those, in a line; empty where there are none."""
    missed = list(missed_steps(played))
    if not missed:
        return ""
    more = f" and {len(missed) - _MISSED_SHOWN} more" if len(missed) > _MISSED_SHOWN else ""
    return f"required steps not played: {', '.join(missed[:_MISSED_SHOWN])}{more}"


def is_unbroken(played: Played, broken: bool) -> bool:
    """All steps in order, in one run: nothing was chosen, resumed, repeated or left out."""
    return not broken and not any(missed_steps(played))
