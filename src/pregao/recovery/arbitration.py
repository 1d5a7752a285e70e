"""Feeds that carry one sequence (6.1): the first to bring a packet wins, and a gap is one that all have.

    next in sequence      accepted, and what is held behind it
    accepted before       a repetition: dropped, its messages compared
    given up before       late: dropped
    a little ahead        held, bounded by count, bytes and time; then the gap is declared
    far ahead, or of      `moves`: followed when others confirm it. Number 1 of the next version is believed
    another version       at once, and waits for the end of the old one

Runs of the first two kinds go through `kernels.arrivals.take_in_sequence`, which keeps the same
`ArbitrationState`.
"""

from collections.abc import Callable

from pregao.model.streams import Feed
from pregao.recovery.arbitration_state import (
    DEADLINE,
    DUPLICATE,
    FEED_BITS,
    FOREIGN,
    HEARD_NS,
    HIGHEST,
    LAST_NS,
    LATE,
    LOST,
    MISSED,
    NO_DEADLINE,
    PROVEN,
    RECEIVED,
    UNKNOWN,
    VERSION,
    ArbitrationState,
    messages_hash,
)
from pregao.recovery.in_sequence import InSequence, Output, SequencedPacket
from pregao.recovery.moves import SequenceMoves
from pregao.recovery.policy import ChannelSettings, earlier
from pregao.recovery.stray_packets import FEW, MANY, StrayPacket

__all__ = ["Arbiter", "Output", "SequencedPacket"]


