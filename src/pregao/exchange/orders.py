"""An order inside the engine. `order_id` is private and stays; `secondary_id` is what the market sees
and changes with every loss of priority (12.1)."""

from enum import IntEnum
from heapq import heapify, heappop, heappush

from pregao.model.market import Side

# Orders without a price stand before every price level of their side (12.1).
_FIRST = -(1 << 62)
_BUY = Side.BUY  # looking an enum's member up costs more than most of what is done with it


def key_of(side: Side, price: int | None, secondary_id: int) -> int:
    """The place of an order on its side as one integer: price first, then secondaryOrderID."""
    level = _FIRST if price is None else -price if side is _BUY else price
    return (level << 64) + secondary_id


class OrderType(IntEnum):
    LIMIT = 1
    MARKET = 2
    STOP = 3
    STOP_LIMIT = 4
    MARKET_ON_AUCTION = 5
    MARKET_ON_CLOSE = 6
    RLP = 7  # hidden, for the retail orders of its own firm (13.1)


class TimeInForce(IntEnum):
    DAY = 0
    GTC = 1
    IOC = 3
    FOK = 4
    GTD = 6


class OrderPlace(IntEnum):
    """Where an order is kept. Only what is in the book is seen."""

    NOWHERE = 0
    BOOK = 1
    STOP = 2
    ON_CLOSE = 3
    HIDDEN = 4


class SelfTrade(IntEnum):
    """What self-trade prevention cancels; the aggressor's instruction counts (13.1.2)."""

    CANCEL_AGGRESSOR = 1
    CANCEL_RESTING = 2
    CANCEL_BOTH = 3


_NOWHERE = OrderPlace.NOWHERE
_CANCEL_AGGRESSOR = SelfTrade.CANCEL_AGGRESSOR


class EnteredOrder:
    """`shown` is what the book displays, `leaves` what is left in all; the difference is hidden."""

    __slots__ = (
        "client_order_id", "executed", "expire_date", "firm", "implied", "inserted_ns", "investor_id", "key",
        "leaves", "max_floor", "min_quantity", "order_id", "place", "price", "quantity", "retail",
        "secondary_id", "security_id", "shown", "side", "stop_price", "stp", "tif", "type",
    )  # fmt: skip

    def __init__(
        self,
        order_id: int,
        security_id: int,
        side: Side,
        type: OrderType,  # noqa: A002 (FIX's own word)
        tif: TimeInForce,
        quantity: int,
        price: int | None,
        firm: int | None,
        inserted_ns: int,
        stop_price: int | None = None,
        max_floor: int | None = None,
        min_quantity: int | None = None,
        investor_id: int | None = None,
        stp: SelfTrade = _CANCEL_AGGRESSOR,
        expire_date: int | None = None,
        client_order_id: str = "",
    ) -> None:
        self.order_id = order_id
        self.secondary_id = 0
        self.security_id = security_id
        self.side = side
        self.type = type
        self.tif = tif
        self.quantity = quantity
        self.leaves = quantity
        self.shown = quantity
        self.executed = 0
        self.price = price
        self.firm = firm
        self.inserted_ns = inserted_ns
        self.key = 0
        self.place = _NOWHERE
        self.stop_price = stop_price
        self.max_floor = max_floor
        self.min_quantity = min_quantity
        self.investor_id = investor_id
        self.stp = stp
        self.expire_date = expire_date
        self.client_order_id = client_order_id
        self.implied = False
        self.retail = False  # of a retail investor: meets the RLP orders of its own firm

    def take_priority(self, secondary_id: int, now_ns: int) -> None:
        """A new place in the queue: a new id, a fresh display, a new insertion time."""
        self.secondary_id = secondary_id
        self.inserted_ns = now_ns
        floor = self.max_floor
        self.shown = self.leaves if floor is None or floor > self.leaves else floor
        price = self.price
        level = _FIRST if price is None else -price if self.side is _BUY else price
        self.key = (level << 64) + secondary_id  # as `key_of`: every order comes by here

    def rank(self) -> None:
        self.key = key_of(self.side, self.price, self.secondary_id)

    @property
    def survives_session(self) -> bool:
        return self.tif is TimeInForce.GTC or self.tif is TimeInForce.GTD

    def __repr__(self) -> str:
        return (
            f"Order({self.order_id}/{self.secondary_id} {self.side.name} {self.shown}"
            f"[{self.leaves}]@{self.price} {self.type.name})"
        )


