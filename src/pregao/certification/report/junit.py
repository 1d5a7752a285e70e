"""A run as JUnit XML: a suite for each section, a case for each box."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from pregao.certification.report.summary import by_section
from pregao.certification.results import BoxResult, Played, StepResult, Verdict
from pregao.certification.scenario import Box


def junit(played: Played) -> str:
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for segment, results in played:
        for own in by_section(results):
            parts += _suite(f"{segment.value} {own[0].section.id}", own)
    return "\n".join([*parts, "</testsuites>", ""])


def _suite(name: str, results: Sequence[StepResult]) -> Iterator[str]:
    boxes = [box for result in results for box in result.boxes]
    counts = {each: sum(box.verdict is each for box in boxes) for each in Verdict}
    yield (
        f'  <testsuite name={quoteattr(name)} tests="{len(boxes)}" failures="{counts[Verdict.FAILED]}" '
        f'errors="{counts[Verdict.INVALID]}" skipped="{counts[Verdict.NOT_RUN]}">'
    )
    for result in results:
        for box in result.boxes:
            case = result.step.id if box.box is Box.STEP else f"{result.step.id} {box.box.name}"
            named = f"classname={quoteattr(name)} name={quoteattr(case)}"
            yield f"    <testcase {named}>{_outcome(box)}</testcase>"
    yield "  </testsuite>"


def _outcome(box: BoxResult) -> str:
    text = "\n".join(box.reasons)
    message = quoteattr(_printable(box.reasons[0]) if box.reasons else "")
    if box.verdict is Verdict.FAILED:
        return f"<failure message={message}>{escape(_printable(text))}</failure>"
    if box.verdict is Verdict.INVALID:
        return f"<error message={message}>{escape(_printable(text))}</error>"
    return "<skipped/>" if box.verdict is Verdict.NOT_RUN else ""


def _printable(text: str) -> str:
    """Without what XML cannot hold, whatever a client said."""
    return "".join(each if each in "\t\n" or each.isprintable() else "?" for each in text)
