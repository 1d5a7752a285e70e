"""The plain book and the kernel's: one set of tests for both."""

import pytest

from pregao.books.views import MAX_SIZE, Anomaly, Level, Order
from pregao.model.events import BookEmptied, SideDeleted
from pregao.model.market import Action, Side
from pregao.model.rows import NULL, Flag
from tests.unit.books.making import BOOKS, SECURITY, AnyBook, order

NEW, CHANGE, DELETE = Action.NEW, Action.CHANGE, Action.DELETE
BUY, SELL = Side.BUY, Side.SELL
BY_POSITION, BY_PRICE = Flag.BY_POSITION, Flag(0)


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> AnyBook:
    made: AnyBook = BOOKS[request.param]()
    return made


def ids(book: AnyBook, side: Side) -> list[int]:
    book.check_invariants()
    return [each.order_id for each in book.orders(side)]


def prices(book: AnyBook, side: Side) -> list[int | None]:
    return [level.price for level in book.levels(side)]


class TestByPrice:
    def test_price_then_id_order_a_side(self, book: AnyBook) -> None:
        for order_id, price in ((7, 100), (5, 100), (6, 110), (9, 90)):
            book.apply(order(NEW, BUY, order_id, price, 1), BY_PRICE)
            book.apply(order(NEW, SELL, order_id, price, 1), BY_PRICE)
        assert ids(book, BUY) == [6, 5, 7, 9]
        assert ids(book, SELL) == [9, 5, 7, 6]

    def test_no_price_is_above_all_others_on_both_sides(self, book: AnyBook) -> None:
        for side in Side:
            for order_id, price in ((1, 5), (2, None), (3, -5), (4, None)):
                book.apply(order(NEW, side, order_id, price, 10), BY_PRICE)
        assert prices(book, BUY) == [None, 5, -5]
        assert prices(book, SELL) == [None, -5, 5]
        assert ids(book, SELL) == [2, 4, 3, 1]
        assert book.top.bid == Level(None, 20, 2)

    def test_an_order_is_kept_with_all_it_has(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10, firm=85, implied=True), BY_PRICE)
        assert book.orders(BUY) == [Order(1, 100, 10, 1_001, 85, True)]
        book.apply(order(CHANGE, BUY, 1, 100, 4, firm=None, inserted_ns=5), BY_PRICE)
        assert book.orders(BUY) == [Order(1, 100, 4, 5, None, False)]
        assert not book.suspect

    def test_levels_and_top_follow(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(NEW, BUY, 2, 100, 5), BY_PRICE)
        book.apply(order(NEW, SELL, 3, 101, 7), BY_PRICE)
        assert book.top.bid == Level(100, 15, 2)
        assert book.top.offer == Level(101, 7, 1)
        book.apply(order(DELETE, BUY, 1, 100, 10), BY_PRICE)
        assert book.levels(BUY) == [Level(100, 5, 1)]
        book.apply(order(DELETE, BUY, 2, 100, 5), BY_PRICE)
        assert book.top.bid is None

    def test_the_same_id_on_both_sides_is_two_orders(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(NEW, SELL, 1, 101, 10), BY_PRICE)
        assert not book.suspect

    def test_delete_thru_takes_the_side(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(NEW, SELL, 2, 101, 10), BY_PRICE)
        book.apply(SideDeleted(SECURITY, Action.DELETE_THRU, BUY, 0), BY_PRICE)
        assert ids(book, BUY) == []
        assert ids(book, SELL) == [2]

    def test_many_orders_come_and_go(self, book: AnyBook) -> None:
        count = 300
        for order_id in range(count):
            book.apply(order(NEW, BUY, order_id * 1024, order_id * 37 % 50, 1), BY_PRICE)
        assert len(ids(book, BUY)) == count
        assert len(book.levels(BUY)) == 50
        for order_id in range(0, count, 2):
            book.apply(order(DELETE, BUY, order_id * 1024, order_id * 37 % 50, 1), BY_PRICE)
        assert len(ids(book, BUY)) == count // 2
        assert not book.suspect


