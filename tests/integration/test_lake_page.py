"""The examples of docs/lake.md, as they stand there, on the lake of the main job: what each prints is
compared with what stands behind it.

The lake is of the same day each time; `VARYING` names what differs from run to run.
"""

import re
import shlex

import pytest

from pregao.cli.main import main, make_parser

from .conftest import Ran
from .pages import Example, Page, printed_by, without_spaces

VARYING = {
    "<time>": r"(?<=1 build )\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00",  # when a version was committed
    "<build>           <time>                   ": r"[0-9a-f]{16}  2\d{3}-\d\d-\d\dT[\d:]{8}\+00:00",
    "<file>": r"[\w.-]+\.parquet",  # a name that no other attempt has
}
PAGE = Page("docs/lake.md", VARYING)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in re.findall(r"```sh\n(.*?)```", PAGE.text, re.DOTALL)
    for line in block.splitlines()
]
# These start a Spark of their own, write, take minutes, or want captures that only stand on the page.
ONLY_READ = ("build", "query", "compact", "simulate")


@pytest.mark.parametrize("example", PAGE.examples, ids=range(len(PAGE.examples)))
def test_examples_print_what_the_page_shows(example: Example, main_job: Ran) -> None:
    code = example.code
    if "umdf" in code:  # read by Spark's own processes, which are where the tests were started
        code = code.replace('"build/', f'"{main_job.copy}/build/')
    PAGE.check(example, printed_by(code, main_job.copy))


def test_every_example_shows_its_output() -> None:
    assert (PAGE.unshown, len(PAGE.examples)) == (0, 8)
    assert all(re.search(r"\w", example.shown) for example in PAGE.examples)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_is_understood(
    command: list[str], main_job: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(main_job.copy)
    if command[0] in ONLY_READ:
        assert make_parser().parse_args(command).run
        return
    assert main(command) == 0
    assert command[0] == "vacuum" or capsys.readouterr().out  # on a new lake there is nothing to delete


@pytest.mark.parametrize("command", PAGE.commands, ids=lambda command: command.code.strip())
def test_command_prints_what_the_page_shows(
    command: Example, main_job: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(main_job.copy)
    assert main(shlex.split(command.code)[1:]) == 0
    PAGE.check(command, without_spaces(capsys.readouterr().out))


def test_each_face_has_an_example() -> None:
    for word in ("table(", "to_pandas", "to_polars", "to_duckdb", "at(1)", 'format("umdf")'):
        assert any(word in example.code for example in PAGE.examples), word
    assert len(PAGE.commands) == 2
    lake_commands = {"build", "tables", "query", "book", "report", "compact", "vacuum"}
    assert lake_commands | {"simulate"} == {each[0] for each in COMMANDS}
