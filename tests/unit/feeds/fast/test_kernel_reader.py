"""Messages to rows by kernel: the same rows and faults as the plain reader, whatever is in them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.kernel_reader import FEW, KernelReader
from pregao.feeds.fast.reader import BookShape, FastReader
from pregao.feeds.port import Reading
from tests.kits.fast_market import MS, FastToy

TEMPLATES = load_builtin_templates()
ENCODER = FastMessageEncoder(TEMPLATES)
KERNEL, PLAIN = (kind(62, TEMPLATES, BookShape()) for kind in (KernelReader, FastReader))
SENT = 20131016130000123


def read(reader: FastReader, messages: list[bytes]) -> Reading:
    block = np.frombuffer(b"".join(messages), np.uint8)
    lengths = np.array([len(each) for each in messages], np.uint32)
    offsets = np.cumsum(lengths, dtype=np.int64) - lengths
    places = np.arange(len(messages), dtype=np.int64) + (7 << 32)
    epochs = np.full(len(messages), 3, np.uint16)
    return reader.read(block.ctypes.data, offsets, lengths, places, epochs)


def compare(messages: list[bytes], by_level: bool | None) -> int:
    KERNEL.shape.by_level = PLAIN.shape.by_level = by_level
    kernel = read(KERNEL, messages)
    shape = KERNEL.shape.by_level
    plain = read(PLAIN, messages)
    assert shape == PLAIN.shape.by_level
    assert kernel.faults == plain.faults
    assert len(kernel.rows) == len(plain.rows)
    for name in plain.rows.dtype.names or ():
        assert kernel.rows[name].tolist() == plain.rows[name].tolist(), name
    return len(plain.rows)


def incremental(*entries: dict[str, Any], template: int = 145) -> bytes:
    fields = {"MsgSeqNum": 9, "SendingTime": SENT, "MDEntries": list(entries)}
    return ENCODER.encode(template, fields)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


NUMBERS = st.integers(0, 70_000) | st.integers(0, (1 << 32) - 1)
PRICES = st.builds(Scaled, st.integers(-(10**9), 10**9), st.integers(-6, 4)) | st.builds(
    Scaled, st.integers(1, 99_999), st.just(-2)
)
WORDS = st.sampled_from(["", "7", "123456789012345678", "1234567890123456789", "99999999999999999999", "A1"])
DATES = st.sampled_from([20131016, 20131016, 20240229, 20230229, 19700101, 99999999, 0])
CLOCKS = st.sampled_from([130000123, 0, 235959999, 235960999, 240000000, 126000000])
ENTRIES = st.fixed_dictionaries({
    "MDUpdateAction": st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 6]),
    "MDEntryType": st.sampled_from([*"0011122279AB48CJgZ365h", "00"]),
    "SecurityID": st.sampled_from([7, 200_000_000_001, (1 << 64) - 1]),
    "RptSeq": NUMBERS, "MDEntryTime": CLOCKS, "MDEntryDate": optional(DATES),
    "QuoteCondition": optional(st.sampled_from(["R", "C", "K", "R C", "R K", "LM", "Y", ""])),
    "MDEntryPx": optional(PRICES),
    "MDEntryInterestRate": optional(PRICES), "NumberOfOrders": optional(NUMBERS),
    "MDEntrySize": optional(st.integers(-(1 << 63), (1 << 63) - 1)),
    "MDInsertDate": optional(DATES), "MDInsertTime": optional(CLOCKS),
    "MDStreamID": optional(st.sampled_from(["E", "L", "N", "Z", "XY", ""])),
    "NetChgPrevDay": optional(PRICES),
    "SellerDays": optional(NUMBERS), "TradeVolume": optional(st.sampled_from([0, 900, (1 << 64) - 1])),
    "TickDirection": optional(st.sampled_from(["0", "3", "4", "9", "x", ""])),
    "TradeCondition": optional(st.sampled_from(["R", "X L", "1", "2", "3 R", "U", "Z", "P", "Q", "RX", ""])),
    "TradingSessionID": optional(st.sampled_from([1, 6, 7, 300])), "OrderID": optional(WORDS),
    "TradeID": optional(WORDS), "MDEntryBuyer": optional(WORDS), "MDEntrySeller": optional(WORDS),
    "MDEntryPositionNo": optional(NUMBERS), "ExpireDate": optional(DATES),
    "EarlyTermination": optional(st.sampled_from([0, 1, 2, 3, 254, 255])),
    "Currency": optional(st.just("BRL")),
    "OpenCloseSettlFlag": optional(st.sampled_from([0, 5, 4])), "IndexSeq": optional(NUMBERS),
})  # fmt: skip


@given(st.lists(st.lists(ENTRIES, max_size=4), min_size=4, max_size=12), st.sampled_from([True, False, None]))
@settings(max_examples=150, deadline=None)
def test_any_entries(messages: list[list[dict[str, Any]]], by_level: bool | None) -> None:
    compare([incremental(*entries) for entries in messages], by_level)


STATISTICS = st.fixed_dictionaries({
    "MDEntryType": st.sampled_from([*"456BBccgghhA01"]), "MDEntryPx": optional(PRICES),
    "MDEntrySize": optional(st.integers(-(1 << 40), 1 << 40)), "MDEntryDate": optional(DATES),
    "NetChgPrevDay": optional(PRICES), "MDEntryInterestRate": optional(PRICES),
    "TradeVolume": optional(st.sampled_from([0, 900, (1 << 64) - 1])),
    "Currency": optional(st.sampled_from(["BRL", "", "LONGER"])), "LastTradeDate": optional(DATES),
    "PriceAdjustmentMethod": optional(st.sampled_from([0, 3, 4, 5, 254, 255])),
    "SettPriceType": optional(st.sampled_from([0, 1, 255, 256])),
    "PriceType": optional(st.sampled_from(["1", "2", "3", "4", "x", "300"])),
    "PriceBandType": optional(st.sampled_from([*"012345", "", "12"])),
    "PriceLimitType": optional(st.sampled_from([0, 2, 254, 255])),
    "PriceBandMidpointPriceType": optional(st.sampled_from([0, 2, 255])),
    "LowLimitPrice": optional(PRICES), "HighLimitPrice": optional(PRICES),
    "TradingReferencePrice": optional(PRICES),
    "AvgDailyTradedQty": optional(st.sampled_from([0, 7, (1 << 64) - 1])),
    "MaxTradeVol": optional(st.sampled_from([0, 7, (1 << 64) - 1])),
    "TradingSessionID": optional(st.sampled_from([1, 6, 300])),
    "TradeCondition": optional(st.sampled_from(["P", "Q", "P Q", "Z", ""])),
    "QuoteCondition": optional(st.sampled_from(["R", "C", "R C"])),
    "MDEntryPositionNo": optional(NUMBERS), "OrderID": optional(WORDS),
})  # fmt: skip
OF_SNAPSHOTS = st.fixed_dictionaries({
    "MDEntryTime": optional(st.sampled_from(["13:00:00.123", "130000123", "1", "", "x", "24:00:00.000",
                                             "1300001234"])),
    "TradingSessionSubID": optional(st.sampled_from(["17", "02", "x", "300"])),
    "SecurityTradingStatus": optional(st.sampled_from([2, 17, 300])),
    "SecurityTradingEvent": optional(st.sampled_from([101, 300])),
    "TradSesOpenTime": optional(st.sampled_from([SENT, 20131016, 20131016250000000])),
    "OpenCloseSettlFlag": optional(st.sampled_from([0, 5, 254, 255])),
})  # fmt: skip


@given(st.lists(st.lists(STATISTICS, max_size=3), min_size=4, max_size=9))
@settings(max_examples=100, deadline=None)
def test_any_statistics(messages: list[list[dict[str, Any]]]) -> None:
    head = {"MDUpdateAction": 0, "SecurityID": 7, "RptSeq": 3, "MDEntryTime": 130000123}
    compare([incremental(*(head | entry for entry in entries)) for entries in messages], False)


@given(
    st.lists(
        st.tuples(
            st.lists(st.builds(dict.__or__, STATISTICS, OF_SNAPSHOTS), max_size=3),
            st.sampled_from([None, 0, 5, -1]), st.sampled_from([7, (1 << 64) - 1]),
            st.sampled_from([SENT, SENT, 20131016250000000]), optional(NUMBERS),
        ),
        min_size=4, max_size=9,
    ),
    st.sampled_from([147, 147, 10147]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_any_snapshots(messages: list[tuple[Any, ...]], template: int) -> None:
    """They also say what the books of the channel are."""
    compare(
        [
            ENCODER.encode(template, {
                "MsgSeqNum": 9, "SendingTime": sent, "LastMsgSeqNumProcessed": 70, "TotNumReports": reports,
                "MarketDepth": depth, "RptSeq": 4, "SecurityID": security_id, "MDEntries": entries,
            })
            for entries, depth, security_id, sent, reports in messages
        ],
        None,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
def test_a_market(kind: str) -> None:
    """Entries as they are sent, with heartbeats, phases and resets between them."""
    toy = FastToy(5, kind)
    messages = []
    for step in range(400):
        toy.now_ns += MS
        messages.append(toy.step())
        if step % 50 == 20:
            messages += [toy.phase("G0", 21), *toy.book_reset(200_000_000_001), *toy.channel_reset()]
    messages += toy.definitions() + toy.snapshots()
    assert compare(messages, kind != "MBO") > 500


def test_damage_in_the_middle() -> None:
    entry = {"MDUpdateAction": 0, "MDEntryType": "7", "SecurityID": 7, "RptSeq": 1, "MDEntryTime": 1}
    good = incremental(entry)
    assert compare([good, good[:-2], good, b"\x80", b"", good + b"\x01", good], False) == 3


def test_text_flags_of_the_older_template() -> None:
    entry = {"MDUpdateAction": 0, "MDEntryType": "4", "SecurityID": 7, "RptSeq": 1, "MDEntryTime": 1}
    flags = ("5", "0", "x", "")
    messages = [incremental(entry | {"OpenCloseSettlFlag": flag}, template=138) for flag in flags]
    assert compare(messages, False) == 4


@pytest.mark.parametrize("template", [144, 149])
def test_times_that_cannot_be_of_heartbeats_and_lists(template: int) -> None:
    """They are read in passing, without decoding them: not so where something is wrong."""
    sent: list[Any] = [SENT, 20131016250000000]
    more: dict[str, Any] = {}
    if template == 149:
        sent = [str(each) for each in sent]
        more = {"LastFragment": "Y", "TotNoRelatedSym": 0, "RelatedSym": []}
    good, bad = (ENCODER.encode(template, {"MsgSeqNum": 9, "SendingTime": each} | more) for each in sent)
    reading = read(PLAIN, [good, bad, good + b"\x01", good])
    assert [fault.packet for fault in reading.faults] == [1, 2]
    assert {fault.fault.name for fault in reading.faults} == {"FAST_IMPOSSIBLE_TIME", "FAST_BYTES_LEFT_OVER"}
    compare([good, bad, good + b"\x01", good], False)


@pytest.mark.parametrize("by_level", [False, True, None])
@pytest.mark.parametrize(
    ("entry", "lost", "doubts"),
    [
        ({"MDEntryType": "Z"}, False, None), ({"MDEntryType": ""}, True, None),
        ({"MDEntryType": "7", "MDUpdateAction": 9}, False, 7),
        ({"MDEntryType": "2", "MDEntryPx": Scaled(1, -5)}, False, 7),
        ({"MDEntryType": "0", "MDUpdateAction": 9}, True, None),
        ({"MDEntryType": "J", "MDUpdateAction": 9}, True, None),
        ({"MDEntryType": "J", "MDEntryTime": 256000000}, True, None),
    ],
)  # fmt: skip
def test_what_nobody_can_read_is_the_same_to_both(
    entry: dict[str, Any], lost: bool, doubts: int | None, by_level: bool | None
) -> None:
    """Between ordinary messages, which the kernel reads."""
    usual = {
        "MDUpdateAction": 0, "MDEntryType": "7", "SecurityID": 7, "RptSeq": 3, "MDEntryTime": 130000123,
        "MDEntryPx": Scaled(5, 0), "MDEntryPositionNo": 1,
    }  # fmt: skip
    ordinary = [incremental(usual)] * FEW
    messages = [*ordinary, incremental(usual, usual | entry, usual), *ordinary]
    assert compare(messages, by_level) == 2 * FEW + 3 - lost
    (fault,) = read(KERNEL, messages).faults
    assert (fault.packet, fault.index, fault.lost, fault.doubts) == (FEW, 1, lost, doubts)
