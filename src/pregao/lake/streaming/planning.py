"""Which units a batch concerns, and what it does to each of them."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial
from typing import Any, Final

from pregao.lake.plan.fingerprints import Chain, UnitInput, digest_of, fingerprint, from_json
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.stored import Stored
from pregao.lake.plan.unit_plan import UnitPlan, start_of
from pregao.lake.plan.units import NOWHERE, LakeUnit, find_units
from pregao.lake.state import KnownUnits, LakeState
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.streaming.source import StreamSettings
from pregao.lake.streaming.state import StreamState
from pregao.lake.streaming.steps import UnitStep, awaits_deriving, is_open, plan_step
from pregao.lake.tables.table import CHANNEL, UnitKey
from pregao.lake.unit_work import missing_inputs

# Units of the lake by day: which are done with, which stand beside each other, which files they need.


Rows = dict[UnitKey, dict[str, Any]]
_RECENT = timedelta(days=14)
_KEPT_ROWS = 1000  # of other days, that some batch asked for: the next one asks for the same
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
        if len(self.known) > len(live) + _KEPT_ROWS:
            for path in [path for path in self.known if path not in live]:
                del self.known[path]
        self._unfinished = {key for key, row in found.items() if is_open(row)}
        self._unfinished |= {UnitKey.of_row(row) for row in awaits_deriving(found.values())}
        self.old_inputs.update(file for key in settled(found) for file in inputs_of(found[key]))
        return found


def is_streamed(row: dict[str, Any]) -> bool:
    """Finished by a stream, not by a build."""
    return not is_open(row) and StreamState.of_plan(row["plan"]) is not None


_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A unit that is left as it is: captures have come for it, and others that its rows were made from are
    not there any more. Built from what there is, it would lose rows."""

    unit: LakeUnit
    late: tuple[str, ...]  # captures that are of no other unit
    reason: str

    @property
    def finding(self) -> dict[str, Any]:
        told = {"finding": "DAMAGED_INPUT", "severity": "ERROR", "count": len(self.late)}
        return {"place": NOWHERE, "ts_event": None, "detail": self.reason, **told}


