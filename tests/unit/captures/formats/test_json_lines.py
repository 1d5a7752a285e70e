"""`decode --format json` exactly as the design has it."""

import json
from decimal import Decimal

import pytest

from pregao.captures.decode import load_schema
from pregao.captures.decoded import CaptureFlow, DecodedMessage, SocketAddress
from pregao.captures.formats.lines import JsonFormat, to_json
from pregao.codecs.sbe import MessageHeader, SbeMessage
from pregao.feeds.binary.decoding import WORDING
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader
from tests.unit.captures.kit import PETR4, TRADE_DATE, TS, definition, message, order, packet, trade

KEYS = [
    "file", "packet", "ts_ns", "channel", "seq_version", "seq_num", "sending_time",
    "template_id", "version", "name", "fields",
]  # fmt: skip
NOWHERE = SocketAddress(4, 0, 0)


def decoded(raw: bytes, **header: int) -> DecodedMessage:
    whole = PacketDecoder(load_schema()).decode(packet(raw, number=7))
    assert not whole.damage
    return DecodedMessage(
        "a b.pcap",
        3,
        TS,
        CaptureFlow(NOWHERE, NOWHERE),
        whole.header,
        0,
        99,
        whole.messages[0].message,
        WORDING,
    )


def written(raw: bytes) -> dict[str, object]:
    line = JsonFormat().message(decoded(raw))
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert line.isascii()
    return json.loads(line)  # type: ignore[no-any-return]


def test_every_key_of_the_lineage_in_order() -> None:
    line = written(order())
    assert list(line) == KEYS
    assert [line[key] for key in KEYS[:-1]] == [
        "a b.pcap", 3, TS, 84, 1, 7, TS - 5000, 50, 16, "Order_MBO_50",
    ]  # fmt: skip


def test_fields_in_schema_order_without_constants_and_with_nulls() -> None:
    fields = written(order(mDEntryPx=None, enteringFirm=None))["fields"]
    assert list(fields.items()) == [  # type: ignore[attr-defined]
        ("securityID", PETR4),
        ("matchEventIndicator", ["EndOfEvent"]),
        ("mDUpdateAction", "NEW"),
        ("mDEntryType", "BID"),
        ("mDEntryPx", None),
        ("mDEntrySize", 1000),
        ("enteringFirm", None),
        ("mDInsertTimestamp", TS - 86_400_000_000_000),
        ("secondaryOrderID", 81),
        ("rptSeq", 12),
        ("transactTime", TS - 1000),
        ("mDEntryPrevSize", None),
    ]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("38.25", "38.2500"),
        ("0", "0.0000"),
        ("-0.0001", "-0.0001"),
        ("900000000000000", "900000000000000.0000"),
    ],
)
def test_decimals_are_strings_of_full_scale(given: str, text: str) -> None:
    assert written(order(mDEntryPx=Decimal(given)))["fields"]["mDEntryPx"] == text  # type: ignore[index]


def test_eight_places_too() -> None:
    assert written(definition())["fields"]["minPriceIncrement"] == "0.01000000"  # type: ignore[index]


def test_an_unknown_enum_value_is_its_number_and_an_unknown_bit_comes_last() -> None:
    raw = bytearray(order())
    raw[8 + 9], raw[8 + 8] = 7, 0b1010_0010
    fields = written(bytes(raw))["fields"]
    assert fields["mDUpdateAction"] == 7  # type: ignore[index]
    assert fields["matchEventIndicator"] == ["RecoveryMsg", "EndOfEvent", 1]  # type: ignore[index]


def test_dates_are_raw_days_and_empty_sets_are_empty_lists() -> None:
    fields = written(trade(tradeCondition=()))["fields"]
    assert fields["tradeDate"] == TRADE_DATE  # type: ignore[index]
    assert fields["tradeCondition"] == []  # type: ignore[index]


def test_groups_composites_seconds_and_text_of_a_definition() -> None:
    fields: dict[str, object] = written(definition())["fields"]  # type: ignore[assignment]
    assert fields["noLegs"] == [
        {"legSecurityID": 100_000_456, "legRatioQty": "1.0000000", "legSecurityType": "CS",
         "legSide": "BUY", "legSymbol": "VALE3"}
    ]  # fmt: skip
    assert fields["noUnderlyings"] == []
    assert fields["maturityMonthYear"] == {"year": 2025, "month": 6, "day": None, "week": None}
    assert fields["securityValidityTimestamp"] == 1_775_000_000
    assert fields["securityDesc"] == "PETROBRAS PN — ação"
    assert fields["isinNumber"] is None
    assert not {"messageType", "applVerID"} & set(fields)


def test_a_message_without_fields_is_an_empty_object() -> None:
    assert written(message("SequenceReset_1"))["fields"] == {}


def test_an_unknown_template_has_neither_name_nor_fields() -> None:
    raw = bytearray(order())
    raw[2:4] = (99).to_bytes(2, "little")
    line = written(bytes(raw))
    assert (line["template_id"], line["name"], line["fields"]) == (99, None, None)


def test_plain_data_is_hex_and_no_number_breaks_the_json() -> None:
    fields = {
        "data": b"\x00\xff",
        "wide": Decimal("1E+3"),
        "odd": float("nan"),
        "list": [(float("inf"), 1.5)],
    }
    assert json.loads(to_json(fields)) == {
        "data": "00ff", "wide": "1000", "odd": "nan", "list": [["inf", 1.5]],
    }  # fmt: skip


def test_what_json_cannot_carry_is_a_bug_not_a_guess() -> None:
    with pytest.raises(TypeError, match="object"):
        to_json({"x": object()})


def test_file_names_are_quoted() -> None:
    header = PacketHeader(1, 1, 1, 1)
    flow = CaptureFlow(NOWHERE, NOWHERE)
    empty = SbeMessage(MessageHeader(0, 1, 2, 16))
    style = JsonFormat()
    for name in ('a"b\n.pcap', "ação.pcap"):
        line = style.message(DecodedMessage(name, 1, 1, flow, header, 0, 0, empty))
        assert json.loads(line)["file"] == name
