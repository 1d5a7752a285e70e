"""How a build grows: with cores, and with messages. Each in a process of its own, warm, one after the other.

A build has a part that does not depend on messages: Spark's own work, reading logs, commits. What a message
costs without it is what further messages take beyond a small build, a message.

One core is one core: Spark's Java and its workers are held to it. With `local[1]` alone Java would have the
other one to itself, and what two cores give would be less than they do.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from time import perf_counter

from pregao.lake.runners import SparkRunner
from pregao.lake.spark.session import local_session
from pregao.lake.store.location import Location

from .harness import Row
from .lake import OUT, PLAIN_MESSAGES, build
from .lake_day import lake_day

MESSAGES = 4_000_000
MOST_OF_CORES = 20_000_000
FIXED, SMALL, LARGE = 300_000, 2_000_000, 50_000_000  # messages that the bar on flatness is for
BAR_CORES, BAR_FLAT = 1.7, 1.15


@dataclass(frozen=True)
class _Build:
    messages: int
    seconds: float

    @property
    def cost(self) -> float:
        """Microseconds a message."""
        return self.seconds / self.messages * 1e6

    def cost_beyond(self, fixed: "_Build") -> float:
        return (self.seconds - fixed.seconds) / (self.messages - fixed.messages) * 1e6


def measure(messages: int = MESSAGES) -> list[Row]:
    """`messages` are those of the larger build."""
    of_cores = min(messages, MOST_OF_CORES)
    one, two = (_run(cores, of_cores) for cores in (1, 2))
    fixed, small, large = (_run(2, each) for each in (FIXED, SMALL, messages))
    bar = BAR_FLAT if messages >= LARGE else None
    return [
        Row(f"captures to a lake, {of_cores:,} messages, two cores / one", 1 / two.cost, "M messages/s",
            1 / one.cost, bar=BAR_CORES),
        Row(f"cost of a message, {messages:,} / {SMALL:,}", large.cost, "µs", small.cost, better="lower"),
        Row(f"cost of a message without the fixed part, {messages:,} / {SMALL:,}", large.cost_beyond(fixed),
            "µs", small.cost_beyond(fixed), better="lower", bar=bar),
        Row(f"a build of {FIXED:,} messages: mostly the fixed part", fixed.seconds, "s", better="lower"),
    ]  # fmt: skip


def _run(cores: int, messages: int) -> _Build:
    lake_day(messages)  # made here, on all cores
    command = [sys.executable, "-m", "tests.benchmarks.lake_scale", str(cores), str(messages)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return _Build(int(told[0]), float(told[1]))


def _child(cores: int, messages: int) -> str:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])  # all that is started inherits it
    spark = local_session(name="pregao-bench", master=f"local[{cores}]", quick=False)
    try:
        build(lake_day(PLAIN_MESSAGES), SparkRunner(spark, Location(OUT)))
        start = perf_counter()
        report, _ = build(lake_day(messages), SparkRunner(spark, Location(OUT)))
        return f"{report.counts['messages']} {perf_counter() - start}"
    finally:
        spark.stop()


if __name__ == "__main__":
    print(_child(int(sys.argv[1]), int(sys.argv[2])))
