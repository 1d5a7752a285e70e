"""Messages to rows by kernel: the same rows, faults and counts as the plain reader, whatever is in them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.feeds.conflated.kernel_reader import KernelReader
from pregao.feeds.conflated.reader import ConflatedReader
from pregao.model.rows import Kind
from tests.kits.conflated_wire import (
    DICTIONARY,
    bid,
    deleted,
    incremental,
    message,
    offer,
    raw_message,
    read_all,
)

KERNEL = KernelReader(0, DICTIONARY)


def compare(messages: list[bytes]) -> int:
    plain_reader = ConflatedReader(0, DICTIONARY)
    kernel, plain = read_all(KERNEL, messages), read_all(plain_reader, messages)
    assert kernel.faults == plain.faults
    assert len(kernel.rows) == len(plain.rows)
    for name in plain.rows.dtype.names or ():
        assert kernel.rows[name].tolist() == plain.rows[name].tolist(), name
    return len(plain.rows)


def optional(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes | None]:
    return st.none() | values


NUMBERS = st.sampled_from([
    b"0", b"1", b"7", b"007", b"900001", b"123456789012345678", b"1234567890123456789",
    b"99999999999999999999", b"A1", b"-5", b"+5", b"4294967296", b"",
])  # fmt: skip
DECIMALS = st.sampled_from([
    b"10.58", b"-3.1", b"0", b"24", b"10.58000", b"0.00001", b"123456789012345.6789", b"1e5", b".5", b"5.",
    b"9223372036854775807", b"92233720368547758070",
])  # fmt: skip
SIZES = st.sampled_from([b"100", b"0", b"100.0", b"0.5", b"-1", b"x"])
DATES = st.sampled_from([b"20261118", b"20240229", b"20230229", b"19600101", b"2026", b"20991231"])
TIMES = st.sampled_from([b"13:00:00.120", b"130000120", b"23:59:60", b"24:00:00", b"13:00:00.123456", b""])
WORDS = st.sampled_from([
    b"R", b"K", b"LM", b"AN", b"R K", b"K AN", b"C", b"Z", b"R ", b" R", b"X", b"L", b"2", b"U", b"1", b"3",
    b"1 3", b"3 1", b"RL", b"RP", b"R X L", b"MP 2", b"P", b"Q", b"IM", b"SW X",
])  # fmt: skip
ENTRY = st.fixed_dictionaries({
    279: optional(st.sampled_from([b"0", b"0", b"1", b"2", b"3", b"4", b"9", b"00"])),
    37: optional(NUMBERS),
    22: optional(st.sampled_from([b"8", b"8", b"4"])),
    207: optional(st.sampled_from([b"BVMF", b"BVMF", b"XXXX"])),
    48: optional(NUMBERS),
    269: optional(st.sampled_from([bytes([each]) for each in b"001122233456789ABCDJcghvt"])),
    270: optional(DECIMALS),
    271: optional(SIZES),
    37780: optional(SIZES),
    272: optional(DATES),
    273: optional(TIMES),
    274: optional(st.sampled_from([b"0", b"3", b"4", b"x"])),
    276: optional(WORDS),
    277: optional(WORDS),
    286: optional(st.sampled_from([b"0", b"4", b"5", b"9"])),
    287: optional(NUMBERS),
    288: optional(NUMBERS),
    289: optional(NUMBERS),
    336: optional(st.sampled_from([b"1", b"6", b"9"])),
    346: optional(NUMBERS),
    432: optional(DATES),
    451: optional(DECIMALS),
    1003: optional(NUMBERS),
    1020: optional(SIZES),
    1500: optional(st.sampled_from([b"E", b"L", b"N", b"Z", b"EE"])),
    15: optional(st.sampled_from([b"BRL", b"USD", b"BR"])),
    37014: optional(DECIMALS),
    37016: optional(DATES),
    37017: optional(TIMES),
    37019: optional(st.sampled_from([b"0", b"2", b"300"])),
    37023: optional(st.sampled_from([b"0", b"1"])),
    37024: optional(st.sampled_from([b"1", b"2", b"-1"])),
    37100: optional(NUMBERS),
})  # fmt: skip
DATED = st.none() | DATES
DEPTHS = st.sampled_from([None, None, b"3", b"2", b"2", b"02", b"1", b"x"])
# Mostly what a server sends, so that the kernel takes most of it.
PLAIN_ENTRY = st.fixed_dictionaries({
    279: st.sampled_from([b"0", b"1", b"2", b"3"]),
    37: st.integers(1, 10**12).map(lambda each: b"%d" % each),
    48: st.sampled_from([b"900001", b"900002"]),
    269: st.sampled_from([b"0", b"1", b"2", b"3", b"4", b"7", b"A", b"B", b"C", b"g"]),
    270: optional(st.sampled_from([b"10.58", b"24.0100", b"-1", b"0.00010"])),
    271: st.sampled_from([b"100", b"5000"]),
    37780: optional(st.sampled_from([b"100"])),
    272: st.just(b"20261118"),
    273: st.just(b"13:00:00.120"),
    276: optional(st.sampled_from([b"R", b"K", b"R K", b"LM"])),
    277: optional(st.sampled_from([b"R", b"X L", b"1", b"2", b"3", b"P", b"Q"])),
    286: optional(st.sampled_from([b"5", b"0"])),
    288: optional(st.just(b"8")),
    289: optional(st.just(b"131")),
    346: optional(st.sampled_from([b"2", b"0"])),
    1003: st.integers(1, 10**6).map(lambda each: b"%d" % each),
    1500: optional(st.sampled_from([b"E", b"L", b"N"])),
    15: st.just(b"BRL"),
    37016: st.just(b"20261117"),
    37017: st.just(b"130000120"),
    37019: optional(st.just(b"1")),
})  # fmt: skip


@given(st.lists(st.tuples(st.lists(ENTRY | PLAIN_ENTRY, max_size=3), DATED, DEPTHS), min_size=4, max_size=6))
@settings(max_examples=150, deadline=None)
def test_rows_are_those_of_the_plain_reader(told):
    messages = []
    for entries, date, depth in told:
        fields = [(tag, value) for tag, value in ((75, date), (1021, depth)) if value is not None]
        fields.append((268, b"%d" % len(entries)))
        for entry in entries:
            # An entry begins as the others do: with 279, whatever else it has.
            fields += [
                (tag, value) for tag, value in {**entry, 279: entry[279] or b"0"}.items() if value is not None
            ]
        messages.append(raw_message(b"X", fields))
    compare(messages)


@given(st.lists(st.tuples(st.lists(PLAIN_ENTRY, min_size=1, max_size=3), DEPTHS), min_size=4, max_size=6))
@settings(max_examples=100, deadline=None)
def test_ordinary_rows_are_those_of_the_plain_reader(told):
    messages = []
    for entries, depth in told:
        fields = [] if depth is None else [(1021, depth)]
        fields.append((268, b"%d" % len(entries)))
        for entry in entries:
            fields += [(tag, value) for tag, value in entry.items() if value is not None]
        messages.append(raw_message(b"X", fields))
    compare(messages)


def test_ordinary_messages_are_read_by_the_kernel(monkeypatch):
    def refuse(*_):
        raise AssertionError("left to the plain reader")

    monkeypatch.setattr(KERNEL, "_read_one", refuse)
    ordinary = [
        bid(3971, b"10.58", 5000, _288=b"8"),
        offer(4000, None, 100, _276=b"K"),
        deleted(b"0", 3971, b"10.58"),
        {279: b"1", **bid(1, b"10.57", 300), 37780: b"500"},
        {279: b"3", 269: b"1"},
        {
            269: b"2",
            270: b"10.58",
            271: b"100",
            1003: b"10",
            277: b"R X",
            274: b"0",
            451: b"-0.12",
            1020: b"100",
            288: b"8",
            289: b"3",
            1500: b"E",
            37016: b"20261118",
            37017: b"13:00:00.001",
        },
        {279: b"2", 269: b"2", 270: b"10.58", 271: b"100", 1003: b"10", 1500: b"E"},
        {269: b"3", 270: b"123456.78", 37100: b"7", 1500: b"N", 274: b"1"},
        {269: b"4", 270: b"10", 271: b"500", 286: b"5"},
        {269: b"7", 270: b"11", 1500: b"E"},
        {269: b"A", 271: b"700", 277: b"P"},
        {269: b"B", 270: b"1000.00", 271: b"3", 15: b"BRL", 1500: b"E"},
        {269: b"C", 271: b"12", 1500: b"E"},
    ]
    rows = read_all(KERNEL, [incremental(each) for each in ordinary]).rows
    assert [Kind(kind) for kind in rows["kind"].tolist()] == [
        Kind.ORDER,
        Kind.ORDER,
        Kind.ORDER,
        Kind.ORDER,
        Kind.SIDE,
        Kind.TRADE,
        Kind.BUST,
        Kind.INDEX,
        Kind.THEORETICAL,
        Kind.HIGH,
        Kind.IMBALANCE,
        Kind.TOTALS,
        Kind.OPEN_INTEREST,
    ]


def test_what_the_text_has_and_nobody_sends_costs_nothing(monkeypatch):
    """83 of 6.2, 290 of 7.8.1, times without colons: known, and read by the kernel."""
    usual = [bid(3971, b"10.58", 5000), {279: b"1", **bid(3971, b"10.58", 300), 37780: b"5000"}]
    more = {83: b"17", 290: b"1", 273: b"130000120"}
    messages = [incremental({**each, **more}) for each in usual * 2]
    assert compare(messages) == 4
    reader = ConflatedReader(0, DICTIONARY)
    read_all(reader, messages)
    assert reader.unknowns.tags == {}
    monkeypatch.setattr(KERNEL, "_read_one", None)
    assert read_all(KERNEL, messages).rows["kind"].tolist() == [Kind.ORDER] * 4


def test_levels_are_read_by_the_kernel(monkeypatch):
    """1021=2 of the message says that its books are by level."""
    level = {269: b"0", 270: b"10.58", 271: b"9000", 346: b"2"}
    told = [
        level,
        {279: b"1", **level, 37780: b"100"},
        {279: b"2", 269: b"1", 270: b"11"},
        {279: b"3", 269: b"0"},
    ]
    messages = [incremental(each, _1021=b"2") for each in told]
    assert compare(messages) == 4
    monkeypatch.setattr(KERNEL, "_read_one", None)
    rows = read_all(KERNEL, messages).rows
    assert rows["kind"].tolist() == [Kind.LEVEL, Kind.LEVEL, Kind.LEVEL, Kind.SIDE]
    assert rows["firm"].tolist() == [2, 2, 0, 0]
    assert rows["other"].tolist()[1] == 100


def test_other_messages_between_them_keep_their_place():
    status = message(b"f", {1151: "01", 60: 1, 75: b"20261118", 625: b"17", 207: "BVMF"})
    messages = [incremental(bid(1, b"10", 1)), status, incremental(bid(2, b"10", 1)), b"nonsense\x01"]
    assert compare(messages) == 3
    assert compare([messages[0], messages[0], messages[3], status, messages[2]]) == 4


@pytest.mark.parametrize("count", [[], [(268, b"")], [(268, b"x")]])
def test_a_refresh_without_a_count_of_entries_is_a_fault(count):
    """What it told of books is lost: that must not pass in silence."""
    lost = raw_message(b"X", [(75, b"20261118"), *count])
    messages = [incremental(bid(1, b"10", 1)), lost, *([incremental(offer(2, b"11", 1))] * 4)]
    assert compare(messages) == 5
    assert [each.packet for each in read_all(KERNEL, messages).faults] == [1]
