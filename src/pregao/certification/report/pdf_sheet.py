"""Paper for the form: an A4 document of fpdf2, and what is drawn on it again and again.

Its letters are those of Western Europe: whatever else a client says is shown as a question mark.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pregao.certification.report.summary import RunFacts
from pregao.certification.report.words import PRINTED, VERDICTS, WORDS
from pregao.certification.results import BoxResult, Verdict
from pregao.extras import name_missing_extra

if TYPE_CHECKING:
    from fpdf import FPDF

Colour = tuple[int, int, int]
INK, SOFT, LINE, BRAND, WHITE = (22, 32, 44), (91, 103, 118), (214, 221, 229), (0, 57, 93), (255, 255, 255)
COLOURS: Final = {
    Verdict.PASSED: (18, 112, 60), Verdict.FAILED: (179, 38, 30), Verdict.INVALID: (138, 75, 0),
    Verdict.NOT_RUN: (91, 103, 118),
}  # fmt: skip
LINE_MM, PAD = 3.9, 1.4


def new_document(language: str, facts: RunFacts) -> "FPDF":
    """MissingExtraError where fpdf2 is not installed."""
    with name_missing_extra():
        from fpdf import FPDF
    words = WORDS[language]

    class Document(FPDF):
        def footer(self) -> None:
            self.set_y(-12)
            self.set_font("helvetica", size=7.5)
            self.set_text_color(*SOFT)
            self.cell(0, 5, latin(f"{words['title']} · {facts.system.title}"))
            self.set_x(self.l_margin)
            self.cell(0, 5, latin(f"{words['page']} {self.page_no()} {words['of']} {{nb}}"), align="R")

    document = Document(format="A4")
    document.set_margins(12, 12, 12)
    document.set_auto_page_break(True, 16)
    document.set_title(words["title"])
    document.set_lang("pt-BR" if language == "pt" else "en")
    document.set_creation_date(facts.created)
    document.add_page()
    return document


def latin(text: str) -> str:
    plain = text.replace("…", "...").replace("“", '"').replace("”", '"').replace("–", "-")
    shown = "".join(each if each.isprintable() or each == "\n" else "?" for each in plain)
    return shown.encode("latin-1", "replace").decode("latin-1")


class Sheet:
    """Draws on a document; places and sizes are in millimetres."""

    def __init__(self, document: "FPDF", language: str) -> None:
        self.pdf, self._verdicts = document, VERDICTS[language]

    def font(self, size: float, style: str = "", colour: Colour = INK) -> None:
        self.pdf.set_font("helvetica", style=style, size=size)
        self.pdf.set_text_color(*colour)

    def heading(self, text: str, size: float) -> None:
        if self.pdf.will_page_break(45):  # with the first step below it
            self.pdf.add_page()
        self.pdf.ln(3)
        self.font(size, "B", BRAND)
        self.pdf.start_section(latin(text), level=0 if size > 12 else 1)
        self.pdf.cell(0, size * 0.5, latin(text), new_x="LMARGIN", new_y="NEXT")
        self.pdf.ln(1)

    def stamp(self, text: str, colour: Colour) -> None:
        pdf = self.pdf
        pdf.set_fill_color(*WHITE)
        pdf.rect(pdf.w - 62, 11, 50, 12, style="F", round_corners=True, corner_radius=2)
        self.font(13, "B", colour)
        pdf.set_xy(pdf.w - 62, 11)
        pdf.cell(50, 12, latin(text), align="C")

    def counts(self, counts: Sequence[tuple[str, int, Colour]]) -> None:
        pdf, width = self.pdf, 186 / len(counts)
        top = pdf.get_y()
        pdf.set_draw_color(*LINE)
        for place, (word, number, colour) in enumerate(counts):
            left = 12 + place * width
            pdf.rect(left, top, width - 2, 14, round_corners=True, corner_radius=1.5)
            pdf.set_xy(left, top + 1.5)
            self.font(14, "B", colour)
            pdf.cell(width - 2, 6.5, str(number), align="C")
            pdf.set_xy(left, top + 8)
            self.font(8, "", SOFT)
            pdf.cell(width - 2, 4, latin(word), align="C")
        pdf.set_xy(12, top + 17)

    def lines(self, width: float, text: str) -> list[str]:
        found: Any = self.pdf.multi_cell(
            width - 2 * PAD, LINE_MM, latin(text), dry_run=True, output="LINES", align="L"
        )
        return list(found)

    def text(self, x: float, y: float, lines: Sequence[str], step: float = LINE_MM) -> None:
        for place, line in enumerate(lines):
            self.pdf.set_xy(x + PAD, y + 0.7 + place * step)
            self.pdf.cell(0, step, line)

    def ticks(self, box: BoxResult, x: float, y: float) -> None:
        """The boxes of the form: the one that holds is filled and has a mark."""
        pdf = self.pdf
        if box.verdict is Verdict.INVALID:
            self.font(8, "B", COLOURS[box.verdict])
            self.text(x, y - 0.9, [self._verdicts[box.verdict]])
            return
        for verdict, width in zip(PRINTED, (19.0, 13.0, 19.0), strict=True):
            is_on = box.verdict is verdict
            pdf.set_draw_color(*(COLOURS[verdict] if is_on else (160, 170, 180)))
            pdf.set_fill_color(*(COLOURS[verdict] if is_on else WHITE))
            pdf.rect(x + 1, y, 3.2, 3.2, style="DF")
            if is_on:
                self._mark(verdict, x + 1, y)
            self.font(7.5, "B" if is_on else "", COLOURS[verdict] if is_on else SOFT)
            pdf.set_xy(x + 4.4, y - 0.3)
            pdf.cell(width, 3.8, latin(self._verdicts[verdict]))
            x += width

    def _mark(self, verdict: Verdict, x: float, y: float) -> None:
        pdf = self.pdf
        pdf.set_draw_color(*WHITE)
        pdf.set_line_width(0.45)
        if verdict is Verdict.PASSED:
            pdf.polyline([(x + 0.7, y + 1.7), (x + 1.4, y + 2.4), (x + 2.6, y + 0.9)])
        elif verdict is Verdict.FAILED:
            pdf.line(x + 0.8, y + 0.8, x + 2.4, y + 2.4)
            pdf.line(x + 2.4, y + 0.8, x + 0.8, y + 2.4)
        else:
            pdf.line(x + 0.8, y + 1.6, x + 2.4, y + 1.6)
        pdf.set_line_width(0.2)
