"""Which packet is next, which is lost, and who is not believed."""

from dataclasses import replace

from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter, Output, SequencedPacket
from pregao.recovery.counters import feed_counters
from pregao.recovery.events import GapDetected, PacketConflict, SequenceStarted, SequenceVersionChanged
from pregao.recovery.policy import number_of
from tests.unit.recovery.streams import FEEDS, SETTINGS, new_arbiter, payload_of, random_stream, run_plain

A, B = Feed.A, Feed.B


def send(arbiter: Arbiter, *numbers: int, feed: Feed = A, version: int = 1, now_ns: int = 0) -> list[Output]:
    out: list[Output] = []
    for number in numbers:
        out += arbiter.receive(feed, version, number, payload_of(version, number), now_ns)
    return out


def taken(out: list[Output]) -> list[int]:
    return [each.number for each in out if isinstance(each, SequencedPacket)]


def gaps(out: list[Output]) -> list[tuple[int, int]]:
    return [(number_of(gap.first), number_of(gap.last)) for gap in out if isinstance(gap, GapDetected)]


def test_first_wins_and_the_other_fills() -> None:
    arbiter = new_arbiter()
    assert taken(send(arbiter, 10, 11, 13)) == [10, 11]
    assert taken(send(arbiter, 10, 11, 12, 13, feed=B)) == [12, 13]
    first, second = (feed_counters(arbiter, feed) for feed in FEEDS)
    assert (first.received, first.first, first.duplicate, first.lost) == (3, 3, 0, 1)
    assert (second.received, second.first, second.duplicate, second.filled) == (4, 1, 3, 1)
    assert second.lost == 0


def test_the_first_packet_starts_a_sequence_and_changes_none() -> None:
    arbiter = new_arbiter()
    started, first = send(arbiter, 10, version=46)
    assert isinstance(started, SequenceStarted)
    assert str(started) == "channel 55: begins with packet 10 of sequence version 46"
    assert taken([first]) == [10]
    arbiter.restart()  # its site is taken up again
    assert [type(each) for each in send(arbiter, 12, version=46)] == [SequenceStarted, SequencedPacket]


def test_a_gap_is_declared_after_the_hold_time() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2, 5, 6, 9)
    assert arbiter.next_timeout() == SETTINGS.hold_ns
    assert not arbiter.on_timeout(SETTINGS.hold_ns - 1)
    out = arbiter.on_timeout(SETTINGS.hold_ns)
    assert gaps(out) == [(3, 4), (7, 8)]
    assert taken(out) == [5, 6, 9]
    assert arbiter.next_timeout() is None
    assert taken(send(arbiter, 3, feed=B)) == []
    assert feed_counters(arbiter, B).late == 1


def test_a_gap_is_declared_when_too_many_are_held() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1)
    out = send(arbiter, *range(3, 3 + SETTINGS.hold_packets + 2))
    assert gaps(out) == [(2, 2)]
    assert arbiter.held == 0
    small = new_arbiter(replace(SETTINGS, hold_bytes=40))
    assert gaps(send(small, 1, 3, 4, 5)) == [(2, 2)]


def test_other_bytes_are_told() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2, 4)
    known = arbiter.receive(B, 1, 2, payload_of(1, 2, b"other"), 0)
    held = arbiter.receive(B, 1, 4, payload_of(1, 4, b"other"), 0)
    assert [type(each) for each in known + held] == [PacketConflict, PacketConflict]


def test_another_header_is_no_conflict() -> None:
    """6.1, 6.5.3: the same messages. SendingTime and Reserved of B are its own, packet by packet."""
    arbiter = new_arbiter()
    out: list[Output] = []
    for number in range(1, 51):
        for feed in (A, B):
            payload = payload_of(1, number, b"messages", reserved=feed, sent_ns=1_000 * number + feed)
            out += arbiter.receive(feed, 1, number, payload, 0)
    assert taken(out) == list(range(1, 51))
    assert not [each for each in out if isinstance(each, PacketConflict)]
    assert feed_counters(arbiter, B).duplicate == 50


