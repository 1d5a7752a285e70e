"""Logons with user and password: who is refused cannot tell why, and the secret is on the wire only."""

from typing import Any

import pytest

from pregao.codecs.fix import load_builtin_dictionary
from pregao.codecs.fix.blanking import blank_passwords
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.sessions.fix import (
    FixSession,
    SessionDirectory,
    SessionRecord,
    SessionSettings,
    SessionState,
)
from pregao.sessions.fix.passwords import Cost, LogonGuard, PasswordBook, hash_password
from tests.kits.fix_messages import raw, readable

TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
NOW = 1_794_916_800_000_000_000  # 2026-11-17 12:00 UTC
SECOND = 1_000_000_000
SECRET = "open sesame"
BOOK = PasswordBook({"desk": hash_password(SECRET.encode(), b"salt of tests", Cost(16, 1, 1))})


def logon(
    sender: str = "CLIENT", user: str = "|553=desk", password: str = f"|554={SECRET}", more: str = ""
) -> bytes:
    head = f"35=A|34=1|49={sender}|52=20261117-12:00:00.000|56=B3|"
    return raw(f"{head}98=0|108=30|141=Y{user}{password}{more}|")


def acceptor(guard: LogonGuard, *, required: bool = True) -> tuple[FixSession, SessionDirectory]:
    directory = SessionDirectory()
    directory.add(SessionRecord("B3", "CLIENT"))
    settings = SessionSettings(admits=guard.gate("127.0.0.1", required=required))
    session = FixSession.acceptor(settings, TRADEMATE, directory)
    session.connect(NOW)
    return session, directory


def test_the_right_password_logs_on() -> None:
    session, directory = acceptor(LogonGuard(BOOK))
    events = session.receive(logon(more="|35002=1|35003=5"), NOW)
    assert session.state is SessionState.ACTIVE
    answer = session.data_to_send()
    assert readable(answer).split("|")[2] == "35=A"
    assert SECRET.encode() not in answer
    for shown in (repr(events), repr(session.core.settings), repr(directory)):
        assert SECRET not in shown


CAUSES: dict[str, dict[str, Any]] = {
    "wrong password": {"password": "|554=wrong"},
    "no password": {"password": ""},
    "no user": {"user": ""},
    "neither": {"user": "", "password": ""},
    "unknown user": {"user": "|553=nobody"},
}


def test_every_refusal_is_the_same_and_cuts() -> None:
    answers = set()
    for parts in CAUSES.values():
        session, directory = acceptor(LogonGuard(BOOK))
        session.receive(logon(**parts), NOW)
        answers.add(session.data_to_send())
        assert session.state is SessionState.CUT
        record = directory.find("B3", "CLIENT")
        assert record is not None
        assert (record.connected, record.numbers.next_out) == (False, 1)
    session, directory = acceptor(LogonGuard(BOOK))
    for record in directory.records.values():
        record.connected = True
    session.receive(logon(), NOW)
    answers.add(session.data_to_send())
    assert all(record.connected for record in directory.records.values())  # the other connection lives on
    assert len(answers) == 1
    assert "58=Logon refused|" in readable(answers.pop())


def test_an_unknown_comp_id_is_refused_in_the_same_words() -> None:
    asked: list[str] = []
    guard = LogonGuard(BOOK, is_right=lambda user, _: bool(asked.append(user)) or True)
    session, _ = acceptor(guard)
    session.receive(logon(sender="STRANGER"), NOW)
    assert "35=5" in readable(session.data_to_send())
    assert session.state is SessionState.CUT
    assert asked == ["desk"]  # it takes as long


def test_failures_make_the_next_wait_over_connections() -> None:
    guard = LogonGuard(BOOK)
    tries = [(0, "wrong", False), (SECOND - 1, SECRET, False), (SECOND, SECRET, True)]
    for later_ns, password, is_in in tries:
        session, _ = acceptor(guard)
        session.receive(logon(password=f"|554={password}"), NOW + later_ns)
        assert (session.state is SessionState.ACTIVE) == is_in


def test_a_service_may_do_without() -> None:
    session, _ = acceptor(LogonGuard(BOOK), required=False)
    session.receive(logon(user="", password=""), NOW)
    assert session.state is SessionState.ACTIVE
    session, _ = acceptor(LogonGuard(BOOK), required=False)
    session.receive(logon(password="|554=wrong"), NOW)
    assert session.state is SessionState.CUT


@pytest.mark.parametrize("more", ["|35002=2", "|9999=1", "|108=31", "|35003=x"])
def test_a_bad_logon_with_a_password_shows_it_nowhere(more: str) -> None:
    session, directory = acceptor(LogonGuard(BOOK))
    events = session.receive(logon(more=more), NOW)
    sent = session.data_to_send()
    assert session.state is SessionState.CUT
    assert SECRET not in repr(events) + repr(directory) + repr(session.core.settings) + readable(sent)
    assert SECRET.encode() not in blank_passwords(logon(more=more))


def test_an_initiators_settings_do_not_show_it() -> None:
    settings = SessionSettings("CLIENT", "B3", logon_fields={553: b"desk", 554: SECRET.encode()})
    assert SECRET not in repr(settings)
    session = FixSession.initiator(settings, TRADEMATE)
    session.connect(NOW)
    data = session.data_to_send()
    assert SECRET.encode() in data
    assert SECRET.encode() not in blank_passwords(data)
