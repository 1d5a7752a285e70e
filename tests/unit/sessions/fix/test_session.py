"""The initiator's side, the table, the store, and what a session refuses to do."""

import dataclasses
from itertools import product

import pytest

from pregao.codecs.fix import Encoder, Framed, Framer, load_builtin_dictionary, parse_message
from pregao.model.errors import Fault
from pregao.sessions.fix import (
    FixSession,
    LocalProtocolError,
    MessageStore,
    SessionDirectory,
    SessionRecord,
    SessionSettings,
    SessionState,
)
from pregao.sessions.fix import events as e
from pregao.sessions.fix.states import TABLE, SessionInput, next_state
from pregao.sessions.fix.store import StoredMessage
from tests.kits.fix_messages import raw, readable

SECOND = 1_000_000_000
NOW = 1_794_916_800 * SECOND
DICTIONARY = load_builtin_dictionary()
SETTINGS = SessionSettings("CLIENT", "B3", reset_on_logon=True, strict=False)
ENCODER = Encoder(DICTIONARY)


def server(msg_type: bytes, number: int, body: dict[int, object], **header: bytes) -> bytes:
    fields = {34: number, 49: "B3", 52: NOW, 56: "CLIENT"}
    fields |= {int(tag[1:]): value for tag, value in header.items()}  # type: ignore[misc]
    return ENCODER.message(msg_type, fields, body)


def client(record: SessionRecord | None = None, **changes: object) -> FixSession:
    session = FixSession.initiator(dataclasses.replace(SETTINGS, **changes), DICTIONARY, record)  # type: ignore[arg-type]
    session.connect(NOW)
    return session


def logged_on(**changes: object) -> FixSession:
    session = client(**changes)
    session.data_to_send()
    events = session.receive(server(b"A", 1, {98: 0, 108: 30, 141: b"Y"}), NOW)
    assert [type(event) for event in events] == [e.LoggedOn]
    return session


def sent(session: FixSession) -> list[str]:
    found = Framer().feed(session.data_to_send())
    return [readable(item.data).partition("|35=")[2] for item in found if isinstance(item, Framed)]


def test_a_client_resets_at_logon_and_says_nothing_before_the_answer() -> None:
    session = client()
    [logon] = sent(session)
    assert logon.startswith("A|34=1|49=CLIENT|")
    assert "|98=0|108=30|141=Y|" in logon
    with pytest.raises(LocalProtocolError):
        session.send(b"UTOTQ", {262: "1", 263: "1"}, NOW)
    assert session.state is SessionState.WAITING


@pytest.mark.parametrize(
    "answer",
    [
        server(b"0", 1, {}),
        server(b"A", 1, {98: 0, 108: 30}, t49=b"OTHER"),
        server(b"A", 1, {98: 0, 108: 30}, t56=b"OTHER"),
        server(b"A", 1, {98: 0, 108: 30}, t52=b"20010101-00:00:00"),
        server(b"A", 1, {98: b"1", 108: 30}),
        server(b"5", 1, {58: "go away"}),
        b"HTTP/1.1 400 Bad Request\r\n",
    ],
)
def test_a_wrong_answer_to_the_logon_is_the_end(answer: bytes) -> None:
    session = client()
    session.data_to_send()
    events = session.receive(answer, NOW)
    assert isinstance(events[-1], e.ConnectionCut)
    assert session.data_to_send() == b""
    assert session.next_timeout() is None


def test_a_client_cuts_when_the_servers_number_is_too_low() -> None:
    record = SessionRecord("CLIENT", "B3")
    record.numbers.next_in = 7
    session = client(record, reset_on_logon=False)
    [event] = session.receive(server(b"A", 6, {98: 0, 108: 30}), NOW)
    assert event == e.ConnectionCut("MsgSeqNum too low, expecting 7 but received 6")
    assert record.numbers.next_in == 7


def test_no_answer_in_time_is_the_end() -> None:
    session = client()
    due = session.next_timeout()
    assert due == NOW + 10 * SECOND
    assert session.on_timeout(due - 1) == []
    assert session.on_timeout(due) == [e.ConnectionCut("no logon in time")]


