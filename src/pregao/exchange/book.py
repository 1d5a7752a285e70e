"""The engine's own book of one instrument. Each side is one flat list in priority order, beside the
list of its keys: a place is found by bisection, and the place is the position of old wire versions."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from pregao.exchange.orders import EnteredOrder
from pregao.model.market import Side

# Quantities by price of one side of a book, kept while an auction runs.
#
# The theoretical price is asked for after every order of an auction. Adding all orders up each time costs as
# much as the book is long; this costs a sum an order. The plain way is `side_levels`, which the tests and
# `BookSide.check_invariants` hold it equal to.


class AuctionLevels:
    """What an uncrossing sees of a side: whole quantities, without implied orders (18)."""

    __slots__ = ("_counted", "sizes", "unpriced")

    def __init__(self, orders: Iterable[EnteredOrder] = ()) -> None:
        self.sizes: dict[int, int] = {}
        self.unpriced = 0
        self._counted: dict[int, int] = {}  # by secondaryOrderID: what was counted of each
        for order in orders:
            self.add(order)

    def add(self, order: EnteredOrder) -> None:
        if not order.implied:
            self._counted[order.secondary_id] = order.leaves
            self._count(order.price, order.leaves)

    def remove(self, order: EnteredOrder) -> None:
        """As it was counted: some of it may have traded since."""
        if not order.implied:
            self._count(order.price, -self._counted.pop(order.secondary_id))

    def recount(self, order: EnteredOrder) -> None:
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


def side_levels(orders: Iterable[EnteredOrder]) -> tuple[dict[int, int], int]:
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


_BUY = Side.BUY


class BookError(AssertionError):
    """The book contradicts itself: a mistake of ours."""


class BookSide:
    __slots__ = ("_levels", "keys", "orders", "side")

    def __init__(self, side: Side) -> None:
        self.side = side
        self.keys: list[int] = []
        self.orders: list[EnteredOrder] = []
        self._levels: AuctionLevels | None = None  # once an auction asked for them

    def insert(self, order: EnteredOrder) -> int:
        """Its position, from 1."""
        place = bisect_left(self.keys, order.key)
        self.keys.insert(place, order.key)
        self.orders.insert(place, order)
        if self._levels is not None:
            self._levels.add(order)
        return place + 1

    def remove(self, order: EnteredOrder) -> int:
        """The position it had."""
        place = bisect_left(self.keys, order.key)
        del self.keys[place]
        del self.orders[place]
        if self._levels is not None:
            self._levels.remove(order)
        return place + 1

    def recount(self, order: EnteredOrder) -> None:
        """An order of this side has another quantity in the same place."""
        if self._levels is not None:
            self._levels.recount(order)

    def auction_levels(self) -> AuctionLevels:
        """Quantities by price as an auction sees them, kept from now on, until it is over."""
        if self._levels is None:
            self._levels = AuctionLevels(self.orders)
        return self._levels

    def forget_levels(self) -> None:
        self._levels = None

    def position(self, order: EnteredOrder) -> int:
        return bisect_left(self.keys, order.key) + 1

    def was_best(self, order: EnteredOrder) -> bool:
        """Whether the best level is another with, or without, an order that just came or went."""
        orders = self.orders
        if not orders:
            return True
        best = orders[0]
        # Orders without a price and implied ones stand before the level: leave it to a closer look.
        return best is order or best.implied or best.price is None or _ahead(order, best)

    def clear(self) -> list[EnteredOrder]:
        gone, self.orders, self.keys, self._levels = self.orders, [], [], None
        return gone

    @property
    def best_price(self) -> int | None:
        """The best price; orders without a price have none to offer."""
        for order in self.orders:
            if order.price is not None:
                return order.price
        return None

    @property
    def best_real_price(self) -> int | None:
        for order in self.orders:
            if order.price is not None and not order.implied:
                return order.price
        return None

    def best_level(self) -> tuple[int, int] | None:
        """Price and displayed size of the best price level, without implied orders."""
        price, size = None, 0
        for order in self.orders:
            if order.implied or order.price is None:
                continue
            if price is None:
                price = order.price
            elif order.price != price:
                break
            size += order.shown
        return None if price is None else (price, size)

    def levels(self) -> Iterator[tuple[int | None, int, int]]:
        """Price, displayed size and number of orders of each level, best first."""
        price: int | None = None
        size = count = 0
        for order in self.orders:
            if count and order.price != price:
                yield price, size, count
                size = count = 0
            price, size, count = order.price, size + order.shown, count + 1
        if count:
            yield price, size, count

    def check_invariants(self) -> None:
        if len(self.keys) != len(self.orders) or any(a >= b for a, b in zip(self.keys, self.keys[1:])):  # noqa: B905
            raise BookError(f"{self.side.name}: keys are not in order")
        kept = self._levels
        if kept is not None and (kept.sizes, kept.unpriced) != side_levels(self.orders):
            raise BookError(f"{self.side.name}: the levels are not those of the orders")
        for key, order in zip(self.keys, self.orders, strict=True):
            expected = order.key
            order.rank()
            if not key == expected == order.key:
                raise BookError(f"{order} stands in the wrong place")
            if order.side is not self.side or not 0 < order.shown <= order.leaves:
                raise BookError(f"{order} has a wrong side or size")
            if order.max_floor is not None and order.shown > order.max_floor:
                raise BookError(f"{order} shows more than its floor")
            if not order.implied and order.leaves + order.executed != order.quantity:
                raise BookError(f"{order} lost quantity")


def _ahead(order: EnteredOrder, best: EnteredOrder) -> bool:
    """Whether an order's price is the best one's or better."""
    price, than = order.price, best.price
    if price is None or than is None:
        return True
    return price >= than if order.side is _BUY else price <= than


class Book:
    __slots__ = ("buys", "sells")

    def __init__(self) -> None:
        self.buys = BookSide(Side.BUY)
        self.sells = BookSide(Side.SELL)

    def side(self, side: Side) -> BookSide:
        return self.buys if side is _BUY else self.sells

    def opposite(self, side: Side) -> BookSide:
        return self.sells if side is _BUY else self.buys

    @property
    def crossed(self) -> bool:
        bid, offer = self.buys.best_price, self.sells.best_price
        return bid is not None and offer is not None and bid >= offer

    def __iter__(self) -> Iterator[EnteredOrder]:
        yield from self.buys.orders
        yield from self.sells.orders

    def __len__(self) -> int:
        return len(self.buys.orders) + len(self.sells.orders)

    def check_invariants(self, *, matching: bool) -> None:
        """`matching`: the instrument is open, so nothing may be crossed or without a price."""
        self.buys.check_invariants()
        self.sells.check_invariants()
        if matching and self.crossed:
            raise BookError(f"crossed: {self.buys.best_price} and {self.sells.best_price}")
        if matching and any(order.price is None for order in self):
            raise BookError("an order without a price while open")
