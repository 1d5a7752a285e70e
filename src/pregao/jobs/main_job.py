"""The main job, from nothing to a page: a day of the simulated exchange with losses on both feeds, the lake
of it on Spark, and its report.

The day is simulated once: while its captures are what they were, the next run uses them again and says so.
The lake is always built again.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from pregao import __version__
from pregao.io.files import write_whole
from pregao.jobs.build import BuildRequest, build_lake
from pregao.jobs.compiled import compiling
from pregao.lake.build import BuildReport
from pregao.report import ReportPage, make_report
from pregao.simulator import Settings, simulate

MESSAGES: Final = 300_000
# By chance, in runs and for a while on one feed; and runs that neither feed has, which only a snapshot heals.
FAULTS: Final = (
    "loss=0.2%,gap=3x40@A,gap=2x60@B,cut=B@14:20+20s,both=5x25,dup=0.05%,delay=0.1%:5ms,skew=B:+180us"
)
OnProgress = Callable[[str, int, int], None]  # step, done, of how many


@dataclass(frozen=True, slots=True)
class JobSettings:
    folder: Path
    messages: int = MESSAGES
    seed: int = 1
    faults: str = FAULTS
    anew: bool = False  # simulate even where the captures of the last run are there
    master: str | None = None
    archive: str | None = None
    conf: dict[str, str] = field(default_factory=dict)  # settings of Spark
    simulation: dict[str, Any] = field(default_factory=dict)  # more of its Settings, for tests

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    @property
    def page(self) -> Path:
        return self.folder / "report.html"

    @property
    def stamp(self) -> Path:
        """What was simulated, and the captures that came of it."""
        return self.folder / "captures.json"


@dataclass(frozen=True, slots=True)
class Captures:
    paths: list[str]
    octets: int
    used_again: bool  # those of the last run


@dataclass(frozen=True, slots=True)
class JobDone:
    captures: Captures
    build: BuildReport
    report: ReportPage
    seconds: dict[str, float]  # of wall time by step, in their order


def run_main_job(settings: JobSettings, on_progress: OnProgress, *, spark: Any = None) -> JobDone:
    """`spark` is a session that is there already."""
    watch = _StepTimes(on_progress)
    captures = _captures(settings, on_progress)
    watch.lap("check of captures" if captures.used_again else "simulation")
    request = BuildRequest(captures.paths, str(settings.lake), rebuild=True)
    build = build_lake(
        request, watch.on_progress, master=settings.master, archive=settings.archive, conf=settings.conf,
        spark=spark,
    )  # fmt: skip
    watch.take(build)
    on_progress("report", 0, 1)
    report = make_report(str(settings.lake))
    write_whole(settings.page, report.html.encode())
    on_progress("report", 1, 1)
    watch.lap("report")
    return JobDone(captures, build, report, watch.seconds)


class _StepTimes:
    """Wall time of each step; the start of Spark, which a build counts as planning, by itself."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress, self._since = on_progress, perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, step: str) -> None:
        now = perf_counter()
        self.seconds[step] = now - self._since
        self._since = now

    def on_progress(self, step: str, done: int, total: int) -> None:
        if step == "start" and done == total:
            self.lap("Spark's start")
        self._on_progress(step, done, total)

    def take(self, build: BuildReport) -> None:
        for step, seconds in build.seconds.items():
            started = self.seconds.get("Spark's start", 0.0) if step == "plan" else 0.0
            self.seconds[step] = max(seconds - started, 0.0)
        self._since = perf_counter()


def _captures(settings: JobSettings, on_progress: OnProgress) -> Captures:
    """Those of the last run where nothing about them changed; otherwise a new simulation."""
    wanted: dict[str, Any] = {
        "seed": settings.seed, "messages": settings.messages, "faults": settings.faults
    } | settings.simulation  # fmt: skip
    kept = {} if settings.anew else kept_captures(settings.stamp, wanted)
    if kept:
        return _those(kept, used_again=True)
    settings.stamp.unlink(missing_ok=True)
    with compiling(on_progress):  # the simulation needs one core, and this the other
        made = Settings(settings.captures, **wanted)
        summary = simulate(made, lambda done, total: on_progress("simulate", min(done, total), total))
    found = {
        str(path): _content(path) for folder in summary.folders for path in sorted(folder.glob("*.pcap"))
    }
    stamp = {"pregao": __version__, "simulated": wanted, "captures": found}
    write_whole(settings.stamp, json.dumps(stamp, indent=1).encode())
    return _those(found, used_again=False)


def _those(captures: dict[str, str], *, used_again: bool) -> Captures:
    return Captures(list(captures), sum(Path(path).stat().st_size for path in captures), used_again)


def kept_captures(stamp: Path, wanted: dict[str, Any]) -> dict[str, str]:
    """The captures of the last run, by path, if it was told the same and every byte is what it was."""
    try:
        known = json.loads(stamp.read_bytes())
        captures: dict[str, str] = known["captures"]
        same = (known["pregao"], known["simulated"]) == (__version__, wanted) and all(
            _content(Path(path)) == content for path, content in captures.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # no earlier run, a capture that is gone, or a stamp that is not ours
    return captures if same else {}


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
