"""What an instrument follows is a phase, what it has of its own is a state (14)."""

import pytest

from pregao.feeds.publishing import OutgoingPacket
from pregao.market.events import StateChanged
from pregao.model import events as e
from pregao.model.market import Phase, Session, State, StateEvent
from pregao.model.streams import Stream
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import RecoveryStream
from pregao.recovery.progress import ChannelState
from tests.unit.feeds.binary.publisher.desk import (
    DATE,
    MS,
    NOW,
    SECOND,
    A,
    B,
    Book,
    order,
    phase,
    run,
    state,
)
from tests.unit.handler.kit import Channel


def told(security_id: int, of: State, event: StateEvent | None = None) -> e.StateChanged:
    return e.StateChanged(security_id, Session.REGULAR, of, event, DATE, NOW)


def test_a_group_in_pre_close_is_no_closed_instrument() -> None:
    """18 of a group is PRE_CLOSE for whoever follows it: neither CLOSE nor FORBIDDEN (14.2)."""
    channel = Channel()
    channel.say(phase("01", Phase.PRE_CLOSE))
    book = channel.handler.book(A)
    assert book.state is Phase.PRE_CLOSE
    assert (book.phase, book.own_state, book.trading_state) == (Phase.PRE_CLOSE, None, State.CLOSE)


@pytest.mark.parametrize(
    ("of", "own", "expected"),
    [
        (Phase.PRE_CLOSE, State.FORBIDDEN, State.FORBIDDEN),
        (Phase.PRE_CLOSE, State.RESERVED, State.RESERVED),  # its auction continues (14.2)
        (Phase.PRE_CLOSE, State.OPEN, Phase.PRE_CLOSE),  # the more restrictive rules (14.1)
        (Phase.OPEN, State.PAUSE, State.PAUSE),
        (Phase.PAUSE, State.OPEN, Phase.PAUSE),
        (Phase.OPEN, State.OPEN, State.OPEN),
    ],
)
def test_which_of_both_rules_and_neither_is_lost(of: Phase, own: State, expected: Phase | State) -> None:
    channel = Channel()
    channel.say(phase("01", of))
    channel.say(told(A, own, StateEvent.LEAVES_GROUP))
    book = channel.handler.book(A)
    assert book.state is expected
    assert (book.phase, book.own_state) == (of, own)
    assert channel.handler.book(B).state is of
    channel.say(told(A, State(of.value), StateEvent.REJOINS_GROUP))
    assert book.state is of
    assert book.own_state is None


def test_snapshots_that_say_the_number_of_the_phase() -> None:
    """As B3's do for all instruments of a group in 18: the phase that they follow, no state of their own."""
    channel = Channel(hear=False)
    channel.market.groups = [phase("01", Phase.PRE_CLOSE)]
    for security_id in (A, B):
        channel.market.books[security_id] = Book(state=state(security_id, State.FORBIDDEN))
    channel.pass_time(2 * SECOND)
    for security_id in (A, B):
        book = channel.handler.book(security_id)
        assert (book.state, book.own_state) == (Phase.PRE_CLOSE, None)
        assert isinstance(book.state, Phase)


def test_the_line_of_one_that_rejoins() -> None:
    assert told(A, State.FORBIDDEN, StateEvent.REJOINS_GROUP).followed is Phase.PRE_CLOSE
    assert told(A, State.FORBIDDEN, StateEvent.LEAVES_GROUP).followed is None
    event = StateChanged(
        84, "AAAA1", NOW, 1, A, Session.REGULAR, State.FORBIDDEN, StateEvent.REJOINS_GROUP, DATE, None
    )
    assert str(event) == "AAAA1 follows its group again, phase pre close"


