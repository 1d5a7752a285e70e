"""Units of the lake by day: which are done with, which stand beside each other, which files they need."""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from pregao.lake.plan.fingerprints import from_json
from pregao.lake.plan.stored import Stored
from pregao.lake.state import KnownUnits, LakeState
from pregao.lake.streaming.state import StreamState
from pregao.lake.streaming.steps import awaits_deriving, is_open
from pregao.lake.tables.table import UnitKey

Rows = dict[UnitKey, dict[str, Any]]
_RECENT = timedelta(days=14)
_KEPT_INPUTS = 1 << 14  # units: each batch asks for those of all
_KEPT_DAYS = 2  # of each source: where a day ends depends on the next one


def inputs_of(row: dict[str, Any]) -> list[Stored]:
    return list(_inputs(row["inputs"]))


@lru_cache(maxsize=_KEPT_INPUTS)
def _inputs(text: str) -> tuple[Stored, ...]:
    return tuple(Stored(each.path, each.size, each.version) for each in from_json(text))


def settled(rows: Rows) -> list[UnitKey]:
    """Finished, and so old that nothing of today concerns them."""
    days: dict[tuple[str, str], list[UnitKey]] = {}
    for key in sorted(rows):
        days.setdefault(key.feed, []).append(key)
    return [key for key, row in rows.items() if key not in days[key.feed][-_KEPT_DAYS:] and not is_open(row)]


def over_days(keys: Iterable[UnitKey]) -> set[UnitKey]:
    """Those of whose source a later day has begun."""
    newest: dict[tuple[str, str], date] = {}
    every = list(keys)
    for key in every:
        newest[key.feed] = max(key.trade_date, newest.get(key.feed, key.trade_date))
    return {key for key in every if key.trade_date < newest[key.feed]}


def beside(key: UnitKey, rows: Rows) -> list[dict[str, Any]]:
    """The unit's own row, and those of the days before and after it."""
    days = sorted({other for other in rows if other.feed == key.feed} | {key})
    at = days.index(key)
    return [rows[other] for other in days[max(at - 1, 0) : at + 2] if other in rows]


class RecentUnits:
    """Rows of the units that a batch may concern: of the last days, and of those before them that are not
    finished. All units are looked at once, when a stream starts; after that what a batch reads does not grow
    with the lake. Of captures that come late for other days the planner asks for more."""

    def __init__(self) -> None:
        self.known: KnownUnits = {}
        self.old_inputs: set[Stored] = set()  # captures of days that are settled
        self._unfinished: set[UnitKey] | None = None  # None: nobody has looked yet

    def rows(self, state: LakeState) -> Rows:
        files = state.unit_files(None if self._unfinished is None else _RECENT)
        there = {file.path for file in files}
        for key in sorted(self._unfinished or ()):
            files += [file for file in state.unit_files_of(key) if file.path not in there]
        found = state.rows_in(files)
        live = {file.path for file in files}
        for path in [path for path in self.known if path not in live]:
            del self.known[path]
        self._unfinished = {key for key, row in found.items() if is_open(row)}
        self._unfinished |= {UnitKey.of_row(row) for row in awaits_deriving(found.values())}
        self.old_inputs.update(file for key in settled(found) for file in inputs_of(found[key]))
        return found


def is_streamed(row: dict[str, Any]) -> bool:
    """Finished by a stream, not by a build."""
    return not is_open(row) and StreamState.of_plan(row["plan"]) is not None
