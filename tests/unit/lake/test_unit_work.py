"""Work of units in tasks: tables that no slice writes, where they are large, and failures that may pass."""

import pickle
from errno import EIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pregao.lake import unit_work
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.runners import InlineRunner, description
from pregao.lake.shared_parts import FOLDER
from pregao.lake.store.location import Location
from pregao.lake.tasks.run import SliceDone
from pregao.model.errors import CaptureError, PregaoError
from tests.kits.lakes import SMALL_PIECES, all_tables, build, make_days


class Tasks(InlineRunner):
    """Runs tasks as Spark does: what they are sent and send back is pickled."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[int]] = {}
        self.done: list[Any] = []

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        sent = [pickle.dumps(item) for item in items]
        self.sizes.setdefault(description(), []).extend(map(len, sent))
        done = super().run(pickle.loads(pickle.dumps(task)), list(map(pickle.loads, sent)), progress)
        self.done += done
        return list(pickle.loads(pickle.dumps(done)))


def test_instruments_news_and_quality_are_a_task_for_each_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are the same, and the row of a task has only the name of a file."""
    (day,) = make_days(tmp_path / "days", seed=11, messages=800, loops=6, faults="loss=1%,both=2")
    build([day], tmp_path / "here")
    monkeypatch.setattr(unit_work, "HERE_ROWS", 0)
    tasks, place = Tasks(), Location(tmp_path / "there")
    report = Builder(place, tasks, BuildSettings(piece_packets=SMALL_PIECES, derive=False)).build([str(day)])
    step = f"pregao: instruments, news and quality of {len(report.units)} units"
    assert len(tasks.sizes[step]) == len(report.units)
    assert max(tasks.sizes[step]) < 300
    here, there = all_tables(tmp_path / "here"), all_tables(tmp_path / "there")
    for table in ("instruments", "news", "quality"):
        assert here[table], table
    assert here == there
    assert not list(place.files(FOLDER)), "what was shared is gone"


def test_many_findings_of_a_slice_are_a_file_that_the_driver_never_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (day,) = make_days(tmp_path / "days", seed=12, messages=800, loops=6, faults="loss=2%,both=6")
    build([day], tmp_path / "here")
    monkeypatch.setattr(unit_work, "MOST_FINDINGS", 3)
    monkeypatch.setattr(unit_work, "HERE_ROWS", 1)
    tasks, place = Tasks(), Location(tmp_path / "there")
    Builder(place, tasks, BuildSettings(piece_packets=SMALL_PIECES, derive=False)).build([str(day)])
    slices = [done for done in tasks.done if isinstance(done, SliceDone)]
    stored = [done for done in slices if done.stored_findings is not None]
    assert stored
    assert all(len(done.findings) <= 3 for done in slices)
    assert all_tables(tmp_path / "here") == all_tables(tmp_path / "there")
    assert not list(place.files(FOLDER)), "what was shared is gone"


class TriesAgain(InlineRunner):
    """As Spark does: a task that raises is run again, so often."""

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self.failures = 0

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        def attempt(item: Any) -> Any:
            for number in range(self._attempts):
                try:
                    return task(item)
                except PregaoError:
                    self.failures += 1
                    if number + 1 == self._attempts:
                        raise
            return None

        return super().run(attempt, items, progress)


@pytest.mark.parametrize("what", ["scan_capture", "build_slice"])
def test_a_hiccup_of_the_store_in_any_task_is_for_spark_to_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It raises, and makes no unit that could not be read; one attempt more, and the lake is whole."""
    (day,) = make_days(tmp_path / "days", seed=11, messages=300)
    build([day], tmp_path / "expected")
    does, calls = getattr(unit_work, what), count(1)

    def fails_at_times(*given: Any) -> Any:
        if next(calls) % 3 == 0:
            raise CaptureError("cannot be read", file=str(day)) from OSError(EIO, "Input/output error")
        return does(*given)

    monkeypatch.setattr(unit_work, what, fails_at_times)
    settings = BuildSettings(piece_packets=SMALL_PIECES, derive=False)
    once, twice = TriesAgain(1), TriesAgain(2)
    with pytest.raises(CaptureError, match="cannot be read"):
        Builder(Location(tmp_path / "once"), once, settings).build([str(day)])
    report = Builder(Location(tmp_path / "twice"), twice, settings).build([str(day)])
    assert (report.failed, report.unreadable) == ([], [])
    assert twice.failures > 0
    assert all_tables(tmp_path / "twice") == all_tables(tmp_path / "expected")
