"""What was built, and from what."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.lake.reading import arrow
from pregao.lake.reading.conditions import conditions
from pregao.lake.tables.catalogue import DATA_TABLES, find_table
from pregao.lake.tables.table import exact

# One trade date of one lake version, read column by column.


Where = Sequence[tuple[str, str, Any]]


@dataclass(frozen=True)
class Day:
    lake: Lake
    date: date

    def rows(self, name: str, columns: Sequence[str], where: Where = ()) -> list[dict[str, Any]]:
        """Of tables that are small for a day, or made small by `where`."""
        found = self.lake.arrow(name, [("trade_date", "=", self.date), *where], columns=columns)
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    def exact_rows(self, name: str, columns: Sequence[str], where: Where = ()) -> list[dict[str, Any]]:
        """The same, with the exact values of systems that have them in place of those beside them."""
        known = find_table(name).by_name
        beside = {column: exact(column) for column in columns if exact(column) in known}
        rows = self.rows(name, [*columns, *beside.values()], where)
        for row in rows:
            for column, other in beside.items():
                value = row.pop(other)
                row[column] = row[column] if value is None else value
        return rows

    def batches(self, name: str, columns: Sequence[str], where: Where = ()) -> Iterator[Any]:
        """Record batches, one after the other: a day of packets need not fit into memory."""
        table = find_table(name)
        wanted = conditions(table, [("trade_date", "=", self.date), *where])
        files = self.lake.files(name, [("trade_date", "=", self.date), *where])
        source = arrow.dataset(self.lake.location, table, files)
        yield from source.to_batches(columns=list(columns), filter=arrow.expression(table, wanted))


def source_order(source: str) -> tuple[int, str]:
    """Channels by their numbers, then sessions by their names."""
    return (int(source), "") if source.isdigit() else (1 << 31, source)


def told_once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sessions of a day tell of the same market: of each instrument the rows of the first that has it."""
    first: dict[int, str] = {}
    for row in rows:
        if not row["source"].isdigit():
            known = first.setdefault(row["security_id"], row["source"])
            first[row["security_id"]] = min(known, row["source"])
    return [row for row in rows if first.get(row["security_id"], row["source"]) == row["source"]]


def source_word(sources: Iterable[str]) -> str:
    """What a report calls them."""
    return "session" if any(not source.isdigit() for source in sources) else "channel"


def dates_of(lake: Lake) -> list[date]:
    """Trade dates that the lake holds."""
    found = {file.partition["trade_date"] for name in DATA_TABLES for file in lake.files(name)}
    return sorted(each for each in found if each is not None)


def open_day(lake: Lake, wanted: date | None) -> Day:
    dates = dates_of(lake)
    if not dates:
        raise LakeError(f"{lake.location.uri}: nothing was built into this lake yet")
    if wanted is not None and wanted not in dates:
        known = ", ".join(map(str, dates))
        raise LakeError(f"{lake.location.uri} has no trade date {wanted}; there are {known}")
    return Day(lake, wanted or dates[-1])


@dataclass(frozen=True)
class BuildInput:
    path: str
    size: int | None


@dataclass(frozen=True)
class BuiltUnit:
    source: str  # a channel, or a session
    inputs: tuple[BuildInput, ...]


@dataclass(frozen=True)
class TableSize:
    name: str
    about: str
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True)
class BuildFacts:
    uri: str
    version: int
    operation: str
    build_id: str
    committed: datetime
    trade_date: date
    dates: tuple[date, ...]
    units: tuple[BuiltUnit, ...]
    tables: tuple[TableSize, ...]


def built(day: Day) -> BuildFacts:
    version = day.lake.version
    held = {name: day.lake.files(name) for name in version.tables if name in DATA_TABLES}
    tables = [
        TableSize(
            name, DATA_TABLES[name].about, sum(file.rows for file in files), len(files),
            sum(file.size for file in files),
        )
        for name, files in held.items()
        if files
    ]  # fmt: skip
    return BuildFacts(
        day.lake.location.uri, version.number, version.operation, version.build_id, version.committed,
        day.date, tuple(dates_of(day.lake)), tuple(_units(day)), tuple(tables),
    )  # fmt: skip


def _units(day: Day) -> list[BuiltUnit]:
    rows = day.rows("units", ["source", "inputs"])
    return [
        BuiltUnit(row["source"], _inputs(row["inputs"]))
        for row in sorted(rows, key=lambda row: source_order(row["source"]))
    ]


def _inputs(text: str | None) -> tuple[BuildInput, ...]:
    """As a build writes them; anything else is shown as it is, never an error of the report."""
    try:
        given = json.loads(text or "[]")
    except ValueError:
        return (BuildInput(text or "", None),)
    return (
        tuple(_input(each) for each in given) if isinstance(given, list) else (BuildInput(str(given), None),)
    )


def _input(given: Any) -> BuildInput:
    if isinstance(given, dict):
        octets = given.get("size")
        return BuildInput(str(given.get("path", given)), octets if isinstance(octets, int) else None)
    if isinstance(given, list) and given:
        octets = given[1] if len(given) > 1 else None
        return BuildInput(str(given[0]), octets if isinstance(octets, int) else None)
    return BuildInput(str(given), None)
