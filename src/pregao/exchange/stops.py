"""Stop orders wait unseen (4.2.3) until a trade reaches their price. All that one event elects enter
the book together in the next event, under one ExecutionSummary (13.1.3)."""

from heapq import heapify, heappop, heappush

from pregao.exchange.orders import Order, Place
from pregao.model.market import Side

_Waiting = tuple[int, int, Order]
_MOST_GONE = 64  # orders in a heap that are no longer there, besides as many as are


class StopOrders:
    """Buy stops by rising, sell stops by falling stop price; equal prices by entry. What was cancelled
    or changed stays in the heap for a while and is passed over: its entry number is no longer the order's."""

    __slots__ = ("_buys", "_entry", "_sells", "count")

    def __init__(self) -> None:
        self._buys: list[_Waiting] = []
        self._sells: list[_Waiting] = []
        self._entry = 0
        self.count = 0

    def add(self, order: Order) -> None:
        assert order.stop_price is not None
        self._entry += 1
        order.key = self._entry
        order.place = Place.STOP
        self.count += 1
        if order.side is Side.BUY:
            heappush(self._buys, (order.stop_price, self._entry, order))
        else:
            heappush(self._sells, (-order.stop_price, self._entry, order))

    def remove(self, order: Order) -> None:
        order.key = 0
        order.place = Place.NOWHERE
        self.count -= 1
        if len(self._buys) + len(self._sells) > 2 * self.count + _MOST_GONE:
            self._buys, self._sells = _waiting(self._buys), _waiting(self._sells)

    def elected(self, low: int, high: int) -> list[Order]:
        """Take out the orders that trades between `low` and `high` reached."""
        orders: list[Order] = []
        for heap, reached in ((self._buys, high), (self._sells, -low)):
            while heap and heap[0][0] <= reached:
                _, entry, order = heappop(heap)
                if order.key == entry and order.place is Place.STOP:
                    order.key, order.place = 0, Place.NOWHERE
                    self.count -= 1
                    orders.append(order)
        return orders


def _waiting(heap: list[_Waiting]) -> list[_Waiting]:
    """Without what is gone."""
    left = [each for each in heap if each[2].key == each[1] and each[2].place is Place.STOP]
    heapify(left)
    return left


def is_reached(order: Order, last_price: int | None) -> bool:
    """Whether the last trade would have elected the order already."""
    if last_price is None or order.stop_price is None:
        return False
    return order.stop_price <= last_price if order.side is Side.BUY else order.stop_price >= last_price
