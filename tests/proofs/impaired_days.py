"""`impaired-days`: whole days of the simulated exchange through the feed handler, with everything that can
go wrong on the way, against the exchange's own truth at the same sequence number."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.handler.handler import ChannelHandler
from pregao.feeds.binary.handler.views import HandledBook
from pregao.feeds.binary.publisher import Site as PublisherSite
from pregao.services.simulation.memory import MemoryDay, short_day, simulate_in_memory
from pregao.sessions.events import GapDetected, InstrumentHealed, InstrumentStale
from pregao.sessions.instruments import Known
from tests.proofs.impaired_scenarios import MESSAGES, Scenario, scenario_of
from tests.proofs.result import Result
from tests.proofs.truth_follower import DifferenceError, TruthFollower

NAME = "impaired-days"
SEEDS = 200

_MONDAY, _WEDNESDAY = date(2026, 11, 16), date(2026, 11, 18)


@dataclass(slots=True)
class DayReport:
    """What happened on one day."""

    packets: int = 0
    impairments: int = 0
    comparisons: int = 0
    points: int = 0
    gaps: int = 0
    lost: int = 0
    stale: int = 0
    cut_short: int = 0  # instruments that the end of the day kept from being whole
    heals: Counter[str] = field(default_factory=Counter)
    waits: list[int] = field(default_factory=list)  # snapshot loops until healed


class Listener:
    """A handler for each channel, and the truth beside it."""

    def __init__(self, day: MemoryDay, scenario: Scenario) -> None:
        schema = load_builtin_schema()
        self._scenario, self.report = scenario, DayReport()
        self.handlers: dict[int, ChannelHandler] = {}
        self.truths: dict[int, TruthFollower] = {}
        for channel in sorted({packet.channel for packet in day.packets}):
            self.handlers[channel] = ChannelHandler(channel, schema)
            theirs = (c for c in day.checkpoints if c.channel == channel and c.site is PublisherSite.PRIMARY)
            self.truths[channel] = TruthFollower(theirs, scenario.version)

    def listen(self, day: MemoryDay) -> None:
        first_ns, last_ns = day.packets[0].ts_ns, day.packets[-1].ts_ns
        joins_ns = first_ns + int((last_ns - first_ns) * self._scenario.joins_at)
        for packet in day.packets:
            if packet.ts_ns < joins_ns:
                continue
            self.report.packets += 1
            self._wake(packet.ts_ns)
            handler = self.handlers[packet.channel]
            self._note(handler.receive(packet.payload, packet.stream, packet.feed, packet.ts_ns))
            self._check(packet.channel)

    def _wake(self, now_ns: int) -> None:
        for channel, handler in self.handlers.items():
            due_ns = handler.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self._note(handler.on_timeout(now_ns))
                self._check(channel)

    def _note(self, notices: list[object]) -> None:
        for notice in notices:
            if isinstance(notice, GapDetected):
                self.report.gaps += 1
                self.report.lost += notice.packets
            elif isinstance(notice, InstrumentStale):
                self.report.stale += 1
            elif isinstance(notice, InstrumentHealed):
                self.report.heals[notice.by.name.lower()] += 1
                self.report.waits.append(notice.loops)

    def _point(self, channel: int) -> tuple[int, int]:
        machine = self.handlers[channel].machine
        return machine.arbiter.version, machine.at & 0xFFFFFFFF

    def _check(self, channel: int) -> None:
        fresh = self._scenario.every_event
        self.truths[channel].at_point(self._point(channel), self.handlers[channel], fresh=fresh)

    def _excuse(self, handler: ChannelHandler, book: HandledBook) -> None:
        """Only the end of the day may keep an instrument from being whole: a loop that begins after the
        loss must be heard to its end, so it takes two."""
        loops = handler.machine.snapshots.tracker.loops
        if loops - int(handler.machine.table.sync[book.index]["since"]) >= 2:
            raise DifferenceError(f"{book.symbol} is {handler.known(book.index)} at the end")
        self.report.cut_short += 1

    def finish(self) -> None:
        """At the end nothing is stale, and all was compared."""
        for channel, handler in self.handlers.items():
            handler.store.check_invariants()
            for book in handler.books():
                if book.instrument is not None and min(handler.known(book.index)) is not Known.CLEAN:
                    self._excuse(handler, book)
            truth = self.truths[channel]
            if not truth.is_over:
                raise DifferenceError(f"channel {channel}: the last point of the truth was not reached")
            self.report.comparisons += truth.books + truth.statistics + truth.states
            self.report.points += truth.points


def run_day(seed: int, messages: int = MESSAGES) -> DayReport:
    """One day; raises DifferenceError."""
    scenario = scenario_of(seed)
    settings = short_day(
        seed=seed,
        messages=messages,
        faults=scenario.faults,
        version=scenario.version,
        date=_WEDNESDAY if scenario.mid_week else _MONDAY,
        checkpoint_events=1 if scenario.every_event else 100,
    )
    (day,) = simulate_in_memory(settings)
    listener = Listener(day, scenario)
    listener.report.impairments = len(day.faults)
    listener.listen(day)
    listener.finish()
    return listener.report


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
