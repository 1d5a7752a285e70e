"""The Delta log of one table, by the `deltalake` library.

What that library does not do for us (design, traps): it takes the same application transaction twice,
so we look first; its handles go stale after a commit, so we open afresh; a wider schema must be added
before a file that has it. Nothing is ever retried by the library: we want to know who was faster.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from pregao.extras import name_missing_extra
from pregao.lake.errors import LakeConflictError, LakeDamagedError, named
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.files import DataFile
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.page import comment_of
from pregao.lake.tables.table import Table

with name_missing_extra():
    from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction

APPLICATION: Final = "pregao.lake"
_MARK: Final = "pregao.lakeVersion"
# Old versions must stay readable until `vacuum` says otherwise, so no log is cleaned up on its own.
_CONFIGURATION: Final = {
    "delta.enableExpiredLogCleanup": "false",
    "delta.checkpointInterval": "50",
}
_NS_PER_MS: Final = 1_000_000
_LOG, _ENTRY = "_delta_log", ".json"
_PARTITION: Final = "partition."  # before the names of such columns, as the library lists files


class FasterError(LakeConflictError):
    """Somebody else has made this version of the log."""


class DeltaLog:
    """One opened state of a table's log."""

    def __init__(self, location: Location, table: Table, version: int | None = None) -> None:
        self.location, self.table = location, table
        self._delta = _open(location, table, version)

    @property
    def exists(self) -> bool:
        return self._delta is not None

    @property
    def columns(self) -> set[str]:
        """As the log knows them."""
        return set() if self._delta is None else {field.name for field in self._delta.schema().fields}

    @property
    def version(self) -> int:
        """−1: there is no table yet."""
        return -1 if self._delta is None else int(self._delta.version())

    @property
    def transaction(self) -> int:
        """The newest lake version that has been committed to this table."""
        found = None if self._delta is None else self._delta.transaction_version(APPLICATION)
        return 0 if found is None else int(found)

    @cached_property
    def listed(self) -> Any:
        """The live files as the library lists them: an Arrow table, which can be searched without an object
        for each file. None: there is no table yet."""
        if self._delta is None:
            return None
        with named(self.location.full(self.table.name, _LOG)):
            return pa.table(self._delta.get_add_actions(flatten=True))

    @cached_property
    def files(self) -> list[LiveFile]:
        return self._as_files(self.listed)

    def files_where(self, conditions: Iterable[Condition]) -> list[LiveFile]:
        """Files that can hold such rows, as far as partitions and figures of equal values tell it."""
        found = self.listed
        for condition in conditions if found is not None else ():
            chosen = _chosen(found, condition)
            found = found if chosen is None else found.filter(chosen)
        return self._as_files(found)

    def _as_files(self, listed: Any) -> list[LiveFile]:
        rows = [] if listed is None else listed.to_pylist()
        return [live_file(self.table.name, row) for row in rows]

    def values_of(self, partition: str) -> set[Any]:
        """Different values of a partition column."""
        if self.listed is None:
            return set()
        return set(pc.unique(self.listed[f"{_PARTITION}{partition}"]).to_pylist())

    def paths_of(self, paths: Iterable[str]) -> set[str]:
        """Those of them that are live."""
        if self.listed is None:
            return set()
        mine = self.listed["path"].filter(pc.is_in(self.listed["path"], pa.array(list(paths), pa.string())))
        return set(mine.to_pylist())

    @property
    def totals(self) -> tuple[int, int, int]:
        """Files, rows and bytes."""
        if self.listed is None:
            return 0, 0, 0
        rows, size = (pc.sum(self.listed[name]).as_py() or 0 for name in ("num_records", "size_bytes"))
        return self.listed.num_rows, rows, size

    def check_entries(self) -> None:
        """LakeDamagedError for an entry without content: what a machine that lost its power can leave
        of a file, and what deltalake takes for one in which nothing happened. An object store has none."""
        if not self.location.is_local:
            return
        for file in self.location.files(self.table.name, _LOG):
            if file.path.endswith(_ENTRY) and not file.size:
                raise LakeDamagedError(
                    "entry of the log is empty", file=self.location.full(self.table.name, _LOG, file.path)
                )

    def version_of(self, lake_version: int) -> int:
        """The table version that a lake version made, from the log's own entries, newest first."""
        for version in range(self.version, -1, -1):
            if self.mark(version) == lake_version:
                return version
        raise LakeDamagedError(
            f"its log has no entry of lake version {lake_version}",
            file=self.location.full(self.table.name, _LOG),
        )

    def mark(self, version: int) -> int | None:
        """Lake version that made a table version; 0 for one that only made or widened the table; None
        for one that is not ours."""
        about: dict[str, Any] = next(
            (each["commitInfo"] for each in self._entry(version) if "commitInfo" in each), {}
        )
        found = about.get(_MARK)
        return None if found is None else int(found)

    def was_won_by(self, file: DataFile) -> bool:
        """After FasterError: whether the entry that was there already is our own, because a store did what it
        was asked, its answer was lost, and it was asked again. Nobody else has a file of this name."""
        adds = (each["add"]["path"] for each in self._entry(self.version + 1) if "add" in each)
        return any(unquote(path) == file.path for path in adds)

    def _entry(self, version: int) -> list[dict[str, Any]]:
        text = self.location.read(self.table.name, _LOG, f"{version:020}.json").decode()
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
        if self._delta is None:
            raise FasterError(f"{self.location.full(self.table.name)}: there is no log")
        now_ms = now_ns // _NS_PER_MS
        actions: list[AddAction | RemoveAction] = [
            RemoveAction(file.path, data_change, now_ms, file.size, dict(file.partition)) for file in removes
        ]
        actions += [
            AddAction(file.path, file.size, dict(file.partition), now_ms, data_change, file.statistics)
            for file in adds
        ]
        with named(self.location.full(self.table.name, _LOG)):
            try:
                self._delta.create_write_transaction(
                    actions, mode="append", schema=_schema(self.table),
                    partition_by=list(self.table.partitions),
                    commit_properties=_properties(lake_version, with_transaction=True),
                    post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
                )  # fmt: skip
            except CommitFailedError as error:
                if _taken(self.location, self.table, self.version + 1):
                    raise FasterError(f"{self.table.name}: somebody was faster") from error
                raise
        return self.version + 1


