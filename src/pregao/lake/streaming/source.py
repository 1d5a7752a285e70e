"""Finished captures of a folder, as a source of Structured Streaming: a row for each, as it was found.

An offset is how many captures have been found so far. Which they were is in a log beside the query's own
checkpoints, so that a batch that is run again has the same rows. A capture that is not what it was is
another one. Files that are still being written (`….part`) have no name that is looked at.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from pregao.io.files import write_whole
from pregao.lake.plan.fingerprints import find_captures
from pregao.lake.plan.stored import Stored, look
from pregao.model.errors import CaptureError

FORMAT: Final = "pregao_captures"
SCHEMA: Final = "path string, size bigint, version string"
LOG: Final = "captures.log"
_COUNT: Final = "captures"


class CaptureSource(DataSource):
    """Options: `folder` of the captures, `log` the file that names those found, `most` a batch."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        most = int(self.options.get("most", "0"))
        return CaptureReader(self.options["folder"], Path(self.options["log"]), most)


class CapturePartition(InputPartition):
    def __init__(self, files: list[Stored]) -> None:
        super().__init__(None)
        self.files = files


class CaptureReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
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
        return [CapturePartition(files)] if files else []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, CapturePartition)
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
