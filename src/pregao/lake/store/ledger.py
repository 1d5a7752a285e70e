"""Which lake versions there are, and which version of each table belongs to them."""

import json
import posixpath
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pregao.lake.errors import LakeDamagedError, NoLakeError, OldLakeError, named
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.checkpoints import LOG
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.intent import Intent, Label, read_intent
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.ledger import COMMITS, INTENTS, LAKE_VERSION, LAYOUT, LAYOUT_NOW, UNITS
from pregao.lake.tables.table import Table

ABANDONED: Final = "abandoned"
_NO_TABLE: Final = ""
_FEW: Final = 16  # versions that are looked for one by one: nearly always the newest is the last


@dataclass(frozen=True)
class TableVersion:
    name: str
    delta_version: int
    changed: bool
    files: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class LakeVersion:
    """All tables of one build. Number 0 is the lake in which nothing has been committed yet."""

    number: int
    operation: str = ""
    build_id: str = ""
    committed_ns: int = 0
    note: str | None = None
    tables: dict[str, TableVersion] = field(default_factory=dict)

    @property
    def is_abandoned(self) -> bool:
        return self.operation == ABANDONED

    @property
    def committed(self) -> datetime:
        return datetime.fromtimestamp(self.committed_ns / 1e9, UTC)

    def delta_version(self, table: str) -> int:
        """−1: this version has no such table."""
        found = self.tables.get(table)
        return -1 if found is None else found.delta_version


class Ledger:
    """One look at the logs of `commits` and `intents`. Damage to `intents` is told to those who ask for
    them: readers do not."""

    def __init__(self, location: Location) -> None:
        self._location = location
        # In this order: an intent that is not in `commits` must be one that is still under way.
        self._intents = _open_intents(location)
        self.commits = DeltaLog(location, COMMITS)
        for log in (self.commits, self._intents):
            if isinstance(log, DeltaLog):
                check_layout(location, log)
        self._known: dict[tuple[str, int], LiveFile | None] = {}

    @property
    def intents(self) -> DeltaLog:
        if isinstance(self._intents, LakeDamagedError):
            raise self._intents
        return self._intents

    def _file(self, log: DeltaLog, number: int) -> LiveFile | None:
        """Of a lake version in one of the two; None: there is none, or it has been forgotten. The newest are
        in the entries that were read anyway."""
        key = log.table.name, number
        if key not in self._known:
            wanted = [Condition(LAKE_VERSION, "=", number)]
            found = log.newest_files_where(wanted) or log.files_where(wanted)
            self._known[key] = found[0] if found else None
        return self._known[key]

    @property
    def exists(self) -> bool:
        return self.commits.exists or isinstance(self._intents, LakeDamagedError) or self._intents.exists

    @property
    def last_number(self) -> int:
        """The greatest number ever claimed, also of what was abandoned."""
        return max(self.intents.transaction, self.commits.transaction)

    @cached_property
    def numbers(self) -> list[int]:
        """All that are there. Whoever wants one of them, or the newest, need not ask for all."""
        return sorted(int(file.partition[LAKE_VERSION]) for file in self.commits.files)

    def since(self, base: int) -> list[int]:
        """Those after `base` that can be seen."""
        numbers = range(base + 1, self.commits.transaction + 1)
        return [number for number in numbers if self.is_visible(number)]

    @property
    def pending(self) -> list[int]:
        """Claimed, and neither committed nor abandoned. There can be one, for nobody claims a number before
        that; more would be damage."""
        numbers = range(self.commits.transaction + 1, self.intents.transaction + 1)
        return [number for number in numbers if self._file(self.intents, number) is not None]

    def intent(self, number: int) -> Intent | None:
        """None when it has been expired."""
        file = self._file(self.intents, number)
        found = None if file is None else read_intent(self._location, file.path, number)
        if found is not None:
            self._check(found.layout)
        return found

    def _check(self, layout: int | None) -> None:
        if (layout or 0) < LAYOUT_NOW:
            raise _old_lake(self._location, "whose tables have no exact prices and sizes")

    def version(self, number: int | None = None) -> LakeVersion:
        """A lake version; without a number the newest that can be seen."""
        if number is None:
            return self._newest()
        if self._file(self.commits, number) is None:
            raise NoLakeError(f"{self._location.uri} has no lake version {number}{self._choice()}")
        found = self._read(number)
        if found.is_abandoned:
            raise NoLakeError(f"lake version {number} of {self._location.uri} was abandoned{self._choice()}")
        return found

    def is_visible(self, number: int) -> bool:
        return self._file(self.commits, number) is not None and not self._read(number).is_abandoned

    def committed_ns(self, number: int) -> int:
        return self._read(number).committed_ns

    def versions(self) -> list[LakeVersion]:
        """All that can be read, oldest first."""
        return [version for version in map(self._read, self.numbers) if not version.is_abandoned]

    def _newest(self) -> LakeVersion:
        for number in self._newest_first():
            version = self._read(number)
            if not version.is_abandoned:
                return version
        return LakeVersion(0)

    def _newest_first(self) -> Iterator[int]:
        last = self.commits.transaction
        first = max(last - _FEW, 0)
        yield from (number for number in range(last, first, -1) if self._file(self.commits, number))
        if first:
            yield from (number for number in reversed(self.numbers) if number <= first)

    def _read(self, number: int) -> LakeVersion:
        file = self._file(self.commits, number)
        if file is None:
            raise NoLakeError(f"{self._location.uri} has no lake version {number}")
        path = file.path
        with (
            named(self._location.full(COMMITS.name, path)),
            self._location.filesystem.open_input_file(self._location.path(COMMITS.name, path)) as source,
        ):
            rows = pq.ParquetFile(source).read().to_pylist()
            first = rows[0]
        self._check(first[LAYOUT])
        tables = [
            TableVersion(
                row["table"], row["delta_version"], row["changed"], row["files"], row["rows"], row["bytes"]
            )
            for row in rows
            if row["table"] != _NO_TABLE
        ]
        return LakeVersion(
            number, first["operation"], first["build_id"], first["committed_ns"], first["note"],
            {table.name: table for table in tables},
        )  # fmt: skip

    def _choice(self) -> str:
        return f"; there are {self.numbers[0]} to {self.numbers[-1]}" if self.numbers else "; it has none yet"


