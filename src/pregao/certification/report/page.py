"""The form as a page: the columns of B3's, every box ticked, and below each step what it left as evidence."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import Final

from pregao.certification.desk_truth import BookRow, BookRows
from pregao.certification.report.evidence import book_depth, message_line, price_text
from pregao.certification.report.phrases import Phrases
from pregao.certification.report.reasons import reason_text
from pregao.certification.report.summary import Digests, RunFacts, by_section, count, outcome_word
from pregao.certification.report.words import PRINTED, SEGMENTS, VERDICTS, WORDS, need_letter
from pregao.certification.results import BoxResult, Played, StepResult, Verdict
from pregao.certification.scenario import Box, ScriptSegment

_MOST_SHOWN: Final = 100  # messages or lines of a step: the files have all
_CLASSES: Final = {
    Verdict.PASSED: "passed", Verdict.FAILED: "failed", Verdict.INVALID: "invalid", Verdict.NOT_RUN: "not",
}  # fmt: skip
_MARKS: Final = {Verdict.PASSED: "✓", Verdict.FAILED: "✕", Verdict.NOT_RUN: "–"}


@cache
def _style() -> str:
    return resources.files("pregao.certification.report").joinpath("style.css").read_text("utf-8")


def page(played: Played, language: str, facts: RunFacts) -> str:
    return "\n".join([*_Page(language, facts).parts(played), ""])


class _Page:
    def __init__(self, language: str, facts: RunFacts) -> None:
        self._language, self._facts = language, facts
        self._words, self._verdicts = WORDS[language], VERDICTS[language]
        self._phrases = Phrases(language, facts.system.derives)

    def parts(self, played: Played) -> Iterator[str]:
        words = self._words
        yield f'<!doctype html>\n<html lang="{"pt-BR" if self._language == "pt" else "en"}">'
        yield '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        yield f"<title>{words['title']}</title><style>{_style()}</style>"
        yield from self._head(played)
        yield '<main class="wrap">'
        yield from self._tiles(played)
        yield f'<p class="legend">{words["legend"]}</p>'
        for segment, results in played:
            yield f'<h2 id="{segment.value}">{SEGMENTS[self._language][segment]}</h2>'
            yield from self._links(segment, results)
            for own in by_section(results):
                yield from self._section(segment, own)
        yield f'</main><footer class="wrap">{words["subtitle"]} · {self._facts.date}</footer></html>'

    def _head(self, played: Played) -> Iterator[str]:
        words, facts, outcome = self._words, self._facts, outcome_word(played)
        yield '<header><div class="wrap"><div class="head"><div>'
        yield f"<h1>{words['title']}</h1><p>{words['subtitle']}</p></div>"
        yield f'<div class="stamp {outcome}">{words[outcome]}</div></div><dl>'
        details = [("system", facts.system.title), ("client", facts.client), ("date", facts.date)]
        if facts.unbroken is not None:
            details.append(("unbroken", words["whole" if facts.unbroken else "partial"]))
        for name, value in details:
            yield f"<div><dt>{words[name]}</dt><dd>{escape(value)}</dd></div>"
        yield "</dl></div></header>"

    def _tiles(self, played: Played) -> Iterator[str]:
        counts = count(played)
        boxes = sum(counts.values())
        yield f'<div class="tiles"><div class="tile"><b>{boxes}</b>{self._words["boxes"]}</div>'
        for verdict, number in counts.items():
            yield f'<div class="tile {_CLASSES[verdict]}"><b>{number}</b>{self._verdicts[verdict]}</div>'
        yield "</div>"

    def _links(self, segment: ScriptSegment, results: Sequence[StepResult]) -> Iterator[str]:
        yield "<nav>"
        for own in by_section(results):
            worst = _worst(own)
            section = own[0].section.id
            yield f'<a class="{_CLASSES[worst]}" href="#{segment.value}-{section}">{section}</a>'
        yield "</nav>"

    def _section(self, segment: ScriptSegment, results: Sequence[StepResult]) -> Iterator[str]:
        words, section = self._words, results[0].section
        title = section.title_pt if self._language == "pt" else section.title_en
        names = [name for each, name in SEGMENTS[self._language].items() if each in section.segments]
        yield f'<section id="{segment.value}-{section.id}"><h3>{escape(section.id)}. {escape(title)}'
        yield f"<small>{words['available']}: {', '.join(names)}</small></h3>"
        yield '<table class="form"><col class="id"><col class="description"><col>'
        yield '<col class="need"><col class="status">'
        columns = ("step", "description", "expected", "need", "status")
        yield f"<thead><tr>{''.join(f'<th>{words[each]}' for each in columns)}</thead><tbody>"
        for result in results:
            yield from self._step(segment, result)
        yield "</tbody></table></section>"

    def _step(self, segment: ScriptSegment, result: StepResult) -> Iterator[str]:
        step, boxes = result.step, result.boxes
        span = f' rowspan="{len(boxes)}"'
        for place, box in enumerate(boxes):
            first = place == 0
            yield "<tr>" if first else '<tr class="inner">'
            if first:
                yield f'<td class="id"{span}>{step.id}<td{span}>{escape(self._phrases.step(step))}'
            name = "" if box.box is Box.STEP else f'<span class="depth">{box.box.name}</span>'
            yield f"<td>{name}{escape(self._phrases.box(step.demands[box.box]))}{self._reasons(box)}"
            if first:
                yield f'<td class="need"{span}>{need_letter(step.id, step.need)}'
            yield f'<td class="status">{self._ticks(box)}'
        yield '<tr class="evidence"><td><td colspan="4">' + "".join(self._evidence(segment, result))

    def _ticks(self, box: BoxResult) -> str:
        ticks = "".join(
            f'<span class="tick{" on" if box.verdict is verdict else ""} {_CLASSES[verdict]}">'
            f"<i>{_MARKS[verdict] if box.verdict is verdict else ''}</i>{self._verdicts[verdict]}</span>"
            for verdict in PRINTED
        )
        badge = (
            f'<span class="badge">{self._verdicts[box.verdict]}</span>'
            if box.verdict is Verdict.INVALID
            else ""
        )
        return ticks + badge

    def _reasons(self, box: BoxResult) -> str:
        reasons = "<br>".join(escape(reason_text(each, self._language)) for each in box.reasons)
        return f'<div class="reasons {_CLASSES[box.verdict]}">{reasons}</div>' if reasons else ""

    # What is behind it

    def _evidence(self, segment: ScriptSegment, result: StepResult) -> Iterator[str]:
        words = self._words
        files = self._facts.files.get((segment, result.step.id), {})
        if not (result.commands or result.messages or result.lines or files or result.note):
            return
        counted = f"{words['messages'].lower()}: {len(result.messages)}"
        yield f"<details><summary>{words['evidence']} · {counted}</summary>"
        yield _listing(words["note"], [result.note] if result.note else ())
        yield _listing(words["commands"], result.commands)
        yield self._shortened(words["messages"], [message_line(each) for each in result.messages])
        yield self._shortened(words["sessions"], result.sessions)
        yield self._shortened(words["lines"], [json.dumps(line) for line in result.lines])
        if result.books:
            yield '<div class="books">'
            for box, (before, after) in result.books.items():
                name = "" if box is Box.STEP else f"{box.name} · "
                yield self._book(f"{name}{words['before']}", before)
                yield self._book(f"{name}{words['after']}", after)
            yield "</div>"
        yield _files(words["files"], files) + "</details>"

    def _shortened(self, title: str, lines: Sequence[str]) -> str:
        left = len(lines) - _MOST_SHOWN
        shown = [*lines[:_MOST_SHOWN], *([f"… {self._words['more']} {left}"] if left > 0 else [])]
        return _listing(f"{title} ({len(lines)})", shown)

    def _book(self, caption: str, book: BookRows) -> str:
        words = self._words
        head = f'<tr><th colspan="3">{words["bids"]}<th colspan="3">{words["offers"]}'
        rows = "".join(
            f"<tr>{self._cells(book.bids, place)}{self._cells(book.offers, place, mirrored=True)}"
            for place in range(book_depth(book))
        )
        return f"<table><caption>{caption}</caption>{head}{rows or self._no_rows()}</table>"

    def _no_rows(self) -> str:
        return f'<tr><td colspan="6">{self._words["empty"]}'

    def _cells(self, rows: Sequence[BookRow], place: int, *, mirrored: bool = False) -> str:
        """Prices of both sides meet in the middle."""
        if place >= len(rows):
            return "<td><td><td>"
        row = rows[place]
        cells = [str(row.orders), str(row.size), price_text(row.price, self._words["none"])]
        return "".join(f"<td>{each}" for each in (reversed(cells) if mirrored else cells))


def _worst(results: Iterable[StepResult]) -> Verdict:
    found = {box.verdict for result in results for box in result.boxes}
    order = (Verdict.INVALID, Verdict.FAILED, Verdict.PASSED)
    return next((each for each in order if each in found), Verdict.NOT_RUN)


def _listing(title: str, lines: Sequence[str]) -> str:
    return f"<h4>{escape(title)}</h4><pre>{escape(chr(10).join(lines))}</pre>" if lines else ""


def _files(title: str, files: Digests) -> str:
    if not files:
        return ""
    listed = "<br>".join(
        f'{digest}  <a href="{escape(path)}">{escape(path)}</a>' for path, digest in files.items()
    )
    return f'<h4>{title}</h4><div class="files">{listed}</div>'
