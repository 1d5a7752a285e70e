"""One simulated day in both systems to its lake: channels of orders of UMDF FIX/FAST beside Binary UMDF.

What counts are entries a second of processor time, in this process, from the list of files to the commit and
without computed tables: rows of orders, trades, bands, imbalances and states, which both systems tell of the
same events. FIX/FAST sends each loop on both feeds and its lists in chunks; all of that is in its time.
The day is made once and kept in build/.
"""

import shutil
from pathlib import Path
from time import process_time

from pregao.lake.build import Builder, BuildReport, BuildSettings
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.simulator.run import Simulation
from pregao.simulator.settings import Settings

from .harness import Row

MESSAGES, LOOPS, SEED, ROUNDS = 40_000, 12, 14, 3
SQUEEZE = 20  # so that an instrument has as many messages a second as one of a busy channel
BAR = 0.5
FAST, BINARY = "FAST captures to a lake", "Binary captures to a lake, the same day"
_KEPT, _OUT = Path("build/bench-fast-lake"), Path("build/bench-fast-lake/out")
_ENTRIES = ("orders", "trades", "bands", "imbalances", "states")
_MBO = range(161, 196)  # channels of orders


def measure(messages: int = MESSAGES) -> list[Row]:
    day = _day(messages)
    best = {"binary": 0.0, "fast": 0.0}
    for round_number in range(ROUNDS + 1):
        for system, folder in (("binary", day / "binary"), ("fast", day / "fast")):
            rate = _rate(system, folder)
            if round_number:  # the first one loads kernels
                best[system] = max(best[system], rate)
    unit = "M entries/s"
    binary, fast = best["binary"], best["fast"]
    return [Row(BINARY, binary, unit), Row(f"{FAST} / {BINARY}", fast, unit, binary, BAR)]


def _day(messages: int) -> Path:
    kept = _KEPT / f"day-{messages}"
    if not kept.exists():
        part = kept.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        Simulation(
            Settings(
                part, seed=SEED, messages=messages, loops=LOOPS, squeeze=SQUEEZE, truth=False,
                beside=("fast",),
            )
        ).run()  # fmt: skip
        (part / "binary").mkdir()
        for folder in part.glob("20*"):
            folder.rename(part / "binary" / folder.name)
        part.rename(kept)
    return kept


def _rate(system: str, folder: Path) -> float:
    report, seconds = _build(system, folder)
    return sum(report.counts[table] for table in _ENTRIES) / seconds / 1e6


def _build(system: str, folder: Path) -> tuple[BuildReport, float]:
    shutil.rmtree(_OUT, ignore_errors=True)
    channels = frozenset(_MBO) if system == "fast" else None
    settings = BuildSettings(derive=False, system=system, channels=channels)
    begun = process_time()
    report = Builder(Location(_OUT), InlineRunner(), settings).build([str(folder)])
    return report, process_time() - begun
