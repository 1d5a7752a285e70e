"""One side of a plain book, in its two orders: by price and secondaryOrderID (12.1), and by position
(below wire version 15; section 9 of the FIX/FAST guidelines). They take the same updates and say which
anomalies they met."""

from collections.abc import Iterable
from typing import Protocol

from pregao.books.anomalies import FIRST_WITH_DELETED_PRICE, Anomaly
from pregao.books.views import Order, rank
from pregao.model.events import OrderUpdate
from pregao.model.market import Action, Side

Found = list[Anomaly]


class BookSide(Protocol):
    def apply(self, update: OrderUpdate, version: int, found: Found) -> None: ...
    def delete_from(self, position: int, found: Found) -> None: ...
    def orders(self) -> list[Order]:
        """Best first."""


def order_of(update: OrderUpdate) -> Order:
    return Order(
        update.order_id, update.price, update.size, update.inserted_ns, update.firm, update.implied
    )


class SideByPrice:
    def __init__(self, side: Side, orders: Iterable[Order], found: Found) -> None:
        self._side = side
        self._orders: dict[int, Order] = {}
        for order in orders:
            if order.order_id in self._orders:
                found.append(Anomaly.ORDER_EXISTS)
            else:
                self._orders[order.order_id] = order

    def apply(self, update: OrderUpdate, version: int, found: Found) -> None:
        there = self._orders.get(update.order_id)
        if update.action is Action.DELETE:
            if there is None:
                found.append(Anomaly.UNKNOWN_DELETE)
                return
            told = update.price is not None or version >= FIRST_WITH_DELETED_PRICE
            if told and update.price != there.price:
                found.append(Anomaly.PRICE_DIFFERS)
            del self._orders[update.order_id]
            return
        if update.action is Action.NEW and there is not None:
            found.append(Anomaly.ORDER_EXISTS)
        elif update.action is Action.CHANGE and there is None:
            found.append(Anomaly.UNKNOWN_CHANGE)
        elif there is not None and there.price != update.price:
            found.append(Anomaly.PRICE_DIFFERS)
        self._orders[update.order_id] = order_of(update)

    def delete_from(self, position: int, found: Found) -> None:
        found.append(Anomaly.POSITION)  # there are no positions (12.1)

    def orders(self) -> list[Order]:
        return sorted(
            self._orders.values(), key=lambda order: (-rank(self._side, order.price), order.order_id)
        )


class SideByPosition:
    def __init__(self, orders: Iterable[Order]) -> None:
        self._orders = list(orders)

    def apply(self, update: OrderUpdate, version: int, found: Found) -> None:
        place, count = update.position - 1, len(self._orders)
        if update.action is Action.NEW:
            if not 0 <= place <= count:
                found.append(Anomaly.POSITION)
                place = count
            self._orders.insert(place, order_of(update))
            return
        if not 0 <= place < count:
            found.append(Anomaly.POSITION)
            return
        there = self._orders[place]
        if there.order_id != update.order_id:
            found.append(Anomaly.ID_DIFFERS)
        elif update.action is Action.CHANGE and there.price != update.price:
            found.append(Anomaly.PRICE_DIFFERS)
        if update.action is Action.CHANGE:
            self._orders[place] = order_of(update)
        else:
            del self._orders[place]

    def delete_from(self, position: int, found: Found) -> None:
        if not 1 <= position <= len(self._orders):
            found.append(Anomaly.POSITION)
        del self._orders[: max(position, 0)]

    def orders(self) -> list[Order]:
        return list(self._orders)
