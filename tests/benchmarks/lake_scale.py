"""How a build grows: with cores, and with messages. Each in a process of its own, warm, one after the other.

One core is one core: Spark's Java and its workers are held to it. With `local[1]` alone Java would have the
other one to itself, and what two cores give would be less than they do.
"""

import os
import subprocess
import sys
from time import perf_counter

from pregao.lake.running.runners import SparkRunner
from pregao.lake.spark.session import local_session

from .harness import Row
from .lake import PLAIN_MESSAGES, build
from .lake_day import lake_day

MESSAGES = 4_000_000
MOST_OF_CORES = 20_000_000
SMALL, LARGE = 2_000_000, 50_000_000  # messages that the bar on flatness is for
BAR_CORES, BAR_FLAT = 1.7, 1.15


def measure(messages: int = MESSAGES) -> list[Row]:
    """`messages` are those of the larger build."""
    of_cores = min(messages, MOST_OF_CORES)
    one, two = (_cost(cores, of_cores) for cores in (1, 2))
    small, large = _cost(2, SMALL), _cost(2, messages)
    return [
        Row(f"captures to a lake, {of_cores:,} messages, two cores / one", 1 / two, "M messages/s", 1 / one,
            bar=BAR_CORES),
        Row(f"cost of a message, {messages:,} / {SMALL:,}", large, "µs", small, better="lower",
            bar=BAR_FLAT if messages >= LARGE else None),
    ]  # fmt: skip


def _cost(cores: int, messages: int) -> float:
    """Microseconds a message."""
    lake_day(messages)  # made here, on all cores
    command = [sys.executable, "-m", "tests.benchmarks.lake_scale", str(cores), str(messages)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _child(cores: int, messages: int) -> float:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])  # all that is started inherits it
    spark = local_session(name="pregao-bench", master=f"local[{cores}]", quick=False)
    try:
        build(lake_day(PLAIN_MESSAGES), SparkRunner(spark))
        start = perf_counter()
        report, _ = build(lake_day(messages), SparkRunner(spark))
        return (perf_counter() - start) / report.counts["messages"] * 1e6
    finally:
        spark.stop()


if __name__ == "__main__":
    print(_child(int(sys.argv[1]), int(sys.argv[2])))
