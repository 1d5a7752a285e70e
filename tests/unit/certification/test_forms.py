"""The form that a run fills in: as JUnit XML, as a page, as a PDF, and its evidence as files."""

import hashlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from junitparser import JUnitXml
from pypdf import PdfReader
from pypdf.generic import ContentStream

from pregao.certification import derived, judging, replay_judging
from pregao.certification.desk import CertificationDesk
from pregao.certification.report import RunFacts, count, form_pdf, junit, page, write_evidence
from pregao.certification.report.reasons import reason_text
from pregao.certification.results import BoxResult, StepResult, Verdict
from pregao.certification.runner import ScriptRunner
from pregao.certification.scenario import DeskActs, ScriptSegment
from pregao.certification.scenario_files import sections_for
from pregao.cli.main import main
from pregao.simulator.operator.calls import CALLS
from pregao.simulator.operator.json_forms import parse_json, read_command
from tests.unit.certification.kit import example_client, play
from tests.unit.certification.test_report import PASSED, SECTIONS, step_result


def test_junit_has_a_case_for_each_box(tmp_path: Path) -> None:
    """As junitparser reads it, which is not ours."""
    bad = ("B1.2 MBP bid 3: size 150 expected, <50> seen\x00",)
    results = [
        step_result("B1.1", *PASSED),
        step_result("B1.2", Verdict.PASSED, Verdict.FAILED, Verdict.INVALID, reasons=bad),
    ]
    results.append(step_result("A.1", Verdict.NOT_RUN))
    file = tmp_path / "junit.xml"
    file.write_text(junit([(ScriptSegment.EQUITIES, results)]), "utf-8")
    found = JUnitXml.fromfile(str(file))
    cases = {case.name: [type(each).__name__ for each in case.result] for suite in found for case in suite}
    assert cases == {
        "B1.1 MBO": [], "B1.1 MBP": [], "B1.1 TOB": [], "B1.2 MBO": [], "B1.2 MBP": ["Failure"],
        "B1.2 TOB": ["Error"], "A.1": ["Skipped"],
    }  # fmt: skip
    suites = {suite.name: suite for suite in found}
    assert (suites["equities B1"].tests, suites["equities B1"].failures, suites["equities B1"].errors) == (
        6,
        1,
        1,
    )
    (failure,) = next(case for case in suites["equities B1"] if case.name == "B1.2 MBP").result
    assert failure.message == "B1.2 MBP bid 3: size 150 expected, <50> seen?"


def test_every_box_of_the_script_is_a_case(tmp_path: Path) -> None:
    for segment, boxes in ((ScriptSegment.EQUITIES, 178), (ScriptSegment.DERIVATIVES, 151)):
        file = tmp_path / "junit.xml"
        file.write_text(junit([(segment, _whole_script(segment))]), "utf-8")
        cases = [case for suite in JUnitXml.fromfile(str(file)) for case in suite]
        assert len(cases) == len({(case.classname, case.name) for case in cases}) == boxes


def _whole_script(segment: ScriptSegment) -> list[StepResult]:
    """Every step: passed, but for a failed and an invalid one, and D3, which is not executed."""
    results = []
    for section in sections_for(segment):
        for step in section.steps:
            verdict = Verdict.NOT_RUN if section.id == "D3" else Verdict.PASSED
            verdict = {"B1.4": Verdict.FAILED, "B2.2": Verdict.INVALID}.get(step.id, verdict)
            reasons = (f"{step.id} MBP bid 1: price none expected, 0.00 seen",) if step.id == "B1.4" else ()
            boxes = tuple(BoxResult(box, verdict, reasons) for box in step.boxes)
            results.append(StepResult(step, section, boxes))
    return results


# The page and the form


def _played() -> list[StepResult]:
    results = play(ScriptSegment.EQUITIES, example_client, frozenset(("B1",)))
    results.append(
        step_result(
            "B2.1", Verdict.FAILED, *PASSED[1:], reasons=("B2.1 MBO bid 1: price none expected, <0> seen",)
        )
    )
    return results


