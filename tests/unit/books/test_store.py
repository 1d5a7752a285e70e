"""Many instruments, growth, bounds, snapshots and quotes."""

from typing import Any

import numpy as np
import pytest

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.books.views import Anomaly, Level
from pregao.model.market import Action, Phase, Side, State, StateEvent
from pregao.model.rows import FIRST_SPECIAL, NULL, ROW, Flag, Kind, Rows
from tests.twins.plain_book import ReferenceBook
from tests.unit.books.making import SECURITY, order, row_of
from tests.unit.books.test_statistics import OPENING, THEORETICAL, TOTALS, state

BUY, SELL = Side.BUY, Side.SELL
NEW, DELETE = Action.NEW, Action.DELETE
OTHER = SECURITY + 7


def stream(count: int, instruments: int, seed: int = 1) -> Rows:
    """Valid and wrong updates of several instruments, in events of one to four rows."""
    draw = np.random.default_rng(seed)
    rows = np.zeros(count, ROW)
    rows["kind"], rows["version"] = Kind.ORDER, 16
    rows["action"] = draw.choice(3, count, p=(0.55, 0.15, 0.3))
    rows["side"] = draw.integers(1, 3, count)
    rows["security_id"] = SECURITY + draw.integers(0, instruments, count)
    rows["id"] = draw.integers(1, 40, count)
    rows["price"] = draw.integers(1, 12, count)
    rows["size"] = draw.integers(1, 100, count)
    rows["position"] = draw.integers(1, 6, count)
    rows["flags"] = draw.random(count) < 0.5
    rows["at"] = np.arange(count)
    rows["packet"], rows["index"] = np.arange(count) // 3, np.arange(count) % 3
    return rows


def as_update(row: Any) -> Any:
    price = None if row["price"] == NULL else int(row["price"])
    return order(
        Action(int(row["action"])), Side(int(row["side"])), int(row["id"]), price, int(row["size"]),
        int(row["position"]), inserted_ns=int(row["inserted_ns"]),
    )  # fmt: skip


def test_many_instruments_equal_many_plain_books() -> None:
    rows = stream(20_000, 200)
    store = BookStore()
    assert store.apply(rows) == (t.DONE, len(rows))
    plain: dict[int, ReferenceBook] = {}
    for row in rows:
        plain.setdefault(int(row["security_id"]), ReferenceBook()).apply(as_update(row))
    assert len(store) == len(plain) == 200
    for security_id, book in plain.items():
        number = store.number(security_id)
        assert number is not None
        assert [store.orders(number, side) for side in Side] == [book.orders(side) for side in Side]
        assert store.anomalies(number) == book.anomalies
    store.check_invariants()


