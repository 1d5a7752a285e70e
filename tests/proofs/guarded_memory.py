"""`guarded-memory`: no kernel reads or writes past its arrays, or after they are gone.

Kernels take addresses, so nothing looks at their bounds: one that is wrong spoils what lies beside, and the
process dies later and elsewhere, or not at all. Here the unit tests and the hostile proofs run in memory
where each block ends at a wall (`guarded_malloc.c`), Arrow's and Python's larger blocks too. A process that
dies of a signal is a failure, with the test it was in.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.proofs.result import Result

NAME = "guarded-memory"
SOURCE = Path(__file__).with_name("guarded_malloc.c")
# Rooms whose kernels read what a peer or a file sent, or keep books and tables of it.
PLACES = (
    ("tests/unit/books", "tests/unit/handler", "tests/unit/recovery", "tests/unit/sessions"),
    ("tests/unit/codecs", "tests/conformance"),
    ("tests/unit/feeds",),
    ("tests/unit/captures", "tests/unit/io", "tests/unit/market", "tests/unit/simulator"),
    ("tests/unit/lake",),
    tuple(
        f"tests/proofs/test_{name}_slice.py"
        for name in (
            "fast_hostile", "fuzz_fast", "fix_hostile", "session_hostile", "trademate_hostile",
            "impaired_days", "fast_impaired_days", "conflated_days",
        )
    ),
)  # fmt: skip
_PASSED = re.compile(rb"(\d+) passed")
_MOST_REFUSED = 0.01  # of blocks that the system had no mapping for


def compiler() -> str | None:
    return shutil.which("cc")


def build(folder: Path) -> Path:
    library = folder / "guarded_malloc.so"
    command = [
        str(compiler()),
        "-O2",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True)
    return library


def run_guarded(library: Path, *arguments: str) -> tuple[int, bytes, tuple[int, int]]:
    """A Python with these arguments: its status, what it printed, blocks with and without a wall."""
    report = library.with_name("report.txt")
    report.unlink(missing_ok=True)
    environment = os.environ | {
        "LD_PRELOAD": str(library), "GUARDED_REPORT": str(report), "ARROW_DEFAULT_MEMORY_POOL": "system",
        "PYTHONFAULTHANDLER": "1",
    }  # fmt: skip
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    guarded, refused = map(int, report.read_text().split()) if report.exists() else (0, 0)
    return done.returncode, done.stdout, (guarded, refused)


def cases(trials: int = len(PLACES), first: int = 1) -> list[int]:
    return list(range(1, min(trials, len(PLACES)) + 1))


def run_case(number: int, places: tuple[str, ...] = ()) -> tuple[Result, int]:
    """The tests of some places; and how many blocks had a wall."""
    places = places or PLACES[number - 1]
    result = Result(NAME, trials=1)
    with tempfile.TemporaryDirectory(prefix=f"pregao-{NAME}-") as folder:
        pytest = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *places)
        status, printed, (guarded, refused) = run_guarded(build(Path(folder)), *pytest)
    found = _PASSED.findall(printed)
    result.comparisons = int(found[-1]) if found else 0
    if status != 0 or not found:
        last = printed.decode(errors="replace").splitlines()[-30:]
        result.failures, result.failed = 1, [f"{NAME} case {number}: status {status}", *last]
    elif refused > _MOST_REFUSED * guarded:
        words = f"{refused} of {guarded + refused} blocks had no wall: raise vm.max_map_count"
        result.failures, result.failed = 1, [f"{NAME} case {number}: {words}"]
    return result, guarded


def summary(guarded: list[int]) -> dict[str, int]:
    return {"blocks_with_a_wall": sum(guarded)}
