"""What single updates are on the wire of UMDF FIX/FAST, and what resets send."""

from collections.abc import Sequence
from typing import Any

import pytest

from pregao.feeds.fast.system import FAST
from pregao.feeds.publishing import (
    Habits,
    OutgoingPacket,
    Paces,
    PublisherSetup,
    PublishingSite,
    PublishingSystem,
)
from pregao.model import events as e
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import (
    Action,
    DefinitionAction,
    Phase,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    State,
    StateEvent,
    TradeCondition,
)
from pregao.model.streams import Feed, Stream
from pregao.simulator.venue import BookView, Resting
from tests.twins.position_books import decoded, messages_of

NOW = 1_794_916_800_000_000_000
SECOND = 1_000_000_000
DAY = 20_774
PETR = Instrument(7, "PETR4", 84, "01", "PETR", SecurityType.CS, Product.EQUITY, closing_price=30_00000000)
ORDERS, LEVELS, BEST = FAST.channels_of(PETR)


class Source:
    def __init__(self, bids: Sequence[Resting] = ()) -> None:
        self.bids = list(bids)

    def definitions(self) -> list[Instrument]:
        return [PETR]

    def phases(self) -> list[e.PhaseChanged]:
        return [e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.OPEN, None, DAY, NOW)]

    def instruments(self) -> list[int]:
        return [7]

    def book(self, security_id: int) -> BookView | None:
        last = e.LastTrade(7, 1, 300_000, 100, DAY, Session.REGULAR, TradeCondition.REGULAR, NOW)
        return BookView(self.bids, [], [last], None)


class Channel:
    def __init__(self, channel: int = ORDERS, source: Source | None = None, **more: Any) -> None:
        paces = Paces(heartbeat_ns=10 * SECOND)
        setup = PublisherSetup(channel, FAST.default_version, source or Source(), NOW, paces=paces, **more)
        self.publisher = FAST.publisher(setup)

    def told(self, *updates: e.Update) -> list[tuple[int, str, Any]]:
        self.publisher.publish(e.Event(updates), NOW)
        self.publisher.flush(NOW)
        return self.taken()

    def taken(self, stream: Stream = Stream.INCREMENTAL) -> list[tuple[int, str, Any]]:
        return list(decoded(packet.payload for packet in self.packets(stream)))

    def packets(self, stream: Stream = Stream.INCREMENTAL) -> list[OutgoingPacket]:
        return [packet for packet in self.publisher.take() if packet.stream is stream]

    def entries(self, *updates: e.Update) -> list[dict[str, Any]]:
        [(_, kind, fields)] = self.told(*updates)
        assert kind == "X"
        return list(fields["MDEntries"])


def order(
    action: Action, position: int, price: int | None = 300_000, size: int = 100, **more: Any
) -> e.OrderUpdate:
    return e.OrderUpdate(
        7, action, Side.BUY, more.pop("id", position), price, size, position, NOW, NOW, **more
    )


def test_the_system_can_publish() -> None:
    assert isinstance(FAST, PublishingSystem)
    assert (ORDERS, LEVELS, BEST) == (184, 214, 244)
    assert FAST.feeds(PublishingSite.PRIMARY, Stream.SNAPSHOT) == (Feed.A, Feed.B)


class TestOrders:
    def test_a_delete_has_neither_price_nor_size(self) -> None:
        channel = Channel()
        channel.told(order(Action.NEW, 1))
        [entry] = channel.entries(order(Action.DELETE, 1))
        assert entry["MDEntryPx"] is None
        assert entry["MDEntrySize"] is None
        assert (entry["MDUpdateAction"], entry["MDEntryPositionNo"], entry["OrderID"]) == (2, 1, "1")

    def test_a_change_that_loses_priority_is_delete_and_new_in_one_message(self) -> None:
        channel = Channel()
        channel.told(order(Action.NEW, 1, id=5))
        gone, back = channel.entries(order(Action.DELETE, 1, id=5), order(Action.NEW, 1, id=6))
        assert (gone["OrderID"], back["OrderID"]) == ("5", "6")
        assert (gone["RptSeq"], back["RptSeq"]) == (2, 3)

    def test_a_sweep_is_one_delete_from(self) -> None:
        channel = Channel()
        channel.told(*(order(Action.NEW, at) for at in (1, 2, 3)))
        trade = e.Trade(7, 1, 300_000, 300, DAY, Session.REGULAR, TradeCondition.REGULAR, NOW)
        sold, swept = channel.entries(trade, *(order(Action.DELETE, 1, id=at) for at in (1, 2, 3)))
        assert (sold["MDEntryType"], sold["TradeVolume"]) == ("2", 300)
        assert (swept["MDUpdateAction"], swept["MDEntryPositionNo"]) == (4, 3)

    def test_orders_without_price_have_none(self) -> None:
        [entry] = Channel().entries(order(Action.NEW, 1, price=None))
        assert entry["MDEntryPx"] is None
        assert entry["MDEntrySize"] == 100


