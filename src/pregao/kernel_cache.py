"""Where the machine code of kernels is kept.

numba looks only at the file of a kernel, and does not notice when a kernel or a constant in *another* file
changes. So each kernel file has a folder of its own, named after a hash of that file and of every module of
ours that it imports, directly or through others: stale machine code cannot be loaded, and after a change only
what depends on it is compiled again.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

# Variables of the environment.
CACHE_DIR: Final = "PREGAO_CACHE_DIR"  # where machine code is kept instead of ~/.cache
# The number of the process that says when it compiles kernels: those that it starts are silent.
SAY_COMPILING: Final = "PREGAO_SAY_COMPILING"


HOME: Final = Path(__file__).parent
_KERNELS: Final = "kernels"  # the name of a kernel file, or of a folder of them
# Parsing with `ast` would cost every start some tens of milliseconds.
_FROM: Final = re.compile(r"^[ \t]*from (pregao[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT: Final = re.compile(r"^[ \t]*import (pregao[\w.]*)", re.MULTILINE)
_COMMENT: Final = re.compile(r"#[^\n]*")
_NAME: Final = re.compile(r"(\w+)(?:\s+as\s+\w+)?")


def kernel_files(home: Path = HOME) -> list[Path]:
    """`kernels.py` anywhere, and every module of a package `kernels`."""
    files = {*home.rglob(f"{_KERNELS}.py"), *home.rglob(f"{_KERNELS}/*.py")}
    return sorted(file for file in files if file.name != "__init__.py")


def sources(file: Path, home: Path = HOME) -> list[Path]:
    """A file and all modules of ours that it stands on."""
    seen: set[Path] = set()
    waiting = [file]
    while waiting:
        source = waiting.pop()
        if source not in seen:
            seen.add(source)
            waiting += _imported(source, home)
    return sorted(seen)


@cache
def _imported(source: Path, home: Path) -> tuple[Path, ...]:
    text = source.read_text(encoding="utf-8")
    return tuple(file for module in _modules(text) for file in _files(module, home))


def _modules(text: str) -> Iterator[str]:
    """Every name that may be a module; a name that is none has no file."""
    yield from _IMPORT.findall(text)
    for module, names in _FROM.findall(text):
        yield module
        for name in _NAME.findall(_COMMENT.sub("", names)):
            yield f"{module}.{name}"


def _files(module: str, home: Path) -> Iterator[Path]:
    place = home.parent.joinpath(*module.split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        # The face of the whole package imports everything, and kernels take nothing from it.
        if file.is_file() and file.parent != home.parent and file != home / "__init__.py":
            yield file


def state(files: list[Path], home: Path = HOME) -> str:
    """A short hash of names and contents."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{_name(file, home)}\0".encode())
        digest.update(_content(file))
    return digest.hexdigest()[:16]


@cache
def _content(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def _name(file: Path, home: Path) -> str:
    """The module as it is imported; a kernel outside of the package (a test's) has its file's name only."""
    inside = file.relative_to(home) if file.is_relative_to(home) else Path(file.name)
    return ".".join(inside.with_suffix("").parts)


@cache
def cache_root() -> Path:
    """The folder of all machine code of ours."""
    base = os.environ.get(CACHE_DIR) or os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "pregao" / _KERNELS
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written to must not keep the kernels from running
        return Path(tempfile.gettempdir()) / f"pregao-{os.getuid()}" / _KERNELS
    return folder


@cache
def folder_of(file: Path) -> Path:
    """The folder for the machine code of one kernel file, as it is and as what it stands on is."""
    return cache_root() / f"{_name(file, HOME)}-{state(sources(file))}"


def state_of_all() -> str:
    """Of all kernel files and what they stand on."""
    return state(sorted({source for file in kernel_files() for source in sources(file)}))
