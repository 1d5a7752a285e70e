"""The commit over all tables: all of a build is seen, or nothing of it.

Delta's commits are atomic for one table only. So a lake version goes through these steps, and a process
may die between any two of them:

    1  the intent is written and claims the next number in the log of `intents`
    2  each table of the intent is committed, under the number as application transaction
    3  a row per table is entered in `commits`: from now on the version is seen
    4  logs that have got long get a summary

Whoever wants to commit first finishes what is pending: forward if the intent can be read and its files
are there, otherwise it is abandoned, and what it did to tables is undone by the next commit to them.
Every step can be done twice, or by two at once, with the same result; so nobody needs a lock, and
nobody needs to know whether the other is dead or slow. Readers only ever look at `commits`.
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from pregao.io.clock import WallClock
from pregao.lake.errors import (
    FileMissingError,
    LakeConflictError,
    LakeError,
    NotWholeError,
    StaleReadError,
    WrongIntentError,
)
from pregao.lake.store.deltalog import DeltaLog, FasterError, make_logs, ready_log
from pregao.lake.store.intent import Change, Intent, Label, Read, commit_table, write_intent
from pregao.lake.store.ledger import ABANDONED, LakeVersion, Ledger, TableVersion, write_version
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.lake.tables.ledger import COMMITS, INTENTS
from pregao.lake.tables.table import Table, UnitKey

ATTEMPTS: Final = 20
OpenedLogs = Mapping[tuple[str, int], DeltaLog]  # by table and version of its log
Step = Callable[[str], None]


def _no_step(_: str) -> None:
    return


class Committer:
    """`after` is called after each step with its name: tests die there."""

    def __init__(self, location: Location, after: Step = _no_step) -> None:
        self._location, self._after = location, after
        self._clock = WallClock()
        self._long: list[Table] = []  # logs that are to get a summary

    def commit(
        self, change: Change, label: Label, *, base: int | None = None, reads: Collection[Read] = (),
        opened: OpenedLogs | None = None,
    ) -> LakeVersion:  # fmt: skip
        """Commit what was planned on lake version `base` (None: the newest), from what was read of it.

        LakeConflictError when another commit since then touched one of the same partitions, StaleReadError
        when it changed what was read; others are no obstacle. WrongIntentError when the change cannot be
        made at all. `opened`: logs that the caller has read already."""
        for _ in range(ATTEMPTS):
            ledger = self._without_pending()
            newest = ledger.version()
            base = newest.number if base is None else base  # from now on others must not interfere
            self._check_since(ledger, base, change, reads)
            self._check_change(newest, change, opened or {})
            intent = Intent(ledger.last_number + 1, newest.number, change, label, self._clock.now_ns())
            if self._claim(intent):
                return self._roll_forward(intent, newest)
        raise LakeConflictError(f"{self._location.uri}: other builds were faster {ATTEMPTS} times in a row")

    def recover(self) -> LakeVersion:
        """Finish or abandon what a build left behind; the newest lake version then."""
        return self._without_pending().version()

    def _without_pending(self) -> Ledger:
        for _ in range(ATTEMPTS):
            ledger = Ledger(self._location)
            if not ledger.pending:
                return ledger
            self._finish(ledger, ledger.pending[0])
        raise LakeConflictError(f"{self._location.uri}: other builds keep committing")

    def _finish(self, ledger: Ledger, number: int) -> None:
        """A pending intent: forward, or never. Never only where something it needs is gone for good: an
        answer that did not come is no reason, whoever claimed the number may be alive."""
        try:
            intent = ledger.intent(number)
            assert intent is not None
            self._check_files(intent.change)
        except (FileMissingError, NotWholeError, WrongIntentError) as error:
            self._abandon(number, str(error))
            return
        base = ledger.version(intent.base) if intent.base else LakeVersion(0)
        self._roll_forward(intent, base)

    def _check_since(self, ledger: Ledger, base: int, change: Change, reads: Collection[Read]) -> None:
        """Optimistic: what we planned on must not have been changed since."""
        for number in ledger.since(base):
            other = ledger.intent(number)
            common = change.keys if other is None else change.keys & other.change.keys
            if common:
                table, partition = sorted(common, key=str)[0]
                where = " ".join(f"{name}={value}" for name, value in partition)
                raise LakeConflictError(
                    f"{self._location.uri}: another build (lake version {number}) has changed table {table}"
                    f" {where} since version {base}; nothing of this build was committed, run it again"
                )
            if other is not None and other.label.data_change:
                self._check_reads(number, other.change, reads)

    def _check_reads(self, number: int, other: Change, reads: Collection[Read]) -> None:
        for file in (*other.adds, *other.removes):
            if any(read.covers(file) for read in reads):
                raise StaleReadError(
                    f"{self._location.uri}: another build (lake version {number}) has changed {file.table}"
                    f" {UnitKey.of_partition(file.partition)}, which this one was made from; nothing of it"
                    " was committed, run it again"
                )

    def _check_change(self, newest: LakeVersion, change: Change, opened: OpenedLogs) -> None:
        self._check_files(change)
        for table in change.tables:
            mine, number = change.of(table), newest.delta_version(table)
            live: set[str] = set()
            if number >= 0:
                log = opened.get((table, number)) or DeltaLog(self._location, find_table(table), number)
                live = log.paths_of((*mine.adds, *mine.removes))
            for file in mine.removes:
                if file.path not in live:
                    raise WrongIntentError(f"{table}/{file.path} is to be removed but is not in the lake")
            for file in mine.adds:
                if file.path in live:
                    raise WrongIntentError(f"{table}/{file.path} is to be added but is already there")

    def _check_files(self, change: Change) -> None:
        sizes = self._location.sizes([f"{file.table}/{file.path}" for file in change.adds])
        for file, size in zip(change.adds, sizes, strict=True):
            if size != file.size:
                found = "is missing" if size is None else f"has {size} bytes"
                raise WrongIntentError(f"{file.table}/{file.path} {found} and should have {file.size}")

    def _claim(self, intent: Intent) -> bool:
        """Whether the number is ours."""
        log = ready_log(self._location, INTENTS)
        if log.transaction >= intent.number:
            return False
        file = write_intent(self._location, intent)
        self._after("intent written")
        try:
            log.commit([file], [], intent.number, intent.claimed_ns)
            self._grown(INTENTS, log.is_long)
        except FasterError:
            if not log.was_won_by(file):
                self._forget(INTENTS.name, file.path)
                return False
        self._after("intent stored")
        return True

    def _roll_forward(self, intent: Intent, base: LakeVersion) -> LakeVersion:
        tables = dict(base.tables)
        make_logs(self._location, [find_table(name) for name in intent.change.tables if name not in tables])
        for name in intent.change.tables:
            now_ns = self._clock.now_ns()
            made = commit_table(self._location, name, intent, base.delta_version(name), now_ns)
            self._grown(find_table(name), made.is_long)
            tables[name] = _after_change(base.tables.get(name), intent.change.of(name), made.version)
            self._after(f"table {name}")
        unchanged = set(tables) - set(intent.change.tables)
        for name in unchanged:
            old = tables[name]
            tables[name] = TableVersion(name, old.delta_version, False, old.files, old.rows, old.bytes)
        note = json.dumps(dict(intent.label.note))
        self._enter(intent.number, list(tables.values()), intent.label, note)
        self._write_summaries()
        return Ledger(self._location).version(intent.number)

    def _grown(self, table: Table, is_long: bool) -> None:
        if is_long:
            self._long.append(table)

    def _write_summaries(self) -> None:
        """Of logs that have got long. All is committed by now, so nothing is lost where one cannot be
        written: the next commit tries again."""
        long, self._long = self._long, []
        for table in long:
            with suppress(LakeError):
                DeltaLog(self._location, table).summarise()
                self._after(f"summary {table.name}")

    def _abandon(self, number: int, reason: str) -> None:
        self._enter(number, [], Label(ABANDONED), json.dumps({"reason": reason}))

    def _enter(self, number: int, tables: list[TableVersion], label: Label, note: str) -> None:
        """The last step. Whoever was faster has entered the same."""
        for _ in range(ATTEMPTS):
            log = ready_log(self._location, COMMITS)
            if log.transaction >= number:
                return
            now_ns = self._clock.now_ns()
            file = write_version(self._location, number, tables, label, note, now_ns)
            self._after("version written")
            try:
                log.commit([file], [], number, now_ns)
                self._grown(COMMITS, log.is_long)
            except FasterError:
                if not log.was_won_by(file):
                    self._forget(COMMITS.name, file.path)
                    continue
            self._after("version entered")
            return
        raise LakeConflictError(f"{self._location.uri}: other builds were faster {ATTEMPTS} times in a row")

    def _forget(self, *path: str) -> None:
        try:
            self._location.delete(*path)
        except LakeError:
            return  # vacuum finds it


def _after_change(before: TableVersion | None, change: Change, version: int) -> TableVersion:
    """What a table then holds: a log of many files is not listed again to count them."""
    added, gone = change.adds, change.removes
    old = (0, 0, 0) if before is None else (before.files, before.rows, before.bytes)
    name = (added or gone)[0].table
    return TableVersion(
        name, version, True, old[0] + len(added) - len(gone),
        old[1] + sum(file.rows for file in added) - sum(file.rows for file in gone),
        old[2] + sum(file.size for file in added) - sum(file.size for file in gone),
    )  # fmt: skip
