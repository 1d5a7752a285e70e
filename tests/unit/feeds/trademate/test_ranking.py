"""Positions that are not what price and time give are findings; the side stays as it was told."""

from typing import Any

from pregao.model.errors import Fault
from pregao.model.market import Side
from tests.kits.bonds import CRI, LTN
from tests.kits.trademate import read_one
from tests.unit.feeds.trademate.test_day import HEADER, Listener, order, run_small


def refresh(listener: Listener, *entries: dict[int, Any]) -> list[Fault]:
    text = listener.encoder.message(b"X", HEADER, {75: b"20261116", 268: list(entries)})
    return [fault.fault for fault in read_one(listener.reader, text)[1]]


def known(number: int) -> Listener:
    """With a snapshot of an empty book."""
    listener = run_small()
    fields = {262: b"1", 48: b"%d" % number, 268: []}
    assert read_one(listener.reader, listener.encoder.message(b"W", HEADER, fields))[1] == []
    return listener


def bid(number: int, order_id: int, price: bytes, position: int, **more: bytes) -> dict[int, Any]:
    entry = order(number, price, b"1000") | {37: b"%d" % order_id, 290: b"%d" % position}
    return entry | {int(tag[1:]): value for tag, value in more.items()}


def test_a_lower_rate_is_the_better_bid_and_the_higher_the_better_offer() -> None:
    listener = known(LTN)
    assert refresh(listener, bid(LTN, 1, b"13.3", 1), bid(LTN, 2, b"13.2", 1)) == []
    assert refresh(listener, bid(LTN, 3, b"13.25", 2), bid(LTN, 4, b"13.3", 4)) == []
    offers = [bid(LTN, 5, b"13.4", 1, t269=b"1"), bid(LTN, 6, b"13.5", 1, t269=b"1")]
    assert refresh(listener, *offers) == []
    assert listener.reader.ranked_otherwise == 0


def test_prices_rank_the_usual_way() -> None:
    listener = known(CRI)
    assert refresh(listener, bid(CRI, 1, b"1000", 1), bid(CRI, 2, b"1001", 1)) == []


def test_other_positions_are_findings_and_the_position_decides() -> None:
    listener = known(LTN)
    refresh(listener, bid(LTN, 1, b"13.3", 1))
    wrong = Fault.FIX_RANKED_OTHERWISE
    assert refresh(listener, bid(LTN, 2, b"13.2", 2)) == [wrong]  # a better one behind
    assert refresh(listener, bid(LTN, 3, b"13.3", 1)) == [wrong]  # before one that was there sooner
    assert listener.reader.ranked_otherwise == 2
    assert refresh(listener, bid(LTN, 3, b"13.3", 1, t279=b"2")) == []
    snapshot = [bid(LTN, 1, b"13.3", 1), bid(LTN, 2, b"13.2", 2)]
    entries = [
        {tag: value for tag, value in each.items() if tag not in (279, 48, 22, 207)} for each in snapshot
    ]
    fields = {262: b"1", 48: b"%d" % LTN, 268: entries}
    rows, faults = read_one(listener.reader, listener.encoder.message(b"W", HEADER, fields))
    assert [fault.fault for fault in faults] == [wrong]
    assert not faults[0].lost
    assert rows["side"].tolist() == [0, Side.BUY, Side.BUY]


def test_a_side_without_a_snapshot_is_not_judged() -> None:
    listener = run_small()
    assert refresh(listener, bid(LTN, 1, b"13.3", 5), bid(LTN, 2, b"13.2", 9)) == []
