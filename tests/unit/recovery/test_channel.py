"""Inputs and states of a channel, one at a time."""

from dataclasses import replace

import pytest

from pregao.recovery.events import ChannelSilent, Event, JoinStream, LeaveStream
from pregao.recovery.held import SnapshotHeader
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import RecoveryStream, Site
from pregao.recovery.progress import ChannelState, ProgressInput, after
from tests.unit.recovery.toy_client import ToyClient
from tests.unit.recovery.toy_day import SETTINGS, Day
from tests.unit.recovery.toy_exchange import MILLISECOND, SECOND, Sent, Truth


def packet(number: int, *messages: tuple[object, ...], version: int = 1) -> Sent:
    return Sent("I", 0, version, number, messages)


def client(**settings: object) -> ToyClient:
    return ToyClient({Site.PRIMARY: Truth()}, replace(SETTINGS, **settings))  # type: ignore[arg-type]


def snapshot(one: ToyClient, header: SnapshotHeader, orders: dict[int, int] | None = None) -> bool:
    one._snapshot = [None, orders or {}, {}]
    one.machine.snapshots.on_begin(header)
    return one.machine.snapshots.on_end(header)


def expected(state: ChannelState, what: ProgressInput) -> ChannelState:
    """The rules of docs/feed-handler.md in words of their own, not read from the table."""
    if what is ProgressInput.WENT_SILENT:
        return ChannelState.SILENT  # whatever was known (6.2)
    if state is ChannelState.SILENT:
        heard = {
            ProgressInput.HEARD: ChannelState.RECOVERING,
            ProgressInput.HEARD_BEFORE_READY: ChannelState.SYNCHRONISING,
            ProgressInput.HEARD_BEFORE_DEFINITIONS: ChannelState.WAITING_FOR_DEFINITIONS,
            ProgressInput.SITE_CHANGED: ChannelState.SYNCHRONISING,
        }
        return heard.get(what, ChannelState.SILENT)  # nothing else ends a silence
    if what in (
        ProgressInput.HEARD,
        ProgressInput.HEARD_BEFORE_READY,
        ProgressInput.HEARD_BEFORE_DEFINITIONS,
    ):
        return state
    if state is ChannelState.WAITING_FOR_DEFINITIONS:
        return ChannelState.SYNCHRONISING if what is ProgressInput.DEFINITIONS_COMPLETE else state
    if what is ProgressInput.SITE_CHANGED:
        return ChannelState.SYNCHRONISING
    if what is ProgressInput.ALL_CLEAN:
        return ChannelState.LIVE
    if what is ProgressInput.SOMETHING_MISSING and state is ChannelState.LIVE:
        return ChannelState.RECOVERING
    if what is ProgressInput.LOOP_COMPLETE and state is ChannelState.SYNCHRONISING:
        return ChannelState.RECOVERING  # start-up is over (6.5.9), also while some are not whole
    return state


@pytest.mark.parametrize("state", list(ChannelState))
@pytest.mark.parametrize("what", list(ProgressInput))
def test_every_state_and_input(state: ChannelState, what: ProgressInput) -> None:
    assert after(state, what) is expected(state, what)


def test_start_up_joins_and_leaves_both_streams() -> None:
    day = Day(1, 900).run()
    joins = [event.stream for event in day.events if isinstance(event, JoinStream)]
    leaves = [event.stream for event in day.events if isinstance(event, LeaveStream)]
    assert set(joins) == set(leaves) == set(RecoveryStream)
    assert day.client.machine.ready


def test_queued_rows_after_the_snapshot_are_applied() -> None:
    """7.4: what a snapshot has is discarded, what is newer applied."""
    one = client()
    for number in range(10, 14):
        one.receive("A", packet(number, ("order", 1, number, "new", number, 5)), number)
    assert one.machine.known(0) == (BookStatus.STALE, BookStatus.STALE)
    assert snapshot(one, SnapshotHeader(1, 11, 1, 11, 1, 1), {11: 7})
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert one.books[0] == {11: 7, 12: 5, 13: 5}


def test_a_snapshot_must_reach_what_is_missing_and_be_of_this_version() -> None:
    one = client()
    one.receive("A", packet(10, ("order", 1, 10, "new", 10, 5)), 1)
    assert not snapshot(one, SnapshotHeader(1, 8, 1, 8, 1, 1))
    assert not snapshot(one, SnapshotHeader(1, 10, 65_534, 10, 1, 1))
    assert not snapshot(one, SnapshotHeader(1, 1 << 31, 1, 10, 1, 1))
    assert not snapshot(one, SnapshotHeader(1, 10, None, 10, 1, 1))  # its loop's beginning was not heard
    assert not snapshot(one, SnapshotHeader(1, 9, 1, 8, 1, 1))  # 9 is missing between it and 10
    assert snapshot(one, SnapshotHeader(1, 9, 1, 9, 1, 1))


def test_a_snapshot_ahead_of_the_stream_is_shown_clean_when_the_stream_is_there() -> None:
    one = client()
    one.receive("A", packet(10, ("order", 1, 10, "new", 10, 5)), 1)
    assert snapshot(one, SnapshotHeader(1, 12, 1, 12, 1, 1), {3: 3})
    assert one.machine.known(0) == (BookStatus.UNVERIFIED, BookStatus.UNVERIFIED)
    one.receive("A", packet(11, ("order", 1, 11, "new", 11, 5)), 2)
    one.receive("A", packet(12, ("order", 1, 12, "new", 12, 5)), 3)
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert one.books[0] == {3: 3}


