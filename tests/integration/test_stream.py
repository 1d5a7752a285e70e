"""Captures that come piece by piece: in the end the same tables as of all captures at once, whatever comes
late, is lost or dies on the way."""

import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pregao.jobs.stream import StreamRequest, stream_lake
from pregao.lake import unit_work
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.ledger import Ledger
from pregao.lake.store.location import Location
from pregao.lake.streaming import step_tables
from pregao.lake.streaming.source import BatchReport, StreamSettings
from pregao.lake.streaming.streamer import Streamer
from pregao.lake.tasks.run import SliceDone
from tests.kits.lakes import all_tables, build, make_days
from tests.kits.streams import SECOND_NS, BuiltDay, KilledError, feed, rotate, streamer

TWO_CHANNELS = "0[67]8"


class Day(BuiltDay):
    """On two channels."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 120, TWO_CHANNELS)
        self.files = [file for files in self.periods for file in files]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    found = Day(tmp_path_factory.mktemp("streamed"))
    assert len(found.periods) > 6
    quality = " ".join(found.tables["quality"])
    assert "GAP" in quality
    assert "ONE_SIDED_LOSS" in quality
    return found


def test_batches_add_up_to_the_build(day: Day, tmp_path: Path) -> None:
    stream, lake = streamer(tmp_path / "lake", tmp_path / "checkpoint"), tmp_path / "lake"
    rows = []
    for files in day.periods:
        report = feed(stream, files)
        assert report.files == len(files)
        assert not report.finished
        rows.append(sum(Lake(lake).version.tables[name].rows for name in ("orders", "packets")))
    assert rows == sorted(rows)  # what has been shown stays
    assert rows[0] < rows[len(rows) // 2] < rows[-1]
    report = feed(stream, [], finish=True)
    assert len(report.finished) == 2
    assert day.equals(lake)
    assert not feed(stream, day.files, finish=True).units  # again: nothing
    again = build([day.captures], lake)
    assert (again.units, len(again.unchanged)) == ([], 2)  # the build takes it for its own


def test_what_a_task_gets_has_no_symbols_in_it(day: Day, tmp_path: Path) -> None:
    """They are a file that its slices share, and gone after the batch."""
    sent: list[bytes] = []

    class Watched(InlineRunner):
        def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
            sent.extend(item for item in items if isinstance(item, bytes))
            return super().run(task, items, progress)

    lake = tmp_path / "lake"
    settings = StreamSettings(derive=False, piece_packets=16)
    stream = Streamer(Location(lake), Watched(), tmp_path / "checkpoint", settings)
    for files in day.periods[:3]:
        feed(stream, files)
    symbols = Lake(lake).arrow("orders", columns=["symbol"])["symbol"].unique().to_pylist()
    assert sent
    assert symbols
    assert not any(symbol.encode() in item for symbol in symbols if symbol for item in sent)
    assert list((lake / "_shared").iterdir()) == []


def test_tables_that_no_slice_writes_are_tasks_of_each_unit(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they are large. What a task is sent and sends back is pickled, as Spark does it. Findings of one
    slice that has many are a file, which the driver never reads."""
    ran: list[str] = []
    sent_back: list[Any] = []

    class Tasks(InlineRunner):
        def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
            ran.extend([task.func.__name__] * len(items))
            sent = pickle.loads(pickle.dumps((task, list(items))))
            done = list(pickle.loads(pickle.dumps(super().run(*sent, progress))))
            sent_back.extend(done)
            return done

    monkeypatch.setattr(step_tables, "HERE_ROWS", 0)
    monkeypatch.setattr(unit_work, "MOST_FINDINGS", 0)
    settings = StreamSettings(derive=False, piece_packets=16)
    stream = Streamer(Location(tmp_path / "lake"), Tasks(), tmp_path / "checkpoint", settings)
    half = len(day.periods) // 2
    for files in (day.periods[:half], day.periods[half:]):
        feed(stream, [file for each in files for file in each])
    feed(stream, [], finish=True)
    assert day.equals(tmp_path / "lake")
    assert ran.count("_write_stored") >= 4
    slices = [each for each in sent_back if isinstance(each, SliceDone)]
    assert any(each.stored_findings for each in slices)
    assert not any(each.findings for each in slices)
    assert not [path for path in (tmp_path / "lake" / "_shared").rglob("*") if path.is_file()]


