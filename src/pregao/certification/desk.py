"""The desk of B3's certification, played on our exchange and on a virtual clock: commands of the script
become commands of the operator interface. Truth is what the exchange's own books are after them."""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

from pregao.certification.desk_commands import MILLISECOND_NS, DeskError, ScriptCommands
from pregao.certification.desk_truth import LEVELS, DeskTruth
from pregao.certification.history import DAY_NS, DeskHistory, earlier_dates
from pregao.certification.replaying import SETTINGS
from pregao.certification.scenario import DeskCommand, ScriptPrice, ScriptPriceKind, ScriptSegment
from pregao.certification.served import ServedExchange
from pregao.certification.systems import script_system
from pregao.exchange.catalogue import load_catalogue
from pregao.exchange.catalogues.rules import Catalogue
from pregao.feeds.publishing import Habits, LoopPace, OutgoingPacket, Paces, PublishingSite
from pregao.feeds.registry import DEFAULT
from pregao.model.market import Side
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.operator.calls import request_text

SECOND_NS: Final = 1_000_000_000
START_NS: Final = 1_795_089_600 * SECOND_NS  # Thursday, 2026-11-19 12:00 UTC: its week has earlier dates
LOOP_PAUSE_NS: Final = 1_000 * MILLISECOND_NS
WHOLE_LOOP_NS: Final = 2 * LOOP_PAUSE_NS  # by then a whole loop has passed, whenever one joined
# The instrument of the script, its group's second one, and the legs of the strategy, by segment.
_INSTRUMENTS: Final = {
    ScriptSegment.EQUITIES: ("CERT3", "OUTR3", "CERTL100", "CERTX100"),
    ScriptSegment.DERIVATIVES: ("CERZ26", "CERF27", "CERL5400", "CERX5400"),
}
# B5.1 wants the state of who follows its group in 35=W, D1.1 an empty one.
_HABITS: Final = Habits(phases_as_states=True, empty_snapshots=True)


@cache
def certification_catalogue() -> Catalogue:
    file = resources.files("pregao.certification").joinpath("catalogue.toml")
    return load_catalogue(file.read_bytes(), "catalogue.toml")


class ScriptPaces(NamedTuple):
    """How fast what repeats is repeated: `real` as B3 does it."""

    heartbeat_ns: int
    index_ns: int


# Of sessions heartbeats are whole seconds, and come where nothing else does.
_SERVED: Final = ScriptPaces(5 * SECOND_NS, 20 * SECOND_NS)
FAST_PACES: Final = ScriptPaces(SECOND_NS, SECOND_NS)
REAL_PACES: Final = ScriptPaces(10 * SECOND_NS, 30 * SECOND_NS)


