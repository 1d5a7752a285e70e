"""Requests of 7.4 to 7.7 over sessions in memory: answers, and each code of an error."""

import zlib
from typing import Any

import pytest

from pregao.codecs.fix import Encoder, FixMessage, parse_message
from pregao.codecs.fix.formats import format_timestamp
from pregao.exchange.commands import BustTrade, CrossOrder, NewOrder
from pregao.exchange.control import (
    AddInstrument,
    ChangeInstrument,
    ChangePhase,
    ChangeSession,
    DeleteInstrument,
    EndAuction,
    SendNews,
    StartAuction,
)
from pregao.feeds.serving import Permissions, SessionGrant, SessionLimits
from pregao.model import events as e
from pregao.model.instruments import Instrument
from pregao.model.market import Phase, Session, Side
from pregao.sessions.fix.events import ConnectionCut, LoggedOut, RejectReceived
from tests.kits.conflated import DICTIONARY, MS, SECOND, Client, ClientBook, Engine, small_catalogue

TICK = 380 * MS


def instruments() -> tuple[Instrument, ...]:
    return small_catalogue().instruments


def logged_on(*grants: SessionGrant, **settings: Any) -> tuple[Engine, Client]:
    engine = Engine(**settings)
    engine.pass_time(engine.now_ns + TICK)
    server = engine.server(*grants)
    comp_id = grants[0].comp_id if grants else "CLIENT"
    return engine, Client(server, comp_id, now_ns=engine.now_ns)


def results(messages: list[FixMessage]) -> list[tuple[bytes, str]]:
    """Types, and 560 or 281."""
    return [(each.msg_type, each.text(560) or each.text(281)) for each in messages]


def entries(messages: list[FixMessage], msg_type: bytes = b"X") -> list[dict[int, Any]]:
    return [entry for each in messages if each.msg_type == msg_type for entry in each.group(268)]


def test_a_new_trading_day_begins_at_one_on_both_sides() -> None:
    """4.4.1: the first logon of a day has 34=1, though nobody says 141=Y; on the same day it is too low."""
    engine, client = logged_on()
    client.ask(b"UTOTQ", {262: "T", 263: "1"})
    client.connection.disconnected(engine.now_ns)

    def log_on_with_one() -> FixMessage | None:
        connection = client.server.accept("127.0.0.1", engine.now_ns)
        assert connection is not None
        header = {34: 1, 49: "CLIENT", 52: engine.now_ns, 56: "B3"}
        connection.receive(Encoder(DICTIONARY).message(b"A", header, {98: 0, 108: 30}), engine.now_ns)
        data = connection.data_to_send()
        plain = zlib.decompressobj().decompress(data)
        return parse_message(plain, DICTIONARY) if plain else None

    assert log_on_with_one() is None
    later = e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.OPEN, None, engine.feed.trade_date + 1, 1)
    engine.feed.publish(e.Event((later,)), engine.now_ns)
    answer = log_on_with_one()
    assert answer is not None
    assert (answer.msg_type, answer.text(34), answer.text(141)) == (b"A", "1", "")


# Security lists


def test_all_instruments_come_fifteen_a_message() -> None:
    engine, client = logged_on()
    messages = client.ask(b"x", {320: "A", 263: "1", 559: 4})
    listed = len(engine.feed.instruments)
    assert [len(each.group(146)) for each in messages] == [
        min(15, listed),
        *([listed - 15] if listed > 15 else []),
    ]
    assert [each.text(893) for each in messages] == [*[""] * (len(messages) - 1), "Y"]
    assert {each.text(320) for each in messages} == {"A"}
    assert len({each.text(322) for each in messages}) == len(messages)
    assert {(each.text(560), each.text(393)) for each in messages} == {("0", str(listed))}
    assert {entry[980] for each in messages for entry in each.group(146)} == {b"M"}


