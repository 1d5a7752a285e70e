"""A channel of FIX/FAST: chunks of both feeds to books, start-up, gaps, resets, replayers, all in memory."""

from random import Random
from typing import Any

import pytest

from pregao.feeds.fast.system import FAST
from pregao.feeds.fast.times import as_number
from pregao.handler.handler import ChannelHandler
from pregao.handler.keeper import Observer
from pregao.handler.replays import Replays
from pregao.model.events import News
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction, Phase, Side, State
from pregao.model.streams import Feed, Stream
from pregao.recovery.events import ChannelSilent, Event, GapDetected, PacketDamaged, UnitsWanted
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import number_of
from tests.kits.fast_market import CHANNEL, MS, FastToy, datagrams
from tests.kits.memory_replayer import MemoryReplayer

BOTH = (Feed.A, Feed.B)


class Listener:
    """A market and a handler that hears it, message by message."""

    def __init__(self, seed: int = 1, kind: str = "MBO", *, chunk: int = 1_410) -> None:
        self.toy, self.handler = FastToy(seed, kind), ChannelHandler(CHANNEL, FAST)
        self.events: list[Event] = []
        self.chunk, self.random = chunk, Random(seed)

    def hear(
        self, number: int, message: bytes, stream: Stream = Stream.INCREMENTAL, feeds: tuple[Feed, ...] = BOTH
    ) -> None:
        for datagram in datagrams(number, message, self.chunk):
            for feed in feeds:
                self.events += self.handler.receive(datagram, stream, feed, self.toy.now_ns)

    def step(self, count: int = 1, feeds: tuple[Feed, ...] = BOTH) -> None:
        for _ in range(count):
            self.toy.now_ns += MS
            message = self.toy.step()
            self.hear(self.toy.number, message, feeds=feeds)

    def wait(self, ms: int) -> None:
        """Time passes, with what is due."""
        until_ns = self.toy.now_ns + ms * MS
        while (due_ns := self.handler.next_timeout()) is not None and due_ns <= until_ns:
            self.toy.now_ns = max(self.toy.now_ns, due_ns)
            self.events += self.handler.on_timeout(self.toy.now_ns)
        self.toy.now_ns = until_ns

    def loop(self, stream: Stream, feeds: tuple[Feed, ...] = BOTH) -> None:
        self.toy.now_ns += MS
        messages = self.toy.definitions() if stream is Stream.DEFINITION else self.toy.snapshots()
        for number, message in enumerate(messages, 1):
            self.hear(number, message, stream, feeds)

    def start(self) -> None:
        self.step(30)
        self.loop(Stream.DEFINITION)
        self.loop(Stream.SNAPSHOT)
        self.loop(Stream.SNAPSHOT)

    def compare(self) -> int:
        """Clean books are the market's; how many are clean."""
        clean = 0
        for security_id, one in self.toy.instruments.items():
            book = self.handler.book(security_id)
            if not book.is_clean:
                continue
            clean += 1
            for side, told in ((Side.BUY, one.bids), (Side.SELL, one.offers)):
                levels = [(each.price, each.size, each.orders) for each in book.side_levels(side)]
                depth = self.toy.depth or None
                assert levels == [(price * 100, *rest) for price, *rest in told.levels(depth)]
                if self.toy.kind == "MBO":
                    orders = [(each.order_id, each.price, each.size) for each in book.orders(side)]
                    assert orders == [(each.id, each.price * 100, each.size) for each in told.orders]
        return clean


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
def test_start_up_and_then_live(kind: str) -> None:
    """5.2.6: definitions, snapshots, what was queued, then live; all is whole."""
    listener = Listener(3, kind)
    listener.start()
    assert listener.compare() == 6
    for _ in range(200):
        listener.step()
        assert listener.compare() == 6
    assert listener.handler.machine.ready


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
@pytest.mark.parametrize("stream", [Stream.DEFINITION, Stream.SNAPSHOT])
def test_a_book_that_never_had_a_row_says_what_it_is(kind: str, stream: Stream) -> None:
    """By the list of instruments (1022, 264), or by the snapshots of others."""
    listener = Listener(3, kind)
    if stream is Stream.SNAPSHOT:
        first, *_ = listener.toy.instruments.values()
        listener.toy.refresh(first, listener.toy._add(first, first.bids))
        listener.loop(stream)
    listener.loop(Stream.DEFINITION)
    books = list(listener.handler.books())
    assert len(books) == 6
    assert sum(bool(book.bids or book.offers) for book in books) <= 1
    assert {book.kind for book in books} == {kind}


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
def test_a_book_says_what_it_is(kind: str) -> None:
    """9: by 264 of snapshots."""
    listener = Listener(3, kind)
    listener.start()
    assert {book.kind for book in listener.handler.books()} == {kind}


