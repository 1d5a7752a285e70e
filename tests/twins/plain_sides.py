"""One side of a plain book, under its three policies: orders by price and secondaryOrderID (12.1), orders by
position, and price levels by position (both: section 9 of the FIX/FAST guidelines). They say which anomalies
they met."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Protocol

from pregao.books.views import MAX_LEVELS, Anomaly, Level, Order, rank
from pregao.model.events import LevelUpdate, OrderUpdate
from pregao.model.market import Action, Side
from pregao.model.rows import NULL

Found = list[Anomaly]


class BookSide(Protocol):
    def delete_from(self, position: int, found: Found) -> None: ...
    def orders(self) -> list[Order]:
        """Best first."""

    def levels(self) -> list[Level]:
        """Best first."""


def order_of(update: OrderUpdate) -> Order:
    return Order(update.order_id, update.price, update.size, update.inserted_ns, update.firm, update.implied)


def rank_of(side: Side, price: int | None, *, in_rates: bool) -> int:
    """Greater is nearer to the top; a rate is the better bid where it is lower."""
    return rank(side, price if price is None or not in_rates else -price)


def levels_of(side: Side, orders: Iterable[Order], *, in_rates: bool = False) -> list[Level]:
    """Market by price. Positions that contradict the prices do not change it."""
    ranked = sorted(orders, key=lambda order: -rank_of(side, order.price, in_rates=in_rates))
    return [
        Level(price, sum(order.size for order in same), len(same))
        for price, group in groupby(ranked, key=lambda order: order.price)
        for same in (list(group),)
    ]


class SideByPrice:
    def __init__(self, side: Side, orders: Iterable[Order], found: Found) -> None:
        self._side = side
        self._orders: dict[int, Order] = {}
        for order in orders:
            if order.order_id in self._orders:
                found.append(Anomaly.ORDER_EXISTS)
            else:
                self._orders[order.order_id] = order

    def apply(self, update: OrderUpdate, price_untold: bool, found: Found) -> None:
        there = self._orders.get(update.order_id)
        if update.action is Action.DELETE:
            if there is None:
                found.append(Anomaly.UNKNOWN_DELETE)
                return
            told = update.price is not None or not price_untold
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
        elif there is not None and price_untold and update.previous_size not in (None, there.size):
            found.append(Anomaly.SIZE_DIFFERS)
        self._orders[update.order_id] = order_of(update)

    def delete_from(self, position: int, found: Found) -> None:
        found.append(Anomaly.POSITION)  # there are no positions (12.1)

    def orders(self) -> list[Order]:
        return sorted(
            self._orders.values(), key=lambda order: (-rank(self._side, order.price), order.order_id)
        )

    def levels(self) -> list[Level]:
        return levels_of(self._side, self.orders())


class SideByPosition:
    def __init__(self, side: Side, orders: Iterable[Order], *, in_rates: bool = False) -> None:
        self._side, self._orders, self.in_rates = side, list(orders), in_rates

    def apply(self, update: OrderUpdate, found: Found) -> None:
        place, count = update.position - 1, len(self._orders)
        if update.action is Action.OVERLAY:
            self._overlay(update, place, found)
            return
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
        if update.order_id == NULL:  # only the position addresses
            update = replace(update, order_id=there.order_id)
        if there.order_id != update.order_id:
            found.append(Anomaly.ID_DIFFERS)
        elif update.action is Action.CHANGE and there.price != update.price:
            found.append(Anomaly.PRICE_DIFFERS)
        if update.action is Action.CHANGE:
            self._orders[place] = order_of(update)
        else:
            del self._orders[place]

    def _overlay(self, update: OrderUpdate, place: int, found: Found) -> None:
        """9.6: replaced or inserted; gone where it has neither price nor size."""
        removed = update.price is None and update.size <= 0
        leaves_a_gap = not removed and place > len(self._orders)
        if place < 0 or leaves_a_gap:
            found.append(Anomaly.POSITION)
            place = len(self._orders)
        self._orders[place : place + 1] = [] if removed else [order_of(update)]

    def delete_from(self, position: int, found: Found) -> None:
        if not 1 <= position <= len(self._orders):
            found.append(Anomaly.POSITION)
        del self._orders[: max(position, 0)]

    def orders(self) -> list[Order]:
        return list(self._orders)

    def levels(self) -> list[Level]:
        return levels_of(self._side, self._orders, in_rates=self.in_rates)


class SideByLevel:
    """`depth` 0: as many levels as there are."""

    def __init__(self, side: Side, depth: int) -> None:
        self._side, self.depth = side, depth
        self._levels: list[Level] = []

    def apply(self, update: LevelUpdate, found: Found) -> None:
        place, level = update.position - 1, Level(update.price, update.size, update.orders or 1)
        is_there = 0 <= place < len(self._levels)
        overlaid = update.action is Action.OVERLAY
        if overlaid and update.price is None and update.size <= 0:
            if place < 0:
                found.append(Anomaly.POSITION)
            self._levels[max(place, 0) : place + 1] = []
        elif update.action is Action.NEW or (overlaid and not is_there):
            self._insert(place, level, found)
        elif not is_there:
            found.append(Anomaly.POSITION)
        else:
            self._touch(place, level, update.action, found)

    def apply_by_price(self, update: LevelUpdate, found: Found) -> None:
        """Of a feed without positions."""
        level = Level(update.price, update.size, update.orders or 1)
        there = next((each for each in self._levels if each.price == update.price), None)
        if there is None and update.action is Action.DELETE:
            found.append(Anomaly.UNKNOWN_DELETE)
            return
        if there is None and update.action is Action.CHANGE:
            found.append(Anomaly.UNKNOWN_CHANGE)
        if there is not None and update.action is Action.NEW:
            found.append(Anomaly.PRICE_ORDER)
        if there is not None and update.action is Action.CHANGE:
            found += [Anomaly.SIZE_DIFFERS] * (update.previous_size not in (None, there.size))
        left = [each for each in self._levels if each.price != update.price]
        if update.action is not Action.DELETE:
            if there is None and not self.depth and len(left) == MAX_LEVELS:
                found.append(Anomaly.OVERFLOW)
                return
            left = sorted([*left, level], key=lambda each: -rank(self._side, each.price))
            if self.depth and left.index(level) >= self.depth:
                found.append(Anomaly.POSITION)
        self._levels = left
        self.trim()

    def _touch(self, place: int, level: Level, action: Action, found: Found) -> None:
        if action is Action.CHANGE and level.price is None:
            level = replace(level, price=self._levels[place].price)
        differs = self._levels[place].price != level.price
        if action is Action.DELETE:
            if differs and level.price is not None:
                found.append(Anomaly.PRICE_DIFFERS)
            del self._levels[place]
            return
        if action is Action.CHANGE and differs:
            found.append(Anomaly.PRICE_DIFFERS)
        self._levels[place] = level
        self._look_around(place, found)

    def _insert(self, place: int, level: Level, found: Found) -> None:
        count = len(self._levels)
        if not self.depth and count == MAX_LEVELS:
            found.append(Anomaly.OVERFLOW)
            return
        wrong = not 0 <= place <= count
        place = count if wrong else place
        beyond = self.depth and place >= self.depth
        if wrong or beyond:
            found.append(Anomaly.POSITION)
        if beyond:
            return
        self._levels.insert(place, level)
        self.trim()
        self._look_around(place, found)

    def _look_around(self, place: int, found: Found) -> None:
        """The price is to lie between those of the neighbours."""
        near = self._levels[max(place - 1, 0) : place + 2]
        if any(rank(self._side, one.price) <= rank(self._side, two.price) for one, two in pairwise(near)):
            found.append(Anomaly.PRICE_ORDER)

    def trim(self) -> None:
        """9.2.1: what is beyond the depth is gone without a message."""
        if self.depth:
            del self._levels[self.depth :]

    def delete_from(self, position: int, found: Found) -> None:
        if not 1 <= position <= len(self._levels):
            found.append(Anomaly.POSITION)
        del self._levels[: max(position, 0)]

    def orders(self) -> list[Order]:
        return []

    def levels(self) -> list[Level]:
        return list(self._levels)
