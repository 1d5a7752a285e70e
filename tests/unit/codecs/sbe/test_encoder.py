"""The encoder is the decoder's inverse, and refuses what would be read back as something else."""

import math
from collections import OrderedDict
from decimal import Decimal
from struct import pack

import numpy as np
import pytest

from pregao.codecs.sbe import SbeMessageDecoder, SbeMessageEncoder, Schema, load_builtin_schema
from pregao.model.errors import EncodeError
from tests.kits.sbe_schemas import HEADER, RICH_TYPES, load, message, plain_values, rich


def one(kind: str, more: str = "") -> Schema:
    return message(f'<field name="f" id="1" type="{kind}" {more}/>', types=RICH_TYPES)


def block(kind: str, value: object, more: str = "") -> bytes:
    return SbeMessageEncoder(one(kind, more), 5).encode("M", {"f": value})[8:]


def test_header_block_groups_and_data() -> None:
    body = (
        '<field name="a" id="1" type="uint8"/><field name="b" id="2" type="uint16" offset="3"/>'
        '<group name="g" id="3" blockLength="2"><field name="x" id="4" type="uint8"/></group>'
        '<data name="d" id="5" type="varText"/>'
    )
    encoder = SbeMessageEncoder(message(body, attributes='blockLength="7"'), 5)
    raw = encoder.encode("M", {"a": 1, "b": 2, "g": [{"x": 3}, {"x": 4}], "d": "é"})
    assert raw == pack("<4H B2xH2x HB Bx Bx B2s", 7, 1, 7, 5, 1, 2, 2, 2, 3, 4, 2, "é".encode())
    assert encoder.encode(1, {"a": 1, "b": 2}) == pack("<4H B2xH2x HB B", 7, 1, 7, 5, 1, 2, 2, 0, 0)


def test_big_endian() -> None:
    group = '<group name="g" id="2"><field name="x" id="3" type="int16"/></group>'
    body = '<field name="a" id="1" type="uint32"/>' + group
    schema = message(body, root='byteOrder="bigEndian"')
    raw = SbeMessageEncoder(schema, 5).encode("M", {"a": 1, "g": [{"x": -2}]})
    assert raw == pack(">4H I HB h", 4, 1, 7, 5, 1, 2, 1, -2)


@pytest.mark.parametrize(
    ("kind", "value", "raw"),
    [
        ("uint8", 255, b"\xff"),
        ("uint8", np.uint8(7), b"\x07"),
        ("int8", -128, b"\x80"),
        ("ZeroNull", None, bytes(4)),
        ("OptionalInt64", None, b"\0" * 7 + b"\x80"),
        ("OptionalFloat", 1, pack("<f", 1)),
        ("Text8", "Ação", b"A\xe7\xe3o\0\0\0\0"),
        ("Text8", "12345678", b"12345678"),
        ("Text8", None, bytes(8)),
        ("Letter", "x", b"x"),
        ("Dash", None, b"\0"),
        ("Triple", [1, 2, 3], pack("<3h", 1, 2, 3)),
        ("Side", "SELL", b"2"),
        ("Side", 50, b"2"),
        ("Side", 57, b"9"),
        ("Side", None, b"\0"),
        ("Status", None, b"\xff"),
        ("Coded", None, b"\0"),
        ("Marks", ("FIRST", "LAST"), pack("<H", 0x8001)),
        ("Marks", {"FIRST", 1, 15}, pack("<H", 0x8003)),
        ("Marks", (), b"\0\0"),
        ("OptionalMarks", range(8), b"\xff"),
        ("Price", Decimal("-1.2345"), pack("<q", -12345)),
        ("Price", Decimal("1.50000000"), pack("<q", 15000)),
        ("Price", "12.5", pack("<q", 125000)),
        ("Price", 3, pack("<q", 30000)),
        ("Price", None, pack("<q", -(1 << 63))),
        ("Tens", 120, pack("<i", 12)),
        ("Tens", Decimal("1.2E+2"), pack("<i", 12)),
        ("Floating", Decimal("2.50"), pack("<qb", 250, -2)),
        ("Floating", "1E+200", None),
        ("Floating", Decimal("1E+130"), pack("<qb", 1000, 127)),
        ("Floating", None, pack("<qb", -(1 << 63), 0)),
        ("Floating", Decimal("0E+200"), pack("<qb", 0, 0)),
        ("Micros", 5000, pack("<Q", 5)),
        ("Micros", None, bytes(8)),
    ],
)
def test_values_and_conveniences(kind: str, value: object, raw: bytes | None) -> None:
    if raw is None:
        with pytest.raises(EncodeError):
            block(kind, value)
    else:
        assert block(kind, value) == raw


