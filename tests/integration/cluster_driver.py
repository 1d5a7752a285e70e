"""`python -m tests.integration.cluster_driver MASTER CAPTURES LAKE MODE MARKS`: a build on a cluster in which
something happens to slices. A process of its own, for a process has one Spark.

`lost`: the executor of one dies when its files are written. `late`: one sleeps when its files are written, so
that Spark begins another attempt elsewhere. `alone`: one waits until another executor is at work, too.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pregao.kernel_cache import CACHE_DIR, cache_root
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.runners import Progress, SparkRunner, Task, description
from pregao.lake.spark.session import local_session
from pregao.lake.store.location import Location
from tests.kits.lakes import SMALL_PIECES

LOST, LATE, ALONE = "lost", "late", "alone"
PATIENCE_S = 120
_SPECULATION = {
    "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.5", "spark.speculation.minTaskRuntime": "100ms",
}  # fmt: skip


class DisturbedRunner:
    """Spark's, with something that happens in tasks that build slices."""

    def __init__(self, runner: SparkRunner, mode: str, marks: str) -> None:
        self._runner, self._mode, self._marks = runner, mode, marks

    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        if not description().endswith("slices"):
            return self._runner.run(task, items, progress)
        numbered = list(enumerate(items))
        changed = partial(disturbed, task=task, mode=self._mode, marks=self._marks)
        return self._runner.run(changed, numbered, progress)


def disturbed(numbered: tuple[int, Any], task: Task, mode: str, marks: str) -> Any:
    """In a worker. A mark is a file that names the slice, the attempt at it and the executor."""
    number, item = numbered
    attempt = len(list(Path(marks).glob(f"{number}-*")))
    executor = Path.cwd().parent.parent.name + Path.cwd().name
    Path(marks, f"{number}-{attempt}-{executor}").touch()
    done = task(item)
    if number == 0 and attempt == 0:
        if mode == LOST:
            os.kill(_parent(os.getppid()), signal.SIGKILL)  # Java, which has Python's daemon, which has this
        until = time.monotonic() + PATIENCE_S
        while not _may_go_on(mode, marks, executor) and time.monotonic() < until:
            time.sleep(0.1)
    return done


def _may_go_on(mode: str, marks: str, executor: str) -> bool:
    """Late: never, for the other attempt is to be the first. Alone: when somebody else is at work, too."""
    others = [path for path in Path(marks).iterdir() if not path.name.endswith(f"-{executor}")]
    return mode == ALONE and bool(others)


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main(master: str, captures: str, lake: str, mode: str, marks: str) -> None:
    compiled = {f"spark.executorEnv.{CACHE_DIR}": str(cache_root().parents[1])}  # kernels, as they are here
    spark = local_session(master=master, settings=compiled | (_SPECULATION if mode == LATE else {}))
    runner = DisturbedRunner(SparkRunner(spark, Location(lake)), mode, marks)
    settings = BuildSettings(derive=False, piece_packets=SMALL_PIECES, slices=4)
    report = Builder(Location(lake), runner, settings).build([captures])
    print(json.dumps({"slices": report.slices, "version": report.version}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
