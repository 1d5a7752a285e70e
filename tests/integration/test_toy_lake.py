"""A lake of the toy system: nothing above `feeds` knows it. Orders and books are compared with what its
exchange did, on captures of which some packets are missing on one feed, and some on both."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from pregao.cli.main import main
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.registry import load_system
from pregao.lake.book_at import book_at
from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import SparkRunner, TaskError
from pregao.lake.store.location import Location
from pregao.lake.tables.analytics import Quality
from pregao.market import Market
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from tests.kits.lakes import SMALL_PIECES, all_tables, build
from tests.toy.exchange import CHANNEL, Orders, ToyExchange, ToyPacket

NAME: Final = "tests.toy.system:TOY"
SOURCE, GROUP = 0xC6336407, 0xE9FC0009  # of the documentation ranges
STEPS, BAD_PACKETS = 400, 700  # of some 870
_IN_DOUBT = Quality.AFTER_GAP | Quality.BOOK_UNKNOWN

Line = tuple[int, str]  # number of a message, and its text


@dataclass
class Moment:
    """Books after a packet, and which of them a lake can know: nothing of them is lost since a whole loop."""

    ts_ns: int
    books: dict[int, Orders]
    sure: set[int]


@dataclass
class Day:
    """What was heard by anybody, and the truth of it."""

    heard: list[Line] = field(default_factory=list)
    lost: list[Line] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)


def lines_of(packet: ToyPacket) -> list[Line]:
    head, *lines = packet.payload.decode().splitlines()
    first = int(head.split()[3])
    return [(first + place, line) for place, line in enumerate(lines)] if first else []


class Recorder:
    """Two files of the feeds and one of both loops, none with a name that says what it is."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._files = {name: (folder / f"{name}.pcap").open("wb") for name in ("one", "two", "loops")}
        for file in self._files.values():
            file.write(pcap_header())

    def take(self, packet: ToyPacket, feed: Feed) -> None:
        port = 9_000 + 10 * packet.stream + feed
        name = ("one" if feed is Feed.A else "two") if packet.stream is Stream.INCREMENTAL else "loops"
        frame = ethernet_udp_frame(packet.payload, src=SOURCE, dst=GROUP, src_port=port, dst_port=port)
        self._files[name].write(pcap_record(packet.ts_ns, frame))

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def record(seed: int, folder: Path, *, loss: float) -> Day:
    exchange, random, recorder, day = ToyExchange(seed), Random(f"lake/{seed}"), Recorder(folder), Day()
    unsure, is_whole = set[int](), True
    for count, packet in enumerate(exchange.day(STEPS)):
        chance = loss if count < BAD_PACKETS else 0.0  # then the network is well
        nobody = random.random() < chance
        feeds = [each for each in packet.feeds if not nobody and random.random() >= chance]
        for feed in feeds:
            recorder.take(packet, feed)
        lines = lines_of(packet)
        if packet.stream is Stream.INCREMENTAL and lines:
            (day.heard if feeds else day.lost).extend(lines)
            if feeds:
                sure = set(exchange.books) - unsure
                day.moments.append(Moment(packet.ts_ns, deepcopy(exchange.books), sure))
            else:
                unsure |= {int(line.split()[1]) for _, line in lines}
        elif packet.stream is Stream.SNAPSHOT:
            is_whole = (is_whole or lines[0][0] == 1) and bool(feeds)
            if lines[-1][1] == "R" and is_whole:
                unsure.clear()
    recorder.close()
    return day


def shown(lake: Lake, security_id: int, at_ns: int) -> tuple[Orders, int]:
    book = book_at(lake, f"TOY{security_id}", at_ns)
    sides = zip(Side, (book.bid_orders, book.offer_orders), strict=True)
    orders = {each.order_id: (int(side), each.price or 0, each.size) for side, told in sides for each in told}
    return orders, book.quality


def told_orders(day: Day) -> Iterator[tuple[Any, ...]]:
    """As the lines say: number, instrument, report, action, side, id, price, size."""
    for number, line in day.heard:
        kind, security_id, report, side, order, price, *size = line.split()
        how = ("ADD", int(size[0])) if kind == "O" else ("DELETE", None)
        yield number, int(security_id), int(report), how[0], int(side), int(order), int(price), how[1]


@pytest.mark.parametrize(("seed", "slices"), [(0, 1), (1, 4)])
def test_books_and_orders_are_the_exchange_s(seed: int, slices: int, tmp_path: Path) -> None:
    day = record(seed, tmp_path / "captures", loss=0.02)
    report = build([tmp_path / "captures"], tmp_path / "lake", system=NAME, slices=slices)
    assert not report.warnings
    lake = Lake(tmp_path / "lake")
    assert set(lake.arrow("instruments").column("symbol").to_pylist()) == {f"TOY{n}" for n in range(1, 6)}
    assert report.counts["messages"] == len(day.heard)
    _check_orders(lake, day)
    _check_gaps(lake, day)
    compared = 0
    for moment in [*day.moments[80::13], day.moments[-1]]:
        for security_id in moment.sure:
            compared += 1
            orders, _ = shown(lake, security_id, moment.ts_ns)
            assert orders == moment.books[security_id], (moment.ts_ns, security_id)
    assert compared > 50
    assert day.moments[-1].sure == set(range(1, 6))
    assert not any(shown(lake, each, day.moments[-1].ts_ns)[1] & _IN_DOUBT for each in range(1, 6))


