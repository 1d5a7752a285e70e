"""Step 2 of a lake commit: one table from the state it had in the base version to the one wanted."""

from typing import Final

from pregao.lake.errors import LakeConflictError
from pregao.lake.store.deltalog import DeltaLog, FasterError, ready_log
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Intent
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table

_ATTEMPTS: Final = 20


def live_files(location: Location, table: str, delta_version: int) -> dict[str, LiveFile]:
    if delta_version < 0:
        return {}
    return {file.path: file for file in DeltaLog(location, find_table(table), delta_version).files}


def commit_table(location: Location, name: str, intent: Intent, base_version: int, now_ns: int) -> int:
    """The table version that belongs to the intent: made now, or already there."""
    for _ in range(_ATTEMPTS):
        log = ready_log(location, find_table(name))
        if log.transaction >= intent.number:
            return log.version_of(intent.number)
        adds, removes = _actions(location, log, intent, base_version)
        try:
            return log.commit(adds, removes, intent.number, now_ns, data_change=intent.label.data_change)
        except FasterError:
            continue  # the same intent by somebody else, or somebody foreign: look again
    raise LakeConflictError(f"{location.full(name)}: somebody else keeps writing to this table")


def _actions(
    location: Location, log: DeltaLog, intent: Intent, base_version: int
) -> tuple[list[DataFile], list[DataFile]]:
    """Additions and removals that lead from what the table holds now to what is wanted. The two differ
    from the intent's own only where an abandoned build left something in the table."""
    mine = intent.change.of(log.table.name)
    if log.version == base_version:
        return list(mine.adds), list(mine.removes)
    _refuse_foreign(location, log, base_version)
    base = live_files(location, log.table.name, base_version)
    now = {file.path: file.data_file() for file in log.files}
    wanted = {path: file.data_file() for path, file in base.items()}
    for file in mine.removes:
        wanted.pop(file.path, None)
    wanted.update((file.path, file) for file in mine.adds)
    adds = [file for path, file in wanted.items() if path not in now]
    removes = [file for path, file in now.items() if path not in wanted]
    return adds, removes


def _refuse_foreign(location: Location, log: DeltaLog, base_version: int) -> None:
    """A table that somebody else writes to is no longer ours to replace."""
    for version in range(base_version + 1, log.version + 1):
        if log.mark(version) is None:
            raise LakeConflictError(
                f"{location.full(log.table.name)}: version {version} of this table was not written by pregao;"
                " restore the table or move it away"
            )
