"""Summaries of logs, which we read, and checkpoints, which readers of Delta do: both say what the Delta
library reads in the log. Its own listing is the twin of ours."""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pregao.lake.errors import LakeDamagedError, LakeFullError
from pregao.lake.reading.conditions import conditions
from pregao.lake.store import checkpoints, deltalog, logstate, summaries
from pregao.lake.store.checkpoints import INTERVAL, LOG, Checkpoint, name_of, needless_entries
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import APPLICATION, DeltaLog
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.summaries import FOLDER, NEWEST, Summary, needless_summaries, summary_name
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
    """A day with each commit, of which every third is replaced by the next one; few files in a part."""
    monkeypatch.setattr(summaries, "PART_FILES", 4)
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
        told = json.loads((log_folder(kit, table) / FOLDER / NEWEST).read_text())
        assert (told["version"], told["checkpoint"]) == (2 * INTERVAL, 2 * INTERVAL)
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


def without_summaries(kit: Kit, *tables: str) -> None:
    for table in tables:
        shutil.rmtree(log_folder(kit, table) / FOLDER)


def test_a_log_without_summaries_is_read_from_its_checkpoints(kit: Kit) -> None:
    """As lakes of before have them."""
    without_summaries(kit, "orders", "commits", "intents")
    state = DeltaLog(kit.location, ORDERS)._state
    assert isinstance(state.base, Checkpoint)
    assert state.base.version == 2 * INTERVAL
    for version in (None, *range(COMMITTED + 1)):
        assert by_us(kit, version=version) == by_library(kit, version=version), version
    wanted = conditions(ORDERS, {"trade_date": MONDAY_DATE + timedelta(days=7)})
    assert len(DeltaLog(kit.location, ORDERS).files_where(wanted)) == 1
    for number in range(INTERVAL):
        kit.commit(kit.file("orders", partition=day(COMMITTED + number)))
    assert isinstance(DeltaLog(kit.location, ORDERS)._state.base, Summary), "the next one is written from all"
    assert by_us(kit) == by_library(kit)
    for ledger in (COMMITS, INTENTS):
        assert by_us(kit, ledger) == by_library(kit, ledger.name)


def test_a_checkpoint_of_the_library_is_read_too(kit: Kit) -> None:
    """Neither sorted nor with figures; and who cleans up after it takes entries that we would read."""
    DeltaTable(kit.location.full("orders")).create_checkpoint()
    for entry in log_folder(kit).glob("*.json"):
        entry.unlink()
    base = DeltaLog(kit.location, ORDERS)._state.base
    assert isinstance(base, Checkpoint)
    assert base.version == COMMITTED
    assert by_us(kit) == by_library(kit)
    wanted = conditions(ORDERS, {"trade_date": MONDAY_DATE})
    found = DeltaLog(kit.location, ORDERS).files_where(wanted)
    assert [file.partition["trade_date"] for file in found] == [MONDAY_DATE]
    kit.commit(kit.file("orders", partition=day(COMMITTED)))
    assert by_us(kit) == by_library(kit)


