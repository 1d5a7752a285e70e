"""Files that the documents name are there: what moves takes its name in the documents along."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Not the changelog, which tells of the past.
PAGES = [*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
MENTIONED = re.compile(r"`([\w./-]+\.py)(?:::\w+)?`")


def _files() -> set[str]:
    tops = (ROOT / top for top in ("src/pregao", "tests", "examples"))
    return {path.relative_to(ROOT).as_posix() for top in tops for path in top.rglob("*.py")}


def test_files_that_documents_name_exist() -> None:
    """By any part of their path that ends with the name."""
    files = _files()
    ends = {"/".join(file.split("/")[start:]) for file in files for start in range(file.count("/") + 1)}
    gone = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in sorted(set(MENTIONED.findall(page.read_text(encoding="utf-8"))))
        if name not in ends
    ]
    assert len(files) > 500
    assert gone == []
