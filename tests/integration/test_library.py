"""The examples of docs/library.md, as they stand there: those of captures print what stands behind them,
those of live markets are only read (`test_listen` runs the like).

Nothing of what they print varies: the sample is the same day each time. After a change of the simulated
market `python -m tests.integration.test_library` writes the new output into the page; look at it.
"""

import re
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from pregao.simulator.sample import write_sample

FILE = Path(__file__).parents[2] / "docs" / "library.md"
PAGE = FILE.read_text(encoding="utf-8")
SHOWN = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
READ = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)


def output_of(example: str, folder: Path) -> str:
    out = StringIO()
    with chdir(folder), redirect_stdout(out):
        exec(compile(example, "library.md", "exec"), {"__name__": "example"})
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_sample(folder / "build" / "sample")
    return folder


@pytest.mark.parametrize(("example", "shown"), SHOWN.findall(PAGE))
def test_examples_print_what_the_page_shows(example: str, shown: str, sample: Path) -> None:
    assert output_of(example, sample) == shown


def test_every_example_of_captures_shows_its_output() -> None:
    assert len(SHOWN.findall(PAGE)) == PAGE.count("```python\n") == 6
    assert all(shown for _, shown in SHOWN.findall(PAGE))


def test_live_examples_can_be_read() -> None:
    assert len(READ) == 2
    for example in READ:
        compile(example, "library.md", "exec")


def _rewritten(folder: Path) -> Callable[[re.Match[str]], str]:
    def rewrite(found: re.Match[str]) -> str:
        return f"```python\n{found[1]}```\n\n```text\n{output_of(found[1], folder)}```"

    return rewrite


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write_sample(Path(made) / "build" / "sample")
        FILE.write_text(SHOWN.sub(_rewritten(Path(made)), PAGE), encoding="utf-8")
