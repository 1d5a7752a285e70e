"""The form, filled in: as a page in Portuguese or English with the evidence of steps, and as JUnit XML."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final
from xml.sax.saxutils import escape as escape_xml
from xml.sax.saxutils import quoteattr

from pregao.certification.desk import BookRow, BookRows
from pregao.certification.runner import BoxResult, StepResult, Verdict
from pregao.certification.scenario import Box, Need, Segment

_MOST_MESSAGES: Final = 200  # of a step that are shown
_WORDS: Final = {
    "pt": {
        "title": "Roteiro de Certificação UMDF", "step": "Passo", "need": "Req", "result": "Status",
        "evidence": "Evidência", "commands": "Comandos", "messages": "Mensagens", "lines": "O cliente disse",
        "before": "Antes", "after": "Depois", "summary": "Resumo", "boxes": "caixas",
        Verdict.PASSED: "Passou", Verdict.FAILED: "Falhou", Verdict.INVALID: "Inválido",
        Verdict.NOT_RUN: "N/E", Segment.EQUITIES: "Ações", Segment.DERIVATIVES: "Derivativos",
    },
    "en": {
        "title": "UMDF certification script", "step": "Step", "need": "Req", "result": "Status",
        "evidence": "Evidence", "commands": "Commands", "messages": "Messages", "lines": "The client said",
        "before": "Before", "after": "After", "summary": "Summary", "boxes": "boxes",
        Verdict.PASSED: "Passed", Verdict.FAILED: "Failed", Verdict.INVALID: "Invalid",
        Verdict.NOT_RUN: "N/E", Segment.EQUITIES: "Equities", Segment.DERIVATIVES: "Derivatives",
    },
}  # fmt: skip
LANGUAGES: Final = tuple(_WORDS)
_NEEDS: Final = {Need.REQUIRED: "S", Need.CONDITIONAL: "C", Need.OPTIONAL: "N"}
_STYLE: Final = (
    "body{font:14px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #d0d7de;padding:.35rem .6rem;"
    "text-align:left;vertical-align:top}.passed{color:#116329}.failed{color:#b3261e;font-weight:600}"
    ".invalid{color:#8a4600;font-weight:600}.not{color:#656d76}pre{overflow:auto;font-size:12px}"
)

Played = Sequence[tuple[Segment, Sequence[StepResult]]]


def count(played: Played) -> dict[Verdict, int]:
    """Boxes by verdict."""
    found = dict.fromkeys(Verdict, 0)
    for _, results in played:
        for result in results:
            for box in result.boxes:
                found[box.verdict] += 1
    return found


def exit_status(played: Played) -> int:
    """3: the exchange missed a demand; 1: a required box failed; 0: none did."""
    boxes = [(result, box) for _, results in played for result in results for box in result.boxes]
    if any(box.verdict is Verdict.INVALID for _, box in boxes):
        return 3
    failed = any(
        box.verdict is Verdict.FAILED and result.step.need is not Need.OPTIONAL for result, box in boxes
    )
    return 1 if failed else 0


# JUnit


def junit(played: Played) -> str:
    """A case for each box."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for segment, results in played:
        for section in dict.fromkeys(result.section.id for result in results):
            own = [result for result in results if result.section.id == section]
            parts += _suite(f"{segment.value} {section}", own)
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
        return f"<failure message={message}>{escape_xml(_printable(text))}</failure>"
    if box.verdict is Verdict.INVALID:
        return f"<error message={message}>{escape_xml(_printable(text))}</error>"
    return "<skipped/>" if box.verdict is Verdict.NOT_RUN else ""


def _printable(text: str) -> str:
    """Without what XML cannot hold, whatever a client said."""
    return "".join(each if each in "\t\n" or each.isprintable() else "?" for each in text)


# The page


def page(played: Played, language: str, client: str) -> str:
    words = _WORDS[language]
    counts = count(played)
    summary = ", ".join(f"{words[verdict]}: {number}" for verdict, number in counts.items())
    parts = [
        f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{words["title"]}</title>',
        f"<style>{_STYLE}</style><h1>{words['title']}</h1><p>{escape(client)}</p>",
        f"<p>{words['summary']}: {sum(counts.values())} {words['boxes']}. {summary}</p>",
    ]
    for segment, results in played:
        parts.append(f"<h2>{words[segment]}</h2>")
        for section in dict.fromkeys(result.section.id for result in results):
            own = [result for result in results if result.section.id == section]
            title = own[0].section.title_pt if language == "pt" else own[0].section.title_en
            parts.append(f"<h3>{escape(section)}. {escape(title)}</h3><table>")
            parts.append(f"<tr><th>{words['step']}<th>{words['need']}<th>{words['result']}")
            parts += (_row(result, language) for result in own)
            parts.append("</table>")
    return "\n".join([*parts, "</html>", ""])


def _row(result: StepResult, language: str) -> str:
    words = _WORDS[language]
    boxes = "".join(_box(box, language) for box in result.boxes)
    evidence = f"<details><summary>{words['evidence']}</summary>{_evidence(result, language)}</details>"
    line = escape(result.step.text)
    return f"<tr><td>{line}<td>{_NEEDS[result.step.need]}<td>{boxes}{evidence}"


def _box(box: BoxResult, language: str) -> str:
    name = "" if box.box is Box.STEP else f"{box.box.name}: "
    reasons = "".join(f"<br>{escape(reason)}" for reason in box.reasons)
    return f'<div class="{box.verdict.value}">{name}{_WORDS[language][box.verdict]}{reasons}</div>'


def _evidence(result: StepResult, language: str) -> str:
    words = _WORDS[language]
    shown = [message.text for message in result.messages[:_MOST_MESSAGES]]
    if len(result.messages) > len(shown):
        shown.append(f"… {len(result.messages) - len(shown)}")
    digest = hashlib.sha256("\n".join(message.text for message in result.messages).encode()).hexdigest()
    parts = [
        _listing(words["commands"], result.commands),
        _listing(f"{words['messages']} ({len(result.messages)}, sha256 {digest})", shown),
        _listing(words["lines"], [json.dumps(line) for line in result.lines[:_MOST_MESSAGES]]),
    ]
    for box, (before, after) in result.books.items():
        parts.append(_listing(f"{words['before']} {box.value}", _book(before)))
        parts.append(_listing(f"{words['after']} {box.value}", _book(after)))
    return "".join(parts)


def _listing(title: str, lines: Iterable[str]) -> str:
    return f"<h4>{escape(title)}</h4><pre>{escape(chr(10).join(lines))}</pre>"


def _book(book: BookRows) -> Iterator[str]:
    for name, rows in (("bid", book.bids), ("offer", book.offers)):
        for place, row in enumerate(rows, 1):
            yield f"{name} {place}: {_size(row)}"


def _size(row: BookRow) -> str:
    price = "none" if row.price is None else f"{row.price / 10_000:g}"
    return f"{row.size}@{price} x{row.orders}"
