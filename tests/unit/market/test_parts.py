"""The small parts of a market: numbers, times, slices, names of files, pace."""

from pathlib import Path

import numpy as np
import pytest

from pregao.codecs.pcap.writer import pcap_header, pcap_record
from pregao.feeds.binary.packets import PacketHeader
from pregao.market.packets import Slicer, feeds_of
from pregao.market.replayed import ReplayedPackets, captures_in
from pregao.market.row_values import fine_text, in_words, places_of, price_of, price_text
from pregao.market.times import FeedTimes
from pregao.model.errors import CaptureError
from pregao.model.market import ImbalanceSide, Phase
from pregao.model.packets import PacketBatch, batch_of
from pregao.model.streams import Feed, Stream, StreamId
from tests.unit.captures.kit import TS, frame, order, packet
from tests.unit.market.kit import units_of

LINES = [StreamId(84, Stream.INCREMENTAL, Feed.A), StreamId(84, Stream.INCREMENTAL, Feed.B),
         StreamId(84, Stream.SNAPSHOT, Feed.A)]  # fmt: skip
A, B, SNAPSHOTS = 0, 1, 2
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("price", "text"),
    [(365_000, "36.50"), (5, "0.0005"), (-12_345, "-1.2345"), (0, "0.00"), (None, "market"), (-1, "-0.0001")],
)
def test_prices_as_people_write_them(price: int | None, text: str) -> None:
    assert price_text(price) == text
    if price is not None:
        assert price_of(price) * 10_000 == price


def test_places_follow_the_tick() -> None:
    assert [places_of(tick) for tick in (100, 5_000, 50_000, 1, 25, 0)] == [2, 2, 2, 4, 4, 2]
    assert price_text(54_120_000, 3) == "5412.000"
    assert fine_text(3_826_000_000) == "38.26"
    assert fine_text(None) == "-"


def test_a_value_without_a_name_stays_a_number() -> None:
    assert in_words(Phase.FINAL_CLOSING_CALL) == "final closing call"
    assert in_words(250) == "?250"
    assert in_words(ImbalanceSide.MORE_SELLERS) == "more sellers"
    assert in_words(ImbalanceSide(3 << 8)) == "more buyers and more sellers"
    assert in_words(ImbalanceSide.BALANCED) == "balanced"


def of(*packets: tuple[int, int, int]) -> PacketBatch:
    """Of (source, number, arrival): all were sent at 1,000."""
    return batch_of(
        (source, arrival_ns, PacketHeader(84, 3, number, 1_000).encode() + b"rest")
        for source, number, arrival_ns in packets
    )


def test_slices_begin_with_what_is_new() -> None:
    batch = of((A, 1, 10), (B, 1, 11), (SNAPSHOTS, 9, 12), (B, 2, 13), (A, 2, 14), (A, 0, 15), (A, 3, 16))
    slicer = Slicer()
    cut = list(slicer.cut(batch, units_of(batch), feeds_of(LINES)))
    assert [[int(ns) for ns in piece.arrival_ns] for piece in cut] == [[10, 11, 12], [13, 14, 15], [16]]
    again = of((B, 3, 20), (A, 4, 21))
    assert [piece.count for piece in slicer.cut(again, units_of(again), feeds_of(LINES))] == [1, 1]


def test_slices_end_when_time_has_passed() -> None:
    """Heartbeats and snapshots of a quiet hour do not all have the time of the last of them."""
    late = 5 * SECOND
    batch = of((A, 1, 10), (SNAPSHOTS, 9, 20), (SNAPSHOTS, 10, SECOND), (A, 0, SECOND + 1), (A, 0, late))
    cut = list(Slicer().cut(batch, units_of(batch), feeds_of(LINES)))
    assert [[int(ns) for ns in piece.arrival_ns] for piece in cut] == [[10, 20], [SECOND, SECOND + 1], [late]]


def test_slices_have_all_packets_whatever_comes() -> None:
    random = np.random.default_rng(1)
    slicer, seen = Slicer(), 0
    for _ in range(50):
        rows = [(int(random.integers(3)), int(random.integers(40)), seen + i) for i in range(30)]
        batch = of(*rows)
        pieces = list(slicer.cut(batch, units_of(batch), feeds_of(LINES)))
        assert [int(ns) for piece in pieces for ns in piece.arrival_ns] == [row[2] for row in rows]
        seen += 30


def test_short_packets_are_nothing_new() -> None:
    batch = batch_of([(A, 1, b""), (A, 2, b"\x54" * 15), (B, 3, PacketHeader(84, 1, 5, 9).encode())])
    pieces = list(Slicer().cut(batch, units_of(batch), feeds_of(LINES)))
    assert [piece.count for piece in pieces] == [2, 1]
    assert list(Slicer().cut(batch_of([]), units_of(batch_of([])), feeds_of([]))) == []


