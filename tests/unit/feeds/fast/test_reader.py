"""Entries of UMDF FIX/FAST as rows (7, 9, 10): every MDEntryType, actions, snapshots, states, lists, news."""

from typing import Any

import numpy as np
import pytest

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.reader import BookShape, FastReader
from pregao.feeds.fast.system import FAST
from pregao.feeds.fast.times import as_number, clock_ns, date_days, moment_ns, timestamp_ns
from pregao.feeds.port import MulticastSystem, Reading
from pregao.feeds.registry import load_system
from pregao.model.errors import DecodeError, Fault
from pregao.model.market import Action, TradeCondition, TradeSubType
from pregao.model.packets import FOREIGN
from pregao.model.rows import NULL, Flag, Kind

SENT = 20131016130000123
SENT_NS = 1_381_928_400_123_000_000
DAY = 15_994  # 2013-10-16


def encoded(template: int, fields: dict[str, Any]) -> bytes:
    head = {"MsgSeqNum": 9, "SendingTime": SENT}
    return FastMessageEncoder(load_builtin_templates()).encode(template, head | fields)


def incremental(*entries: dict[str, Any], template: int = 145) -> bytes:
    common = {
        "MDUpdateAction": 0, "SecurityID": 7, "RptSeq": 3, "MDEntryTime": 130000123, "MDEntryDate": 20131016,
    }  # fmt: skip
    return encoded(template, {"MDEntries": [common | entry for entry in entries]})


def read(raw: bytes, *, by_level: bool = False) -> Reading:
    return FastReader(62, load_builtin_templates(), BookShape(by_level)).read_unit(raw)


def row_of(entry: dict[str, Any], *, by_level: bool = False, template: int = 145) -> Any:
    reading = read(incremental(entry, template=template), by_level=by_level)
    assert not reading.faults
    (row,) = reading.rows
    assert (row["security_id"], row["rpt_seq"], row["time_ns"]) == (7, 3, SENT_NS)
    assert row["flags"] & Flag.END_OF_EVENT
    return row


def test_it_is_a_system() -> None:
    assert isinstance(load_system("fast"), MulticastSystem)


def test_an_order() -> None:
    row = row_of({
        "MDEntryType": "1", "MDEntryPx": Scaled(1050, -2), "MDEntrySize": 300, "MDEntryPositionNo": 4,
        "OrderID": "123456", "MDEntrySeller": "72", "MDInsertDate": 20131016, "MDInsertTime": 125959000,
    })  # fmt: skip
    assert (row["kind"], row["action"], row["side"], row["position"]) == (Kind.ORDER, Action.NEW, 2, 4)
    assert (row["price"], row["size"], row["id"], row["firm"]) == (105_000, 300, 123_456, 72)
    assert row["inserted_ns"] == SENT_NS - 1_123_000_000
    assert row["flags"] & Flag.BY_POSITION
    assert chr(row["stream"]) == "E"


def test_a_delete_has_neither_price_nor_size() -> None:
    row = row_of({"MDEntryType": "0", "MDUpdateAction": 2, "MDEntryPositionNo": 1})
    assert (row["kind"], row["action"], row["price"], row["size"]) == (Kind.ORDER, Action.DELETE, NULL, NULL)


@pytest.mark.parametrize("action", [Action.DELETE_THRU, Action.DELETE_FROM])
def test_sides(action: Action) -> None:
    row = row_of({"MDEntryType": "0", "MDUpdateAction": int(action), "MDEntryPositionNo": 3})
    assert (row["kind"], row["action"], row["side"], row["position"]) == (Kind.SIDE, action, 1, 3)


def test_a_level() -> None:
    entry = {"MDEntryType": "0", "MDUpdateAction": 5, "MDEntryPx": Scaled(7, 0), "MDEntrySize": 9}
    row = row_of(entry | {"MDEntryPositionNo": 1, "NumberOfOrders": 2}, by_level=True)
    assert (row["kind"], row["action"], row["price"], row["firm"]) == (Kind.LEVEL, Action.OVERLAY, 70_000, 2)


def test_lending_is_a_stream_of_its_own() -> None:
    lending = {"ExpireDate": 20131017, "EarlyTermination": 1, "BTBCertIndicator": 0, "BTBContractInfo": 2}
    row = row_of({"MDEntryType": "0", "MDStreamID": "L", "MDEntryPositionNo": 1, **lending}, template=150)
    assert (chr(row["stream"]), row["high"], row["fine"]) == ("L", DAY + 1, 2 | 1 << 8 | 3 << 16)


