"""Kernels keep their machine code on disk: a second process compiles nothing."""

import os
import subprocess
import sys
from pathlib import Path

from pregao.services.sample import write_sample

CHILD = """
import sys
from pregao.feeds.binary.kernels import decode
from pregao.services.columns import read_columns

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
