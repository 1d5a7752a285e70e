"""Replay: the same packets in the same order as a plain merge, at any speed, with all files' identities."""

import gzip
import heapq
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from random import Random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pregao.captures.replay import Replay
from pregao.codecs.pcap.writer import (
    address,
    ethernet_frame,
    ethernet_udp_frame,
    ipv4_packet,
    pcap_header,
    pcap_record,
    pcapng_interface,
    pcapng_packet,
    pcapng_section_header,
    udp_datagram,
)
from pregao.market import Market
from pregao.market.replayed import ReplayedPackets
from pregao.model.channel_map import load_channels
from pregao.model.errors import CaptureError, ConfigurationError
from pregao.model.streams import Feed, Stream, StreamId
from tests.unit.captures.kit import TS, capture, definition, order, packet, trade

Packet = tuple[int, int, bytes]  # time, port, payload


def frame(payload: bytes, port: int = 30_000, *, ipv6: bool = False) -> bytes:
    src, dst = ("2001:db8::1", "ff3e::8000:1") if ipv6 else ("198.51.100.7", "233.252.0.1")
    return ethernet_udp_frame(payload, src=src, dst=dst, src_port=5, dst_port=port, ipv6=ipv6)


def pcap(packets: list[Packet]) -> bytes:
    return pcap_header() + b"".join(pcap_record(ts, frame(data, port)) for ts, port, data in packets)


def pcapng(packets: list[Packet]) -> bytes:
    records = b"".join(pcapng_packet(ts, frame(data, port)) for ts, port, data in packets)
    return pcapng_section_header() + pcapng_interface() + records


def plain_merge(files: list[list[Packet]]) -> list[Packet]:
    """By time over all files; a file whose times go backwards stays in its own order."""

    def keyed(order: int, packets: list[Packet]) -> Iterator[tuple[int, int, int]]:
        keys = accumulate((ts for ts, _, _ in packets), max)
        return ((key, order, at) for at, key in enumerate(keys))

    merged = heapq.merge(*(keyed(order, packets) for order, packets in enumerate(files)))
    return [files[order][at] for _, order, at in merged]


def replayed(replay: Replay) -> list[Packet]:
    return [
        (ts, replay.sources[source].destination.port, bytes(payload))
        for batch in replay
        for source, ts, payload in batch
    ]


def some_packets(random: Random, count: int, ports: list[int], span: int) -> list[Packet]:
    ts, packets = TS + random.randrange(span), []
    for _ in range(count):
        ts += random.randrange(-3000, 20_000)  # now and then backwards
        packets.append((ts, random.choice(ports), random.randbytes(random.randrange(0, 400))))
    return packets


def test_files_of_every_kind_are_merged_as_a_plain_merge_does(tmp_path: Path) -> None:
    random = Random(5)
    files, paths = [], []
    for number in range(12):
        count = random.choice([0, 1, 50, 3000])
        packets = some_packets(random, count, [30_000 + number, 31_000], 30_000_000)
        data = (pcapng if number % 3 == 0 else pcap)(packets)
        path = tmp_path / f"file{number}"
        path.write_bytes(
            [lambda d: d, gzip.compress, zstandard.ZstdCompressor().compress][number % 4 % 3](data)
        )
        files.append(packets)
        paths.append(path)
    replay = Replay(paths, packets=100)
    assert replayed(replay) == plain_merge(files)
    assert replay.findings == []
    assert replay.next_ns() is None


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=9)), max_size=12), max_size=5),
    st.integers(1, 5),
)
def test_order_of_equal_and_backward_times(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[tuple[int, bytes]]], size: int
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    files = [[(TS + ts, 30_000 + n, data) for ts, data in file] for n, file in enumerate(times)]
    paths = [folder / f"{n}.pcap" for n in range(len(files))]
    for path, packets in zip(paths, files, strict=True):
        path.write_bytes(pcap(packets))
    assert replayed(Replay(paths, packets=size)) == plain_merge(files)


