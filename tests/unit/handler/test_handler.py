"""The handler as whoever uses it sees it: views, bounds, packets that are not right, news."""

import pytest

from pregao.handler.handler import ChannelHandler
from pregao.handler.keeper import Observer
from pregao.model import events as e
from pregao.model.market import Action
from pregao.model.rows import Rows
from pregao.model.streams import Feed, Stream
from pregao.recovery.events import GapDetected, PacketConflict, PacketDamaged, QueueOverflow
from pregao.recovery.instrument_events import InstrumentStale
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import ChannelSettings
from tests.unit.feeds.binary.publisher.desk import MS, NOW, SECOND, A, B, order, state
from tests.unit.handler.kit import CLEAN, Channel

MANY = 40  # orders that take more than one packet


def many_orders(count: int = MANY, first: int = 1, security_id: int = A) -> list[e.OrderUpdate]:
    return [order(security_id, first + n, price=100_000 - n, position=n + 1) for n in range(count)]


def test_after_the_loops_everything_is_clean() -> None:
    channel = Channel()
    assert channel.known(A) == channel.known(B) == CLEAN
    assert channel.handler.machine.ready
    assert {book.symbol for book in channel.handler.books()} == {"AAAA1", "AAAA2"}
    channel.say(order(A, 7))
    assert channel.handler.book("AAAA1").top.bid is not None
    assert channel.ids() == [7]


# Whole events


def test_a_view_changes_at_the_end_of_an_event_only() -> None:
    channel = Channel()
    first, *others = channel.packets(*many_orders())
    assert others
    channel.deliver([first])
    assert channel.ids() == []
    channel.deliver(others)
    assert channel.ids() == list(range(1, MANY + 1))


def test_who_does_not_ask_for_whole_events_sees_what_there_is() -> None:
    channel = Channel(whole_events=False)
    first, *_ = channel.packets(*many_orders())
    channel.deliver([first])
    assert 0 < len(channel.ids()) < MANY


def test_an_event_without_an_end_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Channel()
    monkeypatch.setattr("pregao.handler.incremental.MOST_WAITING", 5)
    first, *_ = channel.packets(*many_orders())
    channel.deliver([first])
    assert channel.ids() != []
    assert channel.handler.incremental.forced == 1


def test_a_loss_in_mid_event_shows_what_came_before_it_as_unverified() -> None:
    channel = Channel(settings=ChannelSettings(hold_packets=1))
    first, lost, *_ = [*channel.packets(*many_orders()), *channel.packets(order(B, 900))]
    channel.deliver([first])
    assert channel.ids() == []
    channel.deliver(channel.packets(order(B, 901)))
    channel.deliver(channel.packets(order(B, 902)))
    assert any(isinstance(event, GapDetected) for event in channel.events)
    assert channel.ids() != []
    assert channel.known(A)[0] is BookStatus.UNVERIFIED
    assert lost.number not in [packet.number for packet in channel.publisher.take()]


# Bounds


def test_interest_in_a_few() -> None:
    channel = Channel(settings=ChannelSettings(interest=frozenset({A})))
    channel.say(order(A, 1))
    channel.say(order(B, 2))
    assert channel.ids(A) == [1]
    with pytest.raises(KeyError):
        channel.handler.book(B)
    assert channel.handler.incremental.skipped == 1
    assert channel.known(A) == CLEAN


def test_no_more_instruments_than_there_may_be() -> None:
    channel = Channel(settings=ChannelSettings(instruments=1))
    channel.say(order(A, 1), order(B, 2))
    channel.say(order(B, 3))
    followed = [book.security_id for book in channel.handler.books()]
    assert followed == [A]
    assert channel.ids(A) == [1]
    assert channel.handler.machine.table.refused > 0


