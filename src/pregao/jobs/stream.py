"""Captures to a lake while they grow, on Spark."""

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from pregao.captures.decode import load_channel_map
from pregao.feeds.registry import has_sessions
from pregao.jobs.compiled import OnProgress, compiling
from pregao.lake.build import USUAL_BARS
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.runners import Runner, SparkRunner
from pregao.lake.spark.failures import in_one_line
from pregao.lake.spark.failures import stop as stop_session
from pregao.lake.spark.session import active_session, default_settings, local_session, master_of
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.streaming.query import Advancing, LakeStreaming, alone
from pregao.lake.streaming.sessions import SessionStreamer
from pregao.lake.streaming.source import BatchReport, StreamSettings
from pregao.lake.streaming.streamer import Streamer
from pregao.model.errors import ConfigurationError

OnBatch = Callable[[BatchReport], None]
_SECOND_NS = 1_000_000_000
_PATIENT = {"spark.python.authenticate.socketTimeout": "120s"}  # with Python processes that are to start


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """`every_s` None: once, with what is there."""

    folder: str
    lake: str
    checkpoint: str | None = None
    every_s: float | None = 2.0
    wait_s: float = 60.0
    derive_every_s: float = 300.0
    channels: frozenset[int] | None = None
    bars: tuple[int, ...] = ()
    config: str | None = None
    scratch: str = ""
    most_files: int = 0  # of one batch; 0: all that there are
    settings: dict[str, Any] = field(default_factory=dict)  # of StreamSettings, for tests


def stream_lake(
    request: StreamRequest, stop: Event, on_batch: OnBatch, *, master: str | None = None,
    archive: str | None = None, conf: Mapping[str, str] | None = None, spark: Any = None,
    ready: Callable[[], None] = lambda: None, on_progress: OnProgress = lambda step, done, total: None,
) -> None:  # fmt: skip
    """Until `stop` is set, or once. `spark` is a session that is there already; `ready` is called when
    there is one, for Spark takes SIGINT for itself; `on_progress` when kernels are compiled before it."""
    find_captures([request.folder])  # says so at once when there is no such folder
    location, checkpoint = Location(request.lake), checkpoint_of(request)
    Ledger(location)  # says so at once when it is of before or damaged, or where there can be no lake
    settings = StreamSettings(
        int(request.wait_s * _SECOND_NS), int(request.derive_every_s * _SECOND_NS), request.channels,
        tuple(sorted({*USUAL_BARS, *request.bars})), load_channel_map(request.config), request.scratch,
        **request.settings,
    )  # fmt: skip
    with in_one_line(), alone(checkpoint):
        spark = spark or active_session()
        chosen = master_of(master, {**default_settings(), **(conf or {})})
        here = spark is None and chosen.startswith("local")
        with compiling(on_progress) if here else nullcontext():
            session = spark or local_session(master=chosen, archive=archive, settings=conf, ours=_PATIENT)
        ready()
        try:
            streamer = _streamer(
                request.folder, location, SparkRunner(session, location), checkpoint, settings
            )
            query = LakeStreaming(
                session,
                streamer,
                checkpoint,
                on_batch,
                every_s=request.every_s,
                most_files=request.most_files,
            )
            query.run(request.folder, stop)
        finally:
            if spark is None:
                stop_session(session)


def _streamer(
    folder: str, location: Location, runner: Runner, checkpoint: Path, settings: StreamSettings
) -> Advancing:
    if has_sessions(settings.system):
        return SessionStreamer(location, runner, folder, settings)
    return Streamer(location, runner, checkpoint, settings)


def checkpoint_of(request: StreamRequest) -> Path:
    """Beside the tables of a lake of this machine, one for each folder of captures and system."""
    if request.checkpoint:
        return Path(request.checkpoint).absolute()
    location = Location(request.lake)
    if not location.is_local:
        raise ConfigurationError("a lake that is not on this machine needs a --checkpoint folder that is")
    named, system = os.path.abspath(request.folder), request.settings.get("system", "")
    if system not in ("", StreamSettings().system):
        named += f"\n{system}"
    folder = hashlib.sha256(named.encode()).hexdigest()[:12]
    return Path(location.root) / "_streams" / folder
