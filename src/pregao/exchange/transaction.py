"""One command at work. A `draft` collects the updates of one event by kind, and `Transaction.close`
puts them in the order of the wire (4.2, 13.1): ExecutionSummary, cancels by self-trade prevention,
trades, book updates, what hooks add, statistics."""

from pregao.exchange.book import BookSide
from pregao.exchange.draft import Draft
from pregao.exchange.market import Floor, InstrumentMarket
from pregao.exchange.orders import EnteredOrder, OrderPlace
from pregao.exchange.strategies import LegReport
from pregao.model.events import Event, OrderUpdate, Update
from pregao.model.market import Action, Side

_NEW, _DELETE = Action.NEW, Action.DELETE
_BOOK = OrderPlace.BOOK
_BUY = Side.BUY


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
