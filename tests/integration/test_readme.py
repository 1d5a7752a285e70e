"""The README: its example prints what it shows, and everything it names is there."""

import re
from pathlib import Path

from pregao.cli.main import make_parser

from .pages import ROOT, Page, printed_by

PAGE = Page("README.md")


def test_the_example_prints_what_the_readme_shows(sample_root: Path) -> None:
    (example,) = PAGE.examples
    assert PAGE.unshown == 0
    assert example.shown
    assert len(example.code.splitlines()) <= 12
    PAGE.check(example, printed_by(example.code, sample_root))


def test_links_lead_somewhere_and_every_document_is_listed() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
    pages += (ROOT / "docs").glob("*.md")
    for page in pages:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)
    listed = set(re.findall(r"\(docs/([\w-]+\.md)\)", PAGE.text))
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_every_command_has_its_line_in_the_commands_page() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    (commands,) = make_parser()._subparsers._group_actions  # type: ignore[union-attr]
    assert commands.choices is not None
    for name in commands.choices:
        assert f"`pregao {name}" in page, name


def test_every_verb_of_make_that_it_names_is_there() -> None:
    verbs = set(re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) <= verbs, page
