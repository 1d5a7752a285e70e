"""Captures to a lake: on Spark, here or on a cluster; in this process where they are few."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from pregao.captures.decode import load_channel_map
from pregao.captures.glance import EMPTY, need_readable, why_unreadable
from pregao.jobs.compiled import compiling
from pregao.lake.build import USUAL_BARS, Builder, BuildReport, BuildSettings
from pregao.lake.build_report import Forecast
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.runners import InlineRunner, LazySparkRunner, Runner, described, keep_memory
from pregao.lake.spark.failures import in_one_line, stop
from pregao.lake.spark.session import active_session, default_settings, local_session, master_of
from pregao.lake.store.location import Location, is_remote
from pregao.model.errors import ConfigurationError

OnProgress = Callable[[str, int, int], None]
AUTO, INLINE, SPARK = "auto", "inline", "spark"
INLINE_BYTES: Final = 32 << 20  # of captures: as many are built here while Spark would still be starting
_PACKED: Final = (".gz", ".zst")
_UNPACKED_TIMES: Final = 8  # what they come to, about


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
    engine: str = SPARK  # or INLINE, or AUTO: by the size of the captures, unless Spark was asked for
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
    asked = any((master, archive, conf, spark)) or active_session() is not None
    spark_of = spark_session(on_progress, master, archive, conf, spark)
    with spark_of as session, in_one_line(), described("build"):
        runner: Runner = LazySparkRunner(session, location)
        if request.engine == INLINE or (request.engine == AUTO and not asked and is_small(request)):
            keep_memory()
            with compiling(on_progress):
                runner = InlineRunner()
        yield Builder(location, runner, settings, on_progress=on_progress)


def is_small(request: BuildRequest) -> bool:
    """Whether Spark would take longer to start than this process to build it. Not where the user's settings
    name a cluster, or files are in a store, whose failures Spark tries again."""
    captures = find_captures(request.captures)
    if is_remote(request.lake) or any(map(is_remote, captures)):
        return False
    if not master_of(None, default_settings()).startswith("local"):
        return False
    sizes = ((os.path.getsize(path), path.endswith(_PACKED)) for path in captures)
    return sum(size * (_UNPACKED_TIMES if packed else 1) for size, packed in sizes) <= INLINE_BYTES


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
