"""All tables of one unit that are computed from its others, by one task; or a part of its instruments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from pregao.lake.computed.auctions import AUCTIONS
from pregao.lake.computed.bars import BARS, DAY_NS
from pregao.lake.computed.clean import CLEAN, TOLD, TRADES_CLEAN
from pregao.lake.computed.conform import conform
from pregao.lake.computed.daily import DAILY, DAYS, DIFFERENCES, FINE_TEXT, STALE
from pregao.lake.computed.engine import engine
from pregao.lake.computed.spans import SPANS
from pregao.lake.computed.told import FIGURES
from pregao.lake.computed.totals import ALIKE, money_of_days
from pregao.lake.reading.arrow import dataset, naming_damage
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import CHANNEL, UnitKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LABEL: Final = "analytics"  # of their files: findings of slices share the table `quality` with ours
INPUTS: Final = ("trades", "statistics", "states", "imbalances", "executions", "instruments", "quality")
_TRADES: Final = (FINE_TEXT, TOLD, CLEAN)
_STEPS: Final = (STALE, FIGURES, DAYS, SPANS)
_TABLES: Final = {
    "trades_clean": TRADES_CLEAN, "bars": BARS, "daily": DAILY, "auctions": AUCTIONS, "quality": DIFFERENCES
}  # fmt: skip
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class UnitPart:
    """`files` by table: of the unit, and trades of other dates of its source that speak of it. Instruments
    from `first` to before `end`, all without."""

    key: UnitKey
    files: dict[str, list[LiveFile]]
    intervals: tuple[int, ...]
    first: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class PartDone:
    files: list[DataFile]
    alike: list[dict[str, Any]]  # what `market_totals` puts together


def compute(part: UnitPart, location: Location, build_id: str) -> PartDone:
    with naming_damage(location, part.files), engine() as connection:
        _open(connection, part, location)
        for step in _TRADES:
            connection.execute(step, {"day": part.key.trade_date} if "$day" in step else None)
        alike = connection.sql(ALIKE).to_arrow_table().to_pylist()
        connection.register("money", money_of_days(alike))
        for step in _STEPS:
            connection.execute(step)
        files = []
        for name, query in _TABLES.items():
            files += _write(connection, part, location, name, query, build_id)
        return PartDone(files, alike)


def _open(connection: "DuckDBPyConnection", part: UnitPart, location: Location) -> None:
    for name in INPUTS:
        source = dataset(location, find_table(name), part.files.get(name, []))
        connection.register(name, _between(source, part))


def _between(source: Any, part: UnitPart) -> Any:
    if part.first is None or part.end is None:
        return source
    field = ds.field("security_id")
    # Phases of groups are of no instrument, and every part needs them.
    return source.filter(field.is_null() | ((field >= part.first) & (field < part.end)))


def _write(
    connection: "DuckDBPyConnection", part: UnitPart, location: Location, name: str, query: str, build_id: str
) -> list[DataFile]:
    table = find_table(name)
    order = ", ".join(f'"{column}"' for column in table.order)
    day_ns = (part.key.trade_date - _EPOCH).days * DAY_NS
    given = {"intervals": list(dict.fromkeys(part.intervals)), "day_ns": day_ns}
    used = {key: value for key, value in given.items() if f"${key}" in query}
    rows = connection.sql(f"SELECT * FROM ({query}) ORDER BY {order}", params=used).to_arrow_table()
    return write_rows(location, name, part.key, rows, build_id)


def write_rows(location: Location, name: str, key: UnitKey, rows: Any, build_id: str) -> list[DataFile]:
    """No file without a row."""
    if not rows.num_rows:
        return []
    table = find_table(name)
    if CHANNEL not in rows.column_names:
        rows = rows.append_column(CHANNEL, pa.repeat(pa.scalar(key.channel, pa.int32()), rows.num_rows))
    return [write_file(location, table, key.partition, conform(rows, table, build_id), label=LABEL)]


def parts_of(
    key: UnitKey, files: dict[str, list[LiveFile]], intervals: Sequence[int], bounds: Sequence[int]
) -> list[UnitPart]:
    """`bounds` are instruments at which a further part begins."""
    if not bounds:
        return [UnitPart(key, files, tuple(intervals))]
    edges = [-(1 << 63), *bounds, (1 << 63) - 1]
    return [UnitPart(key, files, tuple(intervals), first, end) for first, end in pairwise(edges)]