class TestSnapshotsAreOfAnotherMomentThanTheStream:
    """B3's snapshots send the number of the phase as the state of whoever follows, without an event (item
    21); the phase is the one at lastMsgSeqNumProcessed, and only 101 tells a state of its own (14)."""

    def channel(self, of: Phase) -> Channel:
        """A packet was lost, so that the next snapshots count; the group is in a phase."""
        channel = Channel()
        self.enter(channel, of)
        channel.packets(order(A, 1))  # lost
        channel.say(order(B, 2))
        channel.handler.on_timeout(channel.now_ns + SECOND)
        assert channel.known()[1] is BookStatus.UNVERIFIED
        return channel

    def enter(self, channel: Channel, of: Phase) -> None:
        channel.say(self.phase(channel, of))

    def phase(self, channel: Channel, of: Phase) -> e.PhaseChanged:
        """The exchange is in a phase from now on; the message that says so."""
        channel.market.groups = [phase("01", of), phase("02")]
        for security_id in (A, B):
            channel.market.books[security_id] = Book(state=state(security_id, State(int(of))))
        return phase("01", of)

    def loop(self, channel: Channel) -> list[OutgoingPacket]:
        """A whole loop of snapshots as of now, not delivered."""
        packets = run(channel.publisher, channel.now_ns + SECOND)
        channel.now_ns += SECOND
        return [packet for packet in packets if packet.stream is Stream.SNAPSHOT]

    @pytest.mark.parametrize("now", [Phase.OPEN, Phase.PRE_CLOSE, Phase.PAUSE])
    def test_one_that_is_older_than_the_phase(self, now: Phase) -> None:
        channel = self.channel(Phase.PRE_OPEN)
        late = self.loop(channel)
        self.enter(channel, now)
        channel.deliver(late)
        for security_id in (A, B):
            book = channel.handler.book(security_id)
            assert book.statistics_status is BookStatus.CLEAN
            assert (book.state, book.own_state) == (now, None)
            assert isinstance(book.state, Phase)

    def test_one_that_is_ahead_of_the_stream(self) -> None:
        channel = self.channel(Phase.CLOSE)
        self.enter(channel, Phase.PRE_OPEN)
        late = channel.packets(self.phase(channel, Phase.OPEN))
        channel.deliver(self.loop(channel))
        channel.deliver(late)
        for security_id in (A, B):
            book = channel.handler.book(security_id)
            assert book.state_status is BookStatus.CLEAN
            assert (book.state, book.own_state) == (Phase.OPEN, None)

    def test_a_state_of_its_own_stays_its_own(self) -> None:
        """Also where its number is that of a phase the group was in."""
        channel = self.channel(Phase.PRE_OPEN)
        channel.market.books[A] = Book(state=told(A, State.RESERVED, StateEvent.LEAVES_GROUP))
        late = self.loop(channel)
        self.enter(channel, Phase.OPEN)
        channel.deliver(late)
        assert channel.handler.book(A).state is State.RESERVED
        assert channel.handler.book(B).state is Phase.OPEN

    def test_what_was_its_own_before_the_snapshot_is_not_any_more(self) -> None:
        """The message by which it rejoined was lost; forbidden is no exception."""
        channel = Channel()
        self.enter(channel, Phase.OPEN)
        channel.say(told(A, State.FORBIDDEN, StateEvent.LEAVES_GROUP))
        channel.packets(told(A, State.OPEN, StateEvent.REJOINS_GROUP))  # lost
        channel.say(order(B, 2))
        channel.handler.on_timeout(channel.now_ns + SECOND)
        channel.deliver(self.loop(channel))
        book = channel.handler.book(A)
        assert book.statistics_status is BookStatus.CLEAN
        assert (book.state, book.own_state) == (Phase.OPEN, None)

    def test_the_auction_of_an_older_snapshot_ends_with_the_phase_after_it(self) -> None:
        """13.10: the phase was heard before the snapshot was, and comes after it all the same."""
        channel = self.channel(Phase.PRE_OPEN)
        channel.market.books[A].statistics.append(e.TheoreticalPrice(A, 100, 7, DATE, NOW))
        late = self.loop(channel)
        self.enter(channel, Phase.OPEN)
        channel.deliver(late)
        assert channel.known()[1] is BookStatus.CLEAN
        assert channel.handler.book(A).statistics.theoretical is None

    def test_the_state_told_with_a_session_that_comes_after_the_snapshot(self) -> None:
        """The group's message is in the snapshot, the one of the instrument comes after it, and then the
        group moves on: the number was the phase's."""
        channel = self.channel(Phase.CLOSE)
        late = self.loop(channel)
        channel.say(told(A, State.CLOSE, StateEvent.SESSION_CHANGE))
        self.enter(channel, Phase.PRE_OPEN)
        channel.deliver(late)
        book = channel.handler.book(A)
        assert book.statistics_status is BookStatus.CLEAN
        assert (book.state, book.own_state) == (Phase.PRE_OPEN, None)


class TestPhasesThatNoSnapshotTold:
    """A loop begins with the phases of all groups (7.4): they may be lost while its snapshots are heard."""

    def loop(self, channel: Channel) -> list[OutgoingPacket]:
        packets = run(channel.publisher, channel.now_ns + 150 * MS)
        channel.now_ns += 150 * MS
        return [packet for packet in packets if packet.stream is Stream.SNAPSHOT]

    def channel(self) -> Channel:
        """So many groups that their phases fill packets; nothing is known of them after a loss."""
        channel = Channel(hear=False)
        channel.market.groups = [phase(f"{number:02}") for number in range(1, 70)]
        channel.market.books = {each: Book(state=state(each)) for each in (A, B)}
        channel.pass_time(2 * SECOND)
        assert channel.handler.machine.state is ChannelState.LIVE
        assert channel.handler.groups["01"].verified
        channel.packets(phase("01", Phase.PAUSE))  # lost
        channel.market.groups[0] = phase("01", Phase.PAUSE)
        channel.say(order(B, 2))
        channel.handler.on_timeout(channel.now_ns + SECOND)
        assert channel.handler.machine.state is ChannelState.RECOVERING
        assert not channel.handler.groups["01"].verified
        return channel

    @pytest.mark.parametrize("lost", [0, 1])
    def test_the_channel_is_not_live_before_it_has_them(self, lost: int) -> None:
        channel = self.channel()
        for _ in range(3):
            loop = self.loop(channel)
            firsts = [place for place, packet in enumerate(loop) if packet.payload[4:8] == b"\1\0\0\0"]
            channel.deliver(packet for place, packet in enumerate(loop) if place - lost not in firsts)
        assert channel.known() == (BookStatus.CLEAN, BookStatus.CLEAN)
        machine = channel.handler.machine
        machine.check_invariants()
        if not channel.handler.groups["01"].verified:
            assert machine.state is ChannelState.RECOVERING
            assert RecoveryStream.SNAPSHOTS in machine.joined
        channel.pass_time(SECOND)
        assert machine.state is ChannelState.LIVE
        assert channel.handler.book(A).state is Phase.PAUSE
        assert channel.handler.book(A).state_status is BookStatus.CLEAN
        assert RecoveryStream.SNAPSHOTS not in machine.joined
