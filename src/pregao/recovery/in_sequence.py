"""One sequence, in order: packets are taken, held, given up; repetitions compared with what was taken."""

from collections.abc import Callable, Iterator

from pregao.model.records import record
from pregao.model.streams import Feed
from pregao.recovery.arbitration_state import (
    APPEARANCE,
    CONFLICTS,
    DUPLICATE,
    FEED_BITS,
    FEEDS,
    FILLED,
    FIRST,
    GIVEN_UP,
    HIGHEST,
    LAST_NS,
    LOST,
    LOWEST_HELD,
    MISSED,
    NEXT,
    NOTHING_HELD,
    PROVEN,
    RING_MASK,
    UNKNOWN,
    VERSION,
    ArbitrationState,
)
from pregao.recovery.asking import Gap, GapRequests
from pregao.recovery.events import (
    GapDetected,
    PacketConflict,
    SequenceStarted,
    SequenceVersionChanged,
    UnitsWanted,
)
from pregao.recovery.policy import ChannelSettings, place
from pregao.recovery.stray_packets import StrayPacket


@record
class SequencedPacket:
    """Next in its sequence."""

    at: int
    version: int
    number: int
    payload: bytes | memoryview
    feed: Feed
    arrival_ns: int


Disruption = GapDetected | PacketConflict | SequenceStarted | SequenceVersionChanged | UnitsWanted
Output = SequencedPacket | Disruption