def test_a_lenient_client_keeps_and_counts_what_it_does_not_know() -> None:
    session = logged_on()
    text = "35=X|34=2|49=B3|52=20261117-12:00:00|56=CLIENT|268=1|279=9|269=0|77777=new|"
    [event] = session.receive(raw(text), NOW)
    assert isinstance(event, e.MessageReceived)
    assert event.message.group(268)[0][77777] == b"new"
    assert session.core.unknowns.tags == {(b"X", 77777): 1}
    assert session.core.unknowns.values == {(279, b"9"): 1}


def test_a_broken_group_is_rejected_by_a_lenient_client_too() -> None:
    session = logged_on()
    text = "35=X|34=2|49=B3|52=20261117-12:00:00|56=CLIENT|268=3|279=0|269=0|"
    [event] = session.receive(raw(text), NOW)
    assert isinstance(event, e.MessageRejected)
    assert "|45=2|58=Incorrect NumInGroup count for repeating group|371=268|372=X|373=16|" in sent(session)[0]


def test_bytes_that_come_one_at_a_time_are_the_same_bytes() -> None:
    session = client()
    data = server(b"A", 1, {98: 0, 108: 30}) + server(b"UTOTP", 2, {262: "1"})
    events = [event for byte in data for event in session.receive(bytes([byte]), NOW)]
    assert [type(event) for event in events] == [e.LoggedOn, e.MessageReceived]


def test_nothing_is_read_after_the_end() -> None:
    session = logged_on()
    events = session.receive(server(b"5", 2, {}) + server(b"UTOTP", 3, {262: "1"}), NOW)
    assert [type(event) for event in events] == [e.LoggedOut, e.ConnectionCut]
    assert session.receive(server(b"UTOTP", 3, {262: "1"}), NOW) == []


def test_our_logout_waits_for_its_answer() -> None:
    session = logged_on()
    session.logout(NOW, "bye")
    assert sent(session)[0].startswith("5|34=2|")
    assert session.receive(server(b"UTOTP", 2, {262: "1"}), NOW) == []
    assert session.receive(server(b"5", 3, {}), NOW) == [e.LoggedOut(""), e.ConnectionCut("logged out")]
    assert session.data_to_send() == b""


def test_our_logout_without_an_answer_ends_in_time() -> None:
    session = logged_on()
    session.logout(NOW)
    due = session.next_timeout()
    assert due == NOW + 2 * SECOND
    assert session.on_timeout(due) == [e.ConnectionCut("no answer to our logout")]


def test_numbers_reset_within_a_session_on_our_wish() -> None:
    session = logged_on()
    session.send(b"UTOTQ", {262: "1", 263: "1"}, NOW)
    session.data_to_send()
    session.reset(NOW)
    assert sent(session)[0].startswith("A|34=1|")
    session.receive(server(b"A", 1, {98: 0, 108: 30, 141: b"Y"}), NOW)
    assert session.send(b"UTOTQ", {262: "2", 263: "1"}, NOW) == 2
    assert session.record.numbers.next_in == 2


def test_a_jumped_clock_gives_a_test_request_its_time() -> None:
    session = logged_on()
    session.on_timeout(NOW + 3600 * SECOND)
    assert session.state is SessionState.ACTIVE
    assert [text[0] for text in sent(session)] == ["1"]
    due = session.next_timeout()
    assert due is not None
    assert due > NOW + 3600 * SECOND


def test_what_is_not_taken_ends_the_session() -> None:
    session = logged_on(max_unsent=300)
    for _ in range(4):
        if session.state is SessionState.ACTIVE:
            session.send(b"UTOTQ", {262: "x" * 60, 263: "1"}, NOW)
    assert session.state is SessionState.CUT
    assert sent(session)[-1].startswith("5|")


def test_held_messages_are_bounded_and_asked_for_again() -> None:
    session = logged_on(max_held=2)
    for number in (5, 6, 7, 8):
        session.receive(server(b"UTOTP", number, {262: str(number)}), NOW)
    assert session.core.inbound.held == 2
    fill = server(b"4", 2, {36: 5, 123: b"Y"}, t43=b"Y")
    events = session.receive(fill, NOW)
    assert [event.number for event in events if isinstance(event, e.MessageReceived)] == [5, 6]
    assert session.state is SessionState.RECOVERING  # 7 and 8 did not fit
    assert [text[0] for text in sent(session)] == ["2"]
    session.on_timeout(NOW + 10 * SECOND)
    assert "|7=7|16=0|" in sent(session)[0]