def test_recovery() -> None:
    assert row_of({"MDEntryType": "0", "QuoteCondition": "C R"})["flags"] & Flag.RECOVERY


TRADE: dict[str, Any] = {
    "MDEntryType": "2", "MDEntryPx": Scaled(1050, -2), "MDEntrySize": 100, "TradeID": "55",
    "MDEntryBuyer": "3", "MDEntrySeller": "4",
}  # fmt: skip


def test_trades() -> None:
    row = row_of(TRADE | {"TradeCondition": "R L", "TickDirection": "2"})
    assert (row["kind"], row["id"], row["price"], row["firm"], row["position"]) == (
        Kind.TRADE,
        55,
        105_000,
        3,
        4,
    )
    assert (row["condition"], row["type"], row["trade_date"]) == (1 | 4, 3, DAY)
    assert row_of(TRADE | {"MDUpdateAction": 2})["kind"] == Kind.BUST
    assert row_of(TRADE | {"TradeCondition": "U"})["kind"] == Kind.LAST_TRADE
    assert row_of({"MDEntryType": "2", "MDEntrySize": 5, "TradeID": "1"})["price"] == NULL  # a block trade


@pytest.mark.parametrize(
    ("entry", "kind", "values"),
    [
        ({"MDEntryType": "4", "OpenCloseSettlFlag": 0, "MDEntryPx": Scaled(5, 0)},
         Kind.OPENING, {"origin": 1}),
        ({"MDEntryType": "4", "OpenCloseSettlFlag": 5, "MDEntrySize": 8}, Kind.THEORETICAL, {"size": 8}),
        ({"MDEntryType": "5", "OpenCloseSettlFlag": 4, "MDEntryPx": Scaled(5, 0), "LastTradeDate": 20131016},
         Kind.CLOSING, {"fine": 500_000_000, "origin": 5, "other": DAY}),
        ({"MDEntryType": "6", "OpenCloseSettlFlag": 1, "SettPriceType": 2, "MDEntryPx": Scaled(5, 0)},
         Kind.SETTLEMENT, {"origin": 2, "detail": 2, "price": 50_000}),
        ({"MDEntryType": "7", "MDEntryPx": Scaled(5, 0)}, Kind.HIGH, {"price": 50_000}),
        ({"MDEntryType": "8", "MDEntryPx": Scaled(5, 0)}, Kind.LOW, {"price": 50_000}),
        ({"MDEntryType": "A", "MDEntrySize": 70, "TradeCondition": "Q"},
         Kind.IMBALANCE, {"side": 2, "size": 70}),
        ({"MDEntryType": "B", "MDEntrySize": 7, "TradeVolume": 900}, Kind.TOTALS, {"other": 7, "size": 900}),
        ({"MDEntryType": "B", "MDEntryPx": Scaled(123_456, -2), "Currency": "BRL", "MDStreamID": "X"},
         Kind.TOTALS, {"low": 12_345_600, "condition": 0x4C5242, "stream": ord("X"), "price": NULL}),
        ({"MDEntryType": "C", "MDEntrySize": 12}, Kind.OPEN_INTEREST, {"size": 12, "price": NULL}),
        ({"MDEntryType": "C", "MDEntrySize": 12, "MDEntryPx": Scaled(5, -1), "MDStreamID": "L"},
         Kind.OPEN_INTEREST, {"size": 12, "price": 5_000, "stream": ord("L")}),
        ({"MDEntryType": "J"}, Kind.EMPTY_BOOK, {}),
        ({"MDEntryType": "g", "PriceBandType": "1", "LowLimitPrice": Scaled(1, 0),
          "HighLimitPrice": Scaled(3, 0), "PriceLimitType": 0},
         Kind.PRICE_BAND, {"type": 1, "low": 10_000, "high": 30_000, "detail": 1}),
        ({"MDEntryType": "g", "TradingReferencePrice": Scaled(2, 0)}, Kind.PRICE_BAND, {"fine": 200_000_000}),
        ({"MDEntryType": "h", "MaxTradeVol": 9, "AvgDailyTradedQty": 4},
         Kind.QUANTITY_BAND, {"size": 9, "other": 4}),
        ({"MDEntryType": "3", "MDEntryPx": Scaled(5_512_345, -2), "IndexSeq": 9, "TickDirection": "2"},
         Kind.INDEX, {"price": 551_234_500, "other": 9, "type": 3}),
        ({"MDEntryType": "3", "MDUpdateAction": 2}, Kind.INDEX, {"action": 2, "price": NULL}),
        ({"MDEntryType": "9", "MDEntryPx": Scaled(51_234, -4)}, Kind.VWAP, {"price": 51_234}),
        ({"MDEntryType": "D", "IndexSeq": 4}, Kind.COMPOSITE, {"other": 4, "low": 0}),
    ],
)  # fmt: skip
def test_statistics(entry: dict[str, Any], kind: Kind, values: dict[str, int]) -> None:
    row = row_of(entry)
    assert row["kind"] == kind
    assert {name: int(row[name]) for name in values} == values


