"""What can go wrong while captures become a lake: told by name, nothing is lost, and then it works."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.build import Builder, BuildSettings
from pregao.lake.errors import LakeConflictError, LakeDamagedError, LakeError, LakeFullError
from pregao.lake.lake import Lake
from pregao.lake.maintenance.vacuum import vacuum
from pregao.lake.plan.stored import LocalFile
from pregao.lake.runners import InlineRunner, SparkRunner
from pregao.lake.store import committer
from pregao.lake.store.intent import write_intent
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.model.errors import CaptureError
from tests.kits.lakes import all_tables, build, make_days

CHANNEL, OTHER = 84, 78
FEED_B = f"{CHANNEL:03}_Incremental_FeedB.pcap"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("day")
    (made,) = make_days(folder, seed=3, messages=1500, faults="both=3,loss=0.5%")
    return made


@pytest.fixture(scope="module")
def plain(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an undisturbed build makes of two channels."""
    lake = tmp_path_factory.mktemp("plain") / "lake"
    build(captures_of(day, CHANNEL, OTHER), lake)
    return lake


@pytest.fixture
def lake(plain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(plain, tmp_path / "lake"))


@pytest.fixture
def captures(day: Path, tmp_path: Path) -> Path:
    """Those of one channel, to be spoilt."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for file in captures_of(day, CHANNEL):
        shutil.copy(file, folder)
    return folder


def captures_of(day: Path, *channels: int) -> list[Path]:
    return [file for channel in channels for file in sorted(day.glob(f"{channel:03}_*.pcap"))]


# Captures


def overwrite(file: Path) -> None:
    file.write_text("this is a letter, whatever its name says\n" * 20)


def break_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("gone"))


def fail_to_read(file: Path) -> None:
    """The first page of a process cannot be read by itself: EIO, as from a broken disk."""
    file.unlink()
    file.symlink_to("/proc/self/mem")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (overwrite, "is not a capture"),
        (break_link, "no such file or directory"),
        (fail_to_read, "input/output error"),
    ],
)
def test_a_capture_that_cannot_be_read_is_named(
    captures: Path, plain: Path, lake: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(captures / FEED_B)
    with pytest.raises(CaptureError, match=reason) as error:
        build([captures], lake)
    assert error.value.file == str(captures / FEED_B)
    assert all_tables(lake) == all_tables(plain)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read a file")
def test_a_capture_that_may_not_be_read_is_named(captures: Path) -> None:
    from pregao.lake.plan.scan import scan_capture

    (captures / FEED_B).chmod(0)
    for folder in (captures, *captures.parents[:3]):  # pytest's own are for root alone
        folder.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(CaptureError, match="permission denied") as error:
            scan_capture(str(captures / FEED_B))
    finally:
        os.seteuid(0)
    assert error.value.file == str(captures / FEED_B)


def test_what_is_whole_of_a_truncated_capture_is_used(captures: Path, tmp_path: Path) -> None:
    """Feed B ends in the middle of a record: A has the rest, and the damage is told."""
    build([captures], tmp_path / "before")
    content = (captures / FEED_B).read_bytes()
    (captures / FEED_B).write_bytes(content[: len(content) // 2 + 3])
    build([captures], tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    (damage,) = lake.arrow("quality", "finding = 'DAMAGED_INPUT'").to_pylist()
    assert FEED_B in damage["detail"]
    assert "record-truncated" in damage["detail"]
    states = lake.arrow("packets")["state_b"].to_pylist()
    before = Lake(tmp_path / "before").arrow("packets")["state_b"].to_pylist()
    assert 0.3 < sum(state != "MISSING" for state in states) / sum(s != "MISSING" for s in before) < 0.7
    orders = [row["seq_num"] for row in lake.arrow("orders").to_pylist()]
    assert max(orders) == max(row["seq_num"] for row in Lake(tmp_path / "before").arrow("orders").to_pylist())


@pytest.mark.parametrize("reads", [1, 2, 9])
def test_a_capture_that_is_truncated_while_it_is_read_is_named(
    captures: Path, plain: Path, lake: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """By the scan, by the hash or by the slices."""
    file, done = captures / FEED_B, []
    size, read = file.stat().st_size, LocalFile.bytes_between

    def truncate_and_read(self: LocalFile, start: int, end: int) -> Any:
        if self._name == str(file):
            done.append(start)
            if len(done) == reads:
                os.truncate(file, size // 3)
        return read(self, start, end)

    monkeypatch.setattr(LocalFile, "bytes_between", truncate_and_read)
    with pytest.raises(CaptureError, match=r"has become shorter|has changed since|changes while") as error:
        build([captures], lake)
    assert len(done) >= reads
    assert error.value.file == str(file)
    assert all_tables(lake) == all_tables(plain)


def test_a_capture_that_is_truncated_between_scan_and_slices_is_named(
    captures: Path, plain: Path, lake: Path
) -> None:
    file = captures / FEED_B

    class Truncating(InlineRunner):
        """Before the slices, which come after the scan."""

        stages = 0

        def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
            self.stages += 1
            if self.stages == 2:
                os.truncate(file, file.stat().st_size // 3)
            return super().run(task, items, progress)

    builder = Builder(Location(lake), Truncating(), BuildSettings(piece_packets=16, derive=False))
    with pytest.raises(CaptureError, match="has changed since it was planned") as error:
        builder.build([str(captures)])
    assert error.value.file == str(file)
    assert all_tables(lake) == all_tables(plain)


# A full disk


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", self.folder], check=True)

    def used(self) -> int:
        about = os.statvfs(self.folder)
        return (about.f_blocks - about.f_bfree) * about.f_frsize


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("a disk that can fill up needs root, who may mount one")
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", folder], check=True)


def test_wherever_the_disk_fills_up_nothing_is_lost(disk: SmallDisk, day: Path, plain: Path) -> None:
    """A little more room at each try: it ends in data files first, then in the intent, in the logs of
    tables, in the commit. What is seen is the old lake until it is the new one."""
    lake = disk.folder / "lake"
    build(captures_of(day, CHANNEL), lake)
    before, after = all_tables(lake), all_tables(plain)
    # Most of the room that it takes in all is given at once, because a try takes a second.
    vacuum(Location(lake), grace_ns=0)
    room = disk.used() + used_by(plain) - used_by(lake) - 96 * 1024
    failed: list[str] = []
    while True:
        disk.resize(room)
        full = where_it_is_full(captures_of(day, OTHER), lake)
        if not full:
            break
        assert full.startswith(str(lake))
        failed.append(full)
        assert all_tables(lake) == before
        assert len(failed) < 40
        vacuum(Location(lake), grace_ns=0)
        room += 12 * 1024
    assert failed
    assert all_tables(lake) == after


def where_it_is_full(captures: list[Path], lake: Path) -> str:
    """The file for which there was no room; none when all went well."""
    try:
        build(captures, lake)
    except LakeFullError as error:
        return error.file
    return ""


def used_by(folder: Path) -> int:
    """Pages of a file system in memory."""
    return sum(-(-file.stat().st_size // 4096) * 4096 for file in folder.rglob("*") if file.is_file())


def test_a_file_that_may_not_grow_further_is_named(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for those who may not mount: Arrow tells a full disk in the middle of a table."""
    import pyarrow.parquet as pq

    write = pq.ParquetWriter.write_table

    def full(self: Any, table: Any, **options: Any) -> None:
        if "trade_id" in table.schema.names:
            raise OSError(28, "No space left on device")
        write(self, table, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", full)
        with pytest.raises(LakeFullError, match="no space left") as error:
            build([captures], tmp_path / "lake")
    assert error.value.file.startswith(str(tmp_path / "lake" / "trades"))
    assert not Path(error.value.file).exists()
    build([captures], tmp_path / "lake")
    build([captures], tmp_path / "plain")
    assert all_tables(tmp_path / "lake") == all_tables(tmp_path / "plain")


# Files of the lake


def file_of(lake: Path, table: str) -> Path:
    opened = Lake(lake)
    file = next(file for file in opened.files(table) if file.partition["source"] == str(CHANNEL))
    return Path(opened.location.path(table, file.path))


def spoil_parquet(file: Path, how: str) -> None:
    content = bytearray(file.read_bytes())
    if how == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif how == "missing":
        file.unlink()
    else:
        content[-6] ^= 0x10  # of the footer's own length
        file.write_bytes(content)


@pytest.mark.parametrize("how", ["cut", "footer", "missing"])
@pytest.mark.parametrize("table", ["trades", "quality", "units"])
def test_a_damaged_file_of_the_lake_is_named_and_built_again(
    day: Path, plain: Path, lake: Path, table: str, how: str
) -> None:
    damaged = file_of(lake, table)
    spoil_parquet(damaged, how)
    with pytest.raises(LakeDamagedError) as error:
        Lake(lake).arrow(table)
    assert error.value.file == str(damaged)
    assert Lake(lake).arrow("orders").equals(Lake(plain).arrow("orders"))
    build(captures_of(day, CHANNEL, OTHER), lake, rebuild=True, channels=frozenset((CHANNEL,)))
    assert all_tables(lake) == all_tables(plain)
    assert Lake(lake).arrow("units").num_rows == 2


def test_a_flipped_bit_in_the_data_never_gives_other_rows(plain: Path, lake: Path) -> None:
    """Pages have checksums. Footers have none: that is Parquet's."""
    damaged, rows = file_of(lake, "trades"), Lake(plain).arrow("trades")
    content = damaged.read_bytes()
    data = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    told = 0
    for place in range(4, data, data // 40):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        damaged.write_bytes(flipped)
        try:
            assert Lake(lake).arrow("trades").equals(rows)
        except LakeDamagedError:
            told += 1
    assert told > 20


def test_a_unit_whose_row_is_damaged_is_built_again_without_being_asked(
    day: Path, plain: Path, lake: Path
) -> None:
    spoil_parquet(file_of(lake, "units"), "cut")
    report = build(captures_of(day, CHANNEL, OTHER), lake)
    assert [unit.channel for unit in report.units] == [CHANNEL]
    assert all_tables(lake) == all_tables(plain)


def log_of(lake: Path, table: str) -> list[Path]:
    return sorted((lake / table / "_delta_log").glob("*.json"))


@pytest.mark.parametrize("content", [b"", b'{"add": {"path": "trade_da'], ids=["empty", "half"])
def test_a_damaged_log_is_named_and_other_tables_stay(
    day: Path, plain: Path, lake: Path, content: bytes
) -> None:
    """An empty entry would be taken for one in which nothing happened: its rows would be gone."""
    entry = log_of(lake, "trades")[-1]
    whole = entry.read_bytes()
    entry.write_bytes(content)
    for wanted in (lambda: Lake(lake).arrow("trades"), lambda: build([day], lake, rebuild=True)):
        with pytest.raises(LakeDamagedError) as error:
            wanted()
        assert error.value.file == str(entry)
    assert Lake(lake).arrow("orders").equals(Lake(plain).arrow("orders"))
    entry.write_bytes(whole)
    assert all_tables(lake) == all_tables(plain)


@pytest.mark.parametrize("content", [b"", b'{"add": {"path": "lake_ver'], ids=["empty", "half"])
@pytest.mark.parametrize("table", ["trades", "intents"])
def test_an_entry_that_no_version_needs_disturbs_no_reader(
    captures: Path, plain: Path, lake: Path, table: str, content: bytes
) -> None:
    """Something that died between two tables, on a file system that does not write whole files."""
    last = log_of(lake, table)[-1]
    entry = last.with_name(f"{int(last.stem) + 1:020}.json")
    entry.write_bytes(content)
    assert all_tables(lake) == all_tables(plain)
    if content or table == "intents":
        with pytest.raises(LakeDamagedError) as error:
            build([captures], lake, rebuild=True)
        assert error.value.file == str(entry)
    assert all_tables(lake) == all_tables(plain)
    entry.unlink()
    build([captures], lake, rebuild=True)
    assert all_tables(lake) == all_tables(plain)


@pytest.mark.parametrize("content", [b"", b'{"add": {"path": "lake_ver'], ids=["empty", "half"])
def test_a_damaged_log_of_versions_is_never_taken_for_an_empty_lake(
    captures: Path, lake: Path, content: bytes
) -> None:
    entry = log_of(lake, "commits")[-1]
    entry.write_bytes(content)
    for wanted in (lambda: Lake(lake), lambda: build([captures], lake)):
        with pytest.raises(LakeDamagedError) as error:
            wanted()
        assert error.value.file == str(entry)


class KilledError(BaseException):
    pass


def test_a_damaged_intent_is_given_up(
    day: Path, plain: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build died after its claim, and its plan is lost: the lake stays, the next build goes on."""

    def write_half(location: Location, intent: Any) -> Any:
        file = write_intent(location, intent)
        path = Path(location.path("intents", file.path))
        path.write_bytes(path.read_bytes()[:100])
        return file

    def die(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(committer, "write_intent", write_half)
        patch.setattr(committer.Committer, "_roll_forward", die)
        with pytest.raises(KilledError):
            build(captures_of(day, CHANNEL), lake, rebuild=True)
    assert Ledger(Location(lake)).pending == [2]
    assert all_tables(lake) == all_tables(plain)
    report = build(captures_of(day, CHANNEL, OTHER), lake, rebuild=True)
    assert report.version == 3
    assert [version.number for version in Lake(lake).versions()] == [1, 3]
    assert all_tables(lake) == all_tables(plain)


# Two builds at once


def build_elsewhere(captures: list[Path], lake: Path, rebuild: bool) -> str:
    try:
        build(captures, lake, rebuild=rebuild)
    except LakeConflictError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def builders() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(str, range(2)))
        yield pool


def at_once(pool: ProcessPoolExecutor, *wanted: tuple[list[Path], Path, bool]) -> list[str]:
    """What each says: nothing when it has committed."""
    running: list[Future[str]] = [pool.submit(build_elsewhere, *each) for each in wanted]
    return [each.result() for each in running]


@pytest.mark.parametrize("rebuild", [False, True], ids=["first", "again"])
def test_two_builds_of_the_same_unit_at_once(
    builders: ProcessPoolExecutor, day: Path, plain: Path, tmp_path: Path, rebuild: bool
) -> None:
    lake = Path(shutil.copytree(plain, tmp_path / "lake")) if rebuild else tmp_path / "lake"
    captures = captures_of(day, CHANNEL, OTHER)
    said = at_once(builders, (captures, lake, rebuild), (captures, lake, rebuild))
    assert "" in said
    for complaint in filter(None, said):
        assert "another build" in complaint
        assert "run it again" in complaint
    assert all_tables(lake) == all_tables(plain)
    assert Ledger(Location(lake)).pending == []


def test_two_builds_of_other_units_at_once(
    builders: ProcessPoolExecutor, day: Path, plain: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    wanted = [(captures_of(day, channel), lake, False) for channel in (CHANNEL, OTHER)]
    assert at_once(builders, *wanted) == ["", ""]
    assert all_tables(lake) == all_tables(plain)


# Spark


def die_always(_: Any) -> None:
    os._exit(9)


def test_a_worker_that_always_dies_is_told_in_one_line(spark: Any) -> None:
    with pytest.raises(LakeError, match="a Python worker has died") as error:
        SparkRunner(spark).run(die_always, [1, 2], lambda done, total: None)
    assert "\n" not in str(error.value)


def test_damaged_trades_are_repaired_though_what_they_say_of_other_dates_is_lost(
    spark: Any, day: Path, tmp_path: Path
) -> None:
    """Trades of the lake are read for what they say of other dates, also those that are to go."""
    lake = tmp_path / "lake"

    def build_on_spark(**settings: Any) -> None:
        builder = Builder(Location(lake), SparkRunner(spark), BuildSettings(**settings))
        builder.build([str(file) for file in captures_of(day, CHANNEL)])

    build_on_spark()
    before = all_tables(lake)
    spoil_parquet(file_of(lake, "trades"), "cut")
    spoil_parquet(file_of(lake, "bars"), "missing")
    build_on_spark(rebuild=True)
    assert all_tables(lake) == before
