"""One command at work. A `Draft` collects the updates of one event by kind, and `Transaction.close`
puts them in the order of the wire (4.2, 13.1): ExecutionSummary, cancels by self-trade prevention,
trades, book updates, what hooks add, statistics."""

from collections.abc import Callable

from pregao.exchange.book import BookSide
from pregao.exchange.conditions import condition, condition_bits
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace
from pregao.exchange.strategies import LegReport
from pregao.model.events import Event, ExecutionSummary, OrderUpdate, SideDeleted, Trade, Update
from pregao.model.market import Action, Aggressor, Side, TradeSubType

_NEW, _CHANGE, _DELETE = Action.NEW, Action.CHANGE, Action.DELETE
_BOOK, _NOWHERE = OrderPlace.BOOK, OrderPlace.NOWHERE
_BUY = Side.BUY


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


class Transaction:
    """All events of one command, in order, and the markets that must be looked at again after it."""

    __slots__ = ("entered_ns", "events", "floor", "now_ns", "order_ids", "touched")

    def __init__(self, floor: Floor, now_ns: int, entered_ns: int | None = None) -> None:
        self.floor = floor
        self.now_ns = now_ns
        self.entered_ns = now_ns if entered_ns is None else entered_ns
        self.events: list[Event] = []
        self.order_ids: list[int] = []
        self.touched: dict[InstrumentMarket, None] = {}

    def draft(self) -> Draft:
        return Draft(self.floor, self.now_ns)

    def touch(self, market: InstrumentMarket) -> None:
        self.touched[market] = None

    # Nine of ten events are one order that comes to rest, or one that is cancelled: these two do what
    # a draft with a single `insert` or `cancel` would, without the draft. Not for implied orders.

    def rest(self, market: InstrumentMarket, order: EnteredOrder) -> None:
        """An order goes into the book and meets nothing."""
        now_ns = self.now_ns
        order.take_priority(market.ids.ordinary(), now_ns)
        order.place = _BOOK
        book = market.book
        side = book.buys if order.side is _BUY else book.sells
        position = side.insert(order)
        update = OrderUpdate(
            order.security_id, _NEW, order.side, order.secondary_id, order.price, order.shown, position,
            now_ns, now_ns, None, order.firm,
        )  # fmt: skip
        self._close_one(market, side, order, update)

    def leave(self, market: InstrumentMarket, order: EnteredOrder) -> None:
        """An order of the book is cancelled."""
        book = market.book
        side = book.buys if order.side is _BUY else book.sells
        position = side.remove(order)
        update = OrderUpdate(
            order.security_id, _DELETE, order.side, order.secondary_id, order.price, order.shown, position,
            order.inserted_ns, self.now_ns, None, order.firm,
        )  # fmt: skip
        market.cancelled += order.leaves
        self.floor.forget(order)
        self._close_one(market, side, order, update)

    def _close_one(
        self,
        market: InstrumentMarket,
        side: BookSide,
        order: EnteredOrder,
        update: OrderUpdate,
    ) -> None:
        """The event of one update. The market need not be looked at again where nobody had anything to
        say and no implied order can depend on what changed: a spread sees its legs' best levels only."""
        updates: tuple[Update, ...] = (update,)
        for listener in self.floor.hooks.on_book_changed:
            updates += tuple(listener(market, self.now_ns))
        self.events.append(Event(updates))
        if len(updates) > 1 or (market.security_id in self.floor.implying and side.was_best(order)):
            self.touched[market] = None

    def close(self, draft: Draft) -> None:
        """One Event of what was noted; nothing noted, no event."""
        updates: list[Update] = draft.leading
        if draft.execution is not None and draft.execution.filled:
            updates.append(draft.execution.summary(self.now_ns, self.entered_ns))
        updates += draft.prevented
        updates += draft.trades
        updates += draft.books
        # A trade or a bust moves the last price, by which an auction chooses between equal prices.
        moved = draft.changed | draft.traded
        for listener in self.floor.hooks.on_book_changed:
            for market in moved:
                updates.extend(listener(market, self.now_ns))
        updates += draft.extras
        for market in draft.traded:
            updates += market.statistics.publish(
                market.security_id, market.session, market.trade_date, self.now_ns
            )
        if updates:
            self.events.append(Event(tuple(updates)))
        self.touched.update(moved)
        for consequence in draft.consequences:
            consequence(self)
        for market, trades in draft.of_strategies.items():
            LegReport(draft, market, trades).tell(self)


def tell(transaction: Transaction, update: Update) -> None:
    """A message that belongs to no event is one (4.2.2)."""
    draft = transaction.draft()
    draft.lead(update)
    transaction.close(draft)
