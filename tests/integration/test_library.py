"""The examples of docs/library.md, as they stand there: those of captures are run, those of live markets
only read (`test_listen` runs the like)."""

import re
from pathlib import Path

import pytest

from pregao.services.sample import write_sample

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
RUN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
READ = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    write_sample(folder / "build" / "sample")
    return folder


@pytest.mark.parametrize("example", RUN)
def test_example_runs_and_prints(
    example: str, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(sample)
    exec(compile(example, "library.md", "exec"), {})
    assert re.search(r"\d", capsys.readouterr().out)


def test_live_examples_can_be_read() -> None:
    assert len(RUN) == 3
    assert len(READ) == 2
    for example in READ:
        compile(example, "library.md", "exec")
