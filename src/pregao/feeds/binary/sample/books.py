"""Orders in priority, small and plain: a sorted list a side."""

from bisect import bisect_left, insort
from typing import Literal, NamedTuple

Side = Literal["BID", "OFFER"]
OPPOSITE: dict[Side, Side] = {"BID": "OFFER", "OFFER": "BID"}


class Order(NamedTuple):
    """Orders compare by priority: price first, then who came earlier."""

    rank: int  # the price in ticks, signed so that less is better
    arrival: int
    price: int | None  # in ticks; None: at market
    size: int
    firm: int | None
    inserted_ns: int

    @property
    def order_id(self) -> int:
        """What B3 calls secondaryOrderID: rises with arrival."""
        return 780_000_000_000 + self.arrival


def make_order(
    side: Side, arrival: int, price: int | None, size: int, firm: int | None, inserted_ns: int
) -> Order:
    rank = -(1 << 40) if price is None else (-price if side == "BID" else price)
    return Order(rank, arrival, price, size, firm, inserted_ns)


class Book:
    def __init__(self) -> None:
        self.sides: dict[Side, list[Order]] = {"BID": [], "OFFER": []}

    def __len__(self) -> int:
        return len(self.sides["BID"]) + len(self.sides["OFFER"])

    def add(self, side: Side, order: Order) -> int:
        """Put an order at its place; its position, from 1."""
        insort(self.sides[side], order)
        return bisect_left(self.sides[side], order) + 1

    def best(self, side: Side) -> int | None:
        """The best price in ticks, orders at market aside."""
        return next((order.price for order in self.sides[side] if order.price is not None), None)

    def clear(self) -> None:
        for orders in self.sides.values():
            orders.clear()
