"""The book of one bond, ranked by what its prices mean.

In yields and spreads a lower rate is worth more: the better bid is the lower rate, the better offer the
higher. Percentages and unit prices are the usual way round, and `plain` makes rates so too. A rank turns
either into one order: the higher the rank of a bid, and the lower that of an offer, the better.
"""

from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

from pregao.model.fixed_income import Bond
from pregao.model.market import Action, Side
from pregao.model.updates import OrderUpdate


class RateOrder(Enum):
    """Which rate is the better bid: that of the market (the lower one), or as with prices (`plain`)."""

    MARKET = "market"
    PLAIN = "plain"


@dataclass(slots=True)
class BondOrder:
    """An order that rests. `order_id` rises with time: a smaller one comes first at the same price."""

    order_id: int
    security_id: int
    side: Side
    price: int
    size: int
    firm: int
    inserted_ns: int


class BondSide:
    """One side in the order of its ranks, then of its ids."""

    __slots__ = ("keys", "orders", "side", "sign")

    def __init__(self, side: Side, sign: int) -> None:
        self.side, self.sign = side, sign
        self.keys: list[tuple[int, int]] = []
        self.orders: list[BondOrder] = []

    def key(self, order: BondOrder) -> tuple[int, int]:
        rank = self.sign * order.price
        return (-rank if self.side is Side.BUY else rank), order.order_id

    def position(self, order: BondOrder) -> int:
        """From 1."""
        return bisect_left(self.keys, self.key(order)) + 1

    def insert(self, order: BondOrder) -> int:
        place = bisect_left(self.keys, self.key(order))
        self.keys.insert(place, self.key(order))
        self.orders.insert(place, order)
        return place + 1

    def remove(self, order: BondOrder) -> int:
        """The position that it had."""
        place = self.position(order) - 1
        del self.keys[place]
        del self.orders[place]
        return place + 1

    @property
    def best(self) -> BondOrder | None:
        return self.orders[0] if self.orders else None

    def levels(self) -> dict[int, int]:
        """Sizes by rank, as an auction sees them."""
        found: dict[int, int] = {}
        for order in self.orders:
            rank = self.sign * order.price
            found[rank] = found.get(rank, 0) + order.size
        return found


class BondBook:
    """Both sides, and the updates that tell what happens to them."""

    __slots__ = ("bond", "orders", "sides", "sign")

    def __init__(self, bond: Bond, rate_order: RateOrder = RateOrder.MARKET) -> None:
        self.bond = bond
        self.sign = -1 if bond.is_rate and rate_order is RateOrder.MARKET else 1
        self.sides = {side: BondSide(side, self.sign) for side in Side}
        self.orders: dict[int, BondOrder] = {}

    def meets(self, side: Side, price: int, resting: BondOrder) -> bool:
        """Whether an order of `side` at `price` would trade with one that rests on the other side."""
        mine, theirs = self.sign * price, self.sign * resting.price
        return mine >= theirs if side is Side.BUY else mine <= theirs

    def enter(self, order: BondOrder, now_ns: int) -> OrderUpdate:
        self.orders[order.order_id] = order
        position = self.sides[order.side].insert(order)
        return _update(order, Action.NEW, position, now_ns)

    def delete(self, order: BondOrder, now_ns: int) -> OrderUpdate:
        del self.orders[order.order_id]
        return _update(order, Action.DELETE, self.sides[order.side].remove(order), now_ns)

    def reduce(self, order: BondOrder, quantity: int, now_ns: int) -> OrderUpdate:
        """By a trade, or because its owner wants less: in its place, or gone."""
        if quantity == order.size:
            return self.delete(order, now_ns)
        before, order.size = order.size, order.size - quantity
        return _update(order, Action.CHANGE, self.sides[order.side].position(order), now_ns, before)

    @property
    def is_crossed(self) -> bool:
        bid, offer = self.sides[Side.BUY].best, self.sides[Side.SELL].best
        return bid is not None and offer is not None and self.meets(Side.BUY, bid.price, offer)

    def check_invariants(self) -> None:
        counted = 0
        for side, half in self.sides.items():
            assert half.keys == [half.key(order) for order in half.orders]
            assert all(before < after for before, after in zip(half.keys, half.keys[1:], strict=False))
            assert all(order.side is side and order.size > 0 for order in half.orders)
            assert all(self.orders[order.order_id] is order for order in half.orders)
            counted += len(half.orders)
        assert counted == len(self.orders)


def _update(
    order: BondOrder, action: Action, position: int, now_ns: int, before: int | None = None
) -> OrderUpdate:
    return OrderUpdate(
        order.security_id, action, order.side, order.order_id, order.price, order.size, position,
        order.inserted_ns, now_ns, before, order.firm,
    )  # fmt: skip
