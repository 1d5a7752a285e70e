"""Feeds that carry one sequence (6.1): the first to bring a packet wins, and a gap is one that all have.

    next in sequence      accepted, and what is held behind it
    accepted before       a repetition: dropped, its messages compared
    given up before       late: dropped
    a little ahead        held, bounded by count, bytes and time; then the gap is declared
    far ahead, or of      `stray_packets`: followed when others confirm it. Number 1 of the next version is
    another version       believed at once, and waits for the end of the old one

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
    OUTDATED,
    PROVEN,
    RECEIVED,
    UNKNOWN,
    VERSION,
    ArbitrationState,
    messages_hash,
)
from pregao.recovery.in_sequence import InSequence, Output, SequencedPacket
from pregao.recovery.policy import ChannelSettings
from pregao.recovery.stray_packets import (
    BEATS_BACK,
    FEW,
    MANY,
    RepeatedBeats,
    StrayCluster,
    StrayPacket,
    StrayPackets,
)

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
        self._settings, self._next_appearance = settings, next_appearance
        self._policy = settings.policy
        self._taking = InSequence(self.state, feeds, channel, settings)
        self._elsewhere = StrayPackets(settings.hold_bytes)
        self._coming: StrayCluster | None = None  # the next version, while the end of this one may still come
        self._ended_at = -1  # a SequenceReset stood there
        self._beats = RepeatedBeats()

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
        return self._taking.waits_since_ns is None and self._coming is None and self.version >= 0

    @property
    def held(self) -> int:
        """Packets kept for later, here and elsewhere."""
        coming = 0 if self._coming is None else len(self._coming.packets)
        return len(self._taking.held) + coming + self._elsewhere.packets

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
            self._begin(version, number)
            self._taking.accept(number, packet)
        elif version != self.version:
            before = self.version
            # Where the sequence has ended another begins with 1, and only what ended it may be contradicted.
            expected = self._ended and number != max(self._taking.next - 1, 2)
            differs = not expected and self._taking.differs(number, packet.hash)
            self._of_another_version(version, number, packet)
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
        filled, self._taking.filled = self._taking.filled, 0
        return filled

    def on_unanswered(self, version: int, first: int, last: int) -> list[Output]:
        """A replayer does not have these."""
        if version == self.version:
            self._taking.unanswered(first, last)
        return self._taken()

    @property
    def may_ask(self) -> bool:
        """Whether what is missing is asked for, where there is a replayer."""
        return self._taking.may_ask

    @may_ask.setter
    def may_ask(self, asks: bool) -> None:
        self._taking.may_ask = asks

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
            self._begin(version, next_number)
        elif (version, next_number) == (self.version, self._taking.next):
            self.state.set(PROVEN, 1)
            self.state.set(LAST_NS, now_ns)
        elif self._confirmed_beat(version, next_number):
            self._reveal(version, next_number, now_ns)
        return self._taken()

    def on_sequence_reset(self, at: int) -> None:
        """The packet at this place, already taken, was the last of its version (6.5.11)."""
        if at == self.at and not self._taking.held:
            self._ended_at = at

    def after_end(self) -> list[Output]:
        """What of the next version was already there when `on_sequence_reset` was told."""
        if self._ended and self._coming is not None:
            self._relocate(self._coming)
        return self._taken()

    def release(self) -> list[Output]:
        """After the kernel stopped before what is held."""
        self._taking.release()
        return self._taken()

    def next_timeout(self) -> int | None:
        due_ns = self._taking.next_timeout()
        if self._coming is not None:
            come_ns = self._coming.since_ns + self._settings.hold_ns
            due_ns = come_ns if due_ns is None else min(due_ns, come_ns)
        return due_ns

    def on_timeout(self, now_ns: int) -> list[Output]:
        self._expire(now_ns)
        return self._taken()

    def restart(self) -> None:
        """This site is taken up again: the first packet from now on is where it begins."""
        self._forget()
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
            self._hear_elsewhere(self.version, number, packet, FEW)

    def _repeated(self, number: int, packet: StrayPacket) -> None:
        state, known = self.state, self._taking.known(number)
        if known not in (UNKNOWN, LOST) and known & ~FEED_BITS == packet.hash:
            state.add_feed(packet.feed, DUPLICATE)
            if known & packet.feeds == 0:
                state.set(PROVEN, 1)
            self._taking.mark_known(number, known | packet.feeds)
        elif self._ended and number == 1:
            self._hear_elsewhere(self.version, number, packet, 1)
        elif known in (UNKNOWN, LOST):
            state.add_feed(packet.feed, LATE)
            need = MANY if state.get(PROVEN) else FEW
            self._hear_elsewhere(self.version, number, packet, need)
        else:
            self._taking.conflict(number, packet)
            # Many in a row are another run of the exchange, which began again with the same version.
            self._hear_elsewhere(self.version, number, packet, MANY)

    def _expire(self, now_ns: int) -> None:
        self._taking.expire(now_ns)
        if self._coming is not None:
            self._coming.since_ns = min(self._coming.since_ns, now_ns)
            if now_ns - self._coming.since_ns >= self._settings.hold_ns:
                self._relocate(self._coming)

    # Elsewhere

    def _of_another_version(self, version: int, number: int, packet: StrayPacket) -> None:
        if self._coming is not None and self._coming.version == version:
            self._add_coming(self._coming, number, packet)
            return
        if version == self._policy.next_epoch(self.version) and number == 1:
            need = 1
        elif self._policy.is_newer(version, self.version) or not self.state.get(PROVEN):
            need = FEW
        else:
            need = MANY
            self.state.add(OUTDATED)
        self._hear_elsewhere(version, number, packet, need)

    def _add_coming(self, coming: StrayCluster, number: int, packet: StrayPacket) -> None:
        if not coming.add(number, packet):
            self.state.add_feed(packet.feed, DUPLICATE)
            return
        settings = self._settings
        if len(coming.packets) > settings.hold_packets or coming.size > settings.hold_bytes:
            self._relocate(coming)

    def _hear_elsewhere(self, version: int, number: int, packet: StrayPacket, need: int) -> None:
        believed = self._elsewhere.hear(version, number, packet, need, self.at)
        if believed is None:
            return
        if version == self.version and number >= self._taking.next:
            self._jump(believed)
        elif version == self._policy.next_epoch(self.version) and not self._ended:
            believed.since_ns = packet.arrival_ns
            self._coming = believed
        else:
            self._relocate(believed)

    def _jump(self, believed: StrayCluster) -> None:
        """Far ahead in the same sequence: everything before it is lost."""
        taking = self._taking
        taking.give_up_all()
        packets = {n: packet for n, packet in believed.packets.items() if n >= taking.next}
        if packets:
            taking.adopt(packets)
            taking.give_up(min(packets))

    def _relocate(self, believed: StrayCluster) -> None:
        """Another sequence: what is held of this one comes first, as far as it goes."""
        self._taking.give_up_all()
        ended, before, lowest = self._ended, self.version, believed.lowest
        self._forget()
        back = believed.version == before and not (ended and lowest == 1)
        first = lowest if back or lowest > self._settings.hold_packets else 1
        clean = ended and first == 1 and believed.version in (before, self._policy.next_epoch(before))
        self._begin(believed.version, first, clean=clean)
        self.state.set(PROVEN, int(len(believed.packets) > 1))
        self._taking.adopt(believed.packets)
        self._taking.release()

    @property
    def _ended(self) -> bool:
        return self._ended_at == self.at

    def _begin(self, version: int, number: int, *, clean: bool = False) -> None:
        self._taking.begin(version, number, self._next_appearance, clean=clean)

    def _forget(self) -> None:
        self._taking.forget()
        self._elsewhere.forget()
        self._coming, self._ended_at = None, -1

    # Heartbeats

    def _confirmed_beat(self, version: int, next_number: int) -> bool:
        same = version == self.version
        forward = next_number > self._taking.next if same else self._policy.is_newer(version, self.version)
        need = FEW if forward or not self.state.get(PROVEN) else BEATS_BACK
        return self._beats.hear(version, next_number, self.at) >= need

    def _reveal(self, version: int, next_number: int, now_ns: int) -> None:
        """The stream is idle and further than we are, or elsewhere."""
        if version == self.version and next_number > self._taking.next:
            self._taking.reveal(next_number, now_ns)
            return
        self._taking.give_up_all()
        clean = self._ended and next_number == 1 and version == self._policy.next_epoch(self.version)
        self._forget()
        self._begin(version, next_number, clean=clean)

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
