"""Each reset message by message (6.5.11–6.5.13, 7.4.1)."""

from typing import Any

from pregao.feeds.binary.publisher import ChannelPublisher, LoopPace, Paces, PublishingSite, SequencePoint
from pregao.model import events as e
from pregao.model.market import Session, Side, TradeCondition
from pregao.model.streams import Feed, Stream
from tests.unit.feeds.binary.publisher.desk import (
    DATE,
    MS,
    NOW,
    QUIET,
    SECOND,
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
    publisher,
    run,
    state,
)

LAST = e.LastTrade(A, 5, 100_000, 100, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
ORDERS = ["EmptyBook", "Order_MBO", "Order_MBO", "EmptyBook"]  # of A, and of B that once had some


def market() -> Market:
    book = Book([order(A, 1)], [order(A, 2, side=Side.SELL)], [LAST], state(A))
    return Market(
        [instrument(A), instrument(B), instrument(C)], {A: book, B: Book(state=state(B)), C: Book()}
    )


def trading(version: int = 16, **other: Any) -> ChannelPublisher:
    """A publisher in mid-session: A and B have had orders, C only a statistic."""
    one = publisher(market(), version, start=SequencePoint(7, 100), **other)
    high = e.HighPrice(C, 1, DATE, NOW)
    one.publish(e.Event((order(A, 1), order(A, 2), order(B, 3), high)), NOW)
    one.flush(NOW)
    one.take()
    return one


def marks(told: list[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """RecoveryMsg and EndOfEvent of each message."""
    flags = [message["matchEventIndicator"] for message in told]
    return [("RecoveryMsg" in flag, "EndOfEvent" in flag) for flag in flags]


def test_stream_reset() -> None:
    one = trading()
    one.publish(e.Event((order(C, 9),)), NOW)
    one.reset_stream(NOW + 1)
    packets = one.take()
    assert names(packets) == ["Order_MBO", "SequenceReset", *ORDERS, "EmptyBook"]
    # The reset ends its sequence; the next packet is 1 of the next version.
    assert numbers(packets) == [(7, 101), (7, 102), (8, 1)]
    assert [len(packet.messages) for packet in decoded(packets)] == [1, 1, 5]
    told = messages(packets)[2:]
    assert [message["securityID"] for message in told] == [A, A, A, B, C]
    assert [message.get("rptSeq") for message in told] == [None, 1, 2, None, None]
    assert marks(told) == [(True, False), (True, False), (True, True), (True, True), (True, True)]
    assert [message.get("mDEntryType") for message in told[1:3]] == ["BID", "OFFER"]


def test_failover_has_a_new_version_and_the_last_trades() -> None:
    one = trading()
    one.fail_over(NOW + 1)
    packets = one.take()
    assert names(packets) == ["EmptyBook", "Order_MBO", "Order_MBO", "LastTradePrice", "EmptyBook"]
    assert numbers(packets) == [(8, 1)]
    last = messages(packets)[3]
    assert (last["rptSeq"], last["tradeCondition"]) == (3, [])
    assert last["matchEventIndicator"] == ["EndOfEvent"]  # RecoveryMsg is for orders (10)


def test_failover_in_mid_loop_begins_the_loops_again() -> None:
    paces = Paces(LoopPace(MS, SECOND), LoopPace(MS, SECOND))
    one = publisher(market(), paces=paces)
    one.on_timeout(NOW)
    one.fail_over(NOW + 1)
    one.on_timeout(NOW + MS)
    packets = one.take()
    for stream in (Stream.DEFINITION, Stream.SNAPSHOT):
        assert numbers(packets, stream) == [(1, 1), (2, 1)]


def test_channel_reset_of_a_component() -> None:
    one = trading()
    one.reset_channel(NOW + 1)
    packets = one.take()
    assert names(packets) == ["ChannelReset", *ORDERS]
    assert numbers(packets) == [(7, 101)]  # the sequence goes on
    told = messages(packets)
    assert marks(told)[0] == (True, True)
    assert told[0]["mDEntryTimestamp"] == NOW + 1
    one.publish(e.Event((e.HighPrice(C, 1, DATE, NOW),)), NOW + 2)
    one.flush(NOW + 2)
    assert messages(one.take())[0]["rptSeq"] == 2  # C never had a book: no EmptyBook, it counts on


def test_channel_reset_at_initialisation_lists_the_instruments() -> None:
    one = trading()
    one.reset_channel(NOW + 1, definitions=True)
    packets = one.take()
    assert names(packets) == ["ChannelReset", *["SecurityDefinition"] * 3, *ORDERS]
    listed = messages(packets)[1:4]
    assert [(m["totNoRelatedSym"], m["lastFragment"]) for m in listed] == [
        (3, "FALSE_VALUE"), (3, "FALSE_VALUE"), (3, "TRUE_VALUE")
    ]  # fmt: skip


def test_weekly_start() -> None:
    one = trading()
    one.start_week(NOW + 1)
    packets = one.take()
    expected = ["SequenceReset", "ChannelReset", *["SecurityDefinition"] * 3, *ORDERS]
    assert names(packets) == expected
    assert numbers(packets) == [(7, 101), (8, 1)]
    one.publish(e.Event((e.HighPrice(C, 1, DATE, NOW),)), NOW + 2)
    one.flush(NOW + 2)
    assert messages(one.take())[0]["rptSeq"] == 1


def test_the_version_of_the_stream_rolls_over() -> None:
    one = publisher(market(), start=SequencePoint(65_534, 9))
    one.reset_stream(NOW)
    assert numbers(one.take()) == [(65_534, 9), (1, 1)]


def test_one_book_is_told_again() -> None:
    one = trading()
    one.reset_book(A, NOW + 1)
    packets = one.take()
    assert names(packets) == ["EmptyBook", "Order_MBO", "Order_MBO"]
    assert [message.get("rptSeq") for message in messages(packets)] == [None, 1, 2]
    one.publish(e.Event((order(A, 4), order(B, 5))), NOW + 2)
    one.flush(NOW + 2)
    after = messages(one.take())
    assert [message["rptSeq"] for message in after] == [3, 2]
    assert marks(after) == [(False, False), (False, True)]


def test_a_book_reset_of_a_deleted_instrument_is_nothing() -> None:
    one = trading()
    one.reset_book(999, NOW + 1)
    assert one.take() == []


def test_positions_of_recovered_orders() -> None:
    one = trading(8)
    one.reset_book(A, NOW + 1)
    assert [m["mDEntryPositionNo"] for m in messages(one.take()) if "mDEntryPositionNo" in m] == [1, 1]


def test_gradually_books_come_back_one_by_one() -> None:
    """6.5.12, step 6: recovered instruments go on while others wait."""
    one = trading()
    one.reset_channel(NOW + 1, gradually=True)
    assert names(one.take()) == ["ChannelReset"]
    trade = e.Trade(B, 1, 1, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
    one.publish(e.Event((trade, order(B, 8))), NOW + 2)
    one.publish(e.Event((order(B, 9),)), NOW + 2)
    one.flush(NOW + 2)
    [waiting] = messages(one.take())
    assert (waiting["name"], waiting["rptSeq"]) == ("Trade_53", 2)
    assert waiting["matchEventIndicator"] == ["EndOfEvent"]
    one.on_timeout(NOW + 1 + MS)
    assert names(one.take()) == ["EmptyBook", "Order_MBO", "Order_MBO"]
    one.publish(e.Event((order(A, 7), order(B, 8))), NOW + 2 * MS - 1)
    one.flush(NOW + 2 * MS - 1)
    assert [(m["securityID"], m["rptSeq"]) for m in messages(one.take())] == [(A, 3)]
    assert names(run(one, NOW + 5 * MS)) == ["EmptyBook"]
    one.publish(e.Event((order(B, 10),)), NOW + 6 * MS)
    one.flush(NOW + 6 * MS)
    assert [(m["securityID"], m["rptSeq"]) for m in messages(one.take())] == [(B, 1)]


def test_snapshots_are_withdrawn_until_books_are_back() -> None:
    """6.5.12, step 3."""
    one = trading(paces=Paces(QUIET.definitions, LoopPace(MS, 2 * MS), recovery_ns=100 * MS))
    run(one, NOW + MS)  # a loop is over
    one.reset_channel(NOW + 2 * MS, gradually=True)
    packets = run(one, NOW + 50 * MS)
    assert names(packets, Stream.SNAPSHOT).count("SnapshotFullRefresh_Header") == 0
    told = messages(run(one, NOW + 150 * MS), Stream.SNAPSHOT)
    headers = [m for m in told if m["name"].startswith("SnapshotFullRefresh_Header")]
    assert {(h["securityID"], h["totNumReports"], h["totNumBids"], h["lastRptSeq"]) for h in headers} == {
        (A, 1, 1, 2)
    }
    assert {h["totNumStats"] for h in headers} == {2}  # statistics were kept
    told = messages(run(one, NOW + 400 * MS), Stream.SNAPSHOT)
    assert {m["securityID"] for m in told if m["name"].startswith("SnapshotFullRefresh_Header")} == {A, B, C}


def test_a_loop_that_a_reset_overtakes_ends_with_bare_headers() -> None:
    source = market()
    source.books[A].bids += [order(A, n) for n in range(10, 80)]
    one = publisher(source, paces=Paces(QUIET.definitions, LoopPace(MS, SECOND), recovery_ns=SECOND))
    one.publish(e.Event((order(B), order(C))), NOW)
    one.on_timeout(NOW)
    one.reset_channel(NOW + 1, gradually=True)
    told = messages(one.take() + run(one, NOW + 100 * MS), Stream.SNAPSHOT)
    headers = [m for m in told if m["name"].startswith("SnapshotFullRefresh_Header")]
    assert [h["totNumStats"] for h in headers] == [2, 0, 0]
    assert [h["lastRptSeq"] for h in headers] == [None, None, None]


def test_snapshots_name_the_version_they_belong_to() -> None:
    one = trading(paces=Paces(QUIET.definitions, LoopPace(MS, MS)))
    one.reset_stream(NOW)
    told = messages(run(one, NOW + 4 * MS), Stream.SNAPSHOT)
    headers = [m for m in told if m["name"].startswith("SnapshotFullRefresh_Header")]
    assert {(h["lastSequenceVersion"], h["lastMsgSeqNumProcessed"]) for h in headers} == {(8, 1)}


def test_the_contingency_site_has_its_own_resets() -> None:
    """6.5.11: a reset is sent for each site by itself."""
    source = market()
    primary = publisher(source, start=SequencePoint(7, 100))
    contingency = publisher(source, start=SequencePoint(3, 20), site=PublishingSite.CONTINGENCY)
    contingency.reset_stream(NOW)
    packets = contingency.take()
    assert primary.take() == []
    assert {packet.feeds for packet in packets} == {(Feed.C,)}
    assert numbers(packets) == [(3, 20), (4, 1)]


def test_nothing_overdue_after_gradual_recovery() -> None:
    one = trading()
    one.reset_stream(NOW, gradually=True)
    run(one, NOW + 10 * MS)
    assert one.next_timeout() > NOW + 10 * MS
    assert not one.incremental.muted


def test_a_listener_hears_what_was_published_and_what_a_reset_made() -> None:
    heard: list[tuple[e.Event, int]] = []
    one = publisher(market(), listener=lambda event, now_ns: heard.append((event, now_ns)))
    told = e.Event((order(),))
    one.publish(told, NOW)
    one.reset_book(A, NOW + 1)
    assert heard[0] == (told, NOW)
    (recovered, now_ns) = heard[1]
    assert now_ns == NOW + 1
    assert recovered.updates[0] == e.BookEmptied(A, NOW + 1)
