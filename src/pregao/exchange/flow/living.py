"""The orders of the flow that live, by instrument, beside the books they are in."""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from pregao.model.events import Event
from pregao.model.instruments import Instrument
from pregao.model.market import Side

# What the flow sees of an exchange: its open orders, its books, its answers.


class OpenOrder(Protocol):
    """What the flow looks at in an order before it changes it."""

    side: Side
    price: int | None
    quantity: int
    leaves: int


class Answer(Protocol):
    """What the engine says to a command."""

    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def order_ids(self) -> tuple[int, ...]: ...


class Queued(Protocol):
    @property
    def order_id(self) -> int: ...
    @property
    def price(self) -> int | None: ...


class Queue(Protocol):
    """One side of a book, in priority."""

    @property
    def orders(self) -> Sequence[Queued]: ...


class TwoSides(Protocol):
    @property
    def buys(self) -> Queue: ...
    @property
    def sells(self) -> Queue: ...


class Listed(Protocol):
    """A market of the exchange, as it is listed now."""

    @property
    def instrument(self) -> Instrument: ...
    @property
    def book(self) -> TwoSides: ...


def best_price(market: Listed | None, *, buys: bool) -> int | None:
    """The price of the order in front of a side, if there is one and it has a price."""
    if market is None:
        return None
    orders = (market.book.buys if buys else market.book.sells).orders
    return orders[0].price if orders else None


def resting_orders(market: Listed) -> int:
    return len(market.book.buys.orders) + len(market.book.sells.orders)


EMPTY_SPREADS = 1.5  # farther than so many half spreads from the next, an order is alone


class LivingOrders:
    """Ids of orders, of which some may be gone by now. `live` are the markets as they are listed now and
    `half_spreads` theirs, both set anew with each block; `orders` are all of the exchange's."""

    def __init__(self, orders: Mapping[int, OpenOrder], count: int, shallowest: int) -> None:
        self._orders, self._shallowest = orders, shallowest
        self._books: list[list[int]] = [[] for _ in range(count)]
        self.own: set[int] = set()  # the same of all: other people's orders are not the flow's to cancel
        self.live: Sequence[Listed | None] = [None] * count
        self.half_spreads: Sequence[int] = [0] * count

    def add(self, order_id: int, which: int | None) -> None:
        """`which` is the instrument in whose book it is changed or cancelled whenever somebody likes; None
        where it only waits for the end of its life."""
        self.own.add(order_id)
        if which is not None:
            self._books[which].append(order_id)

    def resting(self, which: int) -> int:
        market = self.live[which]
        return len(self._books[which]) if market is None else resting_orders(market)

    def is_thin(self, which: int) -> bool:
        return self.resting(which) <= self._shallowest

    def holds_touch(self, which: int, order_id: int) -> bool:
        """Whether an order is alone at the front of its side: somebody must be there until another is."""
        market = self.live[which]
        if market is None:
            return False
        buys = self._orders[order_id].side is Side.BUY
        orders = (market.book.buys if buys else market.book.sells).orders
        if not orders or orders[0].order_id != order_id:
            return False
        price, following = orders[0].price, orders[1].price if len(orders) > 1 else None
        apart = EMPTY_SPREADS * self.half_spreads[which]
        return price is None or following is None or abs(price - following) > apart

    def some(self, which: int, pick: int) -> int | None:
        """The id of some living order of an instrument, forgetting those that are gone on the way."""
        mine = self._books[which]
        while mine:
            n = pick % len(mine)
            if mine[n] in self._orders:
                return mine[n]
            mine[n] = mine[-1]
            mine.pop()
        return None

    def youngest_of_two(self, which: int, pick: int) -> int | None:
        """Who has waited long goes on waiting: most cancels are of young orders."""
        one, other = self.some(which, pick), self.some(which, pick >> 7)
        return other if one is None or other is None else max(one, other)

    def forget_gone(self, spare: int) -> None:
        """Lists of ids are cleaned once more than half of them may be gone; all of them without `spare`."""
        orders = self._orders
        for n, mine in enumerate(self._books):
            if len(mine) > 2 * self.resting(n) + spare or not spare:
                self._books[n] = [order_id for order_id in mine if order_id in orders]
        if len(self.own) > 2 * len(orders) + spare or not spare:
            self.own = {order_id for order_id in self.own if order_id in orders}


# What is to be done at a time: orders that end their life, and operations that come a few times a day.


_NEVER: Final = 1 << 62

Entry = tuple[int, int, int]  # when, an order or below zero an operation, its instrument


class Agenda:
    """Entries by time; `due_ns` is that of the first."""

    __slots__ = ("_entries", "due_ns")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self.due_ns = _NEVER

    def add(self, when_ns: int, what: int, which: int) -> None:
        heappush(self._entries, (when_ns, what, which))
        self.due_ns = self._entries[0][0]

    def take(self) -> Entry:
        entry = heappop(self._entries)
        self.due_ns = self._entries[0][0] if self._entries else _NEVER
        return entry

    def forget_operations(self) -> None:
        self._keep([entry for entry in self._entries if entry[1] >= 0])

    def keep_orders(self, living: "frozenset[int] | set[int]") -> None:
        """Forget operations, and orders that are gone."""
        self._keep([entry for entry in self._entries if entry[1] in living])

    def _keep(self, entries: list[Entry]) -> None:
        self._entries = entries
        heapify(self._entries)
        self.due_ns = self._entries[0][0] if self._entries else _NEVER
