"""Books by price level as of the last tick (1021=2), made of what ticks change in the books of orders.

6.1 has no such books and 7.5.1 has: they are served where `price_depth` says so. A level is found by its
price, as there are no positions (290); orders without a price are a level too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Generic

from pregao.feeds.conflated.publisher.conflation import Change, Order
from pregao.model.events import LendingOffer, LevelUpdate, SideDeleted
from pregao.model.market import Action, Side

_Key = tuple[Side, int | None]
_Book = dict[_Key, LevelUpdate]  # as new ones


class ConflatedLevels(Generic[Order]):
    """Books of one kind, by instrument."""

    def __init__(self, price_of: Callable[[Order], int | None]) -> None:
        self._price_of: Callable[[Order], int | None] = price_of
        self._books: dict[int, _Book] = {}

    def set(self, security_id: int, orders: Iterable[Order]) -> None:
        """The book was told whole."""
        book = self._books[security_id] = {}
        for order in orders:
            self._count(book, order, order.size, 1)

    def forget(self, security_id: int) -> None:
        self._books.pop(security_id, None)

    def change(self, security_id: int, changes: Iterable[Change[Order]]) -> list[LevelUpdate | SideDeleted]:
        """What is told of a tick that has changed so much. Sides that were wiped come first in both."""
        book: _Book = self._books.setdefault(security_id, {})
        before: dict[_Key, LevelUpdate | None] = {}
        told: list[LevelUpdate | SideDeleted] = []
        for each in changes:
            if isinstance(each, SideDeleted):
                for key in [key for key in book if key[0] is each.side]:
                    del book[key]
                told.append(each)
                continue
            order, previous = each.order, each.previous_size or 0
            key = order.side, self._price_of(order)
            before.setdefault(key, book.get(key))
            if each.action is Action.DELETE:
                self._count(book, order, -previous, -1)
            else:
                self._count(book, order, order.size - previous, int(each.action is Action.NEW))
        return [*told, *_differences(book, before)]

    def _count(self, book: _Book, order: Order, size: int, orders: int) -> None:
        """So much more, or less, at the price of an order."""
        price, key = self._price_of(order), (order.side, self._price_of(order))
        time_ns = order.time_ns if isinstance(order, LendingOffer) else order.transact_ns
        known = book.get(key)
        if known is not None:
            size, orders = known.size + size, known.orders + orders
        if orders:
            book[key] = LevelUpdate(
                order.security_id, Action.NEW, order.side, price, size, orders, 0, time_ns
            )
        else:
            book.pop(key, None)

    def published(self, security_id: int) -> list[LevelUpdate]:
        """All levels, bids first, from the best to the worst."""
        return sorted(self._books.get(security_id, {}).values(), key=_rank)


def _differences(book: _Book, before: dict[_Key, LevelUpdate | None]) -> Iterator[LevelUpdate]:
    for key, was in before.items():
        now = book.get(key)
        if was is None:
            if now is not None:
                yield now
        elif now is None:
            yield replace(was, action=Action.DELETE)
        elif (was.size, was.orders) != (now.size, now.orders):
            yield replace(now, action=Action.CHANGE, previous_size=was.size)


def _rank(level: LevelUpdate) -> tuple[Side, bool, int]:
    """No price comes first (6.1)."""
    price = level.price or 0
    return level.side, level.price is not None, -price if level.side is Side.BUY else price