def test_rows_that_cannot_be_held_are_dropped_aloud_and_a_snapshot_heals() -> None:
    channel = Channel(settings=ChannelSettings(held_rows=8), hear=False)
    orders = many_orders(20)
    channel.packets(orders[0], order(B, 100))  # before anybody listens
    for each in orders[1:]:
        channel.say(each)
    assert any(isinstance(event, QueueOverflow) for event in channel.events)
    assert channel.handler.machine.held.count <= 8
    assert channel.known(A)[0] is BookStatus.STALE
    channel.market.books[A].bids[:] = orders
    channel.market.books[B].bids[:] = [order(B, 100)]
    channel.pass_time(2 * SECOND)
    assert channel.known(A) == channel.known(B) == CLEAN
    assert channel.ids(A) == list(range(1, 21))


def test_a_full_queue_leaves_clean_instruments_clean() -> None:
    channel = Channel(settings=ChannelSettings(held_rows=8))
    counters = channel.handler.machine.counters
    channel.say(order(B, 50))
    channel.say(order(A, 99, action=Action.DELETE))  # of an order that nobody told
    assert channel.known(A)[0] is BookStatus.STALE
    orders = many_orders(10)
    for each in orders:
        channel.say(each)
    (overflow,) = [event for event in channel.events if isinstance(event, QueueOverflow)]
    assert (overflow.rows, overflow.instruments) == (8, 1)
    assert "8 held rows dropped, recovery of 1 instruments starts again" in str(overflow)
    assert (counters.overflows, counters.dropped_rows) == (1, 8)
    assert channel.known(A)[0] is BookStatus.STALE
    assert channel.known(B) == CLEAN
    assert channel.ids(B) == [50]
    channel.market.books[A].bids[:] = orders
    channel.market.books[B].bids[:] = [order(B, 50)]
    channel.pass_time(2 * SECOND)
    assert channel.known(A) == channel.known(B) == CLEAN
    assert channel.ids(A) == list(range(1, 11))
    assert not [
        each for each in channel.events if isinstance(each, InstrumentStale) and each.security_id == B
    ]


def test_memory_grows_in_mid_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregao.books.memory.FIRST_ARENA", 4_096)
    channel = Channel()
    for turn in range(5):
        channel.say(*many_orders(200, 1 + 200 * turn, A if turn % 2 else B))
    channel.handler.store.check_invariants()
    assert channel.handler.store.held == 1_000
    assert channel.handler.store.size > 4_096
    assert channel.known(A) == channel.known(B) == CLEAN


# What is wrong with packets


def test_a_damaged_packet_is_as_good_as_lost() -> None:
    channel = Channel()
    (packet,) = channel.packets(order(A, 1), order(A, 2, position=2))
    broken = bytearray(packet.payload)
    broken[-60:-58] = b"\xff\xff"
    length = int.from_bytes(broken[16:18], "little")
    broken[16 + length : 18 + length] = b"\xff\xff"  # the second message ends after the packet
    channel.deliver([packet._replace(payload=bytes(broken))])
    assert any(isinstance(event, PacketDamaged) for event in channel.events)
    assert channel.known(A)[0] is not BookStatus.CLEAN
    assert channel.known(B)[0] is not BookStatus.CLEAN
    channel.market.books[A].bids[:] = [order(A, 1), order(A, 2, position=2)]
    channel.pass_time(2 * SECOND)
    assert channel.known(A) == channel.known(B) == CLEAN
    assert channel.ids(A) == [1, 2]


def test_packets_of_others_and_none_at_all_change_nothing() -> None:
    channel = Channel()
    channel.say(order(A, 1))
    (packet,) = channel.packets(order(A, 2, position=2))
    for payload in (b"", packet.payload[:7], b"\x01" + packet.payload[1:]):
        channel.handler.receive(payload, Stream.INCREMENTAL, Feed.A, channel.now_ns)
    assert channel.ids(A) == [1]
    assert channel.known(A) == CLEAN
    channel.deliver([packet])
    assert channel.ids(A) == [1, 2]


# Feeds


