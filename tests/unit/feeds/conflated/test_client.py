"""The client of PUMA Conflated against a scripted server, in memory: requests, cuts, history, clocks."""

from random import Random
from typing import Any

import pytest

from pregao.codecs.fix import FixMessage
from pregao.feeds.conflated.settings import settings_of
from pregao.feeds.conflated.system import CONFLATED, make_client
from pregao.feeds.session_port import (
    ConnectWanted,
    DisconnectWanted,
    HistoryFilled,
    InstrumentsListed,
    RequestRefused,
    SessionBegun,
    SessionEvent,
    SessionLost,
    SessionMessage,
    SnapshotsTaken,
)
from pregao.handler.session import SessionHandler
from pregao.model.errors import ConfigurationError
from pregao.recovery.instrument_events import DoubtReason, InstrumentStale
from pregao.recovery.instruments import BookStatus
from pregao.sessions.fix import events as fix
from tests.kits.conflated_server import NOW, SECOND, ScriptedServer, definition, instrument
from tests.kits.conflated_wire import DICTIONARY, bid, raw_message

SETTINGS = {
    "system": "conflated", "sender": "SCREENS1", "target": "B3MD", "primary": "127.0.0.1:9700",
    "standbys": ["127.0.0.1:9701", "127.0.0.1:9702"],
}  # fmt: skip