REFUSED = [
    ("uint8", None, "cannot be null"),
    ("uint8", 256, "does not fit uint8"),
    ("uint8", -1, "does not fit uint8"),
    ("uint8", 1.0, "is not an integer"),
    ("uint8", True, "is not an integer"),
    ("uint8", "1", "is not an integer"),
    ("int64", 1 << 63, "does not fit int64"),
    ("ZeroNull", 0, "would be read as null"),
    ("OptionalInt64", -(1 << 63), "would be read as null"),
    ("OptionalFloat", math.nan, "would be read as null"),
    ("OptionalFloat", 1e39, "does not fit float"),
    ("OptionalFloat", "1.0", "is not a number"),
    ("double", None, "cannot be null"),
    ("double", 10**400, "is not a number"),
    ("Text8", "123456789", "longer than 8 bytes"),
    ("Text8", "€", "cannot be written in iso8859-1"),
    ("Text8", "a\0b", "NUL"),
    ("Text8", "", "would be read as null"),
    ("Text8", b"bytes", "is not a string"),
    ("Letter", "é", "cannot be written in ascii"),
    ("Wide", "ççççççç", "longer than 12 bytes"),
    ("Wide", "\ud800", "cannot be written in utf-8"),
    ("Dash", "-", "would be read as null"),
    ("Triple", None, "cannot be null"),
    ("Triple", (1, 2), "sequence of 3"),
    ("Triple", "123", "sequence of 3"),
    ("Triple", (1, 2, 1 << 15), "does not fit"),
    ("OptionalPair", (math.nan, math.nan), "would be read as null"),
    ("Side", "HOLD", "no value is called 'HOLD'"),
    ("Side", 256, "does not fit char"),
    ("Side", 0, "would be read as null"),
    ("Marks", ("MIDDLE",), "no bit 'MIDDLE'"),
    ("Marks", (16,), "no bit 16"),
    ("Marks", (-1,), "no bit -1"),
    ("Marks", None, "cannot be null"),
    ("Marks", "FIRST", "is not a set"),
    ("Marks", 3, "is not a set"),
    ("OptionalMarks", None, "cannot be null"),
    ("Price", Decimal("1.23456"), "no multiple of 1E-4"),
    ("Price", Decimal(1 << 62), "does not fit int64"),
    ("Price", Decimal(-(1 << 63)).scaleb(-4), "would be read as null"),
    ("Price", Decimal("NaN"), "no decimal"),
    ("Price", Decimal("Infinity"), "no decimal"),
    ("Price", Decimal("1E+999999"), "no decimal"),
    ("Price", "one", "is not a decimal"),
    ("Price", 1.5, "is not a decimal"),
    ("Price", True, "is not a decimal"),
    ("Tens", 125, "no multiple of 1E1"),
    ("Tens", None, "cannot be null"),
    ("Floating", Decimal("1E-200"), "fits no mantissa"),
    ("Floating", Decimal("1.2345678901234567890123"), "fits no mantissa"),
    ("Micros", 1500, "no multiple of 1000 ns"),
    ("Micros", 0, "would be read as null"),
    ("Micros", -1000, "does not fit uint64"),
    ("Engine", 5, "is not a mapping"),
    ("Engine", {"wheels": 4}, "unknown members ['wheels']"),
]


