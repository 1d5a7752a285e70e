"""Checkpoints of logs: written every so many entries, used by us, and what the Delta library reads in them is
what we read. The library's own listing is the twin of ours."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pregao.lake.errors import LakeDamagedError, LakeFullError
from pregao.lake.reading.conditions import conditions
from pregao.lake.store import checkpoints, deltalog
from pregao.lake.store.checkpoints import INTERVAL, LOG, Checkpoint, name_of, needless_entries
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import APPLICATION, DeltaLog
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.ledger import Ledger
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS
from tests.kits.lake_rows import unit_key
from tests.unit.lake.kit import MONDAY_DATE, KilledError, Kit

ORDERS = TABLES["orders"]
COMMITTED = 2 * INTERVAL + 3


def day(number: int, channel: int = 84) -> dict[str, str]:
    return unit_key(MONDAY_DATE + timedelta(days=number), channel).partition


def log_folder(kit: Kit, table: str = "orders") -> Path:
    return Path(kit.location.path(table, LOG))


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A day with each commit, of which every third is replaced by the next one; few files in a row group."""
    monkeypatch.setattr(checkpoints, "_GROUP_FILES", 4)
    kit = Kit(tmp_path)
    for number in range(COMMITTED):
        before = {"trade_date": MONDAY_DATE + timedelta(days=number - 1)}
        old = kit.lake().files("orders", before) if number % 3 else []
        kit.commit(
            kit.file("orders", partition=day(number), ts_event=[number, number + 1, number + 2]),
            *([kit.file("orders", partition=day(number - 1), count=number + 1)] if old else []),
            removes=tuple(file.data_file() for file in old),
        )
    return kit


def by_library(kit: Kit, table: str = "orders", version: int | None = None) -> list[tuple[Any, ...]]:
    """Path, size, rows and partition of each file, least and greatest of a column."""
    rows = pa.table(
        DeltaTable(kit.location.full(table), version=version).get_add_actions(flatten=True)
    ).to_pylist()
    return sorted(
        (row["path"], row["size_bytes"], row["num_records"],
         tuple(row[f"partition.{name}"] for name in TABLES.get(table, INTENTS).partitions),
         row.get("min.security_id"), row.get("max.security_id"), row.get("null_count.security_id"))
        for row in rows
    )  # fmt: skip


def by_us(kit: Kit, table: Any = ORDERS, version: int | None = None) -> list[tuple[Any, ...]]:
    return sorted(
        (file.path, file.size, file.rows, tuple(file.partition[name] for name in table.partitions),
         file.least.get("security_id"), file.greatest.get("security_id"), file.nulls.get("security_id"))
        for file in DeltaLog(kit.location, table, version).files
    )  # fmt: skip


def test_one_is_written_every_so_many_entries_of_every_log(kit: Kit) -> None:
    for table in ("orders", "intents", "commits"):
        hint = json.loads((log_folder(kit, table) / "_last_checkpoint").read_text())
        assert hint["version"] == 2 * INTERVAL
        written = sorted(path.name for path in log_folder(kit, table).glob("*.checkpoint.parquet"))
        assert written == [name_of(INTERVAL), name_of(2 * INTERVAL)]
    assert not list(log_folder(kit).glob("*.part"))


def test_the_library_reads_in_them_what_we_read(kit: Kit) -> None:
    log = DeltaLog(kit.location, ORDERS)
    table = DeltaTable(kit.location.full("orders"))
    assert (log.version, log.transaction) == (table.version(), table.transaction_version(APPLICATION))
    assert log.columns == {column.name for column in table.schema().fields}
    for version in (None, *range(COMMITTED + 1)):
        assert by_us(kit, version=version) == by_library(kit, version=version), version
        assert DeltaLog(kit.location, ORDERS, version).count == len(by_library(kit, version=version))
    for ledger in (COMMITS, INTENTS):
        assert by_us(kit, ledger) == by_library(kit, ledger.name)


def test_entries_before_them_are_not_needed_by_anybody(kit: Kit) -> None:
    before, rows = by_library(kit), kit.lake().arrow("orders").num_rows
    for table in (ORDERS, COMMITS, INTENTS):
        gone = needless_entries(kit.location, table.name, 2 * INTERVAL + 1)
        assert len(gone) == 2 * INTERVAL + 1  # entries 0 to 19, and a checkpoint
        for file in gone:
            kit.location.delete(table.name, LOG, file.path)
    assert by_us(kit) == by_library(kit) == before
    lake = kit.lake()
    assert lake.arrow("orders").num_rows == rows
    assert lake.to_duckdb(tables=["orders"]).sql("select count(*) from orders").fetchall() == [(rows,)]
    assert DeltaTable(kit.location.full("orders")).to_pyarrow_dataset().count_rows() == rows
    assert kit.commit(kit.file("orders", partition=day(COMMITTED))) == COMMITTED + 1
    (log_folder(kit) / "_last_checkpoint").unlink()
    assert len(by_us(kit)) == len(before) + 1, "found without the mark of the last one"