def test_many_messages_end_with_the_last_fragment() -> None:
    """More than one message of 15."""
    engine, client = logged_on()
    first = instruments()[0]
    for place in range(20):
        command = AddInstrument(engine.now_ns, 300_000 + place, f"NEW{place}", first.security_id)
        assert engine.submit(command).rejection is None
    messages = client.ask(b"x", {320: "A", 263: "1", 559: 4})
    sizes = [len(each.group(146)) for each in messages]
    assert sizes == [15] * (len(sizes) - 1) + [sizes[-1]]
    assert sum(sizes) == len(engine.feed.instruments) > 30
    assert [each.text(893) for each in messages] == [""] * (len(sizes) - 1) + ["Y"]


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, "1"), ({559: 1}, "1"), ({559: 2}, "1"), ({559: 1, 460: 5}, "1"), ({559: 0}, "1"),
        ({559: 3, 460: 5}, "1"), ({559: 5}, "1"), ({559: 2, 460: 5}, "0"), ({559: 1, 167: "CS"}, "0"),
        ({559: 1, 461: "E"}, "0"), ({460: 5}, "0"), ({461: "E"}, "0"), ({559: 4}, "0"),
    ],
)  # fmt: skip
def test_a_list_needs_a_filter_that_fits_its_kind(fields: dict[int, Any], result: str) -> None:
    _, client = logged_on()
    messages = client.ask(b"x", {320: "A", 263: "1"} | fields)
    assert messages[0].text(560) == result
    if result == "1":
        assert len(messages) == 1
        assert 146 not in messages[0].body


def test_filters_of_a_list_must_all_match() -> None:
    _, client = logged_on()
    wanted = [each for each in instruments() if each.product == 5 and each.cfi_code.startswith("ES")]
    messages = client.ask(b"x", {320: "A", 263: "1", 460: 5, 461: "ES"})
    found = [entry[55].decode() for each in messages for entry in each.group(146)]
    assert found == [each.symbol for each in wanted] != []


def test_an_empty_set_is_an_answer() -> None:
    _, client = logged_on()
    (message,) = client.ask(b"x", {320: "A", 263: "1", 461: "ZZZZZZ"})
    assert (message.text(560), message.text(393), message.body[146]) == ("0", "0", [])


def test_errors_and_cancels_of_lists() -> None:
    """560: 6 twice the same id, M too many, 1 unknown cancel or another 263, 0 a cancel."""
    limits = SessionLimits(lists=2)
    _, client = logged_on(SessionGrant("CLIENT", limits=limits))
    ask = {263: "1", 460: 5}
    assert client.ask(b"x", {320: "A"} | ask)[0].text(560) == "0"
    assert results(client.ask(b"x", {320: "A"} | ask)) == [(b"y", "6")]
    assert client.ask(b"x", {320: "B"} | ask)[0].text(560) == "0"
    assert results(client.ask(b"x", {320: "C"} | ask)) == [(b"y", "M")]
    assert results(client.ask(b"x", {320: "C", 263: "2"})) == [(b"y", "1")]
    assert results(client.ask(b"x", {320: "B", 263: "0"})) == [(b"y", "1")]
    assert results(client.ask(b"x", {320: "B", 263: "2"})) == [(b"y", "0")]
    assert client.ask(b"x", {320: "C"} | ask)[0].text(560) == "0"


def test_only_what_changed_since_is_listed() -> None:
    engine, client = logged_on()
    since_ns = engine.now_ns + SECOND
    engine.pass_time(since_ns + SECOND)
    changed = instruments()[0]
    outcome = engine.submit(ChangeInstrument(engine.now_ns, changed.security_id, description="Other words"))
    assert outcome.rejection is None
    since = format_timestamp(since_ns)
    messages = client.ask(b"x", {320: "A", 263: "1", 559: 4, 6935: since})
    assert [entry[55].decode() for each in messages for entry in each.group(146)] == [changed.symbol]


def test_instruments_that_come_change_and_go_are_told_once() -> None:
    """980 A, M, D, without the tags of a request, though two lists have the instrument."""
    engine, client = logged_on()
    for request_id in ("A", "B"):
        client.ask(b"x", {320: request_id, 263: "1", 559: 4})
    client.take()
    first = instruments()[0]
    assert engine.submit(AddInstrument(engine.now_ns, 300_000, "NEWX3", first.security_id)).rejection is None
    added = 300_000
    engine.submit(ChangeInstrument(engine.now_ns, added, description="Other words"))
    engine.submit(DeleteInstrument(engine.now_ns, added))
    engine.pass_time(engine.now_ns + SECOND)
    told = [each for each in client.take() if each.msg_type == b"y"]
    assert [each.group(146)[0][980] for each in told] == [b"A", b"M", b"D"]
    assert all(tag not in each.body for each in told for tag in (320, 322, 560, 393, 893))


