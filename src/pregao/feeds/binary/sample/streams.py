"""The three streams of a channel as packets: numbers, times, and how full they are.

Most packets carry one message, as on the wire; an event that needs more fills packets up to the
1,400 bytes that B3 promises.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import FRAMING_SIZE, MAX_PACKET, PacketHeader, encode_packet
from pregao.feeds.binary.sample.instruments import SESSION_NS
from pregao.feeds.binary.sample.market import Event, Market
from pregao.feeds.binary.sample.opening import definitions, opening
from pregao.feeds.binary.sample.seldom import Happening, happenings
from pregao.feeds.binary.sample.snapshots import snapshot_loop
from pregao.feeds.binary.sample.trading import cancel, change, new_order, replace, requote, trade
from pregao.feeds.binary.sample.words import Words

SEQUENCE_RESET, SEQUENCE = 1, 2
INCREMENTAL_VERSION: Final = 7
SNAPSHOT_VERSION: Final = 301  # the first; every loop has its own
DEFINITION_VERSION: Final = 201

_US = 1_000
_IDLE_NS = 1_000_000_000  # silence after which a heartbeat is due
_IDLE_EVERY = 4_000  # packets
_LOOP_GAP_NS = 150 * _US
_LARGEST_EVENT = 16  # packets; that many before the end only single orders come
_SELDOM = 0.022

# What packets of the continuous session are, in parts of a whole.
_MIX: Final[dict[Happening, float]] = {
    new_order: 0.425,
    cancel: 0.385,
    change: 0.065,
    replace: 0.06,
    requote: 0.005,
    trade: 0.03,
}
_KINDS, _SHARES = list(_MIX), list(_MIX.values())


class Sent(NamedTuple):
    """A packet: its number (0 for a heartbeat), when it was sent, its bytes."""

    number: int
    sending_ns: int
    payload: bytes


class SampleChannel:
    """A channel with one day of traffic. `incremental` makes the day; `snapshots` are its by-product."""

    def __init__(self, schema: Schema, *, version: int = 16, seed: int = 1, channel: int = 84) -> None:
        self.words = Words(schema, version)
        self.channel = channel
        self.market = Market(self.words, seed)
        self.snapshots: list[Sent] = []
        self._seldom = happenings()
        self._number = 0
        self._loops = 0

    def incremental(self, packets: int) -> Iterator[Sent]:
        """Exactly so many numbered packets, and heartbeats between them. Snapshots are taken half
        way and at the end."""
        loops_at = [packets // 2, packets]
        yield self._heartbeat()
        for messages in self._events(packets):
            for part in pack(messages):
                self._number += 1
                yield self._incremental(part)
                if self._number == packets:
                    break
            while loops_at and self._number >= loops_at[0]:
                loops_at.pop(0)
                self._snapshot()
            if self._number == packets:
                return
            self.market.wait(self._pause())
            if self._number % _IDLE_EVERY == 0:
                self.market.wait(_IDLE_NS)
                yield self._heartbeat()

    def definitions(self, loops: int = 2) -> Iterator[Sent]:
        """The definition stream from the start of the session."""
        messages = [
            self.words.encode(template, fields)
            for fields in definitions(self.market)
            for template in (4, 12)
            if template in self.words.templates
        ]
        now_ns = SESSION_NS
        for loop in range(loops):
            for sent in self._loop(messages, DEFINITION_VERSION + loop, now_ns):
                yield sent
                now_ns = sent.sending_ns + 2 * _LOOP_GAP_NS

    def _events(self, packets: int) -> Iterator[list[bytes]]:
        for event in opening(self.market):
            yield event.encode()
        while True:
            event = Event(self.market)
            happening = self._happening() if packets - self._number > _LARGEST_EVENT else cancel
            happening(self.market, event)
            messages = event.encode()
            if messages:  # some versions have no message for some happenings
                yield messages

    def _happening(self) -> Happening:
        random = self.market.random
        return next(self._seldom) if random.random() < _SELDOM else random.choices(_KINDS, _SHARES)[0]

    def _pause(self) -> int:
        """Bursts with pauses between: some 4,500 packets a second on average."""
        random = self.market.random
        rate = 1 / 12 if random.random() < 0.6 else 1 / 540
        return int(_US * (1 + random.expovariate(rate)))

    def _incremental(self, messages: list[bytes]) -> Sent:
        # The next packet of the same event leaves a little later.
        self.market.wait(2 * _US)
        sending_ns = self.market.now_ns + 30 * _US
        return self._sent(self._number, INCREMENTAL_VERSION, sending_ns, messages)

    def _heartbeat(self) -> Sent:
        message = self.words.encode(SEQUENCE, {"nextSeqNo": self._number + 1})
        return self._sent(0, INCREMENTAL_VERSION, self.market.now_ns + 30 * _US, [message])

    def _snapshot(self) -> None:
        messages = snapshot_loop(self.market, self._number, INCREMENTAL_VERSION)
        earliest = self.snapshots[-1].sending_ns + _LOOP_GAP_NS if self.snapshots else 0
        start_ns = max(self.market.now_ns + 50 * _US, earliest)
        self.snapshots.extend(self._loop(messages, SNAPSHOT_VERSION + self._loops, start_ns))
        self._loops += 1

    def _loop(self, messages: Iterable[bytes], version: int, now_ns: int) -> Iterator[Sent]:
        """Full packets, and a SequenceReset alone in the last (6.5.11)."""
        parts = [*pack(messages), [self.words.encode(SEQUENCE_RESET, {})]]
        for number, part in enumerate(parts, 1):
            yield self._sent(number, version, now_ns + number * _LOOP_GAP_NS, part)

    def _sent(self, number: int, version: int, sending_ns: int, messages: list[bytes]) -> Sent:
        header = PacketHeader(self.channel, version, number, sending_ns)
        return Sent(number, sending_ns, encode_packet(header, messages))


def pack(messages: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Messages in packets, each as full as it gets."""
    part: list[bytes] = []
    size = PacketHeader.SIZE
    for message in messages:
        framed = FRAMING_SIZE + len(message)
        if part and size + framed > MAX_PACKET:
            yield part
            part, size = [], PacketHeader.SIZE
        part.append(message)
        size += framed
    if part:
        yield part
