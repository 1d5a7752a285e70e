"""Messages put together from parts are those that the encoder makes of the same values."""

from typing import Any

import pytest

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.publisher.entries import moment_number
from pregao.feeds.fast.publisher.writing import MessageWriter
from pregao.feeds.fast.times import as_number

NOW = 1_794_916_800_123_456_789
TEMPLATES = load_builtin_templates()
WRITER, ENCODER = MessageWriter(TEMPLATES), FastMessageEncoder(TEMPLATES)
ENTRY: dict[str, Any] = {"MDEntryType": "0", "MDEntryPx": Scaled(3_000, -2), "MDEntrySize": 5}
PARTS = [{"UnderlyingSecurityID": 3, "UnderlyingPx": Scaled(1, -2)}]


@pytest.mark.parametrize("template", [147, 10147])
@pytest.mark.parametrize("depth", [None, 1, 5])
@pytest.mark.parametrize("entries", [[], [ENTRY], [ENTRY, ENTRY | {"Underlyings": PARTS}], [ENTRY] * 200])
def test_snapshots(template: int, depth: int | None, entries: list[dict[str, Any]]) -> None:
    fields = {
        "LastMsgSeqNumProcessed": 70_000, "TotNumReports": 213, "MarketDepth": depth, "RptSeq": 12,
        "SecurityID": 200_000_100_101,
    }  # fmt: skip
    made = WRITER.snapshot(template, fields, entries).numbered(4_711, NOW)
    whole = {"MsgSeqNum": 4_711, "SendingTime": as_number(NOW), **fields, "MDEntries": entries}
    assert made == ENCODER.encode(template, whole)


@pytest.mark.parametrize("template", [145, 150, 10150])
@pytest.mark.parametrize("parts", [None, PARTS])
def test_refreshes(template: int, parts: Any) -> None:
    entry = ENTRY | {"MDUpdateAction": 0, "SecurityID": 7, "RptSeq": 1, "MDEntryTime": 1}
    entry |= {} if parts is None else {"Underlyings": parts}
    made = WRITER.refresh(template, 20_261_117, [entry]).numbered(1, NOW)
    whole = {"MsgSeqNum": 1, "SendingTime": as_number(NOW), "TradeDate": 20_261_117, "MDEntries": [entry]}
    assert made == ENCODER.encode(template, whole)


def test_times_are_those_of_the_reader() -> None:
    for ns in (0, NOW, NOW + 86_400 * 1_000_000_000 * 40, 86_399_999_999_999):
        assert moment_number(ns) == as_number(ns)
