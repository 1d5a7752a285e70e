"""A simulated day in UMDF FIX/FAST beside Binary UMDF, against one in Binary alone.

Each channel of Binary has three of UMDF FIX/FAST, each with captures and a truth of its own. By processor
time, the best of some turns, for both are one process each and other work may share the machine.
"""

import shutil
import tempfile
import time
from pathlib import Path

from pregao.simulator import Settings, simulate

from .harness import Row

MESSAGES, TURNS = 60_000, 2
BAR = 0.4


def measure(messages: int = MESSAGES, turns: int = TURNS) -> list[Row]:
    alone, both = (min(_seconds(messages, beside) for _ in range(turns)) for beside in ((), ("fast",)))
    name = f"simulate, {messages:,} messages in Binary and FIX/FAST, against Binary alone"
    return [Row(name, messages / both, "messages/s of processor time", baseline=messages / alone, bar=BAR)]


def _seconds(messages: int, beside: tuple[str, ...]) -> float:
    folder = Path(tempfile.mkdtemp(prefix="pregao-bench-"))
    began = time.process_time()
    try:
        simulate(Settings(out=folder, messages=messages, beside=beside))
        return time.process_time() - began
    finally:
        shutil.rmtree(folder)
