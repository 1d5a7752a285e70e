"""Captures of any name, and all streams in one file: what is inside decides."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from pregao.captures.decode import decode_capture
from pregao.captures.decoded import DecodedMessage
from pregao.cli.main import main
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.lake.lake import Lake
from pregao.lake.source.messages import batches
from pregao.lake.source.reader import SourceRequest
from pregao.market import Market
from tests.kits.captures import Captured, read_capture, write_capture
from tests.kits.lakes import all_tables, build, make_days

MESSAGES = 900
# By one clock it is known which feed came first: that is the only difference there may be.
_ONE_CLOCK = ("packets",)


@pytest.fixture(scope="module", params=[{}, {"version": 8, "contingency": True}], ids=["16", "8 with C"])
def days(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same day in the usual files, and in one."""
    usual, one = (tmp_path_factory.mktemp(name) for name in ("usual", "one"))
    for out, one_file in ((usual, False), (one, True)):
        make_days(out, seed=4, messages=MESSAGES, one_file=one_file, truth=False, **request.param)
    (folder,), (merged,) = list(usual.iterdir()), list(one.rglob("*.pcap"))
    return folder, merged


def _oddly_named(folder: Path, target: Path) -> list[Path]:
    """Every capture of the day under a name that says nothing, in another order."""
    target.mkdir()
    found = []
    for number, path in enumerate(sorted(folder.glob("*.pcap"), reverse=True)):
        found.append(target / f"dump.{number}")
        shutil.copy(path, found[-1])
    return found


def test_one_file_has_all_packets_by_time(days: tuple[Path, Path]) -> None:
    folder, one = days
    packets = read_capture(one)
    assert packets == sorted(packets, key=lambda each: each.ts_ns)
    assert sorted(packets) == sorted(each for path in folder.glob("*.pcap") for each in read_capture(path))


def test_the_lake_is_the_same(days: tuple[Path, Path], tmp_path: Path) -> None:
    folder, one = days
    named = shutil.copy(one, tmp_path / "084_Incremental_FeedA.pcap")  # a name that does not fit
    build([folder], tmp_path / "usual")
    expected = all_tables(tmp_path / "usual")
    assert len(expected["instruments"]) >= 12
    assert any("SNAPSHOT_MATCH" in row for row in expected["quality"])
    odd = _oddly_named(folder, tmp_path / "dumps")
    for name, captures in (("one", [one]), ("named", [named]), ("odd", odd)):
        report = build(captures, tmp_path / name)
        assert report.warnings == []
        found = all_tables(tmp_path / name)
        differing = {table for table in expected if found[table] != expected[table]}
        assert differing <= set(_ONE_CLOCK)
        assert _arrivals(tmp_path / name) == _arrivals(tmp_path / "usual")


def _arrivals(lake: Path) -> set[tuple[Any, ...]]:
    columns = ("channel", "seq_version", "seq_num", "ts_send", "ts_recv_a", "ts_recv_b")
    return {tuple(row[name] for name in columns) for row in Lake(lake).arrow("packets").to_pylist()}


def _market(*captures: Path) -> dict[str, Any]:
    market = Market.replay(*captures).run()
    assert market.untold == []
    books = {
        book.symbol: (book.top, [book.orders(side) for side in (1, 2)], market.health().channels[0].ready)
        for book in market.books()
    }
    lost = {
        (channel.channel, feed.feed.name): (feed.counters.received, feed.counters.lost)
        for channel in market.health().channels
        for feed in channel.feeds
    }
    return {"books": books, "lost": lost}


def test_the_live_market_is_the_same(days: tuple[Path, Path], tmp_path: Path) -> None:
    folder, one = days
    expected = _market(folder)
    assert len(expected["books"]) >= 12
    assert _market(one) == expected
    assert _market(*_oddly_named(folder, tmp_path / "odd")) == expected


def test_decode_and_the_spark_source_know_streams_and_feeds(days: tuple[Path, Path]) -> None:
    folder, one = days
    expected = {
        (flow.destination.address, flow.destination.port): (flow.stream, flow.feed)
        for path in folder.glob("*.pcap")
        for flow in {item.flow for item in decode_capture(str(path)) if isinstance(item, DecodedMessage)}
    }
    found = {item.flow for item in decode_capture(str(one)) if isinstance(item, DecodedMessage)}
    assert {
        (flow.destination.address, flow.destination.port): (flow.stream, flow.feed) for flow in found
    } == expected
    counts: dict[Any, int] = {}
    for batch in batches(SourceRequest(paths=(str(one),)), str(one)):
        for stream, feed in zip(batch["stream"].to_pylist(), batch["feed"].to_pylist(), strict=True):
            counts[stream, feed] = counts.get((stream, feed), 0) + 1
    assert set(counts) == {(stream.name, feed.name) for stream, feed in expected.values()}


def _templates(packet: Captured, decoder: PacketDecoder) -> set[int]:
    return {each.message.header.template_id for each in decoder.decode(packet.payload).messages}


def test_definitions_without_a_sequence_reset(days: tuple[Path, Path], tmp_path: Path) -> None:
    """As in a real capture: nothing but definitions, which by themselves prove no stream."""
    folder, one = days
    decoder = PacketDecoder(load_builtin_schema())
    flow = next(folder.glob("084_InstrumentDefinition.pcap"))
    ports = {each.frame[36:38] for each in read_capture(flow)}
    kept = [
        each
        for each in read_capture(one)
        if each.frame[36:38] not in ports or _templates(each, decoder).isdisjoint({1, 2})
    ]
    build([write_capture(tmp_path / "dump", kept)], tmp_path / "lake")
    build([one], tmp_path / "whole")
    symbols = [set(Lake(tmp_path / name).arrow("trades")["symbol"].to_pylist()) for name in ("lake", "whole")]
    assert symbols[0] == symbols[1]
    assert None not in symbols[0]


def test_what_cannot_be_told_is_said(
    days: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few states and statistics might be of either stream: they are named, not dropped in silence."""
    folder, _ = days
    decoder = PacketDecoder(load_builtin_schema())
    both = {3, 10, 15, 16, 17, 19, 20, 21, 22, 24, 25, 27, 28, 29, 56}
    packets = read_capture(folder / "084_Incremental_FeedA.pcap")
    few = [each for each in packets if (seen := _templates(each, decoder)) and seen <= both][:20]
    odd = write_capture(tmp_path / "few.pcap", few)
    report = build([odd, folder / "078_Incremental_FeedA.pcap"], tmp_path / "lake")
    (warning,) = report.warnings
    assert f"few.pcap: the stream of {len(few)} packets of channel 84 to 233.252.0.1 port 30084" in warning
    assert main(["listen", str(odd), "--plain"]) == 0
    assert "cannot be told from templates" in capsys.readouterr().err
    assert main(["decode", str(odd)]) == 0
    assert "cannot be told from templates" in capsys.readouterr().err
    build([odd, folder / "084_Incremental_FeedB.pcap"], tmp_path / "same")
    (row,) = Lake(tmp_path / "same").arrow("quality", "finding = 'UNKNOWN_STREAM'").to_pylist()
    assert row["severity"] == "WARNING"
    assert "port 30084" in row["detail"]


def test_symbols_far_into_a_merged_file(days: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, one = days
    assert main(["decode", str(one), "--symbol", "PETR4", "--template", "12", "--limit", "1"]) == 0
    out, err = capsys.readouterr()
    assert "PETR4" in out
    assert "no definition" not in err
