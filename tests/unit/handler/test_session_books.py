"""Books of a session: by OrderID and price, as the snapshot and the updates behind it tell them."""

from random import Random

import numpy as np
import pytest

from pregao.books.views import Anomaly, Level
from pregao.feeds.conflated.kernel_reader import KernelReader
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.session_port import InstrumentsListed, SessionMessage, SnapshotsTaken
from pregao.handler.keeper import Observer
from pregao.handler.session import RETOLD_NS, SessionHandler
from pregao.model.market import Phase, Side, State
from pregao.model.rows import Kind
from pregao.recovery.events import PacketDamaged
from pregao.recovery.instrument_events import DoubtReason, InstrumentHealed, InstrumentStale
from pregao.recovery.instruments import BookStatus
from pregao.recovery.progress import ChannelState
from tests.kits.conflated_wire import (
    DEFINITION,
    INSTRUMENT,
    bid,
    deleted,
    incremental,
    message,
    offer,
    raw_message,
    snapshot,
)

NOW = 1_795_006_800_000_000_000


class Seen(Observer):
    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.totals: list = []
        self.news: list = []

    def on_rows(self, rows) -> None:
        self.kinds += rows["kind"].tolist()

    def on_totals(self, totals) -> None:
        self.totals += totals

    def on_news(self, news) -> None:
        self.news.append(news)


