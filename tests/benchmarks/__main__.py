"""`python -m tests.benchmarks [--messages N] [--only NAME] [--simulate N] [--live S] [--lake N]`

Measures, prints, writes build/bench.json."""

import argparse
import sys
import time

from . import (
    books,
    conflated,
    exchange,
    fast,
    fast_handler,
    fast_lake,
    fast_simulate,
    fix,
    handler,
    lake,
    lake_cost,
    lake_scale,
    library,
    live,
    processes,
    query,
    replayer,
    session_lake,
    stream,
    throughput,
    trademate,
)
from .capture import Capture, bench_capture
from .harness import Row, save, table

MESSAGES = 5_000_000
BENCHMARKS = (
    "books",
    "conflated",
    "trademate",
    "fast",
    "fast-handler",
    "fast-lake",
    "fast-simulate",
    "handler",
    "live",
    "library",
    "exchange",
    "fix",
    "lake",
    "lake-cost",
    "lake-scale",
    "query",
    "replayer",
    "session-lake",
    "stream",
    "throughput",
    "json",
    "cold-start",
    "memory",
)
NEED_CAPTURE = {"throughput", "json", "cold-start"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"default: {MESSAGES:,}")
    parser.add_argument("--only", choices=BENCHMARKS, action="append", help="leave out the others")
    simulated = exchange.MEMORY_MESSAGES
    parser.add_argument(
        "--simulate", type=int, default=simulated, metavar="N",
        help=f"messages of the simulated day whose memory is measured, default: {simulated:,}",
    )  # fmt: skip
    parser.add_argument(
        "--live", type=float, default=live.SECONDS, metavar="S",
        help=f"seconds of the calm part of the live run, default: {live.SECONDS:g}",
    )  # fmt: skip
    parser.add_argument(
        "--lake", type=int, default=lake.MESSAGES, metavar="N",
        help=f"messages built into a lake, default: {lake.MESSAGES:,}; the bars are on {lake.WHOLE_RUN:,}",
    )  # fmt: skip
    options = parser.parse_args()
    wanted = options.only or BENCHMARKS
    capture = _capture(options.messages) if NEED_CAPTURE.intersection(wanted) else None
    measurements = {
        "books": books.measure,
        "conflated": conflated.measure,
        "trademate": trademate.measure,
        "fast": fast.measure,
        "fast-handler": fast_handler.measure,
        "fast-lake": fast_lake.measure,
        "fast-simulate": fast_simulate.measure,
        "handler": handler.measure,
        "live": lambda: live.measure(options.live),
        "library": library.measure,
        "replayer": replayer.measure,
        "session-lake": session_lake.measure,
        "fix": fix.measure,
        "exchange": lambda: exchange.measure(options.simulate),
        "lake": lambda: lake.measure(options.lake),
        "lake-cost": lambda: lake_cost.measure(options.lake),
        "lake-scale": lambda: lake_scale.measure(max(options.lake, lake_scale.MESSAGES)),
        "query": query.measure,
        "stream": stream.measure,
        "throughput": lambda: throughput.measure(capture),
        "json": lambda: processes.json_rate(capture),
        "cold-start": lambda: processes.cold_start(capture),
        "memory": processes.memory,
    }
    rows: list[Row] = []
    for name in wanted:
        print(f"measuring {name}…", file=sys.stderr)
        rows += measurements[name]()
    print(table(rows))
    save(rows)
    return 0


def _capture(messages: int) -> Capture:
    start = time.perf_counter()
    capture = bench_capture(messages)
    counts = f"{capture.messages:,} messages in {capture.packets:,} packets, {capture.size:,} bytes"
    print(f"{capture.path}: {counts}, ready after {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return capture


if __name__ == "__main__":
    sys.exit(main())
