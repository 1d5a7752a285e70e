"""One channel on its way out: the publisher, what it sends to whom, and where each update went."""

from collections import Counter
from itertools import repeat
from struct import Struct
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.publisher import ChannelPublisher, Paces, SequencePoint
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.sweeps import swept
from pregao.feeds.binary.streams import Stream
from pregao.model.errors import PregaoError
from pregao.model.events import (
    Event,
    IndexValue,
    News,
    OpenInterest,
    OrderUpdate,
    SettlementPrice,
    SideDeleted,
    Update,
)
from pregao.model.market import Action
from pregao.services.simulation.sources import ChannelBooks

Ints = npt.NDArray[np.int64]

_POINT = Struct("<xxHI")
_NOT_SENT = -1
_SEQUENCE_RESET = 1
_ODD = frozenset((News, IndexValue, SettlementPrice, OpenInterest))


class SimulationError(PregaoError):
    """The simulation contradicts itself: a mistake of ours."""


class Sink(Protocol):
    def send(self, payload: bytes, sending_ns: int) -> None: ...


class Told:
    """Updates of a channel and where they are: row by row the event's number, sequenceVersion,
    sequenceNumber and index in the packet; None where an update was not sent."""

    __slots__ = ("events", "indexes", "numbers", "updates", "versions")

    def __init__(self, updates: list[Update], events: list[int], places: Ints) -> None:
        self.updates, self.events = updates, events
        columns: list[list[int | None]] = [column.tolist() for column in places]
        if len(places.T) and places[1].min() < 0:
            columns = [[None if place < 0 else place for place in column] for column in places.tolist()]
        self.versions, self.numbers, self.indexes = columns


class Line:
    """Events in by `tell`, packets out to the sinks by `deliver`."""

    def __init__(
        self,
        channel: int,
        schema: Schema,
        version: int,
        books: ChannelBooks,
        *,
        now_ns: int,
        paces: Paces,
        start: SequencePoint,
        loops: SequencePoint,
    ) -> None:
        self.channel, self.books = channel, books
        self.publisher = ChannelPublisher(
            channel, schema, version, books, now_ns=now_ns, paces=paces, start=start, loops=loops
        )
        self.sinks: dict[Stream, tuple[Sink, ...]] = dict.fromkeys(Stream, ())
        self.sizes: dict[Stream, Counter[int]] = {stream: Counter() for stream in Stream}  # no heartbeats
        self.messages = self.packets = self.events = 0  # of the incremental stream
        self.checkpoint_at = 0  # events at which the next checkpoint is due
        self.left_out: dict[int, None] = {}  # instruments that the last checkpoint had to leave out
        self.instant_ns = now_ns  # when what was told last is sent
        self._writer = MessageWriter(schema, version)
        incremental = self.publisher.incremental
        self._publish, self._muted = incremental.publish, incremental.muted
        # Recovery orders after a reset are told by the publisher itself: they go through us as well.
        incremental.publish = self.tell  # type: ignore[assignment,method-assign]
        self._forget()

    def _forget(self) -> None:
        self._updates: list[Update] = []
        self._numbers: list[int] = []
        self._takes: dict[int, int] = {}  # messages of an update where that is not one
        self._places: list[tuple[int, int, int]] = []

    @property
    def pending(self) -> list[Update]:
        """What was told since `collect`."""
        return self._updates

    def tell(self, event: Event, send_ns: int) -> None:
        self._publish(event, send_ns)
        self.instant_ns = send_ns
        updates = event.updates
        self.events += 1
        if len(updates) == 1:
            if type(updates[0]) in _ODD or self._muted:
                self._note_takes(updates)
            self._updates.append(updates[0])
            self._numbers.append(self.events)
        else:
            if self._writer.by_position or self._muted or type(updates[0]) in _ODD:
                self._note_takes(updates)
            self._updates.extend(updates)
            self._numbers.extend(repeat(self.events, len(updates)))

    def _note_takes(self, updates: tuple[Update, ...]) -> None:
        """How many messages each update became: a news several, a sweep of deletions one for all."""
        at, takes = len(self._updates), self._takes
        sent = []
        for place, update in enumerate(updates, at):
            muted = isinstance(update, OrderUpdate | SideDeleted) and update.security_id in self._muted
            if muted or not self._writer.sends(type(update)):
                takes[place] = _NOT_SENT
            else:
                sent.append((place, update))
            if isinstance(update, News):
                takes[place] = len(self._writer.news(update, 0, 0))
        if self._writer.by_position and len(updates) > 1:
            self._note_sweeps(sent)

    def _note_sweeps(self, sent: list[tuple[int, Update]]) -> None:
        place = 0
        for said in swept([update for _, update in sent]):
            run = 1
            if isinstance(said, SideDeleted) and said.action is Action.DELETE_FROM:
                run = said.position or 1
            for at, _ in sent[place + 1 : place + run]:
                self._takes[at] = 0
            place += run

    def deliver(self) -> None:
        """What the publisher has sent so far goes to the sinks."""
        sinks, sizes, incremental = self.sinks, self.sizes, Stream.INCREMENTAL
        for stream, _, payload, sending_ns in self.publisher.take():
            for sink in sinks[stream]:
                sink.send(payload, sending_ns)
            if stream is incremental:
                self._locate(payload)
            else:
                sizes[stream][len(payload)] += 1

    def _locate(self, payload: bytes) -> None:
        version, number = _POINT.unpack_from(payload)
        if not number:  # a heartbeat
            return
        self.packets += 1
        self.sizes[Stream.INCREMENTAL][len(payload)] += 1
        at, size, index, places = PacketHeader.SIZE, len(payload), 0, self._places
        if payload[at + 6] == _SEQUENCE_RESET and not payload[at + 7]:
            return
        while at < size:
            places.append((version, number, index))
            at += payload[at] | payload[at + 1] << 8
            index += 1
        self.messages += index

    def flush(self) -> None:
        """What was told leaves, at the time it was to be sent."""
        self.publisher.flush(self.instant_ns)
        self.deliver()

    def tick(self, send_ns: int) -> None:
        """Time has passed: loops and heartbeats."""
        self.publisher.flush(self.instant_ns)
        self.publisher.on_timeout(send_ns)
        self.deliver()

    def collect(self) -> Told:
        """Everything told since the last time; all of it must have left (`flush`)."""
        count = len(self._updates)
        places = np.array(self._places, np.int64).reshape(-1, 3)
        if self._takes or count != len(places):
            places = self._spread(places)
        told = Told(self._updates, self._numbers, places.T)
        self._forget()
        return told

    def _spread(self, places: Ints) -> Ints:
        """From places of messages to places of updates."""
        takes = np.ones(len(self._updates), np.int64)
        for at, number in self._takes.items():
            takes[at] = number
        ends = np.cumsum(np.maximum(takes, 0))
        sent = int(ends[-1]) if len(ends) else 0
        if sent != len(places):
            raise SimulationError(f"channel {self.channel}: {sent} messages told, {len(places)} sent")
        first = np.maximum(ends - np.maximum(takes, 1), 0)
        if not sent:
            return np.full((len(takes), 3), -1, np.int64)
        spread: Ints = np.where((takes == _NOT_SENT)[:, None], -1, places[np.minimum(first, sent - 1)])
        return spread
