"""One simulated day to its lake twice: by the journal of a session of PUMA Conflated, and by the captures of
Binary UMDF.

What counts is processor time of this process, from the list of files to the commit and without computed
tables. Messages of the two are not alike: a session has one for all that changed in a tick, so entries are
counted too: rows of orders, trades, bands, imbalances and states. The day is made once and kept in build/.
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

MESSAGES, SEED, ROUNDS, SQUEEZE = 20_000, 15, 2, 20
SESSION, BINARY = "a session's journal to a lake", "Binary captures to a lake, the same day"
_KEPT, _OUT = Path("build/bench-session-lake"), Path("build/bench-session-lake/out")
_ENTRIES = ("orders", "trades", "bands", "imbalances", "states")


def measure(messages: int = MESSAGES) -> list[Row]:
    day = _day(messages)
    best = {"binary": (0.0, 0.0), "conflated": (0.0, 0.0)}
    for round_number in range(ROUNDS + 1):
        for system in best:
            report, seconds = _build(system, day / system)
            entries = sum(report.counts[table] for table in _ENTRIES)
            rates = report.counts["messages"] / seconds / 1e3, entries / seconds / 1e3
            if round_number:  # the first one loads kernels
                best[system] = max(best[system], rates)
    binary, session = best["binary"], best["conflated"]
    return [
        Row(f"{BINARY}, messages", binary[0], "k messages/s"),
        Row(f"{SESSION}, messages", session[0], "k messages/s", binary[0]),
        Row(f"{BINARY}, entries", binary[1], "k entries/s"),
        Row(f"{SESSION}, entries", session[1], "k entries/s", binary[1]),
    ]


def _day(messages: int) -> Path:
    kept = _KEPT / f"day-{messages}"
    if not kept.exists():
        part = kept.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        Simulation(
            Settings(part, seed=SEED, messages=messages, squeeze=SQUEEZE, truth=False, beside=("conflated",))
        ).run()
        (part / "binary").mkdir()
        for folder in part.glob("20*"):
            folder.rename(part / "binary" / folder.name)
        part.rename(kept)
    return kept


def _build(system: str, folder: Path) -> tuple[BuildReport, float]:
    shutil.rmtree(_OUT, ignore_errors=True)
    begun = process_time()
    settings = BuildSettings(derive=False, system=system)
    report = Builder(Location(_OUT), InlineRunner(), settings).build([str(folder)])
    return report, process_time() - begun
