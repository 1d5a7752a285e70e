"""The plain book that the kernel is measured against does what the kernel does."""

import numpy as np

from pregao.books.store import BookStore
from pregao.model.rows import NULL, Flag, Rows
from tests.benchmarks import baseline_book
from tests.benchmarks.book_rows import market
from tests.benchmarks.books import as_updates
from tests.unit.books.test_store import stream


def quotes(rows: Rows) -> int:
    store = BookStore()
    store.want_quotes()
    store.apply(rows)
    return len(store.take_quotes())


def test_tops_change_as_often() -> None:
    rows = stream(5_000, 20)
    rows["flags"] = Flag.END_OF_EVENT
    rows["price"][::50] = NULL
    assert baseline_book.run(as_updates(rows)) == quotes(rows)


def test_a_market_is_made_of_whole_days() -> None:
    """Every order of it comes, and goes by the end."""
    day = stream(4_000, 6)
    day["action"], day["id"] = 0, np.arange(len(day))
    rows = market(day, 20_000, instruments=50)
    store = BookStore()
    store.apply(rows)
    assert len(rows) > 15_000
    assert store.held == 0
    assert not any(store.anomalies(number) for number in range(len(store)))
    store.check_invariants()