def test_rows_of_earlier_batches_stay_as_they_are(day: Day, tmp_path: Path) -> None:
    stream = streamer(tmp_path / "lake", tmp_path / "checkpoint")
    seen: dict[str, set[str]] = {}
    built_again = 0
    for files in day.periods:
        report = feed(stream, files)
        built_again += report.rebuilt
        found = {file.path for file in Lake(tmp_path / "lake").files("packets")}
        gone = seen.get("packets", set()) - found
        assert len(gone) <= report.rebuilt
        seen["packets"] = found
    assert built_again <= 4  # only before the first snapshot loop that a slice can begin with
    assert len(seen["packets"]) > 6


def test_after_any_batch_the_lake_is_a_part_of_the_build(day: Day, tmp_path: Path) -> None:
    """Nothing is shown that is not so in the end: no packet is called missing while it may still come."""
    stream = streamer(tmp_path / "lake", tmp_path / "checkpoint")
    for files in day.periods[:-1]:
        later = [file for file in files if "FeedB" in file.name]
        feed(stream, [file for file in files if file not in later])
        feed(stream, later)
        found = all_tables(tmp_path / "lake")
        for table in ("packets", "orders", "trades", "quotes", "depth"):
            assert set(found[table]) <= set(day.tables[table]), table
    assert len(found["packets"]) > len(day.tables["packets"]) // 2


def test_a_feed_that_is_silent_is_not_waited_for(day: Day, tmp_path: Path) -> None:
    """Feed B comes when all is over: what it tells replaces what was built without it."""
    stream, lake = (
        streamer(tmp_path / "lake", tmp_path / "checkpoint", wait_ns=10 * SECOND_NS),
        tmp_path / "lake",
    )
    of_b = [file for file in day.files if "Incremental_FeedB" in file.name]
    for files in day.periods:
        feed(stream, [file for file in files if file not in of_b])
    states = set(Lake(lake).arrow("packets")["state_b"].to_pylist())
    assert states == {None}
    assert Lake(lake).arrow("packets").num_rows > 100
    before = Lake(lake).version.number
    report = feed(stream, of_b)
    assert report.rebuilt > 2
    assert report.version == before + 1  # one commit
    feed(stream, [], finish=True)
    assert day.equals(lake)


@pytest.mark.parametrize("what", ["Incremental_FeedA", "SnapshotRecovery", "InstrumentDefinition"])
def test_a_late_file_replaces_what_it_changes(day: Day, what: str, tmp_path: Path) -> None:
    stream, lake = streamer(tmp_path / "lake", tmp_path / "checkpoint", wait_ns=0), tmp_path / "lake"
    middle = len(day.periods) // 2
    late = [file for file in day.periods[middle] if what in file.name and file.name.startswith("068")]
    if what == "InstrumentDefinition":  # nobody knows a name until it comes
        late = [file for file in day.files if what in file.name and file.name.startswith("068")]
    assert late
    for files in day.periods:
        feed(stream, [file for file in files if file not in late])
    feed(stream, [], finish=True)
    segments = Lake(lake).arrow("packets", "channel = 78")["build_id"].to_pylist()
    report = feed(stream, late)
    assert [unit.channel for unit in report.units] == [68]  # the other channel is left alone
    assert Lake(lake).arrow("packets", "channel = 78")["build_id"].to_pylist() == segments
    feed(stream, [], finish=True)
    assert day.equals(lake)


def test_the_checkpoint_may_be_lost(day: Day, tmp_path: Path) -> None:
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    given: list[Path] = []
    for number, files in enumerate(day.periods):
        given += files
        if number % 3 == 2:
            shutil.rmtree(checkpoint)
            feed(streamer(lake, checkpoint), given)  # all is found again
        else:
            feed(streamer(lake, checkpoint), files)  # as a process that was started again
    feed(streamer(lake, checkpoint), [], finish=True)
    assert day.equals(lake)
    assert len(list(checkpoint.iterdir())) == 1


