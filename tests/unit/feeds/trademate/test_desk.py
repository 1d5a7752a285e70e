"""Requests of a session: lists, subscriptions, refusals; and a foreign engine that reads all of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import Encoder, FixMessage, load_builtin_dictionary, parse_message, validate
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.market import BondMarket
from pregao.feeds.serving import SessionLimits
from pregao.feeds.trademate.desk import Outgoing, TrademateDesk
from pregao.feeds.trademate.feed import TrademateFeed
from pregao.model.market import DefinitionAction, Side, State
from tests.kits.bonds import CASADA, CATALOGUE, DEB, FIXINGS, LTN, NOW
from tests.kits.fix_messages import head, raw

TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
SCHEMAS = Path(__file__).resolve().parents[4] / "src" / "pregao" / "codecs" / "schemas"
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: NOW}
GOVERNMENT = [bond for bond in CATALOGUE if bond.instrument.product == 6]


def made(**limits: int) -> tuple[BondMarket, TrademateFeed, TrademateDesk]:
    market = BondMarket(CATALOGUE, FIXINGS)
    feed = TrademateFeed(CATALOGUE, market.floor.trade_date)
    desk = TrademateDesk(feed, SessionLimits(**limits))
    for event in market.open_day(NOW):
        assert all(desk.deliver(bulletin) == [] for bulletin in feed.publish(event))
    return market, feed, desk


def asked(text: str) -> FixMessage:
    message = parse_message(raw(head(text.split("|")[0]) + text.partition("|")[2]), TRADEMATE)
    assert validate(message, TRADEMATE) is None
    return message


def carried(sent: list[Outgoing]) -> list[FixMessage]:
    encoder = Encoder(TRADEMATE)
    messages = [parse_message(encoder.message(kind, HEADER, body), TRADEMATE) for kind, body in sent]
    assert [validate(message, TRADEMATE) for message in messages] == [None] * len(messages)
    return messages


@pytest.mark.parametrize(
    ("request_text", "count"),
    [
        ("", 84),
        ("460=6|", len(GOVERNMENT)),
        ("460=3|", 84 - len(GOVERNMENT)),
        ("461=DBZ|", 12),
        ("461=E|", 0),
    ],
)
def test_a_list_has_15_bonds_a_message(request_text: str, count: int) -> None:
    _, _, desk = made()
    answers = carried(desk.request(asked(f"x|320=a|263=1|{request_text}")))
    sizes = [len(each.group(146)) for each in answers]
    assert sum(sizes) == count
    assert all(size == 15 for size in sizes[:-1])
    assert {each.text(393) for each in answers} == {str(count)}
    assert [each.text(893) for each in answers] == ["N"] * (len(answers) - 1) + ["Y"]
    assert {(each.text(320), each.text(560)) for each in answers} == {("a", "0")}
    assert len({each.text(322) for each in answers}) == len(answers)
    assert {entry[980] for each in answers for entry in each.group(146)} <= {b"M"}


def test_lists_that_are_refused() -> None:
    _, _, desk = made(lists=2)
    desk.request(asked("x|320=a|263=1|"))
    results = {
        "x|320=a|263=1|": "6",
        "x|320=b|263=0|": "1",
        "x|320=b|263=2|": "1",
        "x|320=b|263=1|460=3|": "0",
        "x|320=c|263=1|": "M",
        "x|320=a|263=2|": "0",
    }
    for text, result in results.items():
        answers = carried(desk.request(asked(text)))
        assert {each.text(560) for each in answers} == {result}, text
        assert result == "0" or not answers[0].group(146)
    assert set(desk.lists) == {"b"}


def test_a_subscription_is_a_snapshot_a_bond_and_then_what_happens() -> None:
    market, feed, desk = made()
    snapshots = carried(desk.request(asked("V|262=m|263=1|460=6|")))
    assert [each.msg_type for each in snapshots] == [b"W"] * len(GOVERNMENT)
    assert {each.text(911) for each in snapshots} == {str(len(GOVERNMENT))}
    assert [each.text(893) for each in snapshots] == ["N"] * (len(snapshots) - 1) + ["Y"]
    casada = next(each for each in snapshots if each.text(48) == str(CASADA))
    assert [entry[311] for entry in casada.group(711)] == [b"LTN010130", b"DI1F30"]
    assert casada.text(228) == "1.052199"
    states = {entry[326] for each in snapshots for entry in each.group(268) if entry[269] == b"c"}
    assert states == {b"21"}
    sent: list[Outgoing] = []
    for number in (LTN, DEB):
        outcome = market.submit(c.ChangeState(NOW, number, State.OPEN))
        sent += [each for event in outcome.events for b in feed.publish(event) for each in desk.deliver(b)]
    messages = carried(sent)
    assert [each.text(48) for each in messages if each.msg_type == b"f"] == [str(LTN)]
    told = [entry for each in messages if each.msg_type == b"X" for entry in each.group(268)]
    assert [(entry[269], entry[326], entry[48]) for entry in told] == [(b"c", b"17", b"%d" % LTN)]
    assert desk.request(asked("V|262=m|263=2|")) == []
    outcome = market.submit(c.EnterOrder(NOW, LTN, Side.BUY, 13 * 10**8, 1000, 1))
    assert [each for event in outcome.events for b in feed.publish(event) for each in desk.deliver(b)] == []


def test_subscriptions_that_are_refused() -> None:
    _, _, desk = made(subscriptions=1)
    refused = {
        "V|262=m|263=2|": "Y",
        "V|262=m|263=0|": "4",
    }
    for text, reason in refused.items():
        (answer,) = carried(desk.request(asked(text)))
        assert (answer.msg_type, answer.text(262), answer.text(281)) == (b"Y", "m", reason)
    desk.request(asked("V|262=m|263=1|"))
    assert carried(desk.request(asked("V|262=m|263=1|")))[0].text(281) == "1"
    assert carried(desk.request(asked("V|262=n|263=1|")))[0].text(281) == "M"


def test_updates_of_instruments_come_one_by_one() -> None:
    _, feed, desk = made()
    desk.request(asked("x|320=a|263=1|460=6|"))
    desk.request(asked("V|262=m|263=1|460=6|"))
    ltn = CATALOGUE.bonds[LTN]
    new = replace(ltn, instrument=replace(ltn.instrument, security_id=9, symbol="LTN010136"))
    added = carried(desk.deliver(feed.define(new, DefinitionAction.ADD)))
    assert [each.msg_type for each in added] == [b"y", b"W"]
    assert added[0].group(146)[0][980] == b"A"
    assert 320 not in added[0].body
    corporate = feed.define(CATALOGUE.bonds[DEB], DefinitionAction.MODIFY)
    assert desk.deliver(corporate) == []
    gone = carried(desk.deliver(feed.define(new, DefinitionAction.DELETE)))
    assert [(each.msg_type, each.group(146)[0][980]) for each in gone] == [(b"y", b"D")]
    assert 9 not in desk.started


def test_quickfix_reads_and_validates_all_of_it() -> None:
    quickfix: Any = pytest.importorskip(
        "quickfix", reason="quickfix is not installed: a judge of FIX is missing"
    )
    theirs = quickfix.DataDictionary(str(SCHEMAS / TRADEMATE_DICTIONARY))
    market, feed, desk = made()
    sent = desk.request(asked("x|320=a|263=1|")) + desk.request(asked("V|262=m|263=1|"))
    commands: list[c.BondCommand] = [
        c.EnterOrder(NOW, LTN, Side.BUY, 133 * 10**7, 1000, 1),
        c.EnterOrder(NOW, LTN, Side.SELL, 134 * 10**7, 2000, 2),
        c.ChangeState(NOW, LTN, State.OPEN),
        c.CancelTrade(NOW, LTN, 1),
        c.CloseDay(NOW),
    ]
    for command in commands:
        for event in market.submit(command).events:
            for bulletin in feed.publish(event):
                sent += desk.deliver(bulletin)
    sent += desk.request(asked("V|262=m|263=1|"))
    assert {kind for kind, _ in sent} == {b"y", b"W", b"X", b"f", b"Y"}
    for kind, body in sent:
        data = Encoder(TRADEMATE).message(kind, HEADER, body)
        message = quickfix.Message(data.decode("latin-1"), theirs, True)
        theirs.validate(message)
        assert sorted(message.toString().split("\x01")) == sorted(data.decode("latin-1").split("\x01"))
