"""Small files of a partition become files of sensible size, sorted by instrument and time (`sorting`).

The rows stay the same. Each trade date is one lake commit: a lake of a year is never in memory as a whole,
and after a failure what is left to do is found again. Cutting and writing are tasks like any: of Spark where
there is much to do, of this process otherwise.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Final

from pregao.lake.errors import LakeError
from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.maintenance.sorting import TARGET_BYTES, SmallFiles, cut_group, write_sorted
from pregao.lake.runners import InlineRunner, Runner, described
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.livefile import LiveFile, key_of
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES, find_table
from pregao.lake.tables.ledger import COMMITS, INTENTS
from pregao.lake.tables.table import TRADE_DATE, UnitKey

FEWEST_FILES: Final = 2
HERE_BYTES: Final = 32 << 20  # less than this is done by whoever asks: a task of Spark would cost more
DERIVED: Final = "analytics"  # label of files that were computed from others
CROSSED: Final = "crossed"  # of those that compare systems
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Compaction:
    """What was done. `version` of the last commit; None: there was nothing to do."""

    version: int | None
    before: int
    after: int
    bytes_before: int
    bytes_after: int

    def followed_by(self, other: "Compaction") -> "Compaction":
        return Compaction(
            other.version, self.before + other.before, self.after + other.after,
            self.bytes_before + other.bytes_before, self.bytes_after + other.bytes_after,
        )  # fmt: skip


def compact(
    lake: Lake,
    *,
    tables: Iterable[str] | None = None,
    target_bytes: int = TARGET_BYTES,
    units: Collection[UnitKey] | None = None,
    progress: Progress = lambda done, total: None,
    committer: Committer | None = None,
    runner: Runner | None = None,
) -> Compaction:
    """`units`: only these, of whatever system. LakeConflictError, and nothing of that date changed, when a
    build replaces one of its partitions meanwhile. `runner`: who does it where it is much."""
    chosen = list(DATA_TABLES if tables is None else tables)
    days = lake.trade_dates(chosen) if units is None else {key.trade_date for key in units}
    done = Compaction(None, 0, 0, 0, 0)
    for day in sorted(days):
        wanted = None if units is None else [key for key in units if key.trade_date == day]
        groups = small_files(lake, chosen, target_bytes, day, wanted)
        if groups:
            adds = rewrite_all(groups, lake.location, runner, target_bytes, progress)
            done = done.followed_by(_replace(lake, groups, adds, committer))
            lake = lake.refresh()
    if units is None and done.version is not None:
        _summarise(lake.location, chosen)
    return done


def _summarise(location: Location, tables: Iterable[str]) -> None:
    """Entries of a compaction name all files that are gone: whoever opens the lake next need not read them.
    All is committed by now, so nothing is lost where a summary cannot be written."""
    for table in (*map(find_table, tables), COMMITS, INTENTS):
        with suppress(LakeError):
            log = DeltaLog(location, table)
            if log.entries:
                log.summarise()


def _replace(
    lake: Lake, groups: list[SmallFiles], adds: list[DataFile], committer: Committer | None
) -> Compaction:
    removes = tuple(file.data_file() for group in groups for file in group.files)
    label = Label("compact", data_change=False)
    committer = committer or Committer(lake.location)
    change = Change(tuple(adds), removes)
    version = committer.commit(change, label, base=lake.version.number, opened=lake.opened)
    return Compaction(
        version.number, len(removes), len(adds), sum(file.size for file in removes),
        sum(file.size for file in adds),
    )  # fmt: skip


def small_files(
    lake: Lake, tables: Iterable[str], target_bytes: int, day: date,
    units: Collection[UnitKey] | None = None,
) -> list[SmallFiles]:  # fmt: skip
    """Files of a trade date below half the wanted size, where a partition has several that would be fewer.
    Those that were computed from others stay apart: they are replaced by themselves."""
    found: list[SmallFiles] = []
    whole = lake.of(ALL_SYSTEMS)
    for name in tables:
        parts: dict[tuple[Any, ...], list[LiveFile]] = {}
        for file in whole.files(name, {TRADE_DATE: day}):
            if units is not None and key_of(file) not in units:
                continue
            if file.size < target_bytes // 2:
                kept = (each for each in (DERIVED, CROSSED) if f"/{each}-" in f"/{file.path}")
                label = next(kept, "compact")
                parts.setdefault((label, *file.partition.values()), []).append(file)
        for (label, *_), files in parts.items():
            group = SmallFiles(name, tuple(files), label)
            if len(files) >= FEWEST_FILES and len(files) > -(-group.bytes // target_bytes):
                found.append(group)
    return found


def rewrite_all(
    groups: list[SmallFiles], location: Location, runner: Runner | None = None,
    target_bytes: int = TARGET_BYTES, progress: Progress = lambda done, total: None,
) -> list[DataFile]:  # fmt: skip
    """A task for each group finds where it is cut, then one for each new file writes that."""
    if runner is None or sum(group.bytes for group in groups) < HERE_BYTES:
        runner = InlineRunner()
    with described(f"compact: cut {len(groups)} partitions"):
        cut = partial(cut_group, location=location, target_bytes=target_bytes)
        files = [file for each in runner.run(cut, groups, lambda *_: None) for file in each]
    # The longest first, for the last to end is what the others wait for.
    files.sort(key=lambda file: sum(part.rows for part in file.parts), reverse=True)
    with described(f"compact: write {len(files)} files"):
        return runner.run(partial(write_sorted, location=location), files, progress)