class TestByPosition:
    def fill(self, book: AnyBook) -> None:
        """The book of 9.1 of the FIX/FAST guidelines."""
        for place, (price, size) in enumerate(((1058, 5000), (1058, 4000), (1057, 3000), (1054, 4000)), 1):
            book.apply(order(NEW, BUY, 10 * place, price, size, place), BY_POSITION)
        for place, (price, size) in enumerate(((1103, 7000), (1103, 2000), (1105, 1000)), 1):
            book.apply(order(NEW, SELL, 10 * place, price, size, place), BY_POSITION)

    def test_an_insert_shifts_down_and_a_delete_up(self, book: AnyBook) -> None:
        self.fill(book)
        book.apply(order(NEW, BUY, 1, 1057, 1, 4), BY_POSITION)
        assert ids(book, BUY) == [10, 20, 30, 1, 40]
        book.apply(order(NEW, BUY, 2, 1060, 1, 1), BY_POSITION)
        assert ids(book, BUY) == [2, 10, 20, 30, 1, 40]
        book.apply(order(DELETE, BUY, 20, None, 4000, 3), BY_POSITION)
        assert ids(book, BUY) == [2, 10, 30, 1, 40]
        assert not book.suspect

    def test_levels(self, book: AnyBook) -> None:
        self.fill(book)
        assert book.levels(BUY) == [Level(1058, 9000, 2), Level(1057, 3000, 1), Level(1054, 4000, 1)]
        assert book.levels(SELL) == [Level(1103, 9000, 2), Level(1105, 1000, 1)]

    def test_delete_from_takes_the_first_positions(self, book: AnyBook) -> None:
        self.fill(book)
        book.apply(SideDeleted(SECURITY, Action.DELETE_FROM, BUY, 0, 3), BY_POSITION)
        assert book.levels(BUY) == [Level(1054, 4000, 1)]
        assert ids(book, BUY) == [40]
        assert len(book.orders(SELL)) == 3
        assert not book.suspect

    def test_delete_thru_takes_the_side(self, book: AnyBook) -> None:
        self.fill(book)
        book.apply(SideDeleted(SECURITY, Action.DELETE_THRU, BUY, 0, 1), BY_POSITION)
        assert ids(book, BUY) == []
        assert book.top.offer == Level(1103, 9000, 2)

    def test_a_change_keeps_the_place(self, book: AnyBook) -> None:
        self.fill(book)
        book.apply(order(CHANGE, BUY, 20, 1058, 1, 2), BY_POSITION)
        assert [each.size for each in book.orders(BUY)] == [5000, 1, 3000, 4000]
        assert book.top.bid == Level(1058, 5001, 2)

    def test_a_change_of_policy_converts_both_ways(self, book: AnyBook) -> None:
        self.fill(book)
        book.apply(order(NEW, BUY, 15, 1058, 1), BY_PRICE)
        assert ids(book, BUY) == [10, 15, 20, 30, 40]
        book.apply(order(NEW, BUY, 99, 1058, 1, 3), BY_POSITION)
        assert ids(book, BUY) == [10, 15, 99, 20, 30, 40]
        book.apply(order(DELETE, BUY, 30, 1057, 3000), BY_PRICE)
        assert ids(book, BUY) == [10, 15, 20, 99, 40]
        assert not book.suspect

    def test_of_two_orders_with_one_id_the_better_stays(self, book: AnyBook) -> None:
        for place in (1, 2, 3):
            book.apply(order(NEW, BUY, 7, 100 - place, 10 * place, place), BY_POSITION)
        book.apply(order(NEW, BUY, 8, 90, 1), BY_PRICE)
        assert book.levels(BUY) == [Level(99, 10, 1), Level(90, 1, 1)]
        assert book.anomalies == {Anomaly.ORDER_EXISTS: 2}
        assert book.suspect


