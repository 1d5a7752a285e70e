"""A message of which the file of one day has the first chunks, and that of the next the rest, is of the day
on which it was sent."""

from pathlib import Path

import pytest

from pregao.feeds.fast.chunks import split_datagram, write_chunks
from pregao.lake.lake import Lake
from pregao.lake.tables.catalogue import DATA_TABLES
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.captures import Captured, read_capture, write_capture
from tests.kits.lakes import build, rows_of

OF_THE_FEEDS = ("ts_recv", "ts_recv_a", "ts_recv_b", "ts_recv_us", "first_feed")
ABOUT_FEEDS = frozenset(("units", "packets", "latency", "quality", "news"))


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Feed A of a channel on two days in mid-week: numbers go on."""
    folder = tmp_path_factory.mktemp("nights")
    settings = short_day(
        out=folder, system="fast", seed=4, days=2, messages=200, instruments=4, loops=3, trading=12.0,
        date=short_day().date.replace(day=17),
    )  # fmt: skip
    for _ in Simulation(settings).days():
        pass
    return sorted(folder.rglob("184_Incremental_FeedA.pcap"))


def _halves(packets: list[Captured]) -> tuple[list[Captured], list[Captured]]:
    """The first message of a day that tells something, in two chunks: the first, and all that follows it."""
    place, chunk = next(
        (place, chunks[0])
        for place, chunks in enumerate(split_datagram(packet.payload).chunks for packet in packets)
        if chunks[0].is_whole and chunks[0].length > 60
    )
    packet = packets[place]
    message = packet.payload[chunk.offset : chunk.offset + chunk.length]
    first, second = write_chunks(chunk.number, message, -(-len(message) // 2))
    rest = packet.payload[chunk.offset + chunk.length :]
    return [packet.with_payload(first)], [
        *packets[:place], packet.with_payload(second), *([packet.with_payload(rest)] if rest else []),
        *packets[place + 1 :],
    ]  # fmt: skip


def test_the_first_message_of_a_day_lies_in_two_files(nights: list[Path], tmp_path: Path) -> None:
    evening, morning = (read_capture(path) for path in nights)
    begun, rest = _halves(morning)
    whole = [
        write_capture(tmp_path / f"whole/{number}/184_Incremental_FeedA.pcap", packets)
        for number, packets in enumerate((evening, morning))
    ]
    halves = [
        write_capture(tmp_path / f"halves/{number}/184_Incremental_FeedA.pcap", packets)
        for number, packets in enumerate(([*evening, *begun], rest))
    ]
    for name, captures in (("whole", whole), ("halves", halves)):
        build(captures, tmp_path / f"{name}-lake", system="fast", slices=1)
    expected, found = (Lake(tmp_path / f"{name}-lake", system="fast") for name in ("whole", "halves"))
    counted = 0
    for table in DATA_TABLES:
        if table not in ABOUT_FEEDS:
            rows = rows_of(expected, table, without=OF_THE_FEEDS)
            assert rows_of(found, table, without=OF_THE_FEEDS) == rows, table
            counted += len(rows)
    assert counted > 100
