"""Order books: events a second of 2,000 instruments (`book_rows`), one event being one order update.

The kernel keeps all of an order (id, price, size, insertion time, firm, implied), price levels, and tells
the top of the book after each trading event that changed it, as the plain book does. Rows are in memory,
in the order of the stream. Fifty million events are the same stream played again and again with shifted
ids; the shifting is not in the time.
"""

from time import perf_counter

import numpy as np

from pregao.books.store import BookStore
from pregao.model.rows import NULL, Rows

from . import baseline_book
from .book_rows import day_of_orders, market
from .harness import Row, best_of

TILE = 1_000_000
LONG = 50  # tiles
PLAIN_EVENTS = 200_000
SHIFT = 1 << 44  # past the ids of a tile
STREAM, PLAIN = "books, stream order", "plain Python book"


def measure() -> list[Row]:
    rows = market(day_of_orders(), TILE)
    few = rows[:PLAIN_EVENTS].copy()
    updates = as_updates(few)
    stream = Player(rows)
    seconds = best_of({STREAM: stream.play, PLAIN: lambda: baseline_book.run(updates)})
    assert baseline_book.run(updates) == Player(few).play()
    rate = {
        STREAM: len(rows) / seconds[STREAM] / 1e6,
        PLAIN: len(few) / seconds[PLAIN] / 1e6,
    }
    unit = "M events/s"
    return [
        Row(PLAIN, rate[PLAIN], unit),
        Row(f"{STREAM} / {PLAIN}", rate[STREAM], unit, rate[PLAIN], bar=10),
        Row(STREAM, rate[STREAM], unit, bar=2.5),
        *_over_a_long_day(rows),
    ]


class Player:
    """Plays a stream onto books of its own. A whole stream leaves nothing in them."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.store = rows, BookStore()
        self.store.want_quotes()

    def play(self) -> int:
        """How often a top changed."""
        self.store.apply(self.rows)
        return len(self.store.take_quotes())


def _over_a_long_day(rows: Rows) -> list[Row]:
    """Cost per event of a store that has seen 50 M events against that of one that has seen 1 M, both in
    every round. The first against the last tenth of the 50 M are of different minutes: shown, not judged."""
    rows, aged, young = rows.copy(), BookStore(), BookStore()
    taken = []
    for _ in range(LONG + 1):
        taken.append(_tile(aged, rows))
        rows["id"] += SHIFT
    _tile(young, rows)
    assert aged.held == 0
    assert not any(aged.anomalies(number) for number in range(len(aged)))
    seconds = best_of({"aged": lambda: _tile(aged, rows), "young": lambda: _tile(young, rows)}, LONG // 5)
    event = {name: taken / len(rows) * 1e9 for name, taken in seconds.items()}
    nanoseconds = np.array(taken[1:]) / len(rows) * 1e9  # without the one in which memory grows
    first, last = float(nanoseconds[: LONG // 10].min()), float(nanoseconds[-(LONG // 10) :].min())
    total = len(rows) * LONG / 1e6
    return [
        Row(f"books, event after {total:.0f} M / 1 M", event["aged"], "ns", event["young"], 1.15, "lower"),
        Row(f"books, event of last 5 M of {total:.0f} M / first", last, "ns", first, None, "lower"),
        Row(f"books, {total:.0f} M events", 1e3 / float(np.mean(nanoseconds)), "M events/s"),
        Row("books, arena after that", aged.size / 1e6, "MB"),
    ]


def _tile(store: BookStore, rows: Rows) -> float:
    """Seconds of one tile."""
    store.want_quotes()
    start = perf_counter()
    store.apply(rows)
    elapsed = perf_counter() - start
    store.take_quotes()
    return elapsed


def as_updates(rows: Rows) -> list[baseline_book.Update]:
    """What the plain book takes: ready tuples of Python numbers."""
    names = ["action", "side", "flags", "security_id", "id", "price", "size", "inserted_ns", "firm"]
    return [
        (action, side, flags & 1, security_id, order_id, None if price == NULL else price, *rest, flags & 2)
        for action, side, flags, security_id, order_id, price, *rest in rows[names].tolist()
    ]
