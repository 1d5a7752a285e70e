"""What a table's log says at a version, kept beside it so that its cost does not grow with the table.

A summary is one small file: what is not about files, and a list of parts. A part holds files of neighbouring
partitions, a few thousand of them with the values of their partitions, and never changes. The next summary
names the same parts again, but for those that its entries are about. So writing one costs as much as was
committed since, and reading some partitions costs the parts that have them, whatever the age of the lake.

Summaries are ours alone: they are in a folder of the log that readers of Delta pass over, and those get
checkpoints (`checkpoints`). What is lost of them is read from the log again.
"""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pregao.lake.errors import FileMissingError, LakeDamagedError, named
from pregao.lake.reading.arrow import expression, range_fits
from pregao.lake.reading.conditions import Condition
from pregao.lake.store.checkpoints import ADDED, LOG, partition_of, put_whole, typed_value, with_partitions
from pregao.lake.store.location import Location, StoredFile
from pregao.lake.tables.ledger import LAKE_VERSION
from pregao.lake.tables.table import Table

FOLDER: Final = "_pregao"  # of a log
NEWEST: Final = "newest.json"
PART_FILES: Final = 4096
_PART_VERSIONS: Final = 256  # of the tables of lake versions: the newest few are wanted
MOST_ENTRIES: Final = 10  # after a summary: whoever opens the log reads them
MOST_BYTES: Final = 256 << 10  # of those
_KEPT_PARTS: Final = 8  # of those that were read: more would be the whole table
_FORMAT: Final = 1
Key = tuple[Any, ...]  # values of the partition columns


def summary_name(version: int) -> str:
    return f"{version:020}.summary.json"


@dataclass(frozen=True, slots=True)
class PartOfLog:
    """A file that lists files, by partition and path. All files of a partition are in one part."""

    name: str
    files: int
    first: Key
    last: Key
    least: Key  # of each column
    greatest: Key

    def to_json(self) -> list[Any]:
        keys = (self.first, self.last, self.least, self.greatest)
        return [self.name, self.files, *([_plain(value) for value in key] for key in keys)]

    @classmethod
    def from_json(cls, table: Table, told: list[Any]) -> Self:
        (label, files, *keys), names = told, table.partitions
        first, last, least, greatest = (
            tuple(typed_value(table, name, str(value)) for name, value in zip(names, key, strict=True))
            for key in keys
        )
        return cls(label, int(files), first, last, least, greatest)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


def _parsed(table: Table, content: bytes) -> tuple[int, list[dict[str, Any]], list[PartOfLog], int] | None:
    """Version, heads, parts and checkpoint; None: it is of another form."""
    told = json.loads(content)
    if told["format"] != _FORMAT or told["partitions"] != list(table.partitions):
        return None
    parts = [PartOfLog.from_json(table, each) for each in told["parts"]]
    return int(told["version"]), told["heads"], parts, int(told["checkpoint"])