# Who numbers what: orders per segment (12.1), trades per instrument and trade date (13.3).


_SEGMENT_BITS = 40  # ids of a segment never meet those of another: unique across all segments (12.1)
_IMPLIED_BASE = 1 << 62  # above every ordinary id: least priority at its price (18)
LAST_SEGMENT = 255  # marketSegmentID is one byte, and 0 its null
_TRADE_STEP = 10  # as in every printed example (13.1.1)


def segment_of(secondary_id: int) -> int:
    """The segment that gave an ordinary id."""
    return secondary_id >> _SEGMENT_BITS


class SegmentIds:
    """The secondaryOrderIDs of one segment; they rise and are never reset."""

    __slots__ = ("_next", "_next_implied", "segment")

    def __init__(self, segment: int) -> None:
        self.segment = segment
        self._next = (segment << _SEGMENT_BITS) + 1
        self._next_implied = _IMPLIED_BASE + self._next

    def ordinary(self) -> int:
        number = self._next
        self._next = number + 1
        return number

    def implied(self) -> int:
        number = self._next_implied
        self._next_implied = number + 1
        return number

    def last(self) -> tuple[int, int]:
        """The last ids given, ordinary and implied: what a restart carries over."""
        return self._next - 1, self._next_implied - 1

    def continue_after(self, ordinary: int, implied: int) -> None:
        self._next, self._next_implied = ordinary + 1, implied + 1


class TradeIds:
    """The tradeIDs of one instrument on one trade date."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    @property
    def last(self) -> int:
        return self._last

    def next(self) -> int:
        self._last += _TRADE_STEP
        return self._last

    def start_over(self, last: int = 0) -> None:
        self._last = last


# Stop orders wait unseen (4.2.3) until a trade reaches their price. All that one event elects enter the book
# together in the next event, under one ExecutionSummary (13.1.3).


_Waiting = tuple[int, int, EnteredOrder]
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

    def add(self, order: EnteredOrder) -> None:
        assert order.stop_price is not None
        self._entry += 1
        order.key = self._entry
        order.place = OrderPlace.STOP
        self.count += 1
        if order.side is Side.BUY:
            heappush(self._buys, (order.stop_price, self._entry, order))
        else:
            heappush(self._sells, (-order.stop_price, self._entry, order))

    def remove(self, order: EnteredOrder) -> None:
        order.key = 0
        order.place = OrderPlace.NOWHERE
        self.count -= 1
        if len(self._buys) + len(self._sells) > 2 * self.count + _MOST_GONE:
            self._buys, self._sells = _waiting(self._buys), _waiting(self._sells)

    def elected(self, low: int, high: int) -> list[EnteredOrder]:
        """Take out the orders that trades between `low` and `high` reached."""
        orders: list[EnteredOrder] = []
        for heap, reached in ((self._buys, high), (self._sells, -low)):
            while heap and heap[0][0] <= reached:
                _, entry, order = heappop(heap)
                if order.key == entry and order.place is OrderPlace.STOP:
                    order.key, order.place = 0, OrderPlace.NOWHERE
                    self.count -= 1
                    orders.append(order)
        return orders


def _waiting(heap: list[_Waiting]) -> list[_Waiting]:
    """Without what is gone."""
    left = [each for each in heap if each[2].key == each[1] and each[2].place is OrderPlace.STOP]
    heapify(left)
    return left


def is_reached(order: EnteredOrder, last_price: int | None) -> bool:
    """Whether the last trade would have elected the order already."""
    if last_price is None or order.stop_price is None:
        return False
    return order.stop_price <= last_price if order.side is Side.BUY else order.stop_price >= last_price
