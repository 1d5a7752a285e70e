"""A long slice is read in windows: what is built is the same, and memory is bounded."""

from pathlib import Path
from typing import Any

import pytest

from pregao.lake.plan import slicing
from pregao.lake.slices import machine as machines
from pregao.lake.tasks import run
from tests.kits.lakes import all_tables, build, make_days

WINDOW = 48
LOSSES = "loss=1%,both=6x2,gap=2x5@A,dup=0.5%,reorder=10:4,header=B"
RESETS = "both=0.5%,reset=channel@?,reset=2xbook@?,reset=failover@?"
DAYS: dict[str, dict[str, Any]] = {
    "losses": {"version": 16, "faults": LOSSES},
    "positions": {"version": 8, "faults": LOSSES},
    "resets": {"version": 17, "faults": RESETS},
    "two days": {"version": 16, "faults": "both=1%", "days": 2},
}


def windows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Packets that a machine has had at once, in each window."""
    sizes: list[int] = []
    begin = machines.SliceMachine._begin_window

    def counted(self: machines.SliceMachine, *args: Any) -> None:
        begin(self, *args)
        sizes.append(len(self.merged))

    monkeypatch.setattr(machines.SliceMachine, "_begin_window", counted)
    return sizes


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("day", DAYS)
def test_without_snapshots_windows_change_nothing(
    day: str, shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where an event goes on in the next window, and rows are written in stretches in between."""
    days = make_days(tmp_path / "days", seed=23, messages=1_200, **DAYS[day])
    captures = [path for each in days for path in each.glob("*.pcap") if "Snapshot" not in path.name]
    build(captures, tmp_path / "whole", slices=shards)
    sizes = windows_read(monkeypatch)
    monkeypatch.setattr(slicing, "WINDOW_PACKETS", WINDOW)
    monkeypatch.setattr(run, "STRETCH_ORDERS", 70)
    build(captures, tmp_path / "windows", slices=shards)
    assert len(sizes) > 5
    assert max(sizes) < 2 * WINDOW
    assert all_tables(tmp_path / "windows") == all_tables(tmp_path / "whole")


def cut_first_half(capture: Path) -> None:
    """Leave out the first half of its packets: what is heard of snapshots begins late."""
    data, at, records = capture.read_bytes(), 24, list[bytes]()
    while at < len(data):
        size = 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        records.append(data[at : at + size])
        at += size
    capture.write_bytes(data[:24] + b"".join(records[len(records) // 2 :]))


def test_what_comes_before_the_first_loop_is_read_in_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a loop tells stands at places all over it: it is in one window."""
    days = make_days(tmp_path / "days", seed=24, messages=1_200, faults=LOSSES, loops=6)
    captures = [path for each in days for path in each.glob("*.pcap")]
    for path in captures:
        if "Snapshot" in path.name:
            cut_first_half(path)
    build(captures, tmp_path / "whole", slices=1)
    sizes = windows_read(monkeypatch)
    monkeypatch.setattr(slicing, "WINDOW_PACKETS", WINDOW)
    build(captures, tmp_path / "windows", slices=1)
    assert sizes
    whole = all_tables(tmp_path / "whole")
    assert any("SNAPSHOT" in row for row in whole["book_checkpoints"])
    assert all_tables(tmp_path / "windows") == whole


@pytest.mark.parametrize("day", DAYS)
def test_a_slice_with_loops_is_read_in_windows_between_them(
    day: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = make_days(tmp_path / "days", seed=25, messages=1_200, loops=6, **DAYS[day])
    captures = [path for each in days for path in each.glob("*.pcap")]
    build(captures, tmp_path / "whole", slices=1)
    sizes = windows_read(monkeypatch)
    monkeypatch.setattr(slicing, "WINDOW_PACKETS", WINDOW)
    monkeypatch.setattr(run, "STRETCH_ORDERS", 70)
    build(captures, tmp_path / "windows", slices=1)
    assert len(sizes) > 5
    assert all_tables(tmp_path / "windows") == all_tables(tmp_path / "whole")
