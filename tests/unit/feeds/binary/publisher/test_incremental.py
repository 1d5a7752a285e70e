"""The incremental stream: event boundaries, rptSeq, packets, numbers, heartbeats, news."""

import pytest

from pregao.feeds.binary.news import NewsAssembler
from pregao.feeds.binary.news_parts import NewsPart
from pregao.feeds.binary.publisher import PublishingSite, SequencePoint
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.market import (
    Action,
    Aggressor,
    DefinitionAction,
    Phase,
    PriceOrigin,
    Session,
    Side,
    TradeCondition,
)
from pregao.model.streams import Feed, Stream
from tests.unit.feeds.binary.publisher.desk import (
    DATE,
    NOW,
    SECOND,
    A,
    B,
    decoded,
    instrument,
    messages,
    numbers,
    order,
    phase,
    publisher,
    run,
)

END = ["EndOfEvent"]
SUMMARY = e.ExecutionSummary(A, Aggressor.BUY, 10_000, 1, 0, 0, NOW, NOW)
TRADE = e.Trade(A, 1, 10_000, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
STATISTICS = e.ExecutionStatistics(A, Session.REGULAR, DATE, 1, 10_000, None, 1, NOW)
CLOSING = e.ClosingPrice(A, 100_000_000, DATE, NOW, PriceOrigin.DAILY)
DELETE = order(action=Action.DELETE)


def ends(*events: tuple[e.Update, ...], version: int = 16) -> list[bool]:
    """Which messages have EndOfEvent; None for those that have no matchEventIndicator."""
    one = publisher(version=version)
    for updates in events:
        one.publish(e.Event(updates), NOW)
    one.flush(NOW)
    return ["EndOfEvent" in message.get("matchEventIndicator", ()) for message in messages(one.take())]


def test_the_last_message_of_an_event_ends_it() -> None:
    assert ends((SUMMARY, TRADE, DELETE, STATISTICS), (order(),)) == [False, False, False, True, True]


def test_messages_that_touch_no_book_are_each_an_end() -> None:
    band = e.PriceBand(A, None, NOW, reference_fine=1)
    assert ends((CLOSING, band, phase())) == [True, True, True]


def test_a_phase_that_changes_books_is_part_of_their_event() -> None:
    assert ends((phase(of=Phase.CLOSE), DELETE, order(B, action=Action.DELETE))) == [False, False, True]
    assert ends((DELETE, CLOSING, phase())) == [False, False, True]


def test_a_mass_cancel_over_instruments_is_one_event() -> None:
    deletes = tuple(order(security_id, n, action=Action.DELETE) for n in range(5) for security_id in (A, B))
    assert ends(deletes) == [False] * 9 + [True]


def test_what_carries_no_indicator_does_not_end_an_event() -> None:
    listing = e.Definition(instrument(A), DefinitionAction.ADD)
    assert ends((order(), listing)) == [True, False]
    for updates in ((SUMMARY,), (TRADE, SUMMARY), (SUMMARY, listing)):
        with pytest.raises(EncodeError, match=r"13\.1"):
            ends(updates)


def test_what_a_version_does_not_send_does_not_end_an_event() -> None:
    assert ends((order(), e.OpenInterest(A, 1, DATE, NOW)), version=8) == [True]


def test_rpt_seq_counts_per_instrument_and_from_1_after_an_empty_book() -> None:
    one = publisher()
    for updates in ((order(A),), (order(B), CLOSING), (phase(),), (SUMMARY, TRADE, DELETE, order(B))):
        one.publish(e.Event(updates), NOW)
    one.publish(e.Event((e.BookEmptied(A, NOW), order(A), order(A))), NOW)
    one.publish(e.Event((order(B),)), NOW)
    one.flush(NOW)
    told = [(m.get("securityID"), m.get("rptSeq")) for m in messages(one.take())]
    assert told == [
        (A, 1),
        (B, 1),
        (A, 2),
        (None, None),
        (A, 3),
        (A, 4),
        (A, 5),
        (B, 2),
        (A, None),
        (A, 1),
        (A, 2),
        (B, 3),
    ]


def test_an_event_that_cannot_be_encoded_changes_nothing() -> None:
    one = publisher()
    one.publish(e.Event((order(),)), NOW)
    for updates in ((order(size=1 << 63),), (order(), order(size=1 << 63)), (order(), CLOSING, SUMMARY)):
        with pytest.raises(EncodeError):
            one.publish(e.Event(updates), NOW)
    one.publish(e.Event((order(),)), NOW)
    one.flush(NOW)
    assert [message["rptSeq"] for message in messages(one.take())] == [1, 2]


def test_one_instant_shares_packets_and_another_does_not() -> None:
    one = publisher()
    for now_ns in (NOW, NOW, NOW + 1, NOW + 1, NOW + 1, NOW + 2):
        one.publish(e.Event((order(),)), now_ns)
    one.flush(NOW + 5)
    packets = decoded(one.take())
    assert [len(packet.messages) for packet in packets] == [2, 3, 1]
    assert [packet.header.sending_time_ns for packet in packets] == [NOW, NOW + 1, NOW + 5]


def test_packets_are_filled_up_to_1400_bytes() -> None:
    one = publisher(start=SequencePoint(7, 100))
    one.publish(e.Event(tuple(order() for _ in range(40))), NOW)
    one.publish(e.Event((order(),)), NOW)
    one.flush(NOW)
    packets = one.take()
    assert [len(packet.payload) for packet in packets] == [16 + 16 * 84, 16 + 16 * 84, 16 + 9 * 84]
    assert numbers(packets) == [(7, 100), (7, 101), (7, 102)]


def test_feeds_a_and_b_get_the_same_and_c_is_its_own() -> None:
    one, other = publisher(), publisher(site=PublishingSite.CONTINGENCY, start=SequencePoint(3, 50))
    for each in (one, other):
        each.publish(e.Event((order(),)), NOW)
        each.flush(NOW)
    [packet], [contingency] = one.take(), other.take()
    assert packet.feeds == (Feed.A, Feed.B)
    assert contingency.feeds == (Feed.C,)
    assert contingency.payload[16:] == packet.payload[16:]
    assert numbers([contingency]) == [(3, 50)]


def test_another_day_goes_on_where_the_last_ended() -> None:
    one = publisher(start=SequencePoint(7, 100))
    one.publish(e.Event((order(A), order(A), order(B))), NOW)
    one.flush(NOW)
    before = one.incremental
    other = publisher(start=before.packets.point, rpt_seqs=before.rpt_seqs, booked=before.booked)
    other.publish(e.Event((order(A),)), NOW)
    other.flush(NOW)
    packets = other.take()
    assert numbers(packets) == [(7, 101)]
    assert messages(packets)[0]["rptSeq"] == 3
    assert other.incremental.booked == {A, B}


def test_a_silent_second_is_followed_by_a_heartbeat() -> None:
    one = publisher(start=SequencePoint(4, 1235))
    one.publish(e.Event((order(),)), NOW + SECOND // 2)
    one.flush(NOW + SECOND // 2)
    one.take()
    packets = [packet for packet in run(one, NOW + 3 * SECOND) if packet.stream is Stream.INCREMENTAL]
    assert [packet.sending_ns for packet in packets] == [NOW + SECOND * 3 // 2, NOW + SECOND * 5 // 2]
    assert numbers(packets) == [(4, 0), (4, 0)]
    assert [(m["name"], m["nextSeqNo"]) for m in messages(packets)] == [("Sequence_2", 1236)] * 2


def test_a_timer_sends_what_is_held_instead_of_a_heartbeat() -> None:
    one = publisher()
    one.publish(e.Event((order(),)), NOW)
    one.on_timeout(NOW + 2 * SECOND)
    assert [m["name"] for m in messages(one.take())] == ["Order_MBO_50"]


@pytest.mark.parametrize("length", [0, 1, 1000, 1285, 1300, 1330, 1331, 20_000])
def test_news_come_in_parts_that_fit(length: int) -> None:
    text = ("é" * length)[: length // 2] + "x" * (length - length // 2 * 2)
    news = e.News(77, "Título", text, NOW, url="https://b3.com.br", security_id=A)
    one = publisher()
    one.publish(e.Event((news,)), NOW)
    one.flush(NOW)
    packets = decoded(one.take())
    parts = [m.message for packet in packets for m in packet.messages]
    assert all(part.fields and part.fields["matchEventIndicator"] == ("EndOfEvent",) for part in parts)
    assembler, whole = NewsAssembler(), []
    for part in parts:
        assert part.fields is not None
        whole += assembler.receive(NewsPart.from_fields(part.fields, part.raw_data), NOW)
    [read] = whole
    assert read.complete
    assert not read.flags
    assert (read.text, read.headline, read.url, read.news_id) == (text, "Título", "https://b3.com.br", 77)
    assert (read.security_id, read.orig_time_ns, read.source) == (A, NOW, "MARKET_SURVEILLANCE")
    assert len(parts) == (1 if length <= 1300 else 2 if length < 2000 else 16)


def test_news_in_an_event_end_it_once() -> None:
    news = e.News(1, "x", "y" * 3000, NOW)
    assert ends((order(), news)) == [False, False, False, True]
    assert ends((news, order())) == [False, False, False, True]


def test_a_headline_longer_than_a_packet_is_refused() -> None:
    with pytest.raises(EncodeError, match="headline"):
        ends((e.News(1, "x" * 1400, "", NOW),))
    with pytest.raises(EncodeError, match="News_5"):
        ends((e.News(1, "x", "\ud800", NOW),))


def test_several_definitions_are_one_list() -> None:
    one = publisher()
    one.publish(e.Event(tuple(e.Definition(instrument(n), DefinitionAction.DELETE) for n in (1, 2, 3))), NOW)
    one.flush(NOW)
    told = [
        (m["totNoRelatedSym"], m["lastFragment"], m["securityUpdateAction"]) for m in messages(one.take())
    ]
    assert told == [(3, "FALSE_VALUE", "DELETE"), (3, "FALSE_VALUE", "DELETE"), (3, "TRUE_VALUE", "DELETE")]


def test_the_sides_of_an_implied_trade() -> None:
    one = publisher()
    trade = e.Trade(A, 1, 1, 1, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW, implied=True)
    bust = e.TradeBusted(A, 1, 1, 1, DATE, Session.REGULAR, NOW, implied=True)
    one.publish(e.Event((trade, order(implied=True, side=Side.SELL))), NOW)
    one.publish(e.Event((bust,)), NOW)
    one.flush(NOW)
    flags = [message["matchEventIndicator"] for message in messages(one.take())]
    assert flags == [["Implied"], ["Implied", "EndOfEvent"], ["Implied", "EndOfEvent"]]
