"""Files of a table version, as readers know them. Known without the library that writes logs: tasks need
these, and no more."""

import json
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pregao.lake.store.files import DataFile, statistics_json
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.table import Table, UnitKey
from pregao.lake.tables.types import DATE

OF_DATE: Final = "of_date"


@dataclass(frozen=True)
class LiveFile:
    """A file of a table version, with the figures readers skip by."""

    table: str
    path: str
    size: int
    rows: int
    partition: dict[str, Any]
    least: dict[str, Any]
    greatest: dict[str, Any]
    nulls: dict[str, int]

    def data_file(self) -> DataFile:
        texts = {name: None if value is None else str(value) for name, value in self.partition.items()}
        statistics = statistics_json(self.rows, self.least, self.greatest, self.nulls)
        return DataFile(self.table, self.path, self.size, self.rows, texts, statistics)


def may_speak_of(file: LiveFile, day: date) -> bool:
    """Whether messages in it may be about a trade date, by the log's figures; those that do not say are about
    their own."""
    if file.nulls.get(OF_DATE) == file.rows:
        return False
    if OF_DATE not in file.least or OF_DATE not in file.greatest:
        return True
    return bool(file.least[OF_DATE] <= day <= file.greatest[OF_DATE])


def live(file: DataFile) -> LiveFile:
    """A file of a unit that is not committed yet."""
    partition, told = UnitKey.of_partition(file.partition).where, json.loads(file.statistics)
    table = find_table(file.table)
    least, greatest = (logged_figures(table, told[name]) for name in ("minValues", "maxValues"))
    nulls = told["nullCount"]
    return LiveFile(file.table, file.path, file.size, file.rows, partition, least, greatest, nulls)


def logged_figures(table: Table, told: dict[str, Any]) -> dict[str, Any]:
    """Least or greatest values of a file's statistics: dates are dates."""
    columns = table.by_name
    return {
        name: date.fromisoformat(value) if name in columns and columns[name].type is DATE else value
        for name, value in told.items()
    }


def key_of(file: LiveFile) -> UnitKey:
    """Its unit."""
    return UnitKey.of_row(file.partition)
