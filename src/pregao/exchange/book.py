"""The engine's own book of one instrument. Each side is one flat list in priority order, beside the
list of its keys: a place is found by bisection, and the place is the position of old wire versions."""

from bisect import bisect_left
from collections.abc import Iterator

from pregao.exchange.orders import Order
from pregao.model.market import Side

_BUY = Side.BUY


class BookError(AssertionError):
    """The book contradicts itself: a mistake of ours."""


class BookSide:
    __slots__ = ("keys", "orders", "side")

    def __init__(self, side: Side) -> None:
        self.side = side
        self.keys: list[int] = []
        self.orders: list[Order] = []

    def insert(self, order: Order) -> int:
        """Its position, from 1."""
        place = bisect_left(self.keys, order.key)
        self.keys.insert(place, order.key)
        self.orders.insert(place, order)
        return place + 1

    def remove(self, order: Order) -> int:
        """The position it had."""
        place = bisect_left(self.keys, order.key)
        del self.keys[place]
        del self.orders[place]
        return place + 1

    def position(self, order: Order) -> int:
        return bisect_left(self.keys, order.key) + 1

    def clear(self) -> list[Order]:
        gone, self.orders, self.keys = self.orders, [], []
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

    def __iter__(self) -> Iterator[Order]:
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