def test_headers_of_their_own_are_no_conflict() -> None:
    """6.1, 6.5.3: fifty packets whose SendingTime and Reserved differ on B, then one whose messages do."""
    channel = Channel()
    for number in range(1, 51):
        (packet,) = channel.packets(order(A, number, position=number))
        own = packet.payload[:1] + b"\x01" + packet.payload[2:8] + bytes(8) + packet.payload[16:]
        channel.deliver([packet._replace(feeds=(Feed.A,)), packet._replace(feeds=(Feed.B,), payload=own)])
    assert not [each for each in channel.events if isinstance(each, PacketConflict)]
    assert channel.known() == CLEAN
    assert channel.ids() == list(range(1, 51))
    (packet,) = channel.packets(order(A, 51, position=51))
    forged = packet.payload[:-1] + bytes([packet.payload[-1] ^ 1])
    channel.deliver([packet._replace(feeds=(Feed.A,)), packet._replace(feeds=(Feed.B,), payload=forged)])
    assert len([each for each in channel.events if isinstance(each, PacketConflict)]) == 1
    assert channel.known() != CLEAN


# News


class Reader(Observer):
    def __init__(self) -> None:
        self.news: list[e.News] = []

    def on_news(self, news: e.News) -> None:
        self.news.append(news)


def test_news_of_several_parts() -> None:
    reader = Reader()
    channel = Channel(observer=reader)
    told = e.News(77, "Headline", "x" * 3_000, NOW, 0, "pt", None, A)
    channel.say(told)
    (heard,) = reader.news
    assert (heard.news_id, heard.headline, heard.text) == (77, "Headline", told.text)
    assert heard.complete


def test_news_that_lacks_a_part_ends_in_time() -> None:
    """Nothing else happens on the channel: only time passes, and heartbeats come."""
    reader = Reader()
    channel = Channel(observer=reader, settings=ChannelSettings(hold_ns=MS))
    _, *others = channel.packets(e.News(77, "Headline", "x" * 3_000, NOW, 0, "pt", None, A))
    assert others
    channel.deliver(others)
    began_ns = channel.now_ns
    while not reader.news:
        due_ns = channel.handler.next_timeout()
        assert due_ns is not None
        assert due_ns <= began_ns + 60 * SECOND
        channel.now_ns = max(channel.now_ns, due_ns)
        channel.events += channel.handler.on_timeout(channel.now_ns)
        channel.publisher.on_timeout(channel.now_ns)
        channel.deliver(channel.publisher.take())
    (heard,) = reader.news
    assert (heard.news_id, heard.complete) == (77, False)
    assert set(heard.text) == {"x"}
    assert 0 < len(heard.text) < 3_000


# Quotes


class Quotes(Observer):
    def __init__(self) -> None:
        self.handler: ChannelHandler | None = None
        self.told: list[tuple[int, int, int, BookStatus]] = []

    def on_rows(self, rows: Rows) -> None:
        if self.handler is None:
            return
        for quote in self.handler.store.take_quotes():
            known = self.handler.known(int(quote["instrument"]))[0]
            self.told.append((int(quote["security_id"]), int(quote["time_ns"]), len(rows), known))


def test_the_quote_of_a_healed_book_does_not_wait_for_the_next_event() -> None:
    """And carries the time at which it was healed, not that of an event of another instrument."""
    quotes = Quotes()
    channel = Channel(hear=False, observer=quotes, quotes=True)
    quotes.handler = channel.handler
    channel.market.books[A].bids[:] = [order(A, 1)]
    channel.packets(order(A, 1))  # before anybody listens
    channel.say(state(B))
    assert not quotes.told
    began_ns = channel.now_ns
    channel.pass_time(2 * SECOND)  # no event, only loops
    ((security_id, time_ns, rows, known),) = quotes.told
    assert (security_id, rows, known) == (A, 0, BookStatus.CLEAN)
    assert NOW < began_ns <= time_ns <= channel.now_ns  # the event before it was of NOW


def test_books_that_a_channel_reset_empties_are_quoted_at_once() -> None:
    quotes = Quotes()
    channel = Channel(observer=quotes, quotes=True)
    quotes.handler = channel.handler
    channel.say(order(A, 1))
    quotes.told.clear()
    channel.publisher.reset_channel(channel.now_ns)
    first = channel.publisher.take()[0]
    channel.deliver([first])
    assert [security_id for security_id, *_ in quotes.told] == [A]
