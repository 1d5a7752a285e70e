"""Finished captures of a folder, as a source of Structured Streaming: a row for each, as it was found.

An offset is how many captures have been found so far. Which they were is in a log beside the query's own
checkpoints, so that a batch that is run again has the same rows. A capture that is not what it was is
another one. Files that are still being written (`….part`) have no name that is looked at.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from pregao.feeds.registry import DEFAULT
from pregao.io.files import write_whole
from pregao.lake.build import USUAL_BARS
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.plan.stored import Stored, look
from pregao.lake.streaming.indexes import LeftOut
from pregao.lake.tables.table import UnitKey
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import CaptureError

FORMAT: Final = "pregao_captures"
SCHEMA: Final = "path string, size bigint, version string"
LOG: Final = "captures.log"
_COUNT: Final = "captures"


class FolderSource(DataSource):
    """Options: `folder` of the captures, `log` the file that names those found, `most` a batch."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        most = int(self.options.get("most", "0"))
        return NewCaptures(self.options["folder"], Path(self.options["log"]), most)


class FolderPartition(InputPartition):
    def __init__(self, files: list[Stored]) -> None:
        super().__init__(None)
        self.files = files


class NewCaptures(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`most`: captures of one batch; 0: all that there are."""

    def __init__(self, folder: str, log: Path, most: int = 0) -> None:
        self._folder, self._most = folder, most
        self._log = CaptureLog(log)
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {_COUNT: 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxFiles(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._log.find(self._folder)
        self._last = self._log.count

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        since = start[_COUNT]
        if self._log.begin_at(since) or self._last is None:
            self._log.find(self._folder)
        last = self._log.count if self._last is None else max(self._last, since)
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else last - since
        return {_COUNT: min(last, since + most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        files = self._log.between(start[_COUNT], end[_COUNT])
        return [FolderPartition(files)] if files else []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, FolderPartition)
        return (tuple(file) for file in partition.files)


class CaptureLog:
    """Captures in the order in which they were found, each with its number, a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[int, Stored] = dict(_lines(path))
        self.count = max(self._found, default=-1) + 1

    def begin_at(self, count: int) -> bool:
        """Whoever has counted further than the log knows has lost it: all is found again, after that."""
        if count <= self.count:
            return False
        self._found.clear()
        self.count = count
        return True

    def find(self, folder: str) -> None:
        there = [stored for path in find_captures([folder]) if (stored := _look(path)) is not None]
        known = set(self._found.values())
        new = sorted((stored for stored in there if stored not in known), key=_age)
        if not new:
            return
        paths = {stored.path for stored in there}
        self._found = {number: each for number, each in self._found.items() if each.path in paths}
        self._found.update((self.count + number, stored) for number, stored in enumerate(new))
        self.count += len(new)
        text = "".join(json.dumps([number, *each]) + "\n" for number, each in sorted(self._found.items()))
        write_whole(self._path, text.encode())

    def between(self, start: int, end: int) -> list[Stored]:
        return [each for number, each in sorted(self._found.items()) if start <= number < end]


def _look(path: str) -> Stored | None:
    try:
        return look(path)
    except CaptureError:
        return None  # gone since it was listed


def _age(stored: Stored) -> tuple[int, str]:
    """Oldest first, as they were recorded: by name all of one feed would come before any of the other. Of
    those that a store holds only the names are known."""
    return int(stored.version) if stored.version.isdigit() else 0, stored.path


def _lines(path: Path) -> Iterator[tuple[int, Stored]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            number, *stored = json.loads(line)
            yield number, Stored(*stored)


# How a lake is streamed into, and what a batch has to say.


SECOND_NS: Final = 1_000_000_000
PIECE_PACKETS: Final = 256  # finer than a build's: a batch can only end where a piece begins


@dataclass(frozen=True, slots=True)
class StreamSettings:
    wait_ns: int = 60 * SECOND_NS  # of recorded time, for a stream that is silent
    derive_every_ns: int = 300 * SECOND_NS  # of wall time
    channels: frozenset[int] | None = None
    bars: tuple[int, ...] = USUAL_BARS
    map: ChannelMap | None = None
    scratch: str = ""
    piece_packets: int = PIECE_PACKETS
    derive: bool = True
    compact: bool = True
    join: int = 16  # so many neighbouring segments of a running day become one
    system: str = DEFAULT


@dataclass(slots=True)
class Latency:
    """From the packet to the row that everybody can read. `of_files`: the packets are of another time than
    now, so it is from the file's own time."""

    newest_ns: int
    p99_ns: int
    of_files: bool


@dataclass(slots=True)
class BatchReport:
    version: int  # of the lake
    files: int = 0
    units: list[UnitKey] = field(default_factory=list)
    finished: list[UnitKey] = field(default_factory=list)
    rebuilt: int = 0  # segments that were in the lake already
    counts: dict[str, int] = field(default_factory=dict)
    horizon_ns: int | None = None
    derived: bool = False
    compacted: int = 0  # files that became fewer
    seconds: float = 0.0
    latency: Latency | None = None
    left_out: list[LeftOut] = field(default_factory=list)
    postponed: bool = False  # days that begin with the books of one that is built now

    def add(self, later: "BatchReport") -> None:
        """What was done right after it."""
        self.version, self.postponed = later.version, later.postponed
        self.units += later.units
        self.finished += later.finished
        self.rebuilt += later.rebuilt
        self.compacted += later.compacted
        self.seconds += later.seconds
        self.derived |= later.derived
        self.horizon_ns = later.horizon_ns or self.horizon_ns
        self.latency = later.latency or self.latency
        for name, count in later.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
