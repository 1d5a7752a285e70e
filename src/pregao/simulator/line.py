"""One channel on its way out: the publisher, what it sends to whom, and where each update went."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from pregao.feeds.publishing import (
    NOT_SENT,
    Habits,
    OutgoingPacket,
    Paces,
    PublisherSetup,
    PublishingSite,
    PublishingSystem,
    SequencePoint,
)
from pregao.model.errors import PregaoError
from pregao.model.events import Event, PhaseChanged, Update
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import CaptureFile
from pregao.simulator.pace import SEND_EVERY_NS, Departures
from pregao.simulator.venue import ChannelBooks

# Where every update of a channel went: from the packets that were sent, a column at a time.


Ints = npt.NDArray[np.int64]


class PublishedUpdate:
    """Updates of a channel and where they are: row by row the event's number, sequenceVersion,
    sequenceNumber and index in the packet. `places` are the last three, all -1 where an update was not
    sent; the lists have None there."""

    __slots__ = ("events", "places", "updates")

    def __init__(self, updates: list[Update], events: list[int], places: Ints) -> None:
        self.updates, self.events, self.places = updates, events, places

    @property
    def versions(self) -> list[int | None]:
        return _or_none(self.places[0])

    @property
    def numbers(self) -> list[int | None]:
        return _or_none(self.places[1])

    @property
    def indexes(self) -> list[int | None]:
        return _or_none(self.places[2])


def _or_none(column: Ints) -> list[int | None]:
    found: list[int | None] = column.tolist()
    return [None if place == NOT_SENT else place for place in found]


def places_of_messages(versions: Sequence[int], numbers: Sequence[int], counts: Sequence[int]) -> Ints:
    """Version, number and index of every message of packets that have so many: a row each."""
    many = np.array(counts, np.int64)
    ends = np.cumsum(many)
    indexes = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - many, many)
    return np.stack(
        (np.repeat(np.array(versions, np.int64), many), np.repeat(np.array(numbers, np.int64), many), indexes)
    )


def places_of_updates(messages: Ints, takes: Ints) -> Ints:
    """The same of updates: `takes` says how many messages each became, NOT_SENT where none."""
    sent = messages.shape[1]
    if not sent:
        return np.full((3, len(takes)), NOT_SENT, np.int64)
    ends = np.cumsum(np.maximum(takes, 0))
    first = np.maximum(ends - np.maximum(takes, 1), 0)
    places: Ints = np.where(takes == NOT_SENT, NOT_SENT, messages[:, np.minimum(first, sent - 1)])
    return places


_APART_NS: Final = 500  # between packets that had to wait for the one before
_ENOUGH: Final = 512  # packets that go to a file together


class SimulationError(PregaoError):
    """The simulation contradicts itself: a mistake of ours."""


class Sink(Protocol):
    def send(self, payload: bytes, sending_ns: int) -> None: ...


class PublishingLine:
    """Events in by `publish`, packets out to the sinks by `deliver`."""

    def __init__(
        self,
        system: PublishingSystem,
        channel: int,
        version: int,
        books: ChannelBooks,
        *,
        now_ns: int,
        paces: Paces,
        habits: Habits | None = None,
        start: SequencePoint,
        loops: SequencePoint,
        site: PublishingSite = PublishingSite.PRIMARY,
        standby: "PublishingLine | None" = None,
        departures: Departures,
    ) -> None:
        self.system, self.channel, self.books, self.site = system, channel, books, site
        self.standby = standby  # the same channel at the contingency site
        self.ambushes: list[Callable[[int], None]] = []  # to do in the middle of a snapshot loop
        self.list_ambushes: list[Callable[[int], None]] = []  # in the middle of a loop of definitions
        self.publisher = system.publisher(
            PublisherSetup(
                channel,
                version,
                books,
                now_ns,
                site,
                paces,
                habits or Habits(),
                start,
                loops,
                listener=self._note,
            )
        )
        self.sinks = dict.fromkeys(Stream, ())
        self.sizes: dict[Stream, Counter[int]] = {stream: Counter() for stream in Stream}  # no heartbeats
        self.messages = self.packets = self.events = 0  # of the incremental stream
        self.checkpoint_at = 0  # events at which the next checkpoint is due
        self.left_out: dict[int, None] = {}  # instruments that the last checkpoint had to leave out
        self.instant_ns = now_ns  # when what was told last is sent
        self._departs_after = departures.after
        self._cell = 0  # the stretch of time in which it happened
        self._message_counts = self.publisher.message_counts
        self.publish = self.publisher.publish  # an event, and when to send it
        self._forget()

    @property
    def sites(self) -> "tuple[PublishingLine, ...]":
        """This one, and the contingency site's where there is one."""
        return (self,) if self.standby is None else (self, self.standby)

    @property
    def feeds(self) -> list[tuple[Stream, Feed]]:
        """The streams of this site on the feeds that carry them."""
        streams = (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT)
        return [(stream, feed) for stream in streams for feed in self.system.feeds(self.site, stream)]

    def _forget(self) -> None:
        self._updates: list[Update] = []
        self._numbers: list[int] = []
        self._takes: dict[int, int] = {}  # messages of an update where that is not one
        self._sent: tuple[list[int], list[int], list[int]] = ([], [], [])  # version, number, messages

    @property
    def pending(self) -> list[Update]:
        """What was told since `collect`."""
        return self._updates

    @property
    def sinks(self) -> dict[Stream, tuple[Sink, ...]]:
        return self._sinks

    @sinks.setter
    def sinks(self, sinks: dict[Stream, tuple[Sink, ...]]) -> None:
        """Files are written many packets at a time. Who looks at each packet gets them as they come, in
        the order in which they were sent on all streams."""
        self._sinks = sinks
        self._files = {
            stream: tuple(sink for sink in some if isinstance(sink, CaptureFile))
            for stream, some in sinks.items()
        }
        self._can_wait = self._files == sinks

    def send_at(self, now_ns: int) -> int:
        """When what happens now is sent: later than it and than what was told before, but together with
        what happened next to it."""
        send_ns, last_ns = self._departs_after(now_ns), self.instant_ns
        together = now_ns // SEND_EVERY_NS == self._cell
        self._cell = now_ns // SEND_EVERY_NS
        if together:
            return last_ns if last_ns > now_ns else send_ns
        return send_ns if send_ns > last_ns else last_ns + _APART_NS

    def _note(self, event: Event, send_ns: int) -> None:
        """An event was published: ours, or one that a reset made."""
        self.instant_ns = send_ns
        updates = event.updates
        self.events += 1
        counts = self._message_counts(updates)
        if counts is not None:
            place = len(self._updates)
            for count in counts:
                if count != 1:
                    self._takes[place] = count
                place += 1
        if len(updates) == 1:
            self._updates.append(updates[0])
            self._numbers.append(self.events)
        else:
            self._updates.extend(updates)
            self._numbers.extend(repeat(self.events, len(updates)))

    def is_checkpoint_due(self, event: Event) -> bool:
        """After every change of a phase, and after so many events."""
        return self.events >= self.checkpoint_at or type(event.updates[0]) is PhaseChanged

    def deliver(self) -> None:
        """What the publisher has sent so far goes to the sinks."""
        packets = self.publisher.take()
        if not self._can_wait:
            for packet in packets:
                for sink in self._sinks[packet.stream]:
                    sink.send(packet.payload, packet.sending_ns)
        for stream in Stream:
            some = [packet for packet in packets if packet[0] is stream]
            if not some:
                continue
            if self._can_wait:
                payloads, times = [packet[2] for packet in some], [packet[3] for packet in some]
                for file in self._files[stream]:
                    file.send_all(payloads, times)
            self._count(stream, some)

    def _count(self, stream: Stream, packets: list[OutgoingPacket]) -> None:
        if stream is not Stream.INCREMENTAL:
            self.sizes[stream].update([len(packet[2]) for packet in packets])
            return
        numbered = [packet for packet in packets if packet[5]]  # no heartbeats
        self.packets += len(numbered)
        self.sizes[stream].update([len(packet[2]) for packet in numbered])
        if numbered and numbered[0].units:
            self._count_units(numbered)
            return
        versions, numbers, counts = self._sent
        versions += [packet[4] for packet in numbered]
        numbers += [packet[5] for packet in numbered]
        many = [packet[6] for packet in numbered]
        counts += many
        self.messages += sum(many)

    def _count_units(self, packets: list[OutgoingPacket]) -> None:
        """Where messages are the units: each has a number, and places are those of its entries."""
        versions, numbers, counts = self._sent
        for _, _, _, _, version, number, messages, units in packets:
            if not messages:  # nothing but heartbeats and resets
                continue
            self.messages += messages
            versions.extend(repeat(version, len(units)))
            numbers.extend(range(number, number + len(units)))
            counts.extend(units)

    def flush(self) -> None:
        """What was told leaves, at the time it was to be sent."""
        self.publisher.flush(self.instant_ns)
        self.deliver()

    def settle(self) -> None:
        """The same, but packets that few others go with wait for more."""
        self.publisher.flush(self.instant_ns)
        if not self._can_wait or self.publisher.waiting >= _ENOUGH:
            self.deliver()

    def tick(self, send_ns: int) -> None:
        """Time has passed: loops and heartbeats."""
        self.publisher.flush(self.instant_ns)
        self.publisher.on_timeout(send_ns)
        if not self._can_wait or self.publisher.waiting >= _ENOUGH:
            self.deliver()

    def collect(self) -> PublishedUpdate:
        """Everything told since the last time; all of it must have left (`flush`)."""
        count = len(self._updates)
        places = places_of_messages(*self._sent)
        if self._takes or count != places.shape[1]:
            takes = np.ones(count, np.int64)
            for at, number in self._takes.items():
                takes[at] = number
            sent = int(np.maximum(takes, 0).sum())
            if sent != places.shape[1]:
                raise SimulationError(f"channel {self.channel}: {sent} messages told, {places.shape[1]} sent")
            places = places_of_updates(places, takes)
        published = PublishedUpdate(self._updates, self._numbers, places)
        self._forget()
        return published