def test_each_pair_of_arrivals_is_compared_once() -> None:
    times = FeedTimes(LINES)
    for batch in (
        of((A, 1, 2_000), (B, 1, 2_300)),  # in one batch
        of((A, 2, 3_000)), of((B, 2, 3_100)),  # A first
        of((B, 3, 4_000)), of((A, 3, 4_050)),  # B first
        of((A, 4, 5_000), (A, 0, 5_001), (SNAPSHOTS, 4, 5_002)),  # B never
    ):  # fmt: skip
        times.take(batch, units_of(batch))
    race = times.race(84)
    assert race is not None
    assert (race.lead.count, race.lead.p50, race.lead.greatest) == (3, 100, 300)
    assert race.a_first == pytest.approx(2 / 3)
    delay = times.delay(84, Feed.A)
    assert delay is not None
    assert (delay.count, delay.greatest) == (4, 4_000)
    assert times.race(1) is None
    assert times.delay(84, Feed.C) is None


def test_each_feed_s_delay_is_from_its_own_header() -> None:
    """SendingTime may be each feed's own (6.1): B's left 700 ns after A's, and was as long on its way."""
    times = FeedTimes(LINES)
    for number in range(1, 4):
        sent_ns = number * 10_000
        batch = batch_of(
            (source, sent_ns + later_ns + 400, PacketHeader(84, 3, number, sent_ns + later_ns).encode())
            for source, later_ns in ((A, 0), (B, 700))
        )
        times.take(batch, units_of(batch))
    for feed in (Feed.A, Feed.B):
        delay = times.delay(84, feed)
        assert delay is not None
        assert (delay.count, delay.p50, delay.greatest) == (3, 400, 400)
    race = times.race(84)
    assert race is not None
    assert race.lead.p50 == 700


def test_captures_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "day" / "truth").mkdir(parents=True)
    for name in ("b.pcap", "a.pcap.zst", "truth/x.parquet", "notes.txt"):
        (tmp_path / "day" / name).write_bytes(b"")
    assert [each.name for each in captures_in([tmp_path])] == ["a.pcap.zst", "b.pcap"]
    assert captures_in(["x.pcap"]) == [Path("x.pcap")]
    with pytest.raises(CaptureError, match="no captures"):
        captures_in([tmp_path / "day" / "truth"])
    with pytest.raises(CaptureError, match="no captures"):
        captures_in([])


class HandPace:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.at = 7_000

    def now_ns(self) -> int:
        return self.at

    def wait_until(self, due_ns: int) -> None:
        self.at = max(self.at, due_ns)


def recorded(folder: Path, *times_s: int) -> Path:
    """A packet at each of these times."""
    path = folder / "084_Incremental_FeedA.pcap"
    records = (
        pcap_record(TS + at_s * SECOND, frame(packet(order(), number=number)))
        for number, at_s in enumerate(times_s, start=1)
    )
    path.write_bytes(pcap_header() + b"".join(records))
    return path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    return recorded(tmp_path, 0, 1, 5)


def test_a_replay_keeps_pace_and_lets_others_have_their_turn(three: Path) -> None:
    pace = HandPace()
    packets = ReplayedPackets([three], speed=2.0, pace=pace)
    start_ns = packets.now_ns
    came: list[tuple[int, int]] = []
    while not packets.ended:
        batch = packets.take(0.1, None)
        if batch is not None:
            came.append((batch.count, pace.at - 7_000))
        assert packets.now_ns - start_ns <= (pace.at - 7_000) * 2
    assert came == [(1, 0), (1, SECOND // 2), (1, 5 * SECOND // 2)]
    assert packets.take(0.1, None) is None


def test_what_is_due_comes_before_the_packets_behind_it(three: Path) -> None:
    packets = ReplayedPackets([three])
    start_ns = packets.now_ns
    first = packets.take(0.1, start_ns + 3 * SECOND)
    assert first is not None
    assert first.count == 2
    assert packets.take(0.1, start_ns + 3 * SECOND) is None
    assert packets.now_ns == start_ns + 3 * SECOND
    last = packets.take(0.1, start_ns + 3 * SECOND)  # nobody moved it: it does not keep packets waiting
    assert last is not None
    assert last.count == 1
    assert packets.ended


def test_a_long_pause_is_not_waited_out_second_by_second(tmp_path: Path) -> None:
    packets, turns = ReplayedPackets([recorded(tmp_path, 0, 200_000)]), 0
    while not packets.ended:
        packets.take(0.1, packets.now_ns + SECOND)
        turns += 1
    assert turns < 100