@pytest.mark.parametrize("kind", ["MBO", "MBP"])
def test_messages_in_chunks_that_each_feed_has_some_of(kind: str) -> None:
    """5.2.4: the chunks of a message may come by either feed, in any order."""
    listener = Listener(5, kind, chunk=40)
    listener.start()
    for _ in range(80):
        listener.toy.now_ns += MS
        message = listener.toy.step()
        chunks = datagrams(listener.toy.number, message, 40)
        arrivals = [(chunk, listener.random.choice(BOTH)) for chunk in chunks]
        listener.random.shuffle(arrivals)
        for chunk, feed in arrivals:
            listener.events += listener.handler.receive(chunk, Stream.INCREMENTAL, feed, listener.toy.now_ns)
        assert listener.compare() == 6
    assert listener.handler.machine.counters.gaps == 0


def test_a_message_that_one_feed_lost_is_taken_from_the_other() -> None:
    listener = Listener(7)
    listener.start()
    for _ in range(60):
        listener.step(feeds=(listener.random.choice(BOTH),))
        assert listener.compare() == 6


def test_instruments_without_snapshot_are_empty() -> None:
    """5.1.2, 5.2.6: those that never told anything are in no loop."""
    listener = Listener(3)
    quiet = next(iter(listener.toy.instruments))
    spoken = {key: one for key, one in listener.toy.instruments.items() if key != quiet}
    for _ in range(20):
        one = listener.random.choice(list(spoken.values()))
        listener.toy.now_ns += MS
        listener.hear(listener.toy.number + 1, listener.toy.refresh(one, listener.toy._act(one)))
    listener.loop(Stream.DEFINITION)
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6
    assert listener.handler.book(quiet).bids == []


def lose(listener: Listener, messages: int) -> None:
    """So many that nobody brings; then one that shows it."""
    for _ in range(messages):
        listener.toy.now_ns += MS
        listener.toy.step()
    listener.step()


def test_a_gap_is_asked_for_and_then_left_to_snapshots() -> None:
    """6, 6.2: hold 20 ms, ask, and give up when no answer came; snapshots heal what needs it."""
    listener = Listener(9)
    listener.start()
    lose(listener, 4)
    listener.wait(15)
    assert wanted(listener) == []
    listener.wait(10)
    first = listener.toy.number - 4
    assert wanted(listener) == [(first, first + 3)]
    assert kinds(listener, GapDetected) == []
    listener.wait(700)
    assert len(kinds(listener, GapDetected)) == 1
    listener.compare()
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
        listener.loop(Stream.DEFINITION)
    listener.step()
    assert listener.compare() == 6


def test_a_gap_over_2000_and_one_at_start_up_go_straight_to_snapshots() -> None:
    listener = Listener(11)
    listener.step(5)
    lose(listener, 3)
    listener.wait(100)
    assert wanted(listener) == []
    assert len(kinds(listener, GapDetected)) == 1
    listener.loop(Stream.DEFINITION)
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6
    lose(listener, 2_001)
    listener.wait(100)
    assert wanted(listener) == []
    assert len(kinds(listener, GapDetected)) == 2


def test_what_a_replayer_sends_fills_the_gap() -> None:
    """Nobody sees that there was one."""
    listener = Listener(13)
    listener.start()
    lose(listener, 4)
    listener.wait(30)
    ((first, last),) = wanted(listener)
    for number in range(last, first - 1, -1):
        message = listener.toy.archive[number]
        listener.events += listener.handler.on_replayed(number, message, listener.toy.now_ns)
    assert listener.compare() == 6
    assert kinds(listener, GapDetected) == []
    counters = listener.handler.machine.counters
    assert (counters.asked_units, counters.replayed_units) == (4, 4)
    listener.step(20)
    assert listener.compare() == 6


