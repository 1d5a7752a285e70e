"""Kernels that are not compiled yet: said in one line, once, and done before anybody waits for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pregao.jobs import compiled
from pregao.jobs.compiled import STEP, compiling
from pregao.kernel_cache import CACHE_DIR
from pregao.kernels import COMPILING
from tests.kits.lakes import make_days

LINE = f"pregao: {COMPILING} …\n"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of no name that says anything, and long enough that kernels look at it."""
    make_days(tmp_path_factory.mktemp("day"), seed=2, messages=600, one_file=True, truth=False)
    return next(tmp_path_factory.getbasetemp().rglob("capture.pcap"))


def test_the_first_use_says_so_and_the_second_has_no_need(capture: Path, tmp_path: Path) -> None:
    """In a pipe: a plain line on stderr, nothing of it on stdout."""
    source = str(Path(__file__).parents[2] / "src")
    environment = os.environ | {"PYTHONPATH": source, CACHE_DIR: str(tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    code = (
        "import sys\nfrom pregao.captures import streams\nfrom pregao.cli.main import main\n"
        "streams._PLAIN = 600\nsys.exit(main(['decode', sys.argv[1], '--limit', '3']))"
    )
    command = [sys.executable, "-c", code, str(capture)]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, check=True, text=True) for _ in range(2)
    )
    assert first.stderr == LINE
    assert second.stderr == ""
    assert first.stdout == second.stdout
    assert len(first.stdout.splitlines()) >= 3


def test_who_compiles_beside_other_work_is_done_with_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "marker"
    monkeypatch.setattr(compiled, "_marker", lambda: marker)
    monkeypatch.setattr(compiled, "compile_all", _Touch(marker))
    told: list[tuple[str, int, int]] = []
    with compiling(lambda *step: told.append(step)):
        assert told == [(STEP, 0, 1)]
    assert marker.exists()
    assert told == [(STEP, 0, 1), (STEP, 1, 1)]
    with compiling(lambda *step: told.append(step)):  # never again
        pass
    assert len(told) == 2


class _Touch:
    """Goes to another process, so it is no closure."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> None:
        self._path.touch()


def test_the_doctor_says_whether_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pregao.jobs.doctor import examine

    marker = tmp_path / "marker"
    monkeypatch.setattr(compiled, "_marker", lambda: marker)
    found = {check.what: check for check in examine()}["kernels"]
    assert (found.state, "doctor --compile" in found.advice) == ("note", True)
    marker.touch()
    assert {check.what: check.state for check in examine()}["kernels"] == "ok"