class InSequence:
    """Where the stream is believed to be. What happens is appended to `out`."""

    def __init__(
        self, state: ArbitrationState, feeds: tuple[Feed, ...], channel: int, settings: ChannelSettings
    ) -> None:
        self.state, self._feeds, self._channel = state, feeds, channel
        self._most_packets, self._most_bytes = settings.hold_packets, settings.hold_bytes
        self.requests = GapRequests(settings)
        self.held: dict[int, StrayPacket] = {}
        self._held_bytes = 0
        self.revealed = 0  # the next number by heartbeats
        self.waits_since_ns: int | None = None  # something is missing
        self.out: list[Output] = []

    @property
    def version(self) -> int:
        return self.state.get(VERSION)

    @property
    def next(self) -> int:
        return self.state.get(NEXT)

    @property
    def at(self) -> int:
        """The place of the last packet taken or given up."""
        return self.place(self.next - 1)

    def place(self, number: int) -> int:
        return place(self.state.get(APPEARANCE), number)

    def begin(self, version: int, number: int, next_appearance: Callable[[], int], *, clean: bool) -> None:
        """From here on `number` of `version` comes next."""
        state, before = self.state, self.version
        state.ring.fill(UNKNOWN)
        state.set(APPEARANCE, next_appearance())
        state.set(VERSION, version)
        state.set(NEXT, number)
        state.set(PROVEN, 0)
        self.requests.begin()
        for feed in self._feeds:
            state.set_feed(feed, HIGHEST, 0)
        if before < 0:
            self.out.append(SequenceStarted(self._channel, version, self.at))
        else:
            self.out.append(SequenceVersionChanged(self._channel, before, version, self.at, clean))

    def accept(self, number: int, packet: StrayPacket) -> None:
        """The next one."""
        state = self.state
        self._enter_ring(number, packet.hash | packet.feeds)
        state.set(NEXT, number + 1)
        state.set(LAST_NS, packet.arrival_ns)
        state.add_feed(packet.feed, FIRST)
        if any(state.feed(feed, HIGHEST) > number for feed in self._feeds if feed != packet.feed):
            state.add_feed(packet.feed, FILLED)
        feed = Feed(packet.feed)
        self.out.append(
            SequencedPacket(self.place(number), self.version, number, packet.payload, feed, packet.arrival_ns)
        )

    def accept_replayed(self, number: int, packet: StrayPacket) -> None:
        """One that was asked for, and is missing."""
        self.requests.forget_over(self.next)
        if number != self.next:
            self.hold(number, packet)
            return
        self.accept(number, packet)
        self.release()
        self.requests.filled += self.requests.forget_over(self.next)

    def hold(self, number: int, packet: StrayPacket) -> None:
        """One that is ahead; when there are too many, what is missing before them is given up."""
        known = self.held.get(number)
        if known is None:
            self.adopt({number: packet})
            while len(self.held) > self._most_packets or self._held_bytes > self._most_bytes:
                self.give_up(min(self.held))
        elif known.hash == packet.hash:
            self.state.add_feed(packet.feed, DUPLICATE)
            known.feeds |= packet.feeds
        else:
            self.conflict(number, packet)

    def adopt(self, packets: dict[int, StrayPacket]) -> None:
        self.held.update(packets)
        self._held_bytes += sum(len(packet.payload) for packet in packets.values())
        self._note_missing(max(packet.arrival_ns for packet in packets.values()))

    def reveal(self, next_number: int, now_ns: int) -> None:
        """A heartbeat tells that the stream is further than we are."""
        self.revealed = max(self.revealed, next_number)
        self._note_missing(now_ns)

    def release(self) -> None:
        """What is held and next."""
        held = self.held
        if not held and self.waits_since_ns is None:
            return
        while (packet := held.pop(self.next, None)) is not None:
            self._held_bytes -= len(packet.payload)
            self.accept(self.next, packet)
        # What is still missing is missing since the first packet behind it came.
        self.waits_since_ns = min((packet.arrival_ns for packet in held.values()), default=None)
        self._note_missing(self.state.get(LAST_NS))

    def give_up(self, number: int) -> None:
        """No feed brought what is missing before this number."""
        first = self.next
        if number <= first:
            self.release()
            return
        for lost in range(max(first, number - len(self.state.ring)), number):
            self._enter_ring(lost, LOST)
        self.state.add(GIVEN_UP, number - first)
        self.state.set(NEXT, number)
        self.requests.forget_over(number)
        gap = GapDetected(self._channel, self.version, self.place(first), self.place(number - 1))
        self.out.append(gap)
        self.release()

    def give_up_all(self) -> None:
        """Nothing more of this sequence will come."""
        while self.held:
            self.give_up(min(self.held))
        if self.revealed > self.next:
            self.give_up(self.revealed)

    def next_timeout(self) -> int | None:
        """When what is missing is to be asked for, or given up."""
        if self.waits_since_ns is None:
            return None
        return self.waits_since_ns + self.requests.wait_ns(self.next, self._before)

    @property
    def _before(self) -> int:
        """Units before this number are missing."""
        return min(self.held) if self.held else self.revealed

    def is_awaited(self, number: int) -> bool:
        """Whether a unit is missing that was asked for."""
        return self.next <= number and self.requests.has_asked_for(number) and number not in self.held

    def unanswered(self, first: int, last: int) -> None:
        """What was asked for does not come: a gap in it is one."""
        if self.waits_since_ns is None or self.requests.is_unasked(self.next):
            return
        if first <= self._before - 1 <= last:
            self.give_up(self._before)

    def _ask(self, waits_since_ns: int, now_ns: int) -> None:
        known_ns = self.requests.old_enough_ns((self.next, self._before), waits_since_ns, now_ns)
        if known_ns is None:
            return
        self.requests.forget_over(self.next)
        for first, end in self.requests.ask(self._missing(known_ns)):
            wanted = UnitsWanted(self._channel, self.version, self.place(first), self.place(end - 1))
            self.out.append(wanted)

    def _missing(self, since_ns: int) -> Iterator[Gap]:
        """The first gap, and those after it whose end has been known since a time: the first number of each
        and the one behind its last."""
        first, end = self.next, self._before
        yield first, end
        for number in sorted(self.held):
            if number > end and self.held[number].arrival_ns <= since_ns:
                yield end, number
            elif number > end:
                return
            end = number + 1

    def expire(self, now_ns: int) -> None:
        """What has waited long enough. A clock that was put back starts the wait again."""
        while self.waits_since_ns is not None:
            if not self.held and self.revealed <= self.next:
                self.waits_since_ns = None  # the kernel took what was missing
                break
            self.waits_since_ns = min(self.waits_since_ns, now_ns)
            self._ask(self.waits_since_ns, now_ns)
            if now_ns - self.waits_since_ns < self.requests.patience_ns(self.next, self._before):
                break
            self.give_up(self._before)

    def conflict(self, number: int, packet: StrayPacket) -> None:
        self.state.add(CONFLICTS)
        self.out.append(PacketConflict(self._channel, self.version, self.place(number), Feed(packet.feed)))

    def differs(self, number: int, value: int) -> bool:
        """Whether other bytes were taken, or are held, under a number."""
        if number >= self.next:
            return number in self.held and self.held[number].hash != value
        known = self.known(number)
        return known not in (UNKNOWN, LOST) and known & ~FEED_BITS != value

    def known(self, number: int) -> int:
        """The ring's entry of a number that was passed."""
        state = self.state
        if self.next - number > len(state.ring):
            return UNKNOWN
        return int(state.ring[number & state.get(RING_MASK)])

    def mark_known(self, number: int, entry: int) -> None:
        self.state.ring[number & self.state.get(RING_MASK)] = entry

    def forget(self) -> None:
        self.held.clear()
        self._held_bytes, self.revealed, self.waits_since_ns = 0, 0, None
        self.state.set(LOWEST_HELD, NOTHING_HELD)

    def _note_missing(self, now_ns: int) -> None:
        self.state.set(LOWEST_HELD, min(self.held) if self.held else NOTHING_HELD)
        if not self.held and self.revealed <= self.next:
            self.waits_since_ns = None
        elif self.waits_since_ns is None:
            self.waits_since_ns = now_ns

    def _enter_ring(self, number: int, entry: int) -> None:
        """The slot of this number is that of an older one, whose last chance to be repeated is over."""
        state = self.state
        slot = number & state.get(RING_MASK)
        absent = state.get(FEEDS) & ~int(state.ring[slot])
        if absent:
            for feed in self._feeds:
                state.add_feed(feed, MISSED, absent >> feed - 1 & 1)
        state.ring[slot] = entry