def test_a_channel_reset_has_no_instrument() -> None:
    for action in (0, None):  # 279 is optional in 81
        told = {"MDUpdateAction": action, "MDEntryType": "J", "MDEntryTime": 130000000}
        reading = read(encoded(81, {"MDEntries": [told]}))
        assert reading.faults == []
        assert [row["kind"] for row in reading.rows] == [Kind.CHANNEL_RESET]
        (row,) = read(encoded(81, {"MDEntries": [told | {"SecurityID": 7, "RptSeq": 0}]})).rows
        assert (row["kind"], row["security_id"]) == (Kind.EMPTY_BOOK, 7)


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        (117, {"MDReqID": "1", "MDReqRejReason": "2", "Text": "no"}), (118, {"HeartbeatInt": 30}),
        (119, {"Text": "bye"}), (140, {"DataLen": 3, "Data": b"RLC"}),
    ],
)  # fmt: skip
def test_templates_that_are_only_read_take_their_number_and_tell_nothing(
    template: int, fields: dict[str, Any]
) -> None:
    """5.2.1, 13.2: 35=Y, A, 5 and n."""
    reading = read(encoded(template, fields))
    assert reading.faults == []
    assert [(row["kind"], row["other"]) for row in reading.rows] == [(Kind.OTHER, template)]
    (unit,) = FAST.headers().split(write_chunks(9, encoded(template, fields))[0])
    assert (unit.number, unit.sent_ns) == (9, SENT_NS)


def test_older_templates_tell_the_same() -> None:
    """5.2.1: whoever listens must read the current and the previous ids."""
    common = {"MDUpdateAction": 0, "SecurityID": 7, "RptSeq": 3, "MDEntryTime": 130000123}
    entries = [common | entry for entry in (
        SNAPSHOT_BID | {"OrderID": "4", "MDEntryBuyer": "8", "MDInsertDate": 20131016, "MDInsertTime": 1,
                        "QuoteCondition": "R"},
        TRADE | {"TradeCondition": "X L", "TradeVolume": 9, "TickDirection": "1", "TradingSessionID": 6},
        {"MDEntryType": "5", "MDEntryPx": Scaled(5, 0)}, {"MDEntryType": "B", "MDEntryPx": Scaled(5, 0)},
        {"MDEntryType": "g", "PriceBandType": "1", "LowLimitPrice": Scaled(5, 0), "PriceLimitType": 0},
    )]  # fmt: skip
    opening = common | {"MDEntryType": "4", "MDEntryPx": Scaled(5, 0)}
    newer, older = (
        read(encoded(number, {"MDEntries": [*entries, opening | {"OpenCloseSettlFlag": flag}]}))
        for number, flag in ((145, 5), (138, "5"))
    )
    assert newer.faults == older.faults == []
    assert newer.rows.tobytes() == older.rows.tobytes()
    status = {
        "TransactTime": SENT,
        "TradeDate": 20131016,
        "SecurityGroup": "DOL",
        "TradingSessionSubID": "17",
    }
    assert read(encoded(142, status)).rows.tobytes() == read(encoded(134, status)).rows.tobytes()
    whole = {"LastMsgSeqNumProcessed": 5, "RptSeq": 1, "SecurityID": 7, "MDEntries": [SNAPSHOT_BID]}
    assert read(encoded(147, whole)).rows.tobytes() == read(encoded(146, whole)).rows.tobytes()
    listed = {"SendingTime": str(SENT), "TotNoRelatedSym": 1, "LastFragment": "Y", "RelatedSym": [LISTED]}
    assert definition(149, listed) == definition(148, listed)
    beat, before = (read(encoded(number, {})).rows for number in (144, 129))
    assert beat.tobytes() == before.tobytes()
    told = {"NewsID": "12", "Headline": "H", "LinesOfText": [{"Text": "one"}], "NewsSource": "3"}
    texts = [FAST.news_desk(63).receive(encoded(number, told), 5) for number in (143, 137)]
    assert texts[0] == texts[1]