def test_a_list_has_only_what_is_permitted() -> None:
    group = instruments()[0].group
    _, client = logged_on(SessionGrant("CLIENT", permissions=Permissions(groups=frozenset((group,)))))
    messages = client.ask(b"x", {320: "A", 263: "1", 559: 4})
    groups = {entry[1151].decode() for each in messages for entry in each.group(146)}
    assert groups == {group}


# Market data


def test_one_snapshot_an_instrument_and_then_increments() -> None:
    engine, client = logged_on()
    engine.trade(60, SECOND)
    wanted = [each.security_id for each in instruments()[:3]]
    messages = client.subscribe("A", *wanted)
    assert [each.msg_type for each in messages] == [b"W"] * 3
    assert [each.text(893) for each in messages] == ["", "", "Y"]
    assert {(each.text(262), each.text(911)) for each in messages} == {("A", "3")}
    assert sorted(int(each.text(48)) for each in messages) == sorted(wanted)
    books = {int(each.text(48)): ClientBook() for each in messages}
    for each in messages:
        books[int(each.text(48))].snapshot(each)
    for _ in range(5):
        engine.trade(60, TICK)
        client.now_ns = engine.now_ns
        client.take_into(books)
    engine.pass_time(engine.now_ns + TICK)
    client.take_into(books)
    for security_id, book in books.items():
        bids, offers = engine.feed.books.orders.published(security_id)
        assert {int(order_id) for _, order_id in book.orders} == {each.order_id for each in (*bids, *offers)}
    assert any(book.orders for book in books.values())


def test_two_subscriptions_of_an_instrument_bring_each_increment_once() -> None:
    engine, client = logged_on()
    security_id = instruments()[0].security_id
    assert len(client.subscribe("A", security_id)) == len(client.subscribe("B", security_id)) == 1
    price = small_catalogue().listings[0].closing
    client.take()
    engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 100, price))
    engine.pass_time(engine.now_ns + TICK)
    assert len(entries(client.take())) == 1
    assert client.ask(b"V", {262: "A", 263: "2", 1021: 3}) == []
    engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 100, price))
    engine.pass_time(engine.now_ns + TICK)
    assert len(entries(client.take())) == 1
    assert client.ask(b"V", {262: "B", 263: "2", 1021: 3}) == []
    assert results(client.subscribe("B", security_id)) == [(b"W", "")]  # its id is free again
    assert client.ask(b"V", {262: "B", 263: "2", 1021: 3}) == []
    engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 100, price))
    engine.pass_time(engine.now_ns + TICK)
    assert entries(client.take()) == []


def test_a_snapshot_between_two_ticks_has_the_book_of_the_last() -> None:
    engine, client = logged_on()
    security_id, price = instruments()[0].security_id, small_catalogue().listings[0].closing
    engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 100, price))
    (snapshot,) = client.subscribe("A", security_id)
    assert [entry for entry in snapshot.group(268) if entry[269] == b"0"] == []
    client.take()
    engine.pass_time(engine.now_ns + TICK)
    assert [entry[271] for entry in entries(client.take())] == [b"100"]


@pytest.mark.parametrize("tag", [167, 460, 461, 37022])
def test_filters_of_market_data(tag: int) -> None:
    _, client = logged_on()
    first = instruments()[0]
    values: dict[int, Any] = {
        167: first.security_type.name, 460: int(first.product), 461: first.cfi_code[:2],
        37022: [{1151: first.group}, {1151: "none"}],
    }  # fmt: skip
    tests = {
        167: lambda each: each.security_type is first.security_type,
        460: lambda each: each.product is first.product,
        461: lambda each: each.cfi_code.startswith(first.cfi_code[:2]),
        37022: lambda each: each.group == first.group,
    }
    messages = client.subscribe("A", fields={tag: values[tag]})
    assert [int(each.text(48)) for each in messages] == [
        each.security_id for each in instruments() if tests[tag](each)
    ]