def whole_table(location: Location, table: Table, version: LakeVersion) -> DeltaLog:
    """The log of a table in a lake version, held against what was counted at the commit: an entry of which
    something is lost can still be read."""
    told = version.tables[table.name]
    log = DeltaLog(location, table, told.delta_version)
    if log.count != told.files:
        raise LakeDamagedError(
            f"the log of table {table.name} has lost something: it names {log.count} files,"
            f" lake version {version.number} has {told.files} with {told.rows} rows",
            file=location.full(table.name, LOG),
        )
    return log


def write_version(
    location: Location, number: int, tables: Iterable[TableVersion], label: Label, note: str, now_ns: int
) -> DataFile:
    """The file with the rows of a lake version, which is visible when the log of `commits` names it."""
    common: dict[str, Any] = {
        "operation": label.operation, "build_id": label.build_id, "committed_ns": now_ns,
        "committed": now_ns // 1000, "note": note, LAYOUT: LAYOUT_NOW,
    }  # fmt: skip
    rows = [
        {
            **common, "table": each.name, "delta_version": each.delta_version, "changed": each.changed,
            "files": each.files, "rows": each.rows, "bytes": each.bytes,
        }
        for each in sorted(tables, key=lambda each: each.name)
    ]  # fmt: skip
    nothing = {**common, "table": _NO_TABLE, "delta_version": -1, "changed": False}
    table = pa.Table.from_pylist(rows or [nothing], schema=COMMITS.stored_schema)
    return write_file(location, COMMITS, {LAKE_VERSION: str(number)}, table, label="commit")


def _open_intents(location: Location) -> DeltaLog | LakeDamagedError:
    try:
        log = DeltaLog(location, INTENTS)
        log.check()
    except LakeDamagedError as error:
        return error
    return log


# How the tables of a lake are laid out, and what to do with one of before.
#
# Layout 1 partitioned tables by trade date and channel; layout 2 does it by system, trade date and source.
# The partition columns of a Delta table cannot be altered, so such a lake is built again from its captures.
# Layout 3 has exact values beside prices and sizes, and units of before would have none beside new ones.


_MOST_FOLDERS: Final = 8
_SOME_CAPTURES: Final = "CAPTURES"  # for the reader to fill in


def check_layout(location: Location, log: DeltaLog) -> None:
    """OldLakeError for a log of `commits` or `intents` that knows nothing of layouts."""
    if log.exists and LAYOUT not in log.columns:
        raise _old_lake(location, "whose tables are partitioned in another way")


def _old_lake(location: Location, difference: str) -> OldLakeError:
    return OldLakeError(
        f"{location.uri}: this lake was built by an older pregao, {difference}; build it again beside this"
        f" one: {rebuild_command(location)}"
    )


def rebuild_command(location: Location) -> str:
    """With the captures that the lake was built from, where it can still say so."""
    try:
        captures = [shlex.quote(folder) for folder in _capture_folders(location)]
    except (LakeDamagedError, ValueError, KeyError, TypeError):
        captures = []
    if not 0 < len(captures) <= _MOST_FOLDERS:
        captures = [_SOME_CAPTURES]
    return f"pregao build {' '.join(captures)} --lake {shlex.quote(f'{location.uri}-2')}"


def _capture_folders(location: Location) -> list[str]:
    """Folders of the captures of all units."""
    found: set[str] = set()
    for path in DeltaLog(location, UNITS).paths:
        name = location.full(UNITS.name, path)
        with named(name), location.filesystem.open_input_file(location.path(UNITS.name, path)) as source:
            rows = pq.ParquetFile(source).read(columns=["inputs"]).column(0).to_pylist()
        found |= {posixpath.dirname(each["path"]) for row in rows for each in json.loads(row)}
    return sorted(found)