def ready_log(location: Location, table: Table) -> DeltaLog:
    """A log to write to: made if it is not there, widened if the table has got new columns."""
    log = DeltaLog(location, table)
    if not log.exists:
        _create(location, table)
        log = DeltaLog(location, table)
    return _widen(log)


def damaged_entry(location: Location, table: Table) -> str:
    """The first entry of a damaged log that is no list of JSON objects; the log itself if all are."""
    for file in sorted(location.files(table.name, _LOG), key=lambda file: file.path):
        if not file.path.endswith(_ENTRY):
            continue
        try:
            entries = list(map(json.loads, location.read(table.name, _LOG, file.path).splitlines()))
        except ValueError:
            entries = []
        if not entries:
            return location.full(table.name, _LOG, file.path)
    return location.full(table.name, _LOG)


def _open(location: Location, table: Table, version: int | None) -> Any:
    try:
        with named(location.full(table.name, _LOG)):
            return DeltaTable(
                location.delta_uri(table.name), version=version, storage_options=location.storage_options
            )
    except LakeDamagedError as error:
        if isinstance(error.__cause__, TableNotFoundError) and version is None:
            return None
        raise LakeDamagedError(error.reason, file=damaged_entry(location, table)) from error.__cause__


def _create(location: Location, table: Table) -> None:
    if location.is_local:
        location.make_folder(table.name)
    with named(location.full(table.name, _LOG)):
        try:
            DeltaTable.create(
                location.delta_uri(table.name), _schema(table), mode="error",
                partition_by=list(table.partitions), name=table.name, description=table.about,
                configuration=_CONFIGURATION, storage_options=location.storage_options,
                commit_properties=_properties(0, with_transaction=False),
            )  # fmt: skip
        except DeltaError:
            if not DeltaLog(location, table).exists:  # somebody else has made it: as good
                raise


def _widen(log: DeltaLog) -> DeltaLog:
    """A file with a column that the log does not know would be taken, and the column never seen."""
    missing = _missing(log)
    if not missing:
        return log
    with named(log.location.full(log.table.name, _LOG)):
        try:
            log._delta.alter.add_columns(missing, commit_properties=_properties(0, with_transaction=False))
        except CommitFailedError:
            again = DeltaLog(log.location, log.table)
            if _missing(again):  # otherwise somebody else has added them, or we, and the answer was lost
                raise
            return again
    return DeltaLog(log.location, log.table)


def _missing(log: DeltaLog) -> list[Any]:
    assert log._delta is not None
    there = {field.name for field in log._delta.schema().fields}
    return [field for field in _schema(log.table).fields if field.name not in there]


def _schema(table: Table) -> Schema:
    """With what is said of each column as its comment, for whoever reads the tables by other means."""
    commented = [
        field.with_metadata({"comment": comment_of(table.by_name[field.name])}) for field in table.schema
    ]
    return Schema.from_arrow(pa.schema(commented))


def _properties(lake_version: int, *, with_transaction: bool) -> CommitProperties:
    transactions: Sequence[Transaction] = [Transaction(APPLICATION, lake_version)] if with_transaction else []
    return CommitProperties(
        custom_metadata={_MARK: str(lake_version)},
        max_commit_retries=0,
        app_transactions=list(transactions),
    )


def _taken(location: Location, table: Table, version: int) -> bool:
    return location.size(table.name, _LOG, f"{version:020}.json") is not None


def _chosen(listed: Any, condition: Condition) -> Any:
    """Which files may have an equal value; None: nothing is known of that."""
    if condition.operator not in ("=", "in"):
        return None
    values = condition.value if condition.operator == "in" else (condition.value,)
    try:
        return _equal(listed, condition.column, values)
    except pa.ArrowInvalid:  # a value that the column cannot have: `prune` knows
        return None


def _equal(listed: Any, column: str, values: Sequence[Any]) -> Any:
    name = f"{_PARTITION}{column}"
    if name in listed.column_names:
        return pc.is_in(listed[name], pa.array(values, listed[name].type))
    least, greatest = f"min.{column}", f"max.{column}"
    if len(values) != 1 or not {least, greatest} <= set(listed.column_names):
        return None
    value = pa.scalar(values[0], listed[least].type)
    inside = pc.and_(pc.less_equal(listed[least], value), pc.greater_equal(listed[greatest], value))
    return pc.fill_null(inside, True)  # without figures it must be read


def live_file(table: str, row: dict[str, Any]) -> LiveFile:
    def part(prefix: str) -> dict[str, Any]:
        start = len(prefix)
        found = {name[start:]: value for name, value in row.items() if name.startswith(prefix)}
        return {name: value for name, value in found.items() if value is not None}

    start = len(_PARTITION)
    partition = {name[start:]: value for name, value in row.items() if name.startswith(_PARTITION)}
    return LiveFile(
        table, row["path"], row["size_bytes"], row["num_records"] or 0, partition,
        part("min."), part("max."), part("null_count."),
    )  # fmt: skip
