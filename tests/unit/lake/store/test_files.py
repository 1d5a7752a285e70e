"""Data files: whole or gone, with the figures of their rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.errors import LakeError, LakeFullError
from pregao.lake.store.files import DataFile, FileWriter, write_file
from pregao.lake.tables.catalogue import TABLES
from tests.unit.lake.kit import MONDAY, Kit, rows

ORDERS = TABLES["orders"]


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def test_figures_of_the_columns_readers_skip_by(kit: Kit) -> None:
    file = kit.file("orders", security=7, ts_event=[5, None, 2], symbol=["B", "A", None], order_id=4)
    assert json.loads(file.statistics) == {
        "numRecords": 3,
        "minValues": {"channel": 84, "security_id": 7, "ts_event": 2, "symbol": "A"},
        "maxValues": {"channel": 84, "security_id": 7, "ts_event": 5, "symbol": "B"},
        "nullCount": {
            "channel": 0,
            "security_id": 0,
            "ts_event": 1,
            "symbol": 1,
            "seq_version": 3,
            "seq_num": 3,
        },
    }


def test_figures_over_several_row_groups(kit: Kit) -> None:
    with FileWriter(kit.location, ORDERS, MONDAY, schema=ORDERS.stored_schema) as writer:
        for first in (10, 0):
            writer.write(rows(ORDERS, 2, ts_event=[first, first + 5]))
        writer.write(rows(ORDERS, 2))
    found = json.loads(writer.file.statistics)
    assert (found["minValues"]["ts_event"], found["maxValues"]["ts_event"]) == (0, 15)
    assert found["nullCount"]["ts_event"] == 2
    assert found["numRecords"] == 6


def test_a_manifest_row_and_back(kit: Kit) -> None:
    file = kit.file("orders")
    assert DataFile.from_row(file.to_row()) == file


def test_names_are_unique_to_the_attempt(kit: Kit) -> None:
    assert kit.file("orders").path != kit.file("orders").path


def test_a_writer_that_fails_leaves_nothing(kit: Kit) -> None:
    writer = FileWriter(kit.location, ORDERS, MONDAY)
    with pytest.raises(RuntimeError), writer:
        raise RuntimeError
    assert list(kit.location.files("orders")) == []
    with pytest.raises(LakeError, match="is not written yet"):
        _ = writer.file


def test_a_partition_that_is_not_the_tables(kit: Kit) -> None:
    with pytest.raises(LakeError, match="partition"):
        write_file(kit.location, ORDERS, {"channel": "84"}, rows(ORDERS, 1))


def test_a_disk_that_fills_up(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit fails with a name, the lake is as it was, and goes on when there is room again."""
    from pregao.lake.store import files

    class Full(files.pq.ParquetWriter):  # type: ignore[misc, name-defined]
        def write_table(self, *args: Any, **options: Any) -> None:
            raise OSError(28, "No space left on device")

    kit.commit(kit.file("orders"))
    file = kit.file("orders")
    with monkeypatch.context() as patch:
        patch.setattr(files.pq, "ParquetWriter", Full)
        with pytest.raises(LakeFullError):
            kit.commit(file)
        with pytest.raises(LakeFullError):
            kit.file("orders")
    assert kit.count("orders") == 3
    kit.commit(file)
    assert kit.count("orders") == 6
