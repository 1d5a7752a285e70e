"""Files of messages without datagrams give the lake that their captures give: each message came when it was
sent, by its own words."""

import gzip
from pathlib import Path

from pregao.lake.lake import Lake
from pregao.lake.plan.index import FileIndex
from pregao.lake.plan.scan import ScanSettings, scan_capture
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.captures import read_capture
from tests.kits.lakes import build, rows_of

OF_THE_FEEDS = ("ts_recv", "ts_recv_a", "ts_recv_b", "ts_recv_us", "first_feed")
ABOUT_FEEDS = frozenset(("units", "packets", "latency", "quality", "news"))


def test_a_day_of_framed_messages(tmp_path: Path) -> None:
    settings = short_day(
        out=tmp_path / "day", system="fast", seed=9, messages=400, instruments=4, loops=4, trading=12.0
    )
    for _ in Simulation(settings).days():
        pass
    captures = sorted((tmp_path / "day").rglob("184_*.pcap"))
    assert len(captures) == 6
    folder = tmp_path / "framed"
    folder.mkdir()
    framed = [folder / f"{path.stem}.fast" for path in captures]
    for number, path in enumerate(captures):
        content = b"".join(packet.payload for packet in read_capture(path))
        framed[number].write_bytes(gzip.compress(content) if number % 2 else content)
    build(captures, tmp_path / "lake", system="fast", slices=1)
    build(framed, tmp_path / "other", system="fast", slices=1, scratch=str(tmp_path / "scratch"))
    lakes = [Lake(tmp_path / name, system="fast") for name in ("lake", "other")]
    for table in DATA_TABLES:
        if table not in ABOUT_FEEDS:
            rows, found = (rows_of(lake, table, without=OF_THE_FEEDS) for lake in lakes)
            assert found == rows, table
    orders = lakes[1].arrow("orders").to_pylist()
    assert len(orders) > 10
    assert all(row["ts_recv_a"] == row["ts_send"] for row in orders)
    _check_cut(framed[0], tmp_path)


def _check_cut(path: Path, folder: Path) -> None:
    """What is left over is told, and all before it counts."""
    content = path.read_bytes()
    whole, cut = (_scanned(path, folder, content), _scanned(path, folder, content[:-3]))
    assert not whole.layout.damage
    assert len(cut.layout.damage) == 1
    assert cut.streams[0].packets == whole.streams[0].packets - 1


def _scanned(path: Path, folder: Path, content: bytes) -> FileIndex:
    path.write_bytes(content)
    return scan_capture(str(path), ScanSettings(system="fast", scratch=str(folder / "scratch")))