def test_pages_are_like_the_form_and_hold_the_evidence(tmp_path: Path) -> None:
    results = _played()
    files = {(ScriptSegment.EQUITIES, "B1.2"): write_evidence(tmp_path, ScriptSegment.EQUITIES, results[1])}
    facts = RunFacts("cliente <x>", files=files)
    portuguese = page([(ScriptSegment.EQUITIES, results)], "pt", facts)
    english = page([(ScriptSegment.EQUITIES, results)], "en", facts)
    for word in (
        "Passou", "Falhou", "N/E", "Pré-Abertura", "Ações", "cliente &lt;x&gt;",
        "B2.1 MBO compra 1: esperado preço nenhum, visto &lt;0&gt;",
        "Mesa: compra 100@P (c).", "Compra 6: nova 100@P", "Sem atualização", "REPROVADO", "UMDF FIX/FAST",
    ):  # fmt: skip
        assert word in portuguese
    for word in (
        "Passed", "Failed", "Pre-open", "B2.1 MBO bid 1: price none expected, &lt;0&gt; seen",
        "POST /v1/orders/new", "35=X", "625=17", "Desk: buy 100@P (c).",
        "Bid 6: new 100@P", "No update", "Offers", *files[ScriptSegment.EQUITIES, "B1.2"].values(),
    ):  # fmt: skip
        assert word in english
    assert count([(ScriptSegment.EQUITIES, results)])[Verdict.PASSED] == 20


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        (
            "B1.4 MBP bid 1: price none expected, 0.00 seen",
            "B1.4 MBP compra 1: esperado preço nenhum, visto 0.00",
        ),
        ("B1.1 MBO second instrument book: none seen", "B1.1 MBO segundo instrumento livro: nenhum visto"),
        (
            "C1 MBO news: 'bid price' expected, none seen",
            "C1 MBO notícia: esperado 'bid price', visto nenhum",
        ),
        ("B1.1 the client ended with status 7", "B1.1 o cliente terminou com status 7"),
        (
            "bid entries [(0, 6, 100, 100, 1)] sent, [] demanded",
            "compra: enviado [(0, 6, 100, 100, 1)], exigido []",
        ),
        ("no message f 326=2 1174=101", "nenhuma mensagem f 326=2 1174=101"),
        ("the snapshot has other offers than the book", "vendas do snapshot não são as do livro"),
        ("the replayer sent 2 from 4 to 5 of 4 to 6", "o replayer enviou 2 de 4 a 5 de 4 a 6"),
        ("a sentence of nobody", "a sentence of nobody"),
    ],
)
def test_reasons_are_told_in_portuguese(english: str, portuguese: str) -> None:
    assert reason_text(english, "pt") == portuguese
    assert reason_text(english, "en") == english


_FAULT = re.compile(r"yield (?:f?\"([^\"]+)\")|_faults\.append\(f\"([^\"]+)\"")


@pytest.mark.parametrize("module", [judging, derived, replay_judging])
def test_every_sentence_of_a_judge_has_its_portuguese(module: ModuleType) -> None:
    """As the sources have them, with a number where they put something in."""
    sentences = [one or other for one, other in _FAULT.findall(inspect.getsource(module))]
    assert len(sentences) >= 3
    for sentence in sentences:
        english = re.sub(r"\{SIDE_WORDS[^}]*\}|\{word\}", "bid", sentence)
        english = re.sub(r"\{[^}]*\}", "7", english)
        assert reason_text(english, "pt") != english, english


class _Ticks(HTMLParser):
    """Which of the printed boxes of each row are ticked."""

    def __init__(self) -> None:
        super().__init__()
        self.ticked: list[str] = []
        self._is_on = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._is_on = tag == "span" and "tick on" in (dict(attributes).get("class") or "")

    def handle_data(self, data: str) -> None:
        if data.strip() in ("Passed", "Failed", "N/E") and self._is_on:
            self.ticked.append(data.strip())
        elif data.strip() in "✓✕–":
            self._is_on = True  # the mark stands before its word


def test_each_box_of_a_page_is_ticked_once() -> None:
    ticks = _Ticks()
    ticks.feed(page([(ScriptSegment.EQUITIES, _whole_script(ScriptSegment.EQUITIES))], "en", RunFacts()))
    # 68 steps: B1.4 failed in three boxes, B2.2 is invalid in three and has no tick, D3 has five.
    assert Counter(ticks.ticked) == {"Passed": 178 - 3 - 3 - 5, "Failed": 3, "N/E": 5}


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("segment", ScriptSegment)
def test_the_pdf_has_every_section_step_and_box(segment: ScriptSegment, language: str) -> None:
    """As pypdf reads it, which is not ours."""
    results = _whole_script(segment)
    content = form_pdf([(segment, results)], language, RunFacts("client – ✓ \x00", unbroken=False))
    reader = PdfReader(BytesIO(content))
    text = "\n".join(each.extract_text() for each in reader.pages)
    for result in results:
        section = result.section
        title = section.title_pt if language == "pt" else section.title_en
        assert f"{section.id}. {title}" in text
        assert result.step.id in text.split()
    words = ("Passou", "Falhou", "Inválido") if language == "pt" else ("Passed", "Failed", "Invalid")
    counts = {word: len(re.findall(rf"(?<!\\w){word}(?!\\w)", text)) for word in (*words, "N/E")}
    boxes = sum(len(each.boxes) for each in results)
    # On every box that is valid, and in the summary; N/E and Invalid are in the legend too.
    assert counts == {
        words[0]: boxes - 3 + 1, words[1]: boxes - 3 + 1, "N/E": boxes - 3 + 2, words[2]: 3 + 2,
    }  # fmt: skip
    why = "price none expected, 0.00 seen" if language == "en" else "esperado preço nenhum, visto 0.00"
    assert why in text
    assert "client - ? ?" in text
    assert reader.metadata is not None
    assert reader.metadata.title == (
        "Roteiro de Certificação UMDF" if language == "pt" else "UMDF certification script"
    )


