"""Compaction and vacuum: nothing that is needed goes."""

from itertools import pairwise
from pathlib import Path

import pytest

from pregao.lake.errors import LakeConflictError, NoLakeError
from pregao.lake.maintenance.compact import compact
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.store.committer import Committer
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.ledger import Ledger
from tests.unit.lake.kit import TUESDAY, KilledError, Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def on_disk(kit: Kit, table: str = "orders") -> int:
    return sum(not file.path.startswith("_delta_log") for file in kit.location.files(table))


def rows_of(kit: Kit) -> list[tuple[int, int]]:
    found = kit.lake().arrow("orders", columns=["security_id", "ts_event"]).to_pydict()
    return list(zip(found["security_id"], found["ts_event"], strict=True))


def test_small_files_become_few_sorted_by_instrument_and_time(kit: Kit) -> None:
    for first in (20, 10, 0):
        files = [kit.file("orders", security=n, ts_event=[first + 2, first, first + 1]) for n in (3, 1, 2)]
        kit.commit(*files, kit.file("orders", partition=TUESDAY))
    before = sorted(rows_of(kit), key=str)
    done = compact(kit.lake())
    assert (done.version, done.before, done.after) == (4, 12, 2)
    assert sorted(rows_of(kit), key=str) == before
    monday = kit.lake().files("orders", {"trade_date": "2026-11-16"})
    assert len(monday) == 1
    found = kit.lake().arrow("orders", {"trade_date": "2026-11-16"}, columns=["security_id", "ts_event"])
    pairs = list(zip(*found.to_pydict().values(), strict=True))
    assert pairs == sorted(pairs)
    assert len(kit.lake(as_of=3).files("orders")) == 12, "older versions keep their files"
    assert compact(kit.lake()).version is None


def test_a_partition_too_large_for_one_file_is_cut_between_instruments(kit: Kit) -> None:
    for _ in range(4):
        kit.commit(*(kit.file("orders", security=n, count=50, ts_event=list(range(50))) for n in range(4)))
    kit.commit(kit.file("orders", count=5, security=None))  # type: ignore[arg-type]
    size = sum(file.size for file in kit.lake().files("orders"))
    done = compact(kit.lake(), tables=["orders"], target_bytes=size // 2)
    assert done.before == 17
    assert 2 < done.after <= 4
    owners = [
        (file.least["security_id"], file.greatest["security_id"])
        for file in kit.lake().files("orders", "security_id is not null")
    ]
    owners.sort()
    assert all(one[1] < other[0] for one, other in pairwise(owners))
    assert kit.count("orders") == 805


def test_a_build_during_compaction_wins(kit: Kit) -> None:
    for _ in range(2):
        kit.commit(kit.file("orders"))
    lake = kit.lake()
    kit.commit(kit.file("orders", count=1))
    with pytest.raises(LakeConflictError):
        compact(lake)
    assert kit.count("orders") == 7


def test_vacuum_deletes_old_versions_and_what_only_they_had(kit: Kit) -> None:
    for _ in range(3):
        kit.commit(kit.file("orders"))
    compact(kit.lake())
    orphan = kit.file("orders")
    planned = vacuum(kit.location, keep_ns=0, grace_ns=0, dry_run=True)
    assert planned.versions == (1, 2, 3)
    assert on_disk(kit) == 5
    done = vacuum(kit.location, keep_ns=0, grace_ns=0)
    assert (done.versions, done.files) == (planned.versions, planned.files)
    assert f"orders/{orphan.path}" in done.files
    assert on_disk(kit) == 1
    assert kit.count("orders") == 9
    assert [version.number for version in kit.lake().versions()] == [4]
    with pytest.raises(NoLakeError, match="no lake version 3"):
        kit.lake(as_of=3)
    assert kit.commit(kit.file("orders")) == 5, "numbers go on"
    assert vacuum(kit.location, keep_ns=10**18, grace_ns=0).files == ()


def test_vacuum_keeps_what_retained_versions_need(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    old = [file.data_file() for file in kit.lake().files("orders")]
    kit.commit(kit.file("orders", count=5), removes=tuple(old))
    assert vacuum(kit.location, grace_ns=0).files == ()
    assert (kit.count("orders", as_of=1), kit.count("orders")) == (3, 5)


def test_vacuum_leaves_files_of_a_build_under_way(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    fresh = kit.file("orders")
    assert vacuum(kit.location, keep_ns=0).files == (), "too young to be an orphan"
    kit.commit(fresh)
    pending = kit.file("orders", count=9)

    def dies(step: str) -> None:
        if step == "intent stored":
            raise KilledError

    with pytest.raises(KilledError):
        Committer(kit.location, dies).commit(Change((pending,)), Label("build"))
    assert f"orders/{pending.path}" not in vacuum(kit.location, keep_ns=0, grace_ns=0).files
    Committer(kit.location).recover()
    assert kit.count("orders") == 15


def test_vacuum_leaves_what_is_not_ours(kit: Kit) -> None:
    kit.commit(kit.file("orders"))
    foreign = Path(kit.location.path("notes", "x.parquet"))
    foreign.parent.mkdir()
    foreign.write_bytes(b"")
    readme = Path(kit.location.path("orders", "README"))
    readme.write_bytes(b"")
    vacuum(kit.location, keep_ns=0, grace_ns=0)
    assert foreign.exists()
    assert readme.exists()


def test_a_vacuum_that_died_half_way_can_be_run_again(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        kit.commit(kit.file("orders"))
    compact(kit.lake())
    from pregao.lake.maintenance import vacuum as module

    real = module.remove_versions

    def only_intents(location: object, table: object, old: set[int]) -> None:
        real(kit.location, module.INTENTS, old)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(module, "remove_versions", only_intents)
        with pytest.raises(KilledError):
            vacuum(kit.location, keep_ns=0, grace_ns=0)
    assert Ledger(kit.location).pending == []
    assert kit.count("orders", as_of=2) == 6
    vacuum(kit.location, keep_ns=0, grace_ns=0)
    assert on_disk(kit) == 1
    assert kit.count("orders") == 9
