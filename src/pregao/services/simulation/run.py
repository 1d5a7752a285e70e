"""A simulation from its settings to its files."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import perf_counter

from pregao.codecs.sbe import load_builtin_schema
from pregao.exchange.day import SECOND_NS
from pregao.exchange.timetable import local_midnight_ns
from pregao.feeds.binary.publisher import SequencePoint
from pregao.feeds.binary.streams import Feed, Stream
from pregao.services.simulation.captures import STREAM_FILES, CaptureFile, close_all
from pregao.services.simulation.driver import Driver, Task, send_at
from pregao.services.simulation.faults import Reset, parse_faults
from pregao.services.simulation.impaired import FaultLog, ImpairedCapture, draw_times
from pregao.services.simulation.line import Line, Sink
from pregao.services.simulation.pace import ENDS_S, STARTS_S, paces, slices
from pregao.services.simulation.settings import Settings, as_date, starts_week
from pregao.services.simulation.sources import ChannelBooks
from pregao.services.simulation.truth import Truth
from pregao.services.simulation.venue import Venue, default_catalogue

_BEFORE_MESSAGES = 6_000  # of the day before the first, so that there are orders to carry over
Watch = Callable[[int, int], None]  # messages made, and wanted
Captures = Mapping[tuple[Stream, Feed], CaptureFile]

_TARGETS = {
    (Stream.INCREMENTAL, Feed.A): "A",
    (Stream.INCREMENTAL, Feed.B): "B",
    (Stream.DEFINITION, Feed.A): "I",
    (Stream.SNAPSHOT, Feed.A): "S",
}
_RESETS: dict[str, Callable[[Line, int], None]] = {
    "channel": lambda line, now_ns: line.publisher.reset_channel(now_ns, gradually=True),
    "stream": lambda line, now_ns: line.publisher.reset_stream(now_ns),
    "book": lambda line, now_ns: line.publisher.reset_book(line.books.instruments()[0], now_ns),
    "failover": lambda line, now_ns: line.publisher.fail_over(now_ns),
}


@dataclass(slots=True)
class Summary:
    """What a simulation made."""

    folders: list[Path] = field(default_factory=list)
    commands: Counter[type] = field(default_factory=Counter)
    rejections: Counter[str] = field(default_factory=Counter)
    kinds: Counter[type] = field(default_factory=Counter)
    sizes: dict[Stream, Counter[int]] = field(default_factory=dict)
    messages: int = 0
    packets: int = 0
    bytes: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)


class Simulation:
    """Use once: `run`."""

    def __init__(self, settings: Settings, watch: Watch | None = None) -> None:
        self.settings, self._watch = settings, watch
        self.plan = parse_faults(settings.faults)
        self.log = FaultLog(settings.faults, settings.seed)
        self._impaired: list[ImpairedCapture] = []
        catalogue = default_catalogue(settings.instruments)
        before = settings.day_before
        self.venue = Venue(catalogue, settings.seed, before)
        self.lines = [self._line(channel, before) for channel in catalogue.channels]
        self.driver = Driver(self.venue, self.lines)
        self.summary = Summary()

    def _line(self, channel: int, trade_date: int) -> Line:
        settings, venue = self.settings, self.venue
        books = ChannelBooks(channel, venue.catalogue, venue.engine, venue.desk)
        week = as_date(trade_date).isocalendar().week
        return Line(
            channel, load_builtin_schema(), settings.version, books,
            now_ns=local_midnight_ns(trade_date) + STARTS_S * SECOND_NS,
            paces=paces(settings.messages, len(venue.catalogue.channels), settings.heartbeat_s),
            start=SequencePoint(week, 1), loops=SequencePoint(1000 + week, 1),
        )  # fmt: skip

    def run(self) -> Summary:
        began = perf_counter()
        self._play_before()
        for number, trade_date in enumerate(self.settings.trade_dates):
            self._play(trade_date, number)
        if self.settings.faults:
            self.log.write(self.settings.out / "faults.json")
        self.summary.seconds = perf_counter() - began
        return self._summed()

    def _play_before(self) -> None:
        """The day before the first, in brief and unwritten: its good-till orders and numbers stay."""
        date, driver = self.settings.day_before, self.driver
        midnight_ns = local_midnight_ns(date)
        driver.start(self.venue.day(date))
        driver.trade(slices(midnight_ns), _BEFORE_MESSAGES)
        driver.advance(midnight_ns + ENDS_S * SECOND_NS)
        for line in self.lines:
            driver.checkpoint(line, midnight_ns + ENDS_S * SECOND_NS)
            line.messages = line.packets = 0
            line.sizes = {stream: Counter() for stream in Stream}
        driver.commands.clear()
        driver.rejections.clear()
        driver.kinds.clear()

    def _play(self, trade_date: int, number: int) -> None:
        settings, driver = self.settings, self.driver
        folder = settings.out / as_date(trade_date).isoformat()
        files = self._open(folder, trade_date)
        driver.truth = Truth(folder, self.venue.engine, self.venue.desk) if settings.truth else None
        midnight_ns = local_midnight_ns(trade_date)
        driver.watch = self._watcher(number)
        try:
            self._start_day(trade_date, midnight_ns + STARTS_S * SECOND_NS)
            driver.trade(slices(midnight_ns), settings.messages)
            end_ns = midnight_ns + ENDS_S * SECOND_NS
            driver.advance(end_ns)
            for line in self.lines:
                driver.checkpoint(line, end_ns, whole=True)
            for capture in self._impaired:
                capture.finish()
            if driver.truth is not None:
                driver.truth.close()
            self.summary.bytes += close_all(files)
        except BaseException:
            for file in files:
                file.discard()
            raise
        self.summary.folders.append(folder)

    def _start_day(self, trade_date: int, start_ns: int) -> None:
        driver, venue = self.driver, self.venue
        venue.flow.start_day()
        for line in self.lines:
            line.events = line.checkpoint_at = 0
            line.books.now_ns = start_ns
            driver.checkpoint(line, start_ns, whole=True)
        tasks: list[Task] = []
        if starts_week(trade_date):
            tasks = [(start_ns, self._week_starter(line)) for line in self.lines]
        midnight_ns = local_midnight_ns(trade_date)
        for reset in self.plan.resets:
            at_ns = midnight_ns + reset.at_s * SECOND_NS
            tasks += [(at_ns, self._resetter(line, reset, trade_date)) for line in self.lines]
        driver.start(venue.day(trade_date), tasks, start_ns)

    def _week_starter(self, line: Line) -> Callable[[int], None]:
        def start(now_ns: int) -> None:
            line.publisher.start_week(max(send_at(now_ns), line.instant_ns))
            self.driver.checkpoint(line, now_ns, whole=True)

        return start

    def _resetter(self, line: Line, reset: Reset, trade_date: int) -> Callable[[int], None]:
        def act(now_ns: int) -> None:
            packets = line.publisher.incremental.packets
            before = packets.point
            line.books.now_ns = now_ns
            self.driver.checkpoint(line, now_ns)
            _RESETS[reset.kind](line, max(send_at(now_ns), line.instant_ns))
            self.driver.checkpoint(line, now_ns)
            self.log.note(
                "reset", date=as_date(trade_date).isoformat(), channel=line.channel, what=reset.kind,
                sending_ns=send_at(now_ns), seq_version_before=before.version, seq_version=packets.version,
                seq_num=before.next_number,
            )  # fmt: skip

        return act

    def _open(self, folder: Path, trade_date: int) -> list[CaptureFile]:
        files: list[CaptureFile] = []
        self._impaired = []
        for line in self.lines:
            own = {
                key: CaptureFile(folder, line.channel, *key, self.settings.seed + trade_date)
                for key in STREAM_FILES
            }
            sinks = self._impair(line, own, trade_date) if self.plan.touches_packets else own
            line.sinks = {
                stream: tuple(sink for key, sink in sinks.items() if key[0] is stream) for stream in Stream
            }
            files.extend(own.values())
        return files

    def _impair(self, line: Line, own: Captures, trade_date: int) -> Mapping[tuple[Stream, Feed], Sink]:
        plan, seed = self.plan, self.settings.seed
        midnight_ns, day = local_midnight_ns(trade_date), as_date(trade_date).isoformat()
        lost = draw_times(Random(f"both/{seed}/{day}/{line.channel}"), midnight_ns, plan.both)
        impaired = {
            key: ImpairedCapture(
                file, _TARGETS[key], line.channel, day, midnight_ns, plan, self.log, lost, seed
            )
            for key, file in own.items()
        }
        self._impaired.extend(impaired.values())
        return impaired

    def _watcher(self, number: int) -> Callable[[int], None] | None:
        watch = self._watch
        if watch is None:
            return None
        wanted = self.settings.messages * self.settings.days
        return lambda messages: watch(messages, wanted)

    def _summed(self) -> Summary:
        summary, driver = self.summary, self.driver
        summary.commands, summary.kinds = driver.commands, driver.kinds
        summary.rejections = Counter({reason.name: n for reason, n in driver.rejections.items()})
        summary.messages = driver.messages
        summary.faults = Counter(each["kind"] for each in self.log.done)
        summary.packets = sum(line.packets for line in self.lines)
        for stream in Stream:
            summary.sizes[stream] = sum((line.sizes[stream] for line in self.lines), Counter())
        return summary


def simulate(settings: Settings, watch: Watch | None = None) -> Summary:
    """Simulates and writes what the settings ask for."""
    return Simulation(settings, watch).run()
