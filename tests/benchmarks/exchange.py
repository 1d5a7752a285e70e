"""The exchange: commands a second into captures, with implieds, snapshots and truth on.

A day has a fixed cost (heartbeats of every stream for ten hours, definitions, an opening for every
instrument), so the steady rate is that of the commands by which a longer day exceeds a shorter one.
"""

import resource
import shutil
import tempfile
from pathlib import Path

from pregao.services.simulation import Settings, Summary, simulate

from .harness import Row

SHORT, LONG = 60_000, 400_000
BAR = 30_000.0


def measure() -> list[Row]:
    short, long = _day(SHORT), _day(LONG)
    commands = sum(long.commands.values()) - sum(short.commands.values())
    steady = commands / (long.seconds - short.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return [
        Row("simulate, steady state", steady, "commands/s", bar=BAR),
        Row(f"simulate, a whole day of {LONG:,} messages", long.messages / long.seconds, "messages/s"),
        Row("simulate, peak resident", peak, "MB"),
    ]


def _day(messages: int) -> Summary:
    folder = Path(tempfile.mkdtemp(prefix="pregao-bench-"))
    try:
        return simulate(Settings(out=folder, messages=messages))
    finally:
        shutil.rmtree(folder)
