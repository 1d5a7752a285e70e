"""Captures to a lake, on Spark: here, or on a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from pregao.lake.runners import LazySparkRunner, described
from pregao.lake.spark.failures import in_one_line, stop
from pregao.lake.spark.session import active_session, default_settings, local_session, master_of
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
    master: str | None = None,
    archive: str | None = None,
    conf: Mapping[str, str] | None = None,
    spark: Any = None,
) -> BuildReport:
    """Spark is only started when there is something to do, with the settings `conf` of the user; `spark` is a
    session that is there already, as is any that this process has."""
    with _builder(request, on_progress, master, archive, conf, spark) as builder:
        return builder.build(request.captures)


def forecast_lake(
    request: BuildRequest,
    on_progress: OnProgress,
    *,
    master: str | None = None,
    archive: str | None = None,
    conf: Mapping[str, str] | None = None,
    spark: Any = None,
) -> Forecast:
    """What `build_lake` would do."""
    with _builder(request, on_progress, master, archive, conf, spark) as builder:
        return builder.forecast(request.captures)


@contextmanager
def _builder(
    request: BuildRequest, on_progress: OnProgress, master: str | None, archive: str | None,
    conf: Mapping[str, str] | None, spark: Any,
) -> Iterator[Builder]:  # fmt: skip
    if not find_captures(request.captures):
        raise ConfigurationError("there is no capture file in what was given")
    settings = BuildSettings(
        request.channels, request.dates, request.rebuild, tuple(sorted({*USUAL_BARS, *request.bars})),
        load_channel_map(request.config), request.scratch, request.slices, **request.settings,
    )  # fmt: skip
    location = Location(request.lake)
    session = spark_session(on_progress, master, archive, conf, spark)
    with session as started, in_one_line(), described("build"):
        yield Builder(location, LazySparkRunner(started, location), settings, on_progress=on_progress)


@contextmanager
def spark_session(
    on_progress: OnProgress, master: str | None = None, archive: str | None = None,
    conf: Mapping[str, str] | None = None, spark: Any = None,
) -> Iterator[Callable[[], Any]]:  # fmt: skip
    """Gives a session to whoever asks: that which is there, or one that is started then and stopped at the
    end."""
    there = spark or active_session()
    started: list[Any] = []

    def session() -> Any:
        if there is not None:
            return there
        if not started:
            on_progress("start", 0, 1)
            here = master_of(master, {**default_settings(), **(conf or {})}).startswith("local")
            with compiling(on_progress) if here else nullcontext():
                started.append(local_session(master=master, archive=archive, settings=conf))
                on_progress("start", 1, 1)
        return started[0]

    try:
        yield session
    finally:
        for each in started:
            stop(each)
