"""Rows and files of any table, without decoding anything."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from pregao.lake.lake import Lake
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.table import Table
from tests.kits.lake_rows import unit_key

MONDAY_DATE = date(2026, 11, 16)
MONDAY = unit_key(MONDAY_DATE, 84).partition
TUESDAY = unit_key(date(2026, 11, 17), 84).partition


class KilledError(BaseException):
    """The process dies here: nothing of ours may catch it."""


def rows(table: Table, count: int, **columns: Any) -> Any:
    """`count` rows as stored: given columns (a value or a list), the least thing where null is not
    allowed, null elsewhere."""
    made = {}
    for field in table.stored_schema:
        if field.name in columns:
            value = columns[field.name]
            made[field.name] = pa.array(value if isinstance(value, list) else [value] * count, field.type)
        elif field.nullable:
            made[field.name] = pa.nulls(count, field.type)
        else:
            least: Any = table.by_name[field.name].words[:1] or ("x",) if field.type == pa.string() else (0,)
            made[field.name] = pa.array([least[0]] * count, field.type)
    return pa.table(made, schema=table.stored_schema)


class Kit:
    """A lake in a folder."""

    def __init__(self, folder: Path) -> None:
        self.location = Location(folder / "lake")

    def file(
        self,
        name: str,
        security: int = 1,
        count: int = 3,
        partition: dict[str, str] | None = None,
        **columns: Any,
    ) -> DataFile:
        table = TABLES[name]
        if "security_id" in table.by_name:
            columns["security_id"] = security
        where = partition or MONDAY
        if "channel" in table.by_name:
            columns.setdefault("channel", int(where["source"]))
        return write_file(self.location, table, where, rows(table, count, **columns))

    def commit(self, *adds: DataFile, removes: tuple[DataFile, ...] = (), base: int | None = None) -> int:
        return Committer(self.location).commit(Change(adds, removes), Label("build", "b"), base=base).number

    def lake(self, as_of: int | None = None) -> Lake:
        return Lake(self.location, as_of=as_of)

    def count(self, name: str, as_of: int | None = None) -> int:
        return int(self.lake(as_of).arrow(name).num_rows)
