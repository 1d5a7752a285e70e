"""Messages of PUMA Conflated to rows: every entry of section 7.8, statuses, definitions, news and totals."""

from decimal import Decimal

import pytest

from pregao.codecs.fix import parse_message
from pregao.feeds.conflated.definitions import ConflatedNewsDesk, composition_of, definition_of
from pregao.feeds.conflated.reader import ConflatedReader
from pregao.model.errors import Fault
from pregao.model.instruments import (
    Governance,
    ListingTerms,
    Payout,
    Product,
    SecurityType,
    TickRule,
    TradeType,
    UnderlyingWeight,
    group_name,
)
from pregao.model.market import Action, DefinitionAction, TradeCondition, TradeSubType
from pregao.model.rows import NO_ACTION, NULL, Flag, Kind
from tests.kits.conflated_wire import (
    DEFINITION,
    DICTIONARY,
    INSTRUMENT,
    bid,
    deleted,
    incremental,
    message,
    offer,
    raw_message,
    read_all,
    snapshot,
)

TIME_NS = 1_795_006_800_120_000_000  # 2026-11-18 13:00:00.120
DAY = 20_775


def rows_of(*messages: bytes):
    reading = read_all(ConflatedReader(0, DICTIONARY), list(messages))
    assert reading.faults == []
    return reading.rows


def one(entry: dict) -> dict:
    (row,) = rows_of(incremental(entry))
    return {name: row[name].item() for name in row.dtype.names}


def told(row: dict) -> dict:
    """What a row says beside where it came from."""
    where = {
        "packet",
        "at",
        "sequence_version",
        "index",
        "version",
        "spare",
        "spare_2",
        "security_id",
        "time_ns",
        "trade_date",
        "flags",
        "stream",
        "rpt_seq",
        "kind",
    }
    return {name: value for name, value in row.items() if name not in where and value not in (0, NULL)}


def test_order():
    row = one(bid(3971, b"10.58", 5000, _288=b"8", _37016=b"20261117", _37017=b"13:00:00.001"))
    assert row["kind"] == Kind.ORDER
    assert row["flags"] == Flag.END_OF_EVENT | Flag.PRICE_UNTOLD
    assert (row["security_id"], row["time_ns"], row["trade_date"]) == (900_001, TIME_NS, DAY)
    inserted = TIME_NS - 86_400_000_000_000 - 119_000_000
    assert told(row) == {
        "side": 1,
        "id": 3971,
        "price": 105_800,
        "size": 5000,
        "firm": 8,
        "inserted_ns": inserted,
    }


def test_change_tells_the_size_before_and_implied_orders_say_so():
    row = one({279: b"1", **offer(4, b"11", 3000, _37780=b"5000", _276=b"K")})
    assert (row["action"], row["side"], row["other"], row["size"]) == (Action.CHANGE, 2, 5000, 3000)
    assert row["flags"] & Flag.IMPLIED


def test_an_order_at_any_price_has_none_and_one_told_again_is_marked():
    row = one(bid(4, None, 100, _276=b"R"))
    assert row["price"] == NULL
    assert row["flags"] & Flag.RECOVERY


@pytest.mark.parametrize("price", [None, b"10.58"])
def test_a_delete_may_tell_its_price_or_not(price):
    row = one(deleted(b"1", 7, price))
    assert (row["action"], row["side"], row["id"], row["size"]) == (Action.DELETE, 2, 7, NULL)
    assert row["price"] == (NULL if price is None else 105_800)


def test_delete_thru_and_reset():
    side, reset = rows_of(incremental({279: b"3", 269: b"1"}, {269: b"J"}))
    assert (side["kind"], side["action"], side["side"]) == (Kind.SIDE, Action.DELETE_THRU, 2)
    assert reset["kind"] == Kind.EMPTY_BOOK


def test_delete_from_is_no_longer_sent_and_its_book_is_suspect():
    reading = read_all(ConflatedReader(0, DICTIONARY), [incremental({279: b"4", 269: b"0", 37: b"1"})])
    assert [fault.fault for fault in reading.faults] == [Fault.FIX_UNKNOWN_VALUE]
    assert [(row["kind"], row["security_id"]) for row in reading.rows] == [(Kind.OTHER, 900_001)]


def test_lending_order():
    row = one(bid(4, b"1.25", 100, _1500=b"L", _432=b"20261220", _37019=b"1", _37023=b"0"))
    assert row["stream"] == ord("L")
    assert (row["high"], row["fine"]) == (DAY + 32, 2 | 1 << 8)


