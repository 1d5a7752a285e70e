"""Kernels keep their machine code on disk: a second process compiles nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pregao.kernel_cache import CACHE_DIR
from pregao.simulator.sample import write_sample

CHILD = """
import sys
from pregao.feeds.binary.kernels.packets import decode
from pregao.captures.columns import read_columns

assert sum(batch.messages for batch in read_columns(sys.argv[1])) > 0
print(sum(decode.stats.cache_hits.values()), sum(decode.stats.cache_misses.values()))
"""


def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    capture = write_sample(tmp_path / "sample", messages=500)[0]
    source = str(Path(__file__).parents[2] / "src")
    results = [
        subprocess.run(
            [sys.executable, "-c", CHILD, str(capture)],
            env=os.environ | {"PYTHONPATH": source},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert results[1] == ["1", "0"]


def test_another_checkout_with_the_same_kernels_compiles_nothing(tmp_path: Path) -> None:
    """Machine code is found by what the sources say, not by where they are."""
    home = Path(__file__).parents[2] / "src" / "pregao"
    shutil.copytree(home, tmp_path / "elsewhere" / "pregao", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {CACHE_DIR: str(tmp_path / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)
    code = (
        "from pregao.kernels import make_ready\nfrom pregao.lake.plan.kernels import content_hash\n"
        "make_ready([content_hash])\nprint(sum(content_hash.stats.cache_hits.values()))"
    )
    hits = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment | {"PYTHONPATH": str(source)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for source in (home.parent, tmp_path / "elsewhere")
    ]
    assert hits == ["0\n", "1\n"]
