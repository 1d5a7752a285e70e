"""What a lake version wants to do, stored before it does anything: every addition and removal.

Intents are files of the Delta table `intents`, one a lake version. Entering one there is what claims
the version's number: of two builders the log lets in one. The same works on a disk and on S3.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import LakeConflictError, LakeDamagedError, NotWholeError, WrongIntentError
from pregao.lake.store.checkpoints import LOG
from pregao.lake.store.deltalog import DeltaLog, FasterError, ready_log
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.livefile import LiveFile, live, may_speak_of
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.ledger import INTENTS, LAKE_VERSION, LAYOUT_NOW
from pregao.lake.tables.table import UnitKey

_ADD, _REMOVE, _LAKE = "add", "remove", "lake"


@dataclass(frozen=True)
class Change:
    """Files to add and to remove, of any tables."""

    adds: tuple[DataFile, ...] = ()
    removes: tuple[DataFile, ...] = ()

    def __post_init__(self) -> None:
        for files in (self.adds, self.removes):
            names = [(file.table, file.path) for file in files]
            if len(set(names)) != len(names):
                raise WrongIntentError("a file is named twice in one change")
        if self.names(self.adds) & self.names(self.removes):
            raise WrongIntentError("a file is both added and removed in one change")

    @staticmethod
    def names(files: Iterable[DataFile]) -> set[tuple[str, str]]:
        return {(file.table, file.path) for file in files}

    @property
    def tables(self) -> list[str]:
        return sorted({file.table for file in (*self.adds, *self.removes)})

    @property
    def keys(self) -> set[Any]:
        """Tables and partitions that are touched."""
        return {file.key for file in (*self.adds, *self.removes)}

    def of(self, table: str) -> Self:
        return type(self)(
            tuple(file for file in self.adds if file.table == table),
            tuple(file for file in self.removes if file.table == table),
        )


@dataclass(frozen=True)
class Read:
    """What a change was made from without replacing it: files of a source from one trade date to another, or
    only those of them that speak of a date."""

    table: str
    system: str
    source: str
    first: date = date.min
    last: date = date.max
    of_date: date | None = None

    def covers(self, file: DataFile) -> bool:
        if file.table != self.table:
            return False
        key = UnitKey.of_partition(file.partition)
        if key.feed != (self.system, self.source) or not self.first <= key.trade_date <= self.last:
            return False
        return self.of_date is None or may_speak_of(live(file), self.of_date)


@dataclass(frozen=True)
class Label:
    """Who commits, and what it is: goes with the lake version."""

    operation: str
    build_id: str = ""
    note: Mapping[str, Any] = field(default_factory=dict)
    data_change: bool = True  # False: other files, the same rows


@dataclass(frozen=True)
class Intent:
    number: int  # the lake version it is to become
    base: int  # the visible lake version it stands on; 0: none
    change: Change
    label: Label
    claimed_ns: int
    layout: int = LAYOUT_NOW


def write_intent(location: Location, intent: Intent) -> DataFile:
    """Its file, which means nothing until the log of `intents` names it."""
    about = {
        "base": intent.base, "claimed_ns": intent.claimed_ns, "operation": intent.label.operation,
        "build_id": intent.label.build_id, "data_change": intent.label.data_change,
        "note": dict(intent.label.note), "actions": len(intent.change.adds) + len(intent.change.removes),
    }  # fmt: skip
    rows = [_row(_LAKE, note=json.dumps(about), layout=LAYOUT_NOW)]
    rows += [_row(_ADD, **file.to_row()) for file in intent.change.adds]
    rows += [_row(_REMOVE, **file.to_row()) for file in intent.change.removes]
    table = pa.Table.from_pylist(rows, schema=INTENTS.stored_schema)
    return write_file(location, INTENTS, {LAKE_VERSION: str(intent.number)}, table, label="intent")


def read_intent(location: Location, path: str, number: int) -> Intent:
    """FileMissingError when it is not there, NotWholeError when it is not Parquet, or not all of it: what
    can never be finished. That it cannot be read now is another error."""
    name = location.full(INTENTS.name, path)
    data = location.read(INTENTS.name, path)
    try:
        return _parse_intent(data, number)
    except (ValueError, KeyError, IndexError, StopIteration, TypeError, OSError) as error:
        raise NotWholeError(f"the intent is not whole: {error or type(error).__name__}", file=name) from error


def _parse_intent(data: bytes, number: int) -> Intent:
    rows = pq.ParquetFile(pa.BufferReader(data)).read().to_pylist()
    lake = next(row for row in rows if row["action"] == _LAKE)
    about = json.loads(lake["note"])
    adds = tuple(DataFile.from_row(row) for row in rows if row["action"] == _ADD)
    removes = tuple(DataFile.from_row(row) for row in rows if row["action"] == _REMOVE)
    label = Label(about["operation"], about["build_id"], about["note"], about["data_change"])
    if len(adds) + len(removes) != about["actions"]:
        raise ValueError(f"{len(adds) + len(removes)} of {about['actions']} actions")
    return Intent(number, about["base"], Change(adds, removes), label, about["claimed_ns"], lake["layout"])


_EMPTY: Final[dict[str, Any]] = dict.fromkeys(INTENTS.stored_schema.names)


def _row(action: str, **values: Any) -> dict[str, Any]:
    return {**_EMPTY, "action": action, **values}


# Step 2 of a lake commit: one table from the state it had in the base version to the one wanted.


_ATTEMPTS: Final = 20


def live_files(location: Location, table: str, delta_version: int) -> dict[str, LiveFile]:
    if delta_version < 0:
        return {}
    return {file.path: file for file in DeltaLog(location, find_table(table), delta_version).files}


class TableCommit(NamedTuple):
    version: int
    is_long: bool  # its log should get a summary


def commit_table(
    location: Location, name: str, intent: Intent, base_version: int, now_ns: int
) -> TableCommit:
    """The table version that belongs to the intent: made now, or already there."""
    for _ in range(_ATTEMPTS):
        log = ready_log(location, find_table(name))
        if log.transaction >= intent.number:
            return TableCommit(log.version_of(intent.number), False)
        adds, removes = _actions(location, log, intent, base_version)
        try:
            made = log.commit(adds, removes, intent.number, now_ns, data_change=intent.label.data_change)
        except FasterError:
            continue  # the same intent by somebody else, or somebody foreign: look again
        return TableCommit(made, log.is_long)
    raise LakeConflictError(f"{location.full(name)}: somebody else keeps writing to this table")


def _actions(
    location: Location, log: DeltaLog, intent: Intent, base_version: int
) -> tuple[list[DataFile], list[DataFile]]:
    """Additions and removals that lead from what the table holds now to what is wanted. The two differ
    from the intent's own only where an abandoned build left something in the table."""
    mine = intent.change.of(log.table.name)
    if log.version == base_version:
        return list(mine.adds), list(mine.removes)
    if log.version < base_version:
        raise LakeDamagedError(
            f"its log ends with version {log.version}, lake version {intent.base} has {base_version}",
            file=location.full(log.table.name, LOG),
        )
    _refuse_foreign(location, log, base_version)
    base = live_files(location, log.table.name, base_version)
    now = {file.path: file.data_file() for file in log.files}
    wanted = {path: file.data_file() for path, file in base.items()}
    for file in mine.removes:
        wanted.pop(file.path, None)
    wanted.update((file.path, file) for file in mine.adds)
    adds = [file for path, file in wanted.items() if path not in now]
    removes = [file for path, file in now.items() if path not in wanted]
    return adds, removes


def _refuse_foreign(location: Location, log: DeltaLog, base_version: int) -> None:
    """A table that somebody else writes to is no longer ours to replace."""
    for version in range(base_version + 1, log.version + 1):
        if log.mark(version) is None:
            raise LakeConflictError(
                f"{location.full(log.table.name)}: version {version} of this table was not written by pregao;"
                " restore the table or move it away"
            )