def test_the_right_boxes_of_a_pdf_are_filled() -> None:
    """Boxes are drawn, three a row: Passed, N/E, Failed. The one that holds is not white."""
    results = [step_result("B1.1", Verdict.PASSED, Verdict.FAILED, Verdict.NOT_RUN)]
    content = form_pdf([(ScriptSegment.EQUITIES, results)], "en", RunFacts())
    drawn = PdfReader(BytesIO(content)).pages[0].get_contents()
    assert drawn is not None
    colours: list[list[float]] = [[]]
    squares = []
    for operands, operator in ContentStream(drawn, None).operations:
        if operator == b"q":
            colours.append(colours[-1])
        elif operator == b"Q":
            colours.pop()
        elif operator == b"rg":
            colours[-1] = [float(each) for each in operands]
        elif operator == b"re" and abs(float(operands[2])) < 10:
            squares.append((-float(operands[1]), float(operands[0]), colours[-1] != [1, 1, 1]))
    filled = [is_filled for _, _, is_filled in sorted(squares)]
    assert filled == [True, False, False, False, False, True, False, True, False]


def test_a_pdf_without_its_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "fpdf", None)
    arguments = ["certify", "--segment", "derivatives", "--steps", "A", "--out", str(tmp_path)]
    assert main(arguments) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].count("pregao[certify]") == 1
    assert main([*arguments, "--no-pdf", "--language", "pt"]) == 1  # which leaves required steps out
    assert not (tmp_path / "report.pt.pdf").exists()
    assert (tmp_path / "report.pt.html").exists()
    assert not (tmp_path / "report.en.html").exists()


# Evidence


@pytest.mark.parametrize("system", ["fast", "binary", "conflated"])
def test_evidence_is_what_was_sent(system: str, tmp_path: Path) -> None:
    """`sha256sum -c` agrees, and our own decoder reads the same messages from the capture."""
    desk = CertificationDesk(ScriptSegment.EQUITIES, system)
    (section,) = [each for each in sections_for(ScriptSegment.EQUITIES) if each.id == "B1"]
    result = ScriptRunner(desk).play(section)[5]
    digests = write_evidence(tmp_path, ScriptSegment.EQUITIES, result)
    folder = tmp_path / "evidence" / "equities" / "B1.6"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        assert digests[f"evidence/equities/B1.6/{name}"] == digest
    assert sorted(path.name for path in folder.iterdir()) == [
        "SHA256SUMS", "books.txt", "client.jsonl", "commands.txt", "messages.pcap", "messages.txt",
    ]  # fmt: skip
    assert (folder / "commands.txt").read_text().startswith('POST /v1/phases/change {"group": "01"')
    assert "mbo after\n  bid 1: 10@10.00 x1\n" in (folder / "books.txt").read_text()
    messages = (folder / "messages.txt").read_text().splitlines()
    assert len(messages) == len(result.messages) > 0
    with (folder / "messages.pcap").open("rb") as file:
        packets = list(payloads_of(file.read()))
    assert packets == [packet.payload for _, packet in result.packets]


def payloads_of(data: bytes) -> Iterator[bytes]:
    """Payloads of UDP and TCP, read by hand: Ethernet 14, IPv4 20, UDP 8, TCP by its own length."""
    at = 24
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        frame = data[at + 16 : at + 16 + length]
        at += 16 + length
        is_tcp = frame[23] == 6
        yield frame[34 + (frame[46] >> 4) * 4 if is_tcp else 42 :]


def test_commands_are_those_of_the_operator_interface() -> None:
    """What evidence says would do the same again."""
    done: list[Any] = []

    class Noting(CertificationDesk):
        def execute(self, command: Any) -> Any:
            done.append(command)
            return super().execute(command)

    desk = Noting(ScriptSegment.EQUITIES, "binary")
    for section in SECTIONS:
        desk.about = desk.instrument
        commands = [
            act.commands for step in section.steps for act in step.actions if isinstance(act, DeskActs)
        ]
        for command in (*section.preparation, *chain.from_iterable(commands)):
            if command.verb not in ("mark", "history"):
                desk.do(command)
    written = desk.take_written()
    assert len(written) == len(done) > 100
    kinds = {call.path: call.command for call in CALLS}
    for line, command in zip(written, done, strict=True):
        _, path, body = line.split(" ", 2)
        assert read_command(kinds[path], parse_json(body.encode()), Nobody()) == replace(command, now_ns=0)


class Nobody:
    """A market of which nothing has to be known: instruments go by their ids."""

    def now_ns(self) -> int:
        raise AssertionError

    def find(self, symbol: str) -> int:
        raise AssertionError
