"""A system with a replayer: a gap is asked for, held while the answer may come, and given up after that."""

from pregao.model.streams import Feed
from pregao.recovery.arbitration import Arbiter, Output, SequencedPacket
from pregao.recovery.events import GapDetected, PacketConflict, UnitsWanted
from pregao.recovery.policy import ChannelSettings, RecoveryPolicy, number_of
from tests.unit.recovery.streams import new_arbiter

ASK, HOLD, ANSWER = 100, 1_000, 5_000
SETTINGS = ChannelSettings(
    RecoveryPolicy(ask_ns=ASK, answer_ns=ANSWER), hold_ns=HOLD, hold_packets=64, hash_ring=64
)


def started(*numbers: int) -> Arbiter:
    arbiter = new_arbiter(SETTINGS)
    for number in numbers:
        arbiter.receive(Feed.A, 1, number, bytes([number]), 0)
    return arbiter


def spans(outputs: list[Output], kind: type[UnitsWanted] | type[GapDetected]) -> list[tuple[int, int]]:
    return [(number_of(each.first), number_of(each.last)) for each in outputs if isinstance(each, kind)]


def taken(outputs: list[Output]) -> list[int]:
    return [each.number for each in outputs if isinstance(each, SequencedPacket)]


def test_a_gap_is_asked_for_once_and_filled() -> None:
    arbiter = started(1, 2, 6)
    assert arbiter.next_timeout() == ASK
    asked = arbiter.on_timeout(ASK)
    assert spans(asked, UnitsWanted) == [(3, 5)]
    assert arbiter.on_timeout(2 * ASK) == []
    assert arbiter.next_timeout() == HOLD + ANSWER
    assert taken(arbiter.receive(Feed.A, 1, 3, b"\3", HOLD + 1)) == [3]
    assert taken(arbiter.receive(Feed.A, 1, 5, b"\5", HOLD + 2)) == []
    assert taken(arbiter.receive(Feed.A, 1, 4, b"\4", HOLD + 3)) == [4, 5, 6]
    assert arbiter.next_timeout() is None
    assert arbiter.whole


def test_what_is_not_answered_is_given_up() -> None:
    arbiter = started(1, 2, 6)
    arbiter.on_timeout(ASK)
    given_up = arbiter.on_timeout(HOLD + ANSWER)
    assert spans(given_up, GapDetected) == [(3, 5)]
    assert taken(given_up) == [6]


def test_another_gap_is_asked_for_again() -> None:
    arbiter = started(1, 3)
    assert spans(arbiter.on_timeout(ASK), UnitsWanted) == [(2, 2)]
    arbiter.receive(Feed.A, 1, 2, b"\2", 2 * ASK)
    arbiter.receive(Feed.A, 1, 9, b"\x09", 3 * ASK)
    assert spans(arbiter.on_timeout(4 * ASK), UnitsWanted) == [(4, 8)]


def test_gaps_that_are_old_enough_are_asked_for_together() -> None:
    arbiter = started(1, 3, 4, 7)
    arbiter.receive(Feed.A, 1, 9, b"\x09", ASK - 1)  # what is missing before it may still come
    assert spans(arbiter.on_timeout(ASK), UnitsWanted) == [(2, 2), (5, 6)]
    assert taken(arbiter.receive_replayed(1, 6, b"\6", 2 * ASK)) == []
    assert taken(arbiter.receive_replayed(1, 8, b"\x08", 2 * ASK)) == []  # not asked for
    assert taken(arbiter.receive_replayed(1, 2, b"\2", 2 * ASK)) == [2, 3, 4]
    assert arbiter.take_filled() == 1
    assert taken(arbiter.receive_replayed(1, 5, b"\5", 2 * ASK)) == [5, 6, 7]
    assert arbiter.take_filled() == 1
    assert spans(arbiter.on_timeout(2 * ASK), UnitsWanted) == [(8, 8)]


def test_more_than_a_replayer_gives_at_once_is_not_asked_for_together() -> None:
    policy = RecoveryPolicy(ask_ns=ASK, answer_ns=ANSWER, ask_most=3)
    arbiter = new_arbiter(ChannelSettings(policy, hold_ns=HOLD, hold_packets=64, hash_ring=64))
    for number in (1, 4, 7):
        arbiter.receive(Feed.A, 1, number, bytes([number]), 0)
    assert spans(arbiter.on_timeout(ASK), UnitsWanted) == [(2, 3)]


def test_a_gap_that_a_feed_fills_is_not_a_replayers() -> None:
    arbiter = started(1, 3, 5)
    arbiter.on_timeout(ASK)
    arbiter.receive(Feed.B, 1, 2, b"\2", 2 * ASK)
    assert arbiter.take_filled() == 0
    arbiter.receive_replayed(1, 4, b"\4", 2 * ASK)
    assert arbiter.take_filled() == 1


def test_a_heartbeat_that_tells_of_more_is_asked_for_too() -> None:
    arbiter = started(1, 2)
    for now_ns in (10, 20):
        arbiter.on_heartbeat(Feed.A, 1, 5, now_ns)
    assert spans(arbiter.on_timeout(20 + ASK), UnitsWanted) == [(3, 4)]


def test_a_clock_that_jumps_ahead_asks_before_it_gives_up() -> None:
    arbiter = started(1, 4)
    outputs = arbiter.on_timeout(1 << 50)
    assert [type(each) for each in outputs][:2] == [UnitsWanted, GapDetected]


def test_without_a_replayer_nobody_is_asked() -> None:
    arbiter = new_arbiter(ChannelSettings(hold_ns=HOLD, hold_packets=64, hash_ring=64))
    for number in (1, 2, 6):
        arbiter.receive(Feed.A, 1, number, bytes([number]), 0)
    assert arbiter.next_timeout() == HOLD
    assert spans(arbiter.on_timeout(HOLD), GapDetected) == [(3, 5)]


def test_a_unit_of_an_inferred_epoch_that_differs_is_a_conflict() -> None:
    """Where units do not say their epoch, one that was forged may have been taken in the place of this."""
    for tells_epochs, conflicts in ((True, 0), (False, 1)):
        policy = RecoveryPolicy(tells_epochs=tells_epochs)
        arbiter = new_arbiter(ChannelSettings(policy, hold_ns=HOLD, hold_packets=64, hash_ring=64))
        for number in (1, 2, 3, 5):
            arbiter.receive(Feed.A, 1, number, bytes([number]), 0)
        same = arbiter.receive(Feed.B, 2, 2, b"\2", 1) + arbiter.receive(Feed.B, 2, 4, b"?", 1)
        assert not any(isinstance(each, PacketConflict) for each in same)
        for number in (3, 5):  # taken, and held
            outputs = arbiter.receive(Feed.B, 2, number, b"another", 1)
            assert sum(isinstance(each, PacketConflict) for each in outputs) == conflicts
