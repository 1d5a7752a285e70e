"""Frozen baseline: books as one would write them in plain Python, with dicts and bisect.

Orders by id, levels by price, prices of a side sorted with the best last. After each event the top of
the book is looked at, and kept when it is another one.
"""

from bisect import bisect_left, insort

NEW, CHANGE, DELETE = 0, 1, 2
BUY = 1
UNPRICED = 1 << 63  # above every price

# kind of update, side, END_OF_EVENT, security_id, order id, price, size, inserted_ns, firm, implied
Update = tuple[int, int, int, int, int, int | None, int, int, int, int]


class Side:
    __slots__ = ("is_bid", "keys", "levels", "orders")

    def __init__(self, is_bid: bool) -> None:
        self.is_bid = is_bid
        self.orders: dict[int, tuple[int, int, int, int, int]] = {}
        self.levels: dict[int, list[int]] = {}
        self.keys: list[int] = []

    def put(
        self, order_id: int, price: int | None, size: int, inserted_ns: int, firm: int, implied: int
    ) -> None:
        key = UNPRICED if price is None else price if self.is_bid else -price
        old = self.orders.get(order_id)
        if old is not None:
            if old[0] == key:
                self.levels[key][0] += size - old[1]
                self.orders[order_id] = (key, size, inserted_ns, firm, implied)
                return
            self.remove(order_id)
        self.orders[order_id] = (key, size, inserted_ns, firm, implied)
        level = self.levels.get(key)
        if level is None:
            self.levels[key] = [size, 1]
            insort(self.keys, key)
        else:
            level[0] += size
            level[1] += 1

    def remove(self, order_id: int) -> None:
        old = self.orders.pop(order_id, None)
        if old is None:
            return
        key = old[0]
        level = self.levels[key]
        if level[1] == 1:
            del self.levels[key]
            keys = self.keys
            if keys[-1] == key:
                keys.pop()
            else:
                del keys[bisect_left(keys, key)]
        else:
            level[0] -= old[1]
            level[1] -= 1

    def best(self) -> tuple[int, int, int] | None:
        if not self.keys:
            return None
        key = self.keys[-1]
        size, orders = self.levels[key]
        return key, size, orders


class Book:
    __slots__ = ("bids", "offers", "top")

    def __init__(self) -> None:
        self.bids, self.offers = Side(True), Side(False)
        self.top: tuple[tuple[int, int, int] | None, tuple[int, int, int] | None] = (None, None)


def run(updates: list[Update]) -> int:
    """Apply all; how often a top changed."""
    books: dict[int, Book] = {}
    quotes = 0
    for action, side, end, security_id, order_id, price, size, inserted_ns, firm, implied in updates:
        book = books.get(security_id)
        if book is None:
            book = books[security_id] = Book()
        half = book.bids if side == BUY else book.offers
        if action == DELETE:
            half.remove(order_id)
        else:
            half.put(order_id, price, size, inserted_ns, firm, implied)
        if end:
            top = (book.bids.best(), book.offers.best())
            if top != book.top:
                book.top = top
                quotes += 1
    return quotes
