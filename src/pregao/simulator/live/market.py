"""Engine, desk, order flow, day and publishers as one machine without I/O or a clock.

    market = LiveMarket(catalogue, settings, sites, now_ns)
    market.start(now_ns)
    outcome = market.execute(command, now_ns)
    market.on_timeout(now_ns) when market.next_timeout() is reached
    market.take()                       the packets since the last call

Times given to it never go back.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from pregao.exchange.carried import restore
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.control import PassTime
from pregao.exchange.desk import Desk
from pregao.exchange.engine import CommandOutcome, Engine
from pregao.exchange.flow import OrderFlow
from pregao.feeds.publishing import PublishingSite
from pregao.model.market import State
from pregao.simulator.distribution import Witness
from pregao.simulator.live.bond_commands import BOND_COMMANDS
from pregao.simulator.live.bonds import LiveBonds
from pregao.simulator.live.channels import LiveChannels
from pregao.simulator.live.resets import RESETS, Reset, ResetBook
from pregao.simulator.live.schedule import AT_ONCE, BackgroundFlow, Schedule, trade_date_at
from pregao.simulator.live.servers import SERVER_COMMANDS, MarketServers, ServerCommand
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.live.state import KeptState

KEPT_TRADES = 1_000  # of each instrument, for busts: what runs for months must not keep them all


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
        self.seed = settings.seed
        self._channels = LiveChannels(self, settings, sites, now_ns, kept.versions, version_before)
        channels = self._channels
        self.policy, self.routing, self.clearing = channels.policy, channels.routing, channels.clearing
        self.books, self.publishers = channels.books, channels.publishers
        # What is sent, and the numbers it was sent with.
        self.take, self.take_messages = channels.take, channels.take_messages
        self.sent_versions = channels.sent_versions
        self.observer: CommandObserver | None = None
        self.servers: MarketServers | None = None
        self.bonds: LiveBonds | None = None
        self.bond_servers: MarketServers | None = None
        self.commands = self.rejected = 0
        self._flow = self._background(settings.flow) if settings.flow else None

    def _background(self, rate: float) -> BackgroundFlow:
        floor = self.engine.floor

        def trading_state(security_id: int) -> State:
            return self.engine.trading_state(security_id) if security_id in floor.markets else State.CLOSE

        flow = OrderFlow(
            self.catalogue, self.settings.seed, floor.orders, trading_state, markets=floor.markets
        )
        return BackgroundFlow(flow, rate)

    def start(self, now_ns: int) -> None:
        """The channels come up as on a Monday; then the day begins."""
        self._channels.set_time(now_ns)
        if self.bonds is not None:
            self.bonds.start(now_ns)
        self._channels.start_week(now_ns)
        self.desk.start_indices(now_ns)
        for command in self.schedule.start(now_ns):
            self.execute(command, now_ns)

    def serve(self, servers: MarketServers) -> None:
        """From now on they are told everything."""
        self.servers = servers
        self.witness(servers)
        self._channels.desks.witnesses.append(servers)

    def witness(self, witness: Witness) -> None:
        """From now on it is told every event, before publishers are."""
        self._channels.distribution.witnesses.append(witness)

    def trade_bonds(self, bonds: LiveBonds, servers: MarketServers | None) -> None:
        """The market of bonds, beside this one."""
        self.bonds, self.bond_servers = bonds, servers
        if servers is not None:
            bonds.serve(servers)

    def execute(self, command: Any, now_ns: int) -> CommandOutcome:
        """One command, as of now, published; what it did or why it was refused."""
        self._channels.set_time(now_ns)
        if isinstance(command, BOND_COMMANDS):
            return self._execute_bond(command, now_ns)
        if isinstance(command, RESETS):
            outcome = CommandOutcome(rejection=self._reset(command, now_ns))
        elif isinstance(command, SERVER_COMMANDS):
            outcome = CommandOutcome(rejection=self._command_servers(command, now_ns))
        else:
            outcome = self.engine.submit(replace(command, now_ns=now_ns))
            self._channels.distribution.publish(outcome.events, now_ns)
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
        times = (
            self._channels.next_timeout(),
            self.desk.next_timeout(),
            self._channels.desks.next_timeout(),
            self.schedule.next_timeout(),
            None if self._flow is None else self._flow.next_timeout(),
            None if self.bonds is None else self.bonds.next_timeout(),
        )
        return min(time for time in times if time is not None)

    def on_timeout(self, now_ns: int) -> None:
        """Everything that is due by now."""
        self._channels.set_time(now_ns)
        for command in self.schedule.take(now_ns):
            self.execute(command, now_ns)
        due_ns = self.desk.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self.execute(PassTime(now_ns), now_ns)
        if self._flow is not None:
            self._trade(self._flow, now_ns)
        self._channels.desks.on_timeout(now_ns)
        if self.bonds is not None:
            self.bonds.on_timeout(now_ns)
        self._channels.on_timeout(now_ns)

    def _trade(self, background: BackgroundFlow, now_ns: int) -> None:
        for _ in range(AT_ONCE):
            command = background.take(now_ns)
            if command is None:
                return
            outcome = self.engine.submit(command, background.entered_ns)
            background.flow.answered(outcome)
            if self.observer is not None:
                self.observer.note(command, outcome, by_operator=False)
            self._channels.distribution.publish(outcome.events, now_ns)

    def _command_servers(self, command: ServerCommand, now_ns: int) -> Rejection | None:
        running = [each for each in (self.servers, self.bond_servers) if each is not None]
        found = [each for each in running if command.system in ("", each.settings.system)]
        if not found:
            return Rejection(RejectReason.NOT_NOW, "the exchange has no such servers")
        return found[0].carry_out(command, now_ns)

    def _reset(self, command: Reset, now_ns: int) -> Rejection | None:
        if isinstance(command, ResetBook) and self.servers is not None:
            is_known = command.security_id in self.engine.floor.markets
            if is_known and command.site is PublishingSite.PRIMARY:
                self.servers.reset_book(command.security_id, now_ns)
        return self._channels.reset(command, now_ns)
