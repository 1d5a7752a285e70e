"""`python -m tests.halves`: all tests in two processes, for most of them use one core.

Whatever listens on the network is in the same half, one after the other. What the second half says is printed
when it is done.

pytest-xdist 3.8.0 was measured instead (`-n 2 --dist loadgroup`: a group for Spark, one for the network, one
for each other file), on 2,575 unit and receiving tests, two runs each within ten minutes on a machine that
others used:

    halves    122 and 81 s by the clock, 82 and 73 s of the processor (user)
    xdist     214 and 73 s by the clock, 96 and 86 s of the processor (user)

The clock follows the load of others and says nothing. The processor has a sixth more to do, probably because
each of xdist's processes collects every test. The whole suite was not run with it to its end, so that it is
as stable is not shown. So halves stay."""

import subprocess
import sys
from pathlib import Path

from pregao.jobs.compiled import compile_all

# They are long and listen to nothing that others send.
_ALONE = sorted(
    str(path)
    for pattern in ("test_simulate*.py", "test_object_store.py", "test_umdf_source.py")
    for path in Path("tests/integration").glob(pattern)
)
HALVES = (
    ("tests/integration", "tests/proofs", *(f"--ignore={path}" for path in _ALONE)),
    ("tests/unit", "tests/conformance", "tests/benchmarks", *_ALONE),
)
OUTPUT = Path("build/test-second-half.txt")


def main() -> int:
    compile_all()  # once, not by both
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w") as output:
        command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        second = subprocess.Popen([*command, *HALVES[1]], stdout=output, stderr=subprocess.STDOUT)
        first = subprocess.run([*command, *HALVES[0]], check=False).returncode
        second.wait()
    print(OUTPUT.read_text(), end="")
    return first or second.returncode


if __name__ == "__main__":
    sys.exit(main())