def test_what_a_replayer_does_not_have_is_given_up_at_once() -> None:
    listener = Listener(13)
    listener.start()
    lose(listener, 4)
    listener.wait(30)
    ((first, last),) = wanted(listener)
    listener.events += listener.handler.on_unanswered(1, first, last, listener.toy.now_ns)
    assert len(kinds(listener, GapDetected)) == 1
    listener.compare()


def test_what_nobody_asked_for_does_not_count() -> None:
    listener = Listener(13)
    listener.start()
    at, known, toy = listener.handler.machine.at, listener.toy.archive, listener.toy
    toy.now_ns += MS
    ahead = toy.step()
    for number, message in ((toy.number, ahead), (1, known[1]), (5, known[4]), (toy.number, b"\x80")):
        listener.events += listener.handler.on_replayed(number, message, toy.now_ns)
    assert listener.handler.machine.at == at
    assert listener.handler.machine.counters.gaps == 0


class Replayer:
    """A server and a client in memory, joined to the handler of a listener."""

    def __init__(self, listener: Listener, *, delay_ms: int = 25, is_there: bool = True) -> None:
        self.listener, self._sent = listener, 0
        self.memory = MemoryReplayer(FAST.number_of, delay_ms=delay_ms, is_there=is_there)
        self.replays = Replays(self.memory, {CHANNEL: listener.handler})

    def run(self, ms: int) -> None:
        """Time passes for the channel, the client and the server; what is published is kept."""
        listener = self.listener
        for number, message in listener.toy.archive.items():
            if number > self._sent:
                self.memory.keep(CHANNEL, number, message, listener.toy.now_ns)
                self._sent = number
        for _ in range(ms):
            before = len(listener.events)
            listener.wait(1)
            now_ns = listener.toy.now_ns
            self.replays.follow(listener.events[before:], now_ns)
            self.memory.run(now_ns)
            for _, events in self.replays.deliver(now_ns):
                listener.events += events


def test_a_replayer_fills_gaps_of_a_channel() -> None:
    """6.2: over a FIX session in memory, both ends; the book never was anything but whole afterwards."""
    listener = Listener(33)
    listener.start()
    replayer = Replayer(listener)
    replayer.run(5)
    for _ in range(5):
        lose(listener, 7)
        replayer.run(300)
        assert listener.compare() == 6
        listener.step(10)
        assert listener.compare() == 6
    assert kinds(listener, GapDetected) == []
    counters = listener.handler.machine.counters
    assert (counters.replayed_units, counters.healed_by_replay) == (35, 5)


@pytest.mark.parametrize("setting", [{"is_there": False}, {"delay_ms": 60_000}])
def test_without_an_answer_snapshots_heal(setting: dict[str, Any]) -> None:
    """Never a wrong clean book, and no endless wait."""
    listener = Listener(35)
    listener.start()
    replayer = Replayer(listener, **setting)
    replayer.run(1)
    lose(listener, 7)
    replayer.run(800)
    assert len(kinds(listener, GapDetected)) == 1
    listener.compare()
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
        listener.loop(Stream.DEFINITION)
    assert listener.compare() == 6


def test_an_instrument_whose_83_follows_stays_live() -> None:
    """6.2.2: a gap that was not its own leaves it, once its next report shows it."""
    listener = Listener(15)
    for one in listener.toy.instruments.values():
        one.reports = 5_000  # far from where a gap could hide that they began again
    listener.start()
    lost, *others = listener.toy.instruments.values()
    listener.toy.now_ns += MS
    listener.toy.refresh(lost, listener.toy._add(lost, lost.bids))
    for one in [*others, lost]:
        listener.toy.now_ns += MS
        listener.hear(listener.toy.number + 1, listener.toy.refresh(one, listener.toy._add(one, one.bids)))
    listener.wait(700)
    clean = [listener.handler.book(one.security_id).is_clean for one in listener.toy.instruments.values()]
    assert clean == [False, True, True, True, True, True]
    assert listener.compare() == 5


