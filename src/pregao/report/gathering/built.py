"""What was built, and from what."""

import json
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.report.gathering.day import Day, dates_of


@dataclass(frozen=True)
class Input:
    path: str
    size: int | None


@dataclass(frozen=True)
class Unit:
    channel: int
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class TableSize:
    name: str
    about: str
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Built:
    uri: str
    version: int
    operation: str
    build_id: str
    committed: datetime
    trade_date: date
    dates: tuple[date, ...]
    units: tuple[Unit, ...]
    tables: tuple[TableSize, ...]


def built(day: Day) -> Built:
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
    return Built(
        day.lake.location.uri, version.number, version.operation, version.build_id, version.committed,
        day.date, tuple(dates_of(day.lake)), tuple(_units(day)), tuple(tables),
    )  # fmt: skip


def _units(day: Day) -> list[Unit]:
    rows = day.rows("units", ["channel", "inputs"])
    return [
        Unit(row["channel"], _inputs(row["inputs"])) for row in sorted(rows, key=lambda row: row["channel"])
    ]


def _inputs(text: str | None) -> tuple[Input, ...]:
    """As a build writes them; anything else is shown as it is, never an error of the report."""
    try:
        given = json.loads(text or "[]")
    except ValueError:
        return (Input(text or "", None),)
    return tuple(_input(each) for each in given) if isinstance(given, list) else (Input(str(given), None),)


def _input(given: Any) -> Input:
    if isinstance(given, dict):
        octets = given.get("size")
        return Input(str(given.get("path", given)), octets if isinstance(octets, int) else None)
    if isinstance(given, list) and given:
        octets = given[1] if len(given) > 1 else None
        return Input(str(given[0]), octets if isinstance(octets, int) else None)
    return Input(str(given), None)