class Session:
    """A handler, and messages that get their numbers."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.handler = SessionHandler(0, CONFLATED, observer=self.seen, quotes=True)
        self.number, self.epoch, self.now_ns = 0, 1, NOW
        self.handler.begin(NOW)
        self.tell(message(b"y", {146: [{**DEFINITION, 980: "M"}]}))
        self.handler.on_session(InstrumentsListed(1), NOW)

    def tell(self, *messages: bytes):
        units = []
        for each in messages:
            self.number += 1
            units.append(SessionMessage(self.epoch, self.number, self.now_ns, self.now_ns, 0, each))
        return self.handler.take(units, self.now_ns)

    @property
    def book(self):
        return self.handler.book("PETR4")


@pytest.fixture
def session() -> Session:
    return Session()


def levels(book, side):
    return [(level.price, level.size, level.orders) for level in book.side_levels(side)]


def test_a_book_is_stale_until_its_snapshot(session):
    assert session.book.status is BookStatus.STALE
    session.tell(snapshot(bid(3971, b"10.58", 5000), bid(3984, b"10.58", 4000), offer(3539, b"11.03", 7000)))
    assert session.book.status is BookStatus.CLEAN
    assert session.book.top.bid == Level(105_800, 9_000, 2)
    assert [order.order_id for order in session.book.orders(Side.BUY)] == [3971, 3984]


def test_the_example_of_6_2_1(session):
    """A change tells the size before it, by which a book of prices can be kept too."""
    session.tell(
        snapshot(
            bid(3971, b"10.58", 5000),
            bid(3984, b"10.58", 4000),
            bid(3968, b"10.57", 3000),
            bid(3538, b"10.54", 4000),
            offer(3539, b"11.03", 7000),
            offer(3547, b"11.03", 2000),
            offer(3541, b"11.05", 1000),
        )
    )
    events = session.tell(incremental({279: b"1", **bid(3971, b"10.58", 3000, _37780=b"5000")}))
    assert events == []
    assert levels(session.book, Side.BUY) == [(105_800, 7_000, 2), (105_700, 3_000, 1), (105_400, 4_000, 1)]


def test_the_example_of_6_4(session):
    session.tell(snapshot(bid(3971, b"10.58", 5000), offer(3539, b"11.03", 7000)))
    session.tell(incremental({279: b"3", 269: b"0"}))
    assert levels(session.book, Side.BUY) == []
    assert levels(session.book, Side.SELL) == [(110_300, 7_000, 1)]


def test_a_size_before_that_is_not_the_one_held_is_a_finding(session):
    session.tell(snapshot(bid(1, b"10", 500)))
    events = session.tell(incremental({279: b"1", **bid(1, b"10", 300, _37780=b"400")}))
    assert [event.reason for event in events if isinstance(event, InstrumentStale)] == [DoubtReason.SUSPECT]
    assert session.handler.store.anomalies(session.book.index) == {Anomaly.SIZE_DIFFERS: 1}
    assert session.book.status is BookStatus.STALE
    session.tell(snapshot(bid(1, b"10", 300)))
    assert session.book.status is BookStatus.CLEAN


def test_orders_without_a_price_are_the_first_level_and_implied_ones_come_last(session):
    session.tell(snapshot(
        bid(9, None, 10), bid(5, None, 20), bid(1 << 62, b"10", 70, _276=b"K"), bid(8, b"10", 30),
        offer(7, None, 1), offer(6, b"11", 2),
    ))  # fmt: skip
    orders = session.book.orders(Side.BUY)
    assert [(order.order_id, order.price) for order in orders] == [
        (5, None), (9, None), (8, 100_000), (1 << 62, 100_000),
    ]  # fmt: skip
    assert orders[-1].implied
    assert levels(session.book, Side.SELL)[0] == (None, 1, 1)


def test_deletes_with_and_without_their_price(session):
    session.tell(snapshot(bid(1, b"10", 5), bid(2, b"10", 5), bid(3, None, 5)))
    events = session.tell(incremental(deleted(b"0", 1, b"10"), deleted(b"0", 2), deleted(b"0", 3)))
    assert events == []
    assert session.book.bids == []
    assert session.book.is_clean


def test_the_orders_of_a_lending_book_are_its_own(session):
    other = {**INSTRUMENT, 48: b"900002"}
    lent = {**bid(1, b"1.25", 100), 1500: b"L", 432: b"20261220"}
    session.tell(snapshot(bid(1, b"10", 5)), snapshot(lent, security_id=b"900002"))
    session.tell(incremental({**other, **bid(2, b"1.30", 50), 1500: b"L"}))
    assert levels(session.handler.book(900_002), Side.BUY) == [(13_000, 50, 1), (12_500, 100, 1)]
    assert levels(session.book, Side.BUY) == [(100_000, 5, 1)]


def test_a_book_that_is_told_again_is_not_believed_until_it_has_been(session):
    session.tell(snapshot(bid(1, b"10", 5), bid(2, b"10", 5)))
    session.tell(incremental({269: b"J"}))
    assert session.book.status is BookStatus.UNVERIFIED
    session.tell(incremental(bid(2, b"10", 5, _276=b"R")))
    assert session.book.status is BookStatus.UNVERIFIED
    events = session.tell(incremental(bid(3, b"10.01", 7)))
    assert any(isinstance(event, InstrumentHealed) for event in events)
    assert session.book.status is BookStatus.CLEAN
    assert levels(session.book, Side.BUY) == [(100_100, 7, 1), (100_000, 5, 1)]


def test_a_reset_empties_every_book_of_its_instrument(session):
    """6 and 7.8.2: 269=J names an instrument and no stream (1500), so the book of its loans goes too."""
    loan = bid(1, b"1.25", 100, _1500=b"L")
    session.tell(snapshot(bid(1, b"10", 5), loan))
    session.tell(incremental({269: b"J"}))
    assert levels(session.book, Side.BUY) == levels(session.handler.book("PETR4", "L"), Side.BUY) == []
    session.tell(incremental(bid(1, b"10", 5, _276=b"R"), {**loan, 276: b"R"}))
    assert levels(session.book, Side.BUY) == [(100_000, 5, 1)]
    assert levels(session.handler.book("PETR4", "L"), Side.BUY) == [(12_500, 100, 1)]


def test_a_book_that_is_told_again_in_silence_is_believed_after_two_ticks(session):
    session.tell(snapshot(bid(1, b"10", 5)))
    session.tell(incremental({269: b"J"}, bid(1, b"10", 5, _276=b"R")))
    assert session.handler.next_timeout() == NOW + RETOLD_NS
    assert session.handler.on_timeout(NOW + RETOLD_NS - 1) == []
    assert session.book.status is BookStatus.UNVERIFIED
    session.handler.on_timeout(NOW + RETOLD_NS)
    assert session.book.status is BookStatus.CLEAN
    assert session.handler.next_timeout() is None


def test_a_lost_session_makes_all_books_stale_until_their_snapshots(session):
    session.tell(snapshot(bid(1, b"10", 5)))
    session.handler.on_session(SnapshotsTaken("M1", 1, True), NOW)
    assert session.handler.machine.state is ChannelState.LIVE
    events = session.handler.lose(NOW + 1)
    assert [event.reason for event in events] == ["", DoubtReason.SESSION_LOST]
    assert session.book.status is BookStatus.STALE
    assert session.handler.machine.state is ChannelState.SILENT
    session.epoch, session.number = 2, 0
    session.handler.begin(NOW + 2)
    session.tell(incremental(bid(9, b"9", 1)))  # held, and older than the snapshot
    session.tell(snapshot(bid(2, b"11", 6)))
    assert session.book.status is BookStatus.CLEAN
    assert levels(session.book, Side.BUY) == [(110_000, 6, 1)]


STATISTICS = (
    {269: b"2", 270: b"10", 271: b"5", 1003: b"7", 1500: b"E"},
    {269: b"4", 270: b"9.9", 286: b"0", 1500: b"E"},
    {269: b"4", 270: b"10", 271: b"5", 286: b"5"},
    {269: b"7", 270: b"10.5", 1500: b"E"},
    {269: b"8", 270: b"9.5", 1500: b"E"},
    {269: b"9", 270: b"10.1", 1500: b"E"},
    {269: b"B", 270: b"100", 271: b"3", 15: b"BRL", 1500: b"E"},
    {269: b"A", 271: b"5", 277: b"P"},
    {269: b"5", 270: b"9", 286: b"4", 1500: b"E"},
)


def test_a_change_of_session_forgets_what_7_5_5_lists(session):
    session.tell(snapshot(), incremental(*STATISTICS))
    statistics = session.book.statistics
    assert None not in (statistics.last_trade, statistics.opening, statistics.high, statistics.low)
    fields = {**INSTRUMENT, 60: NOW, 75: b"20261118", 326: b"17", 1174: b"4"}
    session.tell(message(b"f", fields))
    told = session.book.statistics
    assert (told.last_trade, told.opening, told.high, told.low, told.totals, told.theoretical) == (None,) * 6
    assert told.previous_closing is not None


def test_the_end_of_an_auction_ends_the_theoretical_price_and_the_imbalance(session):
    """7.8.8: of instruments that are not in an auction of their own."""
    phase = {207: "BVMF", 1151: "01", 60: NOW, 75: b"20261118"}
    session.tell(message(b"f", {**phase, 625: b"21"}), snapshot(), incremental(*STATISTICS))
    assert session.book.phase is Phase.PRE_OPEN
    assert session.book.statistics.theoretical is not None
    session.tell(message(b"f", {**phase, 625: b"17"}))
    assert (session.book.statistics.theoretical, session.book.statistics.imbalance) == (None, None)
    assert session.book.statistics.opening is not None


def test_a_snapshot_tells_the_phase_of_the_group_or_a_state_of_its_own(session):
    session.tell(snapshot({269: b"c", 625: b"21"}))
    assert (session.book.phase, session.book.own_state) == (Phase.PRE_OPEN, None)
    session.tell(snapshot({269: b"c", 326: b"2", 1174: b"101"}))
    assert session.book.own_state is State.PAUSE


def test_history_is_told_to_listeners_and_not_to_books(session):
    session.tell(snapshot({269: b"2", 270: b"10", 271: b"5", 1003: b"90", 1500: b"E"}))
    entry = {269: b"2", 270: b"8", 271: b"5", 272: b"20261118", 273: b"13:00:00.120", 1003: b"80", 1500: b"E"}
    session.seen.kinds.clear()
    session.tell(message(b"UTHP", {262: b"1", 893: "Y", **INSTRUMENT, 268: [entry]}))
    assert session.seen.kinds == [Kind.TRADE]
    assert session.book.statistics.last_trade.trade_id == 90


def test_an_entry_of_a_book_that_cannot_be_read_makes_it_stale(session):
    session.tell(snapshot(bid(1, b"10", 5)))
    fields = [(268, b"1"), (279, b"0"), (48, b"900001"), (269, b"0"), (37, b"x"), (270, b"10"), (271, b"1")]
    events = session.tell(raw_message(b"X", fields))
    assert {type(event) for event in events} == {PacketDamaged, InstrumentStale}
    assert session.book.status is BookStatus.STALE


def test_totals_and_news_are_told(session):
    entry = {269: "t", 55: "TOT1", 272: b"20261118", 273: b"13:00:00.120", 381: 10, 387: 7, 6139: 3}
    session.tell(message(b"UTOT", {268: [entry]}), message(b"B", {6940: "3", 148: "Leilao", 33: [{58: "x"}]}))
    assert [total.symbol for total in session.seen.totals] == ["TOT1"]
    assert session.handler.totals["TOT1"].trades == 3
    assert [news.headline for news in session.seen.news] == ["Leilao"]


@pytest.mark.parametrize("seed", range(4))
def test_many_messages_at_once_give_the_books_of_one_at_a_time(seed):
    random, messages, known = Random(seed), [snapshot()], dict[int, tuple[bytes, bytes, int]]()
    for order_id in range(1, 120):
        side, price = random.choice([b"0", b"1"]), b"%d.%02d" % (random.randint(9, 11), random.randint(0, 99))
        entries = [bid(order_id, price, 100) if side == b"0" else offer(order_id, price, 100)]
        known[order_id] = side, price, 100
        if random.random() < 0.4:
            gone = random.choice(list(known))
            entries.append(deleted(known[gone][0], gone, known.pop(gone)[1]))
        messages.append(incremental(*entries))
    whole, single = Session(), Session()
    assert isinstance(whole.handler._reader, KernelReader)
    whole.tell(*messages)
    for each in messages:
        single.tell(each)
    for side in Side:
        assert whole.book.orders(side) == single.book.orders(side)
    assert {order.order_id for side in Side for order in whole.book.orders(side)} == known.keys()
    assert np.array_equal(whole.handler.store.tops(), single.handler.store.tops())


def level(side: bytes, price: bytes | None, size: int, orders: int, **more):
    told = {269: side, 271: b"%d" % size, 346: b"%d" % orders, 1021: b"2"}
    told |= {} if price is None else {270: price}
    return told | {int(tag.lstrip("_")): value for tag, value in more.items()}


def by_level(*entries):
    return incremental(
        *({tag: value for tag, value in each.items() if tag != 1021} for each in entries), _1021=b"2"
    )


def test_books_by_level_are_found_by_price(session):
    """1021=2: no price is a level too, and the first; a book of levels says so."""
    bids = level(b"0", b"10.58", 9000, 2), level(b"0", None, 50, 1)
    session.tell(snapshot(*bids, level(b"1", b"11", 10, 1)))
    assert (session.book.kind, session.book.status) == ("MBP", BookStatus.CLEAN)
    session.tell(
        by_level({279: b"1", **level(b"0", b"10.58", 7000, 2, _37780=b"9000")}),
        by_level({279: b"0", **level(b"0", b"10.60", 100, 1)}, {279: b"2", 269: b"0"}),
        by_level({279: b"3", 269: b"1"}),
    )
    assert levels(session.book, Side.BUY) == [(106_000, 100, 1), (105_800, 7_000, 2)]
    assert levels(session.book, Side.SELL) == []
    assert session.book.status is BookStatus.CLEAN


def test_a_size_of_a_level_that_is_not_the_one_held_is_a_finding(session):
    session.tell(snapshot(level(b"0", b"10", 500, 2)))
    events = session.tell(by_level({279: b"1", **level(b"0", b"10", 300, 2, _37780=b"400")}))
    assert [event.reason for event in events if isinstance(event, InstrumentStale)] == [DoubtReason.SUSPECT]
    session.tell(snapshot(level(b"0", b"10", 300, 2)))
    assert session.book.status is BookStatus.CLEAN
