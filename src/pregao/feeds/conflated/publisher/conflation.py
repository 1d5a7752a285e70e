"""What the listeners of a book have to be told at a tick (6.6).

A book is what was published, and the newest update of each order that was touched since. At a tick both are
compared, order by order: what came and went, or was changed back, is not told. An order is told under its
OrderID: another OrderID is another order, so that one which lost its priority goes and comes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, Generic, NamedTuple, TypeVar

from pregao.model.events import LendingOffer, OrderUpdate, SideDeleted
from pregao.model.market import Action, Side

Order = TypeVar("Order", OrderUpdate, LendingOffer)


class BookChange(NamedTuple, Generic[Order]):
    """One entry of a book: an order that is new, changed or gone. `previous_size` is the one that was
    published last, of what was."""

    action: Action
    order: Order
    previous_size: int | None = None


Change = BookChange[Order] | SideDeleted


@dataclass(slots=True)
class _Book(Generic[Order]):
    published: dict[int, Order] = field(default_factory=dict)
    touched: dict[int, Order] = field(default_factory=dict)  # since the last tick, in order of their first
    wiped: dict[Side, SideDeleted] = field(default_factory=dict)


class ConflatedBooks(Generic[Order]):
    """Books of one kind, by instrument."""

    def __init__(self, price_of: Callable[[Order], int | None]) -> None:
        self._price_of: Callable[[Order], int | None] = price_of
        self._books: dict[int, _Book[Order]] = {}
        self._dirty: dict[int, _Book[Order]] = {}

    @property
    def is_dirty(self) -> bool:
        """Whether something was touched since the last tick."""
        return bool(self._dirty)

    def update(self, order: Order) -> None:
        security_id = order.security_id
        book = self._dirty.get(security_id)
        if book is None:
            book = self._dirty[security_id] = self._book(security_id)
        book.touched[order.order_id] = order

    def wipe(self, wiped: SideDeleted) -> None:
        """A side is gone at once: what was touched of it before is gone too."""
        book = self._dirty[wiped.security_id] = self._book(wiped.security_id)
        book.wiped[wiped.side] = wiped
        book.touched = {key: each for key, each in book.touched.items() if each.side is not wiped.side}

    def _book(self, security_id: int) -> _Book[Order]:
        found = self._books.get(security_id)
        if found is None:
            found = self._books[security_id] = _Book()
        return found

    def set(self, security_id: int, orders: Iterable[Order]) -> None:
        """The book was told whole, by something else than a tick."""
        self._books[security_id] = _Book({each.order_id: each for each in orders})
        self._dirty.pop(security_id, None)

    def forget(self, security_id: int) -> None:
        self._books.pop(security_id, None)
        self._dirty.pop(security_id, None)

    def tick(self) -> dict[int, list[Change[Order]]]:
        """What has to be told, by instrument; those whose book is as it was are not in it."""
        dirty, self._dirty = self._dirty, {}
        told = {}
        for security_id, book in dirty.items():
            changes = list(self._changes(book))
            book.touched, book.wiped = {}, {}
            if changes:
                told[security_id] = changes
        return told

    def _changes(self, book: _Book[Order]) -> Iterator[Change[Order]]:
        published, price_of = book.published, self._price_of
        for side, wiped in book.wiped.items():
            swept = [key for key, each in published.items() if each.side is side]
            for key in swept:
                del published[key]
            if swept:
                yield wiped
        for order_id, order in book.touched.items():
            before = published.get(order_id)
            if order.action is Action.DELETE:
                if before is not None:
                    del published[order_id]
                    # Listeners find it by the price that they know.
                    gone = order if price_of(before) == price_of(order) else before
                    yield BookChange(Action.DELETE, gone, before.size)
                continue
            if before is None:
                yield BookChange(Action.NEW, order)
            elif price_of(before) != price_of(order) or before.side is not order.side:
                yield BookChange(Action.DELETE, before, before.size)
                yield BookChange(Action.NEW, order)
            elif before.size != order.size:
                yield BookChange(Action.CHANGE, order, before.size)
            else:
                continue
            published[order_id] = order

    def published(self, security_id: int) -> tuple[list[Order], list[Order]]:
        """Bids and offers as of the last tick, in order of priority: those without a price first, then by
        price and OrderID (6.1)."""
        book = self._books.get(security_id)
        if book is None:
            return [], []
        bids = [each for each in book.published.values() if each.side is Side.BUY]
        offers = [each for each in book.published.values() if each.side is Side.SELL]
        return sorted(bids, key=self._bid_rank), sorted(offers, key=self._offer_rank)

    def _bid_rank(self, order: Order) -> tuple[bool, int, int]:
        price = self._price_of(order)
        return price is not None, -(price or 0), order.order_id

    def _offer_rank(self, order: Order) -> tuple[bool, int, int]:
        price = self._price_of(order)
        return price is not None, price or 0, order.order_id


PRICE: Final = attrgetter("price")
RATE: Final = attrgetter("rate")
