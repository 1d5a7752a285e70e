"""End to end: captures of both feeds to all tables of a lake, in a warm Spark session on this machine.

What counts are distinct messages of the incremental streams a second of wall time, from the list of files
to the commit: scan, merge, decode, books compared with every snapshot, ten price levels once a second,
Parquet, the tables computed from others, Delta commits. The plain loop does a small part of that. Captures
have been read once before, so they come from the page cache, not from the disk. The session is warm from a
small build; what a worker's memory costs when it is first touched is in the first figure, not in the second.
"""

import shutil
from pathlib import Path
from time import perf_counter

from pregao.lake.build import Builder, BuildReport, BuildSettings
from pregao.lake.runners import Runner, SparkRunner
from pregao.lake.spark.session import local_session
from pregao.lake.store.location import Location

from . import lake_book
from .baseline_lake import PlainLake
from .harness import Row
from .lake_day import lake_day
from .lake_memory import WorkersMemory
from .process_runner import ProcessRunner

MESSAGES = 1_000_000
PLAIN_MESSAGES = 300_000
BAR, BAR_SPARK, BAR_MEMORY, BAR_DAY = 1.1, 1.2, 1.5, 36.0
DAY_PACKETS = 25_500_000  # of a feed of the busiest channel in a day
WHOLE_RUN = 20_000_000  # messages that the bars are for
LAKE, PLAIN, PROCESSES = "captures to a lake", "plain Python loop to CSV", "the same in two processes"
OUT = Path("build/bench-lake/out")


def measure(messages: int = MESSAGES) -> list[Row]:
    files = lake_day(messages)
    spark = local_session(name="pregao-bench", quick=False)
    processes = ProcessRunner(2)
    try:
        warm = lake_day(PLAIN_MESSAGES)
        for runner in (SparkRunner(spark, Location(OUT)), processes):
            build(warm, runner)
        _read(files)
        with WorkersMemory() as memory:
            whole, seconds = build(files, SparkRunner(spark, Location(OUT)))
        books = lake_book.measure(OUT)
        again, again_seconds = build(files, SparkRunner(spark, Location(OUT)))
        without, spark_seconds = build(files, SparkRunner(spark, Location(OUT)), computed=False)
        with WorkersMemory() as bare_memory:
            build([file for file in files if "Snapshot" not in file.name], SparkRunner(spark, Location(OUT)))
        _, process_seconds = build(files, processes, computed=False)
    finally:
        processes.close()
        spark.stop()
    plain_messages, plain_seconds = _plain(lake_day(PLAIN_MESSAGES))
    rate, plain = whole.counts["messages"] / seconds / 1e6, plain_messages / plain_seconds / 1e6
    unit, big = "M messages/s", messages >= WHOLE_RUN
    return [
        Row(PLAIN, plain, unit),
        Row(f"{LAKE} / {PLAIN}", rate, unit, plain),  # which makes three tables of twenty
        Row(LAKE, rate, unit, bar=BAR if big else None),
        Row(f"{LAKE}, again in the same session", again.counts["messages"] / again_seconds / 1e6, unit),
        Row(f"{LAKE}, without computed tables", without.counts["messages"] / spark_seconds / 1e6, unit),
        Row(f"{LAKE} on Spark / {PROCESSES}", spark_seconds, "s", process_seconds,
            bar=BAR_SPARK if big else None, better="lower"),
        Row(f"{LAKE}, a channel-day of {DAY_PACKETS / 1e6} M packets a feed, projected",
            _projected(whole, seconds), "s", bar=BAR_DAY if big else None, better="lower"),
        Row("lake, bytes per message", whole.bytes / whole.counts["messages"], "bytes", better="lower"),
        Row("lake, memory of a worker", memory.peak / 1e9, "GB", bar=BAR_MEMORY, better="lower"),
        Row("lake, memory of a worker, a day without any snapshot", bare_memory.peak / 1e9, "GB",
            bar=BAR_MEMORY, better="lower"),
        *books,
        *_shares(whole),
    ]  # fmt: skip


def build(files: list[Path], runner: Runner, *, computed: bool = True) -> tuple[BuildReport, float]:
    shutil.rmtree(OUT, ignore_errors=True)
    settings = BuildSettings(derive=computed)
    builder = Builder(Location(OUT), runner, settings)
    start = perf_counter()
    report = builder.build([str(file) for file in files])
    return report, perf_counter() - start


def _read(files: list[Path]) -> None:
    """So that all runs find the captures in memory, not only those after the first."""
    for file in files:
        with file.open("rb") as opened:
            while opened.read(1 << 24):
                pass


def _plain(files: list[Path]) -> tuple[int, float]:
    """Of fewer messages of the same day: its rate does not depend on how many there are."""
    feeds = [file for file in files if "Incremental" in file.name][:2]
    start = perf_counter()
    messages = PlainLake(OUT / "plain").run(feeds)
    return messages, perf_counter() - start


def _projected(report: BuildReport, seconds: float) -> float:
    return DAY_PACKETS / report.counts["packets"] * seconds


def _shares(report: BuildReport) -> list[Row]:
    """Of wall time by step; within tasks of their own time."""
    total, work = sum(report.seconds.values()), sum(report.work.values())
    shares = {step: 100 * seconds / total for step, seconds in report.seconds.items()}
    tasks = shares["tasks"]
    shares |= {f"tasks: {step}": tasks * seconds / work for step, seconds in report.work.items()}
    return [
        Row(f"lake, share of time in {step}", share, "%", better="lower") for step, share in shares.items()
    ]
