"""Tables that are written in parts: what a file can hold, and that a build in many parts is the same."""

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pregao.lake.lake import Lake
from pregao.lake.plan.slicing import Slice
from pregao.lake.runners import without_collector
from pregao.lake.store.location import Location
from pregao.lake.tables.messages import IMBALANCES
from pregao.lake.tasks import books, packets, run
from pregao.lake.tasks import books as orders
from pregao.lake.tasks.arrays import record
from pregao.model.rows import NULL
from tests.kits.lakes import all_tables, build, make_days


def _rows(sizes: list[int]) -> Any:
    columns = {"size": np.array(sizes, np.int64), "quality": np.zeros(len(sizes), np.int64)}
    return record(IMBALANCES, columns, len(sizes))


def _target(folder: Path) -> run.SliceTarget:
    slice_ = Slice(84, "2026-11-16", 0, -1, 9, -1, [1], {}, [], None, False)
    done = run.SliceDone()
    return run.SliceTarget(slice_, Location(folder), done, run.StepClock(done.seconds))


def test_nulls_that_come_late_begin_another_file(tmp_path: Path) -> None:
    """A file that has said that a column has no nulls cannot take them; one that has some can take none."""
    target, parts = _target(tmp_path), ([1, 2], [3], [4, NULL], [5], [NULL])
    target.write(IMBALANCES, lambda: (_rows(part) for part in parts))
    files = target.done.files
    assert [file.rows for file in files] == [3, 4]
    assert target.done.counts == {"imbalances": 7}
    found = [pq.ParquetFile(tmp_path / "imbalances" / file.path) for file in files]
    assert [file.read(["size"]).column(0).to_pylist() for file in found] == [[1, 2, 3], [4, None, 5, None]]
    names = found[0].schema.names
    levels = [file.schema.column(names.index("size")).max_definition_level for file in found]
    assert levels == [0, 1]


def test_no_rows_no_file(tmp_path: Path) -> None:
    target = _target(tmp_path)
    target.write(IMBALANCES, lambda: iter([_rows([])]))
    assert (target.done.files, target.done.counts) == ([], {"imbalances": 0})


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STRETCH_ORDERS", 100)
    monkeypatch.setattr(orders, "PART_ROWS", 64)
    monkeypatch.setattr(packets, "PART_ROWS", 64)
    monkeypatch.setattr(books, "ROW_GROUP_ROWS", 64)


@pytest.mark.usefixtures("_small_parts")
def test_a_build_in_small_parts_is_the_same(tmp_path: Path) -> None:
    """With losses, so that there are nulls in some parts and not in others. Rows of a file stay in order."""
    day = make_days(tmp_path / "captures", seed=31, messages=3_000, faults="loss=0.3%,both=3x5")[0]
    build([day], tmp_path / "parts", slices=2)
    in_parts = all_tables(tmp_path / "parts")
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((orders, "PART_ROWS"), (packets, "PART_ROWS"), (books, "ROW_GROUP_ROWS")):
            patch.setattr(module, name, 1 << 20)
        patch.setattr(run, "STRETCH_ORDERS", 1 << 40)
        build([day], tmp_path / "whole", slices=2)
    assert in_parts == all_tables(tmp_path / "whole")
    lakes = [Lake(tmp_path / name) for name in ("parts", "whole")]
    assert len(lakes[0].files("packets")) > len(lakes[1].files("packets"))
    for table in ("packets", "orders", "depth"):
        for file in lakes[0].files(table):
            columns = ["seq_version", "seq_num"] if table == "packets" else ["security_id", "ts_event"]
            rows = pq.ParquetFile(tmp_path / "parts" / table / file.path).read(columns).to_pylist()
            keys = [tuple(row[name] or 0 for name in columns) for row in rows]
            assert keys == sorted(keys), file.path


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_as_it_was_after_a_task(was_on: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with without_collector():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
        with pytest.raises(KeyError), without_collector():
            raise KeyError
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()
