"""Captures and lake in an S3 store: the same tables, and every command works there."""

import gzip
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pregao.cli.main import main
from pregao.lake.lake import Lake
from pregao.lake.plan.captures import PieceReader
from pregao.lake.plan.contents import CaptureForm
from pregao.lake.plan.index_arrow import to_bytes
from pregao.lake.plan.ranges import ranges_of
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.scanning import Scanning
from pregao.lake.plan.stored import look
from pregao.lake.runners import InlineRunner
from pregao.lake.store import deltatables
from pregao.lake.store.deltalog import DeltaLog, FasterError, ready_log
from pregao.lake.store.location import Location
from pregao.lake.tables.messages import TRADES
from pregao.model.errors import CaptureError
from pregao.simulator import Settings, Simulation
from tests.kits.lakes import all_tables, build, make_days

from .object_store import ObjectStore, object_store

CHANNEL = "084"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with pytest.MonkeyPatch.context() as patch, object_store(tmp_path_factory.mktemp("s3")) as running:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One channel; feed B as it comes from elsewhere."""
    (day,) = make_days(
        tmp_path_factory.mktemp("days"), seed=5, faults="loss=1%,both=4", loops=12, messages=1_500
    )
    folder = tmp_path_factory.mktemp("captures")
    for file in day.glob(f"{CHANNEL}_*.pcap"):
        if "FeedB" in file.name:
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 1))
        else:
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.fixture(scope="module")
def stored(store: ObjectStore, captures: Path) -> str:
    for file in captures.iterdir():
        store.put(store.uri("captures", "day", file.name), file.read_bytes())
    store.put(store.uri("captures", "notes.txt"), b"not a capture")
    return store.uri("captures")


@pytest.fixture(scope="module")
def lake(store: ObjectStore, stored: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    place, scratch = store.uri("lake"), str(tmp_path_factory.mktemp("scratch"))
    done = store.pregao("build", stored, "--lake", place, "--scratch", scratch, "--no-computed")
    assert done.returncode == 0, done.stderr
    assert "lake version 1" in done.stderr
    return place


def test_a_large_object_is_scanned_in_ranges(store: ObjectStore, stored: str) -> None:
    """Each range by requests of its own; nothing is hashed, for the store has a tag."""
    path = f"{stored}/day/{CHANNEL}_Incremental_FeedA.pcap"
    settings = ScanSettings(range_bytes=40_000)
    assert ranges_of(look(path), settings) > 3
    place = Location(store.uri("indexes"))
    (index,) = Scanning(place, InlineRunner(), settings).indexes([path], lambda *_: None)
    assert to_bytes([index]) == to_bytes([scan_capture(path, settings)])
    assert index.content.startswith("version ")


def test_the_tables_are_those_of_a_local_build(lake: str, captures: Path, tmp_path: Path) -> None:
    here = tmp_path / "lake"
    build([captures], here, scratch=str(tmp_path / "scratch"))
    expected, found = all_tables(here), all_tables(lake)
    for table, rows in expected.items():
        assert found[table] == rows, table
    for table in ("orders", "trades", "quotes", "depth", "quality"):
        assert expected[table], table


def test_journals_of_sessions_are_built_from_a_store(store: ObjectStore, tmp_path: Path) -> None:
    day = tmp_path / "day"
    Simulation(Settings(day, messages=300, instruments=6, squeeze=120, seed=3, beside=("conflated",))).run()
    (journal,) = (day / "conflated").rglob("*.pcap.zst")
    store.put(store.uri("journals", journal.name), journal.read_bytes())
    build([store.uri("journals")], store.uri("journal-lake"), system="conflated")
    build([journal], tmp_path / "lake", system="conflated")
    expected, found = all_tables(tmp_path / "lake"), all_tables(store.uri("journal-lake"))
    assert expected["orders"]
    for table, rows in expected.items():
        assert found[table] == rows, table


def test_a_rerun_reads_no_capture(store: ObjectStore, stored: str, lake: str) -> None:
    asked, read = (store.requests(verb, "captures/day") for verb in ("HEAD", "GET"))
    done = store.pregao("build", stored, "--lake", lake, "--no-computed")
    assert done.returncode == 0, done.stderr
    assert "nothing to do; 1 unchanged, lake version 1" in done.stderr
    assert store.requests("GET", "captures/day") == read
    assert store.requests("HEAD", "captures/day") > asked


def test_tables_query_and_book(store: ObjectStore, lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "--lake", lake, "--format", "json"]) == 0
    rows = {row["table"]: row["rows"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["trades"] > 0
    queried = store.pregao("query", "select count(*) as n from trades", "--lake", lake, "--format", "json")
    assert queried.returncode == 0, queried.stderr
    assert json.loads(queried.stdout) == {"n": rows["trades"]}
    quote = Lake(lake).arrow("quotes", "bid_price is not null").slice(0, 1).to_pylist()[0]
    assert main(["book", quote["symbol"], "--at", str(quote["ts_event"]), "--lake", lake,
                 "--format", "json"]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["bids"]


def test_of_many_that_commit_the_same_version_the_store_lets_in_one(store: ObjectStore) -> None:
    """All at once: one that comes later is refused by deltalake, which sees the entry and never asks."""
    refused = "0001.json HTTP/1.1", "412"
    for number in range(10):
        location = Location(store.uri(f"contested{number}"))
        outcomes = _at_once([ready_log(location, TRADES) for _ in range(8)])
        assert sorted(outcomes) == ["lost"] * 7 + ["won"]
        assert ready_log(location, TRADES).version == 1
        if store.answers(*refused):
            return
    pytest.fail("the store was never asked to refuse")


def _at_once(logs: list[DeltaLog]) -> list[str]:
    gate, outcomes = threading.Barrier(len(logs)), []

    def commit(log: DeltaLog) -> None:
        gate.wait()
        try:
            log.commit([], [], 1, 0)
            outcomes.append("won")
        except FasterError:
            outcomes.append("lost")

    threads = [threading.Thread(target=commit, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_an_entry_is_one_request_however_many_files_a_table_has(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would open the table first, and list its files."""
    location = Location(store.uri("lake-of-entries"))
    ready_log(location, TRADES)

    def asked(*_: object) -> None:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(deltatables, "_open", asked)
    assert [ready_log(location, TRADES).commit([], [], number, 0) for number in (1, 2)] == [1, 2]
    late = DeltaLog(location, TRADES, 1)
    with pytest.raises(FasterError):
        late.commit([], [], 3, 0)
    monkeypatch.undo()
    table = DeltaTable(location.full(TRADES.name), storage_options=location.storage_options)
    assert (table.version(), table.transaction_version("pregao.lake")) == (2, 2)