def definition(template: int, fields: dict[str, Any]) -> Any:
    reader = FastReader(62, load_builtin_templates())
    return reader.definition(reader.read_unit(encoded(template, fields)).rows[0])


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"MDEntryType": "0", "MDUpdateAction": 9}, Fault.FAST_UNKNOWN_VALUE),
        ({"MDEntryType": "1", "MDEntryPx": Scaled(1, -5)}, Fault.FAST_BEYOND_SCALE),
        ({"MDEntryType": "0", "MDEntryTime": 256000000}, Fault.FAST_IMPOSSIBLE_TIME),
    ],
)
def test_an_entry_of_a_book_that_nobody_can_read_is_lost(entry: dict[str, Any], fault: Fault) -> None:
    reading = read(incremental({"MDEntryType": "7"}, entry, {"MDEntryType": "8"}))
    assert [row["kind"] for row in reading.rows] == [Kind.HIGH, Kind.LOW]
    assert [(each.fault, each.index, each.lost) for each in reading.faults] == [(fault, 1, True)]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"MDEntryType": "Z"}, Fault.FAST_UNKNOWN_VALUE),
        ({"MDEntryType": "9", "MDUpdateAction": 9}, Fault.FAST_UNKNOWN_VALUE),
        ({"MDEntryType": "g", "PriceBandType": "7"}, Fault.FAST_UNKNOWN_VALUE),
        ({"MDEntryType": "6", "SettPriceType": 300}, Fault.FAST_BEYOND_SCALE),
        (TRADE | {"MDUpdateAction": 4}, Fault.FAST_UNKNOWN_VALUE),  # 12.6: Delete From is of books
        (TRADE | {"MDEntryPx": Scaled(1, -5)}, Fault.FAST_BEYOND_SCALE),
        (TRADE | {"MDEntryPx": Scaled(1, 40)}, Fault.FAST_BEYOND_SCALE),
        (TRADE | {"MDEntryTime": 256000000}, Fault.FAST_IMPOSSIBLE_TIME),
        (TRADE | {"MDEntryDate": 20131332}, Fault.FAST_IMPOSSIBLE_TIME),
    ],
)
def test_what_nobody_can_read_is_a_report_all_the_same(entry: dict[str, Any], fault: Fault) -> None:
    """It is no book's: so the book stays known, and the instrument's next report follows."""
    reading = read(incremental({"MDEntryType": "7"}, entry, {"MDEntryType": "8"}))
    assert [row["kind"] for row in reading.rows] == [Kind.HIGH, Kind.UNREAD, Kind.LOW]
    high, unread, _ = reading.rows
    assert (unread["security_id"], unread["rpt_seq"]) == (high["security_id"], high["rpt_seq"])
    assert [(each.fault, each.index, each.lost) for each in reading.faults] == [(fault, 1, False)]


@pytest.mark.parametrize(
    ("kind", "entry", "what"),
    [
        ("0", {"QuoteCondition": "R Y"}, "QuoteCondition 'Y'"), ("1", {"MDStreamID": "Z"}, "MDStreamID 'Z'"),
        ("1", {"EarlyTermination": 9}, "EarlyTermination 9"),
        ("2", {"TickDirection": "7"}, "TickDirection '7'"),
        ("2", {"TradingSessionID": 5}, "TradingSessionID 5"),
        ("3", {"TickDirection": "4"}, "TickDirection '4'"),
        ("5", {"PriceAdjustmentMethod": 9}, "PriceAdjustmentMethod 9"),
        ("6", {"PriceType": "9"}, "PriceType '9'"),
        ("A", {"TradeCondition": "Z"}, "TradeCondition 'Z'"), ("7", {"MDStreamID": "XY"}, "MDStreamID 'XY'"),
        ("D", {"Underlyings": [{"UnderlyingSecurityID": 1, "UnderlyingPx": Scaled(1, 0),
                                "UnderlyingPxType": 7}]}, "UnderlyingPxType 7"),
    ],
)  # fmt: skip
def test_a_value_out_of_its_domain_is_kept_and_flagged(kind: str, entry: dict[str, Any], what: str) -> None:
    reading = read(incremental({"MDEntryType": kind, **entry}))
    assert [(each.fault, each.lost, each.detail) for each in reading.faults] == [
        (Fault.FAST_UNKNOWN_VALUE, False, what)
    ]
    row, *_ = reading.rows
    assert row["kind"] != Kind.UNREAD


def test_a_session_of_a_status_that_nobody_knows_is_kept_and_flagged() -> None:
    told = {"TransactTime": SENT, "TradeDate": 20131016, "SecurityID": 7, "SecurityTradingStatus": 17}
    for session, what in ((1, []), (6, []), (5, ["TradingSessionID 5"])):
        reading = read(encoded(142, told | {"TradingSessionID": session}))
        assert [each.detail for each in reading.faults] == what
        assert [row["session"] for row in reading.rows] == [session]


