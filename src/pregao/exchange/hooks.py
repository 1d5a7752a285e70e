"""Where phases, auctions and bands plug into the engine.

`Hooks` is a plain table of functions; the engine calls them and owns no policy of its own. A plug-in
also registers its commands with `Engine.register(CommandType, handler)`; a handler has the shape of
`Handler`. Inside a handler or a follower everything is done through the `Transaction`:

    draft = transaction.draft()                     a new event, empty
    draft.cancel(market, order)                     out of the book: DELETE
    draft.fill(market, order, size)                 a resting order trades: CHANGE, DELETE or replenished
    draft.trade(market, price, size, buyer, seller) a Trade with its condition computed, statistics counted
    draft.add(update)                               anything else (state, theoretical price, news)
    transaction.close(draft)                        one Event: summary, STP cancels, trades, book, statistics

`transaction.touch(market)` says that a market must be looked at again after this command even if its
book did not change (its state did): stops and implied orders follow.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pregao.exchange.commands import Rejection
from pregao.exchange.orders import EnteredOrder
from pregao.model.events import Update
from pregao.model.market import State

if TYPE_CHECKING:
    from pregao.exchange.market import InstrumentMarket
    from pregao.exchange.transaction import Transaction


class TradingState(Protocol):
    """The effective state of an instrument: the more restrictive of its own and its group's (14)."""

    def __call__(self, security_id: int, /) -> State: ...


class OrderCheck(Protocol):
    """May reject an order, new or as changed, before it touches anything. `order` is not in the book."""

    def __call__(
        self,
        market: "InstrumentMarket",
        order: EnteredOrder,
        now_ns: int,
        /,
    ) -> Rejection | None: ...


class CancelCheck(Protocol):
    """May reject the cancel of an order (the window of 15.2)."""

    def __call__(
        self,
        market: "InstrumentMarket",
        order: EnteredOrder,
        now_ns: int,
        /,
    ) -> Rejection | None: ...


class TradeRange(Protocol):
    """The lowest and the highest price of continuous trades, None: any. Asked once in an event, before its
    first fill, so that no fill moves the range it must keep to (`Draft.may_trade`). Outside it the incoming
    order stops matching, and `on_trade_refused` is told."""

    def __call__(self, market: "InstrumentMarket", /) -> tuple[int, int] | None: ...


class HardLimits(Protocol):
    """The prices that no trade of two parties may go beyond, None: any."""

    def __call__(self, market: "InstrumentMarket", /) -> tuple[int, int] | None: ...


class TradeRefused(Protocol):
    def __call__(
        self,
        market: "InstrumentMarket",
        order: EnteredOrder,
        price: int,
        now_ns: int,
        /,
    ) -> None: ...


class SelfTradePrevented(Protocol):
    """Two orders of one investor met (13.1.2); an illiquid instrument may go to auction for it (14.1)."""

    def __call__(
        self,
        market: "InstrumentMarket",
        incoming: EnteredOrder,
        resting: EnteredOrder,
        now_ns: int,
        /,
    ) -> None: ...


class BookListener(Protocol):
    """Called for every market whose book or trades changed in an event, before it is closed; what it
    returns (theoretical price, imbalance) comes after the book updates and before the statistics."""

    def __call__(self, market: "InstrumentMarket", now_ns: int, /) -> Iterable[Update]: ...


class Follower(Protocol):
    """Called once per command after its own events, for all markets it touched, before stops are
    elected. An order that only rests or is cancelled touches its market where a listener had something to
    say, or where an implied order may depend on the best level that it changed. A follower opens and
    closes its own drafts (an auction triggered by a refused trade, say)."""

    def __call__(self, transaction: "Transaction", touched: "tuple[InstrumentMarket, ...]", /) -> None: ...


# A handler validates first: what it returns as a Rejection must have changed nothing.
Handler = Callable[[Any, "Transaction"], Rejection | None]


def always_open(security_id: int) -> State:
    return State.OPEN


def no_limits(market: "InstrumentMarket") -> tuple[int, int] | None:
    return None


@dataclass(slots=True)
class Hooks:
    trading_state: TradingState = always_open
    hard_limits: HardLimits = no_limits
    check_order: list[OrderCheck] = field(default_factory=list)
    check_cancel: list[CancelCheck] = field(default_factory=list)
    trade_ranges: list[TradeRange] = field(default_factory=list)
    on_trade_refused: list[TradeRefused] = field(default_factory=list)
    on_self_trade: list[SelfTradePrevented] = field(default_factory=list)
    on_book_changed: list[BookListener] = field(default_factory=list)
    followers: list[Follower] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StateRules:
    """What a state lets participants do (14.1)."""

    enter: bool
    cancel: bool
    match: bool

    @property
    def auction(self) -> bool:
        return self.enter and not self.match


# PAUSE stops entry and matching but says nothing against cancelling, as step B4.2 of the certification script
# does; CLOSE and FORBIDDEN do (14.1). A change enters an order anew.
STATE_RULES: dict[State, StateRules] = {
    State.PAUSE: StateRules(enter=False, cancel=True, match=False),
    State.CLOSE: StateRules(enter=False, cancel=False, match=False),
    State.OPEN: StateRules(enter=True, cancel=True, match=True),
    State.FORBIDDEN: StateRules(enter=False, cancel=False, match=False),
    State.RESERVED: StateRules(enter=True, cancel=True, match=False),
    State.FINAL_CLOSING_CALL: StateRules(enter=True, cancel=True, match=False),
}
