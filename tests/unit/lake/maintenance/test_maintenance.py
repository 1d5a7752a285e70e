"""Compaction and vacuum: nothing that is needed goes."""

import pickle
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pregao.lake.errors import LakeConflictError, NoLakeError
from pregao.lake.maintenance import compact as compacting
from pregao.lake.maintenance import sorting
from pregao.lake.maintenance import vacuum as vacuuming
from pregao.lake.maintenance.compact import compact, small_files
from pregao.lake.maintenance.sorting import SmallFiles, cut_group, write_sorted
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.plan.fingerprints import UnitInput, to_json
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.scanning import IndexStore
from pregao.lake.plan.stored import Stored
from pregao.lake.runners import InlineRunner, SparkRunner, description
from pregao.lake.store import files
from pregao.lake.store.checkpoints import INTERVAL
from pregao.lake.store.committer import Committer
from pregao.lake.store.deltalog import DeltaLog
from pregao.lake.store.files import write_file
from pregao.lake.store.intent import Change, Label
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.livefile import live
from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.ledger import COMMITS, INTENTS
from tests.unit.lake.kit import MONDAY, MONDAY_DATE, TUESDAY, KilledError, Kit
from tests.unit.lake.kit import rows as table_rows

# A pool must outlive all that was ever allocated from it, also what Arrow's threads or a circle of references
# let go later: the process died where a test's own pool went with the test.
_POOLS: list[pa.MemoryPool] = []


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Of Arrow: how much it has at once does not depend on who else wants the machine's cores."""
    before = pa.cpu_count()
    pa.set_cpu_count(1)
    yield
    pa.set_cpu_count(before)


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
    assert (done.version, done.before, done.after) == (5, 12, 2)
    assert sorted(rows_of(kit), key=str) == before
    monday = kit.lake().files("orders", {"trade_date": "2026-11-16"})
    assert len(monday) == 1
    found = kit.lake().arrow("orders", {"trade_date": "2026-11-16"}, columns=["security_id", "ts_event"])
    pairs = list(zip(*found.to_pydict().values(), strict=True))
    assert pairs == sorted(pairs)
    assert len(kit.lake(as_of=3).files("orders")) == 12, "older versions keep their files"
    assert compact(kit.lake()).version is None


def test_after_a_compaction_logs_are_short(kit: Kit) -> None:
    for _ in range(3):
        kit.commit(kit.file("orders"), kit.file("trades"))
    logs = [TABLES["orders"], TABLES["trades"], COMMITS, INTENTS]
    assert [DeltaLog(kit.location, table).entries for table in logs] == [3, 3, 3, 3]
    before = rows_of(kit)
    assert compact(kit.lake()).version == 4
    assert [DeltaLog(kit.location, table).entries for table in logs] == [0, 0, 0, 0]
    assert sorted(rows_of(kit), key=str) == sorted(before, key=str)
    kit.commit(kit.file("orders"))
    assert kit.count("orders") == 12


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


