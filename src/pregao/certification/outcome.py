"""How a run ends: the exit status, and whether it may be called unbroken."""

from collections.abc import Iterator, Sequence

from pregao.certification.runner import StepResult, Verdict
from pregao.certification.scenario import Need, Segment

Played = Sequence[tuple[Segment, Sequence[StepResult]]]
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
