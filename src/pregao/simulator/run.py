"""A simulation from its settings to its files, or to wherever its output is."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.clearing import EVERY_NS
from pregao.exchange.flow.prices import TRADING_DAY_NS
from pregao.exchange.flow.settings import FlowSettings
from pregao.feeds.publishing import PublishingSite, PublishingSystem, SequencePoint
from pregao.feeds.registry import is_served, load_publishing_system
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import local_midnight_ns
from pregao.model.streams import Stream
from pregao.simulator.collector import calm_collector
from pregao.simulator.desks import Desks, books_of, clearing_of
from pregao.simulator.driver import Driver, Task
from pregao.simulator.fault_language import parse_faults
from pregao.simulator.fault_plan import AppliedFault, DayOfFaults
from pregao.simulator.impaired import ImpairedCapture, Injector
from pregao.simulator.line import PublishingLine, Sink
from pregao.simulator.outputs import DayOutput, Files
from pregao.simulator.pace import DayClock, Departures, paces, slices, squeezed, with_bursts
from pregao.simulator.relisting import Relisting
from pregao.simulator.routing import routing_of
from pregao.simulator.served_days import ServedDays
from pregao.simulator.settings import Settings, as_date, starts_week
from pregao.simulator.summary import SimulationSummary
from pregao.simulator.venue import Venue, default_catalogue

_BEFORE_MESSAGES = 6_000  # of the day before the first, so that there are orders to carry over
_BRIEF_IN_SHORT_DAYS = 0.1  # of the orders
_OWN_VERSIONS = 500  # from where the contingency site counts its sequenceVersions
_DESKS_OF_SHORT_DAYS: Final = 4
Watch = Callable[[int, int], None]  # messages made, and wanted


class Simulation:
    """Use once: `run`, or go through `days`. Without a `catalogue` it is that of the settings."""

    def __init__(
        self,
        settings: Settings,
        watch: Watch | None = None,
        output: DayOutput | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        self.settings, self._watch = settings, watch
        self.plan = parse_faults(settings.faults)
        self._contingency = settings.contingency or bool(self.plan.contingency)
        catalogue = squeezed(catalogue or default_catalogue(settings.instruments), settings.squeeze)
        before = settings.day_before
        flow = FlowSettings(trading=settings.trading)
        if settings.squeeze > 1:  # books of a short day fill up, so that snapshots are worth looking at
            flow = replace(flow, day_ns=TRADING_DAY_NS // settings.squeeze, brief=_BRIEF_IN_SHORT_DAYS)
        self.venue = Venue(catalogue, settings.seed, before, flow)
        published = [name for name in (settings.system, *settings.beside) if not is_served(name)]
        systems = [load_publishing_system(name) for name in published]
        parts = [routing_of(catalogue, [system]) for system in systems]
        self._routing = routing_of(catalogue, systems)
        self.clearing = clearing_of(self.venue)
        self.lines = [
            self._line(system, channel, before, len(part.channels))
            for system, part in zip(systems, parts, strict=True)
            for channel in part.channels
        ]
        self.served = [
            ServedDays(
                name,
                self.venue,
                self.clearing,
                settings.sessions,
                lending_beside=settings.habits.lending_beside,
                squeeze=settings.squeeze,
            )
            for name in settings.beside
            if is_served(name)
        ]
        if self.plan.sessions and not self.served:
            raise ConfigurationError("session: no system of sessions is simulated", key="faults")
        self.driver = Driver(self.venue, self._routing, self.lines, settings.checkpoint_events)
        self.driver.witnesses.extend(self.served)
        self.summary = SimulationSummary()
        sites = tuple(PublishingSite) if self._contingency else (PublishingSite.PRIMARY,)
        names = [system.name for system in systems]
        self.output: DayOutput = Files(settings, names, sites) if output is None else output
        self._injector = Injector(self.plan, self.driver, self.output.log)
        self._impaired: list[ImpairedCapture] = []
        self._served_folders: list[Path] = []

    def _line(self, system: PublishingSystem, channel: int, trade_date: int, channels: int) -> PublishingLine:
        """`channels` is how many the system has."""
        settings, venue = self.settings, self.venue
        version = settings.version if system.name == settings.system else system.default_version
        books = books_of(system, channel, venue, self._routing, self.clearing, settings.habits)
        week = as_date(trade_date).isocalendar().week

        def line(site: PublishingSite, epoch: int, standby: PublishingLine | None = None) -> PublishingLine:
            return PublishingLine(
                system, channel, version, books,
                now_ns=self._clock(trade_date).starts_ns,
                paces=paces(settings, channels, system.policy),
                start=SequencePoint(epoch, 1), loops=SequencePoint(1000 + epoch, 1),
                site=site, standby=standby, habits=settings.habits,
                departures=Departures(f"{settings.seed}/{channel}/{site.name}"),
            )  # fmt: skip

        standby = line(PublishingSite.CONTINGENCY, _OWN_VERSIONS + week) if self._contingency else None
        return line(PublishingSite.PRIMARY, week, standby)

    def _clock(self, trade_date: int) -> DayClock:
        return DayClock(local_midnight_ns(trade_date), self.settings.squeeze)

    def run(self) -> SimulationSummary:
        began = perf_counter()
        for _ in self.days():
            pass
        self.summary.seconds = perf_counter() - began
        self.summary.sum_up(self.driver, self.lines, self.output.log)
        if isinstance(self.output, Files):
            self.summary.folders = self.output.folders
            self.summary.beside = self.output.beside + self._served_folders
        return self.summary

    def days(self) -> Iterator[int]:
        """Plays day after day; each, as days since 1970, when it is done."""
        self._play_before()
        for number, trade_date in enumerate(self.settings.trade_dates):
            self._play(trade_date, number)
            yield trade_date
        self.output.close()

    def _play_before(self) -> None:
        """The day before the first, in brief and unwritten: its good-till orders and numbers stay."""
        settings, driver = self.settings, self.driver
        clock = self._clock(settings.day_before)
        driver.start(self.venue.day(settings.day_before, settings.squeeze))
        brief = _BEFORE_MESSAGES if settings.squeeze == 1 else min(_BEFORE_MESSAGES, settings.messages // 3)
        driver.trade(slices(clock), brief)
        driver.advance(clock.ends_ns)
        for line in self._sites():
            driver.checkpoint(line, clock.ends_ns)
            line.messages = line.packets = 0
            line.sizes = {stream: Counter() for stream in Stream}
        driver.commands.clear()
        driver.rejections.clear()
        driver.kinds.clear()

    def _sites(self) -> list[PublishingLine]:
        return [*self.lines, *(line.standby for line in self.lines if line.standby is not None)]

    def _play(self, trade_date: int, number: int) -> None:
        settings, driver, output = self.settings, self.driver, self.output
        clock, date = self._clock(trade_date), as_date(trade_date).isoformat()
        output.open_day(trade_date, self.venue)
        faults = {line: DayOfFaults(self.plan, clock, settings.seed, line.channel) for line in self.lines}
        driver.watch = self._watcher(number)
        try:
            driver.truth = output.truth()
            self._connect(faults, date)
            self._start_day(trade_date, clock, faults)
            driver.trade(with_bursts(slices(clock), self._bursts(clock, date)), settings.messages)
            driver.advance(clock.ends_ns)
            for line in self.lines:
                driver.checkpoint(line, clock.ends_ns, whole=True)
            for capture in self._impaired:
                capture.finish()
            self.summary.bytes += sum(each.close_day(clock.ends_ns) for each in self.served)
            self.summary.bytes += output.close_day()
        except BaseException:
            output.discard_day()
            for each in self.served:
                each.discard_day()
            raise

    def _start_day(self, trade_date: int, clock: DayClock, faults: dict[PublishingLine, DayOfFaults]) -> None:
        driver, venue, start_ns = self.driver, self.venue, clock.starts_ns
        venue.flow.start_day()
        for line in self._sites():
            line.events = line.checkpoint_at = 0
            line.ambushes.clear()
            line.list_ambushes.clear()
            line.books.now_ns = start_ns
        for line in self.lines:
            driver.checkpoint(line, start_ns, whole=True)
        tasks: list[Task] = []
        if starts_week(trade_date):
            tasks = [(start_ns, self._week_starter(line)) for line in self._sites()]
        date = as_date(trade_date).isoformat()
        for line, day in faults.items():
            tasks += self._injector.tasks(line, day, date)
        if self.settings.relistings:
            relisting = Relisting(driver, self.settings.seed + trade_date)
            tasks += relisting.tasks(self.settings.relistings, start_ns, clock.ends_ns)
        tasks += self._desk_tasks(clock)
        for each in self.served:
            folder = self.settings.out / each.system / date
            self._served_folders.append(folder)
            each.open_day(trade_date, folder, start_ns)
            own = DayOfFaults(self.plan, clock, self.settings.seed, 0)
            tasks += each.fault_tasks(self.plan.sessions, own, date, self.output.log)
        driver.start(venue.day(trade_date, clock.squeeze), tasks, start_ns)

    def _desk_tasks(self, clock: DayClock) -> list[Task]:
        """Clearing, lending and indices, in time; in a short day not as often as its clock would have it."""
        beside = self.settings.habits.lending_beside
        desks = Desks(self.venue, self.clearing, self.lines, self.served, lending_beside=beside)
        if not desks.lines and not self.served:
            return []
        every_ns = (
            EVERY_NS if clock.squeeze == 1 else max(_DESKS_OF_SHORT_DAYS * EVERY_NS // clock.squeeze, 1)
        )
        return [
            (at_ns, desks.publish) for at_ns in range(clock.starts_ns + every_ns, clock.ends_ns, every_ns)
        ]

    def _week_starter(self, line: PublishingLine) -> Callable[[int], None]:
        def start(now_ns: int) -> None:
            line.publisher.start_week(line.send_at(now_ns))
            self.driver.checkpoint(line, now_ns, whole=True)

        return start

    def _bursts(self, clock: DayClock, date: str) -> list[tuple[int, int]]:
        """Those of the plan, for all channels together."""
        day = DayOfFaults(self.plan, clock, self.settings.seed, 0)
        random = Random(f"bursts/{day.name}")
        found = [(day.moment(burst.at_s, random), burst.orders) for burst in self.plan.bursts]
        for at_ns, orders in found:
            for line in self.lines:
                deed = AppliedFault(
                    date, "burst", line.channel, "A", "incremental", None, None, at_ns, orders
                )
                self.output.log.note(deed)
        return found

    def _connect(self, faults: dict[PublishingLine, DayOfFaults], date: str) -> None:
        """From every line to its captures, through its faults where there are any."""
        self._impaired = []
        for line, day in faults.items():
            for site in line.sites:
                self._connect_site(site, day, date)

    def _connect_site(self, line: PublishingLine, day: DayOfFaults, date: str) -> None:
        sinks: dict[Stream, list[Sink]] = {stream: [] for stream in Stream}
        for stream, feed in line.feeds:
            capture = self.output.capture(line.system.name, line.channel, stream, feed)
            if not self.plan.touches_packets:
                sinks[stream].append(capture)
                continue
            impaired = ImpairedCapture(
                capture, line.system, line.channel, stream, feed, day, date, self.output.log
            )
            self._impaired.append(impaired)
            sinks[stream].append(impaired)
        line.sinks = {stream: tuple(each) for stream, each in sinks.items()}

    def _watcher(self, number: int) -> Callable[[int], None] | None:
        watch = self._watch
        if watch is None:
            return None
        wanted = self.settings.messages * self.settings.days
        return lambda messages: watch(messages, wanted)


def simulate(settings: Settings, watch: Watch | None = None) -> SimulationSummary:
    """Simulates and writes what the settings ask for."""
    with calm_collector():
        return Simulation(settings, watch).run()