def test_a_sequence_reset_has_everything_come_from_snapshots() -> None:
    """5.2.8: numbers begin again at 1, and books are synchronised as at the start of a day."""
    listener = Listener(17)
    listener.start()
    for _ in range(3):
        listener.toy.now_ns += MS
        number = listener.toy.number + 1
        listener.hear(number, listener.toy.reset())
        listener.step(10)
        assert listener.compare() == 0
        for _ in range(3):
            listener.loop(Stream.SNAPSHOT)
            listener.loop(Stream.DEFINITION)
        assert listener.compare() == 6
        listener.step(20)
        assert listener.compare() == 6
    assert listener.handler.machine.counters.gaps == 0


def test_a_feed_that_resets_later_is_told_by_sending_times() -> None:
    """5.2.8: B still tells the old sequence when A has begun the new one."""
    listener = Listener(19)
    listener.start()
    late: list[tuple[int, bytes]] = []

    def hear(number: int, message: bytes) -> None:
        listener.hear(number, message, feeds=(Feed.A,))
        late.append((number, message))
        if len(late) > 5:
            listener.hear(*late.pop(0), feeds=(Feed.B,))

    for _ in range(3):
        for _ in range(10):
            listener.toy.now_ns += MS
            message = listener.toy.step()
            hear(listener.toy.number, message)
        listener.toy.now_ns += MS
        number = listener.toy.number + 1
        hear(number, listener.toy.reset())
    counters = listener.handler.machine.counters
    assert (counters.conflicts, counters.gaps, counters.version_changes) == (0, 0, 2)


def test_an_old_snapshot_is_not_taken_for_one_of_the_new_sequence() -> None:
    listener = Listener(21)
    listener.start()
    listener.toy.now_ns += MS
    old = list(enumerate(listener.toy.snapshots(), 1))
    listener.toy.now_ns += MS
    number = listener.toy.number + 1
    listener.hear(number, listener.toy.reset())
    listener.step(10)
    for number, message in old:
        listener.hear(number, message, Stream.SNAPSHOT)
    assert listener.handler.machine.counters.snapshots_of_other_version > 0
    assert listener.compare() == 0


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
def test_a_book_reset_and_a_channel_reset(kind: str) -> None:
    """5.2.9, 13.9: J, the book again with 276=R and 83 from 1, then it is live; 35=f after."""
    listener = Listener(23, kind)
    listener.start()
    one = next(iter(listener.toy.instruments.values()))
    for reset in (lambda: listener.toy.book_reset(one.security_id), listener.toy.channel_reset):
        messages = reset()
        first = listener.toy.number - len(messages) + 1
        for number, message in enumerate(messages, first):
            listener.toy.now_ns += MS
            listener.hear(number, message)
        listener.compare()
    for each in listener.toy.instruments.values():
        listener.toy.now_ns += MS
        entries = listener.toy._add(each, each.bids)
        while not entries:
            entries = listener.toy._add(each, each.bids)
        listener.hear(listener.toy.number + 1, listener.toy.refresh(each, entries))
    assert listener.compare() == 6
    statuses = {book.statistics_status.name for book in listener.handler.books()}
    assert statuses == {"UNVERIFIED"}, "statistics come from the next loop of snapshots"


def test_a_phase_comes_from_snapshots_and_from_35_f() -> None:
    """11.4, 11."""
    listener = Listener(25)
    listener.start()
    assert {book.phase for book in listener.handler.books()} == {Phase.OPEN}
    listener.toy.now_ns += MS
    listener.hear(listener.toy.number + 1, listener.toy.phase("G0", 21))
    phases = {book.phase for book in listener.handler.books()}
    assert phases == {Phase.OPEN, Phase.PRE_OPEN}


def test_a_channel_is_dead_after_three_heartbeats_that_did_not_come() -> None:
    """5.1.1, 5.2.7: heartbeats have numbers of the sequence, and 30 s without anything is silence."""
    listener = Listener(27)
    listener.start()
    for _ in range(4):
        listener.wait(9_999)
        listener.hear(listener.toy.number + 1, listener.toy.heartbeat())
    assert kinds(listener, ChannelSilent) == []
    assert listener.compare() == 6
    listener.wait(31_000)
    assert len(kinds(listener, ChannelSilent)) == 1
    assert listener.compare() == 0