class Planner:
    """One look at the lake and at the captures that are known."""

    def __init__(
        self, indexes: IndexCache, settings: StreamSettings, before: LakeState, rows: Rows
    ) -> None:  # fmt: skip
        """`rows` of units that may be concerned; more are read when captures are of others."""
        self._cache, self._settings, self._before = indexes, settings, before
        self._rows, self._sought = rows, set[UnitKey]()
        self._chain = Chain()
        self.postponed = False  # whether there are units that wait for the end of the day before
        self.quarantined: dict[UnitKey, Quarantined] = {}
        self._left: set[UnitKey] = set()  # those, and what nothing has come for

    def steps(self, *, finish: bool) -> list[UnitStep]:
        units, indexes = self._plan()
        self._chain = self._before.chain(self._rows)
        changing = [unit.key for unit in units if self._has_news(unit, indexes)]
        live, found = self._before.files_by_unit(changing), []
        for unit in units:
            key = unit.key
            if key in self._left:
                continue
            if self._chain.waits(key):
                self.postponed = True
                self._chain.expect([key])
                continue
            if not self._is_wanted(unit, units, indexes):
                continue
            planned = UnitPlan.of(unit, indexes)
            begins = self._chain.begins(key, planned.start)
            self._before.depends_on_days(key, self._chain.before(key))
            planned.begins = None if begins is None else self._before.locate(begins)
            self._chain.expect([key])
            if key not in live:
                live |= self._before.files_by_unit([key])
            step = plan_step(
                planned, indexes, self._rows.get(key), live[key],
                partial(self._before.symbols, key), wait_ns=self._settings.wait_ns,
                finish=finish or self._has_ended(unit, units),
            )  # fmt: skip
            if step is not None:
                found.append(step)
            elif key in self._rows and not is_open(self._rows[key]):
                self._chain.settle(key)
        return found

    def _plan(self) -> tuple[list[LakeUnit], list[FileIndex]]:
        """With all captures that the units which may change were made from, as far as they are there."""
        gone: dict[str, str] = {}
        while True:
            indexes = self._cache.all()
            units = [unit for unit in find_units(indexes) if self._is_chosen(unit.channel)]
            self._look_for(units)
            needed = [row for row in self._rows.values() if is_open(row) and self._is_chosen(row[CHANNEL])]
            for unit in units:
                if self._is_touched(unit, indexes):
                    needed += beside(unit.key, self._rows)
            known = self._cache.paths | gone.keys()
            missing = {file for row in needed for file in inputs_of(row) if file.path not in known}
            if not missing:
                self._quarantine(units, indexes)
                return units, indexes
            gone |= dict(self._cache.add(missing))

    def _look_for(self, units: Iterable[LakeUnit]) -> None:
        """Rows of units of other days than those that are known, and of the days beside them."""
        for key in (unit.key for unit in units):
            if key in self._sought:
                continue
            self._sought.add(key)
            if key not in self._rows:
                week = self._before.units_between(key.trade_date - _WEEK, key.trade_date + _WEEK, key.source)
                self._rows |= {other: row for other, row in week.items() if other not in self._rows}
            if any(other.feed == key.feed and other.trade_date < key.trade_date for other in self._rows):
                continue
            before = self._before.before(key)
            row = None if before is None else self._before.row(before)
            if before is not None and row is not None:
                self._rows[before] = row

    def _quarantine(self, units: list[LakeUnit], indexes: list[FileIndex]) -> None:
        """Units that would be replaced by ones of fewer captures."""
        shared = Counter(number for unit in units for number in unit.files)
        for unit in units:
            row = self._rows.get(unit.key)
            before = [] if row is None else from_json(row["inputs"])
            now = {number: UnitInput.of(indexes[number]) for number in sorted(unit.files)}
            lost = missing_inputs(before, list(now.values()))
            if not lost:
                continue
            self._left.add(unit.key)
            known = {each.content for each in before}
            late = [number for number, each in now.items() if each.content not in known]
            if not late and not is_open(self._rows[unit.key]):
                continue
            names = ", ".join(indexes[number].path for number in late) or "nothing new"
            reason = (
                f"{names}: left out, for {lost[0].path}"
                f"{f' and {len(lost) - 1} more' if len(lost) > 1 else ''}, which {unit.key} was made from,"
                " is not there any more"
            )
            only = tuple(indexes[number].path for number in late if shared[number] == 1)
            self.quarantined[unit.key] = Quarantined(unit, only, reason)

    def _is_chosen(self, channel: int) -> bool:
        return self._settings.channels is None or channel in self._settings.channels

    def _is_touched(self, unit: LakeUnit, indexes: list[FileIndex]) -> bool:
        """Whether it has other captures than its rows were made from."""
        row = self._rows.get(unit.key)
        now = [UnitInput.of(indexes[number]) for number in unit.files]
        return row is None or fingerprint(now) != fingerprint(from_json(row["inputs"]))

    def _has_news(self, unit: LakeUnit, indexes: list[FileIndex]) -> bool:
        return self._is_touched(unit, indexes) or is_open(self._rows[unit.key])

    def _is_wanted(self, unit: LakeUnit, units: Iterable[LakeUnit], indexes: list[FileIndex]) -> bool:
        """What has new captures or is not finished, or begins with other books than it was built upon; and
        the day before one that has just begun, for that is where its end is known from."""
        if self._has_news(unit, indexes):
            return True
        plan = json.loads(self._rows[unit.key]["plan"] or "{}")
        if plan.get("begins") != digest_of(self._chain.begins(unit.key, start_of(unit))):
            return True
        later = [other for other in units if _is_later(other, unit)]
        return bool(later) and later[0].key not in self._rows

    def _has_ended(self, unit: LakeUnit, units: Iterable[LakeUnit]) -> bool:
        """Long enough ago that none of its captures should be under way."""
        until_ns = unit.last_ns + self._settings.wait_ns
        return any(_is_later(other, unit) and other.last_ns >= until_ns for other in units)


def _is_later(other: LakeUnit, unit: LakeUnit) -> bool:
    return other.key.feed == unit.key.feed and other.trade_date > unit.trade_date
