"""The examples of docs/library.md, as they stand there: those of captures print what stands behind them,
those of live markets are only read (`test_listen` runs the like).

Nothing of what they print varies: the sample is the same day each time.
"""

import re
from pathlib import Path

import pytest

from pregao.simulator.sample import write_sample

from .pages import Example, Page, printed_by

PAGE = Page("docs/library.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("library")
    write_sample(made / "build" / "sample")
    return made


@pytest.mark.parametrize("example", PAGE.examples, ids=range(len(PAGE.examples)))
def test_examples_print_what_the_page_shows(example: Example, folder: Path) -> None:
    PAGE.check(example, printed_by(example.code, folder))


def test_every_example_of_captures_shows_its_output() -> None:
    assert (PAGE.unshown, len(PAGE.examples)) == (0, 6)
    assert all(example.shown for example in PAGE.examples)


def test_live_examples_can_be_read() -> None:
    live = re.findall(r"```py\n(.*?)```", PAGE.text, re.DOTALL)
    assert len(live) == 2
    for code in live:
        compile(code, "library.md", "exec")
