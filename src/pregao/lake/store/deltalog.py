"""The Delta log of one table: what it says, and one more entry in it.

Entries, summaries and checkpoints are read by `logstate`. Entries are written here, also those that make a
table (`definitions`), as files or objects of which there is none yet; by the `deltalake` library only to
stores where we cannot do that (`conditional`).
"""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import quote, unquote

from pregao.extras import need
from pregao.io.clock import WallClock
from pregao.lake.errors import LakeConflictError, LakeDamagedError, named
from pregao.lake.reading.arrow import range_fits
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.checkpoints import LOG, is_due, partition_of, write_checkpoint
from pregao.lake.store.definitions import MARK, creating_entry, widening_entry
from pregao.lake.store.files import DataFile
from pregao.lake.store.livefile import LiveFile, logged_figures
from pregao.lake.store.location import Location
from pregao.lake.store.logstate import LogState, entry_name
from pregao.lake.store.summaries import is_long
from pregao.lake.tables.table import Table

need("deltalake")  # where the lake is imported, not when its first table is made

APPLICATION: Final = "pregao.lake"
_WIDENING_ATTEMPTS: Final = 20
_MAKERS: Final = 8  # logs that are made at once
_NS_PER_MS: Final = 1_000_000
_PLAIN: Final = "/=+"  # signs of a path that stay as they are


class FasterError(LakeConflictError):
    """Somebody else has made this version of the log."""


