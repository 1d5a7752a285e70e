"""Engine, desk, order flow, day and publishers as one machine without I/O or a clock.

    market = LiveMarket(catalogue, settings, sites, now_ns)
    market.start(now_ns)
    outcome = market.execute(command, now_ns)
    market.on_timeout(now_ns) when market.next_timeout() is reached
    market.take()                       the packets since the last call

Times given to it never go back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

from pregao.exchange.carried import restore
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.control import PassTime
from pregao.exchange.desk import Desk
from pregao.exchange.engine import CommandOutcome, Engine
from pregao.exchange.flow import Flow
from pregao.feeds.publishing import (
    HoldingPublisher,
    OutgoingPacket,
    Publisher,
    PublishingSite,
    PublishingSystem,
    ReplayablePublisher,
    SentMessage,
    SequencePoint,
)
from pregao.feeds.registry import load_publishing_system
from pregao.model.market import State
from pregao.model.streams import Stream
from pregao.recovery.policy import RecoveryPolicy
from pregao.simulator.desks import DeskBooks, LiveDesks, books_of, clearing_of
from pregao.simulator.distribution import Distribution, Immediate, Witness
from pregao.simulator.live.bond_commands import BOND_COMMANDS
from pregao.simulator.live.bonds import LiveBonds
from pregao.simulator.live.schedule import AT_ONCE, BackgroundFlow, Schedule, trade_date_at
from pregao.simulator.live.servers import SERVER_COMMANDS, MarketServers, ServerCommand
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.live.state import KeptState, SentVersions
from pregao.simulator.routing import routing_of

# What an operator can ask besides the engine's own commands: resets.


@dataclass(frozen=True, slots=True)
class ResetStream:
    """SequenceReset, the next sequenceVersion, then every book again (6.5.11)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetChannel:
    """ChannelReset, then every book again; with the list of instruments if so told (6.5.12)."""

    now_ns: int
    channel: int
    definitions: bool = False
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetBook:
    """EmptyBook of one instrument and its orders again; its rptSeq starts at 1 (6.5.13)."""

    now_ns: int
    security_id: int
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class FailOver:
    """The secondary instance takes over: all streams have a new sequenceVersion (7.4.1)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class StartWeek:
    """As on a Monday: SequenceReset, ChannelReset, definitions, books; rptSeqs start at 1 (6.5.11)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class HoldSnapshots:
    """No loop of snapshots begins on a channel until it is released."""

    now_ns: int
    channel: int
    held: bool = True
    site: PublishingSite = PublishingSite.PRIMARY


Reset = ResetStream | ResetChannel | ResetBook | FailOver | StartWeek | HoldSnapshots


KEPT_TRADES = 1_000  # of each instrument, for busts: what runs for months must not keep them all
_VERSION_STEP_NS = 4_000_000_000
_STREAMS = (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT)  # as SentVersions has them
_RESETS = (ResetStream, ResetChannel, ResetBook, FailOver, StartWeek, HoldSnapshots)


class CommandObserver(Protocol):
    """Hears of every command that was carried out, the operator's and the flow's."""

    def note(self, command: Any, outcome: CommandOutcome, *, by_operator: bool) -> None: ...


