"""Who tries a task again, and what is told of one that fails."""

from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.errors import LakeDamagedError, LakeFullError, named
from pregao.lake.running.runners import SparkRunner, TaskError, attempts, may_pass
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
