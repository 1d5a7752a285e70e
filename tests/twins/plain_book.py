"""The plain book of one instrument: slow, obvious, what the kernel is held against.

How a side is ordered is said by the wire version of each message for it, so a feed may change its
version in mid-stream: the side is then put in the other order first.
"""

from collections import Counter
from itertools import groupby

from pregao.books.anomalies import FIRST_BY_PRICE, MAX_SIZE, Anomaly
from pregao.books.views import Level, Order, Top, rank
from pregao.model.events import BookEmptied, OrderUpdate, SideDeleted
from pregao.model.market import Action, Side
from tests.twins.plain_sides import BookSide, Found, SideByPosition, SideByPrice

BookUpdate = OrderUpdate | SideDeleted | BookEmptied
_OF_AN_ORDER = frozenset((Action.NEW, Action.CHANGE, Action.DELETE))


class ReferenceBook:
    def __init__(self) -> None:
        self.anomalies: Counter[Anomaly] = Counter()  # ever
        self.suspect = False  # since it was last emptied
        self._sides: dict[Side, BookSide] = {}
        self.clear()

    def apply(self, update: BookUpdate, version: int) -> None:
        if isinstance(update, BookEmptied):
            self.clear()
            return
        found: Found = []
        if isinstance(update, OrderUpdate):
            self._apply_order(update, version, found)
        elif update.action is Action.DELETE_THRU:
            self._sides[update.side] = SideByPrice(update.side, (), found)
        elif update.action is Action.DELETE_FROM:
            self._ordered(update.side, version, found).delete_from(update.position or 0, found)
        else:
            found.append(Anomaly.MALFORMED)
        self.anomalies.update(found)
        self.suspect |= bool(found)

    def _apply_order(self, update: OrderUpdate, version: int, found: Found) -> None:
        sized = update.action is Action.DELETE or 0 <= update.size <= MAX_SIZE
        if update.action not in _OF_AN_ORDER or not sized:
            found.append(Anomaly.MALFORMED)
            return
        self._ordered(update.side, version, found).apply(update, version, found)

    def _ordered(self, side: Side, version: int, found: Found) -> BookSide:
        """The side, in the order that a version has."""
        current = self._sides[side]
        if version >= FIRST_BY_PRICE and not isinstance(current, SideByPrice):
            current = self._sides[side] = SideByPrice(side, current.orders(), found)
        elif version < FIRST_BY_PRICE and not isinstance(current, SideByPosition):
            current = self._sides[side] = SideByPosition(current.orders())
        return current

    def clear(self) -> None:
        """Known to be empty, so nothing is suspect any more."""
        self._sides = {side: SideByPrice(side, (), []) for side in Side}
        self.suspect = False

    def orders(self, side: Side) -> list[Order]:
        return self._sides[side].orders()

    def levels(self, side: Side) -> list[Level]:
        """Market by price. Positions that contradict the prices do not change it."""
        ranked = sorted(self.orders(side), key=lambda order: -rank(side, order.price))
        return [
            Level(price, sum(order.size for order in orders), len(orders))
            for price, group in groupby(ranked, key=lambda order: order.price)
            for orders in (list(group),)
        ]

    @property
    def top(self) -> Top:
        bids, offers = self.levels(Side.BUY), self.levels(Side.SELL)
        return Top(bids[0] if bids else None, offers[0] if offers else None)

    def check_invariants(self) -> None:
        for side in Side:
            orders, levels = self.orders(side), self.levels(side)
            ranks = [rank(side, level.price) for level in levels]
            assert ranks == sorted(set(ranks), reverse=True), "levels are in order, each price once"
            assert sum(level.orders for level in levels) == len(orders)
            assert sum(level.size for level in levels) == sum(order.size for order in orders)
            assert all(0 <= order.size <= MAX_SIZE for order in orders)
            if isinstance(self._sides[side], SideByPrice):
                assert len({order.order_id for order in orders}) == len(orders)
