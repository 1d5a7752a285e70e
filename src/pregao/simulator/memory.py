"""A simulation in memory, for those who want packets and truth and no files.

    for day in simulate_in_memory(short_day(seed=7, faults="loss=1%,both=3")):
        for packet in day.packets:      # in the order in which they were captured
            packet.channel, packet.stream, packet.feed, packet.ts_ns, packet.payload
        for checkpoint in day.checkpoints:
            checkpoint.channel, checkpoint.seq_version, checkpoint.seq_num
            checkpoint.instruments[security_id].bids
        day.updates                     # every update with the place of its message
        day.faults                      # what went wrong, packet by packet

A day of 3,000 messages over twelve instruments takes about a second of one core.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from pregao.exchange.catalogues.rules import Catalogue
from pregao.feeds.publishing import PublishingSite
from pregao.model.events import PhaseChanged, StateChanged, Update
from pregao.model.instruments import Instrument
from pregao.model.market import State
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import LATENCY_NS
from pregao.simulator.fault_plan import AppliedFault, FaultList
from pregao.simulator.line import PublishedUpdate, PublishingLine
from pregao.simulator.run import Simulation
from pregao.simulator.settings import Settings
from pregao.simulator.venue import Resting, Venue

_JITTER_NS: Final = 4_000
SHORTER: Final = 40  # a day of sixteen minutes


class CapturedPacket(NamedTuple):
    """A packet as it was captured; `ts_ns` is the time of capture."""

    ts_ns: int
    channel: int
    stream: Stream
    feed: Feed
    payload: bytes


class PlacedUpdate(NamedTuple):
    """An update and where its message is: the event's number in its channel's day, sequenceVersion,
    sequenceNumber and index in the packet; None where nothing was sent."""

    channel: int
    site: PublishingSite
    event: int
    seq_version: int | None
    seq_num: int | None
    msg_index: int | None
    update: Update


class InstrumentTruth(NamedTuple):
    """An instrument as the exchange has it. Orders are in priority, `statistics` are the newest of each
    kind (bands and imbalance too) with the time of the checkpoint, `state` is what the snapshot says and
    `trading_state` what it comes to. `rpt_seq` is None where nothing was told yet."""

    rpt_seq: int | None
    bids: Sequence[Resting]
    offers: Sequence[Resting]
    statistics: Sequence[Update]
    state: StateChanged | None
    trading_state: State


class BooksCheckpoint(NamedTuple):
    """After the packet `seq_num` of a site's incremental stream, and before the next. Has the instruments
    touched since the checkpoint before; the first of a day has all."""

    channel: int
    site: PublishingSite
    seq_version: int
    seq_num: int
    event: int
    time_ns: int
    instruments: dict[int, InstrumentTruth]
    phases: Sequence[PhaseChanged]


@dataclass(slots=True)
class MemoryDay:
    """All of one day. Faults are those of the days up to it."""

    trade_date: int
    instruments: list[Instrument] = field(default_factory=list)
    packets: list[CapturedPacket] = field(default_factory=list)
    updates: list[PlacedUpdate] = field(default_factory=list)
    checkpoints: list[BooksCheckpoint] = field(default_factory=list)
    faults: list[AppliedFault] = field(default_factory=list)


class _MemoryCapture:
    __slots__ = ("_last_ns", "_latency_ns", "_packets", "_random", "_where")

    def __init__(self, where: tuple[int, Stream, Feed], packets: list[CapturedPacket], seed: int) -> None:
        self._where, self._packets = where, packets
        self._random = Random(f"{seed}/{where[0]}/{int(where[1])}/{where[2].name}").random
        self._latency_ns = LATENCY_NS[where[2]]
        self._last_ns = 0

    def arrival(self, sending_ns: int) -> int:
        jitter_ns = int(self._random() * 2 * _JITTER_NS)
        self._last_ns = max(self._last_ns + 1, sending_ns + self._latency_ns + jitter_ns)
        return self._last_ns

    def send(self, payload: bytes, sending_ns: int) -> None:
        self._packets.append(CapturedPacket(self.arrival(sending_ns), *self._where, payload))

    def record(self, payload: bytes, ts_ns: int) -> None:
        self._packets.append(CapturedPacket(ts_ns, *self._where, payload))


class _MemoryTruth:
    def __init__(self, day: MemoryDay, venue: Venue) -> None:
        self._day, self._engine = day, venue.engine

    def record(self, line: PublishingLine, published: PublishedUpdate) -> None:
        columns = zip(
            published.events,
            published.versions,
            published.numbers,
            published.indexes,
            published.updates,
            strict=True,
        )
        self._day.updates.extend(PlacedUpdate(line.channel, line.site, *row) for row in columns)

    def checkpoint(self, line: PublishingLine, security_ids: Iterable[int], now_ns: int) -> None:
        publisher, books = line.publisher, line.books
        books.now_ns = now_ns
        found: dict[int, InstrumentTruth] = {}
        for security_id in security_ids:
            book = books.book(security_id)
            if book is not None:
                traded = security_id in self._engine.floor.markets
                state = self._engine.trading_state(security_id) if traded else State.CLOSE
                found[security_id] = InstrumentTruth(publisher.rpt_seq(security_id), *book, state)
        point = publisher.point(Stream.INCREMENTAL)
        self._day.checkpoints.append(
            BooksCheckpoint(
                line.channel, line.site, point.version, point.next_number - 1, line.events, now_ns,
                found, books.phases(),
            )
        )  # fmt: skip


class MemoryOutput:
    """Keeps one day at a time: `day` is the last one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.log = FaultList()
        self.day = MemoryDay(0)
        self._venue: Venue | None = None

    def open_day(self, trade_date: int, venue: Venue) -> None:
        self.day, self._venue = MemoryDay(trade_date), venue

    def capture(self, system: str, channel: int, stream: Stream, feed: Feed) -> _MemoryCapture:
        seed = self._settings.seed + self.day.trade_date
        return _MemoryCapture((channel, stream, feed), self.day.packets, seed)

    def truth(self) -> _MemoryTruth | None:
        assert self._venue is not None
        return _MemoryTruth(self.day, self._venue) if self._settings.truth else None

    def close_day(self) -> int:
        day = self.day
        day.packets.sort(key=lambda packet: packet.ts_ns)
        day.faults = list(self.log.done)
        assert self._venue is not None
        day.instruments = [market.instrument for market in self._venue.engine.floor.markets.values()]
        return sum(len(packet.payload) for packet in day.packets)

    def discard_day(self) -> None:
        self.day = MemoryDay(0)

    def close(self) -> None:
        pass


def short_day(**changes: Any) -> Settings:
    """A small day for proofs: twelve instruments, 3,000 messages in sixteen minutes of the clock, with a
    heartbeat a second, a snapshot loop every ten, and many trades for its size. Whatever Settings has can
    be given otherwise."""
    defaults: dict[str, Any] = {
        "out": Path(), "messages": 3_000, "instruments": 12, "squeeze": SHORTER, "loops": 97,
        "trading": 5.0,
    }  # fmt: skip
    return Settings(**(defaults | changes))


def simulate_in_memory(settings: Settings, catalogue: Catalogue | None = None) -> Iterator[MemoryDay]:
    """The days of the settings, one after the other; `out` is not used."""
    memory = MemoryOutput(settings)
    simulation = Simulation(settings, output=memory, catalogue=catalogue)
    for _ in simulation.days():
        yield memory.day