def test_unusual_records_are_played_too(tmp_path: Path) -> None:
    """IPv6, fragments, foreign traffic and damage between ordinary packets."""
    src, dst = address("198.51.100.7"), address("233.252.0.1")
    whole = udp_datagram(b"F" * 1000, src, dst, 5, 30_000)
    pieces = [
        ethernet_frame(ipv4_packet(whole[:800], src, dst, identification=7, more_fragments=True), dst),
        ethernet_frame(ipv4_packet(whole[800:], src, dst, identification=7, fragment_offset=800), dst),
    ]
    frames = [
        frame(b"one"),
        frame(b"six", ipv6=True),
        *pieces,
        b"\xff" * 60,
        frame(b"two")[:30],
        frame(b"two"),
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap_header() + b"".join(pcap_record(TS + i, each) for i, each in enumerate(frames)))
    replay = Replay([path, path])
    payloads = [data for _, _, data in replayed(replay)]
    assert payloads == [b"one", b"one", b"six", b"six", b"F" * 1000, b"F" * 1000, b"two", b"two"]
    assert [finding.name for finding in replay.findings] == ["ip-truncated"] * 2
    assert {source.destination.ip_version for source in replay.sources} == {4, 6}


def test_a_batch_holds_no_more_than_it_may(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(TS + i, 1, b"x" * 1000) for i in range(300)]))
    by_count = [batch.count for batch in Replay([path], packets=128)]
    by_bytes = [batch.count for batch in Replay([path], buffer_size=1)]
    assert by_count == [128, 128, 44]
    assert by_bytes == [65, 65, 65, 65, 40]


def test_rotated_files_are_opened_when_their_time_comes(tmp_path: Path) -> None:
    paths, files = [], []
    for number in range(20):
        packets = [(TS + number * 1_000_000 + i, 30_000, b"%d %d" % (number, i)) for i in range(100)]
        paths.append(tmp_path / f"084_Incremental_FeedA_{number:03}.pcap")
        paths[-1].write_bytes(pcap(packets))
        files.append(packets)
    replay, most = Replay(reversed(paths), packets=64), 0
    found = []
    for batch in replay:
        most = max(most, replay._merge.open_files)
        found += [bytes(payload) for _, _, payload in batch]
    assert found == [data for packets in files for _, _, data in packets]
    assert most <= 2
    assert len(replay.sources) == 1


# --- pace --------------------------------------------------------------------------------------


class Clock:
    """A pace whose time passes only in waiting, and a little with every look."""

    def __init__(self, cost_ns: int = 0) -> None:
        self.now, self.cost_ns, self.waits = 5_000, cost_ns, 0

    def now_ns(self) -> int:
        self.now += self.cost_ns
        return self.now

    def wait_until(self, due_ns: int) -> None:
        self.waits += due_ns > self.now
        self.now = max(self.now, due_ns)


