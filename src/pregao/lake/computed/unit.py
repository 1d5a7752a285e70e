"""All tables of one unit that are computed from its others, by one task; or a part of its instruments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from pregao.lake.computed.auctions import AUCTIONS, SPANS
from pregao.lake.computed.daily import DAILY, DAYS, DIFFERENCES, EXACT_DAILY, EXACT_DAYS, FIGURES, STALE
from pregao.lake.computed.engine import conform, engine
from pregao.lake.computed.latency import PacketFiles, count_packets, latencies, packet_groups, skew_findings
from pregao.lake.computed.trades import (
    ALIKE,
    BARS,
    CLEAN,
    DAY_NS,
    EXACT_BARS,
    EXACT_CLEAN,
    EXACT_TOLD,
    EXACT_TRADES_CLEAN,
    TOLD,
    TOLD_MONEY,
    TRADES_CLEAN,
    market_totals,
    money_of_days,
    tell_money,
)
from pregao.lake.reading.arrow import dataset, naming_damage, read
from pregao.lake.reading.conditions import conditions
from pregao.lake.runners import Runner, described, give_back
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.livefile import LiveFile, key_of, live, may_speak_of
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.messages import TRADES
from pregao.lake.tables.table import CHANNEL, UnitKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LABEL: Final = "analytics"  # of their files: findings of slices share the table `quality` with ours
INPUTS: Final = (
    "trades", "statistics", "states", "imbalances", "executions", "instruments", "quality", "totals"
)  # fmt: skip
_TRADES: Final = (TOLD, CLEAN)
_STEPS: Final = (STALE, FIGURES, DAYS, SPANS)
_EXACT_STEPS: Final = (STALE, FIGURES, EXACT_DAYS, SPANS)
_TABLES: Final = {
    "trades_clean": TRADES_CLEAN, "bars": BARS, "daily": DAILY, "auctions": AUCTIONS, "quality": DIFFERENCES
}  # fmt: skip
# Of units with exact values: what is read and made instead.
_EXACT_TRADES: Final = (EXACT_TOLD, EXACT_CLEAN)
_EXACT_TABLES: Final = _TABLES | {
    "trades_clean": EXACT_TRADES_CLEAN, "bars": EXACT_BARS, "daily": EXACT_DAILY
}  # fmt: skip
_EXACT_VALUES: Final = {
    "trades": "exact_price AS price, fine_mantissa(exact_size) AS size",
    "statistics": "exact_price AS price,"
    " CASE WHEN kind = 'TRADES' THEN size ELSE fine_mantissa(exact_size) END AS size",
    "imbalances": "size * 100000000 AS size",
}
_EXACT_COLUMN: Final = "exact_price"
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ComputedPart:
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


def compute(part: ComputedPart, location: Location, build_id: str) -> PartDone:
    exact = _is_exact(part, location)
    with naming_damage(location, part.files), engine(exact=exact) as connection:
        _open(connection, part, location, exact=exact)
        for step in _EXACT_TRADES if exact else _TRADES:
            connection.execute(step, {"day": part.key.trade_date} if "$day" in step else None)
        alike = connection.sql(ALIKE).to_arrow_table().to_pylist()
        if exact:
            tell_money(alike, dict(connection.sql(TOLD_MONEY).fetchall()))
        connection.register("money", money_of_days(alike))
        for step in _EXACT_STEPS if exact else _STEPS:
            connection.execute(step)
        files = []
        for name, query in (_EXACT_TABLES if exact else _TABLES).items():
            files += _write(connection, part, location, name, query, build_id)
        return PartDone(files, alike)


def _is_exact(part: ComputedPart, location: Location) -> bool:
    """By the columns of its files: those of other units have none for exact values."""
    with naming_damage(location, part.files):
        for name in _EXACT_VALUES:
            for fragment in dataset(location, find_table(name), part.files.get(name, [])[:1]).get_fragments():
                if _EXACT_COLUMN in fragment.physical_schema.names:
                    return True
    return False


def _open(connection: "DuckDBPyConnection", part: ComputedPart, location: Location, *, exact: bool) -> None:
    for name in INPUTS:
        source = dataset(location, find_table(name), part.files.get(name, []), with_seldom=exact)
        values = _EXACT_VALUES.get(name) if exact else None
        if values is None:
            connection.register(name, _between(source, part))
            continue
        connection.register(f"stored_{name}", _between(source, part))
        connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * REPLACE ({values}) FROM stored_{name}")


def _between(source: Any, part: ComputedPart) -> Any:
    if part.first is None or part.end is None:
        return source
    field = ds.field("security_id")
    # Phases of groups are of no instrument, and every part needs them.
    return source.filter(field.is_null() | ((field >= part.first) & (field < part.end)))


def _write(
    connection: "DuckDBPyConnection",
    part: ComputedPart,
    location: Location,
    name: str,
    query: str,
    build_id: str,
) -> list[DataFile]:
    table = find_table(name)
    order = ", ".join(f'"{column}"' for column in table.order)
    day_ns = (part.key.trade_date - _EPOCH).days * DAY_NS
    given = {"intervals": list(dict.fromkeys(part.intervals)), "day_ns": day_ns}
    used = {key: value for key, value in given.items() if f"${key}" in query}
    rows = connection.sql(f"SELECT * FROM ({query}) ORDER BY {order}", params=used).to_arrow_table()
    return write_rows(location, name, part.key, rows, build_id)


def write_rows(
    location: Location, name: str, key: UnitKey, rows: Any, build_id: str, label: str = LABEL
) -> list[DataFile]:
    """No file without a row."""
    if not rows.num_rows:
        return []
    table = find_table(name)
    if key.channel is None and CHANNEL in rows.column_names:
        rows = rows.drop_columns([CHANNEL])  # of a session, which has none
    if CHANNEL not in rows.column_names:
        rows = rows.append_column(CHANNEL, pa.repeat(pa.scalar(key.channel, pa.int32()), rows.num_rows))
    return [write_file(location, table, key.partition, conform(rows, table, build_id), label=label)]


def parts_of(
    key: UnitKey, files: dict[str, list[LiveFile]], intervals: Sequence[int], bounds: Sequence[int]
) -> list[ComputedPart]:
    """`bounds` are instruments at which a further part begins."""
    if not bounds:
        return [ComputedPart(key, files, tuple(intervals))]
    edges = [-(1 << 63), *bounds, (1 << 63) - 1]
    return [ComputedPart(key, files, tuple(intervals), first, end) for first, end in pairwise(edges)]


# Computed tables of units whose rows have changed: tasks like any, run by whoever runs slices.


# A task holds the trades of its part in memory, about 400 bytes each. Every part reads all files of its unit,
# so few and equal ones are best.
PART_TRADES: Final = 500_000
SHARED_TRADES: Final = 150_000  # from so many on there are two parts, for one core would wait for the other
Files = dict[str, list[LiveFile]]
Counted = dict[UnitKey, list[Any]]  # record batches that `Minutes` merges


def derive(
    runner: Runner, location: Location, files: Files, units: Sequence[UnitKey], late: Sequence[UnitKey],
    intervals: Sequence[int], build_id: str, progress: Callable[[int, int], None],
    counted: Counted | None = None, part_trades: int = PART_TRADES,
) -> list[DataFile]:  # fmt: skip
    """`late` are units of which only what comes from trades is made again; `counted` are latencies that need
    not be counted again."""
    counted = counted or {}
    items: list[ComputedPart | PacketFiles] = []
    for key in (*units, *late):
        mine = _files_of(key, files)
        items += parts_of(key, mine, intervals, _bounds(location, mine["trades"], part_trades))
    for key in units:
        if key in counted:
            continue
        items += packet_groups(key, [file for file in files.get("packets", []) if key_of(file) == key])
    with described(f"compute tables of {len(units) + len(late)} units"):
        done = runner.run(partial(_run, location=location, build_id=build_id), items, progress)
    found: list[DataFile] = []
    for key in (*units, *late):
        of_unit = [made for item, made in zip(items, done, strict=True) if item.key == key]
        found += _put_together(key, of_unit, counted.get(key, ()), location, build_id)
    return found


def _run(item: ComputedPart | PacketFiles, location: Location, build_id: str) -> Any:
    give_back()
    if isinstance(item, PacketFiles):
        return count_packets(item, location)
    return compute(item, location, build_id)


def _put_together(
    key: UnitKey, made: Sequence[Any], counted: Sequence[Any], location: Location, build_id: str
) -> list[DataFile]:
    """What parts wrote, and what is only known when all are done."""
    parts = [each for each in made if not isinstance(each, list)]
    counted = [*counted, *(batch for each in made if isinstance(each, list) for batch in each)]
    found = [file for part in parts for file in part.files]
    totals = market_totals(row for part in parts for row in part.alike).sort_by("security_group")
    found += write_rows(location, "market_totals", key, totals, build_id)
    minutes = latencies(counted)
    found += write_rows(location, "quality", key, skew_findings(minutes), build_id)
    return found + write_rows(location, "latency", key, minutes, build_id)


def keep_findings(location: Location, replaced: Sequence[DataFile]) -> list[DataFile]:
    """Of files that are made again from trades, what does not come from trades: a bust changes no clock."""
    found: list[DataFile] = []
    for file in replaced:
        if file.table == QUALITY.name:
            rows = read(location, QUALITY, [live(file)], conditions(QUALITY, {"finding": "CLOCK_SKEW"}))
            if rows.num_rows:
                found.append(write_file(location, QUALITY, file.partition, rows, label=LABEL))
    return found


def _files_of(key: UnitKey, files: Files) -> Files:
    """Trades of other dates of its source too, where they may speak of this one."""
    found: Files = {name: [] for name in INPUTS}
    for name in INPUTS:
        for file in files.get(name, []):
            of = key_of(file)
            later = name == "trades" and of.feed == key.feed and may_speak_of(file, key.trade_date)
            if of == key or later:
                found[name].append(file)
    return found


def _bounds(location: Location, trades: Sequence[LiveFile], most: int) -> list[int]:
    """Instruments at which to cut so that parts have about as many trades. One instrument is never cut."""
    total = sum(file.rows for file in trades)
    if total <= min(most, SHARED_TRADES):
        return []
    ids = read(location, TRADES, trades, (), ["security_id"]).column(0).to_numpy()
    instruments, counts = np.unique(ids, return_counts=True)
    parts = max(2, ceil(total / most))
    shares = (np.cumsum(counts) - counts) // ceil(total / parts)
    return [int(each) for each in instruments[1:][shares[1:] != shares[:-1]]]