class Arbiter:
    """One sequence of one site. `next_appearance` counts the sequence versions of the whole channel."""

    def __init__(
        self,
        channel: int,
        feeds: tuple[Feed, ...],
        settings: ChannelSettings,
        next_appearance: Callable[[], int],
    ) -> None:
        self.state = ArbitrationState(channel, feeds, settings.hash_ring, settings.policy.own_bytes)
        self._settings, self._policy = settings, settings.policy
        self._taking = InSequence(self.state, feeds, channel, settings)
        self._moves = SequenceMoves(self._taking, settings, next_appearance)

    # What people ask

    @property
    def at(self) -> int:
        """The place of the last packet taken or given up."""
        return self._taking.at

    @property
    def version(self) -> int:
        """-1: nothing was heard yet."""
        return self._taking.version

    @property
    def whole(self) -> bool:
        """Nothing is known to be missing."""
        return self._taking.waits_since_ns is None and not self._moves.is_coming and self.version >= 0

    @property
    def held(self) -> int:
        """Packets kept for later, here and elsewhere."""
        return len(self._taking.held) + self._moves.packets

    def missed(self, feed: Feed) -> int:
        """Packets that this feed did not bring, or has not yet."""
        recent = self.state.ring & (1 << feed - 1) == 0
        return self.state.feed(feed, MISSED) + int(recent.sum())

    # What happens

    def receive(
        self, feed: Feed, version: int, number: int, payload: bytes | memoryview, now_ns: int
    ) -> list[Output]:
        """A packet of this channel that is no heartbeat."""
        self._expire(now_ns)
        self._hear(feed, now_ns)
        value = messages_hash(payload, self._policy.own_bytes)
        packet = StrayPacket(bytes(payload), feed, now_ns, value, 1 << feed - 1)
        if self.version < 0:
            self._moves.begin(version, number)
            self._taking.accept(number, packet)
        elif version != self.version:
            before = self.version
            # Where the sequence has ended another begins with 1, and only what ended it may be contradicted.
            expected = self._moves.ended and number != max(self._taking.next - 1, 2)
            differs = not expected and self._taking.differs(number, packet.hash)
            self._moves.hear_version(version, number, packet)
            if differs and not self._policy.tells_epochs and self.version == before:
                # It may be of this one, and what was taken in its place was forged: nobody knows.
                self._taking.conflict(number, packet)
        else:
            self._of_this_version(number, packet)
        if self.version == version and number < self._taking.next + self._settings.hold_packets:
            self.state.set_feed(feed, HIGHEST, max(self.state.feed(feed, HIGHEST), number))
        return self._taken()

    def receive_replayed(
        self, version: int, number: int, payload: bytes | memoryview, now_ns: int
    ) -> list[Output]:
        """A unit that a replayer sent, by no feed: it counts where it was asked for and is still missing."""
        self._expire(now_ns)
        if version == self.version and self._taking.is_awaited(number):
            value = messages_hash(payload, self._policy.own_bytes)
            self._taking.accept_replayed(number, StrayPacket(bytes(payload), Feed.UNKNOWN, now_ns, value, 0))
        return self._taken()

    def take_filled(self) -> int:
        """How many gaps a replayer has filled since the last time."""
        requests = self._taking.requests
        filled, requests.filled = requests.filled, 0
        return filled

    def on_unanswered(self, version: int, first: int, last: int) -> list[Output]:
        """A replayer does not have these."""
        if version == self.version:
            self._taking.unanswered(first, last)
        return self._taken()

    @property
    def may_ask(self) -> bool:
        """Whether what is missing is asked for, where there is a replayer."""
        return self._taking.requests.may_ask

    @may_ask.setter
    def may_ask(self, asks: bool) -> None:
        self._taking.requests.may_ask = asks

    def foreign(self) -> None:
        """A packet of another channel, or none at all."""
        self.state.add(FOREIGN)

    def on_heartbeat(self, feed: Feed, version: int, next_number: int, now_ns: int) -> list[Output]:
        """A Sequence message (7.5). It is believed when it says what is known, or when it is repeated."""
        self._expire(now_ns)
        self._hear(feed, now_ns)
        if next_number < 1:
            return self._taken()
        if self.version < 0:
            self._moves.begin(version, next_number)
        elif (version, next_number) == (self.version, self._taking.next):
            self.state.set(PROVEN, 1)
            self.state.set(LAST_NS, now_ns)
        else:
            self._moves.hear_beat(version, next_number, now_ns)
        return self._taken()

    def on_sequence_reset(self, at: int) -> None:
        """The packet at this place, already taken, was the last of its version (6.5.11)."""
        self._moves.end_at(at)

    def after_end(self) -> list[Output]:
        """What of the next version was already there when `on_sequence_reset` was told."""
        self._moves.after_end()
        return self._taken()

    def release(self) -> list[Output]:
        """After the kernel stopped before what is held."""
        self._taking.release()
        return self._taken()

    def next_timeout(self) -> int | None:
        return earlier(self._taking.next_timeout(), self._moves.next_timeout())

    def on_timeout(self, now_ns: int) -> list[Output]:
        self._expire(now_ns)
        return self._taken()

    def restart(self) -> None:
        """This site is taken up again: the first packet from now on is where it begins."""
        self._moves.forget()
        self.state.set(VERSION, -1)

    # Here

    def _of_this_version(self, number: int, packet: StrayPacket) -> None:
        taking = self._taking
        ahead = number - taking.next
        if ahead == 0:
            self.state.set(PROVEN, 1)
            taking.accept(number, packet)
            taking.release()
        elif ahead < 0:
            self._repeated(number, packet)
        elif ahead <= self._settings.hold_packets:
            self.state.set(PROVEN, 1)
            taking.hold(number, packet)
        else:
            self._moves.hear(self.version, number, packet, FEW)

    def _repeated(self, number: int, packet: StrayPacket) -> None:
        state, known = self.state, self._taking.known(number)
        if known not in (UNKNOWN, LOST) and known & ~FEED_BITS == packet.hash:
            state.add_feed(packet.feed, DUPLICATE)
            if known & packet.feeds == 0:
                state.set(PROVEN, 1)
            self._taking.mark_known(number, known | packet.feeds)
        elif self._moves.ended and number == 1:
            self._moves.hear(self.version, number, packet, 1)
        elif known in (UNKNOWN, LOST):
            state.add_feed(packet.feed, LATE)
            need = MANY if state.get(PROVEN) else FEW
            self._moves.hear(self.version, number, packet, need)
        else:
            self._taking.conflict(number, packet)
            # Many in a row are another run of the exchange, which began again with the same version.
            self._moves.hear(self.version, number, packet, MANY)

    def _expire(self, now_ns: int) -> None:
        self._taking.expire(now_ns)
        self._moves.expire(now_ns)

    # Bookkeeping

    def _hear(self, feed: Feed, now_ns: int) -> None:
        self.state.add_feed(feed, RECEIVED)
        self.state.set_feed(feed, HEARD_NS, now_ns)

    def _taken(self) -> list[Output]:
        due_ns = self.next_timeout()
        self.state.set(DEADLINE, NO_DEADLINE if due_ns is None else due_ns)
        taken = self._taking.out
        self._taking.out = []
        return taken
