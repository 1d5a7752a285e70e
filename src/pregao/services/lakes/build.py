"""Captures to a lake, on Spark: here, or on a cluster."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pregao.lake.build import USUAL_BARS, Builder, BuildReport, BuildSettings
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.spark.failures import in_one_line, stop
from pregao.lake.spark.session import LOCAL, local_session
from pregao.lake.store.location import Location
from pregao.lake.tasks.runners import LazySparkRunner
from pregao.model.errors import ConfigurationError
from pregao.services.compiled import compiling
from pregao.services.decode import load_channel_map

Told = Callable[[str, int, int], None]


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


def build_lake(
    request: BuildRequest, told: Told, *, master: str = LOCAL, archive: str | None = None, spark: Any = None
) -> BuildReport:
    """Spark is only started when there is something to do; `spark` is a session that is there already."""
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
            told("start", 0, 1)
            with compiling(told) if master.startswith("local") else nullcontext():
                started.append(local_session(master=master, archive=archive))
                told("start", 1, 1)
        return started[0]

    runner = LazySparkRunner(session)
    builder = Builder(Location(request.lake), runner, settings, told=told)
    try:
        with in_one_line():
            return builder.build(request.captures)
    finally:
        for each in started:
            stop(each)
