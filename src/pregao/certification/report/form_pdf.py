"""The form as a PDF: what the page shows, made to be printed and signed, then the evidence of steps."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from pregao.certification.desk_truth import BookRows
from pregao.certification.report.evidence import book_depth, price_text
from pregao.certification.report.pdf_sheet import (
    BRAND,
    COLOURS,
    INK,
    LINE,
    LINE_MM,
    PAD,
    SOFT,
    WHITE,
    Sheet,
    latin,
    new_document,
)
from pregao.certification.report.phrases import Phrases
from pregao.certification.report.reasons import reason_text
from pregao.certification.report.summary import RunFacts, by_section, count, outcome_word
from pregao.certification.report.words import SEGMENTS, VERDICTS, WORDS, need_letter
from pregao.certification.results import BoxResult, Played, StepResult, Verdict
from pregao.certification.scenario import Box, ScriptSegment

_STAMPS: Final = {"approved": Verdict.PASSED, "refused": Verdict.FAILED, "broken": Verdict.INVALID}
_WIDTHS: Final = (13.0, 47.0, 66.0, 9.0, 51.0)  # mm: step, description, expected, need, status
_MOST_COMMANDS, _MOST_REASONS, _LONGEST = 40, 4, 400


def form_pdf(played: Played, language: str, facts: RunFacts) -> bytes:
    document = new_document(language, facts)
    _Form(Sheet(document, language), language, facts).write(played)
    return bytes(document.output())


class _Form:
    def __init__(self, sheet: Sheet, language: str, facts: RunFacts) -> None:
        self._sheet, self._pdf = sheet, sheet.pdf
        self._language, self._facts = language, facts
        self._words, self._verdicts = WORDS[language], VERDICTS[language]
        self._phrases = Phrases(language, facts.system.derives)

    def write(self, played: Played) -> None:
        self._cover(played)
        for segment, results in played:
            self._sheet.heading(SEGMENTS[self._language][segment], 14)
            for own in by_section(results):
                self._section(own)
        self._pdf.add_page()
        self._sheet.heading(self._words["appendix"], 14)
        for segment, results in played:
            for result in results:
                self._evidence(segment, result)

    def _cover(self, played: Played) -> None:
        pdf, words, facts, outcome = self._pdf, self._words, self._facts, outcome_word(played)
        pdf.set_fill_color(*BRAND)
        pdf.rect(0, 0, pdf.w, 38, style="F")
        self._sheet.font(19, "B", WHITE)
        pdf.set_xy(12, 9)
        pdf.cell(130, 9, latin(words["title"]), new_x="LMARGIN", new_y="NEXT")
        self._sheet.font(9.5, "", (205, 220, 232))
        pdf.cell(130, 6, latin(words["subtitle"]))
        self._sheet.stamp(words[outcome], COLOURS[_STAMPS[outcome]])
        pdf.set_xy(12, 43)
        details = [("system", facts.system.title), ("client", facts.client), ("date", facts.date)]
        if facts.unbroken is not None:
            details.append(("unbroken", words["whole" if facts.unbroken else "partial"]))
        for key, value in details:
            self._sheet.font(8.5, "", SOFT)
            pdf.cell(26, 5, latin(words[key]))
            self._sheet.font(8.5, "B")
            pdf.multi_cell(0, 5, latin(value[:_LONGEST]), new_x="LMARGIN", new_y="NEXT")
        pdf.ln(2)
        counts = count(played)
        self._sheet.counts([(words["boxes"], sum(counts.values()), INK)] + [
            (self._verdicts[verdict], number, COLOURS[verdict]) for verdict, number in counts.items()
        ])  # fmt: skip
        self._sheet.font(8, "", SOFT)
        pdf.multi_cell(0, 4, latin(words["legend"]), new_x="LMARGIN", new_y="NEXT")

    # The form

    def _section(self, results: Sequence[StepResult]) -> None:
        section = results[0].section
        title = section.title_pt if self._language == "pt" else section.title_en
        self._sheet.heading(f"{section.id}. {title}", 11)
        self._columns()
        for result in results:
            self._step(result)
        self._pdf.ln(2)

    def _columns(self) -> None:
        self._sheet.font(7.5, "B", SOFT)
        self._pdf.set_fill_color(246, 248, 250)
        for width, key in zip(_WIDTHS, ("step", "description", "expected", "need", "status"), strict=True):
            self._pdf.cell(width, 5.5, latin(self._words[key]), fill=True)
        self._pdf.ln(5.5)

    def _step(self, result: StepResult) -> None:
        """Rows of a step stay together: a page is begun where they do not fit."""
        self._sheet.font(8)
        description = self._sheet.lines(_WIDTHS[1], self._phrases.step(result.step))
        rows = [self._box_lines(result, box) for box in result.boxes]
        heights = [max(len(demanded) * LINE_MM, 5.0) + len(why) * 3.4 + PAD for demanded, why in rows]
        heights[-1] += max(0.0, len(description) * LINE_MM + PAD - sum(heights))
        pdf = self._pdf
        if pdf.will_page_break(min(sum(heights), 240)):
            pdf.add_page()
            self._columns()
        top, left = pdf.get_y(), pdf.l_margin
        pdf.set_draw_color(*LINE)
        pdf.line(left, top, left + sum(_WIDTHS), top)
        self._sheet.font(8, "B")
        self._sheet.text(left, top, [result.step.id])
        self._sheet.font(8)
        self._sheet.text(left + _WIDTHS[0], top, description)
        self._sheet.text(left + sum(_WIDTHS[:3]) + 1, top, [need_letter(result.step.id, result.step.need)])
        for box, (demanded, why), height in zip(result.boxes, rows, heights, strict=True):
            self._box(box, demanded, why, top)
            top += height
        pdf.set_y(top)

    def _box_lines(self, result: StepResult, box: BoxResult) -> tuple[list[str], list[str]]:
        name = "" if box.box is Box.STEP else f"{box.box.name}: "
        self._sheet.font(8)
        demanded = self._sheet.lines(_WIDTHS[2], name + self._phrases.box(result.step.demands[box.box]))
        self._sheet.font(7)
        reasons = [reason_text(each, self._language)[:_LONGEST] for each in box.reasons[:_MOST_REASONS]]
        if len(box.reasons) > _MOST_REASONS:
            reasons.append(f"{self._words['more']} {len(box.reasons) - _MOST_REASONS}")
        why = [line for each in reasons for line in self._sheet.lines(_WIDTHS[2] + _WIDTHS[4], each)]
        return demanded, why

    def _box(self, box: BoxResult, demanded: Sequence[str], why: Sequence[str], top: float) -> None:
        left = self._pdf.l_margin + sum(_WIDTHS[:2])
        self._sheet.font(8)
        self._sheet.text(left, top, demanded)
        self._sheet.font(7, "", COLOURS[box.verdict])
        self._sheet.text(left, top + max(len(demanded) * LINE_MM, 5.0), why, 3.4)
        self._sheet.ticks(box, left + _WIDTHS[2] + _WIDTHS[3], top + 0.9)

    # What is behind it

    def _evidence(self, segment: ScriptSegment, result: StepResult) -> None:
        files = self._facts.files.get((segment, result.step.id), {})
        if not result.commands and not result.messages and not files:
            return
        pdf, words = self._pdf, self._words
        if pdf.will_page_break(24):
            pdf.add_page()
        pdf.ln(1.5)
        self._sheet.font(9, "B", BRAND)
        title = f"{SEGMENTS[self._language][segment]} {result.step.id}"
        pdf.cell(0, 5, latin(title), new_x="LMARGIN", new_y="NEXT")
        commands = list(result.commands)
        listings: list[tuple[str, Sequence[str]]] = [
            (words["note"], [result.note] if result.note else []),
            (words["commands"], commands[:_MOST_COMMANDS] + ["..."] * (len(commands) > _MOST_COMMANDS)),
            (words["messages"], [_kinds(result)]),
            (words["lines"], [str(len(result.lines))]),
            (words["before"], _books(result, lambda pair: pair[0], words)),
            (words["after"], _books(result, lambda pair: pair[1], words)),
            (words["files"], [f"{digest}  {path}" for path, digest in files.items()]),
        ]
        for name, lines in listings:
            if lines:
                self._sheet.font(7.5, "B", SOFT)
                pdf.cell(0, 3.8, latin(name), new_x="LMARGIN", new_y="NEXT")
                pdf.set_font("courier", size=6.2)
                pdf.set_text_color(*INK)
                text = "\n".join(each[:_LONGEST] for each in lines)
                pdf.multi_cell(0, 3.1, latin(text), align="L", new_x="LMARGIN", new_y="NEXT")


def _kinds(result: StepResult) -> str:
    """How many of each kind: the files have them all."""
    counts: dict[str, int] = {}
    for message in result.messages:
        counts[message.kind] = counts.get(message.kind, 0) + 1
    return ", ".join(f"{number} x 35={kind}" for kind, number in counts.items()) or "0"


def _books(result: StepResult, which: Callable[[Any], BookRows], words: dict[str, str]) -> list[str]:
    lines = []
    for box, pair in result.books.items():
        book = which(pair)
        sides = [
            f"{words[name]} "
            + (
                ", ".join(f"{row.size}@{price_text(row.price, '-')} x{row.orders}" for row in rows)
                or words["empty"]
            )
            for name, rows in (("bids", book.bids), ("offers", book.offers))
        ]
        name = "" if box is Box.STEP else f"{box.name}  "
        lines.append(name + (" | ".join(sides) if book_depth(book) else words["empty"]))
    return lines
