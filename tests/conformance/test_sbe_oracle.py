"""The oracle itself, against bytes worked out by hand, and its writer against its reader."""

from __future__ import annotations

import random

import pytest

from tests.twins.sbe_oracle import OracleSchema, plain

SCHEMA = """
<messageSchema id="9" version="2" byteOrder="{order}">
  <types>
    <composite name="messageHeader">
      <type name="blockLength" primitiveType="uint16"/>
      <type name="templateId" primitiveType="uint16"/>
      <type name="schemaId" primitiveType="uint16"/>
      <type name="version" primitiveType="uint16"/>
    </composite>
    <composite name="groupSizeEncoding">
      <type name="blockLength" primitiveType="uint8"/>
      <type name="numInGroup" primitiveType="uint8"/>
    </composite>
    <composite name="text">
      <type name="length" primitiveType="uint8"/>
      <type name="varData" primitiveType="uint8" length="0" characterEncoding="UTF-8"/>
    </composite>
    <composite name="Price">
      <type name="mantissa" primitiveType="int32" presence="optional"/>
      <type name="exponent" primitiveType="int8" presence="constant">-2</type>
    </composite>
    <composite name="Micros">
      <type name="time" primitiveType="uint32" presence="optional" nullValue="0"/>
      <type name="unit" primitiveType="uint8" presence="constant" valueRef="Unit.MICRO"/>
    </composite>
    <type name="Zero" primitiveType="uint8" presence="optional" nullValue="0"/>
    <type name="Code" primitiveType="char" length="3"/>
    <enum name="Unit" encodingType="uint8"><validValue name="MICRO">6</validValue></enum>
    <enum name="Side" encodingType="char">
      <validValue name="BUY">1</validValue><validValue name="SELL">2</validValue>
    </enum>
    <set name="Flags" encodingType="uint8"><choice name="Last">7</choice><choice name="First">1</choice></set>
  </types>
  <message name="Everything" id="5" blockLength="20">
    <field name="fixed" id="1" type="Side" presence="constant" valueRef="Side.SELL"/>
    <field name="count" id="2" type="uint16"/>
    <field name="price" id="3" type="Price" offset="4"/>
    <field name="at" id="4" type="Micros"/>
    <field name="side" id="5" type="Side"/>
    <field name="flags" id="6" type="Flags"/>
    <field name="code" id="7" type="Code"/>
    <field name="late" id="8" type="Zero" sinceVersion="2"/>
    <group name="legs" id="9"><field name="leg" id="10" type="Zero"/>
      <group name="parts" id="11"><field name="part" id="12" type="int8"/></group>
      <data name="note" id="13" type="text"/>
    </group>
    <data name="word" id="14" type="text"/>
  </message>
</messageSchema>
"""
LITTLE = (
    "1400 0500 0900 0200"
    "0102 0000 d6ffffff 03000000 32 92 414200 07 0000"
    "0102 00 0102 fe7f 01c0 05 0100 00"
    "03 c3a931"
)
VALUES = {
    "count": 0x0201,
    "price": "-0.42",
    "at": 3000,
    "side": "SELL",
    "flags": ["First", "Last", 4],
    "code": "AB",
    "late": 7,
    "legs": [
        {"leg": None, "parts": [{"part": -2}, {"part": 127}], "note": "À"},
        {"leg": 5, "parts": [], "note": None},
    ],
    "word": "é1",
}


def schema(order: str = "littleEndian") -> OracleSchema:
    return OracleSchema.from_string(SCHEMA.format(order=order))


def test_reads_bytes_written_by_hand() -> None:
    raw = bytes.fromhex(LITTLE.replace("01c0 05", "02c380 05"))
    assert schema().decode(raw) == VALUES
    assert schema().encode(5, VALUES) == raw


def test_a_bad_text_does_not_stop_it() -> None:
    assert schema().decode(bytes.fromhex(LITTLE))["legs"][0]["note"] == "\N{REPLACEMENT CHARACTER}"


def test_the_header_rules() -> None:
    older = schema().encode(5, VALUES, version=1)
    assert schema().decode(older)["late"] is None
    short = schema().encode(5, VALUES, block_length=13)
    assert [schema().decode(short)[n] for n in ("at", "side", "flags", "code", "word")] == [
        3000,
        "SELL",
        None,
        None,
        "é1",
    ]
    longer = schema().encode(5, VALUES, block_length=40)
    assert schema().decode(longer) == VALUES


@pytest.mark.parametrize(
    ("mantissa", "exponent", "text"),
    [(0, -4, "0.0000"), (-1, -4, "-0.0001"), (12345, -4, "1.2345"), (5, 0, "5"), (5, 2, "500")],
)
def test_decimals_have_their_full_scale(mantissa: int, exponent: int, text: str) -> None:
    assert plain(mantissa, exponent) == text


def test_nulls_and_unknown_values() -> None:
    nulls = dict.fromkeys(VALUES) | {"count": 0, "flags": [], "legs": []}
    raw = schema().encode(5, nulls)
    assert schema().decode(raw) == nulls
    assert schema().decode(schema().encode(5, VALUES | {"side": 0x39, "flags": [0]})) == VALUES | {
        "side": 0x39,
        "flags": [0],
    }


@pytest.mark.parametrize("order", ["littleEndian", "bigEndian"])
def test_random_messages_come_back(order: str) -> None:
    rng, oracle = random.Random(1), schema(order)
    for _ in range(300):
        values, raw = oracle.random_message(5, rng)
        assert oracle.decode(raw) == values


def test_byte_order_turns_every_number() -> None:
    raw = schema("bigEndian").encode(5, VALUES)
    assert raw[:8].hex() == "0014000500090002"
    assert raw[8:20].hex() == "02010000ffffffd600000003"
