"""`python -m tests.halves`: all tests in two processes, for most of them use one core.

Whatever listens on the network is in the same half, one after the other. What the second half says is printed
when it is done.

A few tests that fail are run once more, alone, and both results are said: the machine has two noisy cores,
and a process that got none of them for a while looks like one that hangs. More than a few are a broken tree,
and are not tried again. A half whose process died of a signal (once, with Arrow, in a pool that a test let
go) has said nothing of the tests behind that place: it is run once more whole, and that it died is said.

pytest-xdist 3.8.0 was measured instead (`-n 2 --dist loadgroup`: a group for Spark, one for the network, one
for each other file), on 2,575 unit and receiving tests, two runs each within ten minutes on a machine that
others used:

    halves    122 and 81 s by the clock, 82 and 73 s of the processor (user)
    xdist     214 and 73 s by the clock, 96 and 86 s of the processor (user)

The clock follows the load of others and says nothing. The processor has a sixth more to do, probably because
each of xdist's processes collects every test. The whole suite was not run with it to its end, so that it is
as stable is not shown. So halves stay."""

import json
import subprocess
import sys
from pathlib import Path

from pregao.jobs.compiled import compile_all

# They are long and listen to nothing that others send.
_LONG = ("test_simulate*.py", "test_object_store.py", "test_umdf_source.py", "test_cut_captures.py",
         "test_systems_beside.py")  # fmt: skip
_ALONE = sorted(str(path) for pattern in _LONG for path in Path("tests/integration").glob(pattern))
HALVES = (
    ("tests/integration", "tests/proofs", *(f"--ignore={path}" for path in _ALONE)),
    ("tests/unit", "tests/conformance", "tests/benchmarks", *_ALONE),
)
BUILD = Path("build")
OUTPUT = BUILD / "test-second-half.txt"
TESTS_FAILED = 1  # pytest's exit status
FEW = 4


def command(number: int, *arguments: str) -> list[str]:
    """Each half has a cache of its own, which says what failed."""
    return [sys.executable, "-m", "pytest", *sys.argv[1:], "-o", f"cache_dir={cache(number)}", *arguments]


def cache(number: int) -> Path:
    return BUILD / f"pytest-half-{number}"


def failed(number: int) -> list[str]:
    file = cache(number) / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def once_more(number: int, status: int) -> int:
    if status < 0:
        print(f"DIED AT FIRST: half {number}, signal {-status}; run once more", flush=True)
        status = subprocess.run(command(number, "--cache-clear", *HALVES[number]), check=False).returncode
    names = failed(number) if status == TESTS_FAILED else []
    if not 0 < len(names) <= FEW:
        return status
    again = subprocess.run(command(number, "--last-failed", *HALVES[number]), check=False).returncode
    verdict = "passed" if again == 0 else "failed"
    print("\n".join(f"FAILED AT FIRST, {verdict} alone: {name}" for name in names), flush=True)
    return again


def main() -> int:
    compile_all()  # once, not by both
    BUILD.mkdir(exist_ok=True)
    with OUTPUT.open("w") as output:
        second = subprocess.Popen(
            command(1, "--cache-clear", *HALVES[1]), stdout=output, stderr=subprocess.STDOUT
        )
        first = subprocess.run(command(0, "--cache-clear", *HALVES[0]), check=False).returncode
        second.wait()
    print(OUTPUT.read_text(), end="", flush=True)
    statuses = [once_more(number, status) for number, status in enumerate((first, second.returncode))]
    return max(statuses, key=abs)


if __name__ == "__main__":
    sys.exit(main())
