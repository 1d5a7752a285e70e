"""Golden lines for people."""

from decimal import Decimal

import pytest

from pregao.captures.formats.text import TextFormat, price, printable
from pregao.captures.formats.times import Clock, date_of
from pregao.captures.symbols import SymbolTable
from pregao.feeds.binary.decoding import BinaryDecoder
from pregao.model.streams import Feed, Stream
from tests.unit.captures.formats.test_json_lines import decoded
from tests.unit.captures.kit import PETR4, TRADE_DATE, TS, VALE3, definition, message, order, trade

LEAD = "2025-03-31 10:15:00.123456789-03 13:15:00.123456789Z #3       84 - -   1:7        "


def shown(raw: bytes, **known: int) -> str:
    symbols = SymbolTable()
    for symbol, security_id in known.items():
        symbols.add(security_id, symbol)
    return TextFormat(BinaryDecoder(), symbols).message(decoded(raw))


def test_an_order() -> None:
    assert shown(order(), PETR4=PETR4) == (
        f"{LEAD}Order_MBO_50               v16  PETR4          NEW BID 1000 @ 38.25 enteringFirm=3 "
        "mDInsertTimestamp=2025-03-30 10:15:00.123456789 secondaryOrderID=81 rptSeq=12 "
        "transactTime=10:15:00.123455789 [EndOfEvent]\n"
    )


def test_without_a_definition_the_id_stands_for_itself() -> None:
    assert " v16  100000123      NEW BID " in shown(order())


def test_a_trade_with_its_date() -> None:
    assert shown(trade(), PETR4=PETR4) == (
        f"{LEAD}Trade_53                   v16  PETR4          300 @ 38.255 "
        "tradingSessionID=REGULAR_TRADING_SESSION tradeCondition=OpeningPrice,RegularTrade tradeID=10 "
        "tradeDate=2025-03-31 transactTime=10:15:00.123456789 rptSeq=13\n"
    )


def test_a_definition_shows_its_symbol_and_id_and_its_groups_below() -> None:
    first, second, end = shown(definition()).split("\n")
    assert " v16  PETR4          ADD securityID=100000123 " in first
    assert "maturityMonthYear=2025-06 " in first
    assert "contractSettlMonth" not in first
    assert "securityValidityTimestamp=2026-03-31 20:33:20 " in first
    assert first.endswith('securityDesc="PETROBRAS PN — ação"')
    assert second == (
        "    noLegs[1] BUY legSecurityID=100000456 legRatioQty=1.00 legSecurityType=CS legSymbol=VALE3"
    )
    assert end == ""


def test_a_long_name_is_shortened_to_its_column() -> None:
    entry = {"mDEntryPx": Decimal("60.1"), "mDEntrySize": 100, "secondaryOrderID": 5, "mDEntryType": "OFFER",
             "matchEventIndicator": ()}  # fmt: skip
    lines = shown(message(71, {"securityID": VALE3, "noMDEntries": [entry]})).split("\n")
    assert lines[0] == f"{LEAD}Snapshot_Orders_MBO_71     v16  {VALE3}"
    assert lines[1] == "    noMDEntries[1] OFFER 100 @ 60.10 secondaryOrderID=5"


def test_what_nobody_knows_is_marked() -> None:
    raw = bytearray(order())
    raw[6:8] = (18).to_bytes(2, "little")
    raw[8 + 9], raw[8 + 8] = 7, 0x81
    line = shown(bytes(raw))
    assert " v18? " in line
    assert " ?7 BID " in line
    assert line.endswith("[EndOfEvent,?bit0]\n")


def test_bytes_left_over_are_marked() -> None:
    assert shown(order() + b"abc").endswith(" ?3-bytes-left-over\n")


def test_an_unknown_template_is_a_line_too() -> None:
    raw = bytearray(order())
    raw[2:4] = (99).to_bytes(2, "little")
    assert shown(bytes(raw)) == f"{LEAD}template 99                v16  -              ?unknown-template\n"


def test_feed_and_stream_are_shown_when_known() -> None:
    item = decoded(order())
    item.flow.feed, item.flow.stream = Feed.B, Stream.INCREMENTAL
    assert " #3       84 B inc 1:7 " in TextFormat(BinaryDecoder(), SymbolTable()).message(item)


def test_text_of_the_wire_cannot_drive_the_terminal() -> None:
    line = shown(definition(symbol="A\x1b[2J", securityDesc="x\ny"))
    assert "\x1b" not in line
    assert line.count("\n") == 2  # the leg
    assert "A\\x1b[2J" in line


def test_colours_change_nothing_but_colours() -> None:
    import re

    plain, painted = (
        TextFormat(BinaryDecoder(), SymbolTable(), color=color).message(decoded(order()))
        for color in (False, True)
    )
    assert "\x1b[32mBID\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_files_are_named_as_head_and_tail_do() -> None:
    style = TextFormat(BinaryDecoder(), SymbolTable())
    assert style.file("a.pcap") == "==> a.pcap <==\n"
    assert style.file("b.pcap") == "\n==> b.pcap <==\n"


@pytest.mark.parametrize(
    ("given", "text"),
    [("38.2500", "38.25"), ("38.1250", "38.125"), ("38.0000", "38.00"), ("38.5000", "38.50"),
     ("-0.0001", "-0.0001"), ("0E-8", "0.00"), ("1E+3", "1000"), ("100", "100")],
)  # fmt: skip
def test_prices_as_prices(given: str, text: str) -> None:
    assert price(Decimal(given)) == text


def test_times_over_hours_days_and_summer_time() -> None:
    clock = Clock()
    assert clock.both(TS) == "2025-03-31 10:15:00.123456789-03 13:15:00.123456789Z"
    assert clock.both(0) == "1969-12-31 21:00:00.000000000-03 00:00:00.000000000Z"
    # In summer time, which Brazil had until 2019.
    assert clock.both(1_546_344_000_000_000_001) == "2019-01-01 10:00:00.000000001-02 12:00:00.000000001Z"
    assert clock.local(TS - 3_600_000_000_000, TS) == "09:15:00.123456789"
    assert clock.seconds(1_775_000_000) == "2026-03-31 20:33:20"
    assert clock.both(2**64 - 1).startswith("2554-07-21 ")


def test_times_and_dates_out_of_any_calendar_do_not_fail() -> None:
    assert Clock().local(10**30, TS).startswith("????-??-??")
    assert Clock().seconds(-(2**63))
    assert date_of(TRADE_DATE) == "2025-03-31"
    assert date_of(2**31 - 1) == "day 2147483647"


def test_printable_leaves_accents_alone() -> None:
    assert printable("ação") == "ação"
    assert printable("a\tb\x00") == "a\\tb\\x00"
