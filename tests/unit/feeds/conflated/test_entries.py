"""Entries of 7.8 from updates of the model: which tags each has, and their values."""

from dataclasses import replace
from typing import Any

import pytest

from pregao.codecs.fix import Encoder, validate
from pregao.codecs.fix.bodies import JoinedBody
from pregao.feeds.conflated.publisher.entries import date_text, fine_text, price_text, time_text
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.serving import ServingSettings
from pregao.model import events as e
from pregao.model.instruments import Instrument, Product, SecurityType
from pregao.model.market import (
    Action,
    BandType,
    ImbalanceSide,
    LimitType,
    Midpoint,
    PriceOrigin,
    Session,
    SettlementKind,
    Side,
    State,
    StateEvent,
    TradeCondition,
    TradeSubType,
)
from tests.kits.conflated import (
    DICTIONARY,
    MS,
    PETR4,
    START,
    Recorder,
    StillBook,
    StillMarket,
    read_body,
)

ID, DATE = PETR4.security_id, 20_774  # 2026-11-17
INDEX = Instrument(900_001, "IBOV", 0, "IX", "IBOV", SecurityType.INDEX, Product.INDEX)
COMMON = {48: b"200001", 22: b"8", 207: b"BVMF", 272: b"20261117", 273: b"12:00:00.000"}
E = {1500: b"E"}
SETTLED = (SettlementKind.FINAL, SettlementKind.THEORETICAL, SettlementKind.UPDATED)


def fields(text: str) -> dict[int, bytes]:
    """Tags and values, separated by bars."""
    pairs = (field.partition("=") for field in text.split("|"))
    return {int(tag): value.encode() for tag, _, value in pairs}


def market(statistics: list[e.Update] | None = None, state: e.StateChanged | None = None) -> StillMarket:
    book = StillBook(statistics=statistics or [], state=state)
    return StillMarket([PETR4, INDEX], {ID: book})


def entries_of(*updates: e.Update) -> list[dict[int, Any]]:
    """All entries that updates become, in messages that the dictionary finds right."""
    feed = ConflatedFeed(market(), ServingSettings(), DICTIONARY, now_ns=START)
    recorder = Recorder(feed)
    feed.publish(e.Event(updates), START)
    feed.advance(START + 380 * MS)
    found = []
    for is_book in (False, True):
        found += [entry for _, entries in recorder.refreshes(is_book=is_book) for entry in entries]
    return found


def trade(**more: Any) -> e.Trade:
    fields: dict[str, Any] = {
        "security_id": ID, "trade_id": 10, "price": 240_100, "size": 300, "trade_date": DATE,
        "session": Session.REGULAR, "condition": TradeCondition.NONE, "transact_ns": START,
    }  # fmt: skip
    return e.Trade(**fields | more)


TRADED = {270: b"24.01", 271: b"300", 1003: b"10", 37016: b"20261117", 37017: b"12:00:00.000"}