def test_quotes_tell_each_top_that_an_event_changed() -> None:
    rows = stream(3_000, 5)
    store = BookStore()
    store.want_quotes()
    store.apply(rows)
    plain = {SECURITY + each: ReferenceBook() for each in range(5)}
    told = {security_id: book.top for security_id, book in plain.items()}
    expected = []
    for row in rows:
        plain[int(row["security_id"])].apply(as_update(row))
        if row["flags"] & Flag.END_OF_EVENT:
            for security_id, book in plain.items():
                top = book.top
                if top != told[security_id]:
                    told[security_id] = top
                    levels = [each or Level(NULL, 0, 0) for each in (top.bid, top.offer)]
                    tops = [(each.price, each.size, each.orders) for each in levels]
                    expected.append((int(row["at"]), security_id, *tops[0], *tops[1]))
    quotes = store.take_quotes()
    names = [
        "at", "security_id", "bid_price", "bid_size", "bid_orders", "offer_price", "offer_size",
        "offer_orders",
    ]  # fmt: skip
    assert sorted(quotes[names].tolist()) == sorted(expected)
    assert (quotes["packet"] == quotes["at"] // 3).all()
    assert not len(store.take_quotes())


def test_special_rows_stop() -> None:
    rows = stream(10, 2)
    rows["kind"][4] = Kind.PHASE
    store = BookStore()
    assert store.apply(rows) == (t.SPECIAL, 4)
    assert store.apply(rows, 5) == (t.DONE, 10)


def test_a_row_waits_whole_for_memory() -> None:
    """Statistics, levels and tables of very many instruments: the arena grows many times."""
    store = BookStore()
    count = 3_000
    rows = np.concatenate([stream(count, count), stream(count, count, 2)])
    rows["kind"][count:] = Kind.OPEN_INTEREST
    store.apply(rows)
    assert store.size > 1 << 20
    store.check_invariants()


def test_nothing_leaks_over_days() -> None:
    store = BookStore()
    sizes = []
    for day in range(8):
        rows = stream(20_000, 50)
        rows["id"] += day << 20
        store.apply(rows)
        sizes.append(store.used)
        store.clear_all()
        store.check_invariants()
        assert store.held == 0
    assert len(set(sizes)) == 1


def test_the_bound_on_instruments() -> None:
    store = BookStore(max_instruments=3)
    rows = stream(500, 10)
    assert store.apply(rows) == (t.DONE, 500)
    assert len(store) == 3
    assert store.add_instrument(1) is None
    kept = np.isin(rows["security_id"], [store.security_id(each) for each in range(3)])
    assert store.skipped == np.count_nonzero(~kept)


@pytest.mark.parametrize("flags", [Flag.BY_POSITION, Flag(0)])
def test_the_bound_on_orders(flags: Flag) -> None:
    store = BookStore(max_orders=10)
    for order_id in range(15):
        store.apply(row_of(order(NEW, BUY, order_id, 100, 1, 1), flags))
    assert store.held == 10
    assert store.anomalies(0) == {Anomaly.OVERFLOW: 5}
    store.check_invariants()


def test_interest_in_a_few() -> None:
    store = BookStore()
    store.add_instrument(OTHER)
    store.skip_unknown()
    store.apply(np.concatenate([row_of(order(NEW, BUY, 1, 100, 1)), row_of(order(NEW, BUY, 2, 100, 1))]))
    assert store.held == 0
    assert store.skipped == 2


class TestSnapshots:
    def snapshot(self) -> Rows:
        orders = np.concatenate([row_of(order(NEW, BUY, each, 100 - each, 5)) for each in (1, 2)])
        orders["kind"] = Kind.SNAPSHOT_ORDER
        return np.concatenate([orders, row_of(THEORETICAL), row_of(state(None, None))])

    def store(self) -> BookStore:
        store = BookStore()
        for told in (order(DELETE, BUY, 9, 1, 1), order(NEW, BUY, 9, 50, 1), OPENING, TOTALS):
            store.apply(row_of(told))
        return store

    def test_it_takes_the_place_of_all(self) -> None:
        store = self.store()
        assert store.is_suspect(0)
        store.load_snapshot(0, self.snapshot())
        assert store.levels(0, BUY) == [Level(99, 5, 1), Level(98, 5, 1)]
        assert not store.is_suspect(0)
        now = store.statistics(0)
        assert (now.theoretical, now.opening, now.totals) == (THEORETICAL, None, None)
        store.check_invariants()

    def test_or_of_one_part(self) -> None:
        store = self.store()
        store.load_snapshot(0, self.snapshot(), statistics=False)
        assert store.statistics(0).opening == OPENING
        assert len(store.orders(0, BUY)) == 2
        store = self.store()
        store.load_snapshot(0, self.snapshot(), book=False)
        assert [each.order_id for each in store.orders(0, BUY)] == [9]
        assert store.statistics(0).theoretical == THEORETICAL

    def test_a_state_in_it_takes_nothing_away_that_it_brings(self) -> None:
        store = BookStore()
        store.add_instrument(SECURITY)
        store.set_phase([0], Phase.OPEN)
        store.apply(row_of(state(State.RESERVED, StateEvent.LEAVES_GROUP)))
        told = state(State.CLOSE, StateEvent.SESSION_CHANGE)
        store.load_snapshot(0, np.concatenate([row_of(OPENING), row_of(told)]))
        assert store.statistics(0).opening == OPENING

    def test_by_position(self) -> None:
        rows = np.concatenate(
            [
                row_of(order(NEW, BUY, each, 100, 5, place), Flag.BY_POSITION)
                for place, each in enumerate((7, 3, 5), 1)
            ]
        )
        rows["kind"] = Kind.SNAPSHOT_ORDER
        store = self.store()
        store.load_snapshot(0, rows)
        assert [each.order_id for each in store.orders(0, BUY)] == [7, 3, 5]

    def test_many_at_once_are_what_one_by_one_they_are(self) -> None:
        """So many orders that the memory grows between them, and in the middle of one."""
        draw, before = np.random.default_rng(5), stream(2_000, 60)
        told = np.zeros(30_000, ROW)
        told["kind"], told["version"], told["side"] = Kind.SNAPSHOT_ORDER, 16, draw.integers(1, 3, len(told))
        told["id"], told["price"] = np.arange(len(told)), draw.integers(1, 400, len(told))
        told["size"] = 5
        stores = [BookStore(), BookStore()]
        for store in stores:
            store.apply(before)
        cuts = np.sort(draw.integers(0, len(told), 59))
        cuts[30] = cuts[31]  # one that is empty
        firsts, counts = np.r_[0, cuts], np.diff(np.r_[0, cuts, len(told)])
        numbers = stores[0].numbers(SECURITY + np.arange(60))
        stores[0].load_books(numbers, told.ctypes.data + firsts * ROW.itemsize, counts)
        for number, first, count in zip(numbers.tolist(), firsts, counts, strict=True):
            stores[1].load_snapshot(number, told[first : first + count], statistics=False)
        for number in range(60):
            for side in (BUY, SELL):
                assert stores[0].orders(number, side) == stores[1].orders(number, side)
        stores[0].check_invariants()
        assert len(stores[0].orders(0, BUY)) > 0

    def test_cleared_books_are_told(self) -> None:
        store = self.store()
        store.settle()
        store.want_quotes()
        store.clear_all()
        store.apply(row_of(OPENING))
        assert store.take_quotes()["bid_price"].tolist() == [NULL]


def test_hostile_rows_do_no_harm() -> None:
    """Any bytes as a row of an ordinary kind."""
    draw = np.random.default_rng(7)
    rows = draw.integers(0, 256, (20_000, ROW.itemsize), dtype=np.uint8).view(ROW)[:, 0].copy()
    kinds = [kind for kind in Kind if kind < FIRST_SPECIAL]
    rows["kind"] = np.where(draw.random(len(rows)) < 0.9, draw.choice(kinds, len(rows)), rows["kind"] % 128)
    rows["security_id"] = draw.integers(0, 20, len(rows))
    rows["action"] = np.where(draw.random(len(rows)) < 0.9, rows["action"] % 5, rows["action"])
    rows["side"] = np.where(draw.random(len(rows)) < 0.9, rows["side"] % 3, rows["side"])
    rows["size"] = np.where(draw.random(len(rows)) < 0.9, rows["size"] % 1_000, rows["size"])
    store = BookStore()
    store.want_quotes()
    first = 0
    while first < len(rows):
        _, first = store.apply(rows, first)
    store.check_invariants()
    for security_id in range(20):
        number = store.number(security_id)
        assert number is not None
        store.statistics(number)
        assert any(map(store.anomalies, store.book_numbers(number)))
    assert len(store) > 20, "rows of other streams are of other books"


def test_numbers_of_many_are_those_of_each() -> None:
    store = BookStore()
    assert store.numbers(np.array([5, 7])).tolist() == [-1, -1]
    for security_id in (900, 3, 77, 1 << 40, 12):
        store.add_instrument(security_id)
        asked = np.array([12, 900, 4, 1 << 40, 3, 77, 901])
        each = [store.number(int(one)) for one in asked]
        assert store.numbers(asked).tolist() == [-1 if one is None else one for one in each]
