"""Who runs tasks: this process or Spark. The tasks are the same."""

import atexit
import ctypes
import gc
import mmap
import pickle
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from pregao.lake.errors import LakeError, is_full
from pregao.lake.spark.failures import in_one_line
from pregao.lake.store.location import Location
from pregao.lake.task_results import MAX_RESULT_KEY, ResultPolicy, shown_as
from pregao.model.errors import PregaoError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Memory of a task's process, kept for the next arrays instead of given back.
#
# A slice makes and drops arrays of many megabytes. Given back to the system, each is zeroed and mapped again
# page by page at its next use: a quarter of a task's processor time, measured on slices of 400,000 messages.
# So nothing is a mapping of its own, which goes back when it is freed; and pages are small, for the system
# zeroes two megabytes where an array touches the first few bytes of them.


_TRIM_THRESHOLD, _TOP_PAD, _MOST_MAPPINGS = -1, -2, -4  # of mallopt
_KEPT: Final = 1 << 30
_PAD: Final = 64 << 20
_SET_THP_DISABLE: Final = 41  # of prctl
_PAGE: Final = mmap.PAGESIZE
_YOUNG: Final = 1  # generation


@cache
def keep_memory() -> bool:
    """Once a process; whether its C library can. Arrow uses the same memory then, not a pool of its own."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not glibc
        return False
    settings = ((_MOST_MAPPINGS, 0), (_TRIM_THRESHOLD, _KEPT), (_TOP_PAD, _PAD))
    if not all(mallopt(*each) for each in settings):
        return False
    pa.set_memory_pool(pa.system_memory_pool())
    return True


def give_back() -> None:
    """What was kept, if it is much: before a task, or work of another kind."""
    if keep_memory() and _own_bytes() > _KEPT:
        ctypes.CDLL(None).malloc_trim(0)


def _use_small_pages() -> None:
    with suppress(OSError, AttributeError, TypeError):  # not Linux
        ctypes.CDLL(None).prctl(_SET_THP_DISABLE, 1, 0, 0, 0)


@contextmanager
def without_collector() -> Iterator[None]:
    """One task. What the one before it left in circles goes first, with all its arrays; then nobody looks for
    more. It is young: to look at all that a process has may take longer than a small task."""
    gc.collect(_YOUNG)
    give_back()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def only_tasks() -> None:
    """In a process that does nothing else: what is loaded by now stays, and the collector, which takes 0.1 s
    for a look at it, never looks at it again. Its memory is kept from the first task on, the scans'."""
    keep_memory()
    _use_small_pages()
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)


def _own_bytes() -> int:
    """Resident and not mapped from files; 0 where nobody says."""
    try:
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * _PAGE


_steps: ContextVar[tuple[str, ...]] = ContextVar("steps", default=())


@contextmanager
def described(step: str) -> Iterator[None]:
    """What tasks are for, as Spark's web page shows it: `pregao: build: scan 12 captures`. Steps may stand in
    each other."""
    token = _steps.set((*_steps.get(), step))
    try:
        yield
    finally:
        _steps.reset(token)


def description() -> str:
    return ": ".join(("pregao", *_steps.get()))


Task = Callable[[Any], Any]
Progress = Callable[[int, int], None]
_DONE, _FAILED = "done", "failed"
_POLL_S: Final = 0.2
GROUP: Final = "pregao"  # of jobs, in Spark's eyes


class TaskError(LakeError):
    """A task failed for a reason that it could tell."""