class Link:
    """A client, and a server for each endpoint that is up."""

    def __init__(self, symbols=("PETR4", "VALE3"), *, up=("primary",), **settings: Any) -> None:
        self.client = make_client(settings_of({**SETTINGS, **settings}), DICTIONARY, symbols)
        self.up, self.now_ns = set(up), NOW
        self.servers: dict[str, ScriptedServer] = {}
        self.server: ScriptedServer | None = None
        self.events: list[SessionEvent] = []
        self.wanted: list[tuple[str, int]] = []  # endpoints, and when
        self.make = ScriptedServer

    def start(self) -> "Link":
        self.take(self.client.start(self.now_ns))
        self.settle()
        return self

    def take(self, events: list[SessionEvent]) -> None:
        for event in events:
            self.events.append(event)
            if isinstance(event, ConnectWanted):
                self.wanted.append((event.endpoint.name, (self.now_ns - NOW) // SECOND))
                if event.endpoint.name in self.up:
                    self.server = self.servers.setdefault(event.endpoint.name, self.make())
                    self.server.now_ns = self.now_ns
                    self.server.connect()
                    self.take(self.client.connected(self.now_ns))
                else:
                    self.take(self.client.disconnected("connection refused", self.now_ns))
            elif isinstance(event, DisconnectWanted):
                self.servers = {k: v for k, v in self.servers.items() if v is not self.server}
                self.server = None

    def settle(self) -> None:
        """Bytes back and forth until nobody has any."""
        while self.server is not None:
            data = self.client.data_to_send()
            if data:
                self.server.receive(data)
            back = self.server.data_to_send()
            if back:
                self.take(self.client.receive(back, self.now_ns))
            elif not data:
                break

    def wait(self, seconds: float) -> None:
        """Time passes, a second at a time."""
        until_ns = self.now_ns + int(seconds * SECOND)
        while self.now_ns < until_ns:
            due_ns = self.client.next_timeout()
            self.now_ns = min(until_ns, max(self.now_ns + 1, due_ns or until_ns))
            if self.server is not None:
                self.server.now_ns = self.now_ns
            self.take(self.client.on_timeout(self.now_ns))
            self.settle()

    def cut(self) -> None:
        self.servers = {k: v for k, v in self.servers.items() if v is not self.server}
        self.server = None
        self.take(self.client.disconnected("reset by peer", self.now_ns))

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def types(self) -> list[bytes]:
        return [each.payload.split(b"35=")[1].split(b"\x01")[0] for each in self.told(SessionMessage)]


def test_nothing_is_sent_before_the_answer_to_the_logon():
    link = Link()
    link.take(link.client.start(NOW))
    sent = link.client.data_to_send()
    assert sent.count(b"8=FIX.4.4") == 1
    assert all(field in sent for field in (b"\x0135=A\x01", b"\x01141=Y\x01", b"\x0134=1\x01"))
    assert link.client.data_to_send() == b""


@pytest.mark.parametrize("compress", [False, True])
def test_the_list_then_market_data_of_what_was_chosen(compress):
    link = Link()
    link.make = lambda: ScriptedServer(compress=compress)
    link.start()
    assert [each.msg_type for each in link.server.received] == [b"x", b"V", b"UTOTQ"]
    (listed,), (asked,) = link.server.asked(b"x"), link.server.asked(b"V")
    assert (listed.text(559), listed.text(263)) == ("4", "1")
    assert [each[48] for each in asked.group(146)] == [b"900001", b"900002"]
    assert asked.text(1021) == "3"
    assert link.types() == [b"y", b"y", b"W", b"W", b"UTOTP"]
    assert link.told(InstrumentsListed) == [InstrumentsListed(3)]
    assert [each.is_last for each in link.told(SnapshotsTaken)] == [True]
    assert link.client.is_live
    status = link.client.status()
    assert (status.endpoint, status.epoch, status.awaited) == ("primary", 1, 0)
    counters = status.counters
    assert (counters["snapshots"], counters["gaps"]) == (2, 0)
    assert (counters["received_bytes"] < counters["inflated_bytes"]) is compress


def test_messages_come_out_whole_and_in_order():
    link = Link().start()
    for number in range(5):
        link.server.update(900_001, bid(number + 1, b"10", 100))
    link.settle()
    told = link.told(SessionMessage)
    assert [each.number for each in told] == list(range(2, 2 + len(told)))
    assert all(each.payload.startswith(b"8=FIX.4.4") and each.payload.endswith(b"\x01") for each in told)


def test_all_instruments_are_asked_for_by_their_groups():
    link = Link(symbols=()).start()
    (asked,) = link.server.asked(b"V")
    assert [each[1151] for each in asked.group(37022)] == [b"01"]


def test_filters_of_the_configuration():
    filters = [{"security_type": "PS", "groups": ["01", "02"]}, {"product": 5}]
    link = Link(symbols=(), filter=filters).start()
    lists, asked = link.server.asked(b"x"), link.server.asked(b"V")
    assert [(each.text(167), each.text(460), each.text(559)) for each in lists] == [
        ("PS", "", "1"),
        ("", "5", "2"),
    ]
    assert [(each.text(167), len(each.group(37022)), each.text(460)) for each in asked] == [
        ("PS", 2, ""),
        ("", 0, "5"),
    ]


def test_an_instrument_that_is_listed_later_is_asked_for():
    link = Link(symbols=("PETR4", "NEWS3")).start()
    assert [len(each.group(146)) for each in link.server.asked(b"V")] == [1]
    link.server.send(b"y", {146: [definition("NEWS3", 900_009, _980="A")]})
    link.settle()
    assert [each[48] for each in link.server.asked(b"V")[-1].group(146)] == [b"900009"]


def test_the_primary_again_after_30_s_then_the_standbys():
    link = Link(up=("standby 2",)).start()
    link.wait(35)
    assert link.wanted == [("primary", 0), ("primary", 30), ("standby 1", 30), ("standby 2", 30)]
    assert link.client.is_live
    assert link.client.counters.failed_connections == 3
    # A standby that is lost: the primary first.
    link.up = {"primary"}
    link.cut()
    link.settle()
    assert link.wanted[-1] == ("primary", 35)
    assert link.client.status().epoch == 2


def test_nobody_is_there():
    link = Link(up=()).start()
    link.wait(100)
    round_trip = [("primary", 30), ("standby 1", 30), ("standby 2", 30)]
    assert link.wanted == [("primary", 0), *round_trip, *((name, 60) for name, _ in round_trip),
                           *((name, 90) for name, _ in round_trip)]  # fmt: skip


def test_after_a_cut_everything_is_asked_for_again():
    link = Link().start()
    link.cut()
    assert [type(each) for each in link.events[-1:]] == [SessionLost]
    link.wait(31)
    assert link.wanted == [("primary", 0), ("primary", 30)]
    assert [each.epoch for each in link.told(SessionBegun)] == [1, 2]
    assert [each.msg_type for each in link.server.received] == [b"x", b"V", b"UTOTQ"]
    assert link.client.counters.losses == 1


TRADES = {900_001: list(range(10, 300, 10)), 900_002: [5]}


def trade(number: int) -> dict[int, Any]:
    return {269: b"2", 270: b"10", 271: b"5", 1003: b"%d" % number}


def history_of(link: Link) -> list[int]:
    """Numbers of trades told by UTHP, in order."""
    found = []
    for each in link.told(SessionMessage):
        if b"\x0135=UTHP\x01" in each.payload:
            found += [int(part.split(b"\x01")[0]) for part in each.payload.split(b"\x011003=")[1:]]
    return found


def test_trades_that_were_missed_are_asked_for():
    link = Link().start()
    link.server.update(900_001, trade(10), trade(20), trade(30))
    link.settle()
    assert link.server.asked(b"UTHQ") == []
    link.cut()
    link.make = lambda: with_trades(TRADES)
    link.wait(31)
    assert history_of(link) == list(range(40, 300, 10))
    (asked,) = link.server.asked(b"UTHQ")
    assert [(each[48], each[7174], each[7175]) for each in asked.group(146)] == [(b"900001", b"31", b"290")]
    assert link.told(HistoryFilled) == [HistoryFilled(900_001, 31, 290, True)]
    assert link.client.counters.history_entries == 26


def with_trades(trades: dict[int, list[int]], **settings: Any) -> ScriptedServer:
    server = ScriptedServer()
    server.trades = trades
    for name, value in settings.items():
        setattr(server, name, value)
    return server


@pytest.mark.parametrize(
    ("step", "last", "requests"), [(10, 25_000, 3), (1, 2_500, 3), (7_001, 70_010, 8), (1, 5, 1)]
)
def test_history_takes_pages_until_it_has_the_number_of_the_snapshot(step, last, requests):
    """10,000 numbers and 1,000 entries a request at most."""
    numbers = list(range(step, last + 1, step))
    link = Link(symbols=("PETR4",), history="day")
    link.make = lambda: with_trades({900_001: numbers})
    link.start()
    assert history_of(link) == numbers
    assert link.told(HistoryFilled) == [HistoryFilled(900_001, 0, numbers[-1], True)]
    assert len(link.server.asked(b"UTHQ")) == requests


def test_an_index_is_filled_by_its_sequence():
    link = Link(symbols=("PETR4",)).start()
    link.server.update(900_001, {269: b"3", 270: b"128000", 37100: b"7"})
    link.settle()
    link.cut()

    def make() -> ScriptedServer:
        server = ScriptedServer()
        server.books[900_001] = [{269: b"3", 270: b"128001", 37100: b"9"}]
        return server

    link.make = make
    link.wait(31)
    (asked,) = link.server.asked(b"UTHQ")
    assert [(each[7174], each[7175]) for each in asked.group(146)] == [(b"8", b"9")]


def test_a_server_too_busy_for_history_is_asked_again_and_one_that_refuses_is_not():
    link = Link(symbols=("PETR4",), history="day")
    link.make = lambda: with_trades({900_001: [10]}, refuse_history=b"T")
    link.start()
    assert len(link.server.asked(b"UTHQ")) == 1
    link.wait(1)
    assert len(link.server.asked(b"UTHQ")) == 2
    link.server.refuse_history = b""
    link.wait(1)
    assert history_of(link) == [10]
    refused = Link(symbols=("PETR4",), history="day")
    refused.make = lambda: with_trades({900_001: [10]}, refuse_history=b"3")
    refused.start()
    assert refused.told(RequestRefused) == [RequestRefused("trade history H4", "insufficient permissions")]
    assert refused.told(HistoryFilled) == [HistoryFilled(900_001, 0, 10, False)]
    refused.wait(20)
    assert len(refused.server.asked(b"UTHQ")) == 1


def test_a_cut_in_the_middle_of_history_asks_for_the_rest_and_tells_nothing_twice():
    link = Link(symbols=("PETR4",), history="day")

    def make() -> ScriptedServer:
        server = with_trades({900_001: list(range(1, 1_501))})
        server.handlers[b"UTHQ"] = lambda message: len(server.asked(b"UTHQ")) > 1  # no second answer
        return server

    link.make = make
    link.start()
    assert len(history_of(link)) == 1_000
    link.server.update(900_001, trade(1_600))
    link.settle()
    link.cut()
    link.make = lambda: with_trades({900_001: [*range(1, 1_501), 1_600, 1_700]})
    link.wait(31)
    assert history_of(link) == [*range(1, 1_501), 1_700]


def test_another_day_begins_its_numbers_again():
    link = Link(symbols=("PETR4",)).start()
    link.server.update(900_001, trade(5_000))
    link.settle()
    link.cut()
    link.make = lambda: with_trades({900_001: [10, 20]})
    link.wait(31)
    assert history_of(link) == [10, 20]


@pytest.mark.parametrize(
    ("reason", "told"),
    [(b"3", "insufficient permissions"), (b"M", "too many subscriptions"), (b"Z", "invalid request")],
)
def test_a_subscription_that_is_refused_is_told_once(reason, told):
    link = Link(symbols=("PETR4",), totals=False)
    server = ScriptedServer()

    def refuse(message: FixMessage) -> bool:
        server.send(b"Y", {262: message.text(262), 281: reason})
        return True

    server.handlers[b"V"] = refuse
    link.make = lambda: server
    link.start()
    link.wait(70)
    assert link.told(RequestRefused) == [RequestRefused("market data M2", told)]
    assert len(server.asked(b"V")) == 1
    assert link.client.is_live


def test_a_subscription_that_a_server_is_too_busy_for_is_asked_for_again():
    link = Link(symbols=("PETR4",))
    server, busy = ScriptedServer(), [True, True]

    def refuse(message: FixMessage) -> bool:
        if busy:
            busy.pop()
            server.send(b"Y", {262: message.text(262), 281: b"T"})
            return True
        return False

    server.handlers[b"V"] = refuse
    link.make = lambda: server
    link.start()
    link.wait(3)
    names = [each.text(262) for each in server.asked(b"V")]
    assert len(names) == len(set(names)) == 3
    assert b"W" in link.types()
    assert link.told(RequestRefused) == []


def test_a_message_of_ours_that_is_rejected_is_not_sent_again():
    link = Link(symbols=("PETR4",), totals=False)
    server = ScriptedServer()

    def reject(message: FixMessage) -> bool:
        server.session.core.refuse_type(message, message.integer(34), server.now_ns)
        return True

    server.handlers[b"V"] = reject
    link.make = lambda: server
    link.start()
    link.wait(10)
    assert link.told(RequestRefused) == [RequestRefused("market data M2", "Unsupported Message Type")]
    assert len(server.asked(b"V")) == 1


def test_a_book_that_is_wrong_gets_its_snapshot_again_and_the_subscription_for_it_ends():
    link = Link(symbols=("PETR4",)).start()
    before = len(link.server.asked(b"V"))
    link.take(link.client.refresh(900_001, link.now_ns))
    link.take(link.client.refresh(900_001, link.now_ns))  # once is enough
    link.settle()
    link.wait(1)
    asked = link.server.asked(b"V")[before:]
    assert [each.text(263) for each in asked] == ["1", "2"]
    assert asked[0].text(262) == asked[1].text(262)
    assert link.types().count(b"W") == 2


def test_answers_that_never_come_end_the_connection():
    link = Link(symbols=("PETR4",), answer_s=20)
    server = ScriptedServer()
    server.handlers[b"x"] = lambda message: True
    link.make = lambda: server
    link.start()
    link.wait(21)
    assert link.told(DisconnectWanted) == [DisconnectWanted("no answer in time")]


def test_a_server_that_falls_silent_is_left():
    link = Link(symbols=("PETR4",), heartbeat_s=10).start()
    server = link.server
    link.server = None  # nothing passes any more
    link.wait(25)
    assert link.told(DisconnectWanted)[0].reason == "No message in two heartbeat intervals"
    assert server is not None


def test_a_gap_is_filled_by_resending():
    link = Link(symbols=("PETR4",))
    link.make = lambda: ScriptedServer(compress=False)
    link.start()
    link.server.update(900_001, bid(1, b"10", 1))
    link.server.data_to_send()  # the server lost it before it was sent
    link.server.update(900_001, bid(2, b"10", 1))
    link.settle()
    assert [each.number for each in link.told(SessionMessage)] == list(
        range(2, 2 + len(link.told(SessionMessage)))
    )
    counters = link.client.counters
    assert (counters.gaps, counters.resends) == (1, 1)


def test_answers_in_another_order():
    """Snapshots before the last part of a list, totals before both: nothing waits for what has come."""
    link = Link(symbols=("PETR4", "VALE3"))
    server = ScriptedServer()
    kept: list[FixMessage] = []

    def hold(message: FixMessage) -> bool:
        kept.append(message)
        return True

    server.handlers[b"V"] = hold
    link.make = lambda: server
    link.start()
    (request,) = kept
    name = request.text(262)
    for security_id, last in ((900_002, {}), (900_001, {893: "Y"})):
        server.update(900_003, bid(1, b"1", 1))
        server.send(b"W", {262: name, 911: 2, **instrument(security_id), 268: [], **last})
    link.settle()
    assert [each.snapshots for each in link.told(SnapshotsTaken)] == [2]


def test_a_clock_that_is_set_back_and_one_that_jumps():
    link = Link(symbols=("PETR4",), up=()).start()
    link.now_ns -= 3_600 * SECOND
    link.take(link.client.on_timeout(link.now_ns))
    assert link.client.next_timeout() == link.now_ns + 30 * SECOND
    link.up = {"primary"}
    link.wait(31)
    assert link.client.is_live
    before = link.client.next_timeout()
    link.now_ns -= 7_200 * SECOND
    link.server.now_ns = link.now_ns
    link.take(link.client.on_timeout(link.now_ns))
    link.settle()
    assert link.client.is_live
    assert link.client.next_timeout() <= link.now_ns + 30 * SECOND < before
    link.now_ns += 60 * SECOND  # the test request is answered: nobody was silent
    link.server.now_ns = link.now_ns
    link.take(link.client.on_timeout(link.now_ns))
    link.settle()
    assert link.client.is_live


def test_stopping_logs_out():
    link = Link(symbols=("PETR4",)).start()
    server = link.server
    link.take(link.client.stop(link.now_ns))
    link.settle()
    assert any(isinstance(event, fix.LoggedOut) for event in server.events)
    assert len(link.told(DisconnectWanted)) == 1
    link.wait(100)
    assert link.wanted == [("primary", 0)]


@pytest.mark.parametrize("seed", range(5))
def test_however_connections_break_trades_are_told_once_and_in_order(seed):
    """Cuts at random moments, failovers and busy servers: every trade of the day, each once."""
    random, trades = Random(f"conflated/{seed}"), list[int]()
    link = Link(symbols=("PETR4",), history="day", up=("primary", "standby 1", "standby 2"))
    link.make = lambda: with_trades({900_001: trades})
    link.start()
    number = 0
    for _ in range(150):
        number += random.choice((10, 10, 20))
        trades.append(number)
        if link.server is not None and link.client.is_live:
            link.server.update(900_001, trade(number))
            if random.random() < 0.8:
                link.settle()
        if random.random() < 0.1 and link.server is not None:
            link.cut()
        link.up = set(random.sample(["primary", "standby 1", "standby 2"], random.randint(1, 3)))
        link.wait(random.choice((0, 0, 0, 12, 40)))
    link.up = {"primary", "standby 1", "standby 2"}
    link.wait(120)
    found = []
    for each in link.told(SessionMessage):
        if b"\x0135=UTHP\x01" in each.payload or b"\x0135=X\x01" in each.payload:
            found += [int(part.split(b"\x01")[0]) for part in each.payload.split(b"\x011003=")[1:]]
    assert sorted(found) == trades


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sender": ""}, "sender"), ({"primary": "nowhere"}, "primary"), ({"standbys": ["a:0"]}, "standby"),
        ({"heartbeat_s": 0}, "heartbeat_s"), ({"history": "all"}, "history"), ({"colour": 1}, "colour"),
        ({"filter": [{}]}, "filter"), ({"filter": [{"product": "x"}]}, "product"), ({"totals": 1}, "totals"),
        ({"price_depth": "yes"}, "price_depth"), ({"heartbeats": 1}, "heartbeats"),
    ],
)  # fmt: skip
def test_a_session_file_that_is_wrong(change, key):
    with pytest.raises(ConfigurationError) as raised:
        settings_of({**SETTINGS, **change}, "session.toml")
    assert raised.value.key == key


