"""Files of a table version, as readers know them. Known without the library that writes logs: tasks need
these, and no more."""

from dataclasses import dataclass
from typing import Any

from pregao.lake.store.files import DataFile, statistics_json
from pregao.lake.tables.table import UnitKey


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


def live(file: DataFile) -> LiveFile:
    """A file of a unit that is not committed yet."""
    partition = UnitKey.of_partition(file.partition).where
    return LiveFile(file.table, file.path, file.size, file.rows, partition, {}, {}, {})


def key_of(file: LiveFile) -> UnitKey:
    """Its unit."""
    return UnitKey.of_row(file.partition)
