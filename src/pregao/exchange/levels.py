"""Quantities by price of one side of a book, kept while an auction runs.

The theoretical price is asked for after every order of an auction. Adding all orders up each time costs
as much as the book is long; this costs a sum an order. The plain way is `side_levels`, which the tests
and `BookSide.check_invariants` hold it equal to.
"""

from collections.abc import Iterable

from pregao.exchange.orders import Order


class SideLevels:
    """What an uncrossing sees of a side: whole quantities, without implied orders (18)."""

    __slots__ = ("_counted", "sizes", "unpriced")

    def __init__(self, orders: Iterable[Order] = ()) -> None:
        self.sizes: dict[int, int] = {}
        self.unpriced = 0
        self._counted: dict[int, int] = {}  # by secondaryOrderID: what was counted of each
        for order in orders:
            self.add(order)

    def add(self, order: Order) -> None:
        if not order.implied:
            self._counted[order.secondary_id] = order.leaves
            self._count(order.price, order.leaves)

    def remove(self, order: Order) -> None:
        """As it was counted: some of it may have traded since."""
        if not order.implied:
            self._count(order.price, -self._counted.pop(order.secondary_id))

    def recount(self, order: Order) -> None:
        """It is in the same place with another quantity."""
        self.remove(order)
        self.add(order)

    def _count(self, price: int | None, size: int) -> None:
        if price is None:
            self.unpriced += size
            return
        total = self.sizes.get(price, 0) + size
        if total:
            self.sizes[price] = total
        else:
            del self.sizes[price]


def side_levels(orders: Iterable[Order]) -> tuple[dict[int, int], int]:
    """The same, added up: quantities by price, and of orders without one."""
    priced: dict[int, int] = {}
    unpriced = 0
    for order in orders:
        if order.implied:
            continue
        if order.price is None:
            unpriced += order.leaves
        else:
            priced[order.price] = priced.get(order.price, 0) + order.leaves
    return priced, unpriced
