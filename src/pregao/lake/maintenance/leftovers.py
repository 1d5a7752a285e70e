"""What a lake keeps beside its data files, and which of it nobody needs any more: entries of logs, and
indexes of captures.

No row is lost with any of it. A lake version that was forgotten needs no entries; an index that is gone costs
a scan if its capture comes again.
"""

from collections.abc import Iterator

from pregao.lake.lake import ALL_SYSTEMS, Lake
from pregao.lake.plan.fingerprints import from_json
from pregao.lake.plan.scanning import FOLDER as INDEXES
from pregao.lake.plan.scanning import capture_of, name_of_capture
from pregao.lake.plan.stored import Stored
from pregao.lake.reading.arrow import read
from pregao.lake.store.checkpoints import LOG, needless_entries
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS, UNITS

Found = tuple[str, int]  # a path below the lake, and its size


def leftovers(location: Location, ledger: Ledger, old: set[int], before_ns: int) -> list[Found]:
    """Older than `before_ns`; `old` are the lake versions that are about to be forgotten."""
    return [*_entries(location, ledger, old, before_ns), *_indexes(location, before_ns)]


def _entries(location: Location, ledger: Ledger, old: set[int], before_ns: int) -> Iterator[Found]:
    """Entries and checkpoints of logs before the checkpoint that the oldest kept version begins with."""
    oldest = {log.table.name: log.version for log in (ledger.commits, ledger.intents)}
    for version in ledger.versions():
        if version.number in old:
            continue
        for each in version.tables.values():
            oldest[each.name] = min(each.delta_version, oldest.get(each.name, each.delta_version))
    for name, version_of_log in oldest.items():
        if name in DATA_TABLES or name in (COMMITS.name, INTENTS.name):
            for file in needless_entries(location, name, version_of_log):
                if file.modified_ns <= before_ns:
                    yield f"{name}/{LOG}/{file.path}", file.size


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
