"""The README's examples are run as they stand there."""

import re
from pathlib import Path

import pytest

from pregao.simulator.sample import write_sample

from .conftest import Ran

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def made(main_job: Ran) -> Path:
    """Where `make run` was run and the sample was made."""
    write_sample(main_job.root / "build" / "sample")
    return main_job.root


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs_and_prints(
    example: str, made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    exec(compile(example, "README.md", "exec"), {})
    assert re.search(r"\d", capsys.readouterr().out)


def test_there_are_examples_of_both_faces() -> None:
    assert ["read_columns" in EXAMPLES[0], "decode_capture" in EXAMPLES[1]] == [True, True]
    assert any("lake.table(" in example for example in EXAMPLES)
    assert any("to_duckdb" in example for example in EXAMPLES)