def test_one_packet_far_ahead_is_not_believed() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    assert not send(arbiter, 4_000_000)
    assert taken(send(arbiter, 3)) == [3]
    out = send(arbiter, 500) + send(arbiter, 501)
    assert gaps(out) == [(4, 499)]
    assert taken(out) == [500, 501]


def test_the_same_packet_by_the_other_feed_confirms() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    assert not send(arbiter, 500) + send(arbiter, 500)
    assert gaps(send(arbiter, 500, feed=B)) == [(3, 499)]


def test_a_sequence_that_ends_in_order_loses_nothing() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    arbiter.on_sequence_reset(arbiter.at)
    out = send(arbiter, 1, version=2)
    change = out[0]
    assert isinstance(change, SequenceVersionChanged)
    assert change.clean
    assert taken(out) == [1]
    assert taken(send(arbiter, 2, feed=B)) == []  # of the old version


def test_the_next_version_waits_for_the_end_of_the_old() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    assert not send(arbiter, 1, 2, version=2)
    assert taken(send(arbiter, 3, feed=B)) == [3]
    arbiter.on_sequence_reset(arbiter.at)
    out = arbiter.after_end()
    assert taken(out) == [1, 2]
    assert isinstance(out[0], SequenceVersionChanged)
    assert out[0].clean


def test_without_an_end_the_tail_is_unknown() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    send(arbiter, 1, version=2)
    out = arbiter.on_timeout(SETTINGS.hold_ns)
    assert isinstance(out[0], SequenceVersionChanged)
    assert not out[0].clean
    assert taken(out) == [1]


def test_rollover_of_the_version() -> None:
    arbiter = new_arbiter()
    send(arbiter, 8, 9, version=65_534)
    arbiter.on_sequence_reset(arbiter.at)
    assert taken(send(arbiter, 1, 2, version=1)) == [1, 2]
    assert not send(arbiter, 10, version=65_534)


def test_an_unknown_version_needs_two() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    assert not send(arbiter, 70, version=40)
    assert taken(send(arbiter, 3)) == [3]
    assert taken(send(arbiter, 71, version=40)) == [70, 71]


def test_back_from_a_forged_place() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2, 3)
    send(arbiter, 1, version=2)
    arbiter.on_timeout(SETTINGS.hold_ns)
    assert arbiter.version == 2
    out = send(arbiter, *range(4, 90))
    assert arbiter.version == 1
    assert 89 in taken(out)
    assert any(isinstance(each, SequenceVersionChanged) for each in out)


def test_a_heartbeat_reveals_a_lost_tail_when_repeated() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 2)
    assert arbiter.on_heartbeat(A, 1, 3, 0) == []
    assert arbiter.whole
    arbiter.on_heartbeat(A, 1, 6, 10)
    assert arbiter.whole
    arbiter.on_heartbeat(B, 1, 6, 20)
    assert not arbiter.whole
    assert taken(send(arbiter, 3, feed=B, now_ns=30)) == [3]
    assert gaps(arbiter.on_timeout(5_000)) == [(4, 5)]
    assert arbiter.whole


def test_a_heartbeat_is_a_beginning() -> None:
    """7.5."""
    arbiter = new_arbiter()
    arbiter.on_heartbeat(A, 3, 1_236, 0)
    assert taken(send(arbiter, 1_236, version=3)) == [1_236]


def test_a_clock_put_back_does_not_hold_for_ever() -> None:
    arbiter = new_arbiter()
    send(arbiter, 1, 3, now_ns=1_000_000)
    arbiter.on_timeout(10)
    assert gaps(arbiter.on_timeout(10 + SETTINGS.hold_ns)) == [(2, 2)]


def test_memory_is_bounded_whatever_comes() -> None:
    for seed in range(20):
        arbiter = new_arbiter()
        for feed, version, number, payload, arrival_ns in random_stream(seed):
            arbiter.receive(feed, version, number, payload, arrival_ns)
            assert arbiter.held <= 2 * SETTINGS.hold_packets + 8 * 64


def test_places_rise_and_nothing_comes_twice() -> None:
    for seed in range(20):
        places = [
            each.at
            for each in run_plain(new_arbiter(), random_stream(seed))
            if isinstance(each, SequencedPacket)
        ]
        assert places == sorted(set(places))
