"""Price levels by position, on both books: sections 9.2 to 9.6 of the FIX/FAST guidelines. Prices are as
printed, in cents."""

import pytest

from pregao.books.views import MAX_LEVELS, MAX_SIZE, Anomaly, Level, SidePolicy, Top
from pregao.model.events import BookEmptied, SideDeleted
from pregao.model.market import Action, Side
from pregao.model.rows import Flag
from tests.unit.books.making import BOOKS, SECURITY, AnyBook, level, order

NEW, CHANGE, DELETE, OVERLAY = Action.NEW, Action.CHANGE, Action.DELETE, Action.OVERLAY
DELETE_FROM, DELETE_THRU = Action.DELETE_FROM, Action.DELETE_THRU
BUY, SELL = Side.BUY, Side.SELL
BIDS = [(1058, 9000, 2), (1057, 3000, 1), (1054, 4000, 1), (1053, 10000, 4), (1050, 8000, 3)]  # 9.2.1
OFFERS = [(1103, 9000, 2), (1105, 1000, 1)]  # 9.2
Shown = list[tuple[int | None, int, int]]


@pytest.fixture(params=BOOKS)
def book(request: pytest.FixtureRequest) -> AnyBook:
    made: AnyBook = BOOKS[request.param](depth=5)
    fill(made, BUY, BIDS)
    fill(made, SELL, OFFERS)
    return made


@pytest.fixture(params=BOOKS)
def top(request: pytest.FixtureRequest) -> AnyBook:
    made: AnyBook = BOOKS[request.param](depth=1)
    return made


def fill(book: AnyBook, side: Side, levels: Shown) -> None:
    for position, (price, size, orders) in enumerate(levels, 1):
        book.apply(level(NEW, side, position, price, size, orders))


def shown(book: AnyBook, side: Side) -> Shown:
    book.check_invariants()
    return [(each.price, each.size, each.orders) for each in book.levels(side)]


class TestSection9:
    def test_9_2_each_level_has_its_price_size_and_orders(self, book: AnyBook) -> None:
        assert shown(book, BUY) == BIDS
        assert shown(book, SELL) == OFFERS
        assert book.top == Top(Level(1058, 9000, 2), Level(1103, 9000, 2))
        assert [book.policy(side) for side in Side] == [SidePolicy.BY_LEVEL] * 2
        assert book.orders(BUY) == []
        assert not book.suspect

    def test_9_2_a_change_is_of_size_and_orders(self, book: AnyBook) -> None:
        book.apply(level(CHANGE, BUY, 2, 1057, 3500, 2))
        assert shown(book, BUY) == [BIDS[0], (1057, 3500, 2), *BIDS[2:]]
        assert not book.suspect

    def test_9_2_a_change_need_not_tell_its_price(self, book: AnyBook) -> None:
        before = shown(book, SELL)
        book.apply(level(CHANGE, SELL, 2, None, 77, 9))
        assert shown(book, SELL) == [before[0], (before[1][0], 77, 9)]
        assert not book.suspect

    def test_9_2_1_the_bottom_row_goes_without_a_message_and_comes_again(self, book: AnyBook) -> None:
        book.apply(level(NEW, BUY, 1, 1060, 1000, 1))
        assert shown(book, BUY) == [(1060, 1000, 1), *BIDS[:4]]
        book.apply(level(DELETE, BUY, 3))
        left = [(1060, 1000, 1), BIDS[0], BIDS[2], BIDS[3]]
        assert shown(book, BUY) == left
        book.apply(level(NEW, BUY, 5, 1050, 8000, 3))
        assert shown(book, BUY) == [*left, (1050, 8000, 3)]
        assert shown(book, SELL) == OFFERS
        assert not book.suspect

    def test_9_2_1_what_comes_in_the_middle_drops_the_bottom_row_too(self, book: AnyBook) -> None:
        book.apply(level(NEW, BUY, 4, 1054 - 1, 1, 1))
        assert book.anomalies == {Anomaly.PRICE_ORDER: 1}, "10.53 is there already"
        book.apply(level(NEW, BUY, 5, 1052, 7, 1))
        assert [price for price, _, _ in shown(book, BUY)] == [1058, 1057, 1054, 1053, 1052]

    def test_9_3_the_top_of_the_book_is_overlaid(self, top: AnyBook) -> None:
        for price, size in ((1058, 9000), (1060, 1000), (1057, 500)):
            top.apply(level(OVERLAY, BUY, 1, price, size))
            assert shown(top, BUY) == [(price, size, 1)]
        top.apply(level(OVERLAY, BUY, 1, None))
        assert shown(top, BUY) == []
        top.apply(level(OVERLAY, BUY, 1, None))
        top.apply(level(OVERLAY, SELL, 1, 1103, 1))
        assert top.top == Top(None, Level(1103, 1, 1))
        assert not top.suspect

    def test_9_3_it_may_also_be_inserted_and_deleted(self, top: AnyBook) -> None:
        top.apply(level(NEW, BUY, 1, 1058, 9000))
        top.apply(level(NEW, BUY, 1, 1060, 1000))
        assert shown(top, BUY) == [(1060, 1000, 1)]
        top.apply(level(DELETE, BUY, 1, 1060, 1000))
        assert shown(top, BUY) == []
        assert not top.suspect

    def test_9_4_delete_from_takes_the_first_levels(self, book: AnyBook) -> None:
        book.apply(SideDeleted(SECURITY, DELETE_FROM, BUY, 0, 3))
        assert shown(book, BUY) == BIDS[3:]
        assert shown(book, SELL) == OFFERS
        book.apply(SideDeleted(SECURITY, DELETE_FROM, SELL, 0, 1), Flag.BY_POSITION)
        assert shown(book, SELL) == OFFERS[1:]
        assert not book.suspect

    def test_9_5_delete_thru_takes_the_side(self, book: AnyBook) -> None:
        book.apply(SideDeleted(SECURITY, DELETE_THRU, BUY, 0, 1))
        assert shown(book, BUY) == []
        assert shown(book, SELL) == OFFERS
        assert not book.suspect

    def test_9_6_an_overlay_replaces_inserts_or_removes(self, book: AnyBook) -> None:
        book.apply(level(OVERLAY, BUY, 1, 1059, 1, 1))
        assert shown(book, BUY) == [(1059, 1, 1), *BIDS[1:]]
        book.apply(level(OVERLAY, BUY, 2, None))
        assert shown(book, BUY) == [(1059, 1, 1), *BIDS[2:]]
        book.apply(level(OVERLAY, BUY, 5, 1049, 6, 2))
        assert shown(book, BUY) == [(1059, 1, 1), *BIDS[2:], (1049, 6, 2)]
        book.apply(level(OVERLAY, SELL, 4, None))
        assert shown(book, SELL) == OFFERS
        assert not book.suspect