@pytest.mark.parametrize("speed", [0.5, 1.0, 1000.0])
def test_packets_come_at_their_time(tmp_path: Path, speed: float) -> None:
    path, clock = tmp_path / "x.pcap", Clock()
    path.write_bytes(pcap([(TS + i // 2 * 1_000_000, 1, b"") for i in range(40)]))
    start = clock.now
    for number, batch in enumerate(Replay([path], speed=speed, pace=clock)):
        assert batch.count == 2  # both of that instant, and none that is not due
        assert clock.now - start == int(number * 1_000_000 / speed)
    assert number == 19


def test_who_is_late_gets_all_that_is_due(tmp_path: Path) -> None:
    path, clock = tmp_path / "x.pcap", Clock(cost_ns=10_000_000)
    path.write_bytes(pcap([(TS + i * 1_000_000, 1, b"") for i in range(100)]))
    counts = [batch.count for batch in Replay([path], speed=1.0, pace=clock)]
    assert sum(counts) == 100
    assert len(counts) <= 12


def test_speed_0_never_waits_and_others_must_make_sense(tmp_path: Path) -> None:
    path, clock = tmp_path / "x.pcap", Clock()
    path.write_bytes(pcap([(TS + i * 1_000_000_000, 1, b"") for i in range(10)]))
    assert [batch.count for batch in Replay([path], pace=clock)] == [10]
    assert clock.waits == 0
    for speed in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigurationError, match="speed"):
            Replay([path], speed=speed)


def test_who_has_a_clock_takes_what_is_due(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(TS + i, 1, b"%d" % i) for i in range(10)]))
    replay = Replay([path])
    assert replay.next_ns() == TS
    assert replay.take(before_ns=TS).count == 0
    assert replay.take(before_ns=TS + 4).count == 4
    assert replay.next_ns() == TS + 4
    assert replay.take().count == 6
    assert (replay.next_ns(), replay.take().count) == (None, 0)


# --- who they are ------------------------------------------------------------------------------


def test_identity_by_configuration_then_name_then_content(tmp_path: Path) -> None:
    channels = load_channels(
        '[[stream]]\nchannel = 84\nstream = "incremental"\nfeed = "B"\naddress = "233.252.0.84"\nport = 30084'
    )
    incremental = [packet(order(), trade(), number=n) for n in range(1, 4)]
    named = tmp_path / "084_Incremental_FeedA_20250331T131500Z.pcap.zst"
    named.write_bytes(zstandard.ZstdCompressor().compress(capture(incremental)))
    unnamed = tmp_path / "capture.pcap"
    unnamed.write_bytes(capture(incremental))
    loop = [packet(definition(), number=1, version=v) for v in (1, 2, 3)]
    definitions = tmp_path / "loop.pcap"
    definitions.write_bytes(capture(loop))

    def identity(path: Path, **options: object) -> StreamId:
        replay = Replay([path], **options)  # type: ignore[arg-type]
        assert sum(batch.count for batch in replay) == 3
        (source,) = replay.sources
        return source.id

    assert identity(named) == StreamId(84, Stream.INCREMENTAL, Feed.A)
    assert identity(named, channels=channels) == StreamId(84, Stream.INCREMENTAL, Feed.B)
    assert identity(unnamed) == StreamId(84, Stream.INCREMENTAL, Feed.A)  # the only one there is
    assert identity(unnamed, channels=channels) == StreamId(84, Stream.INCREMENTAL, Feed.B)
    assert identity(definitions) == StreamId(84, Stream.DEFINITION, Feed.A)


# --- damage ------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_opened_is_named_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="nothing"):
        Replay([tmp_path / "nothing.pcap"])


def test_damage_ends_only_its_own_file(tmp_path: Path) -> None:
    packets = [(TS + i * 10, 1, Random(i).randbytes(300)) for i in range(3000)]
    whole, cut, garbage = tmp_path / "whole.pcap", tmp_path / "cut.pcap.zst", tmp_path / "garbage.pcap"
    whole.write_bytes(pcap(packets))
    cut.write_bytes(zstandard.ZstdCompressor().compress(pcap(packets))[:-200_000])
    garbage.write_bytes(b"this is no capture at all")
    replay = Replay([whole, cut, garbage])
    played = replayed(replay)
    assert played[-1] == packets[-1]
    assert 3000 < len(played) < 6000
    names = {finding.name for finding in replay.findings}
    assert {"compression-damaged", "not-a-capture"} <= names
    assert replay.finding_count == len(replay.findings)


@pytest.mark.parametrize("late", [(1 << 63) - 1, (1 << 64) - 1])
def test_times_clamped_to_the_largest_number_come_last_and_end(tmp_path: Path, late: int) -> None:
    orders = [packet(order(), number=number) for number in range(1, 4)]
    (tmp_path / "a.pcapng").write_bytes(pcapng([(late, 1, orders[0]), (late, 1, orders[1])]))
    (tmp_path / "b.pcapng").write_bytes(pcapng([(TS, 2, orders[2]), (late, 2, orders[2])]))
    paths = [tmp_path / "a.pcapng", tmp_path / "b.pcapng"]
    times = [time for batch in Replay(paths) for time in batch.arrival_ns[: batch.count].tolist()]
    assert times == [TS, *[(1 << 63) - 1] * 3]
    for due_ns in (None, (1 << 63) - 1):  # as a market takes them
        replayed, found = ReplayedPackets(paths), 0
        while not replayed.ended:
            taken = replayed.take(0.0, due_ns)
            found += 0 if taken is None else taken.count
        assert found == 4
    assert Market.replay(tmp_path).run().ended


def test_a_link_type_that_nobody_knows_is_a_finding(tmp_path: Path) -> None:
    strange = pcapng_section_header() + pcapng_interface(linktype=147) + pcapng_interface()
    strange += b"".join(pcapng_packet(TS, b"what is this") for _ in range(3))
    strange += pcapng_packet(TS, frame(packet(order()), 1), interface=1)
    (tmp_path / "strange.pcapng").write_bytes(strange)
    replay = Replay([tmp_path / "strange.pcapng"])
    assert sum(batch.count for batch in replay) == 1  # what is fine beside it is used
    assert [str(finding).partition(": ")[2] for finding in replay.findings] == [
        "unknown-link-type: 3 packets of link type 147 not read"
    ]
