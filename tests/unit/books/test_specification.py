"""The examples printed in sections 12, 13 and 18, on both books. Prices are as printed, in cents."""

import pytest

from pregao.model.events import SideDeleted
from pregao.model.market import Action, Side
from tests.unit.books.making import BOOKS, SECURITY, AnyBook, order

NEW, CHANGE, DELETE = Action.NEW, Action.CHANGE, Action.DELETE
BUY, SELL = Side.BUY, Side.SELL
Shown = list[tuple[int, int, int]]  # secondaryOrderID, size, price

BIDS: Shown = [
    (300358, 15, 1210), (400358, 5, 1210), (545922, 10, 1210), (120478, 5, 1200), (303690, 15, 1200),
    (789100, 10, 1190),
]  # fmt: skip
OFFERS: Shown = [(95010, 15, 1230), (101020, 10, 1230), (434001, 25, 1260), (200452, 10, 1280)]


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> AnyBook:
    made: AnyBook = BOOKS[request.param]()
    return made


def enter(book: AnyBook, side: Side, shown: Shown) -> None:
    """In another order than they are shown in: ids and prices say where they stand."""
    for order_id, size, price in sorted(shown):
        book.apply(order(NEW, side, order_id, price, size))


def tell(book: AnyBook, action: Action, side: Side, order_id: int, price: int, size: int, **more) -> None:
    book.apply(order(action, side, order_id, price, size, **more))


def shown(book: AnyBook, side: Side) -> list[tuple[int, int, int | None]]:
    book.check_invariants()
    assert not book.suspect
    return [(each.order_id, each.size, each.price) for each in book.orders(side)]


class TestSection12:
    def test_12_1_2_delete_thru(self, book: AnyBook) -> None:
        enter(book, BUY, [(1, 5000, 1058), (2, 4000, 1058), (3, 3000, 1057), (4, 4000, 1054)])
        enter(book, SELL, [(5, 7000, 1103), (6, 2000, 1103), (7, 1000, 1105)])
        book.apply(SideDeleted(SECURITY, Action.DELETE_THRU, BUY, 0))
        assert shown(book, BUY) == []
        assert shown(book, SELL) == [(5, 7000, 1103), (6, 2000, 1103), (7, 1000, 1105)]

    def test_12_2_from_a_new_order_to_a_real_one_before_an_implied(self, book: AnyBook) -> None:
        enter(book, BUY, BIDS)
        enter(book, SELL, OFFERS)
        assert shown(book, BUY) == BIDS
        assert shown(book, SELL) == OFFERS
        tell(book, NEW, SELL, 500910, 1230, 20)  # 12.2.1
        rest: Shown = [(101020, 10, 1230), (500910, 20, 1230), (434001, 25, 1260), (200452, 10, 1280)]
        assert shown(book, SELL) == [(95010, 15, 1230), *rest]
        tell(book, CHANGE, SELL, 95010, 1230, 5, previous_size=15)  # 12.2.2.1
        assert shown(book, SELL) == [(95010, 5, 1230), *rest]
        tell(book, DELETE, SELL, 95010, 1230, 5)  # 12.2.2.2, printed with CHANGE
        tell(book, NEW, SELL, 645120, 1230, 20)
        worse: Shown = [(434001, 25, 1260), (200452, 10, 1280)]
        assert shown(book, SELL) == [(101020, 10, 1230), (500910, 20, 1230), (645120, 20, 1230), *worse]
        tell(book, DELETE, SELL, 101020, 1230, 10)  # 12.2.3
        tell(book, DELETE, SELL, 500910, 1230, 20)
        tell(book, CHANGE, SELL, 645120, 1230, 10, previous_size=20)
        assert shown(book, SELL) == [(645120, 10, 1230), *worse]
        tell(book, NEW, SELL, 999999, 1220, 20, implied=True)  # 12.2.4
        assert shown(book, SELL) == [(999999, 20, 1220), (645120, 10, 1230), *worse]
        tell(book, NEW, SELL, 300160, 1220, 15)
        assert shown(book, SELL) == [(300160, 15, 1220), (999999, 20, 1220), (645120, 10, 1230), *worse]
        assert [each.implied for each in book.orders(SELL)[:2]] == [False, True]
        assert shown(book, BUY) == BIDS


class TestSection13:
    def test_13_1_1_an_iceberg_is_replenished(self, book: AnyBook) -> None:
        enter(book, BUY, [(21, 800, 2050), (101, 500, 2050)])
        tell(book, DELETE, BUY, 21, 2050, 800)  # printed at 21.00
        tell(book, DELETE, BUY, 101, 2050, 500)
        tell(book, NEW, BUY, 102, 2050, 500)
        tell(book, DELETE, BUY, 102, 2050, 500)
        tell(book, NEW, BUY, 103, 2050, 500)
        assert shown(book, BUY) == [(103, 500, 2050)]

    def test_13_1_2_self_trade_prevention(self, book: AnyBook) -> None:
        tell(book, NEW, BUY, 2, 2050, 200)
        tell(book, NEW, BUY, 1, 2100, 100)
        assert shown(book, BUY) == [(1, 100, 2100), (2, 200, 2050)]
        tell(book, DELETE, BUY, 2, 2050, 200)
        tell(book, DELETE, BUY, 1, 2100, 100)
        tell(book, NEW, SELL, 3, 2050, 200)
        assert shown(book, BUY) == []
        assert shown(book, SELL) == [(3, 200, 2050)]

    def test_13_1_3_stop_orders(self, book: AnyBook) -> None:
        bids: Shown = [(330, 100, 728), (700, 200, 728), (100, 100, 720)]
        enter(book, BUY, bids)
        resting: Shown = [(200, 100, 750), (300, 400, 752)]
        enter(book, SELL, [(800, 300, 731), (320, 100, 732), (600, 200, 732), *resting])
        tell(book, CHANGE, SELL, 800, 731, 100, previous_size=300)
        tell(book, DELETE, SELL, 800, 731, 100)  # deletes are not printed; the trades imply them
        tell(book, DELETE, SELL, 320, 732, 100)
        tell(book, DELETE, SELL, 600, 732, 200)
        tell(book, NEW, BUY, 720, 732, 100)
        assert shown(book, BUY) == [(720, 100, 732), *bids]
        assert shown(book, SELL) == resting


class TestSection18:
    def test_18_an_implied_order_is_the_last_of_its_level(self, book: AnyBook) -> None:
        implied = 1 << 62  # larger than those of ordinary orders (12.1)
        tell(book, NEW, SELL, implied, 35, 10, implied=True)
        tell(book, NEW, SELL, 4, 35, 15)
        assert shown(book, SELL) == [(4, 15, 35), (implied, 10, 35)]
        tell(book, DELETE, SELL, 4, 35, 15)  # 18.3
        tell(book, DELETE, SELL, implied, 35, 10, implied=True)
        assert shown(book, SELL) == []
        tell(book, NEW, SELL, implied + 1, 35, 5, implied=True)
        assert shown(book, SELL) == [(implied + 1, 5, 35)]

    def test_18_3_the_legs(self, book: AnyBook) -> None:
        tell(book, NEW, BUY, 1, 699, 10)
        tell(book, CHANGE, BUY, 1, 699, 5, previous_size=10)
        assert shown(book, BUY) == [(1, 5, 699)]
