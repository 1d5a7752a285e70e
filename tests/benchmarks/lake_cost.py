"""Where the processor time of a message goes: a build in this process, stage by stage.

Processor time of the process, so it can be taken beside other work. A stage has what its functions use
without what other stages use inside them. The best of all rounds is told, stage by stage; the captures are
those of the benchmark `lake`, and the first build, which loads kernels, does not count.
"""

import functools
import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

from pregao.lake.build import Builder, BuildReport
from pregao.lake.runners import InlineRunner, only_tasks
from pregao.lake.store.files import FileWriter
from pregao.lake.store.location import Location

from .harness import Row
from .lake import PLAIN_MESSAGES
from .lake_day import lake_day

ROUNDS = 3
OUT = Path("build/bench-lake/cost")
_TASKS = "pregao.lake.tasks"
_SLICES = "pregao.lake.slices"
# A stage, and the functions whose time is its: modules that use them, and the names they have there.
STAGES: tuple[tuple[str, str, str], ...] = (
    ("scan", "pregao.lake.build", "Builder._scan"),
    ("scan: hash", "pregao.lake.plan.contents", "ContentHash.take"),
    ("plan", "pregao.lake.build", "Builder._plan"),
    ("read: packets of feeds", f"{_SLICES}.feeds", "_feed"),
    ("read: merge of A and B", f"{_SLICES}.feeds", "_merge"),
    ("books: packets to rows", "pregao.feeds.binary.reading.rows", "RowReader.read"),
    ("books: packets to rows", "pregao.feeds.binary.reading.rows", "RowReader.go_on"),
    ("books: kernel", f"{_SLICES}.machine", "take_rows"),
    ("books: loops read", f"{_SLICES}.machine", "LoadedLoop"),
    ("books: loops compared", f"{_SLICES}.machine", "SliceMachine._do_until"),
    ("books: quotes taken", f"{_SLICES}.machine", "SliceMachine._take_quotes"),
    ("books: rest", f"{_TASKS}.run", "_build"),
    ("columns: orders", f"{_TASKS}.books", "_orders"),
    ("columns: orders", f"{_TASKS}.books", "_order"),
    ("columns: quotes", f"{_TASKS}.run", "quotes_table"),
    ("columns: depth", f"{_TASKS}.books", "_depth"),
    ("columns: packets", f"{_TASKS}.packets", "_table"),
    ("columns: packets", f"{_TASKS}.run", "write_packets"),
    ("columns: other tables", f"{_TASKS}.run", "write_stretch"),
    ("columns: lineage", f"{_TASKS}.lineage", "Lineage._traced"),
    ("columns: symbols", f"{_TASKS}.lineage", "Lineage.symbols"),
    ("columns: latencies", f"{_TASKS}.run", "count_latencies"),
    ("computed tables", "pregao.lake.build", "derive_units"),
    ("plan tables", "pregao.lake.build", "write_plan_tables"),
    ("commit", "pregao.lake.state", "LakeState.commit"),
    ("rest of the build", "pregao.lake.build", "Builder.build"),
)


class StageClock:
    """Processor time by stage, each without those inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stack: list[str] = []
        self._since = process_time()

    def _lap(self) -> None:
        now = process_time()
        if self._stack:
            stage = self._stack[-1]
            self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self._lap()
        self._stack.append(name)
        try:
            yield
        finally:
            self._lap()
            self._stack.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **named)

        return run

    def timed_by_table(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a writer: its table is told with the stage."""

        @functools.wraps(function)
        def run(writer: Any, *arguments: Any) -> Any:
            with self.stage(f"{name}: {writer._table.name}"):
                return function(writer, *arguments)

        return run


@contextmanager
def stages(clock: StageClock) -> Iterator[None]:
    with ExitStack() as patched:
        for stage, module, name in STAGES:
            owner: Any = importlib.import_module(module)
            *classes, last = name.split(".")
            for each in classes:
                owner = getattr(owner, each)
            patched.enter_context(patch.object(owner, last, clock.timed(stage, getattr(owner, last))))
        for method in ("write", "close"):
            timed = clock.timed_by_table("parquet", getattr(FileWriter, method))
            patched.enter_context(patch.object(FileWriter, method, timed))
        yield


def measure(messages: int) -> list[Row]:
    only_tasks()
    build(lake_day(PLAIN_MESSAGES))
    files = lake_day(messages)
    best: dict[str, float] = {}
    system = float("inf")
    for _ in range(ROUNDS):
        clock, before = StageClock(), os.times().system
        with stages(clock):
            report = build(files)
        system = min(system, os.times().system - before)
        for stage, seconds in clock.seconds.items():
            best[stage] = min(best.get(stage, seconds), seconds)
    best |= {"all": sum(best.values()), "all: of it the system's": system}
    count = report.counts["messages"]
    return [
        Row(f"processor time of a message, {stage}", seconds / count * 1e9, "ns", better="lower")
        for stage, seconds in sorted(best.items())
    ]


def build(files: list[Path]) -> BuildReport:
    shutil.rmtree(OUT, ignore_errors=True)
    return Builder(Location(OUT), InlineRunner()).build([str(file) for file in files])