class Summary:
    """One that is there. `checkpoint` is the version of the last one that readers of Delta have."""

    def __init__(
        self, location: Location, table: Table, version: int, heads: list[dict[str, Any]],
        parts: Sequence[PartOfLog], checkpoint: int,
    ) -> None:  # fmt: skip
        self._location, self._table = location, table
        self.version, self.heads, self.parts, self.checkpoint = version, heads, list(parts), checkpoint
        self._read: dict[str, Any] = {}

    @classmethod
    def newest(cls, location: Location, table: Table) -> Self | None:
        """None: there is none that can be used."""
        return cls._stored(location, table, NEWEST)

    @classmethod
    def of_version(cls, location: Location, table: Table, version: int) -> Self | None:
        return cls._stored(location, table, summary_name(version))

    @classmethod
    def _stored(cls, location: Location, table: Table, name: str) -> Self | None:
        try:
            told = location.parsed(partial(_parsed, table), table.name, LOG, FOLDER, name)
        except (FileMissingError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return None if told is None else cls(location, table, *told)

    def store(self) -> None:
        """Under its own name for those who want this version, and as the newest one."""
        told = {
            "format": _FORMAT, "version": self.version, "checkpoint": self.checkpoint,
            "partitions": list(self._table.partitions), "heads": self.heads,
            "parts": [part.to_json() for part in self.parts],
        }  # fmt: skip
        content = json.dumps(told, separators=(",", ":")).encode()
        for name in (summary_name(self.version), NEWEST):
            put_whole(self._location, content, self._table.name, LOG, FOLDER, name)

    # What it says, as a checkpoint would

    @property
    def count(self) -> int:
        """Files."""
        return sum(part.files for part in self.parts)

    def adds(self, wanted: Sequence[Condition] = ()) -> Iterator[Any]:
        """Files of wanted partitions, as tables with the columns of ADDED."""
        chosen = expression(self._table, wanted)
        for part in self.parts:
            if all(range_fits(*self._range(part, each.column), each) for each in wanted):
                rows = self.read_part(part)
                yield (rows if chosen is None else rows.filter(chosen)).select(ADDED.names)

    def read_part(self, part: PartOfLog) -> Any:
        """Files and the values of their partitions, in the order of these."""
        if part.name not in self._read:
            if len(self._read) >= _KEPT_PARTS:
                self._read.clear()
            place = (self._table.name, LOG, FOLDER, part.name)
            try:
                with named(self._location.full(*place)):
                    self._read[part.name] = self._location.read_lasting_as(self._rows_of_part, *place)
            except LakeDamagedError as error:
                raise self._can_be_made_again(error) from error
        return self._read[part.name]

    def _rows_of_part(self, content: bytes) -> Any:
        rows = pq.ParquetFile(pa.BufferReader(content)).read()
        if all(name in rows.column_names for name in self._table.partitions):
            return rows
        return with_partitions(self._table, rows.select(ADDED.names))  # as they were written before

    def _can_be_made_again(self, error: LakeDamagedError) -> LakeDamagedError:
        folder = self._location.full(self._table.name, LOG, FOLDER)
        return LakeDamagedError(f"{error.reason} (delete {folder}: the log says the same)", file=error.file)

    def values_of(self, partition: str) -> set[Any]:
        """Different values of a partition column. A part whose files all have the same is not read."""
        found: set[Any] = set()
        for part in self.parts:
            least, greatest = self._range(part, partition)
            found |= (
                {least} if least == greatest else {*pc.unique(self.read_part(part)[partition]).to_pylist()}
            )
        return found

    def least_and_greatest(self, partition: str) -> set[Any]:
        return {value for part in self.parts for value in self._range(part, partition)}

    def _range(self, part: PartOfLog, column: str) -> tuple[Any, Any]:
        number = self._table.partitions.index(column)
        return part.least[number], part.greatest[number]


# Writing


def is_long(entries: int, size: int) -> bool:
    """Whether a log gets another summary."""
    return entries >= MOST_ENTRIES or size >= MOST_BYTES


def write_summary(
    location: Location, table: Table, base: "Summary | None", version: int, heads: list[dict[str, Any]],
    added: Any, gone: Collection[str], checkpoint: int,
) -> Summary:  # fmt: skip
    """After `base`, to which files were added (a table of ADDED) and from which some are gone. Without a base
    the added ones are all that there are."""
    if location.is_local:
        location.make_folder(table.name, LOG, FOLDER)
    old = [] if base is None else base.parts
    folders = {path.rpartition("/")[0] for path in (*added["path"].to_pylist(), *gone)}
    keys = sorted({_key(table, folder) for folder in folders})
    touched = _with_small_neighbours(old, _touched(old, keys, _most(table)), _most(table))
    parts = [part for number, part in enumerate(old) if number not in touched]
    rows = [without(base.read_part(old[number]), gone) for number in sorted(touched)] if base else []
    changed = pa.concat_tables([*rows, with_partitions(table, added)])
    if changed.num_rows:
        parts += _write_parts(location, table, changed)
    parts.sort(key=lambda part: part.first)
    found = Summary(location, table, version, heads, parts, checkpoint)
    found.store()
    return found


def _most(table: Table) -> int:
    return _PART_VERSIONS if table.partitions == (LAKE_VERSION,) else PART_FILES


def _key(table: Table, folder: str) -> Key:
    values = partition_of(table, folder)
    return tuple(values[name] for name in table.partitions)


def _touched(parts: Sequence[PartOfLog], keys: Sequence[Key], most: int) -> set[int]:
    """Those that have one of the keys, or should. After a full part another begins."""
    firsts, found = [part.first for part in parts], set[int]()
    for key in keys:
        number = max(0, bisect_right(firsts, key) - 1)
        part = parts[number] if parts else None
        if part is not None and (part.files < most or part.first <= key <= part.last):
            found.add(number)
    return found


def _with_small_neighbours(parts: Sequence[PartOfLog], touched: set[int], most: int) -> set[int]:
    """Parts of few files are joined: compaction leaves such."""
    found = set(touched)
    for number in touched:
        for other in (number - 1, number + 1):
            if 0 <= other < len(parts) and parts[other].files + parts[number].files <= most // 2:
                found.add(other)
    return found


def without(rows: Any, gone: Collection[str]) -> Any:
    """Files but for those of some paths."""
    if not gone:
        return rows
    return rows.filter(pc.invert(pc.is_in(rows["path"], pa.array(sorted(gone), pa.string()))))


def _write_parts(location: Location, table: Table, rows: Any) -> Iterator[PartOfLog]:
    """A partition is never in two of them."""
    rows = rows.sort_by([(name, "ascending") for name in (*table.partitions, "path")]).combine_chunks()
    is_new = np.zeros(rows.num_rows - 1, np.bool_)
    for name in table.partitions:
        codes = rows[name].combine_chunks().dictionary_encode().indices.to_numpy()
        is_new |= codes[1:] != codes[:-1]
    begin = 0
    for end in (np.flatnonzero(is_new) + 1).tolist():
        if end - begin >= _most(table):
            yield _write_part(location, table, rows.slice(begin, end - begin))
            begin = end
    yield _write_part(location, table, rows.slice(begin))


def _write_part(location: Location, table: Table, rows: Any) -> PartOfLog:
    name = f"{uuid4().hex}.parquet"
    sink = pa.BufferOutputStream()
    options = {"compression": "zstd", "use_dictionary": list(table.partitions), "write_statistics": False}
    pq.write_table(rows, sink, **options)
    put_whole(location, sink.getvalue(), table.name, LOG, FOLDER, name)
    figures = [pc.min_max(rows[each]).as_py() for each in table.partitions]
    first, last = (
        tuple(rows[each][number].as_py() for each in table.partitions) for number in (0, rows.num_rows - 1)
    )
    least, greatest = (tuple(each[end] for each in figures) for end in ("min", "max"))
    return PartOfLog(name, rows.num_rows, first, last, least, greatest)


# Cleaning up


def needless_summaries(location: Location, table: Table, oldest: int) -> list[StoredFile]:
    """Summaries that no version from `oldest` on needs, and parts that none of the others names."""
    files = list(location.files(table.name, LOG, FOLDER))
    versions = sorted(version for file in files if (version := summary_version(file.path)) is not None)
    first = max((version for version in versions if version <= oldest), default=0)
    named_parts: set[str] = set()
    kept = [Summary.newest(location, table)]
    kept += [Summary.of_version(location, table, version) for version in versions if version >= first]
    for summary in kept:
        named_parts.update(part.name for part in (() if summary is None else summary.parts))
    return [
        file for file in files
        if (file.path.endswith(".parquet") and file.path not in named_parts)
        or ((version := summary_version(file.path)) is not None and version < first)
    ]  # fmt: skip


def summary_version(name: str) -> int | None:
    head = name.partition(".")[0]
    return int(head) if head.isdigit() and name == summary_name(int(head)) else None