def dying_at(count: int) -> Callable[[str], None]:
    """After so many steps of commits."""
    left = [count]

    def after(_: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise KilledError

    return after


def test_killed_between_any_two_steps_of_a_commit(day: Day, tmp_path: Path) -> None:
    """Each batch dies a step later than the one before, is started again, and dies again or not."""
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    feed(streamer(lake, checkpoint), day.periods[0] + day.periods[1])
    step, deaths = 0, 0
    for files in day.periods[2:]:
        for _ in range(4):
            step += 1
            seen = Lake(lake).version.number
            try:
                feed(streamer(lake, checkpoint, after=dying_at(step)), files)
                break
            except KilledError:
                deaths += 1
                assert Lake(lake).version.number - seen in (0, 1)
        else:
            feed(streamer(lake, checkpoint), files)
    feed(streamer(lake, checkpoint), [], finish=True)
    assert deaths >= 12
    assert day.equals(lake)
    assert not Ledger(Location(lake)).pending


def test_a_process_that_is_killed_twice(day: Day, tmp_path: Path) -> None:
    lake, checkpoint = tmp_path / "lake", tmp_path / "checkpoint"
    command = [
        sys.executable, "-m", "tests.integration.stream_process", str(day.captures), str(lake),
        str(checkpoint),
    ]  # fmt: skip
    for batch in (2, 5):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(f"batch {batch}"):  # the next one is under way
                    process.kill()
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.endswith("finished\n")
    assert day.equals(lake)


def test_a_file_that_cannot_be_read_is_left_out(day: Day, tmp_path: Path) -> None:
    stream = streamer(tmp_path / "lake", tmp_path / "checkpoint")
    broken = tmp_path / "068_Incremental_FeedA_20261116T110000Z.pcap"
    broken.write_bytes(b"no capture at all, whatever its name says")
    report = feed(stream, [*day.periods[0], broken])
    assert [path for path, _ in report.left_out] == [str(broken)]


# Days


def test_a_day_that_is_over_is_finished_and_compacted(tmp_path: Path) -> None:
    days = make_days(tmp_path / "days", seed=5, days=2, messages=500, faults="both=2,loss=0.5%,reorder=10:4")
    periods = [files for day in days for files in rotate(day, tmp_path / "captures", 240, "078")]
    lake, stream = tmp_path / "lake", streamer(tmp_path / "lake", tmp_path / "checkpoint")
    reports = [feed(stream, files) for files in periods]
    finished = [key for report in reports for key in report.finished]
    assert [key.trade_date.isoformat() for key in finished] == ["2026-11-16"]
    assert sum(report.compacted for report in reports) > 10
    first_day = [
        file for file in Lake(lake).files("packets") if str(file.partition["trade_date"]) == "2026-11-16"
    ]
    assert len(first_day) == 1
    feed(stream, [], finish=True)
    build([tmp_path / "captures"], tmp_path / "built")
    expected, found = all_tables(tmp_path / "built"), all_tables(lake)
    for table, rows in expected.items():
        assert found[table] == rows, table


def test_a_late_capture_of_an_archived_day_does_not_block_the_stream(tmp_path: Path) -> None:
    """Monday's captures are gone when one more of them comes: Monday stays as it is, a finding says so, and
    Thursday goes on."""
    days = make_days(tmp_path / "days", seed=6, days=4, messages=300)
    each_day = [rotate(day, tmp_path / day.name, 400, "078") for day in days]
    monday = [file for files in each_day[0] for file in files]
    late = next(file for file in monday if "FeedB" in file.name)
    lake, stream = tmp_path / "lake", streamer(tmp_path / "lake", tmp_path / "checkpoint")
    feed(stream, [file for file in monday if file != late])
    for files in each_day[1:3]:
        feed(stream, [file for period in files for file in period])
    before = Lake(lake).arrow("orders", "trade_date = '2026-11-16'").num_rows
    assert before > 0
    for file in monday:
        if file != late:
            file.unlink()
    report = feed(stream, [late])
    assert [path for path, _ in report.left_out] == [str(late)]
    (finding,) = Lake(lake).arrow("quality", "finding = 'DAMAGED_INPUT'").to_pylist()
    assert str(finding["trade_date"]) == "2026-11-16"
    assert str(late) in finding["detail"]
    assert "is not there any more" in finding["detail"]
    first, *rest = each_day[3]
    assert feed(stream, first).left_out == []  # it is told once
    for files in rest:
        feed(stream, files)
    report = feed(stream, [], finish=True)
    assert [key.trade_date.isoformat() for key in report.finished] == ["2026-11-19"]
    again = streamer(lake, tmp_path / "another checkpoint")  # nothing is known any more: all comes again
    files = [late, *(file for day in each_day[2:] for period in day for file in period)]
    assert [path for path, _ in feed(again, files, finish=True).left_out] == [str(late)]
    assert Lake(lake).arrow("quality", "finding = 'DAMAGED_INPUT'").num_rows == 1
    assert Lake(lake).arrow("orders", "trade_date = '2026-11-16'").num_rows == before


# On Spark


def test_structured_streaming_drives_it(day: Day, spark: Any, tmp_path: Path) -> None:
    """Twice once: the second time with a late file, a lost checkpoint and a file that is being written."""
    folder, lake, checkpoint = tmp_path / "captures", tmp_path / "lake", tmp_path / "checkpoint"
    folder.mkdir()
    mine = [file for files in day.periods[:5] for file in files if file.name.startswith("078")]
    late = [file for file in mine if "FeedA" in file.name][1]
    first, rest = mine[: len(mine) // 2], mine[len(mine) // 2 :]
    for file in first:
        if file != late:
            shutil.copy(file, folder)
    (folder / f"{rest[0].name}.part").write_bytes(b"not whole yet")
    told: list[BatchReport] = []
    request = StreamRequest(
        str(folder), str(lake), str(checkpoint), every_s=None, most_files=6, settings={"piece_packets": 16}
    )
    stream_lake(request, Event(), told.append, spark=spark)
    assert len(told) >= 3  # batches of six, and the end
    assert told[-1].finished
    kept = [path for path in checkpoint.rglob("*") if path.is_file()]
    assert len(kept) < 40
    note = Lake(lake).arrow("commits", "operation = 'stream'")["note"].to_pylist()
    assert any('"query"' in each and '"batch": 0' in each for each in note)
    shutil.rmtree(checkpoint)
    for file in [late, *rest]:
        shutil.copy(file, folder)
    (folder / f"{rest[0].name}.part").unlink()
    stream_lake(request, Event(), told.append, spark=spark)
    settings = BuildSettings(piece_packets=16)
    Builder(Location(tmp_path / "built"), InlineRunner(), settings).build([str(folder)])
    expected, found = all_tables(tmp_path / "built"), all_tables(lake)
    assert expected["bars"]
    for table, rows in expected.items():
        assert found[table] == rows, table
    version = Lake(lake).version.number
    stream_lake(request, Event(), told.append, spark=spark)
    assert Lake(lake).version.number == version  # nothing is new, nothing is done


def test_it_goes_on_until_it_is_told_to_stop(day: Day, spark: Any, tmp_path: Path) -> None:
    folder, lake, stop = tmp_path / "captures", tmp_path / "lake", Event()
    folder.mkdir()
    mine = [[file for file in files if file.name.startswith("068")] for files in day.periods[:3]]
    waiting = iter(mine)
    told: list[BatchReport] = []

    def more(report: BatchReport | None = None) -> None:
        """The next files appear when the last batch is done."""
        if report is not None:
            told.append(report)
        files = next(waiting, None)
        if files is None:
            stop.set()
        else:
            for file in files:
                shutil.copy(file, folder / f".{file.name}")
                (folder / f".{file.name}").rename(folder / file.name)

    more()
    request = StreamRequest(
        str(folder), str(lake), every_s=0.2, settings={"piece_packets": 16, "derive": False}
    )
    stream_lake(request, stop, more, spark=spark)
    assert len(told) >= 3
    assert [len(report.finished) for report in told] == [0] * (len(told) - 1) + [1]
    build([file for files in mine for file in files], tmp_path / "built")
    assert all_tables(lake) == all_tables(tmp_path / "built")
