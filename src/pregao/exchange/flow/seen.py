"""What the flow sees of an exchange: its open orders, its books, its answers."""

from collections.abc import Sequence
from typing import Protocol

from pregao.model.events import Event
from pregao.model.instruments import Instrument
from pregao.model.market import Side


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
