"""What `books.kernels.lookups` finds, found by looking through plain lists."""

from collections.abc import Sequence

from pregao.books.views import Level, Order, QueuePosition
from pregao.model.market import Side
from tests.twins.plain_book import ReferenceBook


def find_order(book: ReferenceBook, order_id: int) -> tuple[Side, Order] | None:
    """The bids are looked through first."""
    for side in Side:
        for order in book.orders(side):
            if order.order_id == order_id:
                return side, order
    return None


def queue_position(book: ReferenceBook, order_id: int) -> QueuePosition | None:
    found = find_order(book, order_id)
    if found is None:
        return None
    side, mine = found
    ahead = []
    for order in book.orders(side):
        if order is mine:
            break
        if order.price == mine.price:
            ahead.append(order)
    return QueuePosition(side, mine.price, len(ahead), sum(order.size for order in ahead))


class DepthTeller:
    """The first levels of both sides, whenever they are others than last time."""

    def __init__(self, levels: int) -> None:
        self._levels = levels
        self._told: tuple[Sequence[Level], Sequence[Level]] = ([], [])

    def look(self, book: ReferenceBook) -> tuple[Sequence[Level], Sequence[Level]] | None:
        now = book.levels(Side.BUY)[: self._levels], book.levels(Side.SELL)[: self._levels]
        if now == self._told:
            return None
        self._told = now
        return now