def test_an_implied_order_says_so() -> None:
    for condition, flags in (("K", Flag.IMPLIED), ("R K", Flag.IMPLIED | Flag.RECOVERY), ("C", 0)):
        (row,) = read(incremental({"MDEntryType": "0", "QuoteCondition": condition})).rows
        assert row["flags"] & (Flag.IMPLIED | Flag.RECOVERY) == flags


def test_a_broken_message_is_a_fault() -> None:
    reading = read(incremental({"MDEntryType": "7"})[:-1])
    assert (len(reading.rows), [each.fault for each in reading.faults]) == (0, [Fault.FAST_FIELD_WITHOUT_END])


def test_a_snapshot() -> None:
    entries = [
        {
            "MDEntryType": "0",
            "MDEntryPx": Scaled(5, 0),
            "MDEntrySize": 1,
            "MDEntryPositionNo": 1,
            "OrderID": "8",
        },
        {"MDEntryType": "7", "MDEntryPx": Scaled(6, 0)},
    ]
    head = {"LastMsgSeqNumProcessed": 88, "TotNumReports": 3, "RptSeq": 4, "SecurityID": 7}
    rows = read(encoded(147, head | {"MDEntries": entries})).rows
    assert rows["kind"].tolist() == [Kind.SNAPSHOT, Kind.SNAPSHOT_ORDER, Kind.HIGH]
    assert rows["security_id"].tolist() == [7, 7, 7]
    first = rows[0]
    assert (first["price"], first["size"], first["rpt_seq"]) == (88, 3, 4)
    assert (first["low"], first["high"], first["position"]) == (1, 0, 1)


def test_states_and_phases() -> None:
    times = {"TransactTime": SENT, "TradeDate": 20131016}
    (phase,) = read(encoded(142, times | {"SecurityGroup": "DOL", "TradingSessionSubID": "17"})).rows
    assert (phase["kind"], phase["type"], phase["id"]) == (Kind.PHASE, 17, int.from_bytes(b"DOL", "little"))
    (state,) = read(encoded(142, times | {"SecurityID": 7, "SecurityTradingStatus": 2})).rows
    assert (state["kind"], state["type"], state["security_id"]) == (Kind.STATE, 2, 7)
    assert (state["time_ns"], state["trade_date"]) == (SENT_NS, DAY)


def test_control_messages() -> None:
    (beat,) = read(encoded(144, {})).rows
    assert (beat["kind"], beat["price"]) == (Kind.SEQUENCE, 10)
    (reset,) = read(encoded(122, {"NewSeqNo": 1})).rows
    assert reset["kind"] == Kind.SEQUENCE_RESET


LISTED: dict[str, Any] = {
    "Symbol": "PETR4", "SecurityID": 7, "ApplIDs": [], "SecurityUpdateAction": "A", "Product": 5,
    "SecurityType": "CS",
    "SecuritySubType": "0", "SecurityDesc": "PETROBRAS", "CFICode": "EPNNPR", "CountryOfIssue": "BR",
    "IssueDate": 20000101, "SecurityValidityTimestamp": SENT, "SecurityGroup": "01", "Currency": "BRL",
    "MinPriceIncrement": Scaled(1, -2), "Lots": [{"LotType": 2, "MinLotSize": 100}],
    "SecurityAltIDs": [{"SecurityAltID": "BRPETRACNPR6", "SecurityAltIDSource": "4"}],
}  # fmt: skip


def test_instrument_lists() -> None:
    entries = [LISTED, LISTED | {"SecurityID": 8, "Symbol": "VALE3", "SecurityUpdateAction": "D"}]
    fields = {"SendingTime": str(SENT), "TotNoRelatedSym": 40, "LastFragment": "Y", "RelatedSym": entries}
    reader = FastReader(62, load_builtin_templates())
    reading = reader.read_unit(encoded(149, fields))
    assert not reading.faults
    assert reading.rows["security_id"].tolist() == [7, 8]
    assert [chr(action) for action in reading.rows["action"]] == ["A", "D"]
    listed = [reader.definition(row) for row in reading.rows]
    assert all(each is not None and each.total == 40 for each in listed)
    first, second = (each.definition.instrument for each in listed if each is not None)
    assert (first.symbol, first.channel, first.tick, first.lot, first.isin) == (
        "PETR4",
        62,
        100,
        100,
        "BRPETRACNPR6",
    )
    assert second.symbol == "VALE3"


