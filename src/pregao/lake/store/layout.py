"""How the tables of a lake are laid out, and what to do with one of before.

Layout 1 partitioned tables by trade date and channel; layout 2 does it by system, trade date and source. The
partition columns of a Delta table cannot be altered, so such a lake is built again from its captures.
"""

import json
import posixpath
import shlex
from typing import Final

import pyarrow.parquet as pq

from pregao.lake.errors import LakeDamagedError, OldLakeError, named
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.location import Location
from pregao.lake.tables.ledger import LAYOUT, UNITS

_MOST_FOLDERS: Final = 8
_SOME_CAPTURES: Final = "CAPTURES"  # for the reader to fill in


def check_layout(location: Location, log: DeltaLog) -> None:
    """OldLakeError for a log of `commits` or `intents` that knows nothing of layouts."""
    if log.exists and LAYOUT not in log.columns:
        raise OldLakeError(
            f"{location.uri}: this lake was built by an older pregao, whose tables are partitioned in another"
            f" way; build it again beside this one: {rebuild_command(location)}"
        )


def rebuild_command(location: Location) -> str:
    """With the captures that the lake was built from, where it can still say so."""
    try:
        captures = [shlex.quote(folder) for folder in _capture_folders(location)]
    except (LakeDamagedError, ValueError, KeyError, TypeError):
        captures = []
    if not 0 < len(captures) <= _MOST_FOLDERS:
        captures = [_SOME_CAPTURES]
    return f"pregao build {' '.join(captures)} --lake {shlex.quote(f'{location.uri}-2')}"


def _capture_folders(location: Location) -> list[str]:
    """Folders of the captures of all units."""
    found: set[str] = set()
    for path in DeltaLog(location, UNITS).paths:
        name = location.full(UNITS.name, path)
        with named(name), location.filesystem.open_input_file(location.path(UNITS.name, path)) as source:
            rows = pq.ParquetFile(source).read(columns=["inputs"]).column(0).to_pylist()
        found |= {posixpath.dirname(each["path"]) for row in rows for each in json.loads(row)}
    return sorted(found)
