"""Order-depth books by position, on both books: sections 9.1, 9.4 and 9.5 of the FIX/FAST guidelines. Prices
are as printed, in cents."""

import pytest

from pregao.model.events import SideDeleted
from pregao.model.market import Action, Side
from pregao.model.rows import Flag
from tests.unit.books.making import BOOKS, SECURITY, AnyBook, order

BUY, SELL = Side.BUY, Side.SELL
BIDS = [(1058, 5000), (1058, 4000), (1057, 3000), (1054, 4000)]
OFFERS = [(1103, 7000), (1103, 2000), (1105, 1000)]


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> AnyBook:
    made: AnyBook = BOOKS[request.param]()
    for side, orders in ((BUY, BIDS), (SELL, OFFERS)):
        for position, (price, size) in enumerate(orders, 1):
            tell(made, Action.NEW, side, position, price, size, 10 * side + position)
    return made


def tell(
    book: AnyBook, action: Action, side: Side, position: int, price: int | None, size: int, order_id: int
) -> None:
    book.apply(order(action, side, order_id, price, size, position), Flag.BY_POSITION)


def shown(book: AnyBook, side: Side) -> list[tuple[int | None, int]]:
    book.check_invariants()
    assert not book.suspect
    return [(each.price, each.size) for each in book.orders(side)]


def test_9_1_one_entry_an_order(book: AnyBook) -> None:
    assert (shown(book, BUY), shown(book, SELL)) == (BIDS, OFFERS)


def test_9_1_only_the_position_says_where_an_order_stands(book: AnyBook) -> None:
    tell(book, Action.NEW, BUY, 3, 1058, 100, 99)
    assert shown(book, BUY) == [*BIDS[:2], (1058, 100), *BIDS[2:]]
    tell(book, Action.CHANGE, BUY, 1, 1058, 4500, 11)
    assert shown(book, BUY)[0] == (1058, 4500)
    tell(book, Action.DELETE, BUY, 3, None, 0, 99)
    assert shown(book, BUY) == [(1058, 4500), *BIDS[1:]]


def test_9_1_orders_without_a_price_come_first(book: AnyBook) -> None:
    tell(book, Action.NEW, SELL, 1, None, 700, 98)
    assert shown(book, SELL) == [(None, 700), *OFFERS]


def test_9_4_delete_from(book: AnyBook) -> None:
    book.apply(SideDeleted(SECURITY, Action.DELETE_FROM, BUY, 0, 3), Flag.BY_POSITION)
    assert (shown(book, BUY), shown(book, SELL)) == (BIDS[3:], OFFERS)


def test_9_5_delete_thru(book: AnyBook) -> None:
    book.apply(SideDeleted(SECURITY, Action.DELETE_THRU, BUY, 0, 1), Flag.BY_POSITION)
    assert (shown(book, BUY), shown(book, SELL)) == ([], OFFERS)