def test_a_chunk_lost_on_both_feeds_is_a_gap_and_a_fault_with_a_name() -> None:
    listener = Listener(29, chunk=40)
    listener.start()
    listener.toy.now_ns += MS
    message = listener.toy.step()
    for datagram in datagrams(listener.toy.number, message, 40)[:-1]:
        listener.events += listener.handler.receive(datagram, Stream.INCREMENTAL, Feed.A, listener.toy.now_ns)
    listener.step(5)
    listener.wait(2_000)
    assert len(kinds(listener, GapDetected)) == 1
    faults = [event.what for event in listener.events if isinstance(event, PacketDamaged)]
    assert faults == ["FAST_MESSAGE_INCOMPLETE"]
    listener.compare()


def test_news_and_lists_are_told_whatever_a_snapshot_covers() -> None:
    """5.2.6: 35=y and 35=B are not in snapshots, and never discarded."""
    listener = Listener(31)
    observed: list[str] = []

    class Telling(Observer):
        def on_definition(self, instrument: Instrument, action: DefinitionAction) -> None:
            observed.append(instrument.symbol)

        def on_news(self, news: News) -> None:
            observed.append(news.headline)

    listener.handler = ChannelHandler(CHANNEL, FAST, observer=Telling())
    listener.step(5)
    toy = listener.toy
    toy.now_ns += MS
    listener.hear(toy.number + 1, toy._send(143, {"Headline": "HALT"}))
    entry = toy._listed(200_000_000_001) | {"SecurityUpdateAction": "M"}
    entry["Symbol"] = "NEWNAME"
    listed = {"TotNoRelatedSym": 1, "LastFragment": "Y", "RelatedSym": [entry]}
    toy.number += 1
    head = {"MsgSeqNum": toy.number, "SendingTime": str(as_number(toy.now_ns))}
    listener.hear(toy.number, toy._encoder.encode(149, head | listed))
    assert observed == ["HALT", "NEWNAME"]


def listed(listener: Listener, security_id: int, action: str) -> None:
    """35=y on the incremental stream."""
    toy = listener.toy
    entry = toy._listed(security_id) | {"SecurityUpdateAction": action}
    toy.number += 1
    head = {"MsgSeqNum": toy.number, "SendingTime": str(as_number(toy.now_ns))}
    fields = {"TotNoRelatedSym": 1, "LastFragment": "Y", "RelatedSym": [entry]}
    listener.hear(toy.number, toy._encoder.encode(149, head | fields))


@pytest.mark.parametrize("told", ["instrument", "group"])
def test_the_state_of_a_created_instrument_is_unknown_until_it_is_told(told: str) -> None:
    """8.1: until the first 35=f that refers to it; what its group is in says nothing."""
    listener = Listener(19)
    listener.start()
    old, created, toy = 200_000_000_002, 200_000_000_020, listener.toy
    listener.hear(toy.number + 1, toy.phase("G0", 17))
    listed(listener, created, "A")
    listed(listener, old, "M")
    book, known = listener.handler.book(created), listener.handler.book(old)
    assert known.instrument is not None
    assert book.instrument is not None
    assert book.instrument.group == known.instrument.group == "G0"
    assert (known.phase, known.state, known.state_status) == (Phase.OPEN, Phase.OPEN, BookStatus.CLEAN)
    assert (book.phase, book.state, book.trading_state, book.state_status) == (
        None, None, None, BookStatus.STALE,
    )  # fmt: skip
    if told == "group":
        listener.hear(toy.number + 1, toy.phase("G0", 17))
    else:
        fields = {
            "SecurityID": created, "SecurityExchange": "BVMF", "SecurityTradingStatus": 17,
            "SecurityTradingEvent": 102, "TransactTime": as_number(toy.now_ns), "TradeDate": 20131016,
        }  # fmt: skip
        listener.hear(toy.number + 1, toy._send(142, fields))
    assert book.phase is Phase.OPEN
    assert book.state is not None
    assert book.trading_state is State.OPEN


def wanted(listener: Listener) -> list[tuple[int, int]]:
    found = kinds(listener, UnitsWanted)
    return [(number_of(each.first), number_of(each.last)) for each in found]


def kinds(listener: Listener, kind: type[Any]) -> list[Any]:
    return [event for event in listener.events if isinstance(event, kind)]
