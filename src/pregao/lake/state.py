"""What a lake has of one system, and the way to change it: shared by builds and streams.

    state = LakeState.recovered(location, "binary")     # what another left unfinished is finished first
    state.units                                         # what has been built, and from what
    state.commit("build", build_id, adds, removes, keys)

Everything is of one lake version; a commit fails when another has since changed the same units, or what this
one was made from.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from pregao.feeds.registry import DEFAULT, load_tabled_system
from pregao.io.clock import WallClock
from pregao.lake.errors import LakeDamagedError
from pregao.lake.lake import Lake
from pregao.lake.plan.fingerprints import CarriedBooks, Chain, Start
from pregao.lake.reading.arrow import read
from pregao.lake.store.committer import Committer
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.intent import Change, Label, Read
from pregao.lake.store.ledger import LakeVersion, Ledger
from pregao.lake.store.livefile import LiveFile, key_of
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import SOURCE, SYSTEM, TRADE_DATE, UnitKey

UnitRow = dict[str, Any]
KnownUnits = dict[str, UnitRow]  # rows of `units` by the file that they are in
UNIT_LABEL: Final = "unit"  # of the files with rows of `units`
_DAYS_BACK: Final = (7, 60, None)  # how far one looks for the day before


def _no_step(step: str) -> None:
    return


class LakeState:
    """One lake version, which may be that of a lake in which there is nothing yet. `system` as in
    `feeds.registry`; `after` is called after each step of a commit: tests die there."""

    def __init__(
        self, location: Location, version: LakeVersion, system: str = DEFAULT, *,
        after: Callable[[str], None] = _no_step, known: "KnownUnits | None" = None,
    ) -> None:  # fmt: skip
        self.location, self.version = location, version
        self.system = load_tabled_system(system).name  # as tables have it
        self._after = after
        self._reads: set[Read] = set()
        self._rows: dict[UnitKey, UnitRow | None] = {}
        self._known: KnownUnits = {} if known is None else known

    @classmethod
    def recovered(
        cls, location: Location, system: str = DEFAULT, *, after: Callable[[str], None] = _no_step,
        known: "KnownUnits | None" = None,
    ) -> "LakeState":  # fmt: skip
        """The newest version, after what a build left behind has been finished or abandoned."""
        version = LakeVersion(0)
        if Ledger(location).exists:
            version = Committer(location, after).recover()
        return cls(location, version, system, after=after, known=known)

    @cached_property
    def _lake(self) -> Lake | None:
        return Lake(self.location, as_of=self.version.number) if self.version.number else None

    # What is there

    def files(self, table: str, where: Mapping[str, Any] | None = None) -> list[LiveFile]:
        """Of the system; `where` says which, as for `Lake`."""
        if self._lake is None:
            return []
        return self._lake.files(table, {SYSTEM: self.system} | dict(where or {}))

    def files_of(self, keys: Iterable[UnitKey]) -> list[DataFile]:
        """All files of units, of every table."""
        return [file for files in self.files_by_unit(keys).values() for file in files]

    def files_by_unit(self, keys: Iterable[UnitKey]) -> dict[UnitKey, list[DataFile]]:
        """The same by unit: only the partitions in question are looked at."""
        found: dict[UnitKey, list[DataFile]] = {key: [] for key in keys}
        days, sources = sorted({key.trade_date for key in found}), sorted({key.source for key in found})
        if self._lake is not None and days:
            where = {SYSTEM: self.system, TRADE_DATE: days, SOURCE: sources}
            for table in DATA_TABLES:
                for file in self._lake.files(table, where):
                    if key_of(file) in found:
                        found[key_of(file)].append(file.data_file())
        return found

    def systems_of(self, day: date) -> set[str]:
        """Whose units of a date the lake has."""
        if self._lake is None:
            return set()
        where = {SYSTEM: self._lake.systems, TRADE_DATE: day}
        return {key_of(file).system for file in self._lake.files(UNITS.name, where)}

    def files_of_day(self, tables: Iterable[str], system: str, day: date) -> dict[str, list[LiveFile]]:
        """Of any system, by table."""
        where = {SYSTEM: system, TRADE_DATE: day}
        return {name: [] if self._lake is None else self._lake.files(name, where) for name in tables}

    @cached_property
    def keys(self) -> set[UnitKey]:
        """Units that have been built, by the log alone."""
        return {key_of(file) for file in self.files(UNITS.name)}

    def row(self, key: UnitKey) -> UnitRow | None:
        """Of one unit, as `units` has it."""
        if "units" in self.__dict__:
            return self.units.get(key)
        if key not in self._rows:
            found = self._read_units(self.files(UNITS.name, key.where))
            self._rows[key] = found[0] if found else None
        return self._rows[key]

    def before(self, key: UnitKey) -> UnitKey | None:
        """The unit of the nearest earlier date of its source: nearly always of the week before."""
        last = key.trade_date - timedelta(days=1)
        for days in _DAYS_BACK:
            first = None if days is None else key.trade_date - timedelta(days=days)
            where = {SOURCE: key.source, TRADE_DATE: (first, last)}
            found = [key_of(file) for file in self.files(UNITS.name, where)]
            if found:
                return max(found)
        return None

    def has(self, key: UnitKey) -> bool:
        """Whether it has been built, by the log alone."""
        return bool(self.files(UNITS.name, key.where))

    def begins(self, key: UnitKey, start: Start) -> CarriedBooks | None:
        """The books that a unit which starts there begins with; None: nothing is known of them."""
        before = self.before(key)
        row = None if before is None else self.row(before)
        carried = None if before is None or row is None else _ends(before, row)
        return carried if carried is not None and carried.runs_on_to(start) else None

    @cached_property
    def units(self) -> dict[UnitKey, UnitRow]:
        """A unit whose row cannot be read counts as not built: the next build of its captures repairs
        it."""
        return {UnitKey.of_row(row): row for row in self._read_units(self.files(UNITS.name))}

    def units_between(self, first: date, last: date, source: str | None = None) -> dict[UnitKey, UnitRow]:
        """Those of some trade dates, of all sources or of one."""
        where: dict[str, Any] = {TRADE_DATE: (first, last)}
        return self.rows_in(self.files(UNITS.name, where | ({} if source is None else {SOURCE: source})))

    def _read_units(self, files: Sequence[LiveFile]) -> list[UnitRow]:
        """Files never change, so those that were read before are not read again."""
        new = [file for file in files if file.path not in self._known]
        try:
            rows = read(self.location, UNITS, new, ()).to_pylist() if new else []
        except LakeDamagedError:
            rows = []
            for file in new:
                with suppress(LakeDamagedError):
                    rows += read(self.location, UNITS, [file], ()).to_pylist()
        by_unit = {UnitKey.of_row(row): row for row in rows}
        for file in new:
            if key_of(file) in by_unit:
                self._known[file.path] = by_unit[key_of(file)]
        return [dict(self._known[file.path]) for file in files if file.path in self._known]

    def unit_files(self, recent: timedelta | None = None) -> list[LiveFile]:
        """Files of `units`: all, or those of so many days up to the newest one of the lake."""
        newest = None if self._lake is None or recent is None else self._lake.greatest(UNITS.name, TRADE_DATE)
        where = None if newest is None or recent is None else {TRADE_DATE: (newest - recent, None)}
        return self.files(UNITS.name, where)

    def unit_files_of(self, key: UnitKey) -> list[LiveFile]:
        return self.files(UNITS.name, key.where)

    def rows_in(self, files: Sequence[LiveFile]) -> dict[UnitKey, UnitRow]:
        return {UnitKey.of_row(row): row for row in self._read_units(files)}

    def details(self, key: UnitKey) -> set[str]:
        """What findings of a unit say."""
        if self._lake is None:
            return set()
        rows = self._lake.arrow("quality", {**key.where, "finding": "DAMAGED_INPUT"}, columns=["detail"])
        return set(rows["detail"].to_pylist())

    def chain(self, rows: Mapping[UnitKey, UnitRow]) -> Chain:
        """What units end with."""
        return Chain.of({key: _ends(key, row) for key, row in rows.items()})

    def locate(self, carried: CarriedBooks) -> CarriedBooks:
        """With its files: those of a unit that is in the lake are known to the log."""
        if carried.files or self._lake is None:
            return carried
        where = {**carried.key.where, "ts_checkpoint": (carried.sent_ns, None)}
        files = self._lake.files("book_checkpoints", where)
        return replace(carried, files=tuple(file.data_file() for file in files))

    def symbols(self, key: UnitKey) -> dict[int, list[tuple[int, str]]]:
        """As the rows of a unit have them: since when each id has had which."""
        found: dict[int, list[tuple[int, str]]] = {}
        if self._lake is None:
            return found
        rows = self._lake.arrow("instruments", key.where, columns=["security_id", "symbol", "valid_from"])
        for row in rows.sort_by([("security_id", "ascending"), ("valid_from", "ascending")]).to_pylist():
            known = found.setdefault(row["security_id"], [])
            if not known or known[-1][1] != row["symbol"]:
                known.append((row["valid_from"], row["symbol"]))
        return found

    # The way to change it

    def depends_on(self, *reads: Read) -> None:
        """What the next commit is made from: it fails when another has changed that."""
        self._reads.update(reads)

    def depends_on_days(self, key: UnitKey, before: UnitKey | None) -> None:
        """A unit begins with the books of the one before it: there must be no nearer one."""
        first = date.min if before is None else before.trade_date
        self.depends_on(Read(UNITS.name, *key.feed, first, key.trade_date - timedelta(days=1)))

    def commit(
        self, operation: str, build_id: str, adds: Iterable[DataFile], removes: Iterable[DataFile],
        keys: Iterable[UnitKey], note: Mapping[str, Any] | None = None,
    ) -> LakeVersion:  # fmt: skip
        """Upon this version. `note` goes with the commit, beside which units it was of and when."""
        about = {
            "units": [list(key.partition.values()) for key in keys],
            "committed_ns": WallClock().now_ns(), **(note or {}),
        }  # fmt: skip
        change, label = Change(tuple(adds), tuple(removes)), Label(operation, build_id, about)
        committer = Committer(self.location, self._after)
        opened = None if self._lake is None else self._lake.opened
        return committer.commit(change, label, base=self.version.number, reads=self._reads, opened=opened)


def _ends(key: UnitKey, row: UnitRow) -> CarriedBooks | None:
    ends = json.loads(row["plan"] or "{}").get("ends")
    return None if ends is None else CarriedBooks(key, *ends)


def write_units(location: Location, rows: Iterable[UnitRow]) -> list[DataFile]:
    """A file for the row of each unit; `partition` of a row says which."""
    files = []
    for row in rows:
        partition = row.pop("partition")
        table = pa.Table.from_pylist([row], schema=UNITS.stored_schema)
        files.append(write_file(location, UNITS, partition, table, label=UNIT_LABEL))
    return files
