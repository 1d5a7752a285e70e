"""A reader that opens the lake again and again while builds die: what it sees must be whole."""

import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from pregao.lake.errors import NoLakeError
from pregao.lake.lake import Lake
from pregao.lake.tables.catalogue import DATA_TABLES

Counts = dict[str, int]
NOTHING = "nothing"
_PAUSE_S = 0.15
_NOW_AND_THEN = 8  # looks


def counts_of(lake: Lake) -> Counts:
    """Rows of every table, counted in the files themselves."""
    return {name: lake.arrow(name, columns=["channel"]).num_rows for name in DATA_TABLES}


class Reader:
    """`states` are the whole lakes that may be seen, by name. Besides the newest version it reads one
    that it opened before, whose tables may meanwhile have been replaced."""

    def __init__(self, path: Path, states: dict[str, Counts]) -> None:
        self._path, self._states = path, states
        self._kept: tuple[Lake, str] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.reads: Counter[str] = Counter()
        self.versions: set[int] = set()
        self.wrong: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_PAUSE_S):
            try:
                self.look()
            except Exception as error:  # whatever a reader gets to see of a build is a failure
                self.wrong.append(f"a reader got {type(error).__name__}: {error}")

    def look(self) -> None:
        try:
            lake = Lake(self._path)
        except NoLakeError:
            self.reads[NOTHING] += 1
            return
        seen = self._name(lake)
        self.reads[seen] += 1
        self.versions.add(lake.version.number)
        if not lake.version.number:
            return  # a first build has begun to commit: there is no version to come back to
        if self._kept is None:
            self._kept = lake, seen
        elif (
            self.reads.total() % _NOW_AND_THEN == 0
            and self._name(self._kept[0].at(self._kept[0].version.number)) != self._kept[1]
        ):
            self.wrong.append(f"version {self._kept[0].version.number} is no longer {self._kept[1]}")

    def _name(self, lake: Lake) -> str:
        found = counts_of(lake)
        for name, counts in self._states.items():
            if found == counts:
                return name
        self.wrong.append(f"a reader saw a half build in lake version {lake.version.number}: {found}")
        return "half"