def test_a_replayer_answers_resends_by_gap_fills_only() -> None:
    directory = SessionDirectory()
    directory.add(SessionRecord("B3", "CLIENT"))
    session = FixSession.acceptor(SessionSettings(gap_fill_only=True), DICTIONARY, directory)
    session.connect(NOW)

    def receive(msg_type: bytes, number: int, body: dict[int, object]) -> list[e.Event]:
        header = {34: number, 49: "CLIENT", 52: NOW, 56: "B3"}
        return session.receive(ENCODER.message(msg_type, header, body), NOW)

    receive(b"A", 1, {98: 0, 108: 30})
    session.send(b"UTOTP", {262: "1"}, NOW)
    session.data_to_send()
    assert receive(b"2", 2, {7: 1, 16: 0}) == [e.ResendServed(1, 2, 0)]
    [fill] = sent(session)
    assert fill.startswith("4|34=1|43=Y|")
    assert "|36=3|123=Y|" in fill


def test_a_new_trading_day_begins_at_one() -> None:
    record = SessionRecord("B3", "CLIENT")
    record.begin_day("2026-11-17")
    record.numbers.next_in, record.numbers.next_out = 5, 9
    record.begin_day("2026-11-17")
    assert (record.numbers.next_in, record.numbers.next_out) == (5, 9)
    record.begin_day("2026-11-18")
    assert (record.numbers.next_in, record.numbers.next_out) == (1, 1)


def test_a_days_directory_leaves_connected_sessions_alone() -> None:
    directory, idle, busy = (
        SessionDirectory(),
        SessionRecord("B3", "A"),
        SessionRecord("B3", "B", connected=True),
    )
    for record in (idle, busy):
        record.numbers.next_out = 9
        directory.add(record)
    directory.begin_day("2026-11-18")
    assert (idle.numbers.next_out, busy.numbers.next_out) == (1, 9)


def test_every_state_and_input_is_decided() -> None:
    for state, happened in product(SessionState, SessionInput):
        if (state, happened) in TABLE:
            assert next_state(state, happened) is TABLE[state, happened]
        else:
            with pytest.raises(LocalProtocolError):
                next_state(state, happened)
    assert {state for state, _ in TABLE} == set(SessionState)
    assert set(TABLE.values()) == set(SessionState) - {SessionState.IDLE}


@pytest.mark.parametrize("verb", ["send", "logout", "reset", "receive"])
def test_what_the_state_does_not_allow_is_refused(verb: str) -> None:
    session = FixSession.initiator(SETTINGS, DICTIONARY)
    calls = {
        "send": lambda: session.send(b"UTOTQ", {262: "1", 263: "1"}, NOW),
        "logout": lambda: session.logout(NOW),
        "reset": lambda: session.reset(NOW),
        "receive": lambda: session.receive(b"", NOW),
    }
    with pytest.raises(LocalProtocolError):
        calls[verb]()


def test_garbled_bytes_are_told_with_their_place() -> None:
    session = logged_on()
    good = server(b"0", 2, {})
    [event] = session.receive(b"xx" + good, NOW)
    assert isinstance(event, e.GarbledSkipped)
    assert (event.garbled.fault, event.garbled.length) == (Fault.FIX_NOISE, 2)


def stored(size: int, sent_ns: int) -> StoredMessage:
    return StoredMessage(ENCODER.body(b"UTOTP", {262: "x" * size}), sent_ns)


def test_the_store_is_bounded_by_count_bytes_and_age() -> None:
    store = MessageStore(max_count=3, max_bytes=425, max_age_ns=100)
    for number in range(1, 6):
        store.add(number, stored(10, number * 50))
    assert [number for number, _ in store.between(1, 10**12)] == [3, 4, 5]
    store.add(6, stored(400, 300))
    assert [number for number, _ in store.between(1, 9)] == [5, 6]
    store.forget_before(360)
    assert [number for number, _ in store.between(5, 6)] == [6]
    store.clear()
    assert (len(store), store.size) == (0, 0)


def test_a_body_goes_to_many_sessions_as_it_is() -> None:
    body = ENCODER.body(b"UTOTP", {262: "shared"})
    first, second = logged_on(), logged_on()
    for session in (first, second):
        session.data_to_send()
        session.send_body(body, NOW)
        message = parse_message(session.data_to_send(), DICTIONARY)
        assert message.text(262) == "shared"
    kept = [stored.body for session in (first, second) for _, stored in session.record.store.between(1, 9)]
    assert all(each is body for each in kept)
