"""The README's examples are run as they stand there."""

import re
from pathlib import Path

import pytest

from pregao.services.sample import write_sample

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    write_sample(folder / "build" / "sample", packets=3_000)
    return folder


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs_and_prints(
    example: str, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(sample)
    exec(compile(example, "README.md", "exec"), {})
    assert re.search(r"\d", capsys.readouterr().out)


def test_there_are_examples_of_both_faces() -> None:
    assert ["read_columns" in EXAMPLES[0], "decode_capture" in EXAMPLES[1]] == [True, True]
