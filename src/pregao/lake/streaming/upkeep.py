"""After a batch: segments of running days become fewer, days that are over few files, and what is kept of
old captures goes."""

from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.maintenance.compact import compact
from pregao.lake.state import KnownUnits, LakeState
from pregao.lake.store.location import Location
from pregao.lake.streaming.days import Rows, inputs_of, is_streamed, over_days, settled
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.streaming.joining import Joiner
from pregao.lake.streaming.settings import StreamSettings
from pregao.lake.tables.table import UnitKey


class Upkeep:
    def __init__(
        self, location: Location, indexes: IndexCache, joiner: Joiner, settings: StreamSettings,
        known: KnownUnits,
    ) -> None:  # fmt: skip
        """`known`: rows of units that have been read."""
        self._location, self._indexes, self._joiner, self._compacts = (
            location, indexes, joiner, settings.compact
        )  # fmt: skip
        self._system, self._known = settings.system, known
        self._done: set[UnitKey] = set()  # days that are compact, or none of a stream
        self._version = -1

    def after(self, version: int, changed: list[UnitKey]) -> int:
        """How many files have become fewer."""
        self._done -= set(changed)
        if version in (0, self._version):
            return 0
        lake = Lake(self._location, system=ALL_SYSTEMS)
        rows: Rows = LakeState(self._location, lake.version, self._system, known=self._known).units
        self._forget(rows)
        self._version = lake.version.number
        if not self._compacts:
            return 0
        past = over_days(rows)
        over = {key for key in past - self._done if is_streamed(rows[key])}
        running = [row for key, row in rows.items() if key not in over]
        joined = self._joiner.join(lake, running)
        fewer = joined.before - joined.after + (self._compact(over) if over else 0)
        self._done |= past
        return fewer

    def _compact(self, over: set[UnitKey]) -> int:
        done = compact(Lake(self._location), units=over, committer=self._joiner.committer)
        self._version = done.version or self._version
        return done.before - done.after

    def _forget(self, rows: Rows) -> None:
        """Indexes of captures from which only old days were made."""
        old = set(settled(rows))
        unneeded = {file.path for key in old for file in inputs_of(rows[key])}
        unneeded -= {file.path for key in rows.keys() - old for file in inputs_of(rows[key])}
        self._indexes.forget(unneeded & self._indexes.paths)
