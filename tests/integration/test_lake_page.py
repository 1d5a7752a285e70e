"""The examples of docs/lake.md, as they stand there, on the lake of the main job."""

import re
import shlex
from pathlib import Path

import pytest

from pregao.cli.main import _parser, main

from .conftest import Ran

PAGE = (Path(__file__).parents[2] / "docs" / "lake.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
# These start a Spark of their own, write, or want captures that only stand on the page.
ONLY_READ = ("build", "query", "compact")


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs_and_prints(
    example: str, main_job: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(main_job.root)
    if "umdf" in example:  # read by Spark's own processes, which are where the tests were started
        example = example.replace('"build/', f'"{main_job.root}/build/')
    exec(compile(example, "lake.md", "exec"), {})
    assert re.search(r"\d", capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_command_is_understood(
    command: list[str], main_job: Ran, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(main_job.root)
    if command[0] in ONLY_READ:
        assert _parser().parse_args(command).lake
        return
    assert main(command) == 0
    assert command[0] == "vacuum" or capsys.readouterr().out  # on a new lake there is nothing to delete


def test_each_face_has_an_example() -> None:
    for word in ("table(", "to_pandas", "to_polars", "to_duckdb", "at(1)", 'format("umdf")'):
        assert any(word in example for example in EXAMPLES), word
    assert {"build", "tables", "query", "book", "report", "compact", "vacuum"} == {
        each[0] for each in COMMANDS
    }
