"""Who tries a task again, and what is told of one that fails."""

import subprocess
import sys
from collections.abc import Iterator
from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.errors import LakeDamagedError, LakeError, LakeFullError, named
from pregao.lake.runners import GROUP, SparkRunner, TaskError, attempts, described, may_pass
from pregao.lake.store.location import Location
from pregao.lake.task_results import FOLDER, MAX_RESULT, MAX_RESULT_KEY, ResultPolicy, result_bytes
from pregao.model.errors import CaptureError


def _silent(done: int, total: int) -> None:
    return


def _raised(error: Exception) -> Exception:
    """As a task of ours raises it."""
    try:
        with named("s3://bucket/file"):
            raise error
    except Exception as ours:
        return ours


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError(EIO, "Input/output error"), True),
        (OSError("When reading: AWS Error SLOW_DOWN during GetObject operation"), True),
        (ConnectionResetError("by peer"), True),
        (TimeoutError("read timed out"), True),
        (FileNotFoundError("gone"), False),
        (PermissionError("not for you"), False),
        (OSError(ENOSPC, "No space left on device"), False),
        (ValueError("not Parquet"), False),
    ],
)
def test_what_may_be_gone_at_the_next_attempt(error: Exception, passes: bool) -> None:
    assert may_pass(_raised(error)) is passes


def test_bad_input_does_not_pass() -> None:
    assert not may_pass(CaptureError("is not a capture", file="letter.pcap"))
    assert isinstance(_raised(OSError(ENOSPC, "No space left on device")), LakeFullError)


class _Context:
    def __init__(self, master: str, **settings: str) -> None:
        self.master, self._settings = master, settings

    def getConf(self) -> dict[str, str]:  # noqa: N802 - Spark's own name
        return self._settings


@pytest.mark.parametrize(
    ("master", "times"),
    [("local", 1), ("local[*]", 1), ("local[8]", 1), ("local[*,4]", 4), ("local[2, 3]", 3), ("yarn", 4)],
)
def test_how_often_spark_tries(master: str, times: int) -> None:
    assert attempts(_Context(master)) == times
    assert attempts(_Context("spark://host:7077", **{"spark.task.maxFailures": "7"})) == 7


class Hiccup:
    """A store that fails the first times that a task asks it, each task by itself."""

    def __init__(self, folder: Path, fails: int) -> None:
        self._folder, self._fails = folder, fails

    def __call__(self, number: int) -> int:
        asked = sorted(self._folder.glob(f"{number}-*"))
        (self._folder / f"{number}-{len(asked)}").touch()
        if len(asked) < self._fails and number == 2:
            with named(f"s3://bucket/{number}"):
                raise OSError(EIO, "Input/output error")
        return number * number


def _asked(folder: Path, number: int) -> int:
    return len(list(folder.glob(f"{number}-*")))


def test_a_hiccup_of_the_store_is_tried_again_by_spark(spark: Any, tmp_path: Path) -> None:
    times = attempts(spark.sparkContext)
    assert times > 1  # as `pregao build` has it
    found = SparkRunner(spark).run(Hiccup(tmp_path, times - 1), [1, 2, 3], _silent)
    assert found == [1, 4, 9]
    assert [_asked(tmp_path, number) for number in (1, 2, 3)] == [1, times, 1]  # only that task


def test_one_that_stays_is_told_as_it_is(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"^s3://bucket/2: .*Input/output error$"):
        SparkRunner(spark).run(Hiccup(tmp_path, 99), [1, 2, 3], _silent)
    assert _asked(tmp_path, 2) == attempts(spark.sparkContext)


