"""Captures to a lake, on Spark: here, or on a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pregao.captures.decode import load_channel_map
from pregao.captures.glance import EMPTY, need_readable, why_unreadable
from pregao.jobs.compiled import compiling
from pregao.lake.build import USUAL_BARS, Builder, BuildReport, BuildSettings
from pregao.lake.build_report import Forecast
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.running.runners import LazySparkRunner
from pregao.lake.spark.failures import in_one_line, stop
from pregao.lake.spark.session import LOCAL, local_session
from pregao.lake.store.location import Location, is_remote
from pregao.model.errors import ConfigurationError

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class BuildRequest:
    captures: Sequence[str]
    lake: str
    channels: frozenset[int] | None = None
    dates: frozenset[date] | None = None
    rebuild: bool = False
    bars: tuple[int, ...] = ()
    config: str | None = None  # which address carries what
    scratch: str = ""
    slices: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # more of BuildSettings


def unreadable_captures(captures: Sequence[str]) -> list[str]:
    """A line for each local capture of which nothing can be read, though it has something in it; CaptureError
    where there is no other."""
    found = find_captures(captures)
    local = [path for path in found if not is_remote(path)]
    if len(local) == len(found):
        need_readable(local)
    reasons = ((path, why_unreadable(path)) for path in local)
    return [f"{path}: {reason}" for path, reason in reasons if reason not in (None, EMPTY)]


def build_lake(
    request: BuildRequest,
    on_progress: OnProgress,
    *,
    master: str = LOCAL,
    archive: str | None = None,
    spark: Any = None,
) -> BuildReport:
    """Spark is only started when there is something to do; `spark` is a session that is there already."""
    with _builder(request, on_progress, master=master, archive=archive, spark=spark) as builder:
        return builder.build(request.captures)


def forecast_lake(
    request: BuildRequest,
    on_progress: OnProgress,
    *,
    master: str = LOCAL,
    archive: str | None = None,
    spark: Any = None,
) -> Forecast:
    """What `build_lake` would do."""
    with _builder(request, on_progress, master=master, archive=archive, spark=spark) as builder:
        return builder.forecast(request.captures)


@contextmanager
def _builder(
    request: BuildRequest, on_progress: OnProgress, *, master: str, archive: str | None, spark: Any
) -> Iterator[Builder]:
    if not find_captures(request.captures):
        raise ConfigurationError("there is no capture file in what was given")
    settings = BuildSettings(
        request.channels, request.dates, request.rebuild, tuple(sorted({*USUAL_BARS, *request.bars})),
        load_channel_map(request.config), request.scratch, request.slices, **request.settings,
    )  # fmt: skip
    started: list[Any] = []

    def session() -> Any:
        if spark is not None:
            return spark
        if not started:
            on_progress("start", 0, 1)
            with compiling(on_progress) if master.startswith("local") else nullcontext():
                started.append(local_session(master=master, archive=archive))
                on_progress("start", 1, 1)
        return started[0]

    runner = LazySparkRunner(session)
    try:
        with in_one_line():
            yield Builder(Location(request.lake), runner, settings, on_progress=on_progress)
    finally:
        for each in started:
            stop(each)
