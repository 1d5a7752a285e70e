"""The commit over all tables: whole or not at all, whoever dies or comes in between."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pregao.lake.errors import LakeConflictError, LakeError, NoLakeError, WrongIntentError
from pregao.lake.lake import Lake
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.intent import Change, Intent, Label, write_intent
from pregao.lake.store.ledger import Ledger
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS
from tests.unit.lake.kit import MONDAY, TUESDAY, KilledError, Kit

STEPS = [
    "intent written",
    "intent stored",
    "table orders",
    "table trades",
    "version written",
    "version entered",
]


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def dying_after(step: str) -> Callable[[str], None]:
    def after(name: str) -> None:
        if name == step:
            raise KilledError

    return after


def replacement(kit: Kit) -> Change:
    """Both tables get other rows: 3 become 5."""
    old = [file.data_file() for name in ("orders", "trades") for file in kit.lake().files(name)]
    return Change((kit.file("orders", count=5), kit.file("trades", count=5)), tuple(old))


def seen(kit: Kit) -> tuple[int, int]:
    return kit.count("orders"), kit.count("trades")


def test_the_steps_are_the_ones_we_die_after(kit: Kit) -> None:
    steps: list[str] = []
    change = Change((kit.file("orders"), kit.file("trades")))
    Committer(kit.location, steps.append).commit(change, Label("build"))
    assert steps == STEPS


@pytest.mark.parametrize("step", STEPS)
def test_killed_after_any_step_readers_see_old_or_new_and_a_restart_finishes(kit: Kit, step: str) -> None:
    kit.commit(kit.file("orders"), kit.file("trades"))
    change = replacement(kit)
    with pytest.raises(KilledError):
        Committer(kit.location, dying_after(step)).commit(change, Label("build"))
    assert seen(kit) == ((5, 5) if step == "version entered" else (3, 3))
    Committer(kit.location).recover()
    assert seen(kit) == ((3, 3) if step == "intent written" else (5, 5))
    assert kit.count("orders", as_of=1) == 3
    assert kit.commit(kit.file("news")) == (2 if step == "intent written" else 3)
    assert Ledger(kit.location).pending == []


@pytest.mark.parametrize("step", STEPS[1:])
@pytest.mark.parametrize("second", STEPS[2:])
def test_killed_again_while_it_recovers(kit: Kit, step: str, second: str) -> None:
    kit.commit(kit.file("orders"), kit.file("trades"))
    change = replacement(kit)
    with pytest.raises(KilledError):
        Committer(kit.location, dying_after(step)).commit(change, Label("build"))
    try:
        Committer(kit.location, dying_after(second)).recover()
    except KilledError:
        assert seen(kit) in ((3, 3), (5, 5))
    Committer(kit.location).recover()
    assert seen(kit) == (5, 5)
    assert [version.number for version in kit.lake().versions()] == [1, 2]


@pytest.mark.parametrize("step", STEPS)
def test_the_very_first_commit_may_die_too(kit: Kit, step: str) -> None:
    change = Change((kit.file("orders"), kit.file("trades")))
    with pytest.raises(KilledError):
        Committer(kit.location, dying_after(step)).commit(change, Label("build"))
    assert kit.lake().version.number == (1 if step == "version entered" else 0)
    Committer(kit.location).recover()
    assert kit.lake().version.number == (0 if step == "intent written" else 1)


@pytest.mark.parametrize("step", STEPS)
def test_another_builder_between_any_two_steps(kit: Kit, step: str) -> None:
    """It cannot know whether the first is dead: it helps it to its end, and goes on."""
    kit.commit(kit.file("orders"), kit.file("trades"))
    change = replacement(kit)

    waiting = [step]

    def other(name: str) -> None:
        if waiting == [name]:
            waiting.clear()
            kit.commit(kit.file("orders", count=7, partition=TUESDAY))

    Committer(kit.location, other).commit(change, Label("build"))
    assert seen(kit) == (5 + 7, 5)
    numbers = [version.number for version in kit.lake().versions()]
    assert numbers == [1, 2, 3]
    assert {kit.count("trades", as_of=number) for number in numbers} == {3, 5}


@pytest.mark.parametrize("later", [0, 2])
def test_a_version_that_a_helper_has_entered_is_not_entered_again(kit: Kit, later: int) -> None:
    """The helper took us for dead when all tables were committed and only the version was missing; it may
    have gone on to versions of its own since."""
    kit.commit(kit.file("orders"), kit.file("trades"))
    change, steps = replacement(kit), list[str]()

    def helped(name: str) -> None:
        steps.append(name)
        if name == "table trades":
            Committer(kit.location).recover()
            for _ in range(later):
                kit.commit(kit.file("news"))

    Committer(kit.location, helped).commit(change, Label("build"))
    assert steps == STEPS[:4]
    assert len(DeltaLog(kit.location, COMMITS).files) == 2 + later
    assert [version.number for version in kit.lake().versions()] == list(range(1, 3 + later))
    assert seen(kit) == (5, 5)


def test_two_builders_of_the_same_partition_one_gets_a_clear_error(kit: Kit) -> None:
    kit.commit(kit.file("orders"), kit.file("trades"))
    mine, theirs = replacement(kit), replacement(kit)
    Committer(kit.location).commit(theirs, Label("build"), base=1)
    with pytest.raises(LakeConflictError, match=r"another build .lake version 2. has changed table orders"):
        Committer(kit.location).commit(mine, Label("build"), base=1)
    assert seen(kit) == (5, 5)
    assert kit.lake().version.number == 2


def test_two_builders_of_other_partitions_both_get_in(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    assert kit.commit(kit.file("orders", partition=TUESDAY), base=1) == 2
    assert kit.commit(kit.file("trades"), base=1) == 3
    assert seen(kit) == (6, 3)


def test_many_builders_at_once_lose_nothing(kit: Kit) -> None:
    files = [kit.file("orders", partition={**MONDAY, "source": str(n)}) for n in range(4)]
    errors: list[LakeError] = []

    def build(index: int) -> None:
        try:
            kit.commit(files[index], base=0)
        except LakeError as error:
            errors.append(error)

    threads = [threading.Thread(target=build, args=(index,)) for index in range(len(files))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert kit.count("orders") == 3 * len(files)
    assert [version.number for version in kit.lake().versions()] == [1, 2, 3, 4]


def test_the_same_change_twice_is_refused_and_adds_nothing(kit: Kit) -> None:
    file = kit.file("orders")
    kit.commit(file)
    with pytest.raises(WrongIntentError, match="already there"):
        kit.commit(file)
    assert kit.count("orders") == 3


def test_changes_that_cannot_be_are_refused_before_anything_happens(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    gone = kit.file("orders")
    kit.location.delete("orders", gone.path)
    with pytest.raises(WrongIntentError, match="is missing"):
        kit.commit(gone)
    with pytest.raises(WrongIntentError, match="is not in the lake"):
        kit.commit(removes=(gone,))
    with pytest.raises(WrongIntentError, match="twice"):
        Change((gone, gone))
    with pytest.raises(WrongIntentError, match="both"):
        Change((gone,), (gone,))
    assert Ledger(kit.location).last_number == 1


@pytest.mark.parametrize("damage", ["intent", "data"])
@pytest.mark.parametrize("step", ["intent stored", "table orders"])
def test_an_intent_that_cannot_be_finished_stays_invisible_and_is_undone(
    kit: Kit, damage: str, step: str
) -> None:
    kit.commit(kit.file("orders"), kit.file("trades"))
    change = replacement(kit)
    with pytest.raises(KilledError):
        Committer(kit.location, dying_after(step)).commit(change, Label("build"))
    if damage == "data":
        kit.location.delete("trades", change.adds[1].path)
    else:
        intents = DeltaLog(kit.location, INTENTS).files
        path = max(intents, key=lambda file: int(file.partition["lake_version"])).path
        Path(kit.location.path("intents", path)).write_bytes(b"PAR1 no longer")
    assert Committer(kit.location).recover().number == 1
    assert seen(kit) == (3, 3)
    with pytest.raises(NoLakeError, match="abandoned"):
        kit.lake(as_of=2)
    assert kit.commit(kit.file("orders", count=1, partition=TUESDAY)) == 3
    assert seen(kit) == (4, 3)
    assert sum(file.rows for file in DeltaLog(kit.location, TABLES["orders"]).files) == 4


def test_an_intent_of_a_bystander_that_was_never_entered_means_nothing(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    write_intent(kit.location, Intent(2, 1, Change((kit.file("orders"),)), Label("build"), 0))
    assert Committer(kit.location).recover().number == 1
    assert kit.count("orders") == 3


def test_a_table_that_somebody_else_wrote_to_is_not_touched(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    from deltalake import DeltaTable

    DeltaTable(kit.location.full("orders")).delete("security_id = 1")
    assert kit.count("orders") == 3
    with pytest.raises(LakeConflictError, match="was not written by pregao"):
        kit.commit(kit.file("orders", partition=TUESDAY))
    assert kit.count("orders") == 3


def test_older_versions_stay_readable(kit: Kit) -> None:
    for _ in range(3):
        kit.commit(kit.file("orders"))
    assert [kit.count("orders", as_of=number) for number in (1, 2, 3)] == [3, 6, 9]
    lake = kit.lake()
    assert lake.arrow("orders", as_of=2).num_rows == 6
    kit.commit(kit.file("orders"))
    assert lake.arrow("orders").num_rows == 9, "an opened lake does not change"
    assert lake.refresh().arrow("orders").num_rows == 12
    assert lake.at(1).arrow("commits").num_rows == 1
    with pytest.raises(NoLakeError, match="no lake version 9; there are 1 to 4"):
        kit.lake(as_of=9)


def test_where_there_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(NoLakeError, match="there is no lake here"):
        Lake(tmp_path / "nothing")


def test_a_version_says_what_it_holds(kit: Kit) -> None:
    kit.commit(kit.file("orders"), kit.file("trades", count=2))
    kit.commit(kit.file("orders"))
    tables = kit.lake().version.tables
    assert (tables["orders"].rows, tables["orders"].files, tables["orders"].changed) == (6, 2, True)
    assert (tables["trades"].rows, tables["trades"].files, tables["trades"].changed) == (2, 1, False)
    assert kit.lake().version.build_id == "b"


def test_columns_that_are_new_are_added_to_the_log_first(kit: Kit) -> None:
    """deltalake takes a file with more columns silently, and never shows them (design, traps)."""
    from dataclasses import replace

    from pregao.lake.store.deltalog import ready_log
    from pregao.lake.tables.table import Column
    from pregao.lake.tables.types import LONG

    kit.commit(kit.file("orders"))
    wider = replace(TABLES["orders"], columns=(*TABLES["orders"].columns, Column("venue", LONG)))
    before = DeltaLog(kit.location, TABLES["orders"]).version
    log = ready_log(kit.location, wider)
    assert log.version == before + 1
    assert log.mark(log.version) == 0
    assert ready_log(kit.location, wider).version == log.version
    kit.commit(kit.file("orders"))
    assert kit.count("orders") == 6