class Bad:
    """Input that is damaged: the next attempt would find the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, number: int) -> int:
        (self._folder / f"{number}-{len(list(self._folder.iterdir()))}").touch()
        raise LakeDamagedError("has 3 bytes, the log says 4", file="trades/x.parquet")


def test_bad_input_is_not_tried_again(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="has 3 bytes"):
        SparkRunner(spark).run(Bad(tmp_path), [1], _silent)
    assert _asked(tmp_path, 1) == 1


def test_an_item_is_a_row_in_a_partition_of_its_own(spark: Any) -> None:
    """What a task is sent has the size of its item, not of all of them."""
    items = [b"x" * 1000 * (number % 3) for number in range(23)]
    frame = SparkRunner(spark).frame(items)
    sizes = frame.rdd.mapPartitions(lambda rows: [[len(row["item"]) for row in rows]]).collect()
    assert len(sizes) == len(items)
    assert [len(each) for each in sizes] == [1] * len(items)
    assert all(size[0] - 100 < len(item) for size, item in zip(sizes, items, strict=True))
    assert SparkRunner(spark).run(len, items, _silent) == [len(item) for item in items]


@pytest.fixture
def little_room(spark: Any) -> Iterator[Any]:
    """A driver that collects at most a megabyte of a stage. Spark reads it when a stage begins."""
    settings = spark.sparkContext._jsc.sc().conf()
    before = spark.sparkContext.getConf().get(MAX_RESULT_KEY)
    settings.set(MAX_RESULT_KEY, "1m")
    yield spark
    settings.set(MAX_RESULT_KEY, before)


def _large(number: int) -> bytes:
    return bytes([number]) * 200_000


def test_what_the_driver_collects_is_bounded(little_room: Any, tmp_path: Path) -> None:
    """Forty results of 200 kB are eight times what it may collect: they come back as files, which are read
    once."""
    items = list(range(40))
    with pytest.raises(LakeError, match=r"more than spark.driver.maxResultSize \(1024.0 KiB\)"):
        SparkRunner(little_room).run(_large, items, _silent)
    place = Location(tmp_path)
    assert SparkRunner(little_room, place).run(_large, items, _silent) == [_large(item) for item in items]
    assert not list(place.files(FOLDER))
    # Small ones need no file.
    assert SparkRunner(little_room, place).run(abs, [-1, 2], _silent) == [1, 2]


def test_the_session_has_our_bound_unless_the_user_says_otherwise(spark: Any) -> None:
    assert spark.sparkContext.getConf().get(MAX_RESULT_KEY) == MAX_RESULT == "1g"


@pytest.mark.parametrize(
    ("setting", "size"),
    [("512m", 512 << 20), ("1g", 1 << 30), ("2048", 2048), ("64kb", 64 << 10), ("0", 1 << 30),
     (None, 1 << 30), ("lots", 1 << 30)],
)  # fmt: skip
def test_sizes_are_read_as_spark_does(setting: str | None, size: int) -> None:
    assert result_bytes(setting) == size


def test_the_share_of_a_task_shrinks_with_their_number(tmp_path: Path) -> None:
    place = Location(tmp_path)
    for tasks in (1, 100, 5_000, 1_000_000):
        policy = ResultPolicy.of_stage(place, "512m", tasks)
        assert policy.most * tasks <= 128 << 20
        assert policy.most <= 64 << 10
    stored = policy.pack("x" * 1000)
    assert len(stored) < 200
    assert [file.size > 1000 for file in place.files(FOLDER)] == [True]
    assert policy.unpack(stored) == "x" * 1000


def test_jobs_say_what_they_are_for(spark: Any) -> None:
    """In Spark's own list of jobs, which its web page shows."""
    with described("build"), described("scan 2 captures"):
        SparkRunner(spark).run(abs, [-1, -2], _silent)
    context = spark.sparkContext
    mine = context.statusTracker().getJobIdsForGroup(GROUP)
    assert mine
    newest = context._jsc.sc().statusStore().job(max(mine))
    assert newest.description().get() == "pregao: build: scan 2 captures"
    assert newest.numCompletedTasks() == 2
    assert context.getLocalProperty("spark.job.description") is None
    assert context.getLocalProperty("spark.jobGroup.id") is None


def test_a_group_that_is_there_stays(spark: Any) -> None:
    """A streaming query is stopped by its group."""
    context = spark.sparkContext
    context.setJobGroup("a query", "its batch")
    try:
        SparkRunner(spark).run(abs, [-1], _silent)
        assert len(context.statusTracker().getJobIdsForGroup("a query")) == 1
        assert context.getLocalProperty("spark.job.description") == "its batch"
    finally:
        for name in ("spark.job.description", "spark.jobGroup.id", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)


_USED_AGAIN = """
import resource
import numpy as np
from pregao.lake.runners import only_tasks

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(96 << 20, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

only_tasks()
print(faults(), faults())
"""


def test_memory_of_a_large_array_is_used_again_by_the_next() -> None:
    """In a process of its own: what is set holds for the whole of it."""
    command = [sys.executable, "-c", _USED_AGAIN]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    first, second = map(int, told.split())
    assert first > 1000, "nothing was seen of pages being touched for the first time"
    assert second < first / 10
