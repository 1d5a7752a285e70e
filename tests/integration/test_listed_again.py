"""Instruments that are deleted and listed again under their old ids: their rptSeq goes on (7.4.1), so a first
report that is not the first of all is no loss. However a day is cut into slices."""

from pathlib import Path
from typing import Any

import pytest

from pregao.lake.lake import Lake
from tests.kits.lakes import all_tables, build, make_days
from tests.kits.streams import feed, rotate, streamer

DAYS: dict[str, dict[str, Any]] = {
    "strategies of a day": {"seed": 5, "messages": 700, "instruments": None, "squeeze": 30},
    "many listings": {"seed": 9, "messages": 600, "instruments": 30, "loops": 60, "relistings": 240},
}
# What says that something of an instrument was missed.
MISSED = {"HEAL", "STALE_SPAN", "SNAPSHOT_MISMATCH"}


@pytest.fixture(scope="module", params=DAYS)
def captures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    (day,) = make_days(tmp_path_factory.mktemp("day"), **DAYS[request.param])
    return sorted(day.glob("*.pcap"))


def test_nothing_is_missed_of_an_instrument_that_comes_again(captures: list[Path], tmp_path: Path) -> None:
    build(captures, tmp_path / "lake", slices=1)
    lake = Lake(tmp_path / "lake")
    assert len(_that_go_on(lake)) >= 3
    found = lake.arrow("quality").to_pylist()
    assert [row for row in found if row["finding"] in MISSED] == []


@pytest.mark.parametrize("with_snapshots", [True, False])
def test_slices_do_not_matter(with_snapshots: bool, captures: list[Path], tmp_path: Path) -> None:
    chosen = [path for path in captures if with_snapshots or "Snapshot" not in path.name]
    for slices in (1, 5):
        build(chosen, tmp_path / f"lake{slices}", slices=slices)
    expected, found = all_tables(tmp_path / "lake1"), all_tables(tmp_path / "lake5")
    assert {name: rows for name, rows in found.items() if rows != expected[name]} == {}


def _that_go_on(lake: Lake) -> set[int]:
    """Ids whose first report after they came again is not the first of all."""
    listed: dict[int, list[int]] = {}
    for row in lake.arrow("instruments").sort_by("valid_from").to_pylist():
        if row["seq_num"]:
            listed.setdefault(row["security_id"], []).append(row["valid_from"])
    firsts: dict[int, tuple[int, int]] = {}
    for table in ("orders", "statistics", "states", "bands", "trades"):
        for row in lake.arrow(table).to_pylist():
            times = listed.get(row["security_id"], [])
            if len(times) > 1 and row["rpt_seq"] and row["ts_event"] + 10**9 > times[-1]:
                told = row["seq_num"], row["rpt_seq"]
                firsts[row["security_id"]] = min(told, firsts.get(row["security_id"], told))
    return {each for each, (_, rpt_seq) in firsts.items() if rpt_seq > 1}


def test_a_stream_is_the_build(captures: list[Path], tmp_path: Path) -> None:
    """A batch begins behind deletions of batches before it."""
    build(captures, tmp_path / "built")
    stream = streamer(tmp_path / "lake", tmp_path / "checkpoint")
    for files in rotate(captures[0].parent, tmp_path / "captures", 60):
        feed(stream, files)
    feed(stream, [], finish=True)
    expected, found = all_tables(tmp_path / "built"), all_tables(tmp_path / "lake")
    assert {name: rows for name, rows in found.items() if rows != expected[name]} == {}
