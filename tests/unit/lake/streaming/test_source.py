"""Captures of a folder as offsets: each once, the same again after a restart, none while it is written."""

import os
from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

from pregao.lake.plan.stored import look
from pregao.lake.streaming.source import FolderPartition, NewCaptures

START = {"captures": 0}


def reader(folder: Path, most: int = 0) -> NewCaptures:
    return NewCaptures(str(folder / "in"), folder / "captures.log", most)


def put(folder: Path, name: str, content: str = "x") -> str:
    path = folder / "in" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return str(path)


def names(found: NewCaptures, start: int, end: int) -> list[str]:
    rows = []
    for partition in found.partitions({"captures": start}, {"captures": end}):
        assert isinstance(partition, FolderPartition)
        rows += list(found.read(partition))
    return [Path(path).name for path, _, _ in rows]


def test_new_captures_move_the_offset(tmp_path: Path) -> None:
    put(tmp_path, "a.pcap.zst")
    put(tmp_path, "b.pcap.zst.part")
    found = reader(tmp_path)
    first = found.latestOffset(START, ReadAllAvailable())
    assert first == {"captures": 1}
    assert found.latestOffset(first, ReadAllAvailable()) == first
    put(tmp_path, "b.pcap.zst")
    assert found.latestOffset(first, ReadAllAvailable()) == {"captures": 2}
    assert names(found, 0, 2) == ["a.pcap.zst", "b.pcap.zst"]
    assert names(found, 2, 2) == []


def test_a_restart_has_the_same_rows(tmp_path: Path) -> None:
    for name in ("b.pcap", "c.pcap"):
        put(tmp_path, name)
    reader(tmp_path).latestOffset(START, ReadAllAvailable())
    put(tmp_path, "a.pcap")  # before the others by name
    again = reader(tmp_path)
    assert again.latestOffset({"captures": 2}, ReadAllAvailable()) == {"captures": 3}
    assert names(again, 0, 2) == ["b.pcap", "c.pcap"]
    assert names(again, 2, 3) == ["a.pcap"]


def test_a_capture_that_has_changed_is_another_one(tmp_path: Path) -> None:
    path = put(tmp_path, "a.pcap")
    found = reader(tmp_path)
    found.latestOffset(START, ReadAllAvailable())
    put(tmp_path, "a.pcap", "longer")
    assert found.latestOffset({"captures": 1}, ReadAllAvailable()) == {"captures": 2}
    (partition,) = found.partitions({"captures": 1}, {"captures": 2})
    assert list(found.read(partition)) == [tuple(look(path))]


def test_no_more_than_are_wanted(tmp_path: Path) -> None:
    for name in ("a.pcap", "b.pcap", "c.pcap"):
        put(tmp_path, name)
    found = reader(tmp_path, most=2)
    assert found.getDefaultReadLimit() == ReadMaxFiles(2)
    assert found.latestOffset(START, ReadMaxFiles(2)) == {"captures": 2}
    assert found.latestOffset({"captures": 2}, ReadMaxFiles(2)) == {"captures": 3}


def test_a_backlog_is_taken_in_the_order_of_time(tmp_path: Path) -> None:
    """By name a feed's captures of the whole day would come before any of the other feed."""
    for minute, name in enumerate(("A_1.pcap", "B_1.pcap", "A_2.pcap", "B_2.pcap")):
        os.utime(put(tmp_path, name), (minute, minute))
    found = reader(tmp_path, most=2)
    found.latestOffset(START, ReadMaxFiles(2))
    assert names(found, 0, 2) == ["A_1.pcap", "B_1.pcap"]
    assert names(found, 2, 4) == ["A_2.pcap", "B_2.pcap"]


def test_once_means_what_was_there_at_the_beginning(tmp_path: Path) -> None:
    put(tmp_path, "a.pcap")
    found = reader(tmp_path)
    found.prepareForTriggerAvailableNow()
    put(tmp_path, "b.pcap")
    first = found.latestOffset(START, ReadAllAvailable())
    assert first == {"captures": 1}
    assert found.latestOffset(first, ReadAllAvailable()) == first


def test_a_lost_log_finds_all_again_after_what_was_counted(tmp_path: Path) -> None:
    put(tmp_path, "a.pcap")
    assert reader(tmp_path).latestOffset({"captures": 7}, ReadAllAvailable()) == {"captures": 8}
    assert names(reader(tmp_path), 7, 8) == ["a.pcap"]


def test_captures_that_are_gone_leave_the_log(tmp_path: Path) -> None:
    put(tmp_path, "a.pcap")
    found = reader(tmp_path)
    found.latestOffset(START, ReadAllAvailable())
    (tmp_path / "in" / "a.pcap").unlink()
    put(tmp_path, "b.pcap")
    assert found.latestOffset({"captures": 1}, ReadAllAvailable()) == {"captures": 2}
    assert (tmp_path / "captures.log").read_text().count("\n") == 1