def _check_orders(lake: Lake, day: Day) -> None:
    rows = [row for row in lake.arrow("orders").to_pylist() if row["action"] != "SNAPSHOT"]
    found = sorted(
        (row["seq_num"], row["security_id"], row["rpt_seq"], row["action"], Side[row["side"]].value,
         row["order_id"], int(row["price"] * 10_000), row["size"])
        for row in rows
    )  # fmt: skip
    assert found == sorted(told_orders(day))
    assert {row["channel"] for row in rows} == {CHANNEL}


def _check_gaps(lake: Lake, day: Day) -> None:
    """Every number that nobody heard is in a gap, and a report after a lost one of its book is in doubt."""
    gaps = [row for row in lake.arrow("quality").to_pylist() if row["finding"] == "GAP"]
    missing = {n for row in gaps for n in range(row["first_seq_num"], row["last_seq_num"] + 1)}
    assert missing == {number for number, _ in day.lost}
    assert missing
    rows = sorted(lake.arrow("orders").to_pylist(), key=lambda row: row["seq_num"])
    after = {}  # the next row of each book after a lost message of it
    for number, line in day.lost:
        security_id = int(line.split()[1])
        mine = [row for row in rows if row["security_id"] == security_id and row["seq_num"] >= number]
        if mine and mine[0]["action"] != "SNAPSHOT":
            after[number] = mine[0]
    assert after
    assert all(row["quality"] & _IN_DOUBT for row in after.values())


def test_the_same_whatever_the_pieces(tmp_path: Path) -> None:
    """Pieces of few packets, one of all: rows do not depend on where files were cut."""
    record(5, tmp_path / "captures", loss=0.02)
    for packets in (3, 4096):
        build([tmp_path / "captures"], tmp_path / str(packets), system=NAME, piece_packets=packets)
    assert all_tables(tmp_path / "3") == all_tables(tmp_path / "4096")


def test_workers_of_spark_find_the_system_by_its_name(spark: Any, tmp_path: Path) -> None:
    """`module:name` is all that the row of a slice says of its system, and a worker is another process."""
    record(8, tmp_path / "captures", loss=0.02)
    settings = BuildSettings(system=NAME, slices=3, piece_packets=SMALL_PIECES)
    report = Builder(Location(tmp_path / "there"), SparkRunner(spark), settings).build(
        [str(tmp_path / "captures")]
    )
    assert report.slices > 1
    build([tmp_path / "captures"], tmp_path / "here", system=NAME, slices=1, derive=True)
    here, there = all_tables(tmp_path / "here"), all_tables(tmp_path / "there")
    assert len(here["orders"]) > 500
    assert here["quotes"]
    for table, rows in here.items():
        assert there[table] == rows, table


def test_a_system_that_workers_lack_is_named(spark: Any) -> None:
    """A module of the driver's own folder, say, which the archive of a cluster does not have."""
    with pytest.raises(TaskError, match="no_such_module"):
        SparkRunner(spark).run(load_system, ["no_such_module:SYSTEM"], lambda done, total: None)


def test_what_the_system_does_not_know_is_a_finding(tmp_path: Path) -> None:
    """The lake asks the system: it knows no letters."""
    recorder, strange = Recorder(tmp_path / "captures"), None
    for packet in ToyExchange(8).day(60):
        if strange is None and packet.stream is Stream.INCREMENTAL and b"\nO " in packet.payload:
            packet = packet._replace(payload=packet.payload.replace(b"\nO ", b"\nZ ", 1))
            strange = next(number for number, line in lines_of(packet) if line.startswith("Z"))
        for feed in packet.feeds:
            recorder.take(packet, feed)
    recorder.close()
    build([tmp_path / "captures"], tmp_path / "lake", system=NAME)
    rows = (
        Lake(tmp_path / "lake")
        .arrow("quality", [("finding", "in", ["UNKNOWN_TEMPLATE", "UNKNOWN_VALUE"])])
        .to_pylist()
    )
    told = [(row["finding"], row["found"], row["count"], row["seq_num"]) for row in rows]
    assert told == [("UNKNOWN_TEMPLATE", str(ord("Z")), 1, strange)]


def test_of_another_system_nothing_is_made(tmp_path: Path) -> None:
    record(6, tmp_path / "captures", loss=0.0)
    report = build([tmp_path / "captures"], tmp_path / "lake")
    assert report.units == []


def test_the_same_files_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the library and by `pregao listen`: streams and feeds are found in files as for the lake."""
    day = record(7, tmp_path / "captures", loss=0.0)
    market = Market.replay(tmp_path / "captures", system=NAME)
    market.run()
    for security_id, orders in day.moments[-1].books.items():
        book = market.book(f"TOY{security_id}")
        assert book.is_clean
        assert {order.order_id for side in Side for order in book.orders(side)} == set(orders)
    assert main(["listen", str(tmp_path / "captures"), "--system", NAME, "--plain"]) == 0
    assert "TOY1" in capsys.readouterr().out
