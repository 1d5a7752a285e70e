"""The updates of one event, by kind, while a command is at work: each method does the deed and notes the
message. `transaction` puts them in the order of the wire."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pregao.exchange.conditions import condition, condition_bits
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace
from pregao.model.events import ExecutionSummary, OrderUpdate, SideDeleted, Trade, Update
from pregao.model.market import Action, Aggressor, Side, TradeSubType

if TYPE_CHECKING:
    from pregao.exchange.transaction import Transaction

_NEW, _CHANGE, _DELETE = Action.NEW, Action.CHANGE, Action.DELETE
_BOOK, _NOWHERE = OrderPlace.BOOK, OrderPlace.NOWHERE


class Execution:
    """The sums of one matching event, for its ExecutionSummary (13.1)."""

    __slots__ = ("cancelled", "filled", "hidden", "last_price", "security_id", "sides")

    def __init__(self, security_id: int) -> None:
        self.security_id = security_id
        self.filled = self.hidden = self.cancelled = self.last_price = 0
        self.sides = 0  # of the aggressors, by bit

    def count(self, price: int, size: int, sides: int, hidden: int = 0) -> None:
        self.last_price = price
        self.filled += size
        self.hidden += hidden
        self.sides |= sides

    def summary(self, now_ns: int, entered_ns: int) -> ExecutionSummary:
        """Stops of both sides elected together have no one side as aggressor. Only an aggressor has
        waited in the queue of orders (13.1); stops count from the order that elected them."""
        aggressor = Aggressor(self.sides) if self.sides < 3 else Aggressor.NONE
        return ExecutionSummary(
            self.security_id, aggressor, self.last_price, self.filled, self.hidden, self.cancelled,
            now_ns if aggressor is Aggressor.NONE else entered_ns, now_ns,
        )  # fmt: skip


class Draft:
    """The updates of one event; every method does the deed and notes the message."""

    __slots__ = (
        "_ranges", "books", "changed", "consequences", "execution", "extras", "floor", "leading", "now_ns",
        "of_strategies", "prevented", "traded", "trades",
    )  # fmt: skip

    def __init__(self, floor: Floor, now_ns: int) -> None:
        self.floor = floor
        self.now_ns = now_ns
        self.leading: list[Update] = []
        self.execution: Execution | None = None  # what an ExecutionSummary would say
        self.consequences: list[Callable[[Transaction], None]] = []  # events of their own, after this one
        self.prevented: list[OrderUpdate] = []
        self.trades: list[Update] = []
        self.books: list[OrderUpdate | SideDeleted] = []
        self.extras: list[Update] = []
        self.changed: dict[InstrumentMarket, None] = {}  # books that changed, in order
        self.traded: dict[InstrumentMarket, None] = {}  # statistics to tell, in order
        self.of_strategies: dict[InstrumentMarket, list[Trade]] = {}  # their legs are told after the event
        self._ranges: dict[InstrumentMarket, list[tuple[int, int]]] = {}

    def may_trade(self, market: InstrumentMarket, price: int) -> bool:
        """Whether the ranges of this event let a continuous trade happen; they stand from when they are
        first asked for until the event is closed, whatever it trades."""
        ranges = self._ranges.get(market)
        if ranges is None:
            asked = (find(market) for find in self.floor.hooks.trade_ranges)
            ranges = self._ranges[market] = [found for found in asked if found is not None]
        return all(low <= price <= high for low, high in ranges)

    def execute(self, market: InstrumentMarket) -> Execution:
        """This event has an ExecutionSummary."""
        if self.execution is None:
            self.execution = Execution(market.security_id)
        return self.execution

    def lead(self, update: Update) -> None:
        """Before everything else: the state or phase that causes the event."""
        self.leading.append(update)

    def add(self, update: Update) -> None:
        """After the book updates, before the statistics."""
        self.extras.append(update)

    def insert(self, market: InstrumentMarket, order: EnteredOrder) -> None:
        """Give a new place in the queue: NEW, with a new secondaryOrderID."""
        order.take_priority(market.ids.implied() if order.implied else market.ids.ordinary(), self.now_ns)
        order.place = _BOOK
        position = market.book.side(order.side).insert(order)
        self._note(market, _NEW, order, order.shown, position, None)

    def remove(self, market: InstrumentMarket, order: EnteredOrder) -> None:
        """Take out of the book: DELETE with what was left (12.1.1.2). The order itself lives on."""
        position = market.book.side(order.side).remove(order)
        order.place = _NOWHERE
        self._note(market, _DELETE, order, order.shown, position, None)

    def resize(self, market: InstrumentMarket, order: EnteredOrder, shown: int) -> None:
        """Another displayed size in the same place: CHANGE (12.2.2.1)."""
        previous, order.shown = order.shown, shown
        side = market.book.side(order.side)
        side.recount(order)
        self._note(market, _CHANGE, order, shown, side.position(order), previous)

    def cancel(self, market: InstrumentMarket, order: EnteredOrder) -> None:
        """End an order wherever it is kept; only the book is public (4.2.3)."""
        place = order.place
        if place is _BOOK:
            self.remove(market, order)
        elif place is OrderPlace.STOP:
            market.stops.remove(order)
        elif place is OrderPlace.ON_CLOSE:
            del market.on_close[order.order_id]
        elif place is OrderPlace.HIDDEN:
            del market.hidden[order.order_id]
        if not order.implied:
            market.cancelled += order.leaves
        self.floor.forget(order)

    def fill(self, market: InstrumentMarket, order: EnteredOrder, size: int) -> None:
        """A resting order trades: CHANGE or DELETE; an iceberg comes back behind its level (13.1.1)."""
        while size > order.shown:
            first = order.shown
            self.fill(market, order, first)
            size -= first
        shown = order.shown
        order.executed += size
        order.leaves -= size
        market.executed += size
        if size < shown:
            self.resize(market, order, shown - size)
            return
        self.remove(market, order)
        if order.leaves:
            self.insert(market, order)
        else:
            self.floor.forget(order)

    def trade(
        self,
        market: InstrumentMarket,
        price: int,
        size: int,
        buyer: int | None,
        seller: int | None,
        *,
        sub_type: TradeSubType | None = None,
        bits: int = 0,
        implied: bool = False,
        from_legs: bool = False,
        transact_ns: int | None = None,
        forward: bool = False,
        seller_days: int | None = None,
        interest_rate: int | None = None,
    ) -> Trade:
        """`bits` are the condition bits that the kind of trade brings; the others are computed. `from_legs`:
        a trade of a strategy whose legs trade in their own books."""
        statistics = market.statistics
        last = statistics.last
        value = condition_bits(
            sub_type, bits, opening=statistics.is_opening, same_price=last is not None and last.price == price
        )
        trade = Trade(
            market.security_id, market.trade_ids.next(), price, size, market.trade_date, market.session,
            condition(value), self.now_ns if transact_ns is None else transact_ns, sub_type, buyer, seller,
            implied, forward, seller_days, interest_rate,
        )  # fmt: skip
        statistics.count_trade(trade)
        self.trades.append(trade)
        self.traded[market] = None
        if market.instrument.legs and not from_legs:
            self.of_strategies.setdefault(market, []).append(trade)
        return trade

    def delete_side(self, market: InstrumentMarket, side: Side) -> None:
        """A whole side at once: DELETE_THRU (12.1.2)."""
        for order in market.book.side(side).clear():
            if not order.implied:
                market.cancelled += order.leaves
            self.floor.forget(order)
        self.books.append(SideDeleted(market.security_id, Action.DELETE_THRU, side, self.now_ns))
        self.changed[market] = None

    def _note(
        self,
        market: InstrumentMarket,
        action: Action,
        order: EnteredOrder,
        size: int,
        position: int,
        previous: int | None,
    ) -> None:
        self.books.append(
            OrderUpdate(
                order.security_id, action, order.side, order.secondary_id, order.price, size, position,
                order.inserted_ns, self.now_ns, previous, order.firm, order.implied,
            )
        )  # fmt: skip
        self.changed[market] = None
