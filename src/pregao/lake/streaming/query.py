"""The streaming query: Spark asks for new captures and calls for each batch, the streamer does it.

`stop` ends it in good order: the batch that is under way is finished first, then all that there is goes
into the lake.
"""

import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pregao.lake.errors import LakeConflictError, LakeError
from pregao.lake.plan.stored import Stored
from pregao.lake.spark.failures import named_failure
from pregao.lake.streaming import indexes
from pregao.lake.streaming.source import FORMAT, LOG, BatchReport, FolderSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

OnBatch = Callable[[BatchReport], None]

_QUERY: Final = "query"  # Spark's own checkpoints
_KEPT_BATCHES: Final = "8"  # of Spark's logs
_LOOK_S: Final = 0.2
_STARTS: Final = 4
_QUERY_ID: Final = "sql.streaming.queryId"


class StoppingError(LakeError):
    """A batch that was asked for after the end."""


class Advancing(Protocol):
    """Who makes a batch of new captures: of channels (`streamer`) or of sessions (`sessions`)."""

    def advance(
        self, files: Sequence[Stored], *, finish: bool = False, note: Mapping[str, Any] | None = None
    ) -> BatchReport: ...

    def is_due(self) -> bool:
        """Whether there is something to do without new captures."""
        ...


class LakeStreaming:
    """Every `every_s` seconds, or once with what is there (None)."""

    def __init__(
        self, spark: "SparkSession", streamer: Advancing, checkpoint: Path, on_batch: OnBatch, *,
        every_s: float | None = None, most_files: int = 0,
    ) -> None:  # fmt: skip
        self._spark, self._streamer, self._checkpoint, self._on_batch = spark, streamer, checkpoint, on_batch
        self._every_s, self._most = every_s, most_files
        self._busy = threading.Lock()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    def run(self, folder: str, stop: threading.Event) -> None:
        """Until all that is there is in the lake, or `stop` is set."""
        for starts_left in reversed(range(_STARTS)):
            query = self._start(folder)
            self._follow(query, stop)
            if not (starts_left and self._failure is None and _was_too_slow(query)):
                break
        self._raise_failure(query)
        self._stopping.clear()
        self._advance([], finish=True)

    def _follow(self, query: "StreamingQuery", stop: threading.Event) -> None:
        try:
            while query.isActive and not stop.wait(_LOOK_S):
                self._derive_if_due()
        finally:
            if query.isActive:
                self._stopping.set()
                with self._busy:  # the batch under way is finished
                    pass
                query.stop()

    def _start(self, folder: str) -> "StreamingQuery":
        spark, checkpoint = self._spark, self._checkpoint
        spark.conf.set("spark.sql.streaming.minBatchesToRetain", _KEPT_BATCHES)
        spark.dataSource.register(FolderSource)
        options = {"folder": folder, "log": str(checkpoint / LOG), "most": str(self._most)}
        frame = spark.readStream.format(FORMAT).options(**options).load()
        trigger: dict[str, Any] = {"availableNow": True}
        if self._every_s is not None:
            trigger = {"processingTime": f"{int(self._every_s * 1000)} milliseconds"}
        return (
            frame.writeStream.foreachBatch(self._batch)
            .option("checkpointLocation", str(checkpoint / _QUERY))
            .trigger(**trigger)
            .start()
        )

    def _batch(self, frame: "DataFrame", number: int) -> None:
        files = [Stored(*row) for row in frame.collect()]
        note = {"query": self._spark.sparkContext.getLocalProperty(_QUERY_ID), "batch": number}
        try:
            self._advance(files, note=note)
        except BaseException as error:
            self._failure = error
            raise

    def _advance(self, files: list[Stored], *, finish: bool = False, note: Any = None) -> None:
        with self._busy:
            if self._stopping.is_set():
                raise StoppingError("the stream is being stopped")
            report = self._streamer.advance(files, finish=finish, note=note)
        self._on_batch(report)

    def _derive_if_due(self) -> None:
        """Between batches, so that computed tables do not wait for the next capture."""
        if self._streamer.is_due() and self._busy.acquire(blocking=False):
            try:
                report = self._streamer.advance([])
            finally:
                self._busy.release()
            if report.units or report.derived:
                self._on_batch(report)

    def _raise_failure(self, query: "StreamingQuery") -> None:
        """What a batch failed of, rather than what Spark makes of it."""
        if self._failure is not None and not isinstance(self._failure, StoppingError):
            raise self._failure
        error = query.exception()
        if error is not None and self._failure is None:
            raise named_failure(error) from error


def _was_too_slow(query: "StreamingQuery") -> bool:
    """Spark gives the process that looks for captures a few seconds to start, which a busy machine may not
    have. Nothing has happened then."""
    return "to connect back" in str(query.exception())


@contextmanager
def alone(checkpoint: Path) -> Iterator[None]:
    """One stream at a time goes on from a checkpoint. Without indexes Spark's own log means nothing: then
    all captures are to be looked at again."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    with (checkpoint / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LakeConflictError(f"{checkpoint}: another stream is going on from here") from error
        if not (checkpoint / indexes.NAME).exists():
            shutil.rmtree(checkpoint / _QUERY, ignore_errors=True)
            (checkpoint / LOG).unlink(missing_ok=True)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
