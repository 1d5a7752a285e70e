"""The examples of docs/library.md and docs/captures.md, as they stand there: those of captures print what
stands behind them, those of live markets are only read (`test_listen` runs the like).

Nothing of what they print varies: the sample is the same day each time.
"""

import re
from pathlib import Path

import pytest

from .pages import Example, Page, printed_by

LIBRARY, CAPTURES = Page("docs/library.md"), Page("docs/captures.md")
CASES = [
    pytest.param(page, example, id=f"{page.path.stem}-{number}")
    for page in (LIBRARY, CAPTURES)
    for number, example in enumerate(page.examples)
]


@pytest.mark.parametrize(("page", "example"), CASES)
def test_examples_print_what_the_page_shows(page: Page, example: Example, sample_root: Path) -> None:
    page.check(example, printed_by(example.code, sample_root))


@pytest.mark.parametrize(("page", "count"), [(LIBRARY, 6), (CAPTURES, 3)])
def test_every_example_of_captures_shows_its_output(page: Page, count: int) -> None:
    assert (page.unshown, len(page.examples)) == (0, count)
    assert all(example.shown for example in page.examples)


def test_live_examples_can_be_read() -> None:
    live = re.findall(r"```py\n(.*?)```", LIBRARY.text, re.DOTALL)
    assert len(live) == 2
    for code in live:
        compile(code, "library.md", "exec")