@pytest.mark.parametrize(("kind", "value", "reason"), REFUSED)
def test_refusals_name_message_and_field(kind: str, value: object, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        block(kind, value)
    assert reason in caught.value.reason
    assert (caught.value.message, caught.value.field) == ("M", "f")


def test_a_missing_value_is_null_or_refused() -> None:
    with_null = SbeMessageEncoder(one("ZeroNull"), 5).encode("M", {"f": None})
    assert SbeMessageEncoder(one("ZeroNull"), 5).encode("M", {}) == with_null
    with pytest.raises(EncodeError, match=r"M\.f: cannot be null"):
        SbeMessageEncoder(one("uint8"), 5).encode("M", {})


def test_members_are_named_by_their_path() -> None:
    with pytest.raises(EncodeError, match=r"M\.f\.capacity: cannot be null"):
        block("Engine", None)
    with pytest.raises(EncodeError, match=r"M\.f\.inner\.price: .* no multiple"):
        block("Engine", {"capacity": 1, "extras": (), "inner": {"price": Decimal("0.00001")}})


def test_a_composite_of_members_that_can_all_be_null_can_be_null() -> None:
    types = (
        '<composite name="C"><type name="a" primitiveType="uint8" presence="optional"/>'
        '<type name="b" primitiveType="char" length="2"/></composite>'
    )
    schema = message('<field name="f" id="1" type="C"/>', types=types)
    assert SbeMessageEncoder(schema, 5).encode("M", {})[8:] == b"\xff\0\0"


def test_entries_are_named_by_their_number() -> None:
    values = plain_values()
    values["legs"][0]["fills"][1]["quantity"] = -1
    with pytest.raises(EncodeError) as caught:
        SbeMessageEncoder(rich(), 5).encode(1, values)
    assert str(caught.value) == "Everything.legs[0].fills[1].quantity: -1 does not fit uint32"


@pytest.mark.parametrize(
    ("key", "value", "field", "reason"),
    [
        ("nothing", 1, "nothing", "no such field"),
        ("kind", "SELL", "kind", "no such field"),
        ("legs", [{"nothing": 1}], "legs[0].nothing", "no such field"),
        ("legs", [3], "legs[0]", "is not a mapping"),
        ("legs", 3, "legs", "is not a list"),
        ("legs", "abc", "legs", "is not a list"),
        ("flags", [{"flag": ()}] * 256, "flags", "count 256 does not fit uint8"),
        ("comment", "x" * 201, "comment", "201 bytes are more than 200"),
        ("comment", "", "comment", "would be read as null"),
        ("comment", 5, "comment", "is not text"),
        ("comment", "\ud800", "comment", "cannot be written in utf-8"),
        ("raw", "text", "raw", "is not bytes"),
        ("raw", b"", "raw", "would be read as null"),
        ("raw", bytes(65536), "raw", "65536 bytes are more than 65535"),
    ],
)
def test_refusals_of_groups_data_and_keys(key: str, value: object, field: str, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        SbeMessageEncoder(rich(), 5).encode("Everything", {**plain_values(), key: value})
    assert (caught.value.message, caught.value.field) == ("Everything", field)
    assert reason in caught.value.reason


@pytest.mark.parametrize(("key", "value"), [("late", 1), ("later", [{"x": 1}]), ("raw", b"1")])
def test_what_a_version_does_not_have_must_be_null(key: str, value: object) -> None:
    old = {**plain_values(), "late": None, "later": [], "raw": None}
    encoder = SbeMessageEncoder(rich(), 4)
    assert encoder.encode(1, old)
    with pytest.raises(EncodeError, match=f"{key}: this version does not have it"):
        encoder.encode(1, {**old, key: value})


def test_names_of_later_versions_are_refused() -> None:
    encoder = SbeMessageEncoder(rich(), 4)
    old = {**plain_values(), "late": None, "later": [], "raw": None}
    with pytest.raises(EncodeError, match="no value is called 'LATE'"):
        encoder.encode(1, {**old, "status": "LATE"})
    with pytest.raises(EncodeError, match="no bit 'IMPLIED'"):
        encoder.encode(1, {**old, "marks": ("IMPLIED",)})


def test_unknown_messages_are_refused() -> None:
    encoder = SbeMessageEncoder(rich(), 5)
    for template in ("Nothing", 99):
        with pytest.raises(EncodeError, match=f"{template}: version 5 has no such message"):
            encoder.encode(template, {})


def test_text_data_may_be_given_as_bytes() -> None:
    schema = rich()
    raw = SbeMessageEncoder(schema, 5).encode(1, {**plain_values(), "comment": "ç".encode()[:1]})
    got = SbeMessageDecoder(schema).decode(raw)
    assert got.raw_data["comment"] == b"\xc3"


def test_numbers_that_no_header_can_say_are_refused() -> None:
    length = 'name="blockLength" primitiveType='
    narrow = HEADER.replace(length + '"uint16"', length + '"uint8"')
    large = '<field name="f" id="1" type="T"/>'
    types = '<type name="T" primitiveType="char" length="256"/>'
    text = f'<sbe:message name="M" id="1">{large}</sbe:message>'
    with pytest.raises(EncodeError, match="block length 256 does not fit uint8"):
        SbeMessageEncoder(load(types, text, header=narrow), 5).encode("M", {})
    text = f'<sbe:message name="M" id="1"><group name="g" id="1">{large}</group></sbe:message>'
    with pytest.raises(EncodeError, match=r"M\.g: block length 256 does not fit uint8"):
        SbeMessageEncoder(load(types, text, header=narrow), 5).encode("M", {"g": [{}]})
    with pytest.raises(EncodeError, match="version 65536 does not fit uint16"):
        SbeMessageEncoder(rich(), 65536).encode("Empty", {})


def test_entries_without_bytes_are_refused() -> None:
    schema = message('<group name="g" id="1"/>')
    assert SbeMessageEncoder(schema, 5).encode("M", {"g": []})
    with pytest.raises(EncodeError, match="no bytes"):
        SbeMessageEncoder(schema, 5).encode("M", {"g": [{}]})


def test_any_mapping_and_sequence_will_do() -> None:
    encoder = SbeMessageEncoder(rich(), 5)
    values = plain_values()
    other = OrderedDict(values, legs=tuple(values["legs"]), triple=[1, 2, 3])
    assert encoder.encode(1, other) == encoder.encode(1, values)


def test_what_was_decoded_is_encoded_to_the_same_bytes() -> None:
    for order in ("littleEndian", "bigEndian"):
        schema = rich(order)
        encoder = SbeMessageEncoder(schema, 5)
        raw = encoder.encode(1, plain_values())
        fields = SbeMessageDecoder(schema).decode(raw).fields
        assert fields is not None
        assert encoder.encode(1, fields) == raw


@pytest.mark.parametrize("version", [8, 16, 17])
def test_every_message_of_our_schema_can_be_encoded(version: int) -> None:
    schema = load_builtin_schema()
    encoder, decoder = SbeMessageEncoder(schema, version), SbeMessageDecoder(schema)
    for layout in schema.at(version).messages.values():
        # Zeros are a message of every template; what they mean can be written again.
        header = pack("<4H", layout.block_length, layout.id, schema.id, version)
        fields = decoder.decode(header + bytes(layout.block_length + 30)).fields
        assert fields is not None
        raw = encoder.encode(layout.name, fields)
        assert decoder.decode(raw).fields == fields
        assert decoder.decode(raw).leftover == 0
