"""What a build finds in the lake, and what of it must go: rows of units that are built again, and tables
made from trades of other dates that their messages speak of."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pregao.lake.errors import LakeDamagedError, named
from pregao.lake.lake import Lake
from pregao.lake.plan.carried import Carried, Chain
from pregao.lake.reading.arrow import read
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.ledger import LakeVersion
from pregao.lake.store.livefile import LiveFile, key_of
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import CHANNEL, TRADE_DATE, UnitKey

_FROM_TRADES: Final = ("trades_clean", "bars", "daily", "market_totals", "auctions", "quality")
_INPUTS: Final = ("trades", "statistics", "states", "imbalances", "executions", "instruments", "quality")
_DERIVED: Final = "/analytics-"  # in the path of a file that was computed from others


class Built:
    """One lake version, which may be that of a lake in which there is nothing yet."""

    def __init__(self, location: Location, version: LakeVersion) -> None:
        self.location, self.version = location, version

    @cached_property
    def _lake(self) -> Lake | None:
        return Lake(self.location, as_of=self.version.number) if self.version.number else None

    def files(self, table: str) -> list[LiveFile]:
        return [] if self._lake is None else self._lake.files(table)

    def units(self) -> list[dict[str, Any]]:
        """A unit whose row cannot be read counts as not built: the next build of its captures repairs
        it."""
        if self._lake is None:
            return []
        found: list[dict[str, Any]] = []
        try:
            found = self._lake.arrow("units").to_pylist()
        except LakeDamagedError:
            for file in self._lake.files("units"):
                with suppress(LakeDamagedError):
                    found += read(self.location, UNITS, [file], ()).to_pylist()
        return found

    def chain(self) -> Chain:
        """What the units that are in the lake end with."""
        ends: dict[UnitKey, Carried | None] = {}
        for row in self.units():
            key = row[TRADE_DATE], row[CHANNEL]
            told = json.loads(row["plan"] or "{}").get("ends")
            ends[key] = None if told is None else Carried(key, *told)
        return Chain.of(ends)

    def locate(self, carried: Carried) -> Carried:
        """With its files: those of a unit that is in the lake are known to the log."""
        if carried.files or self._lake is None:
            return carried
        where = f"{TRADE_DATE} = '{carried.key[0]}' and {CHANNEL} = {carried.key[1]}"
        files = self._lake.files("book_checkpoints", f"{where} and ts_checkpoint >= {carried.sent_ns}")
        return replace(carried, files=tuple(file.data_file() for file in files))

    def symbols(self, key: UnitKey) -> dict[int, list[tuple[int, str]]]:
        """As the rows of a unit have them: since when each id has had which."""
        found: dict[int, list[tuple[int, str]]] = {}
        if self._lake is None:
            return found
        where = f"{TRADE_DATE} = '{key[0]}' and {CHANNEL} = {key[1]}"
        rows = self._lake.arrow("instruments", where, columns=["security_id", "symbol", "valid_from"])
        for row in rows.sort_by([("security_id", "ascending"), ("valid_from", "ascending")]).to_pylist():
            known = found.setdefault(row["security_id"], [])
            if not known or known[-1][1] != row["symbol"]:
                known.append((row["valid_from"], row["symbol"]))
        return found

    def derived_of(self, keys: Iterable[UnitKey]) -> list[DataFile]:
        """Files made from the trades of units."""
        wanted = set(keys)
        return [
            file.data_file()
            for table in _FROM_TRADES
            for file in self.files(table)
            if key_of(file) in wanted and _DERIVED in f"/{file.path}"
        ]


def live_of(built: Built, keys: Iterable[UnitKey]) -> list[DataFile]:
    """All files of units, of every table."""
    wanted = set(keys)
    return [
        file.data_file() for table in DATA_TABLES for file in built.files(table) if key_of(file) in wanted
    ]


def late_units(
    location: Location, built: Built, adds: Iterable[DataFile], keys: Sequence[UnitKey]
) -> list[UnitKey]:
    """Units of the lake that busts and amendments speak of: in the new rows, and in those that go."""
    mine = set(keys)
    there = {key_of(file) for file in built.files("trades")} | {
        (row[TRADE_DATE], row[CHANNEL]) for row in built.units()
    }
    found: set[UnitKey] = set()
    for file in adds:
        if file.table == "trades":
            channel = int(str(file.partition[CHANNEL]))
            found |= {(day, channel) for day in _dates(location, file.path)}
    for old in built.files("trades"):
        if key_of(old) not in mine:
            continue
        latest, channel = key_of(old)
        try:
            found |= {(day, channel) for day in _dates(location, old.path)}
        except LakeDamagedError:  # it is to go: nobody can say any more which days it spoke of
            found |= {(day, where) for day, where in there if where == channel and day < latest}
    return sorted((found & there) - mine)


def _dates(location: Location, path: str) -> set[date]:
    with (
        named(location.full("trades", path)),
        location.filesystem.open_input_file(location.path("trades", path)) as file,
    ):
        dates = pq.ParquetFile(file).read(columns=["of_date"]).column(0)
    return {day for day in pc.unique(dates).to_pylist() if day is not None}


def trades_that_speak_of(
    built: Built, keys: Sequence[UnitKey], late: Sequence[UnitKey]
) -> dict[str, list[LiveFile]]:
    """Live files that are needed beside the new ones: trades told later of these dates, and all that the
    tables of late units are made from."""
    mine, again = set(keys), set(late)
    earliest: dict[int, date] = {}
    for day, channel in (*keys, *late):
        earliest[channel] = min(day, earliest.get(channel, day))
    found: dict[str, list[LiveFile]] = {}
    for file in built.files("trades"):
        day, channel = key_of(file)
        if (day, channel) not in mine and channel in earliest and day >= earliest[channel]:
            found.setdefault("trades", []).append(file)
    for table in _INPUTS[1:]:
        for file in built.files(table):
            if key_of(file) in again and _DERIVED not in f"/{file.path}":
                found.setdefault(table, []).append(file)
    return found


def write_units(location: Location, rows: Iterable[dict[str, Any]]) -> list[DataFile]:
    files = []
    for row in rows:
        partition = row.pop("partition")
        table = pa.Table.from_pylist([row], schema=UNITS.stored_schema)
        files.append(write_file(location, UNITS, partition, table, label="unit"))
    return files
