"""The matching engine: `submit` a command, get its events or the reason why not. What a command is and
does stands in the handlers' table; this file only dispatches and lets the consequences follow."""

from collections.abc import Iterable
from typing import Protocol

from pregao.exchange import commands, entry, special_trades, supervision
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.hooks import STATE_RULES, Handler, Hooks
from pregao.exchange.implied import Implieds
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.matching import enter_orders
from pregao.exchange.orders import EnteredOrder, OrderType, TimeInForce
from pregao.exchange.transaction import Transaction
from pregao.model.events import Event
from pregao.model.instruments import Instrument
from pregao.model.market import State
from pregao.model.records import record

_HANDLERS: dict[type, Handler] = {
    commands.NewOrder: entry.new_order,
    commands.ChangeOrder: entry.change_order,
    commands.CancelOrder: entry.cancel_order,
    commands.MassCancel: entry.mass_cancel,
    commands.RlpOrder: entry.rlp_order,
    commands.CrossOrder: special_trades.cross_order,
    commands.SweepAndCross: special_trades.sweep_and_cross,
    commands.BlockTrade: special_trades.block_trade,
    commands.TacTrade: special_trades.tac_trade,
    commands.TaaTrade: special_trades.taa_trade,
    commands.ForwardTrade: special_trades.forward_trade,
    commands.TradeOnBehalf: supervision.trade_on_behalf,
    commands.ManualTrade: supervision.manual_trade,
    commands.BustTrade: supervision.bust_trade,
    commands.AmendTrade: supervision.amend_trade,
    commands.CancelSide: supervision.cancel_side,
    commands.MoveInstrument: supervision.move_instrument,
}


class Command(Protocol):
    @property
    def now_ns(self) -> int: ...


@record
class CommandOutcome:
    """`order_ids` are the private ids of the orders the command was about."""

    events: tuple[Event, ...] = ()
    rejection: Rejection | None = None
    order_ids: tuple[int, ...] = ()

    @property
    def order_id(self) -> int:
        return self.order_ids[0]


class Engine:
    """Deterministic: the same instruments and commands give the same events."""

    __slots__ = ("floor", "handlers", "hooks", "implieds", "restates")

    def __init__(
        self,
        instruments: Iterable[Instrument],
        *,
        trade_date: int = 0,
        hooks: Hooks | None = None,
        implied_partial: str = "change",
        kept_trades: int | None = None,
    ) -> None:
        """`kept_trades` of each instrument can be taken back, older ones cannot; None: all of them."""
        if implied_partial not in ("change", "restate"):
            raise ValueError(f"implied_partial must be change or restate, not {implied_partial}")
        self.hooks = Hooks() if hooks is None else hooks
        self.floor = Floor(instruments, trade_date, self.hooks, kept_trades)
        self.restates = implied_partial == "restate"
        self.implieds = Implieds.of(self.floor, restate=self.restates)
        self.floor.implying = self.implieds.by_security
        self.handlers: dict[type, Handler] = dict(_HANDLERS)

    def register(self, command: type, handler: Handler) -> None:
        """Plug in a command of phases, auctions, bands or definitions."""
        self.handlers[command] = handler

    def market(self, security_id: int) -> InstrumentMarket:
        return self.floor.markets[security_id]

    def trading_state(self, security_id: int) -> State:
        return self.hooks.trading_state(security_id)

    def submit(self, command: Command, entered_ns: int | None = None) -> CommandOutcome:
        """`entered_ns` is when the command entered the queue of orders, if that was before its own time."""
        handler = self.handlers.get(type(command))
        if handler is None:
            return CommandOutcome(rejection=Rejection(RejectReason.UNKNOWN_COMMAND, type(command).__name__))
        transaction = Transaction(self.floor, command.now_ns, entered_ns)
        rejection = handler(command, transaction)
        if rejection is not None:
            return CommandOutcome(rejection=rejection)
        if transaction.touched:
            self.settle(transaction)
        return CommandOutcome(tuple(transaction.events), None, tuple(transaction.order_ids))

    def settle(self, transaction: Transaction) -> None:
        """Consequences, each in events of its own, until there are none: what the hooks' followers
        do, implied orders, then elected stops of one market at a time, since they change legs again."""
        while transaction.touched:
            touched = tuple(transaction.touched)
            transaction.touched.clear()
            for follower in self.hooks.followers:
                follower(transaction, touched)
            if self.implieds.by_security:
                self.implieds.follow(transaction, touched)
            if transaction.touched:
                # Stops wait until nothing moves: they must not meet an implied order that is out of date.
                for market in touched:
                    transaction.touch(market)
                continue
            for market in touched:
                if market.statistics.swing is not None and self._elect(transaction, market):
                    # The others wait until implied orders have followed.
                    for other in touched:
                        transaction.touch(other)
                    break

    def _elect(self, transaction: Transaction, market: InstrumentMarket) -> bool:
        """The stops that the last events reached enter together, in the next event (13.1.3)."""
        if not STATE_RULES[self.hooks.trading_state(market.security_id)].match:
            return False
        swing, market.statistics.swing = market.statistics.swing, None
        if swing is None or not market.stops.count:
            return False
        orders = market.stops.elected(*swing)
        for order in orders:
            _activate(order)
        if orders:
            draft = transaction.draft()
            enter_orders(draft, market, orders)
            transaction.close(draft)
        return bool(orders)


def _activate(order: EnteredOrder) -> None:
    order.stop_price = None
    if order.type is OrderType.STOP:
        order.type, order.tif = OrderType.MARKET, TimeInForce.IOC
    else:
        order.type = OrderType.LIMIT
