"""Results of a query as text or bytes: for people, for spreadsheets, for programs."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

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