class DeltaLog:
    """One state of a table's log."""

    def __init__(self, location: Location, table: Table, version: int | None = None) -> None:
        self.location, self.table = location, table
        self.is_long = False  # after a commit: it should get a summary
        self._state = LogState(location, table, version)

    @property
    def exists(self) -> bool:
        return self.version >= 0

    @property
    def columns(self) -> set[str]:
        """As the log knows them."""
        return self._state.columns if self.exists else set()

    @property
    def about(self) -> dict[str, Any]:
        """What the log says of the table: `metaData` of Delta."""
        return self._state.about

    @property
    def version(self) -> int:
        """−1: there is no table yet."""
        return self._state.version

    @property
    def transaction(self) -> int:
        """The newest lake version that has been committed to this table."""
        return (self._state.transaction(APPLICATION) if self.exists else None) or 0

    def check(self) -> None:
        """LakeDamagedError for an entry that cannot be read."""
        if self.exists:
            _ = self._state.heads, self._state.tail

    @cached_property
    def files(self) -> list[LiveFile]:
        return self.files_where(())

    def files_where(self, conditions: Iterable[Condition]) -> list[LiveFile]:
        """Files that can hold such rows, as far as partitions and figures of equal values tell it. Only the
        partitions in question are read."""
        return self._as_files(list(conditions), newest_only=False)

    def newest_files_where(self, conditions: Iterable[Condition]) -> list[LiveFile]:
        """The same, of files that were added since the last summary."""
        return self._as_files(list(conditions), newest_only=True)

    def _as_files(self, wanted: list[Condition], *, newest_only: bool) -> list[LiveFile]:
        if not self.exists:
            return []
        equal = [each for each in wanted if each.operator == "=" and each.column not in self.table.partitions]
        found = []
        with named(self.location.full(self.table.name, LOG)):
            listed = self._state.files(wanted, newest_only=newest_only)
            for path, size, text in zip(
                *(listed[name].to_pylist() for name in ("path", "size", "stats")), strict=True
            ):
                statistics = json.loads(text or "{}")
                if all(_may_equal(self.table, statistics, each) for each in equal):
                    found.append(live_file(self.table, path, size, statistics))
        return found

    @property
    def paths(self) -> list[str]:
        """Of all files, whatever folders they are in."""
        return sorted(self._state.paths()) if self.exists else []

    def paths_until(self, version: int) -> set[str]:
        """Of all files that this version or one after it has, up to another."""
        found = set(self.paths)
        for number in range(self.version + 1, version + 1):
            adds = (each["add"]["path"] for each in self._entry(number) if "add" in each)
            found.update(map(unquote, adds))
        return found

    def values_of(self, partition: str) -> set[Any]:
        """Different values of a partition column."""
        return self._state.values_of(partition) if self.exists else set()

    def greatest(self, partition: str) -> Any:
        """Of a partition column, by the figures of the summary: files with it may have gone since. None:
        there is no file."""
        return max(self._state.least_and_greatest(partition), default=None) if self.exists else None

    def paths_of(self, files: Sequence[DataFile]) -> set[str]:
        """Paths of those that are live."""
        if not self.exists:
            return set()
        folders = {file.path.rpartition("/")[0] for file in files}
        values = [partition_of(self.table, folder) for folder in folders]
        wanted = [
            Condition(name, "in", tuple({each[name] for each in values})) for name in self.table.partitions
        ]
        there = self._state.paths(wanted)
        return {file.path for file in files if file.path in there}

    @property
    def count(self) -> int:
        """Files."""
        return self._state.count if self.exists else 0

    @property
    def entries(self) -> int:
        """Since its last summary."""
        return self._state.length[0] if self.exists else 0

    def version_of(self, lake_version: int) -> int:
        """The table version that a lake version made, from the log's own entries, newest first."""
        for version in range(self.version, -1, -1):
            if self.mark(version) == lake_version:
                return version
        raise LakeDamagedError(
            f"its log has no entry of lake version {lake_version}",
            file=self.location.full(self.table.name, LOG),
        )

    def mark(self, version: int) -> int | None:
        """Lake version that made a table version; 0 for one that only made or widened the table; None
        for one that is not ours."""
        about: dict[str, Any] = next(
            (each["commitInfo"] for each in self._entry(version) if "commitInfo" in each), {}
        )
        found = about.get(MARK)
        return None if found is None else int(found)

    def was_won_by(self, file: DataFile) -> bool:
        """After FasterError: whether the entry that was there already is our own, because a store did what it
        was asked, its answer was lost, and it was asked again. Nobody else has a file of this name."""
        adds = (each["add"]["path"] for each in self._entry(self.version + 1) if "add" in each)
        return any(unquote(path) == file.path for path in adds)

    def _entry(self, version: int) -> list[dict[str, Any]]:
        text = self.location.read(self.table.name, LOG, entry_name(version)).decode()
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    def commit(
        self,
        adds: Iterable[DataFile],
        removes: Iterable[DataFile],
        lake_version: int,
        now_ns: int,
        *,
        data_change: bool = True,
    ) -> int:
        """The version it made; FasterError when somebody else made that one."""
        if not self.exists:
            raise FasterError(f"{self.location.full(self.table.name)}: there is no log")
        now_ms, added, gone = now_ns // _NS_PER_MS, list(adds), list(removes)
        content = entry_text(self.table, added, gone, now_ms, data_change, lake_version).encode()
        if not self._put(content, added, gone, now_ms, data_change, lake_version):
            raise FasterError(f"{self.table.name}: somebody was faster")
        entries, size = self._state.length
        self.is_long = is_long(entries + 1, size + len(content))
        return self.version + 1

    def _put(
        self, content: bytes, adds: list[DataFile], removes: list[DataFile], now_ms: int, data_change: bool,
        lake_version: int,
    ) -> bool:  # fmt: skip
        """Whether there was no entry yet."""
        version, place = self.version + 1, (self.table.name, LOG, entry_name(self.version + 1))
        if self.location.can_create:
            return self.location.create(content, *place)
        from pregao.lake.store.deltatables import CommitFailedError, put_entry

        with named(self.location.full(self.table.name, LOG)):
            try:
                put_entry(
                    self.location, self.table, version - 1, adds, removes, now_ms, data_change, lake_version
                )
            except CommitFailedError:
                if self.location.size(*place) is None:
                    raise
                return False
        return True

    def summarise(self) -> None:
        """So that nobody has many entries to read. Readers of Delta get a checkpoint now and then."""
        with named(self.location.full(self.table.name, LOG)):
            summary = self._state.summarise()
            if is_due(self.version, summary.checkpoint, summary.count):
                write_checkpoint(self.location, self.table, self.version, summary.heads, summary.adds())
                summary.checkpoint = self.version
                summary.store()


def ready_log(location: Location, table: Table) -> DeltaLog:
    """A log to write to: made if it is not there, widened if the table has got new columns."""
    log = DeltaLog(location, table)
    if not log.exists:
        _create(location, table)
        log = DeltaLog(location, table)
    return _widen(log)


