"""The market of bonds live, beside the others: its day on the clock, a flow of orders, the operator's own.

    bonds = LiveBonds(catalogue, settings, now_ns)
    bonds.serve(servers)
    bonds.start(now_ns)
    outcome = bonds.execute(EnterBondOrder(…), now_ns)
    bonds.on_timeout(now_ns) when bonds.next_timeout() is reached

Times given to it never go back.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import BondCatalogue
from pregao.exchange.bonds.day import BondDay, Step
from pregao.exchange.bonds.floor import RejectedError
from pregao.exchange.bonds.market import BondOutcome
from pregao.exchange.engine import CommandOutcome
from pregao.model.events import Event
from pregao.model.fixed_income import BOND_EXPONENT, Bond
from pregao.model.holidays import national_calendar
from pregao.model.local_time import local_day
from pregao.model.market import State
from pregao.simulator.live.bond_commands import market_command
from pregao.simulator.live.bond_state import OPENED, BondState, Kept, ScriptStep
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.servers import ServerSettings
from pregao.simulator.settings import as_date

AT_ONCE: Final = 1_000  # orders of the flow; what is later than that is left out
_SECOND_NS: Final = 1_000_000_000
_SERVERS: Final = ServerSettings(system="trademate")


@dataclass(frozen=True, slots=True)
class BondSettings:
    """`flow` are commands a second."""

    servers: ServerSettings = _SERVERS
    day: DayKind = DayKind.OPEN
    flow: float = 5.0
    seed: int = 1
    rate_order: RateOrder = RateOrder.MARKET
    catalogue: str | None = None  # a file; None: the packaged one
    state: str | None = None  # a file: where the day outlives a restart


class BondAudience(Protocol):
    """Who is told every event: servers."""

    def publish(self, event: Event, now_ns: int) -> None: ...


class LiveBonds:
    """A `BondSource`. A day that is over is followed by the next business day's, at its pre-open."""

    def __init__(self, catalogue: BondCatalogue, settings: BondSettings, now_ns: int) -> None:
        self.catalogue, self.settings = catalogue, settings
        self.commands = self.rejected = 0
        self._audiences: list[BondAudience] = []
        legs = [leg for bond in catalogue for leg in bond.instrument.underlyings]
        self._symbols = {leg.symbol: leg.security_id for leg in legs}
        self._symbols |= {bond.instrument.symbol: number for number, bond in catalogue.bonds.items()}
        self._phases: list[tuple[int, str]] = []  # that are to come, of a day by the script
        self._flow_due_ns: int | None = None
        self._is_trading = False
        self._state = None if settings.state is None else BondState(Path(settings.state))
        self._done: list[Kept] = []  # before a restart
        self._begin(as_date(local_day(now_ns)))

    def _begin(self, day: date) -> None:
        calendar = national_calendar()
        if self.settings.day is DayKind.SCRIPT:
            day = calendar.on_or_after(day)
        self.day = BondDay(self.catalogue, day, seed=self.settings.seed, rate_order=self.settings.rate_order)
        self.market = self.day.market
        self.trade_date = self.market.floor.trade_date
        if self._state is not None:
            self._done = self._state.begin(self.catalogue, self.trade_date, self.settings.rate_order)
            self.market.on_taken = self._state.note

    # The source

    def bonds(self) -> Iterable[Bond]:
        return list(self.catalogue)

    def find(self, symbol: str) -> int | None:
        return self._symbols.get(symbol)

    def exponents(self, security_id: int | None) -> tuple[int, int] | None:
        """Of the prices and sizes of a bond; None: it is none."""
        bond = None if security_id is None else self.catalogue.bonds.get(security_id)
        return None if bond is None else (BOND_EXPONENT, bond.instrument.size_exponent)

    def serve(self, audience: BondAudience) -> None:
        self._audiences.append(audience)

    # Time

    def start(self, now_ns: int) -> None:
        """Open at once, by the clock, or left to the operator in its pre-open."""
        if self.settings.flow:
            self._flow_due_ns = now_ns
        if self.settings.day is DayKind.SCRIPT:
            self._plan(now_ns)
            self._restore(now_ns)
            self.on_timeout(now_ns)
            return
        if self._restore(now_ns):
            self._is_trading = self.settings.day is DayKind.OPEN
            return
        self._open(now_ns)
        if self.settings.day is DayKind.OPEN:
            self._tell(self.day.change_states(now_ns, self.day.numbers, State.OPEN), now_ns)
            self._is_trading = True

    def _open(self, now_ns: int) -> None:
        if self._state is not None:
            self._state.note(ScriptStep(OPENED, now_ns))
        self._tell(self.day.begin(now_ns), now_ns)

    def _restore(self, now_ns: int) -> bool:
        """What was done before a restart is done again, and told to servers that nobody has reached yet."""
        done, self._done, self.market.on_taken = self._done, [], None
        for each in done:
            if not isinstance(each, ScriptStep):
                self._publish(self.market.submit(each).events, now_ns)
            elif each.name == OPENED:
                self._publish(self.market.open_day(each.now_ns), now_ns)
            else:
                self._phases = [phase for phase in self._phases if phase[1] != each.name]
                self._is_trading = each.name != "closing" and (self._is_trading or each.name == "opening")
        self.market.on_taken = None if self._state is None else self._state.note
        self.day.resume()
        return bool(done)

    def close(self) -> None:
        if self._state is not None:
            self._state.close()

    def _plan(self, now_ns: int) -> None:
        times = self.day.times_ns()
        if times["closing"] <= now_ns:
            self._begin(as_date(self.trade_date) + timedelta(days=1))
            times = self.day.times_ns()
        self._phases = sorted((time_ns, name) for name, time_ns in times.items())

    def next_timeout(self) -> int | None:
        times = [] if self._flow_due_ns is None else [self._flow_due_ns]
        if self._phases:
            times.append(self._phases[0][0])
        return min(times, default=None)

    def on_timeout(self, now_ns: int) -> None:
        while self._phases and self._phases[0][0] <= now_ns:
            self._enter_phase(self._phases.pop(0)[1], now_ns)
        if self._flow_due_ns is not None and self._flow_due_ns <= now_ns:
            step_ns = int(_SECOND_NS / self.settings.flow)
            for _ in range(AT_ONCE):
                if self._flow_due_ns > now_ns:
                    break
                if self._is_trading:
                    self._tell(self.day.act(now_ns), now_ns)
                self._flow_due_ns += step_ns
            self._flow_due_ns = max(self._flow_due_ns, now_ns)

    def _enter_phase(self, name: str, now_ns: int) -> None:
        day = self.day
        if self._state is not None:
            self._state.note(ScriptStep(name, now_ns))
        match name:
            case "pre_open":
                self._open(now_ns)
            case "opening":
                self._tell(day.change_states(now_ns, day.numbers, State.OPEN), now_ns)
                self._is_trading = True
            case "auction":
                self._tell(day.change_states(now_ns, day.called, State.RESERVED), now_ns)
            case "auction_ends":
                self._tell(day.change_states(now_ns, day.called, State.OPEN), now_ns)
            case _:
                self._is_trading = False
                self._tell([day.close(now_ns)], now_ns)
                self._plan(max(now_ns, day.times_ns()["closing"]))

    def _tell(self, steps: Iterable[Step], now_ns: int) -> None:
        for _, events in steps:
            self._publish(events, now_ns)

    def _publish(self, events: Iterable[Event], now_ns: int) -> None:
        for event in events:
            for audience in self._audiences:
                audience.publish(event, now_ns)

    # The operator

    def execute(self, command: Any, now_ns: int) -> CommandOutcome:
        """What an operator asks for (`bond_commands`), published; what it did or why it was refused."""
        self.commands += 1
        try:
            done = self.market.submit(market_command(command, self.market.floor, now_ns))
        except RejectedError as error:
            done = BondOutcome(rejection=error.rejection)
        self._publish(done.events, now_ns)
        self.rejected += done.rejection is not None
        return CommandOutcome(done.events, done.rejection, () if done.number is None else (done.number,))
