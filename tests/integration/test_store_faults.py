"""A store that does what it is asked and does not say so, or does not answer for a while."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from pregao.lake.errors import LakeDamagedError, LakeError
from pregao.lake.lake import Lake
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import ready_log
from pregao.lake.store.files import write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from tests.kits.lake_rows import PARTITION, rows_as_arrow

from .faulty_store import FaultyStore, faulty_store
from .object_store import object_store

NAMES = count()


class DiedError(Exception):
    pass


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyStore]:
    with (
        pytest.MonkeyPatch.context() as patch,
        object_store(tmp_path_factory.mktemp("s3")) as running,
        faulty_store(running.port) as (proxy, port),
    ):
        for name, value in running.environment.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        yield proxy


@pytest.fixture
def location(store: FaultyStore) -> Location:
    store.heal()
    return Location(f"s3://bucket/lake-{next(NAMES)}")


def _file(location: Location, table: str, rows: int) -> Any:
    made = [{"action": "NEW", "order_id": n} if table == "orders" else {"action": "NEW", "trade_id": n}
            for n in range(rows)]  # fmt: skip
    return write_file(location, find_table(table), PARTITION, rows_as_arrow(table, made))


def _first(location: Location) -> None:
    Committer(location).commit(
        Change((_file(location, "orders", 3), _file(location, "trades", 3))), Label("build")
    )


def _next(location: Location, rows: int) -> Change:
    """Both tables get so many other rows."""
    old = [file.data_file() for name in ("orders", "trades") for file in Lake(location).files(name)]
    return Change((_file(location, "orders", rows), _file(location, "trades", rows)), tuple(old))


def _seen(location: Location) -> tuple[int, int]:
    lake = Lake(location)
    return lake.arrow("orders").num_rows, lake.arrow("trades").num_rows


def _commit_losing(store: FaultyStore, location: Location, number: int) -> list[str]:
    """A commit of which the answer to that request that writes is lost (0: none); all of its writes."""
    change = _next(location, 3 + number)
    store.lose_answer(number)
    Committer(location).commit(change, Label("build"))
    writes = list(store.writes)
    store.heal()
    lost = writes[number - 1] if 0 < number <= len(writes) else ""
    assert _seen(location) == (3 + number, 3 + number), lost
    assert Ledger(location).pending == [], lost
    return writes


def test_an_answer_that_gets_lost_at_a_log_of_a_commit_loses_nothing(
    store: FaultyStore, location: Location
) -> None:
    _first(location)
    logs = [each for each, name in enumerate(_commit_losing(store, location, 0), 1) if "_delta_log" in name]
    assert len(logs) == 4  # intents, two tables, commits
    for number in logs:
        assert "_delta_log" in _commit_losing(store, location, number)[number - 1]
    assert [each.number for each in Lake(location).versions()] == list(range(1, 3 + len(logs)))


@pytest.mark.long
def test_an_answer_that_gets_lost_at_any_step_of_a_commit_loses_nothing(
    store: FaultyStore, location: Location
) -> None:
    """Every request that writes, in turn, is done and answered with 500: the first of a commit, the second of
    the next one, and so on until one has no more."""
    _first(location)
    number = next(each for each in count(1) if len(_commit_losing(store, location, each)) < each)
    assert number > 4
    assert [each.number for each in Lake(location).versions()] == list(range(1, number + 2))


def _first_commit_losing(store: FaultyStore, number: int) -> list[str]:
    location = Location(f"s3://bucket/lake-{next(NAMES)}")
    change = Change((_file(location, "trades", 3),))
    store.lose_answer(number)
    version = Committer(location).commit(change, Label("build"))
    writes = list(store.writes)
    store.heal()
    assert (version.number, Lake(location).arrow("trades").num_rows) == (1, 3), (number, writes)
    return writes


def test_an_answer_that_gets_lost_while_a_log_is_made_loses_nothing(store: FaultyStore) -> None:
    """The logs of intents and commits are made first, that of the table after them."""
    writes = _first_commit_losing(store, 1)
    made = [each for each, name in enumerate(writes, 1) if name.endswith("00000000000000000000.json")]
    assert len(made) >= 3
    _first_commit_losing(store, made[-1])


@pytest.mark.long
def test_an_answer_that_gets_lost_at_any_step_while_the_logs_are_made_loses_nothing(
    store: FaultyStore,
) -> None:
    assert next(each for each in count(1) if len(_first_commit_losing(store, each)) < each) > 6


def test_an_answer_that_gets_lost_while_a_log_gets_new_columns_loses_nothing(
    store: FaultyStore, location: Location
) -> None:
    table = find_table("trades")
    ready_log(location, replace(table, columns=table.columns[:-1]))
    store.lose_answer(1)
    log = ready_log(location, table)
    assert "_delta_log" in store.writes[0]
    assert log.version == 1


def test_a_read_that_fails_for_a_while_does_not_abandon_the_commit_of_another(
    store: FaultyStore, location: Location
) -> None:
    """The other has claimed its number and is alive, or dead: nobody may decide that by an answer that did
    not come."""
    _first(location)

    def dies(step: str) -> None:
        if step == "intent stored":
            raise DiedError

    with pytest.raises(DiedError):
        Committer(location, dies).commit(_next(location, 5), Label("build"))
    for verb, part in (("GET", "intents/lake_version"), ("HEAD", "orders/system")):
        store.refuse(verb, part)
        with pytest.raises(LakeError):
            Committer(location).recover()
        store.heal()
        assert Ledger(location).pending == [2]
    assert Committer(location).recover().number == 2
    assert _seen(location) == (5, 5)


def test_a_store_that_refuses_is_not_called_a_damaged_lake(store: FaultyStore, location: Location) -> None:
    _first(location)
    lake = Lake(location)
    store.refuse("GET", "orders/system")
    with pytest.raises(LakeError) as caught:
        lake.arrow("orders")
    assert not isinstance(caught.value, LakeDamagedError), caught.value
    store.heal()
    assert lake.arrow("orders").num_rows == 3
