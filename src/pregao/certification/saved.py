"""What a run has found, saved after every step: a folder can be resumed after whatever ended the run before.

`steps.jsonl` has a line for each step, and one where a run begins. A step that is there twice counts
as it was last.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pregao.certification.desk_truth import BookRow, BookRows
from pregao.certification.results import BoxResult, StepResult, Verdict
from pregao.certification.scenario import Box, ScriptSegment, Section, Step
from pregao.certification.taps import TappedMessage
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Stream

FILE: Final = "steps.jsonl"
VERSION: Final = 1
_LARGEST: Final = 256 << 20  # bytes
_BROKEN_LINE: Final = "is no line of a run"


class SavedSteps:
    """`begin` starts a new file, or goes on with one."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def begin(self, settings: Mapping[str, Any], *, resumed: bool) -> None:
        line = json.dumps({"run": VERSION, "resumed": resumed, **settings})
        with self.path.open("a" if resumed else "w", encoding="utf-8") as file:
            if resumed and not _ends_with_line(self.path):
                file.write("\n")  # a run before was cut in the middle of one
            file.write(line + "\n")

    def add(self, segment: ScriptSegment, result: StepResult) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_as_json(segment, result)) + "\n")

    def load(
        self, sections: Mapping[ScriptSegment, tuple[Section, ...]], system: str
    ) -> dict[tuple[ScriptSegment, str], StepResult]:
        """Results by segment and step. ConfigurationError where nothing was saved, where it cannot be read or
        is of another system: a form is of one."""
        found: dict[tuple[ScriptSegment, str], StepResult] = {}
        steps = {
            (segment, step.id): (section, step)
            for segment, own in sections.items()
            for section in own
            for step in section.steps
        }
        for number, line in self._lines():
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise TypeError
                if "run" in record:
                    self._check_system(record.get("system", system), system)
                    continue
                key = ScriptSegment(record["segment"]), str(record["step"])
                if key in steps:
                    found[key] = _from_json(record, *steps[key])
            except (ValueError, KeyError, TypeError) as error:
                raise ConfigurationError(f"line {number} {_BROKEN_LINE}", file=str(self.path)) from error
        return found

    def _check_system(self, saved: object, system: str) -> None:
        if saved != system:
            raise ConfigurationError(
                f"has steps in {str(saved)[:20]!r}, not in {system!r}", file=str(self.path), key="system"
            )

    def _lines(self) -> Iterator[tuple[int, str]]:
        try:
            if self.path.stat().st_size > _LARGEST:
                raise ConfigurationError("is too large to be a run", file=str(self.path))
            lines = self.path.read_text("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"cannot be read: {error}", file=str(self.path)) from error
        if lines and lines[-1]:
            lines.pop()  # the run ended while it was written
        for number, line in enumerate(lines, 1):
            if line and not _is_cut(line, lines, number):
                yield number, line


def _is_cut(line: str, lines: list[str], number: int) -> bool:
    """A line that a run before could not finish: another run begins after it."""
    following = lines[number] if number < len(lines) else ""
    if not following.startswith('{"run"'):
        return False
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _ends_with_line(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        return file.read(1) in (b"", b"\n")


def _as_json(segment: ScriptSegment, result: StepResult) -> dict[str, Any]:
    return {
        "segment": segment.value,
        "step": result.step.id,
        "boxes": [
            [each.box.value, each.verdict.value, list(each.reasons), each.excused] for each in result.boxes
        ],
        "note": result.note,
        "commands": list(result.commands),
        "messages": [
            [each.channel, each.stream.name, each.number, each.kind, each.text, each.sent_ns]
            for each in result.messages
        ],
        "lines": [dict(each) for each in result.lines],
        "books": {box.value: [before, after] for box, (before, after) in result.books.items()},
        "sessions": list(result.sessions),
    }


def _from_json(record: Mapping[str, Any], section: Section, step: Step) -> StepResult:
    boxes = tuple(
        BoxResult(Box(box), Verdict(verdict), tuple(map(str, reasons)), bool(excused))
        for box, verdict, reasons, excused in record["boxes"]
    )
    messages = tuple(
        TappedMessage(channel, Stream[stream], number, kind, {}, text, sent_ns)
        for channel, stream, number, kind, text, sent_ns in record["messages"]
    )
    books = {Box(box): (_book(before), _book(after)) for box, (before, after) in record["books"].items()}
    return StepResult(
        step, section, boxes, tuple(record["commands"]), messages, tuple(record["lines"]), books,
        tuple(record["sessions"]), str(record["note"]),
    )  # fmt: skip


def _book(sides: Any) -> BookRows:
    return BookRows(*(tuple(BookRow(*row) for row in side) for side in sides))
