"""Documents whose examples are run. A page has an example as ```python, or a command line as ```sh, and right
behind it as ```text all that it prints. Tests compare the two. What differs from run to run is replaced by a
name on both sides; `varying` of a page lists it, and nothing else may differ.

After a change that is meant, `WRITE_PAGES=1 python -m pytest tests/integration/test_library.py` (or the test
of another page) writes what is printed now into the page. Look at the difference before you commit it.
"""

import os
import re
import runpy
import tempfile
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
WRITE: Final = "WRITE_PAGES"
_SHOWN: Final = re.compile(r"```(python|sh)\n((?:(?!```).)*)```\n\n```text\n(.*?)```", re.DOTALL)


class Example(NamedTuple):
    language: str
    code: str
    shown: str

    def on_page(self, shown: str) -> str:
        return f"```{self.language}\n{self.code}```\n\n```text\n{shown}```"


class Page:
    def __init__(self, name: str, varying: Mapping[str, str] | None = None) -> None:
        """`varying` has a pattern for each name that stands on the page for it, as `<time>`."""
        self.path = ROOT / name
        self._varying = {name: re.compile(pattern) for name, pattern in (varying or {}).items()}

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def examples(self) -> list[Example]:
        return [found for found in self._shown if found.language == "python"]

    @property
    def commands(self) -> list[Example]:
        """Those that show what they print."""
        return [found for found in self._shown if found.language == "sh"]

    @property
    def _shown(self) -> list[Example]:
        return [Example(*found) for found in _SHOWN.findall(self.text)]

    @property
    def unshown(self) -> int:
        """Examples that nothing is compared with."""
        return self.text.count("```python\n") - len(self.examples)

    def check(self, example: Example, printed: str) -> None:
        """Compare, or write what was printed into the page where that was asked for."""
        printed = self._settled(printed)
        if os.environ.get(WRITE):
            text = self.text.replace(example.on_page(example.shown), example.on_page(printed))
            self.path.write_text(text, encoding="utf-8")
            return
        assert printed == example.shown

    def _settled(self, printed: str) -> str:
        for name, pattern in self._varying.items():
            printed = pattern.sub(name, printed)
        return printed


def printed_by(code: str, folder: Path, name: str = "example") -> str:
    """All that it prints when it is run in this folder."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, f"{name}.py")
        file.write_text(code, encoding="utf-8")
        return printed_by_file(file, folder)


def printed_by_file(file: Path, folder: Path) -> str:
    out = StringIO()
    with chdir(folder), redirect_stdout(out):
        runpy.run_path(str(file), run_name="__main__")
    return without_spaces(out.getvalue())


def without_spaces(printed: str) -> str:
    """At the end of lines and of it all."""
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    return f"{lines.rstrip()}\n"
