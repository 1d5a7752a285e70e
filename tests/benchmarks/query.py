"""Commands on a small lake, each a process of its own: a fresh build of the sample day, and a query.

Wall time of the best of some runs, the first of which is left out: it compiles, and reads files into memory.
Beside it processor time, which says the same on a busy machine."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pregao.simulator.sample import write_sample

from .harness import Row

BUILD_BAR_S, QUERY_BAR_S = 12.0, 1.0
BUILDS, QUERIES = 3, 6
_KEPT = Path("build/bench-query")
_SQL = "select symbol, count(*) as n, sum(size) as volume from trades group by symbol order by n desc limit 5"


def measure() -> list[Row]:
    captures, lake = _KEPT / "sample", _KEPT / "lake"
    if not captures.exists():
        part = captures.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        write_sample(part)
        part.rename(captures)
    build = ["build", str(captures), "--lake", str(lake), "--no-progress"]
    query = ["query", _SQL, "--lake", str(lake), "--no-progress"]
    built = [_fresh(build, lake) for _ in range(BUILDS)][1:]
    asked = [_run(query) for _ in range(QUERIES)][1:]
    return [
        *_rows("build of the sample day", built, BUILD_BAR_S),
        *_rows("query of a small lake", asked, QUERY_BAR_S),
    ]


def _rows(name: str, took: list[tuple[float, float]], bar: float) -> list[Row]:
    wall, processor = (min(each) for each in zip(*took, strict=True))
    return [
        Row(f"{name}, warm", wall, "s", bar=bar, better="lower"),
        Row(f"{name}, processor time", processor, "s", better="lower"),
    ]


def _fresh(command: list[str], lake: Path) -> tuple[float, float]:
    shutil.rmtree(lake, ignore_errors=True)
    return _run(command)


def _run(command: list[str]) -> tuple[float, float]:
    before, began = _of_children(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pregao", *command], check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=os.environ,
    )  # fmt: skip
    return time.perf_counter() - began, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