def test_news() -> None:
    fields = {
        "NewsID": "12",
        "Headline": "H",
        "LinesOfText": [{"Text": "one"}, {"Text": "two"}],
        "NewsSource": "3",
    }
    raw = encoded(143, fields)
    reader = FastReader(63, load_builtin_templates())
    (row,) = reader.read_unit(raw).rows
    (news,) = FAST.news_desk(63).receive(reader.message(row), 5)
    assert (row["kind"], news.news_id, news.headline, news.text) == (Kind.NEWS, 12, "H", "one\ntwo")
    assert (news.time_ns, news.source) == (SENT_NS, 3)


def test_units_of_datagrams() -> None:
    large = incremental(*[{"MDEntryType": "7"}] * 300)
    chunks = write_chunks(9, large, 500)
    payloads = [b"".join(write_chunks(7, b"abc") + write_chunks(8, b"de")), b"short", *chunks[::-1]]
    buffer = b"".join(payloads)
    lengths = np.array([len(each) for each in payloads], np.uint32)
    offsets = (np.cumsum(lengths) - lengths).astype(np.int64)
    data, headers = np.frombuffer(buffer, np.uint8), FAST.headers()
    units = headers.read(data.ctypes.data, offsets.ctypes.data, lengths.ctypes.data, len(payloads))
    assert units.number[: units.count].tolist() == [7, 8, FOREIGN, 9]
    assert units.row[: units.count].tolist() == [0, 0, 1, len(payloads) - 1]
    zeros = np.zeros(1, np.int64)
    reading = FAST.reader(62).read(
        data.ctypes.data, units.offset[3:4], units.length[3:4], zeros, zeros.astype(np.uint16)
    )
    assert len(reading.rows) == 300
    assert [unit.number for unit in FAST.headers().split(payloads[0])] == [7, 8]


def test_times() -> None:
    assert timestamp_ns(SENT) == timestamp_ns("20131016-13:00:00.123") == SENT_NS
    assert as_number(SENT_NS) == SENT
    assert (date_days(20131016), clock_ns(130000123), moment_ns(None, 1)) == (DAY, 46_800_123_000_000, None)
    for wrong in (20131016, "yesterday", 20131016250000000):
        with pytest.raises(DecodeError) as caught:
            timestamp_ns(wrong)
        assert caught.value.fault is Fault.FAST_IMPOSSIBLE_TIME


def test_a_volatility() -> None:
    """10.11: only 10150 has room for it."""
    prices = {"FirstPx": Scaled(10, -1), "LastPx": Scaled(25, -1), "PriceDelta": Scaled(5, -1)}
    row = row_of({"MDEntryType": "v"} | prices, template=10150)
    assert (row["kind"], row["low"], row["high"]) == (Kind.VOLATILITY, 10_000, 25_000)
    assert row["fine"] == 50_000_000
    assert row_of({"MDEntryType": "v", "MDUpdateAction": 2}, template=10150)["action"] == Action.DELETE


def test_a_composite_and_its_parts() -> None:
    """10.10: a row for each underlying follows; only the first is a report."""
    parts = [
        {"UnderlyingSecurityID": 11, "UnderlyingPx": Scaled(150, -2), "UnderlyingPxType": 1},
        {"UnderlyingSecurityID": 12, "UnderlyingPx": Scaled(250, -2)},
    ]
    reading = read(incremental({"MDEntryType": "D", "IndexSeq": 5, "Underlyings": parts, "MDStreamID": "N"}))
    whole, *rest = reading.rows
    assert (whole["kind"], whole["other"], whole["low"], whole["rpt_seq"]) == (Kind.COMPOSITE, 5, 2, 3)
    assert [row["kind"] for row in rest] == [Kind.COMPOSITE_PART] * 2
    assert [(row["id"], row["price"], row["type"], row["position"]) for row in rest] == [
        (11, 15_000, 2, 1), (12, 25_000, 0, 2),
    ]  # fmt: skip
    assert {(int(row["security_id"]), int(row["other"]), chr(row["stream"])) for row in rest} == {(7, 5, "N")}
    assert [row["rpt_seq"] for row in rest] == [0, 0]
    assert [bool(row["flags"] & Flag.END_OF_EVENT) for row in reading.rows] == [False, False, True]