class TestOverlayOfOrders:
    """By position an order is overlaid as a level is."""

    @pytest.fixture(params=BOOKS)
    def orders(self, request: pytest.FixtureRequest) -> AnyBook:
        made: AnyBook = BOOKS[request.param]()
        for position, order_id in enumerate((7, 3, 5), 1):
            made.apply(order(NEW, BUY, order_id, 100 - position, 10, position), Flag.BY_POSITION)
        return made

    def test_it_replaces_inserts_or_removes(self, orders: AnyBook) -> None:
        orders.apply(order(OVERLAY, BUY, 8, 98, 1, 2), Flag.BY_POSITION)
        orders.apply(order(OVERLAY, BUY, 9, 90, 1, 4), Flag.BY_POSITION)
        assert [each.order_id for each in orders.orders(BUY)] == [7, 8, 5, 9]
        orders.apply(order(OVERLAY, BUY, 1, None, -1, 1), Flag.BY_POSITION)
        orders.apply(order(OVERLAY, BUY, 1, None, 0, 9), Flag.BY_POSITION)
        assert [each.order_id for each in orders.orders(BUY)] == [8, 5, 9]
        orders.apply(order(OVERLAY, BUY, 6, None, 3, 1), Flag.BY_POSITION)
        first, *_ = orders.orders(BUY)
        assert (first.order_id, first.price, first.size) == (6, None, 3), "a size alone is an order"
        assert not orders.suspect
        orders.check_invariants()

    def test_positions_that_are_not_there(self, orders: AnyBook) -> None:
        orders.apply(order(OVERLAY, BUY, 8, 90, 1, 9), Flag.BY_POSITION)
        orders.apply(order(OVERLAY, BUY, 9, None, 0, 0), Flag.BY_POSITION)
        assert [each.order_id for each in orders.orders(BUY)] == [7, 3, 5, 8]
        assert orders.anomalies == {Anomaly.POSITION: 2}

    def test_by_price_there_is_nothing_to_overlay(self, orders: AnyBook) -> None:
        orders.apply(order(OVERLAY, SELL, 8, 98, 1, 1))
        assert orders.orders(SELL) == []
        assert orders.anomalies == {Anomaly.MALFORMED: 1}


