"""Old lake versions are forgotten, and files that no version needs are deleted.

Two ages: lake versions older than `keep_ns` go (never the newest), and a file that nothing names must be
older than `grace_ns`, because a build that is still running writes its files before it commits them.

A table is listed by a task, and files are deleted by tasks, so many each: of Spark where that is asked for,
of this process otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from pregao.io.clock import WallClock
from pregao.lake.errors import LakeConflictError, LakeDamagedError
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.plan.fingerprints import from_json
from pregao.lake.plan.scanning import FOLDER as INDEXES
from pregao.lake.plan.scanning import capture_of, name_of_capture
from pregao.lake.plan.stored import Stored
from pregao.lake.reading.arrow import read
from pregao.lake.runners import InlineRunner, Runner, described
from pregao.lake.shared_parts import FOLDER as SHARED
from pregao.lake.store.checkpoints import LOG, needless_entries
from pregao.lake.store.deltalog import DeltaLog, FasterError
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.store.summaries import FOLDER as SUMMARIES
from pregao.lake.store.summaries import needless_summaries
from pregao.lake.tables.catalogue import DATA_TABLES, TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS, UNITS
from pregao.lake.tables.table import Table

# What a lake keeps beside its data files, and which of it nobody needs any more: entries of logs, and indexes
# of captures.
#
# No row is lost with any of it. A lake version that was forgotten needs no entries; an index that is gone
# costs a scan if its capture comes again.


Found = tuple[str, int]  # a path below the lake, and its size
_KNOWN: Final = {**TABLES, INTENTS.name: INTENTS}


def leftovers(location: Location, ledger: Ledger, old: set[int], before_ns: int) -> list[Found]:
    """Older than `before_ns`; `old` are the lake versions that are about to be forgotten."""
    return [*_entries(location, ledger, old, before_ns), *_indexes(location, before_ns)]


def _entries(location: Location, ledger: Ledger, old: set[int], before_ns: int) -> Iterator[Found]:
    """Entries, checkpoints and summaries of logs before those that the oldest kept version begins with."""
    oldest = {log.table.name: log.version for log in (ledger.commits, ledger.intents)}
    for version in ledger.versions():
        if version.number in old:
            continue
        for each in version.tables.values():
            oldest[each.name] = min(each.delta_version, oldest.get(each.name, each.delta_version))
    for name, version_of_log in oldest.items():
        if name in _KNOWN:
            both = (
                (LOG, needless_entries(location, name, version_of_log)),
                (f"{LOG}/{SUMMARIES}", needless_summaries(location, _KNOWN[name], version_of_log)),
            )
            for folder, files in both:
                yield from (
                    (f"{name}/{folder}/{file.path}", file.size)
                    for file in files
                    if file.modified_ns <= before_ns
                )


def _indexes(location: Location, before_ns: int) -> Iterator[Found]:
    """Of captures that no unit of the lake was made from."""
    there = [file for file in location.files(INDEXES) if file.modified_ns <= before_ns]
    if not there:
        return
    lake = Lake(location, system=ALL_SYSTEMS)
    rows = read(location, UNITS, lake.files(UNITS.name), (), ["inputs"]).column(0).to_pylist()
    inputs = (each for text in rows if text for each in from_json(text))
    needed = {name_of_capture(Stored(each.path, each.size, each.version)) for each in inputs}
    for file in there:
        if capture_of(file.path) not in needed:
            yield f"{INDEXES}/{file.path}", file.size


NS_PER_DAY: Final = 86_400 * 1_000_000_000
KEEP_NS: Final = 7 * NS_PER_DAY
GRACE_NS: Final = NS_PER_DAY
DELETED_AT_ONCE: Final = 1000  # files of a task; fewer are deleted by whoever asks
_ATTEMPTS: Final = 20
_LOG: Final = "_delta_log/"


@dataclass(frozen=True)
class Vacuumed:
    """What was deleted, or would be."""

    versions: tuple[int, ...]
    files: tuple[str, ...]  # below the lake
    bytes: int
    dry_run: bool


def vacuum(
    location: Location,
    *,
    keep_ns: int = KEEP_NS,
    grace_ns: int = GRACE_NS,
    dry_run: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    runner: Runner | None = None,
) -> Vacuumed:
    """`runner`: who lists and deletes where there are many files."""
    now_ns = WallClock().now_ns()
    # Listed before the logs are read: what is committed meanwhile is then known to the logs.
    candidates = _candidates(location, now_ns - grace_ns, runner)
    ledger = Ledger(location)
    old = _old_versions(ledger, now_ns - keep_ns)
    needed = _needed(location, ledger, set(old))
    unneeded = [(path, size) for path, size in candidates if path not in needed]
    unneeded += leftovers(location, ledger, set(old), now_ns - grace_ns)
    if not dry_run:
        _forget(location, old)
        _delete(location, [path for path, _ in unneeded], progress, runner)
    size = sum(size for _, size in unneeded)
    return Vacuumed(tuple(old), tuple(path for path, _ in unneeded), size, dry_run)


def _candidates(location: Location, before_ns: int, runner: Runner | None) -> list[tuple[str, int]]:
    names = [*DATA_TABLES, COMMITS.name, INTENTS.name, SHARED]
    with described(f"vacuum: list {len(names)} folders"):
        found = (runner or InlineRunner()).run(
            partial(old_files, location=location, before_ns=before_ns), names, lambda *_: None
        )
    return [each for folder in found for each in folder]


def old_files(folder: str, location: Location, before_ns: int) -> list[tuple[str, int]]:
    """Data files of one of our tables that are old enough, or what builds that died have left to share; never
    a log, never a folder that is not ours."""
    return [
        (f"{folder}/{file.path}", file.size)
        for file in location.files(folder)
        if file.modified_ns <= before_ns
        and (folder == SHARED or (file.path.endswith(".parquet") and not file.path.startswith(_LOG)))
    ]


def _delete(
    location: Location, paths: list[str], progress: Callable[[int, int], None], runner: Runner | None
) -> None:
    if runner is None or len(paths) <= DELETED_AT_ONCE:
        runner = InlineRunner()
    parts = [paths[at : at + DELETED_AT_ONCE] for at in range(0, len(paths), DELETED_AT_ONCE)]
    with described(f"vacuum: delete {len(paths)} files"):
        runner.run(partial(delete_files, location=location), parts, progress)


def delete_files(paths: list[str], location: Location) -> None:
    """One that is gone was deleted by an attempt of this task before."""
    for path in paths:
        if location.size(path) is not None:
            location.delete(path)


def _old_versions(ledger: Ledger, before_ns: int) -> list[int]:
    newest = ledger.version().number
    pending = set(ledger.pending)
    return [
        number
        for number in ledger.numbers
        if number < newest and number not in pending and ledger.committed_ns(number) < before_ns
    ]


def _needed(location: Location, ledger: Ledger, old: set[int]) -> set[str]:
    """All that a version to be kept, or an intent under way, names: what a table had in the oldest of them,
    and what was added since. So a log is read once, however many versions are kept."""
    needed: set[str] = set()
    spans: dict[str, tuple[int, int]] = {}
    for version in ledger.versions():
        if version.number in old:
            continue
        for table in version.tables.values():
            first, last = spans.get(table.name, (table.delta_version, table.delta_version))
            spans[table.name] = min(first, table.delta_version), max(last, table.delta_version)
    for name, (first, last) in spans.items():
        if name in DATA_TABLES:
            paths = DeltaLog(location, DATA_TABLES[name], first).paths_until(last)
            needed.update(f"{name}/{path}" for path in paths)
    for number in ledger.pending:
        try:
            intent = ledger.intent(number)
        except LakeDamagedError:
            continue  # cannot be rolled forward by anybody
        if intent is not None:
            needed.update(f"{file.table}/{file.path}" for file in intent.change.adds)
    for log in (ledger.commits, ledger.intents):
        for file in log.files:
            if file.partition["lake_version"] not in old:
                needed.add(f"{log.table.name}/{file.path}")
    return needed


def _forget(location: Location, old: list[int]) -> None:
    """Out of the logs first, so that nobody opens a version whose files are about to go. Intents before
    commits: an intent without its commit would look as if it were under way."""
    for table in (INTENTS, COMMITS):
        remove_versions(location, table, set(old))


def remove_versions(location: Location, table: Table, old: set[int]) -> None:
    for _ in range(_ATTEMPTS):
        log = DeltaLog(location, table)
        gone = [file.data_file() for file in log.files if file.partition["lake_version"] in old]
        if not gone:
            return
        try:
            log.commit([], gone, log.transaction, WallClock().now_ns())
        except FasterError:
            continue
        return
    raise LakeConflictError(f"{location.full(table.name)}: other builds keep committing; try again")
