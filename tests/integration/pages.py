"""Documents whose examples are run. A page has an example as

    ```python

and right behind it, as ```text, all that the example prints. Tests compare the two. What differs from run to
run is replaced by a name on both sides; `varying` of a page lists it, and nothing else may differ.

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
_SHOWN: Final = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
_CODE: Final = "```python\n"


class Example(NamedTuple):
    code: str
    shown: str


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
        return [Example(*found) for found in _SHOWN.findall(self.text)]

    @property
    def unshown(self) -> int:
        """Examples that nothing is compared with."""
        return self.text.count(_CODE) - len(self.examples)

    def check(self, example: Example, printed: str) -> None:
        """Compare, or write what was printed into the page where that was asked for."""
        printed = self._settled(printed)
        if os.environ.get(WRITE):
            old = f"{_CODE}{example.code}```\n\n```text\n{example.shown}```"
            new = f"{_CODE}{example.code}```\n\n```text\n{printed}```"
            self.path.write_text(self.text.replace(old, new), encoding="utf-8")
            return
        assert printed == example.shown

    def _settled(self, printed: str) -> str:
        for name, pattern in self._varying.items():
            printed = pattern.sub(name, printed)
        return printed


def printed_by(code: str, folder: Path, name: str = "example") -> str:
    """All that it prints when it is run in this folder, without spaces at the end of lines and empty lines at
    its end."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, f"{name}.py")
        file.write_text(code, encoding="utf-8")
        return printed_by_file(file, folder)


def printed_by_file(file: Path, folder: Path) -> str:
    out = StringIO()
    with chdir(folder), redirect_stdout(out):
        runpy.run_path(str(file), run_name="__main__")
    lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    return f"{lines.rstrip()}\n"