def test_an_empty_set_may_come_without_counts():
    """7.5.1 and 7.4.1 promise answers without instruments; nothing but 268 is required of such a 35=W."""
    link = Link(symbols=(), filter=[{"security_type": "CS"}])

    def make():
        server = ScriptedServer()
        server.handlers[b"x"] = lambda message: not server.send(b"y", {320: message.text(320), 560: "0"})
        server.handlers[b"V"] = lambda message: not server.send(b"W", {262: message.text(262), 268: []})
        return server

    link.make = make
    link.start()
    assert [each.msg_type for each in link.server.received] == [b"x", b"V", b"UTOTQ"]
    assert link.client.status().awaited == 0
    assert [(each.snapshots, each.is_last) for each in link.told(SnapshotsTaken)] == [(0, True)]
    assert link.told(SessionLost) == []


def test_an_update_that_cannot_be_read_makes_its_book_stale():
    """It is rejected (35=3), and says something of a book that nobody knows now."""
    link = Link(["PETR4"])
    link.make = lambda: ScriptedServer(compress=False)
    link.start()
    handler = SessionHandler(0, CONFLATED)
    handler.begin(NOW)

    def settle():
        link.settle()
        messages = [each for each in link.events if isinstance(each, SessionMessage)]
        link.events.clear()
        return handler.take(messages, link.now_ns)

    settle()
    assert handler.book(900_001).status is BookStatus.CLEAN
    core = link.server.session.core
    entry = [(279, b"0"), (48, b"900001"), (269, b"0"), (37, b"7"), (270, b"10"), (271, b"5")]
    text = raw_message(b"X", [(268, b"2"), *entry], core.record.numbers.next_out)
    text = text.replace(b"\x0149=B3\x01", b"\x0149=B3MD\x01").replace(
        b"\x0156=US\x01", b"\x0156=SCREENS1\x01"
    )
    link.take(link.client.receive(reframed(text), link.now_ns))
    core.record.numbers.next_out += 1
    events = settle()
    assert [each.reason for each in events if isinstance(each, InstrumentStale)] == [DoubtReason.SUSPECT]
    assert handler.book(900_001).status is BookStatus.STALE
    assert link.client.status().counters["rejects"] == 1


def reframed(text: bytes) -> bytes:
    """With its length and sum as they are."""
    body = text.split(b"\x01", 2)[2].rsplit(b"10=", 1)[0]
    start = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
    return start + b"10=%03d\x01" % (sum(start) % 256)