def test_trade():
    row = one({
        269: b"2", 1500: b"E", 270: b"10.58", 271: b"100", 274: b"1", 277: b"R X", 288: b"8", 289: b"3",
        336: b"6", 451: b"-0.12", 1003: b"10", 1020: b"900", 37016: b"20261118", 37017: b"13:00:00.001",
    })  # fmt: skip
    assert row["kind"] == Kind.TRADE
    assert row["flags"] & Flag.BY_TIME
    condition = TradeCondition.OPENING_PRICE | TradeCondition.CROSSED
    assert told(row) == {
        "id": 10, "price": 105_800, "size": 100, "type": 2, "firm": 8, "position": 3, "session": 6,
        "fine": -12_000_000, "high": 900, "condition": condition,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "sub_type"),
    [
        (b"1", TradeSubType.LEG), (b"3", TradeSubType.MULTI_ASSET), (b"MP", TradeSubType.MIDPOINT),
        (b"PT", TradeSubType.BLOCK_BOOK), (b"RF", TradeSubType.RFQ), (b"RL", TradeSubType.RLP),
        (b"RP", TradeSubType.RLP), (b"TC", TradeSubType.TAC), (b"TA", TradeSubType.TAA),
        (b"SW", TradeSubType.SWEEP),
    ],
)  # fmt: skip
def test_conditions_that_are_sub_types(word, sub_type):
    fields = [
        (268, b"1"),
        (279, b"0"),
        (48, b"1"),
        (269, b"2"),
        (270, b"1"),
        (271, b"1"),
        (277, word),
        (1003, b"1"),
    ]
    (row,) = rows_of(raw_message(b"X", fields))
    assert row["detail"] == sub_type


def test_forward_and_lending_trades():
    forward = one({269: b"2", 1500: b"T", 270: b"10", 271: b"1", 287: b"30", 37014: b"0.0125", 1003: b"1"})
    assert (forward["low"], forward["other"], forward["stream"]) == (30, 125, ord("T"))
    lending = one({269: b"2", 1500: b"L", 270: b"1", 271: b"1", 1003: b"1", 37024: b"2", 37025: b"20261119"})
    assert (lending["fine"], lending["inserted_ns"]) == (3 << 16, DAY + 1)


def test_a_bust_and_the_exchange_s_last():
    assert one({279: b"2", 269: b"2", 270: b"10", 271: b"1", 1003: b"4"})["kind"] == Kind.BUST
    assert one({269: b"2", 270: b"10", 271: b"1", 277: b"U"})["kind"] == Kind.LAST_TRADE


@pytest.mark.parametrize(
    ("entry", "kind", "values"),
    [
        ({269: b"3", 270: b"128000.25", 37100: b"7", 274: b"0", 1500: b"N"}, Kind.INDEX,
         {"price": 1_280_002_500, "other": 7, "type": 1}),
        ({269: b"4", 270: b"10", 286: b"0", 451: b"0.5", 37014: b"0.01", 1500: b"E"}, Kind.OPENING,
         {"price": 100_000, "origin": 1, "fine": 50_000_000, "other": 100}),
        ({269: b"4", 270: b"10", 271: b"70", 286: b"5"}, Kind.THEORETICAL,
         {"price": 100_000, "size": 70, "origin": 6}),
        ({269: b"5", 270: b"9.87654321", 286: b"4", 9325: b"20261117", 37013: b"1", 1500: b"E"}, Kind.CLOSING,
         {"fine": 987_654_321, "origin": 5, "other": DAY - 1, "detail": 2}),
        ({269: b"6", 270: b"98.5", 286: b"1", 731: b"2", 423: b"2", 1500: b"A"}, Kind.SETTLEMENT,
         {"price": 985_000, "origin": 2, "detail": 2, "type": 2}),
        ({269: b"7", 270: b"11", 1500: b"E"}, Kind.HIGH, {"price": 110_000}),
        ({279: b"2", 269: b"8", 270: b"9", 1500: b"E"}, Kind.LOW, {"price": 90_000, "action": 2}),
        ({269: b"9", 270: b"10.1234", 1500: b"E"}, Kind.VWAP, {"price": 101_234}),
        ({269: b"A", 271: b"500", 277: b"Q"}, Kind.IMBALANCE, {"size": 500, "side": 2}),
        ({269: b"B", 270: b"1234.5678", 271: b"12", 15: b"BRL", 1020: b"900", 1500: b"E"}, Kind.TOTALS,
         {"low": 12_345_678, "other": 12, "size": 900, "condition": int.from_bytes(b"BRL", "little")}),
        ({269: b"C", 271: b"42", 270: b"3.5", 1500: b"L"}, Kind.OPEN_INTEREST, {"size": 42, "price": 35_000}),
        ({269: b"g", 6939: b"2", 1306: b"2", 1148: b"-5", 1149: b"5", 37008: b"0"}, Kind.PRICE_BAND,
         {"type": 2, "low": -50_000, "high": 50_000, "detail": 3, "origin": 1}),
        ({269: b"g", 1150: b"10.5"}, Kind.PRICE_BAND, {"fine": 1_050_000_000}),
        ({269: b"h", 1140: b"1000", 37003: b"77"}, Kind.QUANTITY_BAND, {"size": 1000, "other": 77}),
        ({269: b"v", 811: b"-0.25", 1025: b"1.5", 31: b"2.5", 1500: b"E"}, Kind.VOLATILITY,
         {"fine": -25_000_000, "low": 15_000, "high": 25_000}),
    ],
)  # fmt: skip
def test_statistics(entry, kind, values):
    row = one(entry)
    assert row["kind"] == kind
    assert told(row) == values


