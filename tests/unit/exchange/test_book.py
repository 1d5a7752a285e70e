"""The engine's book: order of priority, positions, levels, and that it notices its own faults."""

import pytest

from pregao.exchange.book import Book, BookError
from pregao.exchange.orders import EnteredOrder, OrderType, SegmentIds, TimeInForce, TradeIds
from pregao.model.market import Side
from tests.unit.exchange.desk import BUY, SELL


def order(secondary_id: int, side: Side, price: int | None, size: int = 10) -> EnteredOrder:
    made = EnteredOrder(secondary_id, 1, side, OrderType.LIMIT, TimeInForce.DAY, size, price, 1, 0)
    made.take_priority(secondary_id, 0)
    return made


def test_price_then_id_and_no_price_first() -> None:
    book = Book()
    positions = [book.buys.insert(order(*entry)) for entry in ((5, BUY, 100), (3, BUY, 100), (9, BUY, 101))]
    assert positions == [1, 1, 1]
    assert book.buys.insert(order(7, BUY, None)) == 1
    assert [o.secondary_id for o in book.buys.orders] == [7, 9, 3, 5]
    for entry in ((5, SELL, 100), (3, SELL, 100), (9, SELL, 99), (7, SELL, None)):
        book.sells.insert(order(*entry))
    assert [o.secondary_id for o in book.sells.orders] == [7, 9, 3, 5]
    assert (book.buys.best_price, book.sells.best_price) == (101, 99)
    assert book.crossed
    assert len(book) == 8
    with pytest.raises(BookError, match="crossed"):
        book.check_invariants(matching=True)
    book.check_invariants(matching=False)


def test_levels_and_positions_of_what_leaves() -> None:
    book = Book()
    orders = [
        order(*entry) for entry in ((1, SELL, 99), (2, SELL, 99, 5), (3, SELL, 100), (4, SELL, None, 1))
    ]
    for entry in orders:
        book.sells.insert(entry)
    assert list(book.sells.levels()) == [(None, 1, 1), (99, 15, 2), (100, 10, 1)]
    assert book.sells.best_level() == (99, 15)
    assert book.sells.best_real_price == 99
    assert book.sells.remove(orders[2]) == 4
    assert book.sells.position(orders[1]) == 3
    assert book.sells.clear() == [orders[3], orders[0], orders[1]]
    assert book.sells.best_price is None
    assert book.sells.best_level() is None


@pytest.mark.parametrize(
    ("attribute", "value"), [("price", 98), ("shown", 0), ("leaves", 9), ("max_floor", 1), ("side", BUY)]
)
def test_faults_are_found(attribute: str, value: object) -> None:
    book = Book()
    entry = order(1, SELL, 99)
    book.sells.insert(entry)
    setattr(entry, attribute, value)
    with pytest.raises(BookError):
        book.check_invariants(matching=True)


def test_open_books_have_prices() -> None:
    book = Book()
    book.buys.insert(order(1, BUY, None))
    with pytest.raises(BookError, match="without a price"):
        book.check_invariants(matching=True)


def test_ids_rise_per_segment_are_unique_and_implied_ones_above_all() -> None:
    one, two = SegmentIds(1), SegmentIds(2)
    first, second = one.ordinary(), one.ordinary()
    assert first < second < two.ordinary()
    assert one.implied() > two.ordinary()
    assert two.implied() < 1 << 63
    again = SegmentIds(1)
    again.continue_after(*one.last())
    assert again.ordinary() == second + 1


def test_trade_ids_step_by_ten() -> None:
    ids = TradeIds()
    assert [ids.next(), ids.next()] == [10, 20]
    ids.start_over()
    assert ids.next() == 10
