"""Results of a query as text or bytes: for people, for spreadsheets, for programs."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.lake import Lake, Systems
from pregao.lake.tables.catalogue import DATA_TABLES, find_table
from pregao.lake.tables.page import unit_of

if TYPE_CHECKING:
    from pregao.lake.build_report import BuildReport  # with all kernels: a query is not to wait for them

BINARY: Final = ("parquet", "arrow")
# By the end of a file's name.
SUFFIXES: Final = {
    ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip
WIDEST: Final = 60
_BATCH: Final = 10_000


def as_table(table: Any) -> Iterator[str]:
    """Aligned columns: numbers to the right, long texts cut."""
    names = table.column_names
    cells = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    widths = [max(map(len, [name, *column])) for name, column in zip(names, cells, strict=True)]
    to_right = [
        pa.types.is_integer(field.type) or pa.types.is_decimal(field.type) or pa.types.is_floating(field.type)
        for field in table.schema
    ]

    def line(texts: list[str]) -> str:
        parts = zip(texts, widths, to_right, strict=True)
        padded = (text.rjust(width) if right else text.ljust(width) for text, width, right in parts)
        return "  ".join(padded).rstrip() + "\n"

    yield line(names)
    yield line(["─" * width for width in widths])
    for row in range(table.num_rows):
        yield line([column[row] for column in cells])


def as_csv(table: Any) -> Iterator[str]:
    """Null is empty, nested values are JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=_BATCH):
        columns = [[_csv(value) for value in column.to_pylist()] for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def as_json(table: Any) -> Iterator[str]:
    """One object a line; decimals are strings, as everywhere in this project."""
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield "".join(json.dumps(row, default=_json, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def as_parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", store_schema=False)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def as_arrow(table: Any) -> bytes:
    """An Arrow IPC file, which pandas, Polars and others call Feather."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else _plain(value)
    text = text.replace("\n", "⏎")
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _csv(value: Any) -> Any:
    return "" if value is None else _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=_json, ensure_ascii=False)
    return _json(value) if isinstance(value, (Decimal, date, datetime, bytes)) else str(value)


def _json(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


# What a build did, as names and values that a terminal may show as it likes.


# What one of a build's steps is to people.
_STEPS = {
    "plan": "plan", "tasks": "slices", "plan tables": "plan's tables", "analytics": "analytics",
    "commit": "commit",
}  # fmt: skip


def outcome(report: "BuildReport") -> list[tuple[str, str]]:
    """Nothing of what was left alone but how much it is."""
    lines = []
    if report.units:
        messages, trades = (report.counts.get(name, 0) for name in ("messages", "trades"))
        size = f"{report.bytes / 1e6:,.1f} MB, {report.bytes / max(messages, 1):,.0f} bytes a message"
        lines += [
            ("units (channel and date), slices", f"{len(report.units):,}, {report.slices:,}"),
            ("messages, trades in them", f"{messages:,}, {trades:,}"),
            ("written to the lake", size),
            ("messages a second", rates(report)),
        ]
    if report.unchanged:
        lines.append(("units left alone, unchanged", f"{len(report.unchanged):,}"))
    return lines


def rates(report: "BuildReport") -> str:
    """Of slices, where messages are; and of all the build, which a small day spends on Spark's own."""
    messages, tasks = report.counts.get("messages", 0), report.seconds.get("tasks", 0.0)
    whole = sum(report.seconds.values())
    return f"{messages / max(tasks, 1e-9):,.0f} in slices, {messages / max(whole, 1e-9):,.0f} in all"


def times(seconds: dict[str, float]) -> str:
    """Where the time went."""
    steps = ", ".join(f"{_STEPS.get(step, step)} {each:.1f}" for step, each in seconds.items())
    return f"{sum(seconds.values()):.1f} s ({steps})"


# What is in a lake: its tables, its versions.


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
