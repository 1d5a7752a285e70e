"""`impaired-days`: whole days of the simulated exchange through the feed handler, with everything that can
go wrong on the way, against the exchange's own truth at the same sequence number."""

from datetime import date

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.handler.handler import ChannelHandler
from pregao.feeds.binary.publisher import Site as PublisherSite
from pregao.services.simulation.memory import MemoryDay, short_day, simulate_in_memory
from tests.proofs.day_report import DayReport
from tests.proofs.impaired_scenarios import MESSAGES, Scenario, scenario_of
from tests.proofs.result import Result
from tests.proofs.truth_follower import DifferenceError, TruthFollower

NAME = "impaired-days"
SEEDS = 200

_MONDAY, _WEDNESDAY = date(2026, 11, 16), date(2026, 11, 18)


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
            self.report.note(handler.receive(packet.payload, packet.stream, packet.feed, packet.ts_ns))
            self._check(packet.channel)

    def _wake(self, now_ns: int) -> None:
        for channel, handler in self.handlers.items():
            due_ns = handler.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self.report.note(handler.on_timeout(now_ns))
                self._check(channel)

    def _point(self, channel: int) -> tuple[int, int]:
        machine = self.handlers[channel].machine
        return machine.arbiter.version, machine.at & 0xFFFFFFFF

    def _check(self, channel: int) -> None:
        self.handlers[channel].machine.check_invariants()
        fresh = self._scenario.every_event
        self.truths[channel].at_point(self._point(channel), self.handlers[channel], fresh=fresh)

    def finish(self) -> None:
        for channel, handler in self.handlers.items():
            self.report.finish(handler, self.truths[channel])


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