def test_a_composite_price_and_its_parts():
    parts = [
        {309: b"11", 305: b"8", 308: b"BVMF", 810: b"10.5", 37018: b"0"},
        {309: b"12", 305: b"8", 308: b"BVMF", 810: b"11", 37018: b"1"},
    ]
    whole, first, second = rows_of(incremental({269: b"D", 37100: b"9", 711: parts, 1500: b"N"}))
    assert (whole["kind"], whole["other"], whole["low"]) == (Kind.COMPOSITE, 9, 2)
    assert [
        (row["kind"], row["id"], row["price"], row["position"], row["type"]) for row in (first, second)
    ] == [
        (Kind.COMPOSITE_PART, 11, 105_000, 1, 1),
        (Kind.COMPOSITE_PART, 12, 110_000, 2, 2),
    ]


def test_a_snapshot_is_its_row_and_its_entries():
    rows = rows_of(snapshot(
        bid(1, b"10", 100), offer(2, b"11", 200), {269: b"2", 270: b"10", 271: b"5", 1003: b"77"},
        {269: b"c", 326: b"21", 1174: b"101", 342: b"20261118-17:00:00"}, _911=3, _893="Y",
    ))  # fmt: skip
    head = rows[0]
    assert (head["kind"], head["low"], head["high"], head["position"], head["size"]) == (
        Kind.SNAPSHOT,
        1,
        1,
        2,
        3,
    )
    kinds = [Kind.SNAPSHOT_ORDER, Kind.SNAPSHOT_ORDER, Kind.LAST_TRADE, Kind.STATE]
    assert rows["kind"][1:].tolist() == kinds
    assert (rows["security_id"] == 900_001).all()
    state = rows[4]
    assert (state["type"], state["detail"], state["origin"]) == (21, 101, 0)
    assert state["inserted_ns"] == TIME_NS - 120_000_000 + 4 * 3_600_000_000_000


def test_a_snapshot_of_no_instrument_says_nothing():
    assert len(rows_of(message(b"W", {262: b"1", 268: [], 893: "Y"}))) == 0


def test_a_snapshot_that_cannot_be_read_whole_is_none():
    bad = snapshot(bid(1, b"10", 100), {269: b"0", 37: b"x", 271: b"1"})
    reading = read_all(ConflatedReader(0, DICTIONARY), [bad])
    assert [(row["kind"], row["security_id"]) for row in reading.rows] == [(Kind.OTHER, 900_001)]
    assert [fault.lost for fault in reading.faults] == [True]


def test_history_is_told_again():
    entries = [{269: b"2", 270: b"10", 271: b"5", 272: b"20261118", 273: b"13:00:00.120", 1003: b"7"}]
    fields = {262: b"1", 893: "Y", **INSTRUMENT, 268: [*entries, {**entries[0], 279: b"2"}]}
    trade, bust = rows_of(message(b"UTHP", fields))
    assert (trade["kind"], trade["id"], trade["action"]) == (Kind.TRADE, 7, Action.NEW)
    assert bust["kind"] == Kind.BUST
    assert trade["flags"] & bust["flags"] & Flag.RECOVERY


