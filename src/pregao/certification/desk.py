"""The desk of B3's certification, played on our exchange and on a virtual clock: commands of the script
become commands of the operator interface. Truth is what the exchange's own books are after them."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

from pregao.certification.desk_truth import LEVELS, DeskTruth
from pregao.certification.history import DAY_NS, DeskHistory, earlier_dates
from pregao.certification.replaying import SETTINGS
from pregao.certification.scenario import DeskCommand, PriceKind, ScriptPrice, Segment
from pregao.certification.served import ServedExchange
from pregao.certification.systems import script_system
from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.catalogue import load_catalogue
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.orders import OrderType
from pregao.feeds.publishing import Habits, LoopPace, OutgoingPacket, Paces, PublishingSite
from pregao.feeds.registry import DEFAULT
from pregao.model.errors import PregaoError
from pregao.model.market import Phase, Session, Side, State
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.resets import HoldSnapshots
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.operator.calls import request_text

SECOND_NS: Final = 1_000_000_000
MILLISECOND_NS: Final = 1_000_000
START_NS: Final = 1_795_089_600 * SECOND_NS  # Thursday, 2026-11-19 12:00 UTC: its week has earlier dates
LOOP_PAUSE_NS: Final = 1_000 * MILLISECOND_NS
WHOLE_LOOP_NS: Final = 2 * LOOP_PAUSE_NS  # by then a whole loop has passed, whenever one joined
BUYER, SELLER = 3, 8  # firms
_PHASES: Final = {
    "pre-open": Phase.PRE_OPEN, "open": Phase.OPEN, "pause": Phase.PAUSE, "pre-close": Phase.PRE_CLOSE,
    "closing-call": Phase.FINAL_CLOSING_CALL, "close": Phase.CLOSE,
}  # fmt: skip
_SESSIONS: Final = {"regular": Session.REGULAR, "after-market": Session.NON_REGULAR}
_TYPES: Final = {
    PriceKind.ON_AUCTION: OrderType.MARKET_ON_AUCTION,
    PriceKind.ON_CLOSE: OrderType.MARKET_ON_CLOSE,
}
# The instrument of the script, its group's second one, and the legs of the strategy, by segment.
_INSTRUMENTS: Final = {
    Segment.EQUITIES: ("CERT3", "OUTR3", "CERTL100", "CERTX100"),
    Segment.DERIVATIVES: ("CERZ26", "CERF27", "CERL5400", "CERX5400"),
}
# B5.1 wants the state of who follows its group in 35=W, D1.1 an empty one.
_HABITS: Final = Habits(phases_as_states=True, empty_snapshots=True)
_STRATEGY_ID: Final = 200_000_900_900  # and how many there were


class DeskError(PregaoError):
    """The exchange refused a command of the script, or the script names what is not there."""


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
        self, segment: Segment, system: str = "fast", paces: ScriptPaces = FAST_PACES, now_ns: int = START_NS
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
        self._orders: dict[str, int] = {}
        self._written: list[str] = []
        self._strategies = 0
        self.headline = ""  # of the last news
        self.history = DeskHistory(self, earlier_dates(publishing))
        self.market.start(self.now_ns)
        self.history.play_earlier_dates()

    def _fill_neighbour(self, command: DeskCommand) -> None:
        """The group's second instrument has a book that must stay; it is filled once."""
        if len(self._market(self.neighbour).book):
            return
        closing = certification_catalogue().by_id[self.neighbour].closing
        tick = self._market(self.neighbour).instrument.tick
        for side, price in ((Side.BUY, closing - tick), (Side.SELL, closing + tick)):
            firm = BUYER if side is Side.BUY else SELLER
            self._execute(c.NewOrder(self.now_ns, self.neighbour, side, 100, price, firm=firm))

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
            self._wait_for_books()
        else:
            self.advance(MILLISECOND_NS)

    def _wait_for_books(self) -> None:
        """A heartbeat says where a stream is; a loop that begins after it has the books. A session is
        answered."""
        self.advance(self.system.tick_ns or self.paces.heartbeat_ns + WHOLE_LOOP_NS)

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
        self._state("open")

    def do(self, command: DeskCommand) -> None:
        handlers: dict[str, Callable[[DeskCommand], None]] = {
            "buy": self._order, "sell": self._order, "cancel": self._cancel, "change": self._change,
            "behalf": self._behalf, "second": self._fill_neighbour, "empty": self._empty,
            "special": self._special, "create": self._create,
            "news": self._news, "hold": self._hold, "release": self._hold, "wait": self._wait,
            "phase": lambda told: self._change_phase(told.words[0]), "session": self._session,
            "state": lambda told: self._state(told.words[0]), "mark": lambda told: self.history.mark(),
            "history": lambda told: self.history.fill(int(told.words[0])),
        }  # fmt: skip
        handler = handlers.get(command.verb)
        if handler is None:
            raise DeskError(f"the desk cannot {command.verb} here")
        handler(command)
        self.advance(MILLISECOND_NS)

    def price(self, price: ScriptPrice, side: Side | None = None) -> int | None:
        """In ten-thousandths; None of one that has none."""
        instrument = self._market(self.about).instrument
        if price.kind is PriceKind.TICKS:
            return (instrument.closing_price or 0) // 10_000 + price.value * instrument.tick
        if price.kind is PriceKind.ABSOLUTE:
            return price.value
        if price.kind is PriceKind.BEST and side is not None:
            return self._market(self.about).book.side(side).best_price
        return None

    def _execute(self, command: Any) -> Any:
        outcome = self.market.execute(command, self.now_ns)
        self._written.append(request_text(command))
        if outcome.rejection is not None:
            raise DeskError(f"{type(command).__name__} was refused: {outcome.rejection.text}")
        return outcome

    def _order(self, command: DeskCommand) -> None:
        side = Side.BUY if command.verb == "buy" else Side.SELL
        assert command.order is not None
        order = c.NewOrder(
            self.now_ns, self.about, side, command.order.size, self.price(command.order.price, side),
            firm=BUYER if side is Side.BUY else SELLER,
            type=_TYPES.get(command.order.price.kind, OrderType.LIMIT),
        )  # fmt: skip
        outcome = self._execute(order)
        if command.name is not None:
            self._orders[command.name] = outcome.order_id

    def _cancel(self, command: DeskCommand) -> None:
        if command.words == ("best", "offer"):
            order_id = self._market(self.about).book.sells.orders[0].order_id
        else:
            order_id = self._named(command.words[0])
        self._execute(c.CancelOrder(self.now_ns, order_id))

    def _change(self, command: DeskCommand) -> None:
        assert command.order is not None
        order_id = self._named(command.words[0])
        before = self.market.engine.floor.orders[order_id]
        price = self.price(command.order.price)
        self._execute(
            c.ChangeOrder(
                self.now_ns, order_id,
                quantity=command.order.size if command.order.size != before.quantity else None,
                price=price if price != before.price else None,
            )
        )  # fmt: skip

    def _named(self, name: str) -> int:
        if name not in self._orders:
            raise DeskError(f"no order is called {name}")
        return self._orders[name]

    def _behalf(self, command: DeskCommand) -> None:
        assert command.order is not None
        price = self.price(command.order.price)
        assert price is not None
        self._execute(c.TradeOnBehalf(self.now_ns, self.about, command.order.size, price, BUYER, SELLER))

    def _empty(self, command: DeskCommand) -> None:
        for order in list(self.market.engine.floor.orders.values()):
            if order.security_id == self.about:
                self._execute(c.CancelOrder(self.now_ns, order.order_id))

    def _change_phase(self, name: str) -> None:
        phase = _PHASES[name]
        for security_id in (self.instrument, self.legs[0]):
            instrument = self._market(security_id).instrument
            self._execute(control.ChangePhase(self.now_ns, instrument.group, instrument.exchange, phase))

    def _session(self, command: DeskCommand) -> None:
        session = _SESSIONS[command.words[0]]
        market = self._market(self.instrument)
        group, exchange = market.instrument.group, market.instrument.exchange
        self._execute(control.ChangeSession(self.now_ns, group, exchange, session, market.trade_date))

    def _state(self, name: str) -> None:
        """Open: back to its group, whatever it left it for; nothing where it never did."""
        surveillance = self.market.desk.surveillance
        if name == "paused":
            self._execute(control.ChangeState(self.now_ns, self.about, State.PAUSE))
        elif name == "closed":
            self._execute(control.ChangeState(self.now_ns, self.about, State.CLOSE, expires=True))
        elif name == "reserved":
            self._execute(control.StartAuction(self.now_ns, self.about))
        elif (own := surveillance.phases.own(self.about)) is not None:
            ends = control.EndAuction if own.state is State.RESERVED else control.RejoinGroup
            self._execute(ends(self.now_ns, self.about))

    def _special(self, command: DeskCommand) -> None:
        """B3.4 needs a state that B3.1 does not name: the auction starts here."""
        if self._market(self.about).instrument.is_buy_back:
            self._execute(control.ChangeInstrument(self.now_ns, self.about, buy_back=False))
        self._execute(control.ChangeInstrument(self.now_ns, self.about, buy_back=True))
        self._execute(control.StartAuction(self.now_ns, self.about))

    def _create(self, command: DeskCommand) -> None:
        legs = tuple(control.StrategyLeg(each, Side.BUY) for each in self.legs)
        self._strategies += 1
        strategy, symbol = _STRATEGY_ID + self._strategies, f"CERTUDS{self._strategies}"
        self._execute(control.AddInstrument(self.now_ns, strategy, symbol, self.legs[0], lot=1, legs=legs))
        self.about = strategy

    def _news(self, command: DeskCommand) -> None:
        self.headline = " ".join(command.words)
        text = f"{self.headline}.\nCertificação."
        self._execute(control.SendNews(self.now_ns, self.headline, text, self.instrument))

    def _hold(self, command: DeskCommand) -> None:
        for channel in self.channels(self.about) if self.served is None else ():
            self._execute(HoldSnapshots(self.now_ns, channel, held=command.verb == "hold"))
        if command.verb == "release":
            self._wait_for_books()

    def _wait(self, command: DeskCommand) -> None:
        heartbeat_ns = self.paces.heartbeat_ns * (1 if self.served is None else 2)  # index values put it off
        waits = {"heartbeat": heartbeat_ns, "index": self.paces.index_ns}
        self.advance(waits.get(command.words[0], 0) + WHOLE_LOOP_NS)