def test_what_a_trade_says_besides() -> None:
    """10.1: 1020, 451; legs never make the last price, and termo vista is a forward."""
    row = row_of({
        "MDEntryType": "2", "MDEntryPx": Scaled(5, 0), "MDEntrySize": 3, "TradeID": "77", "TradeVolume": 900,
        "NetChgPrevDay": Scaled(-15, -1), "TradeCondition": "1 3 X",
    })  # fmt: skip
    assert (row["kind"], row["high"], row["fine"]) == (Kind.TRADE, 900, -150_000_000)
    assert row["detail"] == TradeSubType.LEG
    assert row["flags"] & Flag.FORWARD
    assert row["flags"] & Flag.BY_TIME
    assert row["condition"] == TradeCondition.CROSSED
    lent = row_of({
        "MDEntryType": "2", "MDStreamID": "L", "MDEntrySize": 3, "BTBGraceDate": 20131016,
        "ExpireDate": 20131016, "BTBContractInfo": 1,
    }, template=150)  # fmt: skip
    assert (lent["high"], lent["inserted_ns"], lent["fine"]) == (DAY, DAY, 2 << 16)


def test_a_condition_that_nobody_knows_is_kept_and_flagged() -> None:
    reading = read(incremental({"MDEntryType": "2", "MDEntrySize": 3, "TradeCondition": "R Z"}))
    assert [row["condition"] for row in reading.rows] == [TradeCondition.OPENING_PRICE]
    assert [(each.fault, each.lost) for each in reading.faults] == [(Fault.FAST_UNKNOWN_VALUE, False)]


def test_termo_trades_and_those_of_other_sessions() -> None:
    """10.1: 287 and 37014 of a termo, 336 of a non-regular session."""
    row = row_of(
        TRADE | {"SellerDays": 30, "MDEntryInterestRate": Scaled(125, -4), "TradingSessionID": 6}
        | {"TradeCondition": "3"}
    )  # fmt: skip
    assert (row["low"], row["other"], row["session"]) == (30, 125, 6)
    opening = {"MDEntryType": "4", "OpenCloseSettlFlag": 0, "MDEntryPx": Scaled(5, 0)}
    row = row_of(opening | {"MDEntryInterestRate": Scaled(125, -4), "NetChgPrevDay": Scaled(-1, -2)})
    assert (row["kind"], row["other"], row["fine"]) == (Kind.OPENING, 125, -1_000_000)


@pytest.mark.parametrize("flag", [0, 1, 3, 4, 5, 9])
@pytest.mark.parametrize("price_type", [1, 2, 3, 7])
def test_any_settlement(flag: int, price_type: int) -> None:
    """10.6: any combination of 286 and 731, and 423."""
    told = {"MDEntryType": "6", "MDEntryPx": Scaled(5, 0), "MDStreamID": "A", "PriceType": "1"}
    row = row_of(told | {"OpenCloseSettlFlag": flag, "SettPriceType": price_type})
    assert (row["kind"], row["origin"], row["detail"], row["type"]) == (
        Kind.SETTLEMENT,
        flag + 1,
        price_type,
        1,
    )


@pytest.mark.parametrize("flag", [0, 3, 4])
def test_closing_prices(flag: int) -> None:
    """10.5: of the day, preliminary, adjusted with 37013."""
    told = {"MDEntryType": "5", "OpenCloseSettlFlag": flag, "MDEntryPx": Scaled(5, 0)}
    row = row_of(told | {"PriceAdjustmentMethod": 2})
    assert (row["kind"], row["origin"], row["detail"], row["other"]) == (Kind.CLOSING, flag + 1, 3, NULL)


@pytest.mark.parametrize(("band", "limit", "middle"), [("1", 0, None), ("2", 2, 0), ("3", 2, 1), ("4", 0, 2)])
def test_bands(band: str, limit: int, middle: int | None) -> None:
    """10.9: hard, auction, rejection and static; 1306, 37008."""
    row = row_of({
        "MDEntryType": "g", "PriceBandType": band, "PriceLimitType": limit, "LowLimitPrice": Scaled(5, 0),
        "HighLimitPrice": Scaled(6, 0), "PriceBandMidpointPriceType": middle,
    })  # fmt: skip
    assert (row["type"], row["detail"]) == (int(band), limit + 1)
    assert row["origin"] == (0 if middle is None else middle + 1)


def test_phase_and_state_in_a_snapshot() -> None:
    """11.4: 625, 326, 336, 342 and 1174."""
    entry = {
        "MDEntryType": "c", "TradingSessionSubID": "21", "SecurityTradingStatus": 2, "TradingSessionID": 6,
        "TradSesOpenTime": SENT, "SecurityTradingEvent": 101, "MDEntryDate": 20131016,
        "MDEntryTime": "13:00:00.123",
    }  # fmt: skip
    head = {"LastMsgSeqNumProcessed": 5, "RptSeq": 1, "SecurityID": 7, "MDEntries": [entry]}
    _, row = read(encoded(147, head)).rows
    assert (row["kind"], row["origin"], row["type"], row["session"]) == (Kind.STATE, 21, 2, 6)
    assert (row["inserted_ns"], row["detail"], row["time_ns"]) == (SENT_NS, 101, SENT_NS)


