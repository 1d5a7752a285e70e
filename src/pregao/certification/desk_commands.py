"""What the script has its desk do, as commands of the exchange: orders, phases, states, news, and waiting."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pregao.certification.scenario import DeskCommand, ScriptPriceKind
from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.exchange.orders import OrderType
from pregao.model.errors import PregaoError
from pregao.model.market import Phase, Session, Side, State
from pregao.simulator.live.resets import HoldSnapshots

if TYPE_CHECKING:
    from pregao.certification.desk import CertificationDesk

MILLISECOND_NS: Final = 1_000_000
BUYER, SELLER = 3, 8  # firms
_PHASES: Final = {
    "pre-open": Phase.PRE_OPEN, "open": Phase.OPEN, "pause": Phase.PAUSE, "pre-close": Phase.PRE_CLOSE,
    "closing-call": Phase.FINAL_CLOSING_CALL, "close": Phase.CLOSE,
}  # fmt: skip
_SESSIONS: Final = {"regular": Session.REGULAR, "after-market": Session.NON_REGULAR}
_TYPES: Final = {
    ScriptPriceKind.ON_AUCTION: OrderType.MARKET_ON_AUCTION,
    ScriptPriceKind.ON_CLOSE: OrderType.MARKET_ON_CLOSE,
}
_STRATEGY_ID: Final = 200_000_900_900  # and how many there were


class DeskError(PregaoError):
    """The exchange refused a command of the script, or the script names what is not there."""


class ScriptCommands:
    """Of one desk, by the verbs of scenario files."""

    def __init__(self, desk: "CertificationDesk") -> None:
        self._desk, self._execute = desk, desk.execute
        self._orders: dict[str, int] = {}  # by the names that the script gives them
        self._strategies = 0

    @property
    def _now_ns(self) -> int:
        return self._desk.now_ns

    @property
    def _about(self) -> int:
        return self._desk.about

    def do(self, command: DeskCommand) -> None:
        handlers: dict[str, Callable[[DeskCommand], None]] = {
            "buy": self._order, "sell": self._order, "cancel": self._cancel, "change": self._change,
            "behalf": self._behalf, "second": self._fill_neighbour, "empty": self._empty,
            "special": self._special, "create": self._create,
            "news": self._news, "hold": self._hold, "release": self._hold, "wait": self._wait,
            "phase": lambda each: self._change_phase(each.words[0]), "session": self._session,
            "state": lambda each: self.change_state(each.words[0]),
            "mark": lambda _: self._desk.history.mark(),
            "history": lambda each: self._desk.history.fill(int(each.words[0])),
        }  # fmt: skip
        handler = handlers.get(command.verb)
        if handler is None:
            raise DeskError(f"the desk cannot {command.verb} here")
        handler(command)

    def _fill_neighbour(self, command: DeskCommand) -> None:
        """The group's second instrument has a book that must stay; it is filled once."""
        if len(self._desk.market_of(self._desk.neighbour).book):
            return
        closing = self._desk.market.catalogue.by_id[self._desk.neighbour].closing
        tick = self._desk.market_of(self._desk.neighbour).instrument.tick
        for side, price in ((Side.BUY, closing - tick), (Side.SELL, closing + tick)):
            firm = BUYER if side is Side.BUY else SELLER
            self._execute(c.NewOrder(self._now_ns, self._desk.neighbour, side, 100, price, firm=firm))

    def _order(self, command: DeskCommand) -> None:
        side = Side.BUY if command.verb == "buy" else Side.SELL
        assert command.order is not None
        order = c.NewOrder(
            self._now_ns, self._about, side, command.order.size,
            self._desk.price(command.order.price, side), firm=BUYER if side is Side.BUY else SELLER,
            type=_TYPES.get(command.order.price.kind, OrderType.LIMIT),
        )  # fmt: skip
        outcome = self._execute(order)
        if command.name is not None:
            self._orders[command.name] = outcome.order_id

    def _cancel(self, command: DeskCommand) -> None:
        if command.words == ("best", "offer"):
            order_id = self._desk.market_of(self._about).book.sells.orders[0].order_id
        else:
            order_id = self._named(command.words[0])
        self._execute(c.CancelOrder(self._now_ns, order_id))

    def _change(self, command: DeskCommand) -> None:
        assert command.order is not None
        order_id = self._named(command.words[0])
        before = self._desk.market.engine.floor.orders[order_id]
        price = self._desk.price(command.order.price)
        self._execute(
            c.ChangeOrder(
                self._now_ns, order_id,
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
        price = self._desk.price(command.order.price)
        assert price is not None
        self._execute(c.TradeOnBehalf(self._now_ns, self._about, command.order.size, price, BUYER, SELLER))

    def _empty(self, command: DeskCommand) -> None:
        for order in list(self._desk.market.engine.floor.orders.values()):
            if order.security_id == self._about:
                self._execute(c.CancelOrder(self._now_ns, order.order_id))

    def _change_phase(self, name: str) -> None:
        phase = _PHASES[name]
        for security_id in (self._desk.instrument, self._desk.legs[0]):
            instrument = self._desk.market_of(security_id).instrument
            self._execute(control.ChangePhase(self._now_ns, instrument.group, instrument.exchange, phase))

    def _session(self, command: DeskCommand) -> None:
        session = _SESSIONS[command.words[0]]
        market = self._desk.market_of(self._desk.instrument)
        group, exchange = market.instrument.group, market.instrument.exchange
        self._execute(control.ChangeSession(self._now_ns, group, exchange, session, market.trade_date))

    def change_state(self, name: str) -> None:
        """Open: back to its group, whatever it left it for; nothing where it never did."""
        surveillance = self._desk.market.desk.surveillance
        if name == "paused":
            self._execute(control.ChangeState(self._now_ns, self._about, State.PAUSE))
        elif name == "closed":
            self._execute(control.ChangeState(self._now_ns, self._about, State.CLOSE, expires=True))
        elif name == "reserved":
            self._execute(control.StartAuction(self._now_ns, self._about))
        elif (own := surveillance.phases.own(self._about)) is not None:
            ends = control.EndAuction if own.state is State.RESERVED else control.RejoinGroup
            self._execute(ends(self._now_ns, self._about))

    def _special(self, command: DeskCommand) -> None:
        """B3.4 needs a state that B3.1 does not name: the auction starts here."""
        if self._desk.market_of(self._about).instrument.is_buy_back:
            self._execute(control.ChangeInstrument(self._now_ns, self._about, buy_back=False))
        self._execute(control.ChangeInstrument(self._now_ns, self._about, buy_back=True))
        self._execute(control.StartAuction(self._now_ns, self._about))

    def _create(self, command: DeskCommand) -> None:
        legs = tuple(control.StrategyLeg(each, Side.BUY) for each in self._desk.legs)
        self._strategies += 1
        strategy, symbol = _STRATEGY_ID + self._strategies, f"CERTUDS{self._strategies}"
        self._execute(
            control.AddInstrument(self._now_ns, strategy, symbol, self._desk.legs[0], lot=1, legs=legs)
        )
        self._desk.about = strategy

    def _news(self, command: DeskCommand) -> None:
        self._desk.headline = " ".join(command.words)
        text = f"{self._desk.headline}.\nCertificação."
        self._execute(control.SendNews(self._now_ns, self._desk.headline, text, self._desk.instrument))

    def _hold(self, command: DeskCommand) -> None:
        for channel in self._desk.channels(self._about) if self._desk.served is None else ():
            self._execute(HoldSnapshots(self._now_ns, channel, held=command.verb == "hold"))
        if command.verb == "release":
            self._desk.wait_for_books()

    def _wait(self, command: DeskCommand) -> None:
        heartbeat_ns = self._desk.paces.heartbeat_ns * (
            1 if self._desk.served is None else 2
        )  # index values put it off
        waits = {"heartbeat": heartbeat_ns, "index": self._desk.paces.index_ns}
        self._desk.wait(waits.get(command.words[0], 0))