def test_a_header_alone_tells_of_the_book_only() -> None:
    """7.2."""
    one = client()
    one.receive("A", packet(10, ("trade", 2, 10, 1, 1)), 1)
    one.machine.index_of(1)
    assert snapshot(one, SnapshotHeader(1, 10, 1, 0, 1, 0))
    assert one.machine.known(one.machine.index_of(1)) == (BookStatus.CLEAN, BookStatus.STALE)


def test_an_illiquid_instrument_begins_with_its_first_report() -> None:
    """7.4.1."""
    one = client()
    one.receive("A", packet(10, ("trade", 2, 10, 1, 1)), 1)
    assert snapshot(one, SnapshotHeader(1, 10, 1, 0, 1, 1))
    one.receive("A", packet(11, ("order", 1, 1, "new", 7, 7)), 2)
    index = one.machine.index_of(1)
    assert one.machine.known(index) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert one.books[index] == {7: 7}


def test_only_what_is_of_interest() -> None:
    one = client(interest={2})
    one.receive("A", packet(10, ("order", 1, 10, "new", 10, 5), ("order", 2, 4, "new", 11, 5)), 1)
    assert one.machine.table.security_ids == [2]
    assert snapshot(one, SnapshotHeader(2, 10, 1, 4, 1, 1))
    one.receive("A", packet(11, ("order", 1, 99, "new", 10, 5)), 2)
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert not snapshot(one, SnapshotHeader(1, 10, 1, 4, 1, 1))


def test_the_table_is_bounded() -> None:
    one = client(instruments=3)
    indexes = [one.machine.index_of(security_id) for security_id in range(9)]
    assert indexes == [0, 1, 2, -1, -1, -1, -1, -1, -1]
    assert one.machine.table.refused == 6


def test_silence_makes_books_inconsistent_until_shown_otherwise() -> None:
    """6.2."""
    one = client()
    start = 5 * SECOND
    one.receive("A", packet(10, ("order", 1, 10, "new", 10, 5)), start)
    snapshot(one, SnapshotHeader(1, 10, 1, 10, 1, 1), {10: 5})
    one.pass_time(start + 2_900 * MILLISECOND)
    assert one.machine.known(0)[0] is BookStatus.CLEAN
    one.pass_time(start + 3_100 * MILLISECOND)
    assert any(isinstance(event, ChannelSilent) for event in one.events)
    assert one.machine.known(0)[0] is BookStatus.UNVERIFIED
    one.receive("A", Sent("I", 0, 1, 0, (("sequence", 14),)), start + 4 * SECOND)
    assert one.machine.known(0)[0] is BookStatus.UNVERIFIED
    one.receive("A", Sent("I", 0, 1, 0, (("sequence", 11),)), start + 5 * SECOND)
    assert one.machine.known(0)[0] is BookStatus.CLEAN
    assert one.books[0] == {10: 5}


def test_a_conflict_makes_all_unverified_until_a_snapshot() -> None:
    one = client()
    for number in range(10, 100):
        one.receive("A", packet(number, ("order", 1, number, "new", 10, number)), number)
    snapshot(one, SnapshotHeader(1, 98, 1, 98, 1, 1), {10: 98})
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)
    one.receive("B", packet(99, ("order", 1, 99, "new", 10, 1)), 200)
    one.receive("A", packet(100, ("order", 1, 100, "new", 10, 3)), 201)
    assert one.machine.known(0)[0] is BookStatus.UNVERIFIED
    assert snapshot(one, SnapshotHeader(1, 99, 1, 99, 1, 1), {10: 1})
    assert one.books[0] == {10: 3}
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)


def test_everything_told_can_be_read() -> None:
    day = Day(2, 400).run()
    events: list[Event] = day.events
    assert all(str(event) and "<" not in str(event) for event in events)


def withheld(book: BookStatus) -> ToyClient:
    """An instrument before the last packet of a sequence."""
    one = client()
    one.receive("A", packet(10, ("order", 1, 10, "new", 10, 5)), 1)
    if book is BookStatus.CLEAN:
        snapshot(one, SnapshotHeader(1, 10, 1, 10, 1, 1), {10: 5})
    assert one.machine.known(0)[0] is book
    return one


@pytest.mark.parametrize("book", [BookStatus.CLEAN, BookStatus.STALE])
def test_a_new_sequence_in_order_unsettles_clean_books_only(book: BookStatus) -> None:
    """6.5.11."""
    one = withheld(book)
    one.receive("A", packet(11, ("sequence_reset",)), 2)
    one.receive("A", packet(1, ("trade", 2, 5, 1, 1), version=2), 3)
    assert one.machine.known(0)[0] is min(book, BookStatus.UNVERIFIED)


def test_a_header_alone_does_not_tell_of_a_book_that_is_withheld() -> None:
    """6.5.12: only its EmptyBook does, or a snapshot with something in it."""
    one = withheld(BookStatus.CLEAN)
    one.receive("A", packet(11, ("channel_reset",)), 2)
    assert one.books[0] == {}
    assert one.machine.known(0) == (BookStatus.UNVERIFIED, BookStatus.CLEAN)
    assert not snapshot(one, SnapshotHeader(1, 11, 1, 0, 1, 0))
    one.receive("A", packet(12, ("empty", 1), ("order", 1, 1, "new", 20, 4)), 3)
    assert one.machine.known(0) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert one.books[0] == {20: 4}