def test_what_the_books_of_a_channel_are_is_told_by_snapshots() -> None:
    """9: 264 says that levels are told, and how many; without it there are orders. Until then by 37."""
    order = {"MDEntryType": "0", "MDEntryPx": Scaled(5, 0), "MDEntrySize": 3, "MDEntryPositionNo": 1}
    reader = FastReader(62, load_builtin_templates())
    assert reader.read_unit(incremental(order | {"OrderID": "4"})).rows["kind"].tolist() == [Kind.ORDER]
    assert reader.read_unit(incremental(order)).rows["kind"].tolist() == [Kind.LEVEL]
    head = {"LastMsgSeqNumProcessed": 5, "RptSeq": 1, "SecurityID": 7, "MDEntries": []}
    (row,) = reader.read_unit(encoded(147, head | {"MarketDepth": 5})).rows
    assert (row["firm"], row["time_ns"], row["other"]) == (5, SENT_NS, NULL)
    assert reader.read_unit(incremental(order | {"OrderID": "4"})).rows["kind"].tolist() == [Kind.LEVEL]
    reader.read_unit(encoded(147, head | {"MDEntries": [SNAPSHOT_BID]}))
    assert reader.read_unit(incremental(order)).rows["kind"].tolist() == [Kind.ORDER]


SNAPSHOT_BID: dict[str, Any] = {
    "MDEntryType": "0", "MDEntryPx": Scaled(5, 0), "MDEntrySize": 3, "MDEntryPositionNo": 1,
}  # fmt: skip


def test_what_says_no_depth_does_not_make_levels_orders() -> None:
    """9: a snapshot without rows, and lists that leave 1022 out, come on channels of levels too; a depth of 0
    is all of the book."""
    reader, level = FastReader(62, load_builtin_templates()), SNAPSHOT_BID | {"NumberOfOrders": 2}
    head = {"LastMsgSeqNumProcessed": 5, "RptSeq": 1, "SecurityID": 7, "MDEntries": []}
    reader.read_unit(encoded(147, head | {"MarketDepth": 5}))
    (row,) = reader.read_unit(encoded(147, head)).rows
    assert row["firm"] == 5
    fields = {"SendingTime": str(SENT), "TotNoRelatedSym": 1, "LastFragment": "Y", "RelatedSym": [LISTED]}
    listed = reader.read_unit(encoded(149, fields))
    assert reader.definition(listed.rows[0]) is not None
    assert reader.read_unit(incremental(level)).rows["kind"].tolist() == [Kind.LEVEL]
    reader.read_unit(encoded(147, head | {"MarketDepth": 0, "MDEntries": [SNAPSHOT_BID]}))
    assert reader.read_unit(incremental(level)).rows["kind"].tolist() == [Kind.ORDER]


def test_a_phase_is_of_its_group_also_where_an_instrument_is_named() -> None:
    """11: 1151 is looked for first; 625 is of groups, 326 of instruments."""
    told = {"TransactTime": SENT, "TradeDate": 20131016, "SecurityGroup": "DOL ", "SecurityID": 7}
    (phase,) = read(encoded(142, told | {"TradingSessionSubID": "17"})).rows
    assert (phase["kind"], phase["type"], phase["id"]) == (Kind.PHASE, 17, int.from_bytes(b"DOL", "little"))
    (state,) = read(encoded(142, told | {"SecurityTradingStatus": 2})).rows
    assert (state["kind"], state["type"], state["security_id"]) == (Kind.STATE, 2, 7)


def test_a_phase_of_another_exchange_is_not_of_our_groups() -> None:
    """11: 1151 with 207 is the key."""
    told = {"SecurityGroup": "XX", "TradingSessionSubID": "02", "TransactTime": SENT, "TradeDate": 20131016}
    assert read(encoded(142, told | {"SecurityExchange": "BVMF"})).rows["kind"].tolist() == [Kind.PHASE]
    assert read(encoded(142, told | {"SecurityExchange": "XNYS"})).rows["kind"].tolist() == [Kind.OTHER]


def test_a_number_that_does_not_fit_is_a_fault() -> None:
    reading = read(incremental({"MDEntryType": "2", "MDEntrySize": 3, "TradingSessionID": 300}))
    assert [each.fault for each in reading.faults] == [Fault.FAST_BEYOND_SCALE]
