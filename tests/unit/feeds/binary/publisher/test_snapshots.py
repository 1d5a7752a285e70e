"""The snapshot stream: what a reader rebuilds from a loop is what the source had."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.feeds.binary.publisher import ChannelPublisher, Habits, LoopPace, Paces, SequencePoint
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.market import Phase, PriceOrigin, Session, Side, State, StateEvent, TradeCondition
from pregao.model.streams import Stream
from tests.unit.feeds.binary.publisher.desk import (
    DATE,
    MS,
    NOW,
    QUIET,
    SECOND,
    VERSIONS,
    A,
    B,
    Book,
    C,
    Market,
    decoded,
    instrument,
    messages,
    names,
    numbers,
    order,
    phase,
    publisher,
    run,
    state,
)

STREAM = Stream.SNAPSHOT
PACE = LoopPace(interval_ns=MS, pause_ns=SECOND)
STATISTICS: list[e.Update] = [
    e.ClosingPrice(A, 10**9, DATE, NOW, PriceOrigin.PREVIOUS_DAY),
    e.OpeningPrice(A, 99_000, None, DATE, NOW),
    e.ExecutionStatistics(A, Session.REGULAR, DATE, 1000, 100_000, None, 3, NOW),
    e.LastTrade(A, 5, 100_000, 100, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW),
    e.OpenInterest(A, 12, DATE, NOW),
]


def looping(market: Market, version: int = 16, **other: Any) -> ChannelPublisher:
    return publisher(market, version, paces=Paces(QUIET.definitions, PACE), **other)


def resting(security_id: int, side: Side, count: int) -> list[e.OrderUpdate]:
    return [
        order(
            security_id,
            n,
            side=side,
            position=n,
            price=None if n == 1 else 100_000 - n,
            firm=n % 3 or None,
            implied=n % 7 == 0,
        )
        for n in range(1, count + 1)
    ]


def loop(one: ChannelPublisher, until_ns: int = NOW + SECOND // 2) -> list[dict[str, Any]]:
    return messages(run(one, until_ns), STREAM)


def entries(told: list[dict[str, Any]], security_id: int, side: str) -> list[tuple[Any, ...]]:
    return [
        (
            one["secondaryOrderID"],
            one["mDEntryPx"],
            one["mDEntrySize"],
            one["enteringFirm"],
            one["mDInsertTimestamp"],
        )
        for message in told
        if message["name"].startswith("SnapshotFullRefresh_Orders") and message["securityID"] == security_id
        for one in message["noMDEntries"]
        if one["mDEntryType"] == side
    ]


def rows(orders: list[e.OrderUpdate]) -> list[tuple[Any, ...]]:
    return [
        (
            one.order_id,
            None if one.price is None else Decimal(one.price).scaleb(-4),
            one.size,
            one.firm,
            one.inserted_ns,
        )
        for one in orders
    ]


def headers(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in told if message["name"].startswith("SnapshotFullRefresh_Header")]


def test_the_order_of_a_loop() -> None:
    book = Book(resting(A, Side.BUY, 2), resting(A, Side.SELL, 3), STATISTICS, state(A, State.OPEN))
    packets = run(looping(Market(books={A: book, B: Book(state=state(B))})), NOW + SECOND // 2)
    assert names(packets, STREAM) == [
        "SecurityGroupPhase",
        "SecurityGroupPhase",
        "SnapshotFullRefresh_Header",
        "SnapshotFullRefresh_Orders_MBO",
        "ClosingPrice",
        "OpeningPrice",
        "ExecutionStatistics",
        "LastTradePrice",
        "OpenInterest",
        "SecurityStatus",
        "SnapshotFullRefresh_Header",
        "SecurityStatus",
        "SequenceReset",
    ]
    *_, last = decoded(packets, STREAM)
    assert len(last.messages) == 1
    told = messages(packets, STREAM)
    assert all(message["rptSeq"] is None for message in told if "rptSeq" in message)
    [trade] = [message for message in told if message["name"] == "LastTradePrice_27"]
    assert trade["tradeCondition"] == ["RegularTrade"]  # kept here, unlike on the incremental stream (13.6)


@pytest.mark.parametrize("version", VERSIONS)
def test_books_and_counts_come_back(version: int) -> None:
    market = Market(
        books={
            A: Book(resting(A, Side.BUY, 75), resting(A, Side.SELL, 46), STATISTICS, state(A)),
            B: Book(offers=resting(B, Side.SELL, 1)),
            C: Book(state=state(C)),
        }
    )
    told = loop(looping(market, version))
    for security_id, book in market.books.items():
        assert entries(told, security_id, "BID") == rows(book.bids)
        assert entries(told, security_id, "OFFER") == rows(book.offers)
    counts = [(h["securityID"], h["totNumBids"], h["totNumOffers"], h["totNumStats"]) for h in headers(told)]
    # Open interest came with version 9.
    assert counts == [(A, 75, 46, 5 if version == 8 else 6), (B, 0, 1, 0), (C, 0, 0, 1)]
    assert {h["totNumReports"] for h in headers(told)} == {3}
    sizes = [len(m["noMDEntries"]) for m in told if m["name"].startswith("SnapshotFullRefresh_Orders")]
    assert sizes == [30, 30, 30, 30, 1, 1]


def test_positions_below_10_and_implied_flags_from_10() -> None:
    market = Market(books={A: Book(resting(A, Side.BUY, 8))})
    [old] = [m for m in loop(looping(market, 8)) if m["name"].startswith("SnapshotFullRefresh_Orders")]
    assert [one["mDEntryPositionNo"] for one in old["noMDEntries"]] == list(range(1, 9))
    [new] = [m for m in loop(looping(market, 16)) if m["name"].startswith("SnapshotFullRefresh_Orders")]
    assert [one["matchEventIndicator"] for one in new["noMDEntries"]] == [()] * 6 + [("Implied",), ()]
    for version in (10, 15):
        assert len(loop(looping(market, version))) == 5


@given(st.dictionaries(st.sampled_from((A, B, C)), st.tuples(st.integers(0, 90), st.integers(0, 90))))
@settings(deadline=None, max_examples=25)
def test_any_books_come_back(sizes: dict[int, tuple[int, int]]) -> None:
    market = Market(
        books={
            key: Book(resting(key, Side.BUY, b), resting(key, Side.SELL, o)) for key, (b, o) in sizes.items()
        }
    )
    told = loop(looping(market))
    for key, book in market.books.items():
        assert entries(told, key, "BID") == rows(book.bids)
        assert entries(told, key, "OFFER") == rows(book.offers)


def test_each_instrument_is_as_of_its_own_serialisation() -> None:
    market = Market(books={key: Book(resting(key, Side.BUY, 60)) for key in (A, B, C)})
    one = looping(market, start=SequencePoint(7, 700))
    one.publish(e.Event((order(A), order(B))), NOW)
    packets = []
    for step in range(20):
        now_ns = NOW + step * MS
        one.on_timeout(now_ns)
        market.books[C].bids.append(order(C, 1000 + step))
        one.publish(e.Event((order(C, 1000 + step),)), now_ns)
        packets += one.take()
    told = headers(messages(packets, STREAM))
    # Packets 1 to 6 of the loop; the header after a long book waits for the next packet.
    seen = [
        (h["securityID"], h["lastMsgSeqNumProcessed"], h["lastSequenceVersion"], h["lastRptSeq"])
        for h in told
    ]
    assert seen[0] == (A, 700, 7, 1)
    assert seen[1][0] == B
    assert seen[1][3] == 1  # nothing since, though packets went by
    assert seen[1][1] > 700
    assert seen[2][1] > seen[1][1]
    assert seen[2][3] == seen[2][1] - 700
    assert told[2]["totNumBids"] == 60 + seen[2][3]


def test_what_is_held_leaves_before_a_snapshot() -> None:
    one = looping(Market(books={A: Book(resting(A, Side.BUY, 1))}))
    one.publish(e.Event((order(A),)), NOW)
    one.on_timeout(NOW)
    packets = one.take()
    assert packets[0].stream is Stream.INCREMENTAL
    assert [h["lastMsgSeqNumProcessed"] for h in headers(messages(packets, STREAM))] == [1]


def test_an_illiquid_instrument_has_no_last_rpt_seq() -> None:
    one = looping(Market(books={A: Book(state=state(A)), B: Book(state=state(B))}))
    one.publish(e.Event((order(A),)), NOW)
    assert [h["lastRptSeq"] for h in headers(loop(one))] == [1, None]


def header_only(header: dict[str, Any]) -> bool:
    counts = ("totNumBids", "totNumOffers", "totNumStats")
    return header["lastRptSeq"] is None and not any(header[name] for name in counts)


def test_deleted_or_emptied_in_mid_loop_leaves_the_header_alone() -> None:
    """7.2."""
    market = Market(books={key: Book(resting(key, Side.BUY, 40), state=state(key)) for key in (A, B, C)})
    one = looping(market)
    for key in (A, B, C):
        one.publish(e.Event((order(key),)), NOW)
    one.on_timeout(NOW)
    del market.books[B]
    market.books[C].bids.clear()
    one.publish(e.Event((e.BookEmptied(C, NOW),)), NOW + 1)
    told = messages(one.take() + run(one, NOW + SECOND // 2), STREAM)
    assert [header_only(h) for h in headers(told)] == [False, True, True]
    assert {h["totNumReports"] for h in headers(told)} == {3}
    assert headers(told)[2]["lastMsgSeqNumProcessed"] == 2
    again = loop(one, NOW + SECOND + SECOND // 2)
    assert [h["securityID"] for h in headers(again)] == [A, C]
    assert headers(again)[1]["totNumStats"] == 1  # statistics are kept (6.5.12)


def test_loops_have_their_own_versions_and_heartbeats_between() -> None:
    one = publisher(Market(books={A: Book()}), paces=Paces(QUIET.definitions, LoopPace(MS, 3 * SECOND)))
    packets = run(one, NOW + 4 * SECOND)
    assert numbers(packets, STREAM) == [(1, 1), (1, 2), (2, 0), (2, 0), (2, 1), (2, 2)]


def test_only_what_snapshots_carry() -> None:
    trade = e.Trade(A, 1, 1, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
    one = looping(Market(books={A: Book(statistics=[trade])}))
    with pytest.raises(EncodeError, match=r"7\.1"):
        one.on_timeout(NOW)


def test_the_number_of_the_phase_as_the_state_of_who_follows() -> None:
    """As real snapshots have it; a state of its own keeps its 101 (14)."""
    own = e.StateChanged(B, Session.REGULAR, State.PAUSE, StateEvent.LEAVES_GROUP, DATE, NOW)
    market = Market(
        [instrument(A), instrument(B)],
        {A: Book(state=state(A)), B: Book(state=own)},
        [phase("01", Phase.PRE_CLOSE), phase("02")],
    )
    one = looping(market, habits=Habits(phases_as_states=True))
    told = messages(run(one, NOW + SECOND // 2), STREAM)
    states = [each for each in told if each["name"] == "SecurityStatus_3"]
    assert [(each["securityTradingStatus"], each["securityTradingEvent"]) for each in states] == [
        ("FORBIDDEN", None),
        ("PAUSE", "SECURITY_STATUS_CHANGE"),
    ]
