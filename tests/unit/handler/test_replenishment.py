"""A book that is told again (6.5.12 step 6, 6.5.13) is not clean before it is told to its end, in one
event or in many; and definition loops that just end (6.5.9)."""

import pytest

from pregao.feeds.publishing import Habits, OutgoingPacket
from pregao.model import events as e
from pregao.model.streams import Stream
from pregao.recovery.instrument_events import Healer, InstrumentHealed, InstrumentsUnverified
from pregao.recovery.instruments import BookStatus
from tests.unit.feeds.binary.publisher.desk import SECOND, A, B, messages, order, state
from tests.unit.handler.kit import CLEAN, Channel

ORDERS = [order(A, number, price=100_000 - number, position=number) for number in range(1, 8)]


def told_again(event_orders: int) -> tuple[Channel, list[OutgoingPacket]]:
    """A channel whose A has a book, and the packets that tell it again; not yet delivered."""
    channel = Channel(habits=Habits(replenishment_orders=event_orders))
    channel.say(*ORDERS)
    channel.market.books[A].bids[:] = ORDERS
    assert channel.known(A) == CLEAN
    channel.publisher.reset_book(A, channel.now_ns)
    return channel, channel.publisher.take()


@pytest.mark.parametrize("event_orders", [0, 1, 3])
def test_not_clean_before_the_first_update_that_is_none_of_it(event_orders: int) -> None:
    channel, packets = told_again(event_orders)
    for packet in packets:
        channel.deliver([packet])
        assert channel.known(A) == (BookStatus.UNVERIFIED, BookStatus.CLEAN)
    assert channel.ids(A) == list(range(1, 8))
    channel.say(state(A))  # its state may be told again too: that ends nothing
    assert channel.known(A)[0] is BookStatus.UNVERIFIED
    channel.say(order(A, 8, price=99_000, position=8))
    assert channel.known(A) == CLEAN
    assert channel.ids(A) == list(range(1, 9))
    unverified = [event.security_ids for event in channel.events if isinstance(event, InstrumentsUnverified)]
    assert unverified[-1] == (A,)
    healed = [event for event in channel.events if isinstance(event, InstrumentHealed)]
    assert (healed[-1].security_id, healed[-1].by) == (A, Healer.EMPTY_BOOK)
    assert channel.known(B) == CLEAN
    channel.handler.machine.check_invariants()


@pytest.mark.parametrize("event_orders", [0, 1])
def test_a_quiet_book_is_verified_by_its_snapshot(event_orders: int) -> None:
    channel, packets = told_again(event_orders)
    channel.deliver(packets)
    assert channel.handler.machine.held.count == 0  # the snapshot must have all of it
    channel.pass_time(SECOND)
    assert channel.known(A) == CLEAN
    assert channel.ids(A) == list(range(1, 8))


def test_a_book_told_empty_is_verified_in_time() -> None:
    channel, _ = told_again(0)
    channel.market.books[A].bids.clear()
    channel.publisher.reset_book(A, channel.now_ns)
    channel.deliver(channel.publisher.take())
    channel.pass_time(3 * SECOND)
    assert channel.known(A) == CLEAN
    assert channel.ids(A) == []


@pytest.mark.parametrize("lost", range(1, 8))
def test_a_part_that_is_lost_is_never_missed(lost: int) -> None:
    channel, packets = told_again(1)
    assert len(packets) == 8
    after = channel.packets(order(A, 8, price=99_000, position=8))
    channel.deliver([each for each in packets if each is not packets[lost]] + after)
    channel.now_ns += SECOND
    channel.events += channel.handler.on_timeout(channel.now_ns)
    assert channel.known(A)[0] is not BookStatus.CLEAN
    channel.market.books[A].bids.append(order(A, 8, price=99_000, position=8))
    channel.pass_time(SECOND)
    assert channel.known(A) == channel.known(B) == CLEAN
    assert channel.ids(A) == list(range(1, 9))


def test_rpt_seq_1_shows_an_empty_book_that_was_lost() -> None:
    channel, (_, *orders) = told_again(1)
    after = channel.packets(order(A, 8, price=99_000, position=8))
    channel.deliver(orders)
    channel.now_ns += SECOND
    channel.events += channel.handler.on_timeout(channel.now_ns)
    assert channel.known(A)[0] is BookStatus.UNVERIFIED
    channel.deliver(after)
    assert channel.known(A)[0] is BookStatus.CLEAN
    assert channel.ids(A) == list(range(1, 9))


def test_the_publisher_tells_a_book_in_one_event_or_in_many() -> None:
    for event_orders, events in ((0, 1), (1, 8), (3, 4)):
        _, packets = told_again(event_orders)
        told = messages(packets)
        assert [message["name"] for message in told] == ["EmptyBook_9", *["Order_MBO_50"] * 7]
        assert all("RecoveryMsg" in message["matchEventIndicator"] for message in told)
        ends = ["EndOfEvent" in message["matchEventIndicator"] for message in told]
        assert sum(ends) == events
        assert ends[-1]


def test_loops_of_definitions_that_just_end() -> None:
    channel = Channel(habits=Habits(definitions_reset=False))
    assert channel.handler.machine.ready
    assert channel.known(A) == channel.known(B) == CLEAN
    channel.publisher.on_timeout(channel.now_ns + SECOND)
    listed = messages(channel.publisher.take(), Stream.DEFINITION)
    assert listed
    assert not [message for message in listed if message["name"].startswith("SequenceReset")]


def test_an_order_marked_recovery_in_a_clean_book_is_a_book_told_again() -> None:
    """As after a snapshot from the middle of it."""
    channel = Channel()
    channel.say(e.OrderUpdate(**{**vars_of(ORDERS[0]), "recovery": True}))
    assert channel.known(A) == (BookStatus.UNVERIFIED, BookStatus.CLEAN)
    channel.say(ORDERS[1])
    assert channel.known(A) == CLEAN


def vars_of(update: e.OrderUpdate) -> dict[str, object]:
    return {name: getattr(update, name) for name in update.__slots__}
