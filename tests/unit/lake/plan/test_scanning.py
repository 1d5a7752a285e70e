"""Captures are scanned once, and only those of which something is wanted."""

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.plan import scanning
from pregao.lake.plan.scan import ScanSettings
from pregao.lake.plan.scanning import FOLDER, Scanning, WantedCaptures
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.simulator.sample import write_sample


class Reader(InlineRunner):
    """Knows which captures were scanned, and in how many tasks."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, ...]] = []

    def run(self, task: Any, items: Any, progress: Any) -> list[Any]:
        self.groups += items
        return super().run(task, items, progress)

    @property
    def names(self) -> list[str]:
        return [Path(path).name for group in self.groups for path in group]


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two channels, four files each."""
    folder = tmp_path_factory.mktemp("captures")
    return sorted(
        str(path) for channel in (72, 84) for path in write_sample(folder, messages=400, channel=channel)
    )


def scanned(
    lake: Path, files: list[str], wanted: WantedCaptures | None = None, **settings: Any
) -> tuple[Reader, Any]:
    runner = Reader()
    found = Scanning(Location(lake), runner, ScanSettings(**settings), wanted).indexes(files, lambda *_: None)
    return runner, found


def test_the_second_time_nothing_is_read(captures: list[str], tmp_path: Path) -> None:
    runner, first = scanned(tmp_path, captures)
    assert runner.names == [Path(path).name for path in captures]
    runner, again = scanned(tmp_path, captures)
    assert runner.names == []
    assert [index.path for index in again] == [index.path for index in first] == captures
    assert [index.content for index in again] == [index.content for index in first]


def test_one_channel_more_scans_one_channel(captures: list[str], tmp_path: Path) -> None:
    equities, derivatives = captures[4:], captures[:4]
    scanned(tmp_path, equities)
    runner, found = scanned(tmp_path, captures)
    assert runner.names == [Path(path).name for path in derivatives]
    assert len(found) == 8


def test_what_has_changed_is_scanned_again(captures: list[str], tmp_path: Path) -> None:
    path = tmp_path / Path(captures[0]).name
    shutil.copy(captures[0], path)
    scanned(tmp_path / "lake", [str(path)])
    path.write_bytes(path.read_bytes()[:-10])
    runner, (index,) = scanned(tmp_path / "lake", [str(path)])
    assert runner.names == [path.name]
    assert index.layout.damage
    assert scanned(tmp_path / "lake", [str(path)], piece_packets=16)[0].names == [path.name]


def test_a_stored_index_that_is_damaged_is_made_again(captures: list[str], tmp_path: Path) -> None:
    scanned(tmp_path, captures[:1])
    (stored,) = (tmp_path / FOLDER).iterdir()
    stored.write_bytes(b"no index")
    runner, found = scanned(tmp_path, captures[:1])
    assert runner.names == [Path(captures[0]).name]
    assert len(found) == 1
    assert scanned(tmp_path, captures[:1])[0].names == []


def test_a_channel_is_chosen_before_anything_is_scanned(captures: list[str], tmp_path: Path) -> None:
    runner, found = scanned(tmp_path, captures, WantedCaptures(channels=frozenset({84})))
    assert runner.names == [Path(path).name for path in captures[4:]]
    assert {stream.channel for index in found for stream in index.streams} == {84}
    # And of what the lake knows already.
    scanned(tmp_path, captures)
    runner, found = scanned(tmp_path, captures, WantedCaptures(channels=frozenset({84})))
    assert runner.names == []
    assert {stream.channel for index in found for stream in index.streams} == {84}


def test_a_name_that_is_wrong_hides_nothing(captures: list[str], tmp_path: Path) -> None:
    path = tmp_path / "072_Incremental_FeedA.pcap"
    shutil.copy(captures[4], path)  # of channel 84
    _, found = scanned(tmp_path / "lake", [str(path)], WantedCaptures(channels=frozenset({84})))
    assert [stream.channel for index in found for stream in index.streams] == [84]


def test_a_date_is_chosen_before_anything_is_scanned(captures: list[str], tmp_path: Path) -> None:
    day = date(2026, 11, 16)
    for days, files in ((0, 8), (-3, 0), (200, 8)):  # how long a file goes on its beginning does not tell
        wanted = WantedCaptures(dates=frozenset({day + timedelta(days=days)}))
        assert len(scanned(tmp_path / str(days), captures, wanted)[0].names) == files


def test_small_files_share_a_task(
    tmp_path: Path, captures: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for number in range(100):
        files.append(str(tmp_path / f"{number:03}_InstrumentDefinition.pcap"))
        shutil.copy(captures[2], files[-1])
    runner, found = scanned(tmp_path / "lake", files)
    assert 16 <= len(runner.groups) <= 20
    assert [index.path for index in found] == files
    monkeypatch.setattr(scanning, "_GROUP_BYTES", 1)
    assert len(scanned(tmp_path / "other", files)[0].groups) == 100