def test_filters_of_market_data_must_all_match_and_values_of_a_group_any() -> None:
    _, client = logged_on()
    groups = sorted({each.group for each in instruments()})[:2]
    first = next(each for each in instruments() if each.group == groups[0])
    wanted = [
        each.security_id for each in instruments()
        if each.group in groups and each.product is first.product and each.cfi_code[0] == first.cfi_code[0]
    ]  # fmt: skip
    fields = {37022: [{1151: each} for each in groups], 460: int(first.product), 461: first.cfi_code[0]}
    messages = client.subscribe("A", fields=fields)
    assert [int(each.text(48)) for each in messages] == wanted
    assert 0 < len(wanted) < len(instruments())
    ids = [{48: str(each.security_id), 22: "8", 207: "BVMF"} for each in instruments()]
    messages = client.subscribe("B", fields=fields | {146: ids})
    assert sorted(int(each.text(48)) for each in messages) == sorted(wanted)


def test_of_what_matches_only_what_is_permitted_is_told() -> None:
    """Snapshots, instruments that come later, and their updates."""
    group = instruments()[0].group
    other = next(each for each in instruments() if each.group != group)
    grant = SessionGrant("CLIENT", permissions=Permissions(groups=frozenset((group,))))
    engine, client = logged_on(grant)
    both = (instruments()[0].security_id, other.security_id)
    assert [int(each.text(48)) for each in client.subscribe("A", *both)] == [both[0]]
    groups = [{1151: each} for each in (group, other.group)]
    client.subscribe("B", fields={37022: groups})
    client.ask(b"x", {320: "L", 263: "1", 559: 4})
    client.take()
    for security_id, like in ((300_000, both[0]), (300_001, both[1])):
        command = AddInstrument(engine.now_ns, security_id, f"NEW{security_id}", like)
        assert engine.submit(command).rejection is None
        price = next(
            each.closing for each in small_catalogue().listings if each.instrument.security_id == like
        )
        engine.submit(NewOrder(engine.now_ns, security_id, Side.BUY, 1_000, price))
    engine.pass_time(engine.now_ns + TICK)
    told = client.take()
    assert {int(entry[48]) for each in told if each.msg_type == b"y" for entry in each.group(146)} == {
        300_000
    }
    updated = {int(entry[48]) for entry in entries(told)}
    assert 300_000 in updated
    assert 300_001 not in updated


@pytest.mark.parametrize("instrument", [{48: "999", 22: "8", 207: "BVMF"}, {48: "1", 22: "8", 207: "XNYS"}])
def test_an_unknown_instrument_is_an_empty_set(instrument: dict[int, Any]) -> None:
    _, client = logged_on()
    (message,) = client.subscribe("A", fields={146: [instrument]})
    assert message.msg_type == b"W"
    assert (message.text(911), message.text(893), message.body[268]) == ("0", "Y", [])


def test_every_reason_of_a_refused_subscription() -> None:
    group = instruments()[0].group
    other = next(each for each in instruments() if each.group != group)
    allowed = [each.security_id for each in instruments() if each.group == group]
    grant = SessionGrant(
        "CLIENT", permissions=Permissions(groups=frozenset((group,))), limits=SessionLimits(subscriptions=1)
    )
    _, client = logged_on(grant)
    assert results(client.subscribe("A", other.security_id)) == [(b"Y", "3")]
    assert results(client.subscribe("A")) == [(b"Y", "Z")]
    assert results(client.subscribe("A", allowed[0], fields={1021: 2})) == [(b"Y", "Z")]
    assert results(client.subscribe("A", allowed[0], fields={263: "0"})) == [(b"Y", "4")]
    assert results(client.ask(b"V", {262: "A", 263: "2", 1021: 3})) == [(b"Y", "Y")]
    assert results(client.subscribe("A", allowed[0])) == [(b"W", "")]
    (duplicate,) = client.subscribe("A", allowed[0])
    assert (duplicate.text(281), duplicate.text(262), duplicate.text(58)) == ("1", "A", "Duplicate MDReqID")
    assert results(client.subscribe("B", allowed[0])) == [(b"Y", "M")]