def test_errors_name_the_object(store: ObjectStore, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = store.uri("nothing")
    assert main(["build", nothing, "--lake", store.uri("lake-of-nothing")]) != 0
    assert f"{nothing}: no such file or directory" in capsys.readouterr().err
    with pytest.raises(CaptureError, match=r"^s3://bucket/nothing/a\.pcap: no such file"):
        scan_capture(store.uri("nothing", "a.pcap"))


@pytest.mark.parametrize("ending", [".pcap", ".pcap.gz"])
def test_a_slice_does_not_read_what_was_not_planned(
    store: ObjectStore, captures: Path, tmp_path: Path, ending: str
) -> None:
    """An object that was replaced; and one whose unpacked copy is on another machine."""
    source = next(file for file in sorted(captures.iterdir()) if file.name.endswith(ending))
    uri = store.uri("replaced", source.name)
    store.put(uri, source.read_bytes())
    layout = scan_capture(uri, ScanSettings(scratch=str(tmp_path / "here"), piece_packets=16)).layout
    assert layout.form is (CaptureForm.PLAIN if ending == ".pcap" else CaptureForm.UNPACKED)
    layout.scratch = str(tmp_path / "another machine")
    local = scan_capture(str(source), ScanSettings(scratch=str(tmp_path / "local"), piece_packets=16)).layout
    assert layout.pieces == local.pieces
    for number in (len(layout.pieces) - 1, 0):
        found, expected = PieceReader(layout).read(number), PieceReader(local).read(number)
        assert found.ts.tolist() == expected.ts.tolist()
        assert found.length.tolist() == expected.length.tolist()
    store.put(uri, source.read_bytes() + b"more")
    with pytest.raises(CaptureError, match=f"^{uri}: has changed since it was planned"):
        PieceReader(layout).read(0)


def test_slices_changes_compact_and_vacuum(
    store: ObjectStore, captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Spark, cut into slices that each read their own ranges."""
    folder, lake, here = store.uri("cut"), store.uri("lake-in-slices"), tmp_path / "here"
    for file in captures.iterdir():
        store.put(f"{folder}/{file.name}", file.read_bytes())
    scratch = str(tmp_path / "scratch")
    report = build([folder], lake, slices=3, scratch=scratch)
    assert report.slices == 3
    build([captures], here, slices=1, scratch=scratch)
    assert all_tables(lake) == all_tables(here)

    name = next(file.name for file in captures.iterdir() if "FeedA" in file.name)
    whole = (captures / name).read_bytes()
    store.put(f"{folder}/{name}", whole + whole[24:])  # every packet twice
    assert build([folder], lake, slices=3, scratch=scratch).version == 2
    after = all_tables(lake)
    assert after["packets"] != all_tables(here)["packets"]
    assert after["orders"] == all_tables(here)["orders"]

    assert len(Lake(lake).files("orders")) == 3
    assert main(["compact", "--lake", lake, "--no-progress"]) == 0
    assert main(["vacuum", "--lake", lake, "--keep-days", "0", "--orphan-days", "0", "--no-progress"]) == 0
    assert "2 versions" in capsys.readouterr().err
    assert [version.number for version in Lake(lake).versions()] == [3]
    assert len(Lake(lake).files("orders")) == 1
    assert all_tables(lake) == after
