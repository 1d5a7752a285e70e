"""One trade date of one lake version, read column by column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.lake.reading import arrow
from pregao.lake.reading.conditions import conditions
from pregao.lake.tables.catalogue import DATA_TABLES, find_table

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

    def batches(self, name: str, columns: Sequence[str], where: Where = ()) -> Iterator[Any]:
        """Record batches, one after the other: a day of packets need not fit into memory."""
        table = find_table(name)
        wanted = conditions(table, [("trade_date", "=", self.date), *where])
        files = self.lake.files(name, [("trade_date", "=", self.date), *where])
        source = arrow.dataset(self.lake.location, table, files)
        yield from source.to_batches(columns=list(columns), filter=arrow.expression(table, wanted))


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
