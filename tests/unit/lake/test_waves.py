"""Which slices can be built when: only the first of a unit waits, for the last of the unit before it."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from pregao.lake.plan.carried import Carried, Chain, together
from pregao.lake.plan.index import RUN
from pregao.lake.plan.slicing import FROM_FIRST, TO_LAST, Slice
from pregao.lake.plan.units import Unit
from pregao.lake.planned import Planned
from pregao.lake.tables.table import UnitKey
from pregao.lake.tasks.run import SliceDone
from pregao.lake.waves import Ready, UnitWork, Waves
from pregao.model.streams import Feed
from tests.kits.lake_rows import unit_key

MONDAY, TUESDAY, WEDNESDAY = (date(2026, 11, day) for day in (16, 17, 18))
DAYS = (MONDAY, TUESDAY, WEDNESDAY)
PACKETS = 100  # of each day
REPORTS = 1000  # so many could be proven after a few packets


def _unit(day: date, version: int = 1) -> Unit:
    runs = np.zeros(1, RUN)
    first = DAYS.index(day) * PACKETS + 1
    runs["first"], runs["last"] = first, first + PACKETS - 1
    return Unit(84, day, versions=[version], runs={Feed.A: runs})


def _slices(unit: Unit, count: int) -> list[Slice]:
    return [
        Slice(
            84, unit.trade_date.isoformat(), number, number if number else FROM_FIRST,
            TO_LAST if number == count - 1 else number + 1, FROM_FIRST, unit.versions, {}, [], None,
            number == count - 1,
        )
        for number in range(count)
    ]  # fmt: skip


def _ends(day: date, digest: str = "as it was") -> Carried:
    return Carried(unit_key(day, 84), 1, (DAYS.index(day) + 1) * PACKETS, 0, REPORTS, digest)


class Lake:
    """Days of a lake by the digest that they were built upon; what is built now is cut into `slices`."""

    def __init__(self, slices: int, **built_upon: str | None) -> None:
        self.slices, self.shards = slices, False
        self.rows = {name: self._row(name, upon) for name, upon in built_upon.items()}
        self.chain = Chain.of({unit_key(_day(name), 84): _ends(_day(name)) for name in built_upon})
        self.cut: dict[UnitKey, bool] = {}

    @staticmethod
    def _row(name: str, upon: str | None) -> dict[str, Any]:
        told = "null" if upon is None else f'"{upon}"'
        return {"fingerprint": f"{upon}", "plan": f'{{"begins": {told}}}'}

    def waves(self, *days: date, version: int = 1, changed: tuple[date, ...] = ()) -> Waves:
        works = []
        for day in days:
            row = None if day in changed else self.rows.get(f"{day:%A}".lower())
            works.append(UnitWork(_unit(day, version if day == TUESDAY else 1), [], row))
        return Waves(
            works, self.chain, fingerprint=lambda _, begins: f"{begins}", cut=self._cut,
            locate=lambda carried: carried, rebuild=False,
        )  # fmt: skip

    def _cut(self, unit: Unit, waits: bool) -> tuple[Planned, list[Slice]]:
        self.cut[unit.key] = waits
        made = _slices(unit, 1 if self.shards else self.slices)
        if self.shards:
            made = [replace(made[0], shard=shard, shards=self.slices) for shard in range(self.slices)]
        return Planned(unit, [], [], {}, [], []), made


def _day(name: str) -> date:
    return {f"{day:%A}".lower(): day for day in DAYS}[name]


def _run(waves: Waves, digest: str = "as it was") -> list[list[tuple[date, int]]]:
    """Waves until nothing is left, each as its slices; all units end with that digest."""
    found = []
    while ready := waves.next():
        found.append(sorted((work.key.trade_date, number) for work, number in ready))
        waves.take(ready, [_done(each, digest) for each in ready])
    return found


def _done(ready: Ready, digest: str) -> SliceDone:
    work, number = ready
    return SliceDone(ends=_ends(work.key.trade_date, digest) if work.slices[number].is_last else None)


def _begun(waves: Waves) -> dict[date, str | None]:
    return {
        work.key.trade_date: work.slices[0].begins.digest if work.slices[0].begins else None
        for work in waves.built
    }


def test_one_small_slice_of_each_day_waits() -> None:
    lake = Lake(3)
    waves = lake.waves(*DAYS)
    others = [(day, number) for day in DAYS for number in (1, 2)]
    assert _run(waves) == [sorted([(MONDAY, 0), *others]), [(TUESDAY, 0), (WEDNESDAY, 0)]]
    assert _begun(waves) == {MONDAY: None, TUESDAY: "as it was", WEDNESDAY: "as it was"}
    assert [waits for _, waits in sorted(lake.cut.items())] == [False, True, True]
    assert waves.built[1].slices[0].warm == PACKETS


def test_days_of_one_slice_follow_each_other() -> None:
    assert _run(Lake(1).waves(*DAYS)) == [[(MONDAY, 0)], [(TUESDAY, 0)], [(WEDNESDAY, 0)]]


def test_shards_of_a_day_wait_together_and_end_together() -> None:
    """A day without loops shares out its instruments: all parts begin and end where it does."""
    lake = Lake(2)
    lake.shards = True
    waves = lake.waves(MONDAY, TUESDAY)
    first = waves.next()
    assert sorted((work.key.trade_date, number) for work, number in first) == [(MONDAY, 0), (MONDAY, 1)]
    waves.take(first[:1], [_done(first[0], "one")])
    assert waves.next() == []  # the other is still being built
    waves.take(first[1:], [_done(first[1], "other")])
    second = waves.next()
    assert sorted((work.key.trade_date, number) for work, number in second) == [(TUESDAY, 0), (TUESDAY, 1)]
    begins = {slice_.begins.digest if slice_.begins else "" for slice_ in second[0][0].slices}
    ends = waves.built[0].ends
    assert ends is not None
    assert begins == {ends.digest}
    assert ends.digest not in ("one", "other", "")
    assert together([None]) is None
    assert together([_ends(MONDAY)]) == _ends(MONDAY)


def test_a_day_upon_one_that_is_in_the_lake_does_not_wait() -> None:
    waves = Lake(2, monday=None).waves(TUESDAY)
    assert _run(waves) == [[(TUESDAY, 0), (TUESDAY, 1)]]
    assert _begun(waves) == {TUESDAY: "as it was"}


def test_a_day_of_another_sequence_begins_with_nothing() -> None:
    waves = Lake(1, monday=None).waves(TUESDAY, version=2)
    _run(waves)
    assert _begun(waves) == {TUESDAY: None}


@pytest.mark.parametrize("digest", ["as it was", "another"])
def test_a_changed_monday_concerns_tuesday_if_it_ends_otherwise(digest: str) -> None:
    """Wednesday, which is new, waits until that is known."""
    waves = Lake(1, monday=None, tuesday="as it was").waves(*DAYS, changed=(MONDAY,))
    found = _run(waves, digest)
    if digest == "another":
        assert found == [[(MONDAY, 0)], [(TUESDAY, 0)], [(WEDNESDAY, 0)]]
        assert waves.unchanged == []
    else:
        assert found == [[(MONDAY, 0)], [(WEDNESDAY, 0)]]
        assert waves.unchanged == [unit_key(TUESDAY, 84)]
    assert _begun(waves)[WEDNESDAY] == digest


def test_what_is_as_it_was_is_left_alone() -> None:
    waves = Lake(1, monday=None, tuesday="as it was").waves(MONDAY, TUESDAY)
    assert _run(waves) == []
    assert waves.unchanged == [unit_key(MONDAY, 84), unit_key(TUESDAY, 84)]


@pytest.mark.parametrize(
    ("lost", "runs_on"), [(0, True), (1, True), (28, True), (29, False), (10**6, False), (-1, False)]
)
def test_a_sequence_runs_on_if_a_book_can_be_proven(lost: int, runs_on: bool) -> None:
    """A packet has 35 reports at most: after 29 of them even rptSeq 1000 may have come round again."""
    ends = _ends(MONDAY)
    assert ends.runs_on_to((1, ends.number + 1 + lost)) == runs_on
    assert not ends.runs_on_to((2, ends.number + 1 + lost))
