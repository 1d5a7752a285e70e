"""Values of every FIX type: what is accepted, what it means, and what is refused."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.fix.formats import format_mantissa, format_value
from pregao.codecs.fix.types import (
    COUNTS,
    FLOATS,
    FieldType,
    FixValue,
    MonthYear,
    ValueFormatError,
    parse_mantissa,
    parse_value,
)

T = FieldType
SECOND = 1_000_000_000
NOON = 12 * 3600 * SECOND
DAY = date(2024, 2, 29)
MIDNIGHT = 1_709_164_800 * SECOND  # of that day

GOOD: list[tuple[FieldType, bytes, FixValue]] = [
    (T.INT, b"-0012", -12),
    (T.SEQNUM, b"000001", 1),
    (T.FLOAT, b"-0.10", Decimal("-0.10")),
    (T.PRICE, b"23.", Decimal(23)),
    (T.QTY, b".5", Decimal("0.5")),
    (T.AMT, b"123456789012345678.123456789", Decimal("123456789012345678.123456789")),
    (T.BOOLEAN, b"Y", True),
    (T.CHAR, b"=", "="),
    (T.STRING, b"a=b c", "a=b c"),
    (T.MULTIPLEVALUESTRING, b"R RF", ("R", "RF")),
    (T.COUNTRY, b"BR", "BR"),
    (T.CURRENCY, b"BRL", "BRL"),
    (T.EXCHANGE, b"BVMF", "BVMF"),
    (T.LOCALMKTDATE, b"20240229", DAY),
    (T.UTCDATEONLY, b"20240229", DAY),
    (T.DATE, b"20240229", DAY),
    (T.DAYOFMONTH, b"31", 31),
    (T.UTCTIMESTAMP, b"20240229-12:00:00", MIDNIGHT + NOON),
    (T.UTCTIMESTAMP, b"20240229-12:00:00.001", MIDNIGHT + NOON + 1_000_000),
    (T.UTCTIMESTAMP, b"20240229-12:00:00.000001", MIDNIGHT + NOON + 1_000),
    (T.UTCTIMESTAMP, b"20240229-12:00:00.000000001", MIDNIGHT + NOON + 1),
    (T.UTCTIMESTAMP, b"20240229-23:59:60", MIDNIGHT + 86_400 * SECOND),
    (T.TIME, b"20240229-12:00:00", MIDNIGHT + NOON),
    (T.UTCTIMEONLY, b"12:00:00.5".ljust(12, b"0"), NOON + SECOND // 2),
    (T.UTCTIMEONLY, b"120000500", NOON + SECOND // 2),  # as B3's text has 273
    (T.TZTIMEONLY, b"12:00-03:00", NOON + 3 * 3600 * SECOND),
    (T.TZTIMESTAMP, b"20240229-12:00:00+02", MIDNIGHT + NOON - 2 * 3600 * SECOND),
    (T.TZTIMESTAMP, b"20240229-12:00:00Z", MIDNIGHT + NOON),
    (T.MONTHYEAR, b"202407", MonthYear(2024, 7)),
    (T.MONTHYEAR, b"20240701", MonthYear(2024, 7, day=1)),
    (T.MONTHYEAR, b"202407w4", MonthYear(2024, 7, week=4, lettered=True)),
    (T.MONTHYEAR, b"2024074", MonthYear(2024, 7, week=4)),
    (T.TENOR, b"D5", "D5"),
    (T.LANGUAGE, b"pt", "pt"),
    (T.PATTERN, b"anything", "anything"),
    (T.DATA, b"a\x01b", b"a\x01b"),
]

NO_DECIMALS = (b"", b"+1", b"1e5", b"1E5", b".", b"-", b"1.2.3", b"1,5", b"nan", b" 1")
NO_COUNTS = (b"", b"-1", b"+1", b"1.0", b"9" * 20, b"1_0")
NO_TIMESTAMPS = (
    b"20240229",
    b"20240229-24:00:00",
    b"20240229-12:60:00",
    b"20240229-12:00:61",
    b"20240229-12:00:00.1",
    b"20240230-12:00:00",
    b"20240229-12:00",
)
BAD: list[tuple[FieldType, bytes]] = [
    *((kind, text) for kind in sorted(FLOATS, key=str) for text in NO_DECIMALS),
    *((kind, text) for kind in sorted(COUNTS, key=str) for text in NO_COUNTS),
    *((T.INT, text) for text in (b"", b"+1", b"1.0", b"0x1", b"--1", b"9" * 20)),
    *((T.BOOLEAN, text) for text in (b"", b"y", b"1", b"YN")),
    *((T.CHAR, text) for text in (b"", b"ab")),
    (T.STRING, b""),
    *((T.MULTIPLEVALUESTRING, text) for text in (b"", b" R", b"R  K", b"R ")),
    *((T.LOCALMKTDATE, text) for text in (b"", b"20230229", b"2024-02-29", b"00000101", b"202402")),
    *((T.UTCTIMESTAMP, text) for text in NO_TIMESTAMPS),
    *((T.UTCTIMEONLY, text) for text in (b"12:00", b"250000000", b"1200005000")),
    *((T.MONTHYEAR, text) for text in (b"202413", b"20240732", b"202407w7", b"2024077", b"2024")),
    (T.MONTHYEAR, b"20240230"),
    (T.DAYOFMONTH, b"32"),
    (T.TENOR, b"5D"),
    (T.COUNTRY, b"BRA"),
    (T.TZTIMESTAMP, b"20240229-12:00:00+15"),
    (T.FLOAT, b"1" * 41),
]


@pytest.mark.parametrize(("kind", "text", "value"), GOOD)
def test_meaning(kind: FieldType, text: bytes, value: FixValue) -> None:
    found = parse_value(kind, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("kind", "text"), BAD)
def test_refused(kind: FieldType, text: bytes) -> None:
    with pytest.raises(ValueFormatError):
        parse_value(kind, text)


def test_every_type_of_the_text_is_there() -> None:
    names = """Amt Boolean Char Country Currency Date DayOfMonth Exchange Float Int Length LocalMktDate
        MonthYear MultipleCharValue MultipleStringValue NumInGroup Pattern Percentage Price PriceOffset Qty
        Reserved1000Plus Reserved100Plus Reserved4000Plus SeqNum String TZTimeOnly TZTimestamp TagNum Tenor
        Time UTCDate UTCDateOnly UTCTimeOnly UTCTimestamp"""
    assert len(names.split()) == 35
    assert {name.upper() for name in names.split()} <= {kind.value for kind in FieldType}


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**18), max_value=10**18))
def test_decimals_are_exact_both_ways(value: Decimal) -> None:
    text = format_value(T.PRICE, value)
    assert b"E" not in text
    assert parse_value(T.PRICE, text) == value


@given(st.integers(-(2**62), 2**62), st.integers(-9, 2))
def test_mantissas_keep_their_scale(mantissa: int, exponent: int) -> None:
    assert parse_mantissa(format_mantissa(mantissa, exponent), exponent) == mantissa


def test_more_decimals_than_the_scale_are_refused() -> None:
    assert parse_mantissa(b"1.23400", -3) == 1234
    with pytest.raises(ValueFormatError):
        parse_mantissa(b"1.2345", -3)


@given(st.integers(0, 253_402_300_799 * SECOND), st.sampled_from([0, 3, 6, 9]))
def test_times_are_cut_to_their_decimals(time_ns: int, decimals: int) -> None:
    unit = 10 ** (9 - decimals)
    assert (
        parse_value(T.UTCTIMESTAMP, format_value(T.UTCTIMESTAMP, time_ns, decimals)) == time_ns // unit * unit
    )


@pytest.mark.parametrize("text", [b"202407", b"20240701", b"202407w4", b"2024074"])
def test_months_go_back_to_their_bytes(text: bytes) -> None:
    assert format_value(T.MONTHYEAR, parse_value(T.MONTHYEAR, text)) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [(T.STRING, "a\x01b"), (T.STRING, ""), (T.PRICE, Decimal("NaN")), (T.INT, Decimal(1)), (T.STRING, "€")],
)
def test_we_never_write_what_we_would_not_read(kind: FieldType, value: FixValue) -> None:
    with pytest.raises(ValueFormatError):
        format_value(kind, value)
