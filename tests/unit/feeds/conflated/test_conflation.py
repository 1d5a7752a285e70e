"""Books every 380 ms (6.6): what is told at a tick, and that it is enough."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.exchange.commands import CancelSide, ChangeOrder, NewOrder
from pregao.feeds.conflated.publisher.conflation import PRICE, ConflatedBooks
from pregao.feeds.conflated.publisher.entries import price_text
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.serving import ServingSettings
from pregao.model import events as e
from pregao.model.market import Action, Side
from tests.kits.conflated import (
    DICTIONARY,
    MS,
    PETR4,
    START,
    ClientBook,
    Engine,
    Recorder,
    StillMarket,
    order,
    read_body,
)

NEW, CHANGE, DELETE = Action.NEW, Action.CHANGE, Action.DELETE
BUY, SELL = Side.BUY, Side.SELL
TICK = 380 * MS


def still_feed() -> tuple[ConflatedFeed, Recorder]:
    feed = ConflatedFeed(StillMarket(), ServingSettings(), DICTIONARY, now_ns=START)
    return feed, Recorder(feed)


def play(feed: ConflatedFeed, steps: list[tuple[int, e.Event]], until_ms: int) -> None:
    """Events at their milliseconds; timeouts when they are due."""
    for at_ms, event in steps:
        pass_time(feed, at_ms)
        feed.publish(event, START + at_ms * MS)
    pass_time(feed, until_ms)


def pass_time(feed: ConflatedFeed, until_ms: int) -> None:
    while (due_ns := feed.next_timeout()) is not None and due_ns <= START + until_ms * MS:
        feed.advance(due_ns)


def told(entries: list[dict[int, Any]]) -> list[tuple[bytes, ...]]:
    """Action, side, price, size and previous size."""
    return [tuple(entry.get(tag, b"-") for tag in (279, 269, 270, 271, 37780)) for entry in entries]


def step(
    at_ms: int, action: Action, side: Side, order_id: int, price: int, size: int, previous: int | None = None
) -> tuple[int, e.Event]:
    event = order(action, side, order_id, price * 100, size, START + at_ms * MS, previous_size=previous)
    return at_ms, event


def test_the_example_of_petr4() -> None:
    """6.6: eleven updates become three messages of 4, 3 and 1 entries. The text has them at 380, 720 and
    1100 ms; ticks of 380 ms are at 380, 760 and 1140."""
    feed, recorder = still_feed()
    play(
        feed,
        [
            step(0, NEW, BUY, 1, 2400, 100), step(100, NEW, BUY, 2, 2401, 200),
            step(200, NEW, SELL, 3, 2403, 300), step(300, NEW, SELL, 4, 2405, 100),
            step(400, NEW, BUY, 5, 2398, 400), step(500, CHANGE, BUY, 1, 2400, 200, 100),
            step(600, CHANGE, SELL, 4, 2405, 200, 100), step(700, DELETE, SELL, 4, 2405, 200),
            step(800, CHANGE, BUY, 2, 2401, 100, 200), step(900, NEW, BUY, 6, 2399, 500),
            step(1000, DELETE, BUY, 6, 2399, 500),
        ],
        2000,
    )  # fmt: skip
    messages = recorder.refreshes(is_book=True)
    assert [(time - START) // MS for time, _ in messages] == [380, 760, 1140]
    assert [told(entries) for _, entries in messages] == [
        [
            (b"0", b"0", b"24.00", b"100", b"-"), (b"0", b"0", b"24.01", b"200", b"-"),
            (b"0", b"1", b"24.03", b"300", b"-"), (b"0", b"1", b"24.05", b"100", b"-"),
        ],
        [
            (b"0", b"0", b"23.98", b"400", b"-"), (b"1", b"0", b"24.00", b"200", b"100"),
            (b"2", b"1", b"24.05", b"-", b"-"),
        ],
        [(b"1", b"0", b"24.01", b"100", b"200")],
    ]  # fmt: skip
    assert feed.next_timeout() is None


def test_an_order_that_was_partly_consumed_carries_its_size_before() -> None:
    """6.2.1: 3971 at 10.58 goes from 5000 to 3000, and the level of 9000 to 7000."""
    feed, recorder = still_feed()
    steps = [step(0, NEW, BUY, 3971, 1058, 5000), step(1, NEW, BUY, 3984, 1058, 4000)]
    play(feed, [*steps, step(400, CHANGE, BUY, 3971, 1058, 3000, 5000)], 800)
    (entry,) = recorder.refreshes(is_book=True)[-1][1]
    assert {tag: entry[tag] for tag in (279, 269, 270, 37, 271, 37780)} == {
        279: b"1", 269: b"0", 270: b"10.58", 37: b"3971", 271: b"3000", 37780: b"5000",
    }  # fmt: skip
    assert 9000 - (int(entry[37780]) - int(entry[271])) == 7000


def test_the_size_before_is_the_one_that_was_published() -> None:
    """Not that of the last change, which nobody saw."""
    feed, recorder = still_feed()
    play(
        feed,
        [
            step(0, NEW, BUY, 1, 2400, 500), step(400, CHANGE, BUY, 1, 2400, 400, 500),
            step(410, CHANGE, BUY, 1, 2400, 300, 400),
        ],
        800,
    )  # fmt: skip
    assert told(recorder.refreshes(is_book=True)[-1][1]) == [(b"1", b"0", b"24.00", b"300", b"500")]


@pytest.mark.parametrize(
    "steps",
    [
        [step(400, NEW, BUY, 2, 2401, 100), step(500, DELETE, BUY, 2, 2401, 100)],
        [step(400, CHANGE, BUY, 1, 2400, 50, 100), step(500, CHANGE, BUY, 1, 2400, 100, 50)],
    ],
    ids=["come and gone", "changed back"],
)
def test_what_makes_no_difference_is_not_told(steps: list[tuple[int, e.Event]]) -> None:
    feed, recorder = still_feed()
    play(feed, [step(0, NEW, BUY, 1, 2400, 100), *steps], 2000)
    assert len(recorder.refreshes(is_book=True)) == 1


def test_another_price_is_a_delete_and_a_new_order() -> None:
    feed, recorder = still_feed()
    play(feed, [step(0, NEW, BUY, 1, 2400, 100), step(400, CHANGE, BUY, 1, 2410, 100, 100)], 800)
    assert told(recorder.refreshes(is_book=True)[-1][1]) == [
        (b"2", b"0", b"24.00", b"-", b"-"), (b"0", b"0", b"24.10", b"100", b"-"),
    ]  # fmt: skip


def test_an_order_is_deleted_at_the_price_that_was_published() -> None:
    feed, recorder = still_feed()
    steps = [step(400, CHANGE, BUY, 1, 2410, 100, 100), step(410, DELETE, BUY, 1, 2410, 100)]
    play(feed, [step(0, NEW, BUY, 1, 2400, 100), *steps], 800)
    assert told(recorder.refreshes(is_book=True)[-1][1]) == [(b"2", b"0", b"24.00", b"-", b"-")]


def test_a_wiped_side_is_told_at_once_and_what_came_since() -> None:
    """6.4: one Delete Thru instead of a delete for each order."""
    feed, recorder = still_feed()
    wiped = e.Event((e.SideDeleted(PETR4.security_id, Action.DELETE_THRU, BUY, START + 450 * MS),))
    play(
        feed,
        [
            step(0, NEW, BUY, 1, 2400, 100), step(0, NEW, BUY, 2, 2401, 100), step(0, NEW, SELL, 3, 2405, 1),
            step(400, NEW, BUY, 4, 2402, 100), (450, wiped), step(500, NEW, BUY, 5, 2399, 700),
        ],
        800,
    )  # fmt: skip
    entries = recorder.refreshes(is_book=True)[-1][1]
    assert told(entries) == [(b"3", b"0", b"-", b"-", b"-"), (b"0", b"0", b"23.99", b"700", b"-")]
    bids, offers = feed.books.orders.published(PETR4.security_id)
    assert [each.order_id for each in (*bids, *offers)] == [5, 3]


def test_a_side_that_nobody_saw_is_not_wiped() -> None:
    feed, recorder = still_feed()
    wiped = e.Event((e.SideDeleted(PETR4.security_id, Action.DELETE_THRU, BUY, START),))
    play(feed, [step(0, NEW, BUY, 1, 2400, 100), (100, wiped)], 800)
    assert recorder.refreshes(is_book=True) == []


def test_a_book_that_is_rebuilt_is_told_at_once() -> None:
    """7.8.2: 269=J, then its orders with 276=R; a tick has nothing to add."""
    feed, recorder = still_feed()
    play(feed, [step(0, NEW, BUY, 1, 2400, 100), step(400, NEW, SELL, 2, 2405, 300)], 400)
    book = feed._source.book(PETR4.security_id)  # type: ignore[attr-defined]
    assert book is not None
    for event in (step(0, NEW, BUY, 1, 2400, 100)[1], step(400, NEW, SELL, 2, 2405, 300)[1]):
        update = event.updates[0]
        assert isinstance(update, e.OrderUpdate)
        (book.bids if update.side is BUY else book.offers).append(update)  # type: ignore[attr-defined]
    feed.reset_book(PETR4.security_id, START + 450 * MS)
    time, entries = recorder.refreshes(is_book=True)[-1]
    assert time == START + 450 * MS
    assert [(entry[269], entry.get(37), entry.get(276)) for entry in entries] == [
        (b"J", None, None), (b"0", b"1", b"R"), (b"1", b"2", b"R"),
    ]  # fmt: skip
    before = len(recorder.told)
    pass_time(feed, 2000)
    assert len(recorder.told) == before
    assert all(276 not in entry for entry in read_body_of_snapshot(feed))


@pytest.mark.parametrize("by_level", [False, True])
def test_a_reset_tells_loans_again_too(by_level: bool) -> None:
    """6 and 7.8.2: 269=J has no 1500, so listeners empty every book of the instrument."""
    serving = ServingSettings(price_depth=by_level)
    feed = ConflatedFeed(StillMarket(), serving, DICTIONARY, now_ns=START)
    recorder, lent = Recorder(feed), ClientBook(stream=b"L")
    loan = e.LendingOffer(PETR4.security_id, NEW, SELL, 9, 20_000, 100, 1, START, 3, 20_775)
    play(feed, [(0, e.Event((loan,))), step(0, NEW, BUY, 1, 2400, 100)], 380)
    later = replace(loan, order_id=10, time_ns=START + 400 * MS)
    play(feed, [(400, e.Event((later,)))], 400)
    feed.reset_book(PETR4.security_id, START + 450 * MS)
    *_, (time, entries) = recorder.refreshes(is_book=True, by_level=by_level)
    assert time == START + 450 * MS
    again = [(entry[269], entry.get(1500), entry[276]) for entry in entries[1:]]
    assert (entries[0][269], again) == (b"J", [(b"1", b"L", b"R")])
    if not by_level:  # what was not told before stays for its tick
        pass_time(feed, 800)
        for _, told_now in recorder.refreshes(is_book=True):
            for entry in told_now:
                lent.apply(entry)
        assert [order_id for _, order_id in lent.orders] == [b"9", b"10"]


def read_body_of_snapshot(feed: ConflatedFeed) -> list[dict[int, Any]]:
    from pregao.codecs.fix.bodies import JoinedBody

    part = feed.snapshots.of(PETR4.security_id)
    front = feed.encoder.front(b"W", {262: b"1", 48: b"1", 22: b"8", 207: b"BVMF"}, 268, part.count)
    return read_body(JoinedBody(front, (part,))).group(268)


def test_orders_without_price_stand_first() -> None:
    """6.1: MOA and MOC orders, then by price and OrderID; implied ones have the larger OrderIDs."""
    books: ConflatedBooks[e.OrderUpdate] = ConflatedBooks(PRICE)
    placed = [
        (BUY, 7, 2400),
        (BUY, 9, None),
        (BUY, 3, 2400),
        (BUY, 4, 2401),
        (SELL, 5, 2405),
        (SELL, 6, None),
    ]
    for side, order_id, price in placed:
        books.update(order(NEW, side, order_id, price, 100, START).updates[0])  # type: ignore[arg-type]
    books.tick()
    bids, offers = books.published(PETR4.security_id)
    assert [each.order_id for each in bids] == [9, 4, 3, 7]
    assert [each.order_id for each in offers] == [6, 5]


def test_trades_share_a_message_within_twenty_milliseconds() -> None:
    feed, recorder = still_feed()
    high = e.HighPrice(PETR4.security_id, 240_000, 20_000, START)
    low = e.LowPrice(PETR4.security_id, 240_000, 20_000, START)
    steps = [(0, e.Event((high,))), (15, e.Event((low,))), (40, e.Event((high,)))]
    play(feed, steps, 200)
    messages = recorder.refreshes(is_book=False)
    assert [(time - START) // MS for time, _ in messages] == [20, 60]
    assert [[entry[269] for entry in entries] for _, entries in messages] == [[b"7", b"8"], [b"7"]]


# The engine's own books


def engine_book(engine: Engine, security_id: int) -> dict[tuple[bytes, bytes], tuple[bytes | None, int]]:
    book = engine.source.book(security_id)
    assert book is not None
    return {
        (side, b"%d" % each.order_id): (None if each.price is None else price_text(each.price), each.size)
        for side, orders in ((b"0", book.bids), (b"1", book.offers))
        for each in orders
    }


def test_a_raised_quantity_loses_its_place() -> None:
    """Live the engine gives it another OrderID: it goes and comes."""
    engine = Engine()
    recorder = Recorder(engine.feed)
    listing = engine.venue.catalogue.listings[0]
    security_id, price = listing.instrument.security_id, listing.closing
    outcome = engine.submit(NewOrder(engine.now_ns, security_id, BUY, 1000, price))
    assert outcome.rejection is None, outcome.rejection
    (order_id,) = [each.order_id for each in engine.venue.engine.floor.orders.values()]
    engine.pass_time(engine.now_ns + TICK)
    before = len(recorder.refreshes(is_book=True))
    changed = engine.submit(ChangeOrder(engine.now_ns, order_id, quantity=2000))
    assert changed.rejection is None, changed.rejection
    engine.pass_time(engine.now_ns + TICK)
    (entries,) = [entries for _, entries in recorder.refreshes(is_book=True)[before:]]
    assert [(entry[279], entry.get(271)) for entry in entries] == [(b"2", None), (b"0", b"2000")]
    assert entries[0][37] != entries[1][37]


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1_000_000), wipes=st.booleans())
def test_snapshot_and_increments_are_the_book_at_every_tick(seed: int, wipes: bool) -> None:
    """W plus X equals the engine's book; no net change, no message."""
    engine = Engine(seed)
    recorder = Recorder(engine.feed)
    ids = [each.instrument.security_id for each in engine.venue.catalogue.listings]
    engine.pass_time(engine.now_ns + TICK)
    books = {security_id: ClientBook() for security_id in ids}
    published: dict[int, Any] = {security_id: engine_book(engine, security_id) for security_id in ids}
    for security_id in ids:
        books[security_id].orders = dict(published[security_id])
    recorder.told.clear()
    changes = 0
    for _ in range(12):
        engine.trade(25, TICK - 1)
        if wipes:
            engine.submit(CancelSide(engine.now_ns, ids[seed % len(ids)], BUY))
        engine.pass_time(engine.now_ns + 1)
        told_of = set()
        for _, entries in recorder.refreshes(is_book=True):
            for entry in entries:
                changes += 1
                told_of.add(int(entry[48]))
                books[int(entry[48])].apply(entry)
        recorder.told.clear()
        for security_id in ids:
            truth = engine_book(engine, security_id)
            assert books[security_id].orders == truth
            if truth == published[security_id] and not wipes:
                assert security_id not in told_of
            published[security_id] = truth
    assert changes > 50