CASES: dict[str, tuple[e.Update, dict[int, bytes]]] = {
    "trade": (trade(buyer=3, seller=8), fields("269=2|279=0|288=3|289=8|1020=300") | TRADED | E),
    "after hours": (trade(session=Session.NON_REGULAR), fields("269=2|279=0|336=6|1020=300") | TRADED | E),
    "conditions": (
        trade(
            condition=TradeCondition.OPENING_PRICE | TradeCondition.LAST_AT_SAME_PRICE,
            sub_type=TradeSubType.LEG,
            implied=True,
        ),
        fields("269=2|279=0|277=R L 1 IM|1020=300") | TRADED | E,
    ),
    "retail": (trade(sub_type=TradeSubType.RLP), fields("269=2|279=0|277=RL|1020=300") | TRADED | E),
    "termo": (
        trade(forward=True, seller_days=30, interest_rate=150),
        fields("269=2|279=0|1500=T|287=30|37014=0.0150") | TRADED,
    ),
    "bust": (
        e.TradeBusted(ID, 10, 240_100, 300, DATE, Session.REGULAR, START),
        fields("269=2|279=2") | TRADED | E,
    ),
    "termo busted": (
        e.TradeBusted(ID, 10, 240_100, 300, DATE, Session.REGULAR, START, forward=True),
        fields("269=2|279=2|1500=T") | TRADED,
    ),
    "exchange last": (
        e.LastTrade(ID, 10, 240_100, 300, DATE, Session.REGULAR, TradeCondition.NONE, START),
        fields("269=2|279=0|270=24.01|271=300|277=U") | E,
    ),
    "exchange last of a termo": (
        e.LastTrade(
            ID,
            10,
            240_100,
            300,
            DATE,
            Session.REGULAR,
            TradeCondition.NONE,
            START,
            seller_days=30,
            interest_rate=150,
        ),
        fields("269=2|279=0|270=24.01|271=300|277=U|1500=T"),
    ),
    "opening": (
        e.OpeningPrice(ID, 240_000, 12_345_678, DATE, START),
        fields("269=4|279=0|270=24.00|286=0|451=0.12345678") | E,
    ),
    "opening of a termo": (
        e.OpeningPrice(ID, 240_000, None, DATE, START, interest_rate=150),
        fields("269=4|279=0|270=24.00|286=0|37014=0.0150") | E,
    ),
    "opening gone": (
        e.OpeningPrice(ID, 240_000, None, DATE, START, action=Action.DELETE),
        fields("269=4|279=2|286=0") | E,
    ),
    "theoretical": (
        e.TheoreticalPrice(ID, 240_050, 700, DATE, START),
        fields("269=4|279=0|270=24.0050|271=700|286=5"),
    ),
    "theoretical gone": (
        e.TheoreticalPrice(ID, None, None, DATE, START, Action.DELETE),
        fields("269=4|279=2|286=5"),
    ),
    "closing": (
        e.ClosingPrice(ID, 24_00000000, DATE, START, PriceOrigin.DAILY),
        fields("269=5|279=0|270=24.00|286=0") | E,
    ),
    "closing before": (
        e.ClosingPrice(ID, 24_00000000, DATE, START, PriceOrigin.PREVIOUS_DAY, DATE - 1),
        fields("269=5|279=0|270=24.00|286=4|9325=20261116|37013=0") | E,
    ),
    "closing adjusted": (
        e.ClosingPrice(ID, 24_00000000, DATE, START, PriceOrigin.PREVIOUS_DAY, DATE - 1, 3),
        fields("269=5|279=0|270=24.00|286=4|9325=20261116|37013=3") | E,
    ),
    "settlement": (
        e.SettlementPrice(ID, 240_000, DATE, START, PriceOrigin.SESSION, SettlementKind.THEORETICAL),
        fields("269=6|279=0|270=24.00|286=1|423=2|731=2|1500=A"),
    ),
    "high": (e.HighPrice(ID, 240_000, DATE, START), fields("269=7|279=0|270=24.00") | E),
    "low gone": (e.LowPrice(ID, 240_000, DATE, START, Action.DELETE), fields("269=8|279=2") | E),
    "buyers": (e.Imbalance(ID, ImbalanceSide.MORE_BUYERS, 500, START), fields("269=A|279=0|271=500|277=P")),
    "sellers": (e.Imbalance(ID, ImbalanceSide.MORE_SELLERS, 500, START), fields("269=A|279=0|271=500|277=Q")),
    "open interest": (e.OpenInterest(ID, 5_000, DATE, START), fields("269=C|279=0|271=5000") | E),
    "auction band": (
        e.PriceBand(ID, BandType.AUCTION, START, LimitType.PERCENTAGE, 50_000, 60_000, Midpoint.THEORETICAL),
        fields("269=g|279=0|6939=2|1306=2|1148=5.00|1149=6.00|37008=2"),
    ),
    "reference": (
        e.PriceBand(ID, None, START, reference_fine=2_450_000_000),
        fields("269=g|279=0|1150=24.50"),
    ),
    "quantity band": (e.QuantityBand(ID, 1_000, 50, START), fields("269=h|279=0|37003=1000|1140=50")),
    "volatility": (
        e.VolatilityPrice(ID, 10_000, 20_000, -50_000_000, START),
        fields("269=v|279=0|811=-0.50|1025=1.00|31=2.00") | E,
    ),
    "lending totals": (
        e.StreamTotals(ID, "L", 1_000_000, 3, 500, START),
        fields("269=B|279=0|1500=L|15=BRL|270=100.00|271=3|1020=500"),
    ),
    "lending interest": (
        e.LendingInterest(ID, 500, 12_345, START),
        fields("269=C|279=0|1500=L|270=1.2345|271=500"),
    ),
    "lending contract": (
        e.LendingContract(ID, 7, 20_000, 100, DATE, START, 3, 8, 1, True, DATE + 1),
        fields(
            "269=2|279=0|1500=L|270=2.00|271=100|1003=7|288=3|289=8|37016=20261117|37017=12:00:00.000|37019=1|37024=2|37025=20261118"
        ),
    ),
    "lending offer": (
        e.LendingOffer(ID, Action.NEW, Side.SELL, 9, 20_000, 100, 1, START, 3, DATE + 1, 2, True),
        fields(
            "269=1|279=0|1500=L|37=9|270=2.00|271=100|289=3|432=20261118|37016=20261117|37017=12:00:00.000|37019=2|37023=0"
        ),
    ),
    "lending offer, all or nothing": (
        e.LendingOffer(ID, Action.NEW, Side.BUY, 9, 20_000, 100, 1, START, 3, DATE + 1, all_or_nothing=True),
        fields(
            "269=0|279=0|1500=L|37=9|270=2.00|271=100|276=AN|288=3|432=20261118|37016=20261117|37017=12:00:00.000"
        ),
    ),
    "lending offer, limited": (
        e.LendingOffer(ID, Action.NEW, Side.BUY, 9, 20_000, 100, 1, START, 3, DATE + 1, all_or_nothing=False),
        fields(
            "269=0|279=0|1500=L|37=9|270=2.00|271=100|276=LM|288=3|432=20261118|37016=20261117|37017=12:00:00.000"
        ),
    ),
    "order": (
        e.OrderUpdate(ID, Action.NEW, Side.BUY, 5, 240_000, 100, 1, START, START, firm=3),
        fields("269=0|279=0|37=5|270=24.00|271=100|288=3|37016=20261117|37017=12:00:00.000"),
    ),
    "anonymous order at market": (
        e.OrderUpdate(ID, Action.NEW, Side.SELL, 5, None, 100, 1, START, START),
        fields("269=1|279=0|37=5|271=100|37016=20261117|37017=12:00:00.000"),
    ),
    "implied order": (
        e.OrderUpdate(ID, Action.NEW, Side.SELL, 5, 240_000, 100, 1, START, START, implied=True),
        fields("269=1|279=0|37=5|270=24.00|271=100|276=K|37016=20261117|37017=12:00:00.000"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_update_becomes_its_entry(name: str) -> None:
    update, expected = CASES[name]
    assert entries_of(update) == [COMMON | expected]


def test_an_execution_tells_average_and_volume() -> None:
    """270 of 269=B is money in plain currency, not in millions (7.8.10)."""
    update = e.ExecutionStatistics(ID, Session.REGULAR, DATE, 900, 240_000, None, 3, START, 216_000_000)
    assert entries_of(update) == [
        COMMON | E | {269: b"9", 279: b"0", 270: b"24.00"},
        COMMON | E
        | {269: b"B", 279: b"0", 15: b"BRL", 270: b"21600.00", 271: b"3", 1020: b"900"},
    ]  # fmt: skip


def test_money_is_of_the_instruments_currency() -> None:
    """15 of 269=B, in 35=X and in 35=W."""
    dollar = replace(PETR4, currency="USD")
    update = e.ExecutionStatistics(ID, Session.REGULAR, DATE, 900, 240_000, None, 3, START, 216_000_000)
    other = e.StreamTotals(ID, "X", 1_000_000, 3, 500, START)
    source = StillMarket([dollar], {ID: StillBook(statistics=[update])})
    feed = ConflatedFeed(source, ServingSettings(), DICTIONARY, now_ns=START)
    recorder = Recorder(feed)
    feed.publish(e.Event((update, other)), START)
    feed.advance(START + 20 * MS)
    ((_, entries),) = recorder.refreshes(is_book=False)
    assert [entry.get(15) for entry in entries] == [None, b"USD", b"USD"]
    assert [entry[15] for entry in snapshot_of(feed) if entry[269] == b"B"] == [b"USD", b"USD"]


def test_a_settlement_may_have_any_pair_of_day_and_kind() -> None:
    """7.8.12: corrections come in any order."""
    pairs = [(origin, kind) for origin in (PriceOrigin.SESSION, PriceOrigin.PREVIOUS_DAY) for kind in SETTLED]
    told = [e.SettlementPrice(ID, 240_000, DATE, START, origin, kind) for origin, kind in pairs]
    assert [(entry[286], entry[731]) for entry in entries_of(*told)] == [
        (day, kind) for day in (b"1", b"4") for kind in (b"1", b"2", b"3")
    ]


def test_trades_say_where_the_price_went() -> None:
    """274: up, unchanged after up, down, unchanged after down; 451 against the closing price."""
    prices = (240_000, 240_100, 240_100, 240_000, 240_000)
    closing = e.ClosingPrice(ID, 2_350_000_000, DATE, START, PriceOrigin.PREVIOUS_DAY)
    trades = [trade(trade_id=place, price=price) for place, price in enumerate(prices)]
    entries = entries_of(closing, *trades)[1:]
    assert [entry.get(274) for entry in entries] == [None, b"0", b"1", b"2", b"3"]
    assert [entry[451] for entry in entries] == [b"0.50", b"0.51", b"0.51", b"0.50", b"0.50"]
    assert [entry[1020] for entry in entries] == [b"300", b"600", b"900", b"1200", b"1500"]


def test_an_index_has_its_own_stream() -> None:
    """7.8.4, 7.8.12, 7.8.13."""
    index = INDEX.security_id
    entries = entries_of(
        e.IndexValue(index, 1_300_000_000, START, 1),
        e.IndexValue(index, 1_300_000_100, START, 2),
        e.HighPrice(index, 1_300_000_000, DATE, START),
        e.SettlementPrice(index, 1_290_000_000, DATE, START, PriceOrigin.PREVIOUS_DAY, SettlementKind.FINAL),
        e.CompositePrice(index, 4, (e.UnderlyingPrice(ID, 240_000, 1),), START),
    )
    assert {entry[1500] for entry in entries} == {b"N"}
    assert [(entry[279], entry.get(37100)) for entry in entries[:2]] == [(b"0", b"1"), (b"1", b"2")]
    assert 423 not in entries[3]
    assert [entry.get(274) for entry in entries[:2]] == [None, b"0"], "where the value went (7.8.4)"
    assert entries[4][711] == [{309: b"200001", 305: b"8", 308: b"BVMF", 810: b"24.00", 37018: b"1"}]
    assert entries[4][37100] == b"4"


def snapshot(source: StillMarket, security_id: int = ID) -> list[dict[int, Any]]:
    return snapshot_of(ConflatedFeed(source, ServingSettings(), DICTIONARY, now_ns=START), security_id)


def snapshot_of(feed: ConflatedFeed, security_id: int = ID) -> list[dict[int, Any]]:
    part = feed.snapshots.of(security_id)
    fields = {262: b"1", 48: b"%d" % security_id, 22: b"8", 207: b"BVMF"}
    message = read_body(JoinedBody(feed.encoder.front(b"W", fields, 268, part.count), (part,)))
    assert validate(message, DICTIONARY) is None
    return message.group(268)


def test_a_snapshot_has_book_statistics_and_state() -> None:
    last = e.LastTrade(ID, 30, 240_100, 300, DATE, Session.REGULAR, TradeCondition.CROSSED, START, buyer=3)
    state = e.StateChanged(ID, Session.REGULAR, None, None, DATE, START)
    source = market([last, e.HighPrice(ID, 240_000, DATE, START)], state)
    source.books[ID].bids.append(
        e.OrderUpdate(ID, Action.NEW, Side.BUY, 5, 240_000, 100, 1, START, START, recovery=True)
    )
    bid, trade_entry, high, phase = snapshot(source)
    assert (bid[269], bid[1021], bid[37], bid.get(276)) == (b"0", b"3", b"5", None)
    assert (trade_entry[269], trade_entry[1003], trade_entry[277]) == (b"2", b"30", b"U X")
    assert (high[269], phase[269]) == (b"7", b"c")
    assert not any(tag in entry for entry in (bid, trade_entry, high, phase) for tag in (279, 48, 22, 207))


def test_what_is_told_beside_the_engine_stays_in_snapshots_until_the_session_changes() -> None:
    """7.5.5: a reset of statistics takes 269=3 and B along, not open interest."""
    feed = ConflatedFeed(market(), ServingSettings(), DICTIONARY, now_ns=START)
    updates = (e.StreamTotals(ID, "O", 1, 1, 1, START), e.LendingInterest(ID, 500, 1, START))
    feed.publish(e.Event(updates), START)
    assert feed.snapshots.of(ID).count == 2
    change = e.StateChanged(ID, Session.REGULAR, State.CLOSE, StateEvent.SESSION_CHANGE, DATE, START)
    feed.publish(e.Event((change,)), START)
    assert feed.snapshots.of(ID).count == 1


def test_a_snapshot_has_the_last_contract_of_a_loan() -> None:
    """7.6: 35=W has the last trade, from whose number what was missed is asked for; 277=U says it is none."""
    feed = ConflatedFeed(market(), ServingSettings(), DICTIONARY, now_ns=START)
    for number in (7, 8):
        contract = e.LendingContract(ID, number, 20_000, 100, DATE, START, 3, 8, 1, False, DATE + 1)
        feed.publish(e.Event((contract,)), START)
    (last,) = snapshot_of(feed)
    told = {tag: last[tag] for tag in (269, 1500, 1003, 277, 271, 37024, 37025)}
    assert told == fields("269=2|1500=L|1003=8|277=U|271=100|37024=1|37025=20261118")
    change = e.StateChanged(ID, Session.REGULAR, State.CLOSE, StateEvent.SESSION_CHANGE, DATE, START)
    feed.publish(e.Event((change,)), START)
    assert snapshot_of(feed) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, b"0.00"),
        (10_000, b"1.00"),
        (-12_300, b"-1.23"),
        (1, b"0.0001"),
        (-1, b"-0.0001"),
        (123_456, b"12.3456"),
    ],
)
def test_prices_have_two_decimals_where_that_is_enough(value: int, text: bytes) -> None:
    assert price_text(value) == text
    assert fine_text(value * 10_000) == text


def test_times_are_utc_to_the_millisecond() -> None:
    assert fine_text(-1) == b"-0.00000001"
    assert (date_text(DATE), time_text(START + 1_999_999)) == (b"20261117", b"12:00:00.001")


def test_joined_entries_are_one_body() -> None:
    """Sums, sizes and bytes are those of a body that was encoded at once."""
    encoder = Encoder(DICTIONARY)
    entries = [dict(entry) for entry in entries_of(*(CASES[name][0] for name in ("trade", "high", "bust")))]
    whole = encoder.body(b"X", {75: b"20261117", 268: entries})
    parts = [encoder.entries(b"X", 268, entries[:2]), encoder.entries(b"X", 268, entries[2:])]
    joined = JoinedBody(encoder.front(b"X", {75: b"20261117"}, 268, 3), parts)
    assert (joined.data, joined.total, joined.size) == (whole.data, whole.total, whole.size)