class TestAnomalies:
    def test_positions_that_are_not_there(self, book: AnyBook) -> None:
        book.apply(level(NEW, SELL, 9, 1110, 1))
        book.apply(level(NEW, SELL, 0, 1111, 2))
        book.apply(level(OVERLAY, SELL, 7, 1112, 3))
        assert shown(book, SELL) == [*OFFERS, (1110, 1, 1), (1111, 2, 1), (1112, 3, 1)]
        book.apply(level(NEW, SELL, 6, 1113, 4))
        book.apply(level(OVERLAY, SELL, 6, 1113, 4))
        book.apply(level(CHANGE, SELL, 6, 1113, 4))
        book.apply(level(DELETE, SELL, 0))
        book.apply(level(OVERLAY, SELL, 0, None))
        assert len(shown(book, SELL)) == 5
        assert book.anomalies == {Anomaly.POSITION: 8}
        book.apply(SideDeleted(SECURITY, DELETE_FROM, SELL, 0, None))
        assert len(shown(book, SELL)) == 5
        book.apply(SideDeleted(SECURITY, DELETE_FROM, SELL, 0, 6))
        assert shown(book, SELL) == []
        assert book.anomalies == {Anomaly.POSITION: 10}
        assert book.suspect

    def test_a_price_that_is_not_between_its_neighbours(self, book: AnyBook) -> None:
        book.apply(level(NEW, SELL, 2, 1103, 5))
        assert shown(book, SELL) == [OFFERS[0], (1103, 5, 1), OFFERS[1]]
        book.apply(level(NEW, SELL, 1, 1104, 5))
        book.apply(level(OVERLAY, SELL, 4, None))
        book.apply(level(NEW, SELL, 4, 1102, 5))
        assert book.anomalies == {Anomaly.PRICE_ORDER: 3}

    def test_another_price_stands_there(self, book: AnyBook) -> None:
        book.apply(level(CHANGE, SELL, 1, 1102, 5))
        assert shown(book, SELL) == [(1102, 5, 1), OFFERS[1]]
        book.apply(level(DELETE, SELL, 2, 1109))
        assert shown(book, SELL) == [(1102, 5, 1)]
        assert book.anomalies == {Anomaly.PRICE_DIFFERS: 2}

    def test_what_makes_no_sense_does_nothing(self, book: AnyBook) -> None:
        for wrong in (
            level(NEW, SELL, 1, 1100, -1),
            level(NEW, SELL, 1, 1100, MAX_SIZE + 1),
            level(OVERLAY, SELL, 1, 1100, -1),
            level(DELETE_THRU, SELL, 1),
            level(DELETE_FROM, SELL, 1),
        ):
            book.apply(wrong)
        assert shown(book, SELL) == OFFERS
        assert book.anomalies == {Anomaly.MALFORMED: 5}

    @pytest.mark.parametrize("flags", [Flag(0), Flag.BY_POSITION])
    def test_orders_and_levels_do_not_become_each_other(self, book: AnyBook, flags: Flag) -> None:
        book.apply(order(NEW, SELL, 1, 1101, 5, 1), flags)
        assert shown(book, SELL) == [(1101, 5, 1)]
        assert [each.order_id for each in book.orders(SELL)] == [1]
        book.apply(level(NEW, SELL, 1, 1102, 5, 2))
        assert shown(book, SELL) == [(1102, 5, 2)]
        assert book.orders(SELL) == []
        assert book.anomalies == {Anomaly.POLICY: 2}
        assert shown(book, BUY) == BIDS

    @pytest.mark.parametrize("flags", [Flag(0), Flag.BY_POSITION])
    def test_an_empty_side_takes_either(self, book: AnyBook, flags: Flag) -> None:
        book.apply(BookEmptied(SECURITY, 0))
        book.apply(order(NEW, SELL, 1, 1101, 5, 1), flags)
        book.apply(order(DELETE, SELL, 1, 1101, 5, 1), flags)
        book.apply(level(NEW, SELL, 1, 1102, 5, 2))
        assert shown(book, SELL) == [(1102, 5, 2)]
        assert not book.suspect

    @pytest.mark.parametrize("make", BOOKS.values())
    def test_a_side_without_a_depth_is_bounded_too(self, make: type[AnyBook]) -> None:
        book = make()
        for each in range(MAX_LEVELS + 3):
            book.apply(level(NEW, SELL, 1, -each, 1))
        assert len(book.levels(SELL)) == MAX_LEVELS
        assert book.anomalies == {Anomaly.OVERFLOW: 3}
        assert book.top.offer == Level(1 - MAX_LEVELS, 1, 1)


def test_a_smaller_depth_drops_what_is_beyond(book: AnyBook) -> None:
    book.set_depth(2)
    assert shown(book, BUY) == BIDS[:2]
    book.apply(level(NEW, BUY, 1, 1060, 1))
    assert shown(book, BUY) == [(1060, 1, 1), BIDS[0]]
    book.set_depth(0)
    book.apply(level(NEW, BUY, 3, 1050, 1))
    assert len(shown(book, BUY)) == 3
    assert not book.suspect


def test_a_level_whose_orders_are_not_told_has_one(book: AnyBook) -> None:
    book.apply(level(NEW, SELL, 1, 1100, 5, 0))
    assert book.top.offer == Level(1100, 5, 1), "a quote without orders would be none"


def test_no_price_is_above_all_others_and_extremes_are_prices(book: AnyBook) -> None:
    lowest, highest = -(1 << 63) + 1, (1 << 63) - 1
    book.apply(BookEmptied(SECURITY, 0))
    fill(book, BUY, [(None, 1, 1), (highest, 1, 1), (0, 1, 1), (lowest, 1, 1)])
    fill(book, SELL, [(None, 1, 1), (lowest, 1, 1), (0, 1, 1), (highest, 1, 1)])
    assert [each.price for each in book.levels(BUY)] == [None, highest, 0, lowest]
    assert [each.price for each in book.levels(SELL)] == [None, lowest, 0, highest]
    book.check_invariants()
    assert not book.suspect
