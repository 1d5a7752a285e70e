"""The survey by kernel and the plain glance see the same, and names are believed as far as they fit."""

import gzip
from pathlib import Path
from random import Random

import pytest

from pregao.captures import streams
from pregao.captures.glance import glance
from pregao.captures.streams import CaptureStreams
from pregao.captures.survey import survey
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.fast.chunks import write_chunks
from pregao.model.streams import Destination, Feed, Stream
from pregao.simulator.memory import short_day, simulate_in_memory

EVERYTHING = 1 << 62
SOURCE, GROUP = 0xC6336407, 0xE9FC0009  # of the documentation ranges
Sent = tuple[int, bytes]  # port, payload


@pytest.fixture(scope="module")
def day() -> list[Sent]:
    """All streams of two channels, each to a port of its own."""
    (made,) = simulate_in_memory(short_day(seed=6, messages=700, truth=False, contingency=True))
    return [
        (1_000 * each.stream + 100 * each.feed + each.channel, each.payload)
        for each in made.packets
        if each.channel in (78, 84)
    ]


def write(path: Path, packets: list[Sent]) -> Path:
    records = (
        pcap_record(n, ethernet_udp_frame(payload, src=SOURCE, dst=GROUP, src_port=port, dst_port=port))
        for n, (port, payload) in enumerate(packets)
    )
    path.write_bytes(pcap_header() + b"".join(records))
    return path


@pytest.mark.parametrize("damage", [0.0, 0.3])
def test_kernel_and_plain_are_equal(day: list[Sent], damage: float, tmp_path: Path) -> None:
    rng = Random(5)
    packets = [
        (port, payload if rng.random() >= damage else rng.randbytes(rng.randrange(60)) + payload[:40])
        for port, payload in day
    ]
    path = write(tmp_path / "day.pcap", packets)
    packed = tmp_path / "day.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[: -100 if damage else None])  # cut short
    for each in (path, packed):
        found = survey(str(each), EVERYTHING)
        assert found == glance(str(each), EVERYTHING)
        assert len(found.flows) >= 14
    assert glance(str(path), 500).packets == 500
    assert not glance(str(path), 500).whole


def destination(port: int) -> Destination:
    return Destination(4, GROUP, port)


def test_a_name_is_believed_as_long_as_nothing_contradicts_it(day: list[Sent], tmp_path: Path) -> None:
    definitions = [each for each in day if each[0] == 2184]
    fits = str(write(tmp_path / "084_Incremental_FeedB.pcap", definitions))  # nothing but definitions
    found = CaptureStreams([fits]).of(fits, destination(2184), 84)
    assert (found.stream, found.feed) == (Stream.INCREMENTAL, Feed.B)
    snapshots = [each for each in day if each[0] == 3184]
    wrong = str(write(tmp_path / "084_Incremental_FeedA.pcap", snapshots))
    assert CaptureStreams([wrong]).of(wrong, destination(3184), 84).stream is Stream.SNAPSHOT
    both = str(write(tmp_path / "84_Incremental_FeedA.pcap", [each for each in day if each[0] < 3000]))
    known = CaptureStreams([both])
    assert known.of(both, destination(2184), 84).stream is Stream.DEFINITION
    assert [known.of(both, destination(1084 + 100 * n), 84).feed for n in (1, 2, 3)] == [
        Feed.A,
        Feed.B,
        Feed.C,
    ]


def test_a_flow_that_begins_late_is_looked_for(
    day: list[Sent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the packets that are looked at first."""
    monkeypatch.setattr(streams, "_PLAIN", 700)
    monkeypatch.setattr(streams, "SURVEYED", 1_000)
    late, others = ([each for each in day if (each[0] == 3184) is is_late] for is_late in (True, False))
    path = str(write(tmp_path / "dump", [*others[:5_000], *late]))
    known = CaptureStreams([path])
    assert known.of(path, destination(1184), 84) == (84, Stream.INCREMENTAL, Feed.A)
    assert known.of(path, destination(3184), 84) == (84, Stream.SNAPSHOT, Feed.A)
    assert known.of(path, destination(7), 84).stream is Stream.UNKNOWN
    assert known.untold == []


def test_packets_of_another_system_are_not_believed_by_their_name(tmp_path: Path) -> None:
    """A folder may hold captures of several systems, named alike."""
    chunks = [write_chunks(number, bytes((0xC0, 0x01, 0x91)) + b"20261116" * 20) for number in range(1, 101)]
    path = write(tmp_path / "084_Incremental_FeedA.pcap", [(1184, each) for (each,) in chunks])
    (untold,) = CaptureStreams([str(path)]).untold
    assert "no message that this system knows" in untold
