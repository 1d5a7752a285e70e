"""Compaction and vacuum of a lake by its path."""

from collections.abc import Callable, Sequence

from pregao.lake.errors import NoLakeError
from pregao.lake.lake import Lake
from pregao.lake.maintenance.compact import Compaction, compact
from pregao.lake.maintenance.vacuum import Vacuumed, vacuum
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table

Progress = Callable[[int, int], None]


def compact_lake(
    path: str, tables: Sequence[str] | None, target_bytes: int, progress: Progress
) -> Compaction:
    for name in tables or ():
        find_table(name)
    return compact(Lake(path), tables=tables, target_bytes=target_bytes, progress=progress)


def vacuum_lake(path: str, keep_ns: int, grace_ns: int, dry_run: bool, progress: Progress) -> Vacuumed:
    location = Location(path)
    if not Ledger(location).exists:
        raise NoLakeError(f"{location.uri}: there is no lake here")
    return vacuum(location, keep_ns=keep_ns, grace_ns=grace_ns, dry_run=dry_run, progress=progress)