def test_a_request_while_snapshots_are_sent_is_refused() -> None:
    """281=T: both requests are in one packet, so the first is not answered yet."""
    _, client = logged_on()
    for request_id in ("A", "B"):
        client.session.send(b"V", {262: request_id, 263: "1", 1021: 3, 460: 5}, client.now_ns)
    client.pump()
    answered = [each for each in client.take() if each.msg_type in (b"Y", b"W")]
    assert [(each.text(262), each.text(281)) for each in answered if each.msg_type == b"Y"] == [("B", "T")]
    assert results(client.subscribe("B", fields={460: 5}))[-1] == (b"W", "")


def test_market_data_without_a_book_type_is_rejected_by_the_session() -> None:
    """35=3 with 373=1 and 371=1021."""
    _, client = logged_on()
    assert client.ask(b"V", {262: "A", 263: "1", 460: 5}) == []
    (reject,) = [each.message for each in client.events if isinstance(each, RejectReceived)]
    assert (reject.text(373), reject.text(371)) == ("1", "1021")


def test_an_instrument_that_comes_later_begins_with_increments() -> None:
    engine, client = logged_on()
    first = instruments()[0]
    client.subscribe("A", fields={37022: [{1151: first.group}]})
    client.take()
    assert engine.submit(AddInstrument(engine.now_ns, 300_000, "NEWX3", first.security_id)).rejection is None
    added = 300_000
    price = small_catalogue().listings[0].closing
    engine.submit(NewOrder(engine.now_ns, added, Side.BUY, 100, price))
    engine.pass_time(engine.now_ns + TICK)
    assert added in {int(entry[48]) for entry in entries(client.take())}
    engine.submit(DeleteInstrument(engine.now_ns, added))
    engine.pass_time(engine.now_ns + TICK)
    client.take()
    assert added not in client.connection.subscriber.live


def test_trades_come_before_the_tick() -> None:
    engine, client = logged_on()
    security_id, price = instruments()[0].security_id, small_catalogue().listings[0].closing
    client.subscribe("A", security_id)
    client.take()
    began_ns = engine.now_ns
    assert engine.submit(CrossOrder(began_ns, security_id, 1_000, price, 3, 8)).rejection is None
    engine.pass_time(began_ns + 20 * MS)
    kinds = [entry[269] for entry in entries(client.take())]
    assert b"2" in kinds
    assert b"B" in kinds


def test_a_new_session_forgets_statistics_and_auctions_end_with_theirs() -> None:
    """7.5.5: after 1174=4 no 35=W has 269=2, 4, 7, 8, 9 or B; 7.8.8: the theoretical price and the imbalance
    go with the auction."""
    engine, client, security_id = traded(2)
    first = instruments()[0]

    def told(request_id: str) -> list[dict[int, Any]]:
        return entries(client.subscribe(request_id, security_id), b"W")

    kinds = [entry[269] for entry in told("A")]
    assert {b"2", b"4", b"7", b"8", b"9", b"B"} <= set(kinds)
    engine.submit(StartAuction(engine.now_ns, security_id))
    price, tick = small_catalogue().listings[0].closing, first.tick
    for side, away in ((Side.BUY, 2), (Side.SELL, -2)):
        engine.submit(NewOrder(engine.now_ns, security_id, side, 1_000 * side, price + away * tick))
    during = [(entry[269], entry.get(286)) for entry in told("B")]
    assert (b"4", b"5") in during
    assert b"A" in dict(during)
    engine.submit(EndAuction(engine.now_ns, security_id))
    after = [(entry[269], entry.get(286)) for entry in told("C")]
    assert (b"4", b"5") not in after
    assert b"A" not in dict(after)
    client.take()
    engine.submit(ChangePhase(engine.now_ns, first.group, first.exchange, Phase.CLOSE))
    date = engine.feed.trade_date
    change = ChangeSession(engine.now_ns, first.group, first.exchange, Session.NON_REGULAR, date)
    assert engine.submit(change).rejection is None
    engine.pass_time(engine.now_ns + SECOND)
    events = [each.text(1174) for each in client.take() if each.msg_type == b"f"]
    assert "4" in events
    left = {entry[269] for entry in told("D")}
    assert not left & {b"2", b"4", b"7", b"8", b"9", b"B"}


