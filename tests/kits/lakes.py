"""Small simulated days, built without Spark, and what is compared of lakes."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pregao.lake.build import Builder, BuildReport, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation

# What may differ between two builds of the same captures.
OF_THE_BUILD = frozenset(("build_id", "built_ns", "plan"))
SMALL_PIECES = 16  # packets: so that a small day can be cut often


def make_days(out: Path, **changes: Any) -> list[Path]:
    """Folders of days with captures and truth."""
    for _ in Simulation(short_day(out=out, **changes)).days():
        pass
    return sorted(path for path in out.iterdir() if path.is_dir())


def build(captures: Iterable[Path | str], lake: Path | str, **settings: Any) -> BuildReport:
    chosen = BuildSettings(**{"piece_packets": SMALL_PIECES, "derive": False} | settings)
    return Builder(Location(lake), InlineRunner(), chosen).build([str(path) for path in captures])


def rows_of(lake: Lake, table: str, *, without: Collection[str] = ()) -> list[str]:
    """Every row as text, without what is of the build itself, in an order of its own."""
    found = lake.arrow(table)
    names = [name for name in found.schema.names if name not in OF_THE_BUILD and name not in without]
    return sorted(map(repr, found.select(names).to_pylist()))


def all_tables(path: Path | str) -> dict[str, list[str]]:
    lake = Lake(path)
    return {table: rows_of(lake, table) for table in DATA_TABLES if table != "units"}


def truth(day: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(day / "truth" / f"{name}.parquet").read().to_pylist()
    return rows
