"""`impaired-days`: whole days of the simulated exchange through the feed handler, with everything that can
go wrong on the way, against the exchange's own truth at the same sequence number."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from pregao.feeds.binary.system import BINARY
from pregao.feeds.port import MulticastSystem
from pregao.feeds.publishing import PublishingSite as PublisherSite
from pregao.handler.handler import ChannelHandler
from pregao.handler.instruments import LineTable
from pregao.model.packets import batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import Event
from pregao.simulator.memory import (
    BooksCheckpoint,
    CapturedPacket,
    MemoryDay,
    short_day,
    simulate_in_memory,
)
from pregao.simulator.settings import Settings
from tests.proofs.day_report import DayReport
from tests.proofs.impaired_scenarios import (
    INSTRUMENTS,
    MESSAGES,
    QUIET_MESSAGES,
    RELISTINGS,
    Scenario,
    scenario_of,
)
from tests.proofs.list_follower import ListFollower
from tests.proofs.result import Result
from tests.proofs.truth_follower import DifferenceError, Point, TruthFollower, check_phases_known

NAME = "impaired-days"
SEEDS = 300

_MONDAY, _WEDNESDAY = date(2026, 11, 16), date(2026, 11, 18)


class Listener:
    """A handler for each channel, and the truth beside it."""

    believes_phases = True  # nobody forges them, and every loop has them all
    system: MulticastSystem = BINARY

    def __init__(self, day: MemoryDay, scenario: Scenario) -> None:
        self._scenario, self.report = scenario, DayReport()
        self.handlers: dict[int, ChannelHandler] = {}
        self.truths: dict[int, TruthFollower] = {}
        self.lists: dict[int, ListFollower] = {}
        for channel in sorted({packet.channel for packet in day.packets}):
            self.handlers[channel] = ChannelHandler(channel, self.system)
            theirs = [c for c in day.checkpoints if c.channel == channel and c.site is PublisherSite.PRIMARY]
            self.truths[channel] = self._truth(channel, theirs)
            self.lists[channel] = ListFollower(day, channel)

    def _truth(self, channel: int, checkpoints: list[BooksCheckpoint]) -> TruthFollower:
        return TruthFollower(checkpoints, self._scenario.version, groups=self.believes_phases)

    def listen(self, day: MemoryDay) -> None:
        first_ns, last_ns = day.packets[0].ts_ns, day.packets[-1].ts_ns
        joins_ns = first_ns + int((last_ns - first_ns) * self._scenario.joins_at)
        packets = [packet for packet in day.packets if packet.ts_ns >= joins_ns]
        self.report.packets += len(packets)
        if self._scenario.batch:
            self._take_batches(packets, self._scenario.batch)
        else:
            self._take_one_by_one(packets)

    def _take_one_by_one(self, packets: list[CapturedPacket]) -> None:
        for packet in packets:
            self._wake(packet.ts_ns)
            self._before([packet])
            handler, now_ns = self.handlers[packet.channel], packet.ts_ns
            self._note(handler.receive(packet.payload, packet.stream, packet.feed, now_ns), now_ns)
            self._check(packet.channel)

    def _take_batches(self, packets: list[CapturedPacket], size: int) -> None:
        """As a live market does by default: all channels and streams together, as they came."""
        sources = {source: place for place, source in enumerate(dict.fromkeys(map(_source, packets)))}
        lines = LineTable([StreamId(*source) for source in sources])
        for some in self._batches(packets, size):
            now_ns = some[-1].ts_ns
            self._wake(some[0].ts_ns)
            self._before(some)
            batch = batch_of([(sources[_source(each)], each.ts_ns, each.payload) for each in some])
            for channel in dict.fromkeys(each.channel for each in some):
                self._note(self.handlers[channel].receive_batch(batch, lines, now_ns), now_ns)
                self._check(channel)

    def _batches(self, packets: list[CapturedPacket], size: int) -> Iterator[list[CapturedPacket]]:
        """What is taken at once."""
        return (packets[first : first + size] for first in range(0, len(packets), size))

    def _before(self, packets: list[CapturedPacket]) -> None:
        """They are about to be taken."""

    def _wake(self, now_ns: int) -> None:
        for channel, handler in self.handlers.items():
            due_ns = handler.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self._note(handler.on_timeout(now_ns), now_ns)
                self._check(channel)

    def _note(self, events: list[Event], now_ns: int) -> None:
        """What a handler said."""
        self.report.note(events)

    def _point(self, channel: int) -> Point | None:
        """Where a handler is in the exchange's own numbers; None: nobody can know yet."""
        machine = self.handlers[channel].machine
        return machine.arbiter.version, machine.at & 0xFFFFFFFF

    def _check(self, channel: int) -> None:
        self.handlers[channel].machine.check_invariants()
        fresh, point, handler = self._scenario.every_event, self._point(channel), self.handlers[channel]
        if self.believes_phases:
            check_phases_known(handler)
        if point is not None:
            self.truths[channel].at_point(point, handler, fresh=fresh)
            self.lists[channel].check(point, handler)

    def finish(self) -> None:
        for channel, handler in self.handlers.items():
            self.lists[channel].finish(handler)
            self.report.comparisons += self.lists[channel].comparisons + self.lists[channel].half_told
            self.report.finish(handler, self.truths[channel])


def _source(packet: CapturedPacket) -> tuple[int, Stream, Feed]:
    return packet.channel, packet.stream, packet.feed


def settings_of(seed: int, scenario: Scenario, messages: int, **changes: Any) -> Settings:
    """The exchange's day of a scenario."""
    defaults: dict[str, Any] = {
        "messages": min(messages, QUIET_MESSAGES) if scenario.quiet else messages,
        "faults": scenario.faults,
        "version": scenario.version,
        "date": _WEDNESDAY if scenario.mid_week else _MONDAY,
        "checkpoint_events": 1 if scenario.every_event else 100,
        "instruments": INSTRUMENTS,
        "relistings": RELISTINGS,
        "habits": scenario.habits,
    }
    return short_day(seed=seed, **(defaults | changes))


def run_day(seed: int, messages: int = MESSAGES) -> DayReport:
    """One day; raises DifferenceError."""
    scenario = scenario_of(seed)
    (day,) = simulate_in_memory(settings_of(seed, scenario, messages))
    listener = Listener(day, scenario)
    listener.report.impairments = len(day.faults)
    listener.listen(day)
    listener.finish()
    return listener.report


def cases(seeds: int = SEEDS, first: int = 1) -> list[int]:
    return list(range(first, first + seeds))


def run_case(seed: int) -> tuple[Result, DayReport | None]:
    result = Result(NAME, trials=1)
    try:
        report = run_day(seed)
    except DifferenceError as difference:
        result.failures = 1
        result.failed.append(f"{NAME} seed {seed}, {scenario_of(seed)}: {difference}")
        return result, None
    result.comparisons, result.impairments = report.comparisons, report.impairments
    return result, report