class Tasks(InlineRunner):
    """Runs tasks as Spark does: what they are sent and send back is pickled."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.items: list[int] = []

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self.steps.append(description())
        self.items.append(len(items))
        again = pickle.loads(pickle.dumps(task))
        done = super().run(again, pickle.loads(pickle.dumps(items)), progress)
        return list(pickle.loads(pickle.dumps(done)))


def test_compaction_is_tasks_a_file_each(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        for name in ("orders", "trades"):
            kit.commit(*(kit.file(name, partition=day) for day in (MONDAY, TUESDAY)))
    few = Tasks()
    assert compact(kit.lake(), tables=["trades"], runner=few).after == 2
    assert few.steps == [], "a task costs more than so few rows"
    monkeypatch.setattr(compacting, "HERE_BYTES", 0)
    tasks = Tasks()
    assert compact(kit.lake(), runner=tasks).after == 2
    of_a_date = ["pregao: compact: cut 1 partitions", "pregao: compact: write 1 files"]
    assert tasks.steps == [*of_a_date, *of_a_date]
    assert kit.count("orders") == kit.count("trades") == 18


def test_one_large_instrument_is_sorted_part_by_part(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut by time inside the instrument, and still one file, sorted from its first row to its last."""
    random = Random(7)
    for _ in range(6):
        times = [random.randrange(10_000) for _ in range(400)]
        files = [kit.file("orders", security=n, count=40, ts_event=times[:40]) for n in (1, 9)]
        large = kit.file("orders", security=5, count=400, ts_event=[*times[:-3], None, None, None])
        kit.commit(*files, large)
    before = sorted(rows_of(kit), key=str)
    group = small_files(kit.lake(), ["orders"], 1 << 30, MONDAY_DATE)[0]
    (file,) = cut_group(group, kit.location, 1 << 30, part_rows=300)
    assert len(file.parts) > 8
    monkeypatch.setattr(sorting, "PART_ROWS", 300)
    assert compact(kit.lake(), tables=["orders"]).after == 1
    found = rows_of(kit)
    assert sorted(found, key=str) == before
    assert found == sorted(found, key=lambda row: (row[0], row[1] is None, row[1]))