def may_pass(error: BaseException) -> bool:
    """Whether it is a failure of the store or the network, which may be gone at the next attempt: not a file
    that is not there, may not be read or has no room."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            lasting = isinstance(
                cause, FileNotFoundError | PermissionError | IsADirectoryError | NotADirectoryError
            )
            return not lasting and not is_full(cause)
        cause = cause.__cause__
    return False


class Runner(Protocol):
    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        """What the task makes of each item, in their order."""


class InlineRunner:
    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        done = []
        for item in items:
            done.append(task(item))
            progress(len(done), len(items))
        return done


class SparkRunner:
    """One Spark task per item. An item is a row of a DataFrame, in a partition of its own: what a task is
    sent has the size of its item, however many there are."""

    def __init__(self, spark: "SparkSession", results: Location | None = None) -> None:
        """`results`: a lake, below which results that are too large to be collected are stored."""
        self._spark, self._results = spark, results

    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        if not items:
            return []
        context = self._spark.sparkContext
        policy = ResultPolicy.of_stage(self._results, context.getConf().get(MAX_RESULT_KEY), len(items))
        run = _in_arrow(task, attempts(context), policy)
        frame = self.frame(items).mapInArrow(run, "number bigint, outcome string, blob binary")
        with shown_as(context, description(), GROUP):
            rows = self._collect(frame, len(items), progress)
        found: list[Any] = [None] * len(items)
        for row in rows:
            value = policy.unpack(row.pop("blob"))
            if row["outcome"] == _FAILED:
                raise TaskError(value)
            found[row["number"]] = value
        return found

    def frame(self, items: Sequence[Any]) -> "DataFrame":
        """A row for each, `number` and `item`, one in each partition: Spark makes a partition of each record
        batch of an Arrow table, unless the table is small enough to be part of the plan."""
        batches = [
            pa.RecordBatch.from_pydict({"number": [number], "item": [pickle.dumps(item)]}, schema=_ITEMS)
            for number, item in enumerate(items)
        ]
        before = self._spark.conf.get(_IN_PLAN)
        self._spark.conf.set(_IN_PLAN, "0")
        try:
            return self._spark.createDataFrame(pa.Table.from_batches(batches))
        finally:
            self._spark.conf.set(_IN_PLAN, str(before))

    def _collect(self, frame: Any, total: int, progress: Progress) -> list[Any]:
        """With progress: Spark tells how many tasks are done to whoever asks meanwhile."""
        context = self._spark.sparkContext
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(context, total, progress, ended), daemon=True)
        watcher.start()
        try:
            with in_one_line():
                rows: list[Any] = frame.toArrow().to_pylist()
        finally:
            ended.set()
            watcher.join()
        progress(total, total)
        return rows


class LazySparkRunner:
    """Spark is asked for when there is a task to run: a rerun with nothing to do needs no Java."""

    def __init__(self, session: Callable[[], "SparkSession"], results: Location | None = None) -> None:
        self._session, self._results = session, results

    def run(self, task: Task, items: Sequence[Any], progress: Progress) -> list[Any]:
        return SparkRunner(self._session(), self._results).run(task, items, progress)


def _watch(context: Any, total: int, progress: Progress, ended: threading.Event) -> None:
    """Only a show: whoever waits for the tasks is told when Spark has died."""
    with suppress(LakeError), in_one_line():
        tracker = context.statusTracker()
        while not ended.wait(_POLL_S):
            for stage in tracker.getActiveStageIds():
                about = tracker.getStageInfo(stage)
                if about is not None and about.numTasks == total:
                    progress(about.numCompletedTasks, total)


def attempts(context: Any) -> int:
    """How often Spark tries a task: on one machine as its master says, `local[4]` once."""
    local = re.fullmatch(r"local(?:\[[^,\]]*(?:,\s*(\d+))?\])?", context.master)
    if local is not None:
        return int(local[1] or 1)
    return int(context.getConf().get("spark.task.maxFailures", "4"))


def _is_last(most: int) -> bool:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is None or context.attemptNumber() + 1 >= most


def _in_arrow(task: Task, most: int, policy: ResultPolicy) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def run(batches: Iterable[Any]) -> Iterator[Any]:
        only_tasks()
        for batch in batches:
            for number, item in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                try:
                    outcome, blob = _DONE, policy.pack(task(pickle.loads(item)))
                except PregaoError as error:
                    if may_pass(error) and not _is_last(most):
                        raise  # Spark tries it again, here or on another machine
                    outcome, blob = _FAILED, pickle.dumps(str(error))  # told to people as it is
                yield pa.RecordBatch.from_pydict(
                    {"number": [number], "outcome": [outcome], "blob": [blob]},
                    schema=_RESULT,
                )

    return run


_IN_PLAN: Final = "spark.sql.execution.arrow.localRelationThreshold"
_ITEMS: Final = pa.schema([("number", pa.int64()), ("item", pa.binary())])
_RESULT: Final = pa.schema([("number", pa.int64()), ("outcome", pa.string()), ("blob", pa.binary())])