def test_one_of_the_library_is_read_too(kit: Kit) -> None:
    """As lakes of before have them: neither sorted nor with figures."""
    DeltaTable(kit.location.full("orders")).create_checkpoint()
    assert DeltaLog(kit.location, ORDERS)._state.checkpoint.version == COMMITTED  # type: ignore[union-attr]
    assert by_us(kit) == by_library(kit)
    wanted = conditions(ORDERS, {"trade_date": MONDAY_DATE})
    found = DeltaLog(kit.location, ORDERS).files_where(wanted)
    assert [file.partition["trade_date"] for file in found] == [MONDAY_DATE]
    kit.commit(kit.file("orders", partition=day(COMMITTED)))
    assert by_us(kit) == by_library(kit)


def test_only_the_partitions_in_question_are_read(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real: Callable[..., Any] = Checkpoint.read_group
    monkeypatch.setattr(
        Checkpoint, "read_group", lambda self, group: (read.append(group), real(self, group))[1]
    )
    log = DeltaLog(kit.location, ORDERS)
    where = {"system": "binary", "trade_date": MONDAY_DATE + timedelta(days=7), "source": "84"}
    assert len(log.files_where(conditions(ORDERS, where))) == 1
    assert len(read) == 1
    assert log.values_of("system") == {"binary"}
    assert len(read) == 1, "figures say it"
    assert len(log.values_of("trade_date")) == COMMITTED
    read.clear()
    ledger = Ledger(kit.location)
    assert ledger.version().number == COMMITTED
    assert (ledger.pending, ledger.last_number) == ([], COMMITTED)
    assert ledger.since(COMMITTED - 2) == [COMMITTED - 1, COMMITTED]
    assert read == []
    assert len(ledger.versions()) == COMMITTED


def test_a_lost_entry_is_named(kit: Kit) -> None:
    entry = log_folder(kit) / f"{2 * INTERVAL + 2:020}.json"
    entry.unlink()
    for version in (None, 2 * INTERVAL + 3):
        with pytest.raises(LakeDamagedError, match="entry of the log is missing") as error:
            DeltaLog(kit.location, ORDERS, version)
        assert error.value.file == str(entry)
    with pytest.raises(LakeDamagedError):
        kit.lake().arrow("orders")


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_one_that_cannot_be_read_is_named(kit: Kit, content: bytes | None) -> None:
    path = log_folder(kit) / name_of(2 * INTERVAL)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(LakeDamagedError) as error:
        kit.lake().arrow("orders")
    assert error.value.file == str(path)


def test_an_entry_that_has_lost_lines_is_told(kit: Kit) -> None:
    """It can still be read: the files are counted."""
    entry = log_folder(kit) / f"{COMMITTED:020}.json"
    lines = entry.read_text().splitlines()
    entry.write_text("\n".join(line for line in lines if not line.startswith('{"add"')))
    with pytest.raises(LakeDamagedError, match="has lost something"):
        kit.lake().arrow("orders")


def test_whoever_dies_after_one_has_committed_all(kit: Kit) -> None:
    def dies(step: str) -> None:
        if step == "checkpoint orders":
            raise KilledError

    for number in range(COMMITTED, 3 * INTERVAL - 1):
        kit.commit(kit.file("orders", partition=day(number)))
    before = kit.count("orders")
    with pytest.raises(KilledError):
        Committer(kit.location, dies).commit(Change((kit.file("orders", partition=day(99)),)), Label("build"))
    assert kit.count("orders") == before + 3
    assert by_us(kit) == by_library(kit)
    assert not (log_folder(kit, "commits") / name_of(3 * INTERVAL)).exists()
    for number in range(INTERVAL):
        kit.commit(kit.file("orders", partition=day(100 + number)))
    assert (log_folder(kit, "commits") / name_of(4 * INTERVAL)).exists(), "a later one makes up for it"
    assert by_us(kit, COMMITS) == by_library(kit, "commits")


def test_a_commit_stands_without_its_checkpoint(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise LakeFullError("checkpoint")

    monkeypatch.setattr(deltalog, "write_checkpoint", full)
    before = kit.count("orders")
    for number in range(INTERVAL):
        kit.commit(kit.file("orders", partition=day(COMMITTED + number)))
    assert kit.count("orders") == before + 3 * INTERVAL
    assert by_us(kit) == by_library(kit)