def test_only_the_partitions_in_question_are_read(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real: Callable[..., Any] = Summary.read_part
    monkeypatch.setattr(
        Summary, "read_part", lambda self, part: (read.append(part.name), real(self, part))[1]
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


def test_files_of_a_unit_are_chosen_without_looking_at_those_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After compaction a part has a file of each of some thousand units: what a batch asks of it must not
    grow with them."""
    kit, looked = Kit(tmp_path), list[str]()
    monkeypatch.setattr(summaries, "MOST_BYTES", 1)
    kit.commit(*(kit.file("orders", partition=day(number)) for number in range(100)))
    real = checkpoints.partition_of
    for module in (checkpoints, summaries, logstate, deltalog):
        monkeypatch.setattr(
            module, "partition_of", lambda table, folder: (looked.append(folder), real(table, folder))[1]
        )
    log = DeltaLog(kit.location, ORDERS)
    assert log.files_where(conditions(ORDERS, {"trade_date": MONDAY_DATE + timedelta(days=50)}))
    assert len(looked) <= 2, "of 100 folders"


def parts(kit: Kit, version: int | None = None) -> list[summaries.PartOfLog]:
    found = (
        Summary.newest(kit.location, ORDERS)
        if version is None
        else Summary.of_version(kit.location, ORDERS, version)
    )
    assert found is not None
    return found.parts


def test_a_summary_writes_only_the_parts_that_have_changed(kit: Kit) -> None:
    before, after = parts(kit, INTERVAL), parts(kit, 2 * INTERVAL)
    assert {part.name for part in before[:-1]} <= {part.name for part in after}
    assert len(after) > len(before)
    assert all(part.last < other.first for part, other in pairwise(after))
    for number in range(INTERVAL):
        old = kit.lake().files("orders", {"trade_date": MONDAY_DATE})
        new = kit.file("orders", partition=day(0), count=number + 1)
        kit.commit(new, removes=(old[0].data_file(),))
    now = parts(kit)
    assert len({part.name for part in now} & {part.name for part in after}) >= len(after) - 2
    assert by_us(kit) == by_library(kit)


def test_parts_of_few_files_are_joined(kit: Kit) -> None:
    """As compaction leaves them, a date after the other."""
    assert len(parts(kit)) > 3
    files = kit.lake().files("orders")
    for file in files[: len(files) - 2]:
        Committer(kit.location).commit(Change(removes=(file.data_file(),)), Label("compact"))
    for number in range(INTERVAL):
        kit.commit(kit.file("orders", partition=day(COMMITTED + number)))
    assert by_us(kit) == by_library(kit)
    assert len(parts(kit)) <= -(-(INTERVAL + 2) // 2)


def test_many_bytes_are_reason_enough_for_one(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "MOST_BYTES", 1)
    kit.commit(kit.file("orders", partition=day(COMMITTED)))
    told = json.loads((log_folder(kit) / FOLDER / NEWEST).read_text())
    assert told["version"] == COMMITTED + 1
    assert told["checkpoint"] == 2 * INTERVAL, "a checkpoint costs more: it has all files"
    assert by_us(kit) == by_library(kit)


def test_the_more_files_the_fewer_checkpoints(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_FILES_AN_ENTRY", 1)
    for number in range(INTERVAL):
        kit.commit(kit.file("orders", partition=day(COMMITTED + number)))
    told = json.loads((log_folder(kit) / FOLDER / NEWEST).read_text())
    assert (told["version"], told["checkpoint"]) == (3 * INTERVAL, 2 * INTERVAL)


@pytest.mark.parametrize("content", [b"", b"{}", b"nothing of the kind", b'{"format":1,"version":"x"}', None])
def test_a_summary_that_cannot_be_read_is_passed_over(kit: Kit, content: bytes | None) -> None:
    for name in (NEWEST, summary_name(2 * INTERVAL)):
        path = log_folder(kit) / FOLDER / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
    assert by_us(kit) == by_library(kit)
    assert kit.lake().arrow("orders").num_rows == kit.count("orders")


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", None])
def test_a_part_that_cannot_be_read_is_named(kit: Kit, content: bytes | None) -> None:
    path = log_folder(kit) / FOLDER / parts(kit)[0].name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(LakeDamagedError, match=r"delete .*_pregao: the log says the same") as error:
        kit.lake().arrow("orders")
    assert error.value.file == str(path)
    without_summaries(kit, "orders")
    assert by_us(kit) == by_library(kit)


def test_summaries_that_nobody_needs_are_found(kit: Kit) -> None:
    gone = {file.path for file in needless_summaries(kit.location, ORDERS, 2 * INTERVAL + 1)}
    there = {path.name for path in (log_folder(kit) / FOLDER).iterdir()}
    assert there - gone == {NEWEST, summary_name(2 * INTERVAL), *(part.name for part in parts(kit))}
    assert summary_name(INTERVAL) in gone
    for name in gone:
        kit.location.delete("orders", LOG, FOLDER, name)
    assert by_us(kit) == by_library(kit)
    early = needless_summaries(kit.location, ORDERS, INTERVAL - 1)
    assert early == []


def test_a_lost_entry_is_named(kit: Kit) -> None:
    entry = log_folder(kit) / f"{2 * INTERVAL + 2:020}.json"
    entry.unlink()
    for version in (None, 2 * INTERVAL + 3):
        with pytest.raises(LakeDamagedError, match="entry of the log is missing") as error:
            DeltaLog(kit.location, ORDERS, version)
        assert error.value.file == str(entry)
    with pytest.raises(LakeDamagedError):
        kit.lake().arrow("orders")


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_checkpoint_that_cannot_be_read_is_named(kit: Kit, content: bytes) -> None:
    without_summaries(kit, "orders")
    path = log_folder(kit) / name_of(2 * INTERVAL)
    path.write_bytes(content)
    with pytest.raises(LakeDamagedError) as error:
        kit.lake().arrow("orders")
    assert error.value.file == str(path)


def test_a_checkpoint_that_is_gone_is_done_without(kit: Kit) -> None:
    before = by_library(kit)
    without_summaries(kit, "orders")
    (log_folder(kit) / name_of(2 * INTERVAL)).unlink()
    assert by_us(kit) == before


def test_an_entry_that_has_lost_lines_is_told(kit: Kit) -> None:
    """It can still be read: the files are counted."""
    entry = log_folder(kit) / f"{COMMITTED:020}.json"
    lines = entry.read_text().splitlines()
    entry.write_text("\n".join(line for line in lines if not line.startswith('{"add"')))
    with pytest.raises(LakeDamagedError, match="has lost something"):
        kit.lake().arrow("orders")


def test_whoever_dies_after_one_has_committed_all(kit: Kit) -> None:
    def dies(step: str) -> None:
        if step == "summary orders":
            raise KilledError

    for number in range(COMMITTED, 3 * INTERVAL - 1):
        kit.commit(kit.file("orders", partition=day(number)))
    before = kit.count("orders")
    with pytest.raises(KilledError):
        Committer(kit.location, dies).commit(Change((kit.file("orders", partition=day(99)),)), Label("build"))
    assert kit.count("orders") == before + 3
    assert by_us(kit) == by_library(kit)
    assert not (log_folder(kit, "commits") / name_of(3 * INTERVAL)).exists()
    kit.commit(kit.file("orders", partition=day(100)))
    assert (log_folder(kit, "commits") / name_of(3 * INTERVAL + 1)).exists(), "the next one makes up for it"
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


def test_an_entry_is_parsed_once_by_who_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream opens the same logs again with every batch."""
    kit = Kit(tmp_path)
    for _ in range(4):
        kit.commit(kit.file("orders"))
    parsed: list[str] = []
    real = logstate.path_in

    def count(line: str, start: str) -> str | None:
        parsed.append(start)
        return real(line, start)

    monkeypatch.setattr(logstate, "path_in", count)
    kept = kit.location.remembering()
    assert len(DeltaLog(kept, TABLES["orders"]).files) == 4
    assert parsed
    parsed.clear()
    assert len(DeltaLog(kept, TABLES["orders"]).files) == 4
    assert not parsed
    kit.commit(kit.file("orders"))
    assert len(DeltaLog(kept, TABLES["orders"]).files) == 5
    assert parsed