def test_news_and_phases_go_to_who_holds_a_subscription() -> None:
    engine, client = logged_on(SessionGrant("CLIENT"), SessionGrant("OTHER"))
    idle = Client(client.server, "OTHER", now_ns=engine.now_ns)
    client.subscribe("A", instruments()[0].security_id)
    client.take()
    engine.submit(SendNews(engine.now_ns, "Leilão", "não"))
    engine.pass_time(engine.now_ns + SECOND)
    (news,) = [each for each in client.take() if each.msg_type == b"B"]
    assert (news.header[347], news.body[359]) == (b"UTF-8", "Leilão".encode())
    assert [each for each in idle.take() if each.msg_type == b"B"] == []


def test_too_many_requests_end_the_session() -> None:
    _, client = logged_on(SessionGrant("CLIENT", limits=SessionLimits(requests_a_second=5)))
    for place in range(6):
        if client.session.core.is_live:
            client.ask(b"x", {320: f"{place}", 263: "1", 460: 5})
    assert [type(each) for each in client.events][-1] is ConnectionCut
    assert client.connection.is_over


# Trade history


def traded(count: int) -> tuple[Engine, Client, int]:
    engine, client = logged_on()
    security_id, price = instruments()[0].security_id, small_catalogue().listings[0].closing
    for _ in range(count):
        assert engine.submit(CrossOrder(engine.now_ns, security_id, 1_000, price, 3, 8)).rejection is None
    return engine, client, security_id


def history(client: Client, *spans: tuple[int, int, int], kind: str = "0") -> list[FixMessage]:
    asked = [{48: str(each), 22: "8", 207: "BVMF", 7174: begin, 7175: end} for each, begin, end in spans]
    return client.ask(b"UTHQ", {262: "H", 263: kind, 146: asked})


def test_trades_are_asked_for_by_their_numbers() -> None:
    """Both ends are included; a bust stands behind its trade."""
    engine, client, security_id = traded(5)
    (answer,) = history(client, (security_id, 0, 10_000))
    ids = [int(entry[1003]) for entry in answer.group(268)]
    assert len(ids) == 5
    assert answer.text(893) == "Y"
    (some,) = history(client, (security_id, ids[1], ids[3]))
    assert [int(entry[1003]) for entry in some.group(268)] == ids[1:4]
    engine.submit(BustTrade(engine.now_ns, security_id, ids[2]))
    (again,) = history(client, (security_id, ids[2], ids[2]))
    assert [entry[279] for entry in again.group(268)] == [b"0", b"2"]


def test_a_snapshot_says_how_far_the_history_goes() -> None:
    _, client, security_id = traded(3)
    (snapshot,) = client.subscribe("A", security_id)
    (last,) = [entry for entry in snapshot.group(268) if entry[269] == b"2"]
    (answer,) = history(client, (security_id, 0, 10_000))
    assert answer.group(268)[-1][1003] == last[1003]


def test_each_instrument_of_a_history_has_its_message() -> None:
    _, client, security_id = traded(2)
    other = instruments()[1].security_id
    one, two = history(client, (security_id, 0, 100), (other, 0, 100))
    assert (int(one.text(48)), len(one.group(268)), one.text(893)) == (security_id, 2, "")
    assert (int(two.text(48)), len(two.group(268)), two.text(893)) == (other, 0, "Y")


def test_a_thousand_entries_are_the_most_of_a_request() -> None:
    engine, client, security_id = traded(1)
    entry = {269: b"2", 279: b"0", 272: b"20261117", 273: b"12:00:00.000", 270: b"1.00", 271: b"1"}
    for number in range(2_000, 3_500):
        engine.feed.history.add(security_id, entry | {1003: b"%d" % number})
    (answer,) = history(client, (security_id, 2_000, 3_500))
    assert [int(each[1003]) for each in answer.group(268)] == list(range(2_000, 3_000))
    (rest,) = history(client, (security_id, 3_000, 3_500))
    assert len(rest.group(268)) == 500


