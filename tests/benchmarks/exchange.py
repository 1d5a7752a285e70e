"""The exchange: commands a second into captures, with implieds, snapshots and truth on.

A day has a fixed cost (heartbeats of every stream for ten hours, definitions, an opening for every
instrument), so the steady rate is that of the commands by which a longer day exceeds a shorter one.

Memory is that of a day in a process of its own. `--simulate N` says how many messages that day has: the
bar is on ten million, which takes minutes, so a shorter day is the default and has no bar of its own.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pregao.simulator import Settings, SimulationSummary, simulate

from .harness import Row

SHORT, LONG = 60_000, 400_000
BAR = 30_000.0
MEMORY_MESSAGES, WHOLE_DAY = 1_000_000, 10_000_000
MEMORY_BAR_MB = 1_000.0


def measure(memory_messages: int = MEMORY_MESSAGES) -> list[Row]:
    short, long = _day(SHORT), _day(LONG)
    commands = sum(long.commands.values()) - sum(short.commands.values())
    steady = commands / (long.seconds - short.seconds)
    return [
        Row("simulate, steady state", steady, "commands/s", bar=BAR),
        Row(f"simulate, a whole day of {LONG:,} messages", long.messages / long.seconds, "messages/s"),
        *_memory(memory_messages),
    ]


def _memory(messages: int) -> list[Row]:
    command = [sys.executable, "-m", "tests.benchmarks.exchange", str(messages)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    made, peak_mb, rate = done.stdout.split()
    name = f"simulate, a day of {int(made):,} messages"
    bar = MEMORY_BAR_MB if messages >= WHOLE_DAY else None
    return [
        Row(f"{name}, peak resident", float(peak_mb), "MB", bar=bar, better="lower"),
        Row(name, float(rate), "messages/s"),
    ]


def _day(messages: int) -> SimulationSummary:
    folder = Path(tempfile.mkdtemp(prefix="pregao-bench-"))
    try:
        return simulate(Settings(out=folder, messages=messages))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":  # the child of `_memory`
    summary = _day(int(sys.argv[1]))
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(summary.messages, peak_kb / 1000, summary.messages / summary.seconds)
