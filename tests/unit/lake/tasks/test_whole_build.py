"""Every row and column of the tables of a day, against a plain build from the same captures."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.lake.lake import Lake
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.catalogue import find_table
from pregao.simulator.settings import FIRST_DATE
from tests.kits.lakes import OF_THE_BUILD, build, make_days
from tests.twins.lake.plain_build import TABLES, PlainBuild
from tests.twins.lake.plain_capture import PlainChannel

Key = tuple[Any, ...]
_KEY = ("seq_version", "seq_num", "msg_index", "entry", "security_id")


@pytest.fixture(scope="module", params=[8, 16, 17], ids="version{}".format)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp(f"day{request.param}")
    return make_days(out / "captures", seed=31, version=request.param, messages=2_500, coverage=True)[0]


@pytest.fixture(scope="module")
def lake(folder: Path) -> Lake:
    build([folder], folder.parent.parent / "lake", slices=3)
    return Lake(folder.parent.parent / "lake")


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[int, PlainBuild]:
    return {channel: _plain(folder, channel, FIRST_DATE) for channel in _channels(folder)}


def _plain(folder: Path, channel: int, day: date) -> PlainBuild:
    return PlainBuild(PlainChannel(folder, channel), day)


def _channels(folder: Path) -> list[int]:
    return sorted(int(path.name[:3]) for path in folder.glob("*_Incremental_FeedA.pcap"))


@pytest.mark.parametrize("table", TABLES)
def test_rows_and_columns_are_the_plain_ones(table: str, lake: Lake, expected: dict[int, PlainBuild]) -> None:
    seldom = {column.name for column in find_table(table).columns if column.seldom}  # of other systems
    columns = set(find_table(table).schema.names) - OF_THE_BUILD - seldom
    compared = 0
    for channel, plain in expected.items():
        rows = lake.arrow(table, f"channel = {channel}").to_pylist()
        # What the first snapshots tell is held to its twin in `slices`, and in `test_begun_midday.py`.
        found = _by_key([row for row in rows if not row["quality"] & Quality.FROM_SNAPSHOT])
        told = _by_key(plain.tables[table])
        assert found.keys() == told.keys()
        for key, row in told.items():
            assert row.keys() == columns
            # Before the first message tells a phase, a snapshot may have: the twin reads none.
            skipped = {"phase", "state"} if "phase" in row and row["phase"] is None else set[str]()
            names = columns - skipped
            assert {name: found[key][name] for name in names} == {name: row[name] for name in names}
            assert not any(found[key][name] is not None for name in seldom)
            compared += found[key].get("entry") in (0, None)
    assert compared == _counted(expected, table) > 0


# The messages that a table is made of, a row or several each.
_MESSAGES = {
    "orders": {"Order_MBO_50", "DeleteOrder_MBO_51", "MassDeleteOrders_MBO_52", "EmptyBook_9",
               "ChannelReset_11"},
    "trades": {"Trade_53", "ForwardTrade_54", "TradeBust_57"},
    "executions": {"ExecutionSummary_55"},
    "statistics": {"ExecutionStatistics_56", "OpeningPrice_15", "TheoreticalOpeningPrice_16",
                   "ClosingPrice_17", "HighPrice_24", "LowPrice_25", "LastTradePrice_27",
                   "SettlementPrice_28", "OpenInterest_29"},
    "bands": {"PriceBand_20", "PriceBand_22", "QuantityBand_21"},
    "imbalances": {"AuctionImbalance_19"},
    "states": {"SecurityStatus_3", "SecurityGroupPhase_10"},
}  # fmt: skip


def _counted(expected: dict[int, PlainBuild], table: str) -> int:
    """Messages of the captures by their names, each packet once; what books come to only the twin knows."""
    if table not in _MESSAGES:
        return sum(len(plain.tables[table]) for plain in expected.values())
    decoder = PacketDecoder(load_builtin_schema())
    payloads = (packet.payload for plain in expected.values() for packet in plain.channel.packets)
    messages = (placed.message for payload in payloads for placed in decoder.decode(payload).messages)
    return sum(message.name in _MESSAGES[table] for message in messages)


def _by_key(rows: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    found = {tuple(row.get(name) for name in _KEY): row for row in rows}
    assert len(found) == len(rows)  # where a row came from is what it is known by
    return found


FAULTS = "loss=2%,both=5,gap=2x4@A,dup=2%,reorder=15:5,header=B"


def test_packets_of_feeds_that_lose_repeat_and_reorder(tmp_path: Path) -> None:
    folder = make_days(tmp_path / "captures", seed=8, messages=900, faults=FAULTS)[0]
    build([folder], tmp_path / "lake", slices=2)
    lake, states = Lake(tmp_path / "lake"), set[str]()
    for channel in _channels(folder):
        found = lake.arrow("packets", f"channel = {channel}").to_pylist()
        columns = [name for name in found[0] if name not in OF_THE_BUILD]
        plain = PlainChannel(folder, channel)
        rows = PlainPackets(plain, FIRST_DATE).tables["packets"]
        assert _by_key([{name: row[name] for name in columns} for row in found]) == _by_key(rows)
        states |= {row[f"state_{feed}"] for row in rows for feed in "ab"}
    assert states == {"FIRST", "DUPLICATE", "LATE", "MISSING"}


class PlainPackets(PlainBuild):
    """After losses only what is said of packets is so plain."""

    def _tell(self, *_: Any) -> None:
        pass

    def _change(self, *_: Any) -> None:
        pass
