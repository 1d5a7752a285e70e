"""What a table's log says at a version: a summary, and the entries after it.

Read without the library that makes tables: that one lists all files of a table whenever it opens it. Here
nothing is read but the entries since the last summary, and of that the partitions that somebody asks for. A
log that has no summary is read from its last checkpoint on.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from pregao.lake.errors import FileMissingError, LakeDamagedError
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.checkpoints import (
    ADDED,
    HINT,
    LOG,
    Checkpoint,
    Folders,
    checkpoint_version,
    partition_of,
)
from pregao.lake.store.location import Location
from pregao.lake.store.summaries import FOLDER, Summary, summary_version, without, write_summary
from pregao.lake.tables.table import Table

_ADD, _REMOVE, _END = '{"add":{"path":"', '{"remove":{"path":"', "}}"
_OF_FILES: Final = (_ADD, _REMOVE)
_AT_ONCE: Final = 8  # requests to a store
Base = Summary | Checkpoint


def entry_name(version: int) -> str:
    return f"{version:020}.json"


class LogEntry:
    """One of a log. It never changes, so whoever remembers it (`Location.remembering`) parses it once, and
    only when somebody asks for what is in it: who only commits need not know its files."""

    def __init__(self, content: bytes) -> None:
        self.size = len(content)
        self.nbytes = 3 * self.size  # about, with what is made of it
        self._content = content

    @property
    def is_empty(self) -> bool:
        return not self._content.strip()

    @cached_property
    def _lines(self) -> list[str]:
        return [line for line in self._content.decode().splitlines() if line]

    @cached_property
    def heads(self) -> list[dict[str, Any]]:
        """Actions that are not about files."""
        return [json.loads(line) for line in self._lines if not line.startswith(_OF_FILES)]

    @cached_property
    def files(self) -> tuple[dict[str, str], list[str]]:
        """Lines of files that were added, by path, and paths of those that were removed. A line is parsed
        when somebody asks for its file."""
        added, removed = dict[str, str](), list[str]()
        for line in self._lines:
            path = path_in(line, _ADD)
            if path is not None:
                added[path] = line
            elif (path := path_in(line, _REMOVE)) is not None:
                removed.append(path)
            else:
                action = json.loads(line)
                if "add" in action:
                    added[unquote(action["add"]["path"])] = line
                elif "remove" in action:
                    removed.append(unquote(action["remove"]["path"]))
        return added, removed


@dataclass(slots=True)
class Tail:
    """Entries after a summary, put together."""

    added: dict[str, str] = field(default_factory=dict)  # lines by path
    gone: set[str] = field(default_factory=set)  # paths that the base still has
    balance: int = 0  # files that were added, less those that were removed

    def take(self, entry: LogEntry) -> None:
        added, removed = entry.files
        for path in removed:
            if self.added.pop(path, None) is None:
                self.gone.add(path)
        self.added |= added
        self.balance += len(added) - len(removed)


def path_in(line: str, start: str) -> str | None:
    """The path of a line that is whole, if it is written as usual."""
    if not line.startswith(start) or not line.endswith(_END):
        return None
    end = line.index('"', len(start))
    path = line[len(start) : end]
    return None if "%" in path or "\\" in path else path


class LogState:
    """`version` −1: there is no table. Without a version the newest."""

    def __init__(self, location: Location, table: Table, version: int | None = None) -> None:
        self._location, self._table = location, table
        self._read, self.base, self.version = self._opened(version)

    def _opened(self, version: int | None) -> "tuple[dict[int, LogEntry], Base | None, int]":
        base: Base | None = Summary.newest(self._location, self._table)
        if base is None or (version is not None and base.version > version):
            base = self._older(version)
        read, last = self._read_entries(base, version)
        while last != version and (newer := self._newer_than(last, version)) is not None:
            base = newer  # somebody has written it, and may have removed the entries before it
            read, last = self._read_entries(base, version)
        if last < 0 and version is None:
            return {}, None, -1
        missing = last + 1
        if (version is not None and last != version) or (version is None and self._is_there(missing + 1)):
            raise LakeDamagedError("entry of the log is missing", file=self._name(missing))
        return read, base, last

    def _older(self, version: int | None) -> "Base | None":
        """The newest that is not after a version, by what there is."""
        files = [file.path for file in self._location.files(self._table.name, LOG)]
        inside = f"{FOLDER}/"
        summaries = [summary_version(name.removeprefix(inside)) for name in files if name.startswith(inside)]
        both = ((summaries, True), (map(checkpoint_version, files), False))
        found = [(number, kind) for numbers, kind in both for number in numbers if number is not None]
        for number, is_summary in sorted(found, reverse=True):
            if version is None or number <= version:
                if not is_summary:
                    return Checkpoint(self._location, self._table, number)
                if (summary := Summary.of_version(self._location, self._table, number)) is not None:
                    return summary
        return None

    def _newer_than(self, last: int, version: int | None) -> "Base | None":
        """A checkpoint of whoever else writes to the log, or a summary that was written meanwhile."""
        with suppress(FileMissingError, ValueError, KeyError, TypeError):
            hint = int(json.loads(self._location.read(self._table.name, LOG, HINT))["version"])
            if last < hint and (version is None or hint <= version):
                summary = Summary.of_version(self._location, self._table, hint)
                return summary or Checkpoint(self._location, self._table, hint)
        return None

    def _read_entries(self, base: "Base | None", version: int | None) -> tuple[dict[int, LogEntry], int]:
        """After a summary or checkpoint, and the number of the last."""
        read: dict[int, LogEntry] = {}
        begin = -1 if base is None else base.version
        for number, entry in self._entries(begin + 1, version):
            if entry is None:
                break
            if entry.is_empty:  # what a machine that lost its power can leave of a file
                raise LakeDamagedError("entry of the log is empty", file=self._name(number))
            read[number] = entry
        return read, begin + len(read)

    @contextmanager
    def _naming(self, number: int) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"entry of the log cannot be read: {error}"
            raise LakeDamagedError(reason, file=self._name(number)) from error

    @cached_property
    def tail(self) -> Tail:
        found = Tail()
        for number, entry in self._read.items():
            with self._naming(number):
                found.take(entry)
        return found

    def _entries(self, first: int, version: int | None) -> Iterator[tuple[int, LogEntry | None]]:
        """Up to the version, or to the first that is not there."""
        if version is None or self._location.is_local:
            number = first
            while version is None or number <= version:
                yield number, self._entry(number)
                number += 1
            return
        numbers = range(first, version + 1)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            yield from zip(numbers, pool.map(self._entry, numbers), strict=True)

    def _entry(self, number: int) -> LogEntry | None:
        try:
            place = (self._table.name, LOG, entry_name(number))
            found: LogEntry = self._location.read_lasting_as(LogEntry, *place)
        except FileMissingError:
            return None
        return found

    def _is_there(self, number: int) -> bool:
        return self._location.size(self._table.name, LOG, entry_name(number)) is not None

    def _name(self, number: int) -> str:
        return self._location.full(self._table.name, LOG, entry_name(number))

    @property
    def length(self) -> tuple[int, int]:
        """Entries since the summary, and their bytes: as much is read by whoever opens the log. That which
        made the table does not count."""
        begin = 0 if self.base is None else self.base.version
        return self.version - begin, sum(entry.size for entry in self._read.values())

    def summarise(self) -> Summary:
        """Write one of this version. Where there was none, from all that the log says."""
        base = self.base if isinstance(self.base, Summary) else None
        added = self._added(()) if base is not None else self.files()
        gone = self.tail.gone if base is not None else ()
        last = 0 if self.base is None else base.checkpoint if base is not None else self.base.version
        place = self._location, self._table
        return write_summary(*place, base, self.version, self.heads, added, gone, last)

    # What it says

    @cached_property
    def heads(self) -> list[dict[str, Any]]:
        """The actions that hold, but for those about files."""
        found = [] if self.base is None else list(self.base.heads)
        for number, entry in self._read.items():
            with self._naming(number):
                found += entry.heads
        held: dict[tuple[str, str], dict[str, Any]] = {}
        for action in found:
            for name in ("protocol", "metaData", "txn"):
                if name in action:
                    held[name, action[name]["appId"] if name == "txn" else ""] = {name: action[name]}
        return list(held.values())

    def transaction(self, application: str) -> int | None:
        told = (each["txn"] for each in self.heads if "txn" in each)
        return next((int(each["version"]) for each in told if each["appId"] == application), None)

    @property
    def about(self) -> dict[str, Any]:
        return next(each["metaData"] for each in self.heads if "metaData" in each)

    @cached_property
    def columns(self) -> set[str]:
        return {column["name"] for column in json.loads(self.about["schemaString"])["fields"]}

    @cached_property
    def count(self) -> int:
        """Files."""
        return self.tail.balance + (0 if self.base is None else self.base.count)

    def files(self, conditions: Sequence[Condition] = (), *, newest_only: bool = False) -> Any:
        """Those of partitions for which all conditions hold: a table of path, size, modificationTime,
        dataChange and stats. Conditions on other columns are left out. `newest_only`: those that were added
        since the summary."""
        wanted = [each for each in conditions if each.column in self._table.partitions]
        found = () if self.base is None or newest_only else self.base.adds(wanted)
        return pa.concat_tables([*(without(rows, self.tail.gone) for rows in found), self._added(wanted)])

    def paths(self, conditions: Sequence[Condition] = ()) -> set[str]:
        """The same, their paths only."""
        wanted = [each for each in conditions if each.column in self._table.partitions]
        chosen = Folders(self._table, wanted)
        found = {path for path in self.tail.added if chosen.have(path)}
        for rows in () if self.base is None else self.base.adds(wanted):
            found.update(rows["path"].to_pylist())
        return found - (self.tail.gone - self.tail.added.keys())

    def values_of(self, partition: str) -> set[Any]:
        """Different values of a partition column."""
        found = self._newest_values(partition)
        return found if self.base is None else found | self.base.values_of(partition)

    def least_and_greatest(self, partition: str) -> set[Any]:
        """Values of a partition column, among them the least and the greatest."""
        found = self._newest_values(partition)
        return found if self.base is None else found | self.base.least_and_greatest(partition)

    def _newest_values(self, partition: str) -> set[Any]:
        """Of files that were added since the summary."""
        folders = {path.rpartition("/")[0] for path in self.tail.added}
        return {partition_of(self._table, folder)[partition] for folder in folders}

    def _added(self, wanted: Sequence[Condition]) -> Any:
        chosen = Folders(self._table, wanted)
        adds = [json.loads(line)["add"] for path, line in self.tail.added.items() if chosen.have(path)]
        rows = [{name: add.get(name) for name in ADDED.names} for add in adds]
        for row in rows:
            row["path"] = unquote(row["path"])
        return pa.Table.from_pylist(rows, schema=ADDED)