@pytest.mark.parametrize("number", [b"2", b"02"])
def test_statuses(number):
    common = {60: TIME_NS, 75: b"20261118", 336: b"1"}
    # The strict encoder writes 2 only: the other form is read too.
    fields = [(207, b"BVMF"), (1151, b"01"), (60, b"20261118-13:00:00.120"), (75, b"20261118"), (625, number),
              (1174, b"4")]  # fmt: skip
    group, instrument = rows_of(
        raw_message(b"f", fields), message(b"f", {**INSTRUMENT, **common, 326: b"21", 342: TIME_NS + 10**9})
    )
    assert (group["kind"], group_name(int(group["id"])), group["type"], group["detail"]) == (
        Kind.PHASE,
        "01",
        2,
        4,
    )
    assert (instrument["kind"], instrument["type"], instrument["security_id"]) == (Kind.STATE, 21, 900_001)
    assert instrument["inserted_ns"] == TIME_NS + 10**9
    assert group["trade_date"] == instrument["trade_date"] == DAY


def test_definitions():
    reader = ConflatedReader(0, DICTIONARY)
    second = {**DEFINITION, 55: "PETR4T", 48: b"900002", 980: "D"}
    reading = read_all(
        reader, [message(b"y", {320: "1", 322: "2", 560: 0, 393: 2, 893: "Y", 146: [DEFINITION, second]})]
    )
    first, last = (reader.definition(row) for row in reading.rows)
    assert (first.total, first.ends, last.ends) == (2, False, True)
    assert (first.definition.action, last.definition.action) == (
        DefinitionAction.ADD,
        DefinitionAction.DELETE,
    )
    instrument = first.definition.instrument
    assert (instrument.security_id, instrument.symbol, instrument.group) == (900_001, "PETR4", "01")
    assert (instrument.security_type, instrument.product) == (SecurityType.PS, Product.EQUITY)
    assert (instrument.tick, instrument.lot, instrument.minimum_cross) == (100, 100, 500)
    assert (instrument.isin, instrument.governance, instrument.payout) == (
        "BRPETRACNPR6", Governance.LEVEL_2, Payout.VANILLA_CASH,
    )  # fmt: skip
    assert (instrument.maturity, instrument.settlement_days, instrument.accepts_gt) == ((2026, 12), 2, True)
    assert instrument.trade_types == (TradeType.ELECTRONIC,)
    told = instrument.multiplier_fine, instrument.price_divisor_fine, instrument.price_kind
    assert told == (None, None, None), "what is not told is null; 35=y has no PriceType"
    assert (reading.rows["kind"] == Kind.DEFINITION).all()


@pytest.mark.parametrize(
    ("more", "read"),
    [
        ({873: b"2026-11-18"}, None), ({667: b"soon"}, None), ({37010: b"x"}, None),
        (
            {1205: [{1206: b"1.123456", 1208: b"x"}]},
            ListingTerms(tick_rules=(TickRule("1.123456", None, None, None),)),
        ),
        (
            {711: [{309: b"7", 311: b"A", 6919: b"12.3456789012", 37021: b"much"}]},
            ListingTerms(weights=(UnderlyingWeight(7, "12.3456789012", None),)),
        ),
    ],
)  # fmt: skip
def test_rare_terms_that_cannot_be_read_do_not_cost_the_instrument(more, read):
    told = definition_of({48: b"1", 167: b"CS", 55: b"X", **more}, 0).instrument
    assert (told.security_id, told.symbol, told.listing) == (1, "X", read)


def test_an_option_on_an_index_by_either_name():
    """7.4.1 has INDEXTOP, 7.4.2 INDEXOPT."""
    for name in (b"INDEXTOP", b"INDEXOPT"):
        told = definition_of({48: b"1", 167: name}, 0)
        assert told.instrument.security_type is SecurityType.INDEXOPT


def test_news_with_encoded_text_and_several_instruments():
    text = "Leilão".encode()
    fields = {
        42: TIME_NS, 6940: "3", 1472: "12", 1474: "pt", 148: "Leilao", 358: len(text), 359: text,
        146: [INSTRUMENT, {**INSTRUMENT, 48: b"900002"}],
        33: [{58: "one"}, {58: "dois", 354: len(text), 355: text}], 149: "https://example.com/1",
    }  # fmt: skip
    raw = message(b"B", fields, _347="UTF-8")
    reader = ConflatedReader(0, DICTIONARY)
    (row,) = read_all(reader, [raw]).rows
    (news,) = ConflatedNewsDesk(DICTIONARY).receive(reader.message(row), 5)
    assert (news.headline, news.text) == ("Leilão", "one\nLeilão")
    assert (news.news_id, news.security_id, news.source, news.time_ns) == (12, 900_001, 3, TIME_NS)
    assert (news.url, news.language) == ("https://example.com/1", "pt")
    assert news.related == (900_001, 900_002)


