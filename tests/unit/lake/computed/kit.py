"""Computed tables of given rows, by tasks and by the twin on Spark."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from pregao.lake.computed.unit import PART_TRADES, derive
from pregao.lake.reading.arrow import read
from pregao.lake.reading.sparkframes import spark_schema
from pregao.lake.runners import InlineRunner
from pregao.lake.store.files import write_file
from pregao.lake.store.livefile import live
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import UNIT_COLUMNS, UnitKey
from tests.twins.analytics.run import run

BUILD = "test"
INTERVALS = (1_000_000_000, 60_000_000_000, 86_400_000_000_000)
Units = Sequence[UnitKey]
Row = dict[str, Any]


class Computed(dict[str, list[Row]]):
    """Rows by table; a table without rows has none."""

    def __missing__(self, name: str) -> list[Row]:
        return []


class ByTwin(Computed):
    """A table is computed when it is asked for."""

    def __init__(self, frames: Mapping[str, Any]) -> None:
        super().__init__()
        self._frames = frames

    def __missing__(self, name: str) -> list[Row]:
        self[name] = self._frames[name].toArrow().to_pylist()
        return self[name]


def units_of(tables: Mapping[str, Any]) -> Units:
    keys = {key for each in tables.values() for key in zip(*_partitions(each), strict=True)}
    return sorted(UnitKey(*key) for key in keys)


def _partitions(table: Any) -> list[list[Any]]:
    return [table[name].to_pylist() for name in UNIT_COLUMNS]


def by_tasks(
    folder: Path, tables: Mapping[str, Any], units: Units | None = None, part_trades: int = PART_TRADES
) -> Computed:
    """`tables` are Arrow tables with the columns of the lake, partition and all."""
    units = units_of(tables) if units is None else units
    location = Location(folder)
    files: dict[str, list[Any]] = {}
    for name, table in tables.items():
        for unit in units:
            mine = table
            for column, value in unit.where.items():
                mine = mine.filter(pa.compute.equal(mine[column], pa.scalar(value)))
            if mine.num_rows:
                written = write_file(location, find_table(name), unit.partition, mine)
                files.setdefault(name, []).append(live(written))
    made = derive(
        InlineRunner(), location, files, units, [], INTERVALS, BUILD, lambda done, total: None,
        part_trades=part_trades,
    )  # fmt: skip
    found = Computed()
    for file in made:
        rows = read(location, find_table(file.table), [live(file)], ())
        found.setdefault(file.table, []).extend(rows.to_pylist())
    return found


def by_twin(spark: Any, tables: Mapping[str, Any], units: Units | None = None) -> Computed:
    frames = {
        name: spark.createDataFrame(table, schema=spark_schema(find_table(name)))
        for name, table in tables.items()
    }
    return ByTwin(run(frames, units=units, intervals=INTERVALS, build_id=BUILD))


def in_order(rows: list[Row]) -> list[str]:
    """Comparable: neither order nor the order of columns matters."""
    return sorted(str(sorted(row.items())) for row in rows)


def found(rows: list[Row], *names: str, by: str = "security_id") -> list[tuple[Any, ...]]:
    """Chosen columns as plain values, decimals as floats, in order of `by`, null first."""
    keys = by.split(",")
    ordered = sorted(rows, key=lambda row: [(row[key] is not None, row[key] or 0) for key in keys])
    return [tuple(_plain(row[name]) for name in names) for row in ordered]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