class CertificationDesk(DeskTruth):
    """`take` has the packets since the last call; `at` the time."""

    def __init__(
        self,
        segment: ScriptSegment,
        system: str = "fast",
        paces: ScriptPaces = FAST_PACES,
        now_ns: int = START_NS,
    ) -> None:
        self.system = script_system(system)
        if self.system.served:
            paces = ScriptPaces(*map(max, paces, _SERVED))
        self.segment, self.paces, self.now_ns = segment, paces, now_ns
        loops = LoopPace(2 * MILLISECOND_NS, LOOP_PAUSE_NS)
        if self.system.served:
            loops = LoopPace(SECOND_NS, 3600 * SECOND_NS)  # nobody listens to channels
        publishing = DEFAULT if self.system.served else system
        settings = LiveSettings(
            system=publishing, day=DayKind.CLOSED, habits=_HABITS,
            lists_funds=True,
            index_interval_ns=paces.index_ns, paces=Paces(loops, loops, paces.heartbeat_ns), levels=LEVELS,
            desks_ns=None, replayers=SETTINGS,
        )  # fmt: skip
        catalogue = certification_catalogue()
        self.now_ns = now_ns - earlier_dates(publishing) * DAY_NS
        self.market = LiveMarket(catalogue, settings, [PublishingSite.PRIMARY], self.now_ns)
        self.served: ServedExchange | None = None
        if self.system.served:
            self.served = ServedExchange(system, self.market, now_ns, paces.heartbeat_ns // SECOND_NS)
        symbols = _INSTRUMENTS[segment]
        ids = [catalogue.instrument(symbol).security_id for symbol in symbols]
        self.instrument, self.neighbour, self.legs = ids[0], ids[1], (ids[2], ids[3])
        self.about = self.instrument  # whom orders and states are for: the strategy once there is one
        self._commands = ScriptCommands(self)
        self._written: list[str] = []
        self.headline = ""  # of the last news
        self.history = DeskHistory(self, earlier_dates(publishing))
        self.market.start(self.now_ns)
        self.history.play_earlier_dates()

    # Time

    def advance(self, by_ns: int) -> None:
        """Time passes: loops, heartbeats, index values, ticks."""
        until_ns = self.now_ns + by_ns
        while (due_ns := self._next_timeout()) <= until_ns:
            self._pass_to(max(due_ns, self.now_ns))
        self._pass_to(until_ns)
        self.history.keep()

    def _next_timeout(self) -> int:
        served_ns = None if self.served is None else self.served.next_timeout()
        market_ns = self.market.next_timeout()
        return market_ns if served_ns is None else min(market_ns, served_ns)

    def _pass_to(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.market.on_timeout(now_ns)
        if self.served is not None:
            self.served.on_timeout(now_ns)

    def pass_tick(self) -> None:
        """What is conflated comes before a step is judged, or a client connects."""
        if self.system.tick_ns:
            self.advance(self.system.tick_ns)

    def join(self, *, waits: bool) -> None:
        """The client has connected. `waits`: until it has what it needs."""
        if self.served is not None:
            self.served.ask_again()
        if self.served is not None or waits:
            self.wait_for_books()
        else:
            self.advance(MILLISECOND_NS)

    def wait_for_books(self) -> None:
        """A heartbeat says where a stream is; a loop that begins after it has the books. A session is
        answered."""
        self.advance(self.system.tick_ns or self.paces.heartbeat_ns + WHOLE_LOOP_NS)

    def wait(self, by_ns: int) -> None:
        """So long, and then for a whole loop."""
        self.advance(by_ns + WHOLE_LOOP_NS)

    def take(self) -> Iterator[tuple[int, OutgoingPacket]]:
        if self.served is None:
            return self.market.take()
        for _ in self.market.take():
            pass  # nobody listens to channels
        return self.served.take()

    def take_written(self) -> list[str]:
        """The commands since the last call, as the operator interface has them."""
        written, self._written = self._written, []
        return written

    # Commands

    def begin_section(self) -> None:
        """Whatever a section that was left in the middle did to its instrument."""
        self.about = self.instrument
        self._commands.change_state("open")

    def do(self, command: DeskCommand) -> None:
        self._commands.do(command)
        self.advance(MILLISECOND_NS)

    def price(self, price: ScriptPrice, side: Side | None = None) -> int | None:
        """In ten-thousandths; None of one that has none."""
        instrument = self.market_of(self.about).instrument
        if price.kind is ScriptPriceKind.TICKS:
            return (instrument.closing_price or 0) // 10_000 + price.value * instrument.tick
        if price.kind is ScriptPriceKind.ABSOLUTE:
            return price.value
        if price.kind is ScriptPriceKind.BEST and side is not None:
            return self.market_of(self.about).book.side(side).best_price
        return None

    def execute(self, command: Any) -> Any:
        """A command of the exchange, written down; DeskError where it refuses."""
        outcome = self.market.execute(command, self.now_ns)
        self._written.append(request_text(command))
        if outcome.rejection is not None:
            raise DeskError(f"{type(command).__name__} was refused: {outcome.rejection.text}")
        return outcome
