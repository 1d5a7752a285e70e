"""Where captures are cut must not matter: a day in many files, of a few packets each, gives the rows of the
same day in one file for each stream."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pregao.lake.lake import Lake
from pregao.lake.plan.anchors import find_loops
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.plan.units import find_units
from tests.kits.lakes import SMALL_PIECES, all_tables, build, make_days

HEADER, RECORD = 24, 16  # bytes of the file's header and of a record's


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With losses on both feeds, so that loops have something to heal; and with instruments that come, change
    and go while loops of definitions tell what they were before."""
    (made,) = make_days(
        tmp_path_factory.mktemp("cut") / "captures", seed=23, messages=3_000, loops=12, faults="loss=1%@A+B",
        relistings=60,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def whole(day: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    lake = tmp_path_factory.mktemp("whole") / "lake"
    build([day], lake)
    return all_tables(lake)


def records(content: bytes) -> Iterator[bytes]:
    at = HEADER
    while at < len(content):
        size = RECORD + int.from_bytes(content[at + 8 : at + 12], "little")
        yield content[at : at + size]
        at += size


def cut(day: Path, folder: Path, random: Random, most: int) -> Path:
    """Each capture in files of up to `most` packets."""
    folder.mkdir()
    for path in sorted(day.glob("*.pcap")):
        content = path.read_bytes()
        packets, number = list(records(content)), 0
        while packets:
            size = random.randint(1, most)
            part, packets = packets[:size], packets[size:]
            (folder / f"{path.stem}_{number:05}.pcap").write_bytes(content[:HEADER] + b"".join(part))
            number += 1
    return folder


def differences(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, Any]:
    return {
        table: [sorted(set(a[table]) - set(b[table]))[:3] for a, b in ((one, other), (other, one))]
        for table in one
        if one[table] != other[table]
    }


@pytest.mark.parametrize("most", [400, 25])
def test_rows_are_the_same_wherever_files_are_cut(
    day: Path, whole: dict[str, list[str]], tmp_path: Path, most: int
) -> None:
    parts = cut(day, tmp_path / "parts", Random(f"cut/{most}"), most)
    build([parts], tmp_path / "lake")
    assert differences(whole, all_tables(tmp_path / "lake")) == {}


def test_files_shorter_than_a_loop_have_anchors(day: Path, tmp_path: Path) -> None:
    """As many slices can be built at once as of whole files."""
    settings = ScanSettings(piece_packets=SMALL_PIECES)
    parts = cut(day, tmp_path / "parts", Random("anchors"), 3)
    files = {"whole": sorted(day.glob("*.pcap")), "parts": sorted(parts.glob("*.pcap"))}
    anchors = {}
    for name, paths in files.items():
        units = find_units([scan_capture(str(path), settings) for path in paths])
        loops = [[loop for loop in find_loops(unit) if loop.is_anchor] for unit in units]
        anchors[name] = [[(loop.first, loop.last, len(loop.places)) for loop in each] for each in loops]
    assert sum(map(len, anchors["whole"])) > 5
    assert anchors["parts"] == anchors["whole"]
    report = build([parts], tmp_path / "lake", slices=4, channels=frozenset({72}))
    assert report.slices == 4
    assert Lake(tmp_path / "lake").arrow("orders").num_rows
