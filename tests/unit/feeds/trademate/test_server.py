"""Requests of sessions: lists, subscriptions, refusals; and a foreign engine that reads all of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import FixMessage, validate
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.exchange.bonds import commands as c
from pregao.feeds.serving import Permissions, SessionGrant, SessionLimits
from pregao.model.market import DefinitionAction, Side, State
from tests.kits.bonds import CASADA, CATALOGUE, DEB, LTN
from tests.kits.trademate import DELAY, MS, TRADEMATE, Client, Floor

SCHEMAS = Path(__file__).resolve().parents[4] / "src" / "pregao" / "codecs" / "schemas"
GOVERNMENT = [bond for bond in CATALOGUE if bond.instrument.product == 6]


def made(grant: SessionGrant | None = None, **limits: int) -> tuple[Floor, Client]:
    floor = Floor()
    floor.open_day()
    grant = grant or SessionGrant("CLIENT", limits=SessionLimits(**limits))
    return floor, Client(floor.server(grant), now_ns=floor.now_ns)


def asked(client: Client, msg_type: bytes, fields: dict[int, Any]) -> list[FixMessage]:
    answers = client.ask(msg_type, fields)
    assert [validate(each, TRADEMATE) for each in answers] == [None] * len(answers)
    return answers


def heard(floor: Floor, client: Client) -> list[FixMessage]:
    """What was told since, once it may leave."""
    floor.pass_time(floor.now_ns + DELAY)
    client.pump(floor.now_ns)
    messages = client.take()
    assert [validate(each, TRADEMATE) for each in messages] == [None] * len(messages)
    return messages


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({}, 84),
        ({460: 6}, len(GOVERNMENT)),
        ({460: 3}, 84 - len(GOVERNMENT)),
        ({461: "DBZ"}, 12),
        ({461: "E"}, 0),
    ],
)
def test_a_list_has_15_bonds_a_message(fields: dict[int, Any], count: int) -> None:
    _, client = made()
    answers = asked(client, b"x", {320: "a", 263: "1", **fields})
    sizes = [len(each.group(146)) for each in answers]
    assert sum(sizes) == count
    assert all(size == 15 for size in sizes[:-1])
    assert {each.text(393) for each in answers} == {str(count)}
    assert [each.flag(893) for each in answers] == [False] * (len(answers) - 1) + [True]
    assert {(each.text(320), each.text(560)) for each in answers} == {("a", "0")}
    assert len({each.text(322) for each in answers}) == len(answers)
    assert {entry[980] for each in answers for entry in each.group(146)} <= {b"M"}


def test_lists_that_are_refused() -> None:
    _, client = made(lists=2)
    asked(client, b"x", {320: "a", 263: "1"})
    results = [
        ({320: "a", 263: "1"}, "6"), ({320: "b", 263: "0"}, "1"), ({320: "b", 263: "2"}, "1"),
        ({320: "b", 263: "1", 460: 3}, "0"), ({320: "c", 263: "1"}, "M"), ({320: "a", 263: "2"}, "0"),
    ]  # fmt: skip
    for fields, result in results:
        answers = asked(client, b"x", dict(fields))
        assert {each.text(560) for each in answers} == {result}, fields
        assert result == "0" or not answers[0].group(146)
    assert set(client.connection.subscriber.lists) == {"b"}


def test_a_subscription_is_a_snapshot_a_bond_and_then_what_happens() -> None:
    floor, client = made()
    snapshots = asked(client, b"V", {262: "m", 263: "1", 460: 6})
    assert [each.msg_type for each in snapshots] == [b"W"] * len(GOVERNMENT)
    assert {each.text(911) for each in snapshots} == {str(len(GOVERNMENT))}
    assert [each.flag(893) for each in snapshots] == [False] * (len(snapshots) - 1) + [True]
    casada = next(each for each in snapshots if each.text(48) == str(CASADA))
    assert [entry[311] for entry in casada.group(711)] == [b"LTN010130", b"DI1F30"]
    assert casada.text(228) == "1.052199"
    states = {entry[326] for each in snapshots for entry in each.group(268) if entry[269] == b"c"}
    assert states == {b"21"}
    client.take()
    for number in (LTN, DEB):
        floor.submit(c.ChangeTradingState(floor.now_ns, number, State.OPEN))
    messages = heard(floor, client)
    assert [each.text(48) for each in messages if each.msg_type == b"f"] == [str(LTN)]
    told = [entry for each in messages if each.msg_type == b"X" for entry in each.group(268)]
    assert [(entry[269], entry[326], entry[48]) for entry in told] == [(b"c", b"17", b"%d" % LTN)]
    assert asked(client, b"V", {262: "m", 263: "2"}) == []
    floor.submit(c.EnterOrder(floor.now_ns, LTN, Side.BUY, 13 * 10**8, 1000, 1))
    assert heard(floor, client) == []


def test_subscriptions_that_are_refused() -> None:
    _, client = made(subscriptions=1)
    for kind, reason in (("2", "Y"), ("0", "4")):
        (answer,) = asked(client, b"V", {262: "m", 263: kind})
        assert (answer.msg_type, answer.text(262), answer.text(281)) == (b"Y", "m", reason)
        assert answer.text(58)
    asked(client, b"V", {262: "m", 263: "1"})
    assert asked(client, b"V", {262: "m", 263: "1"})[0].text(281) == "1"
    assert asked(client, b"V", {262: "n", 263: "1"})[0].text(281) == "M"


def test_what_is_not_permitted_is_not_told() -> None:
    allowed = Permissions(symbols=frozenset({"LTN010130"}))
    floor, client = made(SessionGrant("CLIENT", permissions=allowed))
    assert asked(client, b"V", {262: "a", 263: "1", 460: 3})[0].text(281) == "3"
    (listed,) = asked(client, b"x", {320: "a", 263: "1"})
    assert [entry[55] for entry in listed.group(146)] == [b"LTN010130"]
    (snapshot,) = asked(client, b"V", {262: "b", 263: "1"})
    assert snapshot.text(48) == str(LTN)
    client.take()
    floor.submit(c.ChangeTradingState(floor.now_ns, DEB, State.OPEN))
    assert heard(floor, client) == []


def test_a_request_while_snapshots_run_is_refused() -> None:
    _, client = made()
    client.session.send(b"V", {262: "a", 263: "1"}, client.now_ns)
    client.session.send(b"V", {262: "b", 263: "1"}, client.now_ns)
    client.pump()
    refused = [each for each in client.messages if each.msg_type == b"Y"]
    assert [(each.text(262), each.text(281)) for each in refused] == [("b", "T")]


def test_updates_of_instruments_come_one_by_one() -> None:
    floor, client = made()
    asked(client, b"x", {320: "a", 263: "1", 460: 6})
    asked(client, b"V", {262: "m", 263: "1", 460: 6})
    client.take()
    ltn = CATALOGUE.bonds[LTN]
    new = replace(ltn, instrument=replace(ltn.instrument, security_id=9, symbol="LTN010136"))
    floor.feed.define(new, DefinitionAction.ADD, floor.now_ns)
    added = heard(floor, client)
    assert [each.msg_type for each in added] == [b"y", b"W"]
    assert added[0].group(146)[0][980] == b"A"
    assert 320 not in added[0].body
    floor.feed.define(CATALOGUE.bonds[DEB], DefinitionAction.MODIFY, floor.now_ns)
    assert heard(floor, client) == []
    floor.feed.define(new, DefinitionAction.DELETE, floor.now_ns)
    gone = heard(floor, client)
    assert [(each.msg_type, each.group(146)[0][980]) for each in gone] == [(b"y", b"D")]
    assert 9 not in client.connection.subscriber.live


def test_what_happens_within_20_ms_shares_a_message() -> None:
    floor, client = made()
    asked(client, b"V", {262: "m", 263: "1"})
    client.take()
    for price in range(5):
        floor.pass_time(floor.now_ns + 3 * MS)
        floor.submit(c.EnterOrder(floor.now_ns, LTN, Side.BUY, (13 + price) * 10**8, 1000, 1))
    client.pump(floor.now_ns)
    assert client.take() == []
    (refresh,) = heard(floor, client)
    assert [entry[270] for entry in refresh.group(268) if entry[269] == b"0"] == [
        b"13", b"14", b"15", b"16", b"17",
    ]  # fmt: skip


def test_quickfix_reads_and_validates_all_of_it() -> None:
    quickfix: Any = pytest.importorskip(
        "quickfix", reason="quickfix is not installed: a judge of FIX is missing"
    )
    theirs = quickfix.DataDictionary(str(SCHEMAS / TRADEMATE_DICTIONARY))
    floor, client = made()
    client.ask(b"x", {320: "a", 263: "1"})
    client.ask(b"V", {262: "m", 263: "1"})
    now_ns = floor.now_ns
    commands: list[c.BondCommand] = [
        c.EnterOrder(now_ns, LTN, Side.BUY, 133 * 10**7, 1000, 1),
        c.EnterOrder(now_ns, LTN, Side.SELL, 134 * 10**7, 2000, 2),
        c.ChangeTradingState(now_ns, LTN, State.OPEN),
        c.CancelTrade(now_ns, LTN, 1),
        c.CloseDay(now_ns),
    ]
    for command in commands:
        floor.submit(command)
    floor.pass_time(now_ns + DELAY)
    client.pump(floor.now_ns)
    client.ask(b"V", {262: "m", 263: "1"})
    assert {each.msg_type for each in client.messages} == {b"y", b"W", b"X", b"f", b"Y"}
    for each in client.messages:
        text = each.raw.decode("latin-1")
        message = quickfix.Message(text, theirs, True)
        theirs.validate(message)
        assert sorted(message.toString().split("\x01")) == sorted(text.split("\x01"))
