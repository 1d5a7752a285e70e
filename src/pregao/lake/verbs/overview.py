"""What is in a lake: its tables, its versions."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pregao.lake.lake import Lake, Systems
from pregao.lake.tables.catalogue import DATA_TABLES, find_table
from pregao.lake.tables.page import unit_of


@dataclass(frozen=True)
class Overview:
    """`tables` and `versions` are a pyarrow.Table to be shown or written; `systems` are all that the lake
    has, `shown` those whose rows and files are counted."""

    version: int
    tables: Any
    versions: Any
    systems: list[str]
    shown: list[str]


def overview(path: str, as_of: int | None = None, system: Systems = None) -> Overview:
    lake = Lake(path, as_of=as_of, system=system)
    rows = []
    for name, table in DATA_TABLES.items():
        files = lake.files(name)
        dates = sorted({file.partition["trade_date"] for file in files})
        rows.append(
            {
                "table": name,
                "rows": sum(file.rows for file in files),
                "files": len(files),
                "bytes": sum(file.size for file in files),
                "first_date": dates[0] if dates else None,
                "last_date": dates[-1] if dates else None,
                "one_row_is": table.about,
            }
        )
    versions = [
        {
            "version": each.number, "operation": each.operation, "build_id": each.build_id,
            "committed": each.committed.isoformat(timespec="seconds"),
            "tables_changed": sum(table.changed for table in each.tables.values()),
            "rows": sum(table.rows for table in each.tables.values()),
        }
        for each in lake.versions()
    ]  # fmt: skip
    return Overview(
        lake.version.number, pa.Table.from_pylist(rows), _versions(versions), lake.systems, lake.shown
    )


def describe(name: str) -> Any:
    """The columns of one table."""
    table = find_table(name)
    rows = [
        {
            "column": each.name, "type": each.type.spark, "unit": unit_of(each),
            "about": each.about or ", ".join(each.words),
        }
        for each in table.columns
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def _versions(rows: list[dict[str, Any]]) -> Any:
    schema = pa.schema(
        [
            ("version", pa.int64()), ("operation", pa.string()), ("build_id", pa.string()),
            ("committed", pa.string()), ("tables_changed", pa.int64()), ("rows", pa.int64()),
        ]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)
