"""Tables that we make ourselves, judged by the `deltalake` library."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema

from pregao.lake.store import deltalog
from pregao.lake.store.definitions import fields_of
from pregao.lake.store.deltalog import DeltaLog, entry_name, ready_log
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS
from pregao.lake.tables.page import comment_of
from pregao.lake.tables.table import Column
from pregao.lake.tables.types import LONG
from tests.unit.lake.kit import Kit

EVERY = {**TABLES, COMMITS.name: COMMITS, INTENTS.name: INTENTS}
WIDER = replace(TABLES["orders"], columns=(*TABLES["orders"].columns, Column("venue", LONG)))


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


@pytest.mark.parametrize("name", sorted(EVERY))
def test_columns_are_told_as_the_library_tells_them(name: str) -> None:
    table = EVERY[name]
    commented = [
        field.with_metadata({"comment": comment_of(table.by_name[field.name])}) for field in table.schema
    ]
    judged = json.loads(Schema.from_arrow(pa.schema(commented)).to_json())
    assert fields_of(table) == judged["fields"]


def test_the_library_opens_what_we_made_and_widened(kit: Kit) -> None:
    table = TABLES["orders"]
    kit.commit(kit.file("orders"))
    made = DeltaTable(kit.location.full("orders"))
    assert made.metadata().partition_columns == list(table.partitions)
    assert (made.metadata().name, made.metadata().description) == (table.name, table.about)
    assert made.metadata().configuration["delta.enableExpiredLogCleanup"] == "false"
    assert ready_log(kit.location, WIDER).columns == {*table.schema.names, "venue"}
    widened = DeltaTable(kit.location.full("orders"))
    assert widened.schema().fields[-1].name == "venue"
    assert widened.metadata().id == made.metadata().id
    rows = widened.to_pyarrow_table()
    assert (rows.num_rows, rows["venue"].null_count) == (3, 3)


def test_who_widens_beside_another_commit_tries_again(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.commit(kit.file("orders"))
    entry, other = deltalog.widening_entry, [kit.file("orders")]

    def beaten(*given: object) -> bytes:
        if other:
            kit.commit(other.pop())
        return entry(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(deltalog, "widening_entry", beaten)
    assert "venue" in ready_log(kit.location, WIDER).columns
    assert kit.count("orders") == 6


def test_of_two_who_make_a_table_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location, table = Location(tmp_path), TABLES["orders"]
    entry = deltalog.creating_entry

    def beaten(*given: object) -> bytes:
        monkeypatch.setattr(deltalog, "creating_entry", entry)
        ready_log(location, table)
        return entry(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(deltalog, "creating_entry", beaten)
    assert ready_log(location, table).version == 0
    log = tmp_path / "orders" / "_delta_log"
    assert [path.name for path in log.iterdir()] == [entry_name(0)]
    assert DeltaLog(location, table).mark(0) == 0
