"""Computed tables of given rows, by tasks and by Spark."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake import analytics
from pregao.lake.computed.run import PART_TRADES, derive
from pregao.lake.reading.sparkframes import spark_schema
from pregao.lake.store.files import write_file
from pregao.lake.store.livefile import live
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tasks.runners import InlineRunner

INTERVALS = (1_000_000_000, 60_000_000_000, 86_400_000_000_000)
Units = Sequence[tuple[date, int]]
Rows = dict[str, list[dict[str, Any]]]


def by_tasks(folder: Path, tables: Mapping[str, Any], units: Units, part_trades: int = PART_TRADES) -> Rows:
    """`tables` are Arrow tables with the columns of the lake, partition and all."""
    location = Location(folder)
    files: dict[str, list[Any]] = {}
    for name, table in tables.items():
        for day, channel in units:
            mine = table.filter(
                pa.compute.and_(
                    pa.compute.equal(table["trade_date"], pa.scalar(day)),
                    pa.compute.equal(table["channel"], channel),
                )
            )
            if mine.num_rows:
                partition = {"trade_date": day.isoformat(), "channel": str(channel)}
                written = write_file(location, find_table(name), partition, mine)
                files.setdefault(name, []).append(live(written))
    made = derive(
        InlineRunner(), location, files, units, [], INTERVALS, "test", lambda done, total: None,
        part_trades=part_trades,
    )  # fmt: skip
    found: Rows = {}
    for file in made:
        rows = pq.ParquetFile(location.path(file.table, file.path)).read()
        key = {
            "trade_date": date.fromisoformat(str(file.partition["trade_date"])),
            "channel": int(str(file.partition["channel"])),
        }
        found.setdefault(file.table, []).extend({**key, **row} for row in rows.to_pylist())
    return found


def by_spark(spark: Any, tables: Mapping[str, Any], units: Units) -> Rows:
    frames = {
        name: spark.createDataFrame(table, schema=spark_schema(find_table(name)))
        for name, table in tables.items()
    }
    made = analytics.run(frames, units=units, intervals=INTERVALS, build_id="test")
    try:
        return {name: frame.toArrow().to_pylist() for name, frame in made.items()}
    finally:
        made.release()


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    """Comparable: neither order nor the order of columns matters."""
    return sorted(str(sorted(row.items())) for row in rows)
