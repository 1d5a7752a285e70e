"""What a build or a stream sees of a lake, and what it looks at for that: not more with every day."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from pregao.lake import state as module
from pregao.lake.errors import LakeConflictError, StaleReadError
from pregao.lake.state import KnownUnits, LakeState
from pregao.lake.store import deltalog
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.intent import Read
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.table import UnitKey
from tests.kits.lake_rows import unit_key
from tests.unit.lake.kit import MONDAY_DATE, Kit, rows

DAYS = 30


def _day(number: int) -> date:
    return MONDAY_DATE + timedelta(days=number)


def _key(number: int, channel: int = 84) -> UnitKey:
    return unit_key(_day(number), channel)


def _file(kit: Kit, name: str, key: UnitKey, **columns: Any) -> DataFile:
    return write_file(kit.location, TABLES[name], key.partition, rows(TABLES[name], 2, **columns))


def _unit(kit: Kit, key: UnitKey) -> list[DataFile]:
    plan = '{"ends": null, "start": [1, 1]}'
    row = write_file(
        kit.location, TABLES["units"], key.partition, rows(TABLES["units"], 1, inputs="[]", plan=plan)
    )
    return [row, _file(kit, "orders", key), _file(kit, "trades", key, of_date=key.trade_date)]


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    kit = Kit(tmp_path)
    keys = [_key(number, channel) for number in range(DAYS) for channel in (84, 72)]
    kit.commit(*(file for key in keys for file in _unit(kit, key)))
    return kit


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Tables of the files of which an object was made."""
    found: list[str] = []
    real: Callable[..., Any] = deltalog.live_file

    def count(table: Any, *more: Any) -> Any:
        if table.name not in ("commits", "intents"):
            found.append(table.name)
        return real(table, *more)

    monkeypatch.setattr(deltalog, "live_file", count)
    return found


def test_only_the_partitions_in_question_are_looked_at(kit: Kit, made: list[str]) -> None:
    state = LakeState.recovered(kit.location)
    made.clear()
    keys = [_key(3), _key(4)]
    found = state.files_by_unit(keys)
    assert {key: len(files) for key, files in found.items()} == dict.fromkeys(keys, 3)
    assert len(made) == 2 * 3  # of one channel on both days, not of sixty units
    made.clear()
    assert len(state.files("trades", {"source": "84", "of_date": _day(9)})) == 1
    assert len(made) == 1


def test_a_commit_looks_at_its_own_files(kit: Kit, made: list[str]) -> None:
    state = LakeState.recovered(kit.location)
    adds, removes = _unit(kit, _key(5)), state.files_of([_key(5)])
    made.clear()
    state.commit("build", "b", adds, removes, [_key(5)])
    assert made == []
    assert kit.count("orders") == 2 * 2 * DAYS


def test_rows_of_units_are_read_once(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    known: KnownUnits = {}
    assert len(LakeState.recovered(kit.location, known=known).units) == 2 * DAYS
    read: list[int] = []
    real = module.read

    def count(location: Any, table: Any, files: Any, *more: Any) -> Any:
        read.append(len(files))
        return real(location, table, files, *more)

    monkeypatch.setattr(module, "read", count)
    kit.commit(*_unit(kit, _key(DAYS)))
    state = LakeState.recovered(kit.location, known=known)
    assert len(state.units) == 2 * DAYS + 1
    assert sum(read) == 1
    gone = next(file for file in state.files_of([_key(0)]) if file.table == "units")
    kit.commit(removes=(gone,))
    state = LakeState.recovered(kit.location, known=known)
    assert len(state.units) == 2 * DAYS
    assert sum(read) == 1


def test_one_row_is_one_file(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of one date does not read what is known of all others."""
    read: list[int] = []
    real = module.read
    monkeypatch.setattr(module, "read", lambda *args: (read.append(len(args[2])), real(*args))[1])
    state = LakeState.recovered(kit.location)
    assert state.before(_key(7)) == _key(6)
    assert state.begins(_key(7), (1, 5)) is None
    assert state.row(_key(7)) is not None
    assert state.row(_key(DAYS)) is None
    assert read == [1, 1]


@pytest.mark.parametrize(
    ("read", "stale"),
    [
        (Read("trades", "binary", "84", of_date=_day(2)), True),  # a bust of the other day speaks of it
        (Read("trades", "binary", "84", of_date=_day(1)), False),
        (Read("trades", "binary", "72", of_date=_day(2)), False),
        (Read("trades", "toy", "84", of_date=_day(2)), False),
        (Read("units", "binary", "84", _day(3), _day(5)), True),
        (Read("units", "binary", "84", _day(6), _day(9)), False),
    ],
)
def test_a_commit_fails_when_what_it_read_has_changed(kit: Kit, read: Read, stale: bool) -> None:
    """Another build adds a day 5 whose trades speak of day 2."""
    state, other = LakeState.recovered(kit.location), LakeState.recovered(kit.location)
    bust = _file(kit, "trades", _key(5), of_date=[_day(5), _day(2)])
    replaced = [file for file in other.files_of([_key(5)]) if file.table == "units"]
    other.commit("build", "other", [bust, _unit(kit, _key(5))[0]], replaced, [_key(5)])
    state.depends_on(read)
    adds = [_file(kit, "orders", _key(2))]
    if stale:
        with pytest.raises(StaleReadError, match="channel 84 of 2026-11-21, which this one was made from"):
            state.commit("build", "mine", adds, [], [_key(2)])
    else:
        state.commit("build", "mine", adds, [], [_key(2)])
    assert issubclass(StaleReadError, LakeConflictError)


def test_joined_files_are_no_change(kit: Kit) -> None:
    from pregao.lake.maintenance.compact import compact

    state = LakeState.recovered(kit.location)
    kit.commit(_file(kit, "trades", _key(9), of_date=_day(9)))
    state = LakeState.recovered(kit.location)
    assert compact(kit.lake(), units=[_key(9)]).version is not None
    state.depends_on(Read("trades", "binary", "84", of_date=_day(9)))
    state.commit("build", "mine", [_file(kit, "orders", _key(2))], [], [_key(2)])
