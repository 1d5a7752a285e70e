"""Looping streams (6.5.8, 7.1, 7.5)."""

from pregao.recovery.loops import Follow, LoopTracker
from pregao.recovery.policy import RecoveryPolicy


def heard(tracker: LoopTracker, version: int, numbers: range, total: int) -> list[Follow]:
    follows = []
    for number in numbers:
        follows.append(tracker.on_packet(version, number))
        tracker.on_item(total)
    return follows


def test_a_whole_loop() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    assert heard(tracker, 7, range(1, 4), 3) == [Follow.BEGAN, Follow.FOLLOWED, Follow.FOLLOWED]
    assert tracker.on_packet(7, 4) is Follow.FOLLOWED
    assert tracker.on_sequence_reset()
    assert tracker.on_packet(8, 1) is Follow.BEGAN


def test_joined_in_the_middle() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    assert heard(tracker, 7, range(2, 4), 3) == [Follow.BROKE, Follow.FOLLOWED]
    assert not tracker.on_sequence_reset()


def test_a_broken_loop_does_not_count_and_the_next_does() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    heard(tracker, 7, range(1, 2), 2)
    assert tracker.on_packet(7, 3) is Follow.BROKE
    assert not tracker.on_sequence_reset()
    heard(tracker, 8, range(1, 3), 2)
    assert tracker.on_sequence_reset()
    assert (tracker.completed, tracker.broken) == (1, 1)


def test_the_announced_total_must_be_reached() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    heard(tracker, 7, range(1, 3), 3)
    assert not tracker.on_sequence_reset()


def test_repetitions_and_late_packets() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    heard(tracker, 65_534, range(1, 3), 2)
    assert tracker.on_packet(65_534, 2) is Follow.REPEATED
    assert tracker.on_packet(1, 1) is Follow.BEGAN
    assert tracker.on_packet(65_534, 3) is Follow.REPEATED
    assert tracker.on_packet(1, 2) is Follow.FOLLOWED


def test_a_lost_end_does_not_hide_the_next_loop() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    heard(tracker, 7, range(1, 3), 2)
    assert tracker.on_packet(8, 1) is Follow.BEGAN
    assert tracker.broken == 1


def test_heartbeats_mean_idle() -> None:
    tracker = LoopTracker(RecoveryPolicy())
    tracker.on_idle()
    assert tracker.idle
    tracker.on_packet(7, 1)
    assert not tracker.idle


def test_a_sequence_reset_alone_is_no_loop() -> None:
    """It would list nobody: a stray one must neither drop all instruments nor make all of them empty."""
    tracker = LoopTracker(RecoveryPolicy())
    tracker.on_packet(7, 1)
    assert not tracker.on_sequence_reset()
    assert (tracker.completed, tracker.broken) == (0, 1)
