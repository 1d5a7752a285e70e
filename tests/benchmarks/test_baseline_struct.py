"""The yardstick of the benchmarks reads what the project reads: it must do the same work."""

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.simulator.sample import write_sample
from tests.benchmarks.baseline_struct import BLOCKS, decode

NULL = -(2**63)
Fields = dict[str, Any]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_sample(tmp_path_factory.mktemp("sample"))


@cache
def messages(path: Path) -> dict[int, list[Fields]]:
    """The fields of all messages by template, as the one-message decoder has them."""
    decoder = PacketDecoder(load_builtin_schema())
    found: dict[int, list[Fields]] = {template: [] for template in BLOCKS}
    for outcome in DatagramReader().outcomes(path.read_bytes()):
        assert isinstance(outcome, Datagram)
        for placed in decoder.decode(outcome.payload).messages:
            assert placed.message.fields is not None
            found[placed.message.template_id].append(placed.message.fields)
    return found


def column(path: Path, template: int, name: str) -> list[Any]:
    return [fields[name] for fields in messages(path)[template]]


def prices(mantissas: tuple[object, ...], places: int = 4) -> list[Decimal | None]:
    return [None if raw == NULL else Decimal(str(raw)).scaleb(-places) for raw in mantissas]


def texts(raw: tuple[object, ...]) -> list[str]:
    return [bytes(text).rstrip(b"\0").decode() for text in raw if isinstance(text, bytes)]


def test_knows_every_template_of_version_16() -> None:
    assert set(BLOCKS) == set(load_builtin_schema().at(16).messages) - {0}


def test_counts_every_message_of_every_template(capture: list[Path]) -> None:
    for path in capture:
        _, tables = decode(memoryview(path.read_bytes()))
        for template in BLOCKS:
            found = len(tables[template][0]) if tables[template] else 0
            assert found == len(messages(path)[template])


def test_orders_are_equal(capture: list[Path]) -> None:
    incremental = capture[0]
    _, tables = decode(memoryview(incremental.read_bytes()))
    orders = tables[50]
    assert list(orders[1]) == column(incremental, 50, "securityID")
    assert prices(orders[5]) == column(incremental, 50, "mDEntryPx")
    assert list(orders[6]) == column(incremental, 50, "mDEntrySize")
    assert [firm or None for firm in orders[7]] == column(incremental, 50, "enteringFirm")
    assert list(orders[9]) == column(incremental, 50, "secondaryOrderID")
    assert list(orders[10]) == column(incremental, 50, "rptSeq")
    assert list(orders[11]) == column(incremental, 50, "transactTime")
    previous = [None if raw == NULL else raw for raw in orders[12]]
    assert previous == column(incremental, 50, "mDEntryPrevSize")


def test_deletes_and_trades_are_equal(capture: list[Path]) -> None:
    incremental = capture[0]
    _, tables = decode(memoryview(incremental.read_bytes()))
    deletes, trades = tables[51], tables[53]
    assert prices(deletes[8]) == column(incremental, 51, "mDEntryPx")
    assert list(deletes[5]) == column(incremental, 51, "secondaryOrderID")
    assert list(deletes[7]) == column(incremental, 51, "rptSeq")
    assert prices(trades[5]) == column(incremental, 53, "mDEntryPx")
    assert list(trades[7]) == column(incremental, 53, "tradeID")
    assert list(trades[10]) == column(incremental, 53, "tradeDate")
    assert list(trades[13]) == column(incremental, 53, "rptSeq")


def test_definitions_and_their_groups_are_equal(capture: list[Path]) -> None:
    path = capture[2]
    _, tables = decode(memoryview(path.read_bytes()))
    definitions = tables[12]
    assert texts(definitions[5]) == column(path, 12, "symbol")
    assert prices(definitions[10], 8) == column(path, 12, "minPriceIncrement")
    assert prices(definitions[11]) == column(path, 12, "strikePrice")
    assert [bytes(raw).decode() for raw in definitions[-1] if isinstance(raw, bytes)] == column(
        path, 12, "securityDesc"
    )
    legs = tables[12, 1]
    expected = [
        (row, leg["legSecurityID"], leg["legSymbol"])
        for row, found in enumerate(column(path, 12, "noLegs"))
        for leg in found
    ]
    assert list(zip(legs[0], legs[1], texts(legs[5]), strict=True)) == expected
    assert len(tables[12, 2][0]) == sum(map(len, column(path, 12, "noInstrAttribs"))) > len(definitions[0])


def test_snapshot_orders_are_equal(capture: list[Path]) -> None:
    path = capture[3]
    _, tables = decode(memoryview(path.read_bytes()))
    entries = [entry for group in column(path, 71, "noMDEntries") for entry in group]
    assert prices(tables[71, 0][1]) == [entry["mDEntryPx"] for entry in entries]
    assert list(tables[71, 0][5]) == [entry["secondaryOrderID"] for entry in entries]


def test_packets_are_equal(capture: list[Path]) -> None:
    path = capture[0]
    columns, _ = decode(memoryview(path.read_bytes()))
    outcomes = [one for one in DatagramReader().outcomes(path.read_bytes()) if isinstance(one, Datagram)]
    assert list(columns[0]) == [outcome.ts_ns for outcome in outcomes]
    headers = [PacketDecoder(load_builtin_schema()).decode(one.payload).header for one in outcomes[:500]]
    assert list(columns[4][:500]) == [header.sequence_number for header in headers]
    assert list(columns[5][:500]) == [header.sending_time_ns for header in headers]
