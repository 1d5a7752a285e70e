"""An instrument has a book for each stream (MDStreamID): lending beside the electronic market. Beside the
kernel stands a plain book for each stream."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.books import layout as t
from pregao.books.store import BookStore
from pregao.model.events import BookEmptied
from pregao.model.market import Action, Side
from pregao.model.rows import ELECTRONIC, Flag, Kind
from tests.twins.plain_book import ReferenceBook
from tests.unit.books.making import SECURITY, order, row_of

NEW, BUY = Action.NEW, Side.BUY
LENDING, OTHER = ord("L"), ord("X")
UPDATES = st.tuples(
    st.sampled_from((0, ELECTRONIC, LENDING, OTHER)),
    st.integers(1, 6),  # order
    st.integers(1, 4),  # price
    st.sampled_from(Side),
    st.booleans(),  # emptied before it
)


def sides(store: BookStore, number: int) -> list[object]:
    return [store.orders(number, side) for side in Side]


def test_orders_of_one_id_in_two_streams_are_two_orders() -> None:
    store = BookStore()
    store.apply(row_of(order(NEW, BUY, 7, 100, 10)))
    store.apply(row_of(order(NEW, BUY, 7, 3, 10), stream=LENDING))
    assert len(store) == 2
    lending = store.book_number(0, LENDING)
    assert lending == 1
    assert store.number(SECURITY) == 0, "an instrument is found by its own number"
    assert [level.price for level in store.levels(0, Side.BUY)] == [100]
    assert [level.price for level in store.levels(lending, Side.BUY)] == [3]
    assert not store.is_suspect(0)
    store.check_invariants()


def test_one_that_is_only_told_of_in_another_stream_has_one_book() -> None:
    store = BookStore()
    store.apply(row_of(order(NEW, BUY, 7, 3, 10), stream=LENDING))
    assert len(store) == 1
    assert store.book_number(0, LENDING) == 0
    assert store.book_number(0, 0) is None
    assert store.book_stream(0) == LENDING
    store.apply(row_of(order(NEW, BUY, 8, 100, 10)))
    assert store.book_number(0, ELECTRONIC) == store.book_number(0, 0) == 1


def test_quotes_say_which_book() -> None:
    store = BookStore()
    store.want_quotes()
    end = Flag.END_OF_EVENT
    store.apply(row_of(order(NEW, BUY, 7, 100, 10), flags=end))
    store.apply(row_of(order(NEW, BUY, 7, 3, 10), flags=end, stream=LENDING))
    told = store.take_quotes()
    assert told["security_id"].tolist() == [SECURITY, SECURITY]
    assert [store.book_stream(number) for number in told["instrument"].tolist()] == [0, LENDING]
    assert told["bid_price"].tolist() == [100, 3]


def test_more_books_than_there_may_be_are_skipped_and_counted() -> None:
    store = BookStore(max_instruments=1)
    store.apply(row_of(order(NEW, BUY, 7, 100, 10)))
    store.apply(row_of(order(NEW, BUY, 8, 3, 10), stream=LENDING))
    assert (len(store), store.skipped) == (1, 1)
    assert [each.order_id for each in store.orders(0, Side.BUY)] == [7]


def test_a_snapshot_has_all_books_of_its_instrument() -> None:
    store = BookStore()
    for stream in (0, LENDING):
        store.apply(row_of(order(NEW, BUY, 1, 9, 10), stream=stream))
    rows = row_of(order(NEW, BUY, 2, 4, 10), stream=LENDING)
    rows["kind"] = Kind.SNAPSHOT_ORDER
    store.load_snapshot(0, rows)
    assert not store.orders(0, Side.BUY)
    assert [each.order_id for each in store.orders(1, Side.BUY)] == [2]


@given(st.lists(UPDATES, max_size=40))
@settings(max_examples=150, deadline=None)
def test_each_is_as_a_plain_book_that_is_told_its_rows_only(
    told: list[tuple[int, int, int, Side, bool]],
) -> None:
    store, plain = BookStore(), {stream: ReferenceBook() for stream in (0, LENDING, OTHER)}
    store.add_instrument(SECURITY)
    for stream, order_id, price, side, emptied in told:
        if emptied:
            store.apply(row_of(BookEmptied(SECURITY, 0), stream=stream))
            for book in plain.values():
                book.clear()
        update = order(NEW, side, order_id, price, 10)
        store.apply(row_of(update, stream=stream))
        plain[0 if stream == ELECTRONIC else stream].apply(update)
    store.check_invariants()
    for stream, book in plain.items():
        number = store.book_number(0, stream)
        if number is None:
            assert not any(book.orders(side) for side in Side)
        else:
            assert sides(store, number) == [book.orders(side) for side in Side]
            assert store.anomalies(number) == book.anomalies
    assert store.is_suspect(0) == any(book.suspect for book in plain.values())
    assert len(store) <= t.NEXT_BOOK_MASK
