"""Old lake versions are forgotten, and files that no version needs are deleted.

Two ages: lake versions older than `keep_ns` go (never the newest), and a file that nothing names must be
older than `grace_ns`, because a build that is still running writes its files before it commits them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pregao.io.clock import WallClock
from pregao.lake.errors import LakeConflictError, LakeDamagedError
from pregao.lake.shared_parts import FOLDER as SHARED
from pregao.lake.store.deltalog import DeltaLog, FasterError
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS
from pregao.lake.tables.table import Table

NS_PER_DAY: Final = 86_400 * 1_000_000_000
KEEP_NS: Final = 7 * NS_PER_DAY
GRACE_NS: Final = NS_PER_DAY
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
) -> Vacuumed:
    now_ns = WallClock().now_ns()
    # Listed before the logs are read: what is committed meanwhile is then known to the logs.
    candidates = _candidates(location, now_ns - grace_ns)
    ledger = Ledger(location)
    old = _old_versions(ledger, now_ns - keep_ns)
    needed = _needed(location, ledger, set(old))
    unneeded = [(path, size) for path, size in candidates if path not in needed]
    if not dry_run:
        _forget(location, old)
        for done, (path, _) in enumerate(unneeded):
            progress(done, len(unneeded))
            location.delete(path)
    size = sum(size for _, size in unneeded)
    return Vacuumed(tuple(old), tuple(path for path, _ in unneeded), size, dry_run)


def _candidates(location: Location, before_ns: int) -> list[tuple[str, int]]:
    """Data files of our tables that are old enough; never a log, never a folder that is not ours."""
    return [
        (f"{name}/{file.path}", file.size)
        for name in (*DATA_TABLES, COMMITS.name, INTENTS.name)
        for file in location.files(name)
        if not file.path.startswith(_LOG) and file.path.endswith(".parquet") and file.modified_ns <= before_ns
    ] + [
        (f"{SHARED}/{file.path}", file.size)  # of a build that died
        for file in location.files(SHARED)
        if file.modified_ns <= before_ns
    ]


def _old_versions(ledger: Ledger, before_ns: int) -> list[int]:
    newest = ledger.version().number
    pending = set(ledger.pending)
    return [
        number
        for number in ledger.numbers
        if number < newest and number not in pending and ledger.committed_ns(number) < before_ns
    ]


def _needed(location: Location, ledger: Ledger, old: set[int]) -> set[str]:
    """All that a version to be kept, or an intent under way, names."""
    needed: set[str] = set()
    seen: set[tuple[str, int]] = set()
    for version in ledger.versions():
        if version.number in old:
            continue
        for table in version.tables.values():
            key = table.name, table.delta_version
            if key not in seen and table.name in DATA_TABLES:
                seen.add(key)
                log = DeltaLog(location, DATA_TABLES[table.name], table.delta_version)
                needed.update(f"{table.name}/{file.path}" for file in log.files)
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
