"""Tables that no slice writes are tasks, where they are large."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from pregao.lake import unit_work
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.runners import InlineRunner, description
from pregao.lake.shared_parts import FOLDER
from pregao.lake.store.location import Location
from pregao.lake.tasks.run import SliceDone
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