def test_totals_and_what_they_are_of():
    entry = {
        269: "t",
        55: "TOT1",
        272: b"20261118",
        273: b"13:00:00.120",
        381: Decimal("10.5"),
        387: 7,
        6139: 3,
    }
    reader = ConflatedReader(0, DICTIONARY)
    (row,) = read_all(reader, [message(b"UTOT", {268: [entry]})]).rows
    (total,) = reader.market_totals(row)
    assert (total.symbol, total.amount, total.volume, total.trades) == ("TOT1", 105_000, 7, 3)
    parts = [{55: "TOT1", 107: "Shares", 37022: [{1151: "01"}, {1151: "02"}]}]
    composition = message(b"UTOTC", {393: 1, 893: "Y", 146: parts})
    assert composition_of(parse_message(composition, DICTIONARY)) == {"TOT1": ("01", "02")}


def test_what_nobody_knows_is_counted_and_the_rest_counts():
    reader = ConflatedReader(0, DICTIONARY)
    fields = [
        (268, b"2"),
        (279, b"0"),
        (48, b"1"),
        (269, b"z"),
        (9999, b"?"),
        (279, b"0"),
        (48, b"1"),
        (269, b"2"),
        (270, b"1"),
        (271, b"1"),
        (1003, b"3"),
        (277, b"QQ"),
    ]
    reading = read_all(reader, [raw_message(b"X", fields)])
    assert [(each.fault, each.lost, each.index) for each in reading.faults] == [
        (Fault.FIX_UNKNOWN_VALUE, True, 0), (Fault.FIX_UNKNOWN_VALUE, False, 1),
    ]  # fmt: skip
    assert reading.rows["kind"].tolist() == [Kind.TRADE]
    assert reader.unknowns.tags == {(b"X", 9999): 1}
    assert reader.unknowns.values == {(269, b"z"): 1, (277, b"QQ"): 1}


def test_no_action_where_there_is_none():
    assert one({269: b"7", 270: b"1"})["action"] == Action.NEW
    (row,) = rows_of(message(b"0", {}))
    assert (row["kind"], row["action"]) == (Kind.OTHER, NO_ACTION)


def test_a_price_that_does_not_fit_is_refused():
    reading = read_all(ConflatedReader(0, DICTIONARY), [incremental({269: b"7", 270: b"10.12345"})])
    assert [each.fault for each in reading.faults] == [Fault.FIX_BEYOND_SCALE]


@pytest.mark.parametrize("when", [{273: b"130000"}, {272: b"2026-11-18"}, {37017: b"1 pm"}])
def test_a_time_that_cannot_be_read_costs_no_order(when):
    """It is a finding; price, size and OrderID count."""
    reading = read_all(
        ConflatedReader(0, DICTIONARY), [incremental({**bid(7, b"10.58", 100), 37016: b"20261118", **when})]
    )
    (row,) = reading.rows
    assert (row["kind"], row["id"], row["price"], row["size"]) == (Kind.ORDER, 7, 105_800, 100)
    assert [(fault.fault, fault.lost) for fault in reading.faults] == [(Fault.FIX_UNKNOWN_VALUE, False)]


def test_a_message_whose_entries_cannot_be_told_apart_makes_its_books_suspect():
    """Nobody knows what it said of them."""
    entries = [(279, b"0"), (48, b"900001"), (269, b"0"), (279, b"0"), (48, b"900002"), (269, b"0")]
    reading = read_all(ConflatedReader(0, DICTIONARY), [raw_message(b"X", [(268, b"7"), *entries])])
    assert [(row["kind"], row["security_id"]) for row in reading.rows] == [
        (Kind.OTHER, 900_001), (Kind.OTHER, 900_002),
    ]  # fmt: skip
    assert [fault.fault for fault in reading.faults] == [Fault.FIX_GROUP_COUNT]
    history = raw_message(b"UTHP", [(262, b"H"), (48, b"900001"), (268, b"7"), (269, b"2")])
    assert len(read_all(ConflatedReader(0, DICTIONARY), [history]).rows) == 0
