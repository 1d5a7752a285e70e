"""Books by price level (1021=2, `price_depth = true`): what is told of a tick, that it is enough, and who
gets it. 6.1 has no such books; 7.5.1 has, and 7.8.1 says what their entries carry."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.exchange.commands import CancelSide, CrossOrder, NewOrder
from pregao.feeds.conflated.publisher.entries import price_text
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.serving import ServingSettings
from pregao.model import events as e
from pregao.model.market import Action, Side
from pregao.recovery.instruments import BookStatus
from tests.kits.conflated import (
    DICTIONARY,
    MS,
    PETR4,
    START,
    Client,
    Engine,
    Recorder,
    StillBook,
    StillMarket,
    order,
    small_catalogue,
)
from tests.kits.conflated_ends import BothEnds

TICK = 380 * MS
NEW, CHANGE, DELETE = Action.NEW, Action.CHANGE, Action.DELETE
Levels = dict[tuple[bytes, bytes | None], tuple[int, int]]  # side and price: size and orders


class LevelBook:
    """The book of one instrument as a client has it, which holds each entry to what it knows."""

    def __init__(self) -> None:
        self.levels: Levels = {}

    def apply(self, entry: dict[int, Any]) -> None:
        assert 37 not in entry
        assert not entry.keys() & {288, 289, 290, 37016, 37017}
        key, action = (entry[269], entry.get(270)), entry.get(279, b"0")
        if entry[269] == b"J":
            self.levels.clear()
        elif action == b"3":
            self.levels = {each: level for each, level in self.levels.items() if each[0] != key[0]}
        elif action == b"2":
            assert not entry.keys() & {271, 346}
            del self.levels[key]
        else:
            assert (key in self.levels) is (action == b"1")
            assert (37780 in entry) is (action == b"1")
            if action == b"1":
                assert int(entry[37780]) == self.levels[key][0]
            self.levels[key] = int(entry[271]), int(entry[346])


def truth(engine: Engine, security_id: int) -> Levels:
    """Counted from the engine's orders."""
    book = engine.source.book(security_id)
    assert book is not None
    sizes: Counter[tuple[bytes, bytes | None]] = Counter()
    orders: Counter[tuple[bytes, bytes | None]] = Counter()
    for side, rows in ((b"0", book.bids), (b"1", book.offers)):
        for each in rows:
            key = side, None if each.price is None else price_text(each.price)
            sizes[key] += each.size
            orders[key] += 1
    return {key: (sizes[key], orders[key]) for key in orders}


def told(recorder: Recorder) -> list[list[dict[int, Any]]]:
    return [entries for _, entries in recorder.refreshes(is_book=True, by_level=True)]


def test_levels_of_a_tick_are_new_changed_or_gone() -> None:
    feed = ConflatedFeed(StillMarket(), ServingSettings(price_depth=True), DICTIONARY, now_ns=START)
    recorder = Recorder(feed)

    def play(*steps: tuple[Action, Side, int, int, int]) -> list[tuple[Any, ...]]:
        now_ns = START + feed.ticks * TICK
        for action, side, order_id, price, size in steps:
            feed.publish(order(action, side, order_id, price * 100, size, now_ns), now_ns)
        before = len(told(recorder))
        feed.advance(now_ns + TICK)
        return [
            tuple(entry.get(tag) for tag in (279, 269, 270, 271, 346, 37780))
            for entries in told(recorder)[before:]
            for entry in entries
        ]

    buy = Side.BUY
    assert play((NEW, buy, 1, 1058, 5000), (NEW, buy, 2, 1058, 4000), (NEW, buy, 3, 1057, 3000)) == [
        (b"0", b"0", b"10.58", b"9000", b"2", None), (b"0", b"0", b"10.57", b"3000", b"1", None),
    ]  # fmt: skip
    # 6.2.1: the level goes from 9000 to 7000.
    assert play((CHANGE, buy, 1, 1058, 3000)) == [(b"1", b"0", b"10.58", b"7000", b"2", b"9000")]
    # An order more of what another has less: the number of orders has changed.
    assert play((CHANGE, buy, 2, 1058, 3000), (NEW, buy, 4, 1058, 1000)) == [
        (b"1", b"0", b"10.58", b"7000", b"3", b"7000")
    ]
    assert play((DELETE, buy, 3, 1057, 3000), (NEW, buy, 5, 1057, 3000)) == []
    assert play((DELETE, buy, 5, 1057, 3000)) == [(b"2", b"0", b"10.57", None, None, None)]


def test_offers_of_loans_have_levels_of_their_own() -> None:
    """1500=L; and offers that stood before the feed began are in its snapshots."""
    offers: list[e.Update] = [
        e.LendingOffer(PETR4.security_id, NEW, Side.SELL, number, 25_000, 100, 1, START, 3, 20_800)
        for number in (1, 2)
    ]
    market = StillMarket(books={PETR4.security_id: StillBook(statistics=offers)})
    feed = ConflatedFeed(market, ServingSettings(price_depth=True), DICTIONARY, now_ns=START)
    levels = [
        tuple(entry.get(tag) for tag in (1500, 1021, 269, 270, 271, 346))
        for entry in feed.books.entries(PETR4.security_id, by_level=True)
    ]
    assert levels == [(b"L", b"2", b"1", b"2.50", b"200", b"2")]
    orders = list(feed.books.entries(PETR4.security_id, by_level=False))
    assert [(entry[1500], entry[37]) for entry in orders] == [(b"L", b"1"), (b"L", b"2")]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1_000_000), wipes=st.booleans())