def test_every_reason_of_a_refused_history() -> None:
    group = instruments()[0].group
    other = next(each for each in instruments() if each.group != group).security_id
    grant = SessionGrant("CLIENT", permissions=Permissions(groups=frozenset((group,))))
    engine, client = logged_on(grant)
    security_id = instruments()[0].security_id
    assert results(history(client, (999, 0, 1))) == [(b"UTHP", "0")]
    assert results(history(client, (other, 0, 1))) == [(b"UTHP", "3")]
    assert results(history(client, (security_id, 0, 1), kind="1")) == [(b"UTHP", "4")]
    assert results(history(client, (security_id, 0, 10_001))) == [(b"UTHP", "Z")]
    assert results(history(client, (security_id, 5, 4))) == [(b"UTHP", "Z")]
    assert results(history(client, *[(security_id, 0, 1)] * 51)) == [(b"UTHP", "Z")]
    assert len(history(client, *[(security_id, 0, 1)] * 50)) == 50
    engine.feed.history_available = False
    assert results(history(client, (security_id, 0, 1))) == [(b"UTHP", "X")]
    engine.feed.history_available = True
    for _ in range(2):
        asked = [{48: str(security_id), 22: "8", 207: "BVMF", 7174: 0, 7175: 1}]
        client.session.send(b"UTHQ", {262: "H", 263: "0", 146: asked}, client.now_ns)
    client.messages.clear()
    client.pump()
    assert sorted(results(client.take())) == [(b"UTHP", ""), (b"UTHP", "T")]


# Totals


def test_totals_are_explained_and_then_told_every_second() -> None:
    engine, client, security_id = traded(3)
    answers = client.ask(b"UTOTQ", {262: "T", 263: "1"})
    assert answers[0].msg_type == b"UTOTP"
    assert 281 not in answers[0].body
    compositions = answers[1:]
    assert {each.msg_type for each in compositions} == {b"UTOTC"}
    assert [each.text(893) for each in compositions] == ["N"] * (len(compositions) - 1) + ["Y"]
    named = [entry for each in compositions for entry in each.group(146)]
    assert {each.text(393) for each in compositions} == {str(len(named))}
    assert {each.text(6107) for each in compositions} >= {"", small_catalogue().indices[0].symbol}
    for second in (1, 2):
        engine.pass_time(engine.now_ns + SECOND)
        (broadcast,) = [each for each in client.take() if each.msg_type == b"UTOT"]
        assert len(broadcast.group(268)) == len(named), second
    total = next(entry for entry in broadcast.group(268) if entry[55] == b"TOTAL")
    price = small_catalogue().listings[0].closing
    assert (total[387], total[6139]) == (b"3000", b"3")
    assert float(total[381]) == pytest.approx(price / 10_000 * 3_000)
    assert security_id in engine.feed.instruments


def test_every_answer_of_totals() -> None:
    engine, client = logged_on()
    client.ask(b"UTOTQ", {262: "T", 263: "1"})
    assert results(client.ask(b"UTOTQ", {262: "T", 263: "1"})) == [(b"UTOTP", "1")]
    assert results(client.ask(b"UTOTQ", {262: "U", 263: "2"})) == [(b"UTOTP", "Y")]
    assert client.ask(b"UTOTQ", {262: "U", 263: "7"}) == []
    assert [each.message.text(373) for each in client.events if isinstance(each, RejectReceived)] == ["5"]
    assert results(client.ask(b"UTOTQ", {262: "T", 263: "2"})) == [(b"UTOTP", "")]
    client.take()
    engine.pass_time(engine.now_ns + 3 * SECOND)
    assert [each for each in client.take() if each.msg_type == b"UTOT"] == []
    assert engine.feed.totals_wanted == 0


def test_a_known_type_that_is_not_served_is_refused() -> None:
    """7.7.5: 35=j with 380=3."""
    _, client = logged_on()
    (answer,) = client.ask(b"UTOTP", {262: "T"})
    assert (answer.msg_type, answer.text(380)) == (b"j", "3")


def test_who_does_not_read_is_told_so() -> None:
    """35=5 before the connection ends."""
    _, client = logged_on()
    client.connection.overflow(client.now_ns)
    client.pump()
    assert [each.text for each in client.events if isinstance(each, LoggedOut)] == ["Messages are not taken"]
    assert client.connection.is_over
    assert client.server.connections == []