def make_logs(location: Location, tables: Sequence[Table]) -> None:
    """Of several tables at once: each waits for the disk or the store, more than it works. Nothing is in them
    yet, so whoever dies here leaves what the next commit makes anyway."""
    if len(tables) > 1:
        with ThreadPoolExecutor(min(len(tables), _MAKERS)) as pool:
            list(pool.map(partial(ready_log, location), tables))


def _create(location: Location, table: Table) -> None:
    """Whoever else has made it meanwhile has made the same."""
    if location.can_create:
        if location.is_local:
            location.make_folder(table.name, LOG)
        location.create(creating_entry(table, _now_ms()), table.name, LOG, entry_name(0))
        return
    from pregao.lake.store import deltatables

    try:
        deltatables.create(location, table)
    except LakeDamagedError as error:
        is_there = isinstance(error.__cause__, deltatables.DeltaError) and DeltaLog(location, table).exists
        if not is_there:
            raise


def _widen(log: DeltaLog) -> DeltaLog:
    """A file with a column that the log does not know would be taken, and the column never seen."""
    location, table = log.location, log.table
    for _ in range(_WIDENING_ATTEMPTS):
        missing = _missing(log)
        if not missing:
            return log
        if (
            location.can_create
        ):  # where there is another entry already, what is missing then is added after it
            content = widening_entry(table, log.about, missing, _now_ms())
            location.create(content, table.name, LOG, entry_name(log.version + 1))
        else:
            _widen_by_library(log, missing)
        log = DeltaLog(location, table)
    raise LakeConflictError(f"{location.full(table.name)}: other builds were faster all the time")


def _widen_by_library(log: DeltaLog, missing: list[str]) -> None:
    from pregao.lake.store import deltatables

    try:
        deltatables.add_columns(log.location, log.table, missing)
    except LakeDamagedError as error:
        if not isinstance(error.__cause__, deltatables.CommitFailedError):
            raise  # otherwise somebody else has added them, or we, and the answer was lost


def _now_ms() -> int:
    return WallClock().now_ns() // _NS_PER_MS


def _missing(log: DeltaLog) -> list[str]:
    return [name for name in log.table.schema.names if name not in log.columns]


def entry_text(
    table: Table, adds: Sequence[DataFile], removes: Sequence[DataFile], now_ms: int, data_change: bool,
    lake_version: int,
) -> str:  # fmt: skip
    """An entry as Delta has it, a line for each action."""
    about = {
        "timestamp": now_ms, "operation": "WRITE", "engineInfo": "pregao", MARK: str(lake_version),
        "operationParameters": {"mode": "Append", "partitionBy": json.dumps(list(table.partitions))},
    }  # fmt: skip
    actions: list[dict[str, Any]] = [{"commitInfo": about}]
    for file in removes:
        action = {
            "path": quote(file.path, _PLAIN), "dataChange": data_change, "deletionTimestamp": now_ms,
            "extendedFileMetadata": True, "partitionValues": dict(file.partition), "size": file.size,
        }  # fmt: skip
        actions.append({"remove": action})
    for file in adds:
        action = {
            "path": quote(file.path, _PLAIN), "partitionValues": dict(file.partition), "size": file.size,
            "modificationTime": now_ms, "dataChange": data_change, "stats": file.statistics,
        }  # fmt: skip
        actions.append({"add": action})
    actions.append({"txn": {"appId": APPLICATION, "version": lake_version, "lastUpdated": now_ms}})
    return "\n".join(json.dumps(each, separators=(",", ":")) for each in actions)


def _may_equal(table: Table, statistics: dict[str, Any], condition: Condition) -> bool:
    """Whether a file with these figures may have rows of an equal value."""
    name = condition.column
    least, greatest = (
        logged_figures(table, {name: told[name]}).get(name) if name in told else None
        for told in (statistics.get("minValues") or {}, statistics.get("maxValues") or {})
    )
    if least is None or greatest is None:
        return True  # without figures it must be read
    return range_fits(least, greatest, condition)


def live_file(table: Table, path: str, size: int, statistics: dict[str, Any]) -> LiveFile:
    least = logged_figures(table, statistics.get("minValues") or {})
    greatest = logged_figures(table, statistics.get("maxValues") or {})
    return LiveFile(
        table.name, path, size, statistics.get("numRecords") or 0,
        partition_of(table, path.rpartition("/")[0]), least, greatest, statistics.get("nullCount") or {},
    )  # fmt: skip