class TestLevels:
    def test_the_example_of_9_2_1(self) -> None:
        """An insert drops the bottom row untold; a delete, and the new bottom row is told."""
        channel = Channel(LEVELS)
        prices = (105_800, 105_700, 105_400, 105_300, 105_000)
        channel.told(*(order(Action.NEW, at, price) for at, price in enumerate(prices, 1)))
        [new] = channel.entries(order(Action.NEW, 1, 106_000, 1_000))
        assert (new["MDUpdateAction"], new["MDEntryPositionNo"], new["NumberOfOrders"]) == (0, 1, 1)
        gone, bottom = channel.entries(order(Action.DELETE, 3, 105_700))
        assert (gone["MDUpdateAction"], gone["MDEntryPositionNo"], gone["MDEntryPx"]) == (2, 3, None)
        assert (bottom["MDUpdateAction"], bottom["MDEntryPositionNo"], str(bottom["MDEntryPx"])) == (
            0,
            5,
            "10.50",
        )

    def test_the_depth_is_set(self) -> None:
        channel = Channel(LEVELS, habits=Habits(levels=2))
        told = channel.entries(*(order(Action.NEW, at, 300_000 - at) for at in (1, 2, 3)))
        assert [entry["MDEntryPositionNo"] for entry in told] == [1, 2]

    def test_what_happens_past_the_depth_is_no_message(self) -> None:
        channel = Channel(LEVELS, habits=Habits(levels=1 + 1))
        channel.told(*(order(Action.NEW, at, 300_000 - at) for at in (1, 2)))
        assert channel.told(order(Action.NEW, 3, 299_000)) == []


class TestBest:
    def test_the_top_is_overlaid_and_an_order_without_price_is_one(self) -> None:
        channel = Channel(BEST)
        [first] = channel.entries(order(Action.NEW, 1))
        assert (first["MDUpdateAction"], first["MDEntryPositionNo"]) == (5, 1)
        [moa] = channel.entries(order(Action.NEW, 1, price=None, id=9))
        assert (moa["MDUpdateAction"], moa["MDEntryPx"], moa["MDEntrySize"]) == (5, None, 100)

    @pytest.mark.parametrize(("traded", "action"), [(False, 2), (True, 4)])
    def test_a_side_that_becomes_empty_was_cancelled_or_swept(self, traded: bool, action: int) -> None:
        channel = Channel(BEST)
        channel.told(order(Action.NEW, 1))
        trade = e.Trade(7, 1, 300_000, 100, DAY, Session.REGULAR, TradeCondition.REGULAR, NOW)
        updates: list[e.Update] = [trade] if traded else []
        *_, last = channel.entries(*updates, order(Action.DELETE, 1))
        assert (last["MDUpdateAction"], last["MDEntryPx"], last["MDEntrySize"]) == (action, None, None)


class TestTrades:
    def test_direction_volume_and_net_change_follow_from_the_trades_before(self) -> None:
        channel = Channel()
        found = []
        for number, price in enumerate((300_000, 300_000, 301_000, 299_900), 1):
            trade = e.Trade(7, number, price, 100, DAY, Session.REGULAR, TradeCondition.OPENING_PRICE, NOW)
            [entry] = channel.entries(trade)
            found.append((entry["TickDirection"], entry["TradeVolume"], str(entry["NetChgPrevDay"])))
        assert found == [(None, 100, "0.00"), (None, 200, "0.00"), ("0", 300, "0.10"), ("2", 400, "-0.01")]

    def test_settlements_are_of_today_or_of_the_day_before(self) -> None:
        def told(origin: PriceOrigin, kind: SettlementKind) -> tuple[int, int]:
            [entry] = Channel().entries(e.SettlementPrice(7, 300_000, DAY, NOW, origin, kind))
            return entry["OpenCloseSettlFlag"], entry["SettPriceType"]

        assert told(PriceOrigin.PREVIOUS_DAY, SettlementKind.FINAL) == (4, 1)
        assert told(PriceOrigin.DAILY, SettlementKind.FINAL) == (1, 1)
        assert told(PriceOrigin.EXPECTED, SettlementKind.THEORETICAL) == (1, 2)


