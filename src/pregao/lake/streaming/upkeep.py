"""After a batch: days that are over become few files, and what is kept of old captures goes."""

from pregao.lake.lake import Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.plan.units import UnitKey
from pregao.lake.store.location import Location
from pregao.lake.streaming.days import Rows, inputs_of, is_over, settled, streamed
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.tables.table import CHANNEL, TRADE_DATE


class Upkeep:
    def __init__(self, location: Location, indexes: IndexCache, *, compacts: bool) -> None:
        self._location, self._indexes, self._compacts = location, indexes, compacts
        self._done: set[UnitKey] = set()  # days that are compact
        self._version = -1

    def after(self, version: int, changed: list[UnitKey]) -> int:
        """How many files have become fewer."""
        self._done -= set(changed)
        if version in (0, self._version):
            return 0
        lake = Lake(self._location)
        rows: Rows = {(row[TRADE_DATE], row[CHANNEL]): row for row in lake.arrow("units").to_pylist()}
        self._forget(rows)
        self._version = lake.version.number
        over = {key for key in streamed(rows) if is_over(key, rows)} - self._done
        if not over or not self._compacts:
            return 0
        done = compact(lake, units=over)
        self._done |= over
        self._version = done.version or self._version
        return done.before - done.after

    def _forget(self, rows: Rows) -> None:
        """Indexes of captures from which only old days were made."""
        old = set(settled(rows))
        unneeded = {file.path for key in old for file in inputs_of(rows[key])}
        unneeded -= {file.path for key in rows.keys() - old for file in inputs_of(rows[key])}
        self._indexes.forget(unneeded & self._indexes.paths)
