"""Which units a batch concerns, and what it does to each of them."""

import json
from collections.abc import Iterable
from functools import partial

from pregao.lake.errors import LakeError
from pregao.lake.plan.carried import digest_of
from pregao.lake.plan.fingerprints import Input, fingerprint, from_json
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.units import Unit, find_units
from pregao.lake.planned import Planned, start_of
from pregao.lake.state import LakeState
from pregao.lake.store.files import DataFile
from pregao.lake.store.livefile import key_of
from pregao.lake.streaming.days import Rows, beside, inputs_of
from pregao.lake.streaming.indexes import IndexCache
from pregao.lake.streaming.settings import StreamSettings
from pregao.lake.streaming.steps import Step, plan_step
from pregao.lake.streaming.writing import is_open
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.lake.tables.table import CHANNEL, UnitKey


class Planner:
    """One look at the lake and at the captures that are known."""

    def __init__(self, indexes: IndexCache, settings: StreamSettings, before: LakeState) -> None:
        self._cache, self._settings, self._before = indexes, settings, before
        self._rows: Rows = before.units
        self._chain = before.chain()
        self.postponed = False  # whether there are units that wait for the end of the day before

    def steps(self, *, finish: bool) -> list[Step]:
        units, indexes = self._plan()
        live = self._live()
        found = []
        for unit in units:
            key = unit.key
            if self._chain.waits(key):
                self.postponed = True
                self._chain.expect([key])
                continue
            if not self._is_wanted(unit, units, indexes):
                continue
            planned = Planned.of(unit, indexes)
            begins = self._chain.begins(key, planned.start)
            self._before.depends_on_days(key, self._chain.before(key))
            planned.begins = None if begins is None else self._before.locate(begins)
            self._chain.expect([key])
            step = plan_step(
                planned, indexes, self._rows.get(key), live.get(key, []),
                partial(self._before.symbols, key), wait_ns=self._settings.wait_ns,
                finish=finish or self._has_ended(unit, units),
            )  # fmt: skip
            if step is not None:
                found.append(step)
            elif key in self._rows and not is_open(self._rows[key]):
                self._chain.settle(key)
        return found

    def _plan(self) -> tuple[list[Unit], list[FileIndex]]:
        """With all captures that the units which may change were made from."""
        while True:
            indexes = self._cache.all()
            units = [unit for unit in find_units(indexes) if self._is_chosen(unit.channel)]
            needed = [row for row in self._rows.values() if is_open(row) and self._is_chosen(row[CHANNEL])]
            for unit in units:
                if self._is_touched(unit, indexes):
                    needed += beside(unit.key, self._rows)
            known = self._cache.paths
            missing = {file for row in needed for file in inputs_of(row) if file.path not in known}
            if not missing:
                return units, indexes
            for path, reason in self._cache.add(missing):
                raise LakeError(f"rows of the lake were made from {path}, which is needed again: {reason}")

    def _live(self) -> dict[UnitKey, list[DataFile]]:
        found: dict[UnitKey, list[DataFile]] = {}
        for table in DATA_TABLES:
            for file in self._before.files(table):
                found.setdefault(key_of(file), []).append(file.data_file())
        return found

    def _is_chosen(self, channel: int) -> bool:
        return self._settings.channels is None or channel in self._settings.channels

    def _is_touched(self, unit: Unit, indexes: list[FileIndex]) -> bool:
        """Whether it has other captures than its rows were made from."""
        row = self._rows.get(unit.key)
        now = [Input.of(indexes[number]) for number in unit.files]
        return row is None or fingerprint(now) != fingerprint(from_json(row["inputs"]))

    def _is_wanted(self, unit: Unit, units: Iterable[Unit], indexes: list[FileIndex]) -> bool:
        """What has new captures or is not finished, or begins with other books than it was built upon; and
        the day before one that has just begun, for that is where its end is known from."""
        if self._is_touched(unit, indexes) or is_open(self._rows[unit.key]):
            return True
        plan = json.loads(self._rows[unit.key]["plan"] or "{}")
        if plan.get("begins") != digest_of(self._chain.begins(unit.key, start_of(unit))):
            return True
        later = [other for other in units if _is_later(other, unit)]
        return bool(later) and later[0].key not in self._rows

    def _has_ended(self, unit: Unit, units: Iterable[Unit]) -> bool:
        """Long enough ago that none of its captures should be under way."""
        until_ns = unit.last_ns + self._settings.wait_ns
        return any(_is_later(other, unit) and other.last_ns >= until_ns for other in units)


def _is_later(other: Unit, unit: Unit) -> bool:
    return other.key.feed == unit.key.feed and other.trade_date > unit.trade_date