class LiveMarket:
    """`sites` are those that publish; each has a publisher for every channel."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: LiveSettings,
        sites: Sequence[PublishingSite],
        now_ns: int,
        kept: KeptState | None = None,
        version_before: int = 0,
        kept_trades: int = KEPT_TRADES,
    ) -> None:
        """`kept` is what a run before left behind; `version_before` comes before the first sequenceVersion
        of every channel of which it says none."""
        kept = KeptState() if kept is None else kept
        carried = kept.carried()
        trade_date = trade_date_at(now_ns)
        self.catalogue, self.settings = catalogue, settings
        self.engine = Engine(
            catalogue.instruments, trade_date=trade_date, implied_partial=settings.implied_partial,
            kept_trades=kept_trades,
        )  # fmt: skip
        self.desk = Desk(
            self.engine, catalogue, trade_date, seed=settings.seed, forbidden=carried.forbidden,
            index_interval_ns=settings.index_interval_ns,
        )  # fmt: skip
        self.left_behind = restore(self.engine, carried, trade_date)
        self.desk.last_news_id = carried.last_news_id
        self.instruments = self.desk.listings
        self.schedule = Schedule(settings.day, catalogue, trade_date, settings.seed)
        systems = [load_publishing_system(name) for name in (settings.system, *settings.beside)]
        self.policy, self.routing = systems[0].policy, routing_of(catalogue, systems)
        self.seed = settings.seed
        self.clearing = clearing_of(self)
        self.books = {
            channel: books_of(system, channel, self, self.routing, self.clearing, settings.habits)
            for system in systems
            for channel in routing_of(catalogue, [system]).channels
        }
        for books in self.books.values():
            if isinstance(books, DeskBooks):
                books.lists_funds = settings.lists_funds
        self.publishers: dict[tuple[int, PublishingSite], Publisher] = {}
        for system in systems:
            for channel in routing_of(catalogue, [system]).channels:
                for site in sites:
                    sent = kept.versions.get((channel, site.value))
                    self.publishers[channel, site] = self._publisher(
                        system, channel, site, now_ns, _starts(sent, version_before, system.policy)
                    )
        self._distribution = Distribution(
            self.routing,
            self.books,
            {
                channel: [Immediate(self.publishers[channel, site]) for site in sites]
                for channel in self.books
            },
        )
        beside = {channel: [self.publishers[channel, site] for site in sites] for channel in self.books}
        self._desks = LiveDesks(
            self, self.clearing, systems, self.books, beside, settings.desks_ns,
            lending_beside=settings.habits.lending_beside,
        )  # fmt: skip
        self.observer: CommandObserver | None = None
        self.servers: MarketServers | None = None
        self.bonds: LiveBonds | None = None
        self.bond_servers: MarketServers | None = None
        self.commands = self.rejected = 0
        self._flow = self._background(settings.flow) if settings.flow else None

    def _publisher(
        self,
        system: PublishingSystem,
        channel: int,
        site: PublishingSite,
        now_ns: int,
        starts: tuple[SequencePoint, SequencePoint],
    ) -> Publisher:
        settings, first = self.settings, system.name == self.settings.system
        paces = settings.paces
        if not first:
            paces = paces._replace(heartbeat_ns=settings.beside_heartbeat_ns or system.policy.heartbeat_ns)
        publisher = system.publisher(
            channel, settings.version if first else system.default_version, self.books[channel],
            now_ns=now_ns, site=site, paces=paces, start=starts[0], loops=starts[1],
            habits=settings.habits._replace(levels=settings.levels),
        )  # fmt: skip
        if settings.replayers is not None and isinstance(publisher, ReplayablePublisher):
            publisher.keep_messages()
        return publisher

    def take_messages(self) -> Iterator[tuple[int, list[SentMessage]]]:
        """What replayers are to know, of the primary site."""
        for (channel, site), publisher in self.publishers.items():
            if site is PublishingSite.PRIMARY and isinstance(publisher, ReplayablePublisher):
                yield channel, publisher.take_messages()

    def _background(self, rate: float) -> BackgroundFlow:
        floor = self.engine.floor

        def trading_state(security_id: int) -> State:
            return self.engine.trading_state(security_id) if security_id in floor.markets else State.CLOSE

        flow = Flow(self.catalogue, self.settings.seed, floor.orders, trading_state, markets=floor.markets)
        return BackgroundFlow(flow, rate)

    def start(self, now_ns: int) -> None:
        """The channels come up as on a Monday; then the day begins."""
        self._set_time(now_ns)
        if self.bonds is not None:
            self.bonds.start(now_ns)
        for publisher in self.publishers.values():
            publisher.start_week(now_ns)
        self.desk.start_indices(now_ns)
        for command in self.schedule.start(now_ns):
            self.execute(command, now_ns)

    def serve(self, servers: MarketServers) -> None:
        """From now on they are told everything."""
        self.servers = servers
        self.witness(servers)
        self._desks.witnesses.append(servers)

    def witness(self, witness: Witness) -> None:
        """From now on it is told every event, before publishers are."""
        self._distribution.witnesses.append(witness)

    def trade_bonds(self, bonds: LiveBonds, servers: MarketServers | None) -> None:
        """The market of bonds, beside this one."""
        self.bonds, self.bond_servers = bonds, servers
        if servers is not None:
            bonds.serve(servers)

    def sent_versions(self) -> Iterator[SentVersions]:
        """The sequenceVersion of every stream, as it is now."""
        for (channel, site), publisher in self.publishers.items():
            versions = (publisher.point(stream).version for stream in _STREAMS)
            yield SentVersions(channel, site.value, *versions)

    def execute(self, command: Any, now_ns: int) -> CommandOutcome:
        """One command, as of now, published; what it did or why it was refused."""
        self._set_time(now_ns)
        if isinstance(command, BOND_COMMANDS):
            return self._execute_bond(command, now_ns)
        if isinstance(command, _RESETS):
            outcome = CommandOutcome(rejection=self._reset(command, now_ns))
        elif isinstance(command, SERVER_COMMANDS):
            outcome = CommandOutcome(rejection=self._command_servers(command, now_ns))
        else:
            outcome = self.engine.submit(replace(command, now_ns=now_ns))
            self._distribution.publish(outcome.events, now_ns)
            if self._flow is not None:
                # `answered` is only for its own: the flow may hold a command that is not sent yet.
                self._flow.flow.refresh()
        if self.observer is not None:
            self.observer.note(command, outcome, by_operator=True)
        self.commands += 1
        self.rejected += outcome.rejection is not None
        return outcome

    def _execute_bond(self, command: Any, now_ns: int) -> CommandOutcome:
        if self.bonds is None:
            return CommandOutcome(rejection=Rejection(RejectReason.NOT_NOW, "no bonds are traded"))
        return self.bonds.execute(command, now_ns)

    def next_timeout(self) -> int:
        times = [publisher.next_timeout() for publisher in self.publishers.values()]
        others = (
            self.desk.next_timeout(),
            self._desks.next_timeout(),
            self.schedule.next_timeout(),
            None if self._flow is None else self._flow.next_timeout(),
            None if self.bonds is None else self.bonds.next_timeout(),
        )
        return min(times + [time for time in others if time is not None])

    def on_timeout(self, now_ns: int) -> None:
        """Everything that is due by now."""
        self._set_time(now_ns)
        for command in self.schedule.take(now_ns):
            self.execute(command, now_ns)
        due_ns = self.desk.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self.execute(PassTime(now_ns), now_ns)
        if self._flow is not None:
            self._trade(self._flow, now_ns)
        self._desks.on_timeout(now_ns)
        if self.bonds is not None:
            self.bonds.on_timeout(now_ns)
        for publisher in self.publishers.values():
            publisher.flush(now_ns)
            if publisher.next_timeout() <= now_ns:
                publisher.on_timeout(now_ns)

    def take(self) -> Iterator[tuple[int, OutgoingPacket]]:
        for (channel, _), publisher in self.publishers.items():
            for packet in publisher.take():
                yield channel, packet

    def _trade(self, background: BackgroundFlow, now_ns: int) -> None:
        for _ in range(AT_ONCE):
            command = background.take(now_ns)
            if command is None:
                return
            outcome = self.engine.submit(command, background.entered_ns)
            background.flow.answered(outcome)
            if self.observer is not None:
                self.observer.note(command, outcome, by_operator=False)
            self._distribution.publish(outcome.events, now_ns)

    def _set_time(self, now_ns: int) -> None:
        for books in self.books.values():
            books.now_ns = now_ns

    def _command_servers(self, command: ServerCommand, now_ns: int) -> Rejection | None:
        running = [each for each in (self.servers, self.bond_servers) if each is not None]
        found = [each for each in running if command.system in ("", each.settings.system)]
        if not found:
            return Rejection(RejectReason.NOT_NOW, "the exchange has no such servers")
        return found[0].carry_out(command, now_ns)

    def _reset(self, command: Reset, now_ns: int) -> Rejection | None:
        if isinstance(command, ResetBook):
            market = self.engine.floor.markets.get(command.security_id)
            if market is None:
                return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
            channels = self.routing.channels_of(market.instrument)
            if self.servers is not None and command.site is PublishingSite.PRIMARY:
                self.servers.reset_book(command.security_id, now_ns)
        else:
            channels = (command.channel,)
        publishers = [self.publishers.get((channel, command.site)) for channel in channels]
        for channel, publisher in zip(channels, publishers, strict=True):
            if publisher is None:
                return Rejection(
                    RejectReason.NOT_NOW, f"no channel {channel} at the {command.site.value} site"
                )
            if isinstance(command, HoldSnapshots) and not isinstance(publisher, HoldingPublisher):
                return Rejection(RejectReason.NOT_NOW, f"the snapshots of channel {channel} cannot be held")
            _carry_out(command, publisher, now_ns)
        return None


def _starts(
    sent: SentVersions | None, version_before: int, policy: RecoveryPolicy
) -> tuple[SequencePoint, SequencePoint]:
    """Where the incremental stream and the loops begin: behind every version that was sent (6.5.5.1)."""
    if sent is None:
        first = SequencePoint(policy.next_epoch(version_before))
        return first, first
    loops = sent.snapshots if policy.is_newer(sent.snapshots, sent.definitions) else sent.definitions
    return SequencePoint(policy.next_epoch(sent.incremental)), SequencePoint(policy.next_epoch(loops))


def version_at(now_ns: int, policy: RecoveryPolicy) -> int:
    """A sequenceVersion that grows with the clock, for an exchange that keeps nothing: it rolls over after
    three days, and a restart within four seconds may give one again."""
    return policy.later(policy.first_epoch, now_ns // _VERSION_STEP_NS)


def _carry_out(command: Reset, publisher: Publisher, now_ns: int) -> None:
    if isinstance(command, ResetStream):
        publisher.reset_stream(now_ns, gradually=command.gradually)
    elif isinstance(command, ResetChannel):
        publisher.reset_channel(now_ns, definitions=command.definitions, gradually=command.gradually)
    elif isinstance(command, ResetBook):
        publisher.reset_book(command.security_id, now_ns)
    elif isinstance(command, FailOver):
        publisher.fail_over(now_ns, gradually=command.gradually)
    elif isinstance(command, StartWeek):
        publisher.start_week(now_ns, gradually=command.gradually)
    elif isinstance(command, HoldSnapshots):
        assert isinstance(publisher, HoldingPublisher)
        publisher.hold_snapshots(now_ns, held=command.held)
    else:
        assert_never(command)
