"""After a batch: segments of running days become fewer, days that are over few files, and what is kept of
old captures goes."""

from pregao.feeds.registry import load_system
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.store.location import Location
from pregao.lake.streaming.days import Rows, inputs_of, is_over, settled, streamed
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.streaming.joining import Joiner
from pregao.lake.streaming.settings import StreamSettings
from pregao.lake.tables.table import SYSTEM, UnitKey


class Upkeep:
    def __init__(
        self, location: Location, indexes: IndexCache, joiner: Joiner, settings: StreamSettings
    ) -> None:
        self._location, self._indexes, self._joiner, self._compacts = (
            location, indexes, joiner, settings.compact
        )  # fmt: skip
        self._system = load_system(settings.system).name
        self._done: set[UnitKey] = set()  # days that are compact
        self._version = -1

    def after(self, version: int, changed: list[UnitKey]) -> int:
        """How many files have become fewer."""
        self._done -= set(changed)
        if version in (0, self._version):
            return 0
        lake = Lake(self._location, system=ALL_SYSTEMS)
        mine = lake.arrow("units", {SYSTEM: self._system})
        rows: Rows = {UnitKey.of_row(row): row for row in mine.to_pylist()}
        self._forget(rows)
        self._version = lake.version.number
        if not self._compacts:
            return 0
        over = {key for key in streamed(rows) if is_over(key, rows)} - self._done
        running = [row for key, row in rows.items() if key not in over]
        joined = self._joiner.join(lake, running)
        return joined.before - joined.after + (self._compact(over) if over else 0)

    def _compact(self, over: set[UnitKey]) -> int:
        done = compact(Lake(self._location), units=over, committer=self._joiner.committer)
        self._done |= over
        self._version = done.version or self._version
        return done.before - done.after

    def _forget(self, rows: Rows) -> None:
        """Indexes of captures from which only old days were made."""
        old = set(settled(rows))
        unneeded = {file.path for key in old for file in inputs_of(rows[key])}
        unneeded -= {file.path for key in rows.keys() - old for file in inputs_of(rows[key])}
        self._indexes.forget(unneeded & self._indexes.paths)
