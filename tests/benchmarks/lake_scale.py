"""How a build grows: with cores, and with messages. Sessions of their own, warm, one after the other."""

from time import perf_counter

from pregao.lake.spark.session import local_session
from pregao.lake.tasks.runners import SparkRunner

from .harness import Row
from .lake import PLAIN_MESSAGES, build
from .lake_day import lake_day

MESSAGES = 4_000_000
SMALL, LARGE = 2_000_000, 50_000_000  # messages that the bar on flatness is for
BAR_CORES, BAR_FLAT = 1.7, 1.15


def measure(messages: int = MESSAGES) -> list[Row]:
    """`messages` are those of the larger build."""
    of_cores = lake_day(min(messages, MESSAGES))
    one = _seconds("local[1]", of_cores)
    two = _seconds("local[2]", of_cores)
    small, large = (_cost(lake_day(each)) for each in (SMALL, messages))
    return [
        Row(f"captures to a lake, {min(messages, MESSAGES):,} messages, two cores / one", 1 / two, "1/s",
            1 / one, bar=BAR_CORES),
        Row(f"cost of a message, {messages:,} / {SMALL:,}", large, "µs", small, better="lower",
            bar=BAR_FLAT if messages >= LARGE else None),
    ]  # fmt: skip


def _seconds(master: str, files) -> float:  # type: ignore[no-untyped-def]
    return _run(master, files)[0]


def _cost(files) -> float:  # type: ignore[no-untyped-def]
    seconds, messages = _run("local[2]", files)
    return seconds / messages * 1e6


def _run(master: str, files) -> tuple[float, int]:  # type: ignore[no-untyped-def]
    spark = local_session(name="pregao-bench", master=master, quick=False)
    try:
        build(lake_day(PLAIN_MESSAGES), SparkRunner(spark))
        start = perf_counter()
        report, _ = build(files, SparkRunner(spark))
        return perf_counter() - start, report.counts["messages"]
    finally:
        spark.stop()