def test_what_has_no_instrument_is_cut_along_its_order(kit: Kit) -> None:
    for first in (0, 500, 1000):
        numbers = list(range(first, first + 500))
        kit.commit(kit.file("packets", count=500, seq_version=1, seq_num=numbers[::-1], stream="INCREMENTAL"))
    group = small_files(kit.lake(), ["packets"], 1 << 30, MONDAY_DATE)[0]
    files = cut_group(group, kit.location, group.bytes // 3, part_rows=100)
    assert len(files) >= 3
    written = [write_sorted(file, kit.location) for file in files]
    assert sum(file.rows for file in written) == 1500
    spans = sorted((live(file).least["seq_num"], live(file).greatest["seq_num"]) for file in written)
    assert all(one[1] < other[0] for one, other in pairwise(spans))


@pytest.mark.usefixtures("one_thread")
def test_memory_is_that_of_a_part_not_of_the_file(kit: Kit) -> None:
    """And of a row group of those that are read."""
    spread = [[index * 20 + number for index in range(6_000)] for number in range(20)]
    kit.commit(*(kit.file("orders", count=6_000, ts_event=times, order_id=times) for times in spread))
    (group,) = small_files(kit.lake(), ["orders"], 1 << 30, MONDAY_DATE)

    def peak(files: int, part_rows: int) -> int:
        before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
        _POOLS.append(pool)
        pa.set_memory_pool(pool)
        try:
            some = SmallFiles("orders", group.files[:files])
            for file in cut_group(some, kit.location, 1 << 30, part_rows):
                assert write_sorted(file, kit.location).rows == 6_000 * files
        finally:
            pa.set_memory_pool(before)
        return int(pool.max_memory())

    assert peak(20, 6_000) < 1.2 * peak(5, 6_000)
    assert peak(20, 1 << 20) > 3 * peak(5, 1 << 20), "all at once it would grow"


def test_a_query_by_symbol_reads_less_of_a_compact_lake(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slice has rows of every symbol. After compaction those of one stand together, in row groups of
    their own, though ids are in another order than symbols."""
    monkeypatch.setattr(files, "ROW_GROUP_ROWS", 1000)
    symbols, table = [f"S{number:03}" for number in range(40)], TABLES["orders"]
    ids = dict(zip(symbols, Random(3).sample(range(1000, 9000), 40), strict=True))
    by_id = [name for name in sorted(symbols, key=lambda name: ids[name]) for _ in range(250)]
    for at in range(8):
        columns = {"symbol": by_id, "security_id": [ids[name] for name in by_id], "ts_event": at}
        made = table_rows(table, len(by_id), channel=84, **columns)
        kit.commit(write_file(kit.location, table, MONDAY, made))
    before = {name: _read(kit, {"symbol": name}) for name in symbols[::8]}
    size = sum(file.size for file in kit.lake().files("orders"))
    compact(kit.lake(), tables=["orders"], target_bytes=size // 3)
    for name, (read_files, groups, rows) in before.items():
        assert read_files == 8
        fewer_files, fewer_groups, same = _read(kit, {"symbol": name})
        assert fewer_files <= 3
        assert fewer_groups <= groups / 2
        assert same == rows == 2000


def _read(kit: Kit, where: dict[str, str]) -> tuple[int, int, int]:
    """Files and row groups that can hold such rows, by their figures; and the rows."""
    symbol, groups = where["symbol"], 0
    found = kit.lake().files("orders", where)
    for file in found:
        about = pq.ParquetFile(kit.location.path("orders", file.path)).metadata
        at = about.schema.names.index("symbol")
        figures = [about.row_group(number).column(at).statistics for number in range(about.num_row_groups)]
        groups += sum(each.min <= symbol <= each.max for each in figures)
    return len(found), groups, kit.lake().arrow("orders", where).num_rows


def test_vacuum_lists_and_deletes_in_tasks(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        kit.file("orders")  # orphans
    kit.commit(kit.file("orders"))
    monkeypatch.setattr(vacuuming, "DELETED_AT_ONCE", 2)
    tasks = Tasks()
    done = vacuum(kit.location, keep_ns=0, grace_ns=0, runner=tasks)
    assert len(done.files) == 5
    assert on_disk(kit) == 1
    assert tasks.steps[1] == "pregao: vacuum: delete 5 files"
    assert tasks.items[1] == 3
    vacuuming.delete_files(list(done.files), kit.location)  # an attempt of a task that is tried again


def test_each_date_is_compacted_by_itself(kit: Kit) -> None:
    """In a commit of its own: what dies in between has done the dates before."""
    for partition in (TUESDAY, MONDAY):
        kit.commit(*(kit.file("orders", security=number, partition=partition) for number in range(3)))
    died: list[str] = []

    def dies(step: str) -> None:
        died.append(step)
        if died.count("intent written") == 2:
            raise KilledError

    before, version = rows_of(kit), kit.lake().version.number
    with pytest.raises(KilledError):
        compact(kit.lake(), committer=Committer(kit.location, dies))
    found = Counter(str(file.partition["trade_date"]) for file in kit.lake().files("orders"))
    assert found == {MONDAY["trade_date"]: 1, TUESDAY["trade_date"]: 3}
    done = compact(kit.lake())
    assert (done.before, done.after, kit.lake().version.number) == (3, 1, version + 2)
    assert sorted(rows_of(kit), key=str) == sorted(before, key=str)


def test_vacuum_deletes_entries_of_logs_that_no_version_needs(kit: Kit) -> None:
    for number in range(2 * INTERVAL + 3):
        kit.commit(kit.file("orders", partition=MONDAY if number % 2 else TUESDAY))
    rows = kit.count("orders")
    gone = vacuum(kit.location, grace_ns=0).files
    assert not any("orders/_delta_log" in path for path in gone), "all versions are kept"
    gone = vacuum(kit.location, keep_ns=0).files
    assert not any("_delta_log" in path for path in gone), "too young"
    gone = vacuum(kit.location, keep_ns=0, grace_ns=0).files
    # Entries 0 to 19, a checkpoint, a summary and its part.
    assert sum("orders/_delta_log" in path for path in gone) == 2 * INTERVAL + 3
    for table in ("orders", "commits", "intents"):
        entries = Path(kit.location.path(table, "_delta_log")).glob("*.json")
        assert len(list(entries)) <= INTERVAL, table
    assert kit.count("orders") == rows
    assert DeltaTable(kit.location.full("orders")).version() == 2 * INTERVAL + 3
    assert kit.commit(kit.file("orders")) == 2 * INTERVAL + 4
    assert kit.count("orders") == rows + 3


def test_vacuum_deletes_indexes_of_captures_that_the_lake_was_not_made_from(kit: Kit) -> None:
    def index(capture: Stored, settings: ScanSettings) -> Path:
        path = Path(kit.location.path("_indexes", IndexStore(kit.location, settings).name(capture)))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"index")
        return path

    used, unused = Stored("a.pcap", 7, "v1"), Stored("b.pcap", 7, "v1")
    told = to_json([UnitInput(used.path, used.size, "c", used.version)])
    kit.commit(kit.file("units", count=1, inputs=told))
    kept = [index(used, ScanSettings()), index(used, ScanSettings(piece_packets=7))]
    gone = [index(unused, ScanSettings()), index(used._replace(version="v0"), ScanSettings())]
    shared = Path(kit.location.path("_shared", "b-1", "0"))
    shared.parent.mkdir(parents=True)
    shared.write_bytes(b"of a build that died")
    assert vacuum(kit.location).files == (), "too young"
    done = vacuum(kit.location, grace_ns=0)
    assert sorted(done.files) == [f"_indexes/{path.name}" for path in sorted(gone)] + ["_shared/b-1/0"]
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in (*gone, shared))


def test_on_spark_it_is_the_same(kit: Kit, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for first in (20, 10, 0):
        times = [first + 2, first, first + 1]
        for day in (MONDAY, TUESDAY):
            kit.commit(kit.file("orders", security=first, ts_event=times, partition=day))
    before = sorted(rows_of(kit))
    monkeypatch.setattr(compacting, "HERE_BYTES", 0)
    monkeypatch.setattr(vacuuming, "DELETED_AT_ONCE", 2)
    runner = SparkRunner(spark, kit.location)
    assert compact(kit.lake(), runner=runner).after == 2
    assert sorted(rows_of(kit)) == before
    done = vacuum(kit.location, keep_ns=0, grace_ns=0, runner=runner)
    assert len([path for path in done.files if path.startswith("orders/")]) == 6
    assert on_disk(kit) == 2
    assert sorted(rows_of(kit)) == before


@pytest.mark.parametrize(
    "step", ["intent written", "intent stored", "table orders", "version written", "version entered"]
)
def test_a_compaction_that_dies_after_any_step_loses_nothing(kit: Kit, step: str) -> None:
    def dies(name: str) -> None:
        if name == step:
            raise KilledError

    for _ in range(3):
        kit.commit(kit.file("orders"))
    with pytest.raises(KilledError):
        compact(kit.lake(), committer=Committer(kit.location, dies))
    assert kit.count("orders") == 9
    Committer(kit.location).recover()
    vacuum(kit.location, keep_ns=0, grace_ns=0)
    assert kit.count("orders") == 9
    compact(kit.lake())
    assert (kit.count("orders"), len(kit.lake().files("orders"))) == (9, 1)


def test_a_vacuum_that_dies_at_any_file_leaves_all_whole(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it gets one file further than the time before."""
    for number in range(INTERVAL + 2):
        kit.commit(kit.file("orders"), removes=tuple(file.data_file() for file in _live(kit, number)))
    real, left = type(kit.location).delete, [0]

    def delete(location: Any, *parts: str) -> None:
        if not left[0]:
            raise KilledError
        left[0] -= 1
        real(location, *parts)

    monkeypatch.setattr(type(kit.location), "delete", delete)
    deaths, ended = 0, False
    while not ended:
        left[0] = deaths % 3 + 1
        try:
            vacuum(kit.location, keep_ns=0, grace_ns=0)
            ended = True
        except KilledError:
            deaths += 1
        assert kit.count("orders") == 3
    assert deaths > 5
    assert on_disk(kit) == 1
    assert kit.commit(kit.file("orders")) == INTERVAL + 3


def _live(kit: Kit, number: int) -> list[Any]:
    return kit.lake().files("orders") if number else []
