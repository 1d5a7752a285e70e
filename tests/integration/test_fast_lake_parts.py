"""Chunks of one message that A and B have only in part each: a lake joins them, as listeners do (5.2.4)."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from pregao.feeds.fast.chunks import split_datagram, write_chunks
from pregao.feeds.fast.system import FAST
from pregao.feeds.port import UnitPart
from pregao.lake.lake import Lake
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.model.streams import Stream
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.fast_market import FastToy
from tests.kits.lakes import SMALL_PIECES, build, rows_of

SIZE = 50  # bytes of a chunk: most messages have several
CHANNELS = (63, 184, 214)  # news, orders, levels
# When each feed received a message, and which had it whole, is not what the market did.
OF_THE_FEEDS = ("ts_recv", "ts_recv_a", "ts_recv_b", "ts_recv_us", "first_feed")
ABOUT_FEEDS = frozenset(("units", "packets", "latency", "quality", "news"))
TOGETHER = "put together"
Keeps = Callable[[int, int, int], bool]  # number of a message, chunk, chunks


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "day"
    settings = short_day(
        out=folder, beside=("fast",), seed=9, messages=300, instruments=4, loops=4, trading=12.0,
        relistings=1, faults="reset=1xbook@?",
    )  # fmt: skip
    for _ in Simulation(settings).days():
        pass
    return folder / "fast"


def _chunked(packets: Sequence[Captured], keeps: Keeps) -> list[Captured]:
    """Every message in chunks, each in a datagram of its own, a microsecond after the one before; those that
    the feed keeps."""
    found: list[Captured] = []
    headers = FAST.wire(184).headers(Stream.INCREMENTAL)
    for packet in packets:
        ts_ns = packet.ts_ns
        for unit in headers.split(packet.payload):
            for part in write_chunks(unit.number, unit.payload, SIZE):
                (told,) = split_datagram(part).chunks
                if keeps(unit.number, told.current, told.chunks):
                    found.append(packet.with_payload(part, ts_ns))
                ts_ns += 1_000
    return found


def _captures(day: Path, folder: Path, streams: str = "Incremental", **keeps: Keeps) -> Path:
    """The day with some streams in chunks."""
    for path in day.rglob("*.pcap"):
        if int(path.name[:3]) in CHANNELS:
            chunked = any(name in path.name for name in streams.split())
            feed = "B" if path.stem.endswith("FeedB") else "A"
            change = partial(_chunked, keeps=keeps[feed]) if chunked else None
            copy_capture(path, folder, change)
    return folder


def _all(number: int, chunk: int, chunks: int) -> bool:
    return True


def _but(lost: int, every: int = 3) -> Keeps:
    """Every third message, or as told, lacks a chunk, the same of all: chunk 1 or 2."""
    return lambda number, chunk, chunks: not (number % every == 0 and chunks > 1 and chunk == lost)


def _tables(lake: Path) -> dict[str, list[str]]:
    return {
        table: rows_of(Lake(lake, system="fast"), table, without=OF_THE_FEEDS)
        for table in DATA_TABLES
        if table not in ABOUT_FEEDS
    }


def test_what_a_and_b_have_in_part_each_is_whole(day: Path, tmp_path: Path) -> None:
    """The rows are those of the whole day, also where messages lie over the ends of pieces."""
    whole = _captures(day, tmp_path / "whole", A=_all, B=_all)
    parts = _captures(day, tmp_path / "parts", A=_but(1), B=_but(2))
    for captures in (whole, parts):
        path = tmp_path / f"{captures.name}-lake"
        build([captures], path, system="fast", slices=2, piece_packets=SMALL_PIECES)
    expected, found = _tables(tmp_path / "whole-lake"), _tables(tmp_path / "parts-lake")
    for table, rows in expected.items():
        assert found[table] == rows, table
    assert sum(map(len, expected.values())) > 500
    lake = Lake(tmp_path / "parts-lake", system="fast")
    quality = lake.arrow("quality").to_pylist()
    assert not [row for row in quality if row["finding"] in ("GAP", "HEAL", "SNAPSHOT_MISMATCH")]
    joined = sum(row["count"] for row in quality if TOGETHER in (row["detail"] or ""))
    assert joined > 50
    headlines = ("news_id", "headline", "text")
    assert _columns(lake, "news", headlines) == _columns(
        Lake(tmp_path / "whole-lake", system="fast"), "news", headlines
    )


LOOPS = "Snapshot Instrument"


@pytest.mark.parametrize("lost", ["chunks", "messages"])
def test_loops_that_a_and_b_have_in_part_each_are_whole(day: Path, tmp_path: Path, lost: str) -> None:
    """Snapshots and lists: of every message each feed lacks another chunk, or each lacks other messages."""
    keeps = {"A": _but(1, 1), "B": _but(2, 1)} if lost == "chunks" else {"A": _half(0), "B": _half(1)}
    captures = {
        "whole": _captures(day, tmp_path / "whole", LOOPS, A=_all, B=_all),
        "parts": _captures(day, tmp_path / "parts", LOOPS, **keeps),
    }
    for name, folder in captures.items():
        assert len([path for path in folder.iterdir() if "Incremental" not in path.name]) == 4 * len(CHANNELS)
        build([folder], tmp_path / f"{name}-lake", system="fast", slices=2, channels=frozenset({184, 214}))
    expected, found = _tables(tmp_path / "whole-lake"), _tables(tmp_path / "parts-lake")
    assert expected["book_checkpoints"]
    assert expected["instruments"]
    for table, rows in expected.items():
        assert found[table] == rows, table


def test_a_loop_that_lacks_a_chunk_on_both_feeds_is_not_complete(day: Path, tmp_path: Path) -> None:
    captures = _captures(day, tmp_path / "day", "Snapshot", A=_but(1, 1), B=_but(1, 1))
    whole = _captures(day, tmp_path / "whole", "Snapshot", A=_all, B=_all)
    for folder in (captures, whole):
        build([folder], tmp_path / f"{folder.name}-lake", system="fast", slices=1, channels=frozenset({184}))
    found, expected = (_tables(tmp_path / f"{name}-lake")["book_checkpoints"] for name in ("day", "whole"))
    assert len(found) < len(expected)


def _half(rest: int) -> Keeps:
    """Every second message."""
    return lambda number, chunk, chunks: number % 2 == rest


def _columns(lake: Lake, table: str, names: Sequence[str]) -> list[str]:
    rows = lake.arrow(table).to_pylist()
    assert rows, table
    return sorted(repr([row[name] for name in names]) for row in rows)


def test_the_same_chunk_lost_by_both_is_a_gap(day: Path, tmp_path: Path) -> None:
    captures = _captures(day, tmp_path / "day", A=_but(1), B=_but(1))
    build([captures], tmp_path / "lake", system="fast", slices=1, channels=frozenset({184}))
    findings = {row["finding"] for row in Lake(tmp_path / "lake", system="fast").arrow("quality").to_pylist()}
    assert "GAP" in findings


def test_other_bytes_are_never_joined(day: Path, tmp_path: Path) -> None:
    """A chunk that both have, and that differs: nobody knows whose the others are."""

    def spoilt(packets: list[Captured]) -> list[Captured]:
        found = _chunked(packets, _but(2))
        for index, packet in enumerate(found):
            chunk = split_datagram(packet.payload).chunks[0]
            if chunk.current == 3 and chunk.number % 3 == 0:
                payload = bytearray(packet.payload)
                payload[-1] ^= 1
                found[index] = packet.with_payload(bytes(payload))
        return found

    paths = {path.stem[-1]: path for path in day.rglob("184_Incremental_Feed*.pcap")}
    copy_capture(paths["A"], tmp_path / "day", partial(_chunked, keeps=_but(1)))
    copy_capture(paths["B"], tmp_path / "day", spoilt)
    build([tmp_path / "day"], tmp_path / "lake", system="fast", slices=1)
    lake = Lake(tmp_path / "lake", system="fast")
    joined = [row["count"] for row in lake.arrow("quality").to_pylist() if TOGETHER in (row["detail"] or "")]
    told = [split_datagram(packet.payload).chunks[0] for packet in _chunked(read_capture(paths["A"]), _all)]
    chunks = Counter(min(each.chunks, 3) for each in told if each.number % 3 == 0 and each.current == 1)
    assert chunks[3] > 5
    assert sum(joined) == chunks[2]


def test_a_reader_knows_the_sequence_that_others_found() -> None:
    """The packet that is entered is read as one of that sequence, whatever its time says."""
    toy = FastToy(3, "MBO")
    message = toy.step()
    number = FAST.number_of(message)
    assert number is not None
    parts = [UnitPart(7, number, 2, 1, 5, message[:9]), UnitPart(7, number, 2, 2, 5, message[9:])]
    joined = FAST.join_parts(7, parts)
    headers = FAST.wire(84).headers(Stream.INCREMENTAL)
    headers.resume(joined.resume)
    (unit,) = headers.split(joined.payload)
    assert (unit.epoch, unit.number, unit.payload) == (7, number, message)
