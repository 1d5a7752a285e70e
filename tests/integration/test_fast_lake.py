"""A lake of UMDF FIX/FAST, through the port: units by channel and day, rows that do not depend on how the
work was cut, and the same figures as a lake of Binary UMDF of the same day."""

import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from pregao.feeds.registry import load_decoding
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import SparkRunner
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.captures import read_capture
from tests.kits.lakes import OF_THE_BUILD, SMALL_PIECES, build

MBO = 100  # added to the channel of Binary
MS = 1_000_000
FROM_SNAPSHOT = 32_768  # of msg_index: what the first snapshot tells of before


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
    """Nothing is lost but what the other feed has."""
    folder = tmp_path_factory.mktemp("fast-lake") / "days"
    return _simulate(
        folder, seed=5, messages=1_200, instruments=8, loops=6, trading=12.0,
        faults="reset=1xbook@?,gap=2x5@A", relistings=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def lake(days: Days, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return _build(days, tmp_path_factory.mktemp("fast-lake-built"))


@pytest.fixture(scope="module")
def binary(days: Days, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("binary-lake-built")
    build(days.binary, path, piece_packets=4096)
    return Lake(path)


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Days:
    folder = tmp_path_factory.mktemp("fast-lake-lossy") / "days"
    return _simulate(
        folder, seed=6, messages=500, instruments=4, loops=8, trading=12.0,
        faults="loss=1%,both=2x3,reset=1xchannel@?",
    )  # fmt: skip


def _build(days: Days, path: Path, **settings: Any) -> Lake:
    report = build([days.fast], path, system="fast", slices=1, piece_packets=4096, **settings)
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
            if row["msg_index"] is not None and row["msg_index"] < FROM_SNAPSHOT
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


def test_rows_do_not_depend_on_the_cuts(lossy: Days, tmp_path: Path) -> None:
    """Messages in several datagrams lie over the ends of pieces, and slices begin in the middle."""
    channels = frozenset(int(each) for each in _channels(lossy) if 180 < int(each) < 220)
    assert len(channels) > 1  # of orders and of levels
    whole = _build(lossy, tmp_path / "whole", channels=channels)
    assert {row["finding"] for row in whole.arrow("quality").to_pylist()} >= {"GAP", "HEAL"}
    for slices, pieces in ((1, SMALL_PIECES), (4, 64)):
        path = tmp_path / f"{slices}-{pieces}"
        report = build(
            [lossy.fast], path, system="fast", slices=slices, piece_packets=pieces, channels=channels
        )
        assert slices == 1 or report.slices > len(report.units)
        for table in DATA_TABLES:
            if table != "units":
                assert _rows(Lake(path), table, channels) == _rows(whole, table, channels), table


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


# Price levels and the best level


_TOP = ("bid_price", "bid_size", "bid_orders", "offer_price", "offer_size", "offer_orders")
_LEVELS = [f"{side}_{name}_{level}" for side in ("bid", "offer") for name in ("price", "size", "orders")
           for level in range(1, 6)]  # fmt: skip


def _told(lake: Lake, table: str, channel: int, columns: Sequence[str], when: str) -> dict[int, list[Any]]:
    """What a channel's table tells of each instrument, in the order of the stream."""
    found: dict[int, list[Any]] = {}
    rows = lake.arrow(table, {"source": [str(channel)]}).to_pylist()
    for row in sorted(rows, key=lambda row: (row["seq_version"], row["seq_num"], row["msg_index"] or 0)):
        found.setdefault(row["security_id"], []).append((row[when], *(row[name] for name in columns)))
    return found


@pytest.mark.parametrize(("added", "deep"), [(130, 5), (160, 1)])
def test_levels_feed_quotes_and_depth(days: Days, lake: Lake, added: int, deep: int) -> None:
    """As orders of the same instruments do; of themselves they have no orders."""
    levels = [name for name in _LEVELS if int(name.rpartition("_")[2]) <= deep]
    compared = 0
    for channel in (int(each) for each in _channels(days) if 160 < int(each) < 196):
        other = channel - MBO + added
        assert not lake.arrow("orders", {"source": [str(other)]}).num_rows
        assert not lake.arrow("book_checkpoints", {"source": [str(other)]}).num_rows
        orders = _told(lake, "quotes", channel, _TOP, "ts_event")
        assert _told(lake, "quotes", other, _TOP, "ts_event") == orders
        ends = {security_id: rows[-1] for security_id, rows in
                _told(lake, "depth", channel, levels, "ts_sample").items()}  # fmt: skip
        for security_id, rows in _told(lake, "depth", other, levels, "ts_sample").items():
            assert rows[-1][1:] == ends[security_id][1:]
        compared += sum(map(len, orders.values()))
    assert compared > 100
    findings = {row["finding"] for row in lake.arrow("quality").to_pylist()}
    assert findings.isdisjoint({"SNAPSHOT_MISMATCH", "DAMAGED_INPUT", "FEEDS_DIFFER", "GAP"})


def test_figures_of_the_day_are_those_of_b3(tmp_path: Path) -> None:
    """Totals of the day before and of the after-market, and trades that may not open, among them."""
    days = _simulate(tmp_path / "days", seed=4, messages=4_000, instruments=40, loops=4, trading=12.0)
    lake = _build(days, tmp_path / "lake", derive=True)
    assert not lake.arrow("quality", "finding = 'STATISTIC_DIFFERS'").to_pylist()
    agreed = [row["agrees"] for row in lake.arrow("daily", columns=["agrees"]).to_pylist()]
    assert agreed.count(True) > 20
    assert False not in agreed


def test_trades_that_nobody_brings_back_lie_in_a_span_that_is_told(tmp_path: Path) -> None:
    """Snapshots heal books and have no trades (6.1): by the exchange's own list of them."""
    days = _simulate(
        tmp_path / "days", seed=9, messages=1_500, instruments=6, loops=8, trading=12.0, faults="both=6x25"
    )
    lake, (date,) = _build(days, tmp_path / "lake"), days.dates
    truth = pq.read_table(days.fast / date / "truth" / "events" / "trade.parquet").to_pylist()
    keys = ("channel", "trade_id", "security_id")
    found = {tuple(row[key] for key in keys) for row in lake.arrow("trades").to_pylist()}
    last: dict[int, int] = {}
    for row in lake.arrow("packets").to_pylist():
        last[row["channel"]] = max(last.get(row["channel"], 0), row["seq_num"])
    # Of what every feed lost to the end of the day nothing on the stream tells.
    lost = [
        row for row in truth
        if tuple(row[key] for key in keys) not in found and row["seq_num"] < last[row["channel"]]
    ]  # fmt: skip
    gaps = lake.arrow("quality", "finding = 'GAP'").to_pylist()
    assert len(lost) > 50
    for trade in lost:
        assert any(
            gap["channel"] == trade["channel"]
            and gap["first_seq_num"] <= trade["seq_num"] <= gap["last_seq_num"]
            for gap in gaps
        ), trade


# What only this system tells


def test_lending_contracts_have_columns_of_their_own(lake: Lake) -> None:
    orders, trades = (lake.arrow(table, {"source": ["61"]}).to_pylist() for table in ("orders", "trades"))
    orders = [row for row in orders if row["action"] == "ADD"]
    assert orders
    assert trades
    assert {row["md_stream"] for row in (*orders, *trades)} == {"L"}
    assert {type(row["expire_date"]) for row in orders} == {date}
    assert all(row["expire_date"] > row["trade_date"] for row in orders)
    assert {row["early_termination"] for row in orders} - {None}
    assert any(row["grace_date"] is not None for row in trades)
    assert {row["contract_info"] for row in trades} - {None}
    others = [row for row in lake.arrow("trades").to_pylist() if row["md_stream"] != "L"]
    assert others
    names = ("expire_date", "early_termination", "cert_indicator", "contract_info", "grace_date")
    assert all(row[name] is None for row in others for name in names)


def test_indices_volatilities_and_totals(days: Days, lake: Lake) -> None:
    """As the messages say, read one by one by the plain decoder."""
    told = Counter[str]()
    parts: list[tuple[Any, ...]] = []
    for path in days.fast.rglob("*_Incremental_FeedB.pcap"):
        for entry in _entries(path):
            told[entry["MDEntryType"]] += 1
            if entry["MDEntryType"] == "D":
                parts += [(entry["SecurityID"], entry["IndexSeq"], part["UnderlyingSecurityID"])
                          for part in entry["Underlyings"]]  # fmt: skip
    indices = lake.arrow("indices").to_pylist()
    kinds = Counter(row["kind"] for row in indices)
    assert (kinds["INDEX"], kinds["COMPOSITE"]) == (told["3"], told["D"])
    assert told["3"]
    assert told["D"]
    found = [(row["security_id"], row["sequence"], part["security_id"])
             for row in indices if row["parts"] for part in row["parts"]]  # fmt: skip
    assert sorted(found) == sorted(parts)
    assert all(part["price"] is not None for row in indices for part in row["parts"] or ())
    volatilities = lake.arrow("volatilities").to_pylist()
    totals = [row for row in lake.arrow("totals").to_pylist() if row["msg_index"] < FROM_SNAPSHOT]
    assert (len(volatilities), len(totals)) == (told["v"], told["B"])
    assert all(row["delta"] is not None for row in volatilities if row["action"] != "DELETE")
    assert {row["md_stream"] for row in totals} >= {"E", "L"}
    assert all(row["currency"] == "BRL" for row in totals if row["money"] is not None)


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    decoder = load_decoding("fast").decoder(None)
    for packet in read_capture(path):
        for unit in decoder.decode(packet.payload):
            for placed in unit.messages:
                fields = placed.message.fields or {}
                yield from fields.get("MDEntries", ())


# Beside Binary UMDF


def _pairs(days: Days, binary: Lake) -> Iterator[tuple[str, str]]:
    """Channels of Binary UMDF, and those of orders that tell the same instruments."""
    for channel in sorted({file.partition["source"] for file in binary.files("packets")}):
        if str(int(channel) + MBO) in _channels(days):
            yield channel, str(int(channel) + MBO)


def _in_ms(ns: int | None) -> int | None:
    return None if ns is None else ns // MS * MS


def _table(lake: Lake, table: str, source: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lake.arrow(table, {"source": [source]}).to_pylist()
    return rows


def test_trades_are_those_of_binary(days: Days, lake: Lake, binary: Lake) -> None:
    """But for sub-types, sessions and who began them, which this system does not tell, and trades of systems
    that it does not name (10.1)."""
    names = ("security_id", "symbol", "action", "trade_id", "price", "size", "buyer", "seller")
    compared = 0
    for ours, theirs in _pairs(days, binary):
        mine, other = ([(*(row[name] for name in names), _in_ms(row["ts_event"]))
                        for row in _table(each, "trades", source)]
                       for each, source in ((binary, ours), (lake, theirs)))  # fmt: skip
        assert sorted(other, key=repr) == sorted(mine, key=repr)
        compared += len(mine)
    assert compared > 20


def test_books_are_those_of_binary(days: Days, lake: Lake, binary: Lake) -> None:
    """At the end of every second in which one changed, and after every event that changed the best."""
    levels = [f"{side}_{name}_{level}" for side in ("bid", "offer") for name in ("price", "size", "orders")
              for level in range(1, 11)]  # fmt: skip
    compared = 0
    for ours, theirs in _pairs(days, binary):
        for table, columns, when in (("depth", levels, "ts_sample"), ("quotes", _TOP, "ts_event")):
            mine, other = (_told(each, table, int(source), columns, when)
                           for each, source in ((binary, ours), (lake, theirs)))  # fmt: skip
            assert mine.keys() == other.keys()
            for security_id, rows in mine.items():
                assert _changes(other[security_id]) == _changes(rows), (theirs, security_id, table)
                compared += len(rows)
    assert compared > 200


def _changes(rows: list[Any]) -> list[Any]:
    """Without what is told again as it was: the systems tell an event in messages of their own."""
    found: list[Any] = []
    for when, *levels in rows:
        if not found or found[-1][1] != levels:
            found.append((_in_ms(when), levels))
    return found


def test_statistics_are_those_of_binary(days: Days, lake: Lake, binary: Lake) -> None:
    """Where both tell them: Binary UMDF has no VWAP of its own, this system no last trade but at the start of
    a week, and volumes also of other streams."""
    kinds = ("OPENING", "HIGH", "LOW", "CLOSING", "THEORETICAL")
    compared = Counter[str]()
    for ours, theirs in _pairs(days, binary):
        mine, other = (_prices(_table(each, "statistics", source), kinds)
                       for each, source in ((binary, ours), (lake, theirs)))  # fmt: skip
        for kind in kinds:
            assert mine[kind] == other[kind], kind
            compared[kind] += len(mine[kind])
    assert all(compared[kind] for kind in ("OPENING", "HIGH", "LOW", "CLOSING")), compared


def _prices(rows: list[dict[str, Any]], kinds: Sequence[str]) -> dict[str, set[tuple[int, Any]]]:
    """Instruments and prices of each kind that were told and not taken back."""
    told = [row for row in rows if row["action"] != "DELETE" and row["md_stream"] in (None, "E")]
    return {kind: {(row["security_id"], row["price"]) for row in told if row["kind"] == kind}
            for kind in kinds}  # fmt: skip