def test_levels_told_are_the_books_at_every_tick(seed: int, wipes: bool) -> None:
    engine = Engine(seed, price_depth=True)
    recorder = Recorder(engine.feed)
    ids = [each.security_id for each in small_catalogue().instruments]
    books = {security_id: LevelBook() for security_id in ids}
    changes = 0
    for place in range(12):
        engine.trade(25, TICK - 1)
        if wipes:
            engine.submit(CancelSide(engine.now_ns, ids[seed % len(ids)], Side.BUY))
        if place == 6:
            engine.feed.reset_book(ids[seed % len(ids)], engine.now_ns)
        engine.pass_time(engine.now_ns + 1)
        for entries in told(recorder):
            for entry in entries:
                changes += 1
                books[int(entry[48])].apply(entry)
        recorder.told.clear()
        for security_id in ids:
            assert books[security_id].levels == truth(engine, security_id)
            snapshot = LevelBook()
            for entry in engine.feed.books.entries(security_id, by_level=True):
                assert entry[1021] == b"2"
                snapshot.apply(entry)
            assert snapshot.levels == books[security_id].levels
    assert changes > 50


def test_each_session_has_the_books_it_asked_for() -> None:
    """Both with two subscriptions (7.5.1); trades come once; a cancel takes away the book of its kind."""
    engine = Engine(price_depth=True)
    engine.pass_time(engine.now_ns + TICK)
    client = Client(engine.server(), now_ns=engine.now_ns)
    listing = small_catalogue().listings[0]
    security_id, price = listing.instrument.security_id, listing.closing
    (listed,) = [
        entry
        for each in client.ask(b"x", {320: "L", 263: "1", 559: 4})
        for entry in each.group(146)
        if entry[48] == b"%d" % security_id
    ]
    assert [each[1021] for each in listed[1141]] == [b"3", b"2"]  # type: ignore[union-attr]
    (snapshot,) = client.subscribe("levels", security_id, fields={1021: 2})
    assert snapshot.msg_type == b"W"

    def hear() -> dict[bytes, list[dict[int, Any]]]:
        """Entries of books by 1021 of their message, and trades."""
        client.take()
        assert engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 100, price)).rejection is None
        crossed = engine.submit(CrossOrder(engine.now_ns, security_id, 1_000, price, 3, 8))
        assert crossed.rejection is None, crossed.rejection
        engine.pass_time(engine.now_ns + TICK)
        found: dict[bytes, list[dict[int, Any]]] = {}
        for message in client.take():
            for entry in message.group(268):
                if entry[269] in (b"0", b"2"):
                    found.setdefault(message.get(1021) or b"2=trade", []).append(entry)
        return found

    heard = hear()
    assert set(heard) == {b"2", b"2=trade"}
    assert all(346 in entry and 37 not in entry for entry in heard[b"2"])
    client.subscribe("orders", security_id)
    heard = hear()
    assert set(heard) == {b"2", b"3", b"2=trade"}
    assert len(heard[b"2=trade"]) == 1
    assert all(37 in entry and 346 not in entry for entry in heard[b"3"])
    client.ask(b"V", {262: "levels", 263: "2", 1021: 2})
    assert set(hear()) == {b"3", b"2=trade"}
    client.ask(b"V", {262: "orders", 263: "2", 1021: 3})
    assert hear() == {}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_clients_levels_are_the_engines_at_every_tick(seed: int) -> None:
    ends = BothEnds(seed, price_depth=True)
    instruments = small_catalogue().instruments
    ends.tick(0)
    most = 0
    for place in range(15):
        if place == 5:
            ends.engine.submit(CancelSide(ends.engine.now_ns, instruments[0].security_id, Side.SELL))
        if place == 9:
            ends.engine.feed.reset_book(instruments[1].security_id, ends.engine.now_ns)
            ends.tick(0)
            ends.tick(0)
        if place == 12:
            ends.cut()
            ends.engine.pass_time(ends.engine.now_ns + 2_000 * MS)
            ends.pump()
        ends.tick(40)
        found = 0
        for instrument in instruments:
            book = ends.handler.book(instrument.symbol)
            assert (book.kind, book.status) == ("MBP", BookStatus.CLEAN)
            levels = {
                (side_name, None if each.price is None else price_text(each.price)): (each.size, each.orders)
                for side, side_name in ((Side.BUY, b"0"), (Side.SELL, b"1"))
                for each in book.side_levels(side)
            }
            assert levels == truth(ends.engine, instrument.security_id)
            found += len(levels)
        most = max(most, found)
    assert most > 30
    assert ends.refused == []
    assert ends.client.status().unknown_tags == {}
