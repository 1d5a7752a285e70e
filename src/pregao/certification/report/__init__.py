"""The form, filled in: as a page and a PDF in Portuguese and English, with the evidence of steps as files,
and as JUnit XML.

    digests = write_evidence(folder, segment, result)    after each step
    write_reports(folder, played, facts)                 at the end
"""

from collections.abc import Collection
from pathlib import Path

from pregao.certification.report.evidence import read_digests, write_evidence
from pregao.certification.report.form_pdf import form_pdf
from pregao.certification.report.junit import junit
from pregao.certification.report.page import page
from pregao.certification.report.summary import RunFacts, count
from pregao.certification.report.words import LANGUAGES
from pregao.certification.results import Played

__all__ = [
    "LANGUAGES",
    "RunFacts",
    "count",
    "form_pdf",
    "junit",
    "page",
    "read_digests",
    "write_evidence",
    "write_reports",
]


def write_reports(
    folder: Path, played: Played, facts: RunFacts, languages: Collection[str] = LANGUAGES, *, pdf: bool = True
) -> None:
    """`junit.xml`, and in each language `report.pt.html` and `report.pt.pdf`."""
    (folder / "junit.xml").write_text(junit(played), "utf-8")
    for language in languages:
        (folder / f"report.{language}.html").write_text(page(played, language, facts), "utf-8")
        if pdf:
            (folder / f"report.{language}.pdf").write_bytes(form_pdf(played, language, facts))