class TestStates:
    def test_625_of_groups_and_326_of_instruments_with_75(self) -> None:
        phase = e.PhaseChanged("01", "BVMF", Session.REGULAR, Phase.PAUSE, None, DAY, NOW)
        [(_, kind, fields)] = Channel().told(phase)
        assert (kind, fields["TradingSessionSubID"], fields["SecurityTradingStatus"]) == ("f", "2", None)
        state = e.StateChanged(7, Session.REGULAR, State.PAUSE, StateEvent.LEAVES_GROUP, DAY, NOW)
        [(_, _, fields)] = Channel().told(state)
        assert (fields["SecurityTradingStatus"], fields["SecurityTradingEvent"]) == (2, 101)
        assert fields["TradeDate"] == 20261117

    def test_news_are_one_message_of_lines(self) -> None:
        news = e.News(3, "Atenção", "uma linha\noutra ação", NOW, security_id=7)
        [(_, kind, fields)] = Channel(63).told(news)
        assert (kind, fields["EncodedHeadline"], fields["NewsID"]) == ("B", "Atenção", "3")
        assert [line["EncodedText"] or line["Text"] for line in fields["LinesOfText"]] == [
            "uma linha",
            "outra ação",
        ]

    def test_instruments_come_several_a_message(self) -> None:
        listed = [e.Definition(PETR, DefinitionAction.ADD)] * 15
        told = Channel().told(*listed)
        assert [(kind, fields["TotNoRelatedSym"], fields["LastFragment"]) for _, kind, fields in told] == [
            ("y", 15, "N"), ("y", 15, "Y"),
        ]  # fmt: skip


class TestStreams:
    def test_heartbeats_have_numbers_of_the_sequence(self) -> None:
        channel = Channel()
        channel.told(order(Action.NEW, 1))
        channel.publisher.on_timeout(NOW + 10 * SECOND)
        told = channel.taken()
        assert [(number, kind) for number, kind, _ in told] == [(2, "0")]

    def test_a_long_message_goes_in_chunks(self) -> None:
        channel = Channel()
        channel.publisher.publish(e.Event(tuple(order(Action.NEW, at) for at in range(1, 200))), NOW)
        channel.publisher.flush(NOW)
        packets = channel.packets()
        assert len(packets) > 2
        assert max(len(packet.payload) for packet in packets) <= 1_420
        assert len(list(messages_of(packet.payload for packet in packets))) == 1

    def test_loops_begin_with_a_reset_and_count_what_they_have(self) -> None:
        bids = [Resting(4, 300_000, 100, NOW, NOW, 3, False)]
        channel = Channel(LEVELS, Source(bids))
        channel.publisher.on_timeout(NOW)
        told = list(channel.publisher.take())
        lists = list(decoded(packet.payload for packet in told if packet.stream is Stream.DEFINITION))
        assert [(number, kind) for number, kind, _ in lists] == [(1, "4"), (1, "y")]
        assert lists[1][2]["RelatedSym"][0]["ApplIDs"][0]["FeedTypes"] == [
            {"MDFeedType": "STD", "MarketDepth": 5}
        ]
        snapshots = list(decoded(packet.payload for packet in told if packet.stream is Stream.SNAPSHOT))
        assert [(number, kind) for number, kind, _ in snapshots] == [(1, "4"), (1, "W")]
        fields = snapshots[1][2]
        assert (fields["TotNumReports"], fields["MarketDepth"], fields["LastMsgSeqNumProcessed"]) == (1, 5, 0)
        assert [entry["MDEntryType"] for entry in fields["MDEntries"]] == ["0", "2", "c"]
        assert fields["MDEntries"][1]["TradeCondition"] == "U"


class TestResets:
    def test_a_sequence_reset_tells_no_books(self) -> None:
        channel = Channel(source=Source([Resting(4, 300_000, 100, NOW, NOW, 3, False)]))
        channel.told(order(Action.NEW, 1))
        channel.publisher.reset_stream(NOW)
        assert [(number, kind) for number, kind, _ in channel.taken()] == [(2, "4")]
        [(number, _, _)] = channel.told(order(Action.NEW, 1))
        assert number == 1

    def test_a_channel_reset_tells_every_book_again_then_phases(self) -> None:
        channel = Channel(source=Source([Resting(4, 300_000, 100, NOW, NOW, 3, False)]))
        channel.told(order(Action.NEW, 1))
        channel.publisher.reset_channel(NOW)
        first, book, phase = channel.taken()
        assert (first[1], first[2]["MDEntries"][0]["SecurityID"]) == ("X", None)
        told = [
            (entry["MDEntryType"], entry["QuoteCondition"], entry["RptSeq"]) for entry in book[2]["MDEntries"]
        ]
        assert told == [("J", None, 0), ("0", "R", 1)]
        assert phase[1] == "f"

    def test_a_week_begins_with_the_last_valid_trade(self) -> None:
        channel = Channel()
        channel.publisher.start_week(NOW)
        kinds = [(kind, fields) for _, kind, fields in channel.taken()]
        assert [kind for kind, _ in kinds] == ["4", "X", "y", "X", "f"]
        [last] = kinds[3][1]["MDEntries"]
        assert (last["TradeCondition"], last["MDEntrySize"], last["TradeID"]) == ("U", 100, None)
