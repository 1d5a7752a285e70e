"""Price levels from the rows of `orders`, one by one: a dictionary of orders, added up when it is looked at.

Shares no code with `lake.quant.depth`. Only of books that are ordered by price (wire versions from 15)."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

Levels = list[tuple[Decimal | None, int, int]]
Book = dict[tuple[str, int], tuple[Decimal | None, int]]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By sequence version as they came, then by number; what a snapshot tells comes after its packet."""
    versions: dict[int, int] = {}
    for row in rows:
        sent = row["ts_send"] or row["ts_event"]
        versions[row["seq_version"]] = min(sent, versions.get(row["seq_version"], sent))

    def place(row: dict[str, Any]) -> tuple[int, ...]:
        index = 1 << 40 if row["msg_index"] is None else row["msg_index"]
        return versions[row["seq_version"]], row["seq_num"], index, row["entry"]

    return sorted(rows, key=place)


def books_after(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Book]]:
    """Each row of an instrument, in the order of the stream, and the book after it."""
    book: Book = {}
    for row in in_order(rows):
        action, side = row["action"], row["side"]
        if action in ("EMPTY", "RESET") or (action == "SNAPSHOT" and row["entry"] == 0):
            book = {}
        if action in ("ADD", "CHANGE") or (action == "SNAPSHOT" and side is not None):
            book = {**book, (side, row["order_id"]): (row["price"], row["size"])}
        elif action == "DELETE":
            book = {key: order for key, order in book.items() if key != (side, row["order_id"])}
        elif action == "DELETE_THRU":
            book = {key: order for key, order in book.items() if key[0] != side}
        elif action == "DELETE_FROM":
            raise NotImplementedError(action)  # by position
        yield row, book


def levels(book: Book, side: str, count: int) -> Levels:
    """Best first; orders at any price before all others."""
    found: dict[Decimal | None, tuple[int, int]] = {}
    for (own, _), (price, size) in book.items():
        if own == side:
            total, orders = found.get(price, (0, 0))
            found[price] = total + size, orders + 1
    sign = -1 if side == "BUY" else 1
    ordered = sorted(found, key=lambda price: (price is not None, sign * (price or 0)))
    return [(price, *found[price]) for price in ordered][:count]