class TestAnomalies:
    """Each rule of `anomalies`."""

    def test_a_new_order_takes_the_place_of_one_with_its_id(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(NEW, BUY, 1, 101, 20), BY_PRICE)
        assert book.levels(BUY) == [Level(101, 20, 1)]
        assert book.anomalies == {Anomaly.ORDER_EXISTS: 1}

    def test_a_change_of_nothing_adds(self, book: AnyBook) -> None:
        book.apply(order(CHANGE, BUY, 1, 100, 10), BY_PRICE)
        assert book.levels(BUY) == [Level(100, 10, 1)]
        assert book.anomalies == {Anomaly.UNKNOWN_CHANGE: 1}

    def test_a_delete_of_nothing_does_nothing(self, book: AnyBook) -> None:
        book.apply(order(DELETE, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(NEW, BUY, 2, 100, 10), BY_PRICE)
        book.apply(order(DELETE, BUY, 1, 100, 10), BY_PRICE)
        assert ids(book, BUY) == [2]
        assert book.anomalies == {Anomaly.UNKNOWN_DELETE: 2}

    def test_a_change_to_another_price_moves(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(CHANGE, BUY, 1, 99, 5), BY_PRICE)
        assert book.levels(BUY) == [Level(99, 5, 1)]
        assert book.anomalies == {Anomaly.PRICE_DIFFERS: 1}

    def test_a_delete_goes_by_id(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(order(DELETE, BUY, 1, 99, 10), BY_PRICE)
        assert ids(book, BUY) == []
        assert book.anomalies == {Anomaly.PRICE_DIFFERS: 1}

    @pytest.mark.parametrize(("flags", "suspect"), [(Flag.PRICE_UNTOLD, False), (BY_PRICE, True)])
    def test_a_delete_may_lack_its_price_only_where_its_message_need_not_tell_it(
        self, book: AnyBook, flags: Flag, suspect: bool
    ) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), flags)
        book.apply(order(DELETE, BUY, 1, None, 10), flags)
        assert ids(book, BUY) == []
        assert book.suspect is suspect

    def test_the_position_decides(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10, 1), BY_POSITION)
        book.apply(order(CHANGE, BUY, 2, 101, 20, 1), BY_POSITION)
        assert book.orders(BUY) == [Order(2, 101, 20, 1_002)]
        book.apply(order(DELETE, BUY, 3, None, 20, 1), BY_POSITION)
        assert ids(book, BUY) == []
        assert book.anomalies == {Anomaly.ID_DIFFERS: 2}

    def test_an_id_that_is_not_told_differs_from_none(self, book: AnyBook) -> None:
        """FIX/FAST 9.1: only 290 addresses; 37 that is absent says nothing."""
        for position in (1, 2):
            book.apply(order(NEW, BUY, position, 101 - position, 10, position), BY_POSITION)
        book.apply(order(CHANGE, BUY, NULL, 99, 4, 2), BY_POSITION)
        assert [(each.order_id, each.size) for each in book.orders(BUY)] == [(1, 10), (2, 4)]
        book.apply(order(DELETE, BUY, NULL, None, 10, 1), BY_POSITION)
        assert ids(book, BUY) == [2]
        assert not book.suspect

    def test_positions_that_are_not_there(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10, 5), BY_POSITION)
        book.apply(order(NEW, BUY, 2, 100, 10, 0), BY_POSITION)
        book.apply(order(CHANGE, BUY, 2, 100, 10, 3), BY_POSITION)
        book.apply(order(DELETE, BUY, 2, None, 10, 0), BY_POSITION)
        assert ids(book, BUY) == [1, 2]
        book.apply(SideDeleted(SECURITY, Action.DELETE_FROM, BUY, 0, None), BY_POSITION)
        assert ids(book, BUY) == [1, 2]
        book.apply(SideDeleted(SECURITY, Action.DELETE_FROM, BUY, 0, 3), BY_POSITION)
        assert ids(book, BUY) == []
        assert book.anomalies == {Anomaly.POSITION: 6}

    def test_by_price_there_are_no_positions(self, book: AnyBook) -> None:
        book.apply(order(NEW, BUY, 1, 100, 10), BY_PRICE)
        book.apply(SideDeleted(SECURITY, Action.DELETE_FROM, BUY, 0, 1), BY_PRICE)
        assert ids(book, BUY) == [1]
        assert book.anomalies == {Anomaly.POSITION: 1}

    @pytest.mark.parametrize("flags", [BY_POSITION, BY_PRICE])
    def test_what_makes_no_sense_does_nothing(self, book: AnyBook, flags: Flag) -> None:
        for wrong in (
            order(NEW, BUY, 1, 100, -1, 1),
            order(NEW, BUY, 1, 100, MAX_SIZE + 1, 1),
            order(Action.DELETE_THRU, BUY, 1, 100, 1, 1),
            SideDeleted(SECURITY, Action.NEW, BUY, 0, 1),
        ):
            book.apply(wrong, flags)
        assert ids(book, BUY) == []
        assert book.anomalies == {Anomaly.MALFORMED: 4}

    def test_an_emptied_book_is_not_suspect(self, book: AnyBook) -> None:
        book.apply(order(DELETE, BUY, 1, 100, 10), BY_PRICE)
        assert book.suspect
        book.apply(BookEmptied(SECURITY, 0), BY_PRICE)
        assert not book.suspect
        assert book.anomalies == {Anomaly.UNKNOWN_DELETE: 1}, "the count stays"

    def test_extremes(self, book: AnyBook) -> None:
        lowest, highest = -(1 << 63) + 1, (1 << 63) - 1
        for side in Side:
            for order_id, price in ((lowest, highest), (highest, lowest), (0, None), (-1, 0)):
                book.apply(order(NEW, side, order_id, price, MAX_SIZE, inserted_ns=0), BY_PRICE)
        assert prices(book, BUY) == [None, highest, 0, lowest]
        assert prices(book, SELL) == [None, lowest, 0, highest]
