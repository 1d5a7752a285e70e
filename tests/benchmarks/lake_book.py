"""`pregao book --at` in a warm process: any instrument that trades, at any time of the day."""

from pathlib import Path
from time import perf_counter

import numpy as np

from pregao.lake.book_at import book_at
from pregao.lake.lake import Lake

from .harness import Row

QUESTIONS, SEED, BAR_S = 200, 5, 1.0


def measure(path: Path) -> list[Row]:
    lake = Lake(path)
    trades = lake.arrow("trades", columns=["symbol", "ts_event"])
    symbols = sorted(set(trades["symbol"].to_pylist()))
    times = trades["ts_event"].to_numpy()  # not of states: those of first snapshots are of days before
    draw = np.random.default_rng(SEED)
    took = []
    for number in range(QUESTIONS + 1):
        symbol, at_ns = str(draw.choice(symbols)), int(draw.integers(times.min(), times.max()))
        start = perf_counter()
        book_at(lake, symbol, at_ns, 10)
        if number:  # the first loads kernels
            took.append(perf_counter() - start)
    middle, slow = np.percentile(took, [50, 95])
    return [
        Row("book --at, p50", middle * 1000, "ms", better="lower"),
        Row("book --at, p95", slow * 1000, "ms", bar=1000 * BAR_S, better="lower"),
    ]
