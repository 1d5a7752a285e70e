"""A lake of UMDF FIX/FAST, through the port: units by channel and day, rows that do not depend on how the
work was cut, and the same figures as a lake of Binary UMDF of the same day."""

import shutil
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import SparkRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.lakes import OF_THE_BUILD, SMALL_PIECES, build

MBO = 100  # added to the channel of Binary
MS = 1_000_000


class Days(NamedTuple):
    """The same days in both systems: folders of captures."""

    binary: list[Path]
    fast: Path

    @property
    def dates(self) -> list[str]:
        return [folder.name for folder in self.binary]


def _simulate(folder: Path, **changes: Any) -> Days:
    for _ in Simulation(short_day(out=folder, beside=("fast",), **changes)).days():
        pass
    return Days(sorted(each for each in folder.glob("20*")), folder / "fast")


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    folder = tmp_path_factory.mktemp("fast-lake") / "days"
    return _simulate(
        folder, seed=5, messages=1_200, instruments=8, loops=6, trading=12.0,
        faults="reset=1xbook@?,loss=1%,both=2x3", relistings=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def lake(days: Days, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("fast-lake-built")
    report = build([days.fast], path, system="fast", slices=1, piece_packets=4096)
    assert not report.warnings
    return Lake(path, system="fast")


def _channels(days: Days) -> set[str]:
    """As file names say: nothing on the wire does."""
    return {str(int(path.name[:3])) for path in days.fast.rglob("*_Incremental_FeedA.pcap")}


def test_a_unit_is_a_channel_of_a_day(days: Days, lake: Lake) -> None:
    (date,) = days.dates
    found = {(file.partition["system"], file.partition["source"], str(file.partition["trade_date"]))
             for file in lake.files("packets")}  # fmt: skip
    assert found == {("fast", channel, date) for channel in _channels(days)}
    assert len(found) > 10


def test_every_row_says_where_it_came_from(lake: Lake) -> None:
    """Channel, sequence, number of the message and entry in it: no two rows of a table have the same."""
    for table in ("orders", "trades", "statistics", "bands", "imbalances", "states"):
        rows = lake.arrow(table).to_pylist()
        assert rows, table
        told = Counter(
            (row["source"], row["seq_version"], row["seq_num"], row["msg_index"], row["entry"])
            for row in rows
            if row["msg_index"] is not None and row["msg_index"] < 32_768
        )
        assert [place for place, times in told.items() if times > 1] == [], table
        assert all(row["ts_recv_a"] or row["ts_recv_b"] for row in rows), table


def test_times_are_those_of_entries(lake: Lake) -> None:
    """272 and 273 are the event, 37016 and 37017 when an order entered; both in milliseconds."""
    orders = [row for row in lake.arrow("orders").to_pylist() if row["action"] == "ADD"]
    assert {row["ts_event_kind"] for row in orders} == {"ENTRY"}
    assert all(row["ts_event"] % MS == 0 and row["ts_event"] <= row["ts_send"] for row in orders)
    entered = [row for row in orders if row["ts_inserted"] is not None]
    assert len(entered) > 50
    assert all(row["ts_inserted"] <= row["ts_event"] for row in entered)


@pytest.mark.parametrize(("slices", "pieces"), [(1, SMALL_PIECES), (4, 64)])
def test_rows_do_not_depend_on_the_cuts(
    days: Days, lake: Lake, slices: int, pieces: int, tmp_path: Path
) -> None:
    """Messages in several datagrams lie over the ends of pieces, and slices begin in the middle."""
    channels = frozenset(int(each) for each in _channels(days) if int(each) < 200)
    report = build(
        [days.fast], tmp_path / "lake", system="fast", slices=slices, piece_packets=pieces, channels=channels
    )
    assert slices == 1 or report.slices > len(report.units)
    other = Lake(tmp_path / "lake")
    for table in DATA_TABLES:
        if table != "units":
            assert _rows(other, table, channels) == _rows(lake, table, channels), table


def _rows(lake: Lake, table: str, channels: Collection[int]) -> list[str]:
    found = lake.arrow(table, {"source": [str(channel) for channel in channels]})
    names = [name for name in found.schema.names if name not in OF_THE_BUILD]
    return sorted(map(repr, found.select(names).to_pylist()))


def test_a_file_that_does_not_say_its_channel_is_told(days: Days, tmp_path: Path) -> None:
    """Its channel may be in the configuration, too: nothing on the wire says it."""
    source = next(days.fast.rglob("184_Incremental_FeedA.pcap"))
    (tmp_path / "captures").mkdir()
    shutil.copy(source, tmp_path / "captures" / "somewhere.pcap")
    report = build([tmp_path / "captures"], tmp_path / "lake", system="fast")
    assert report.units == []
    assert any("the channel of" in each and "somewhere.pcap" in each for each in report.warnings)


def test_workers_of_spark_build_the_same(days: Days, lake: Lake, spark: Any, tmp_path: Path) -> None:
    settings = BuildSettings(system="fast", slices=2, piece_packets=256, channels=frozenset({184}))
    report = Builder(Location(tmp_path), SparkRunner(spark), settings).build([str(days.fast)])
    assert [unit.source for unit in report.units] == ["184"]
    there = Lake(tmp_path)
    for table in ("orders", "trades", "statistics", "quotes", "book_checkpoints"):
        assert _rows(there, table, {184}) == _rows(lake, table, {184}), table
