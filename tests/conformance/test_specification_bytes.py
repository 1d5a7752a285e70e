"""The byte examples of the guidelines (Binary UMDF 2.2.0.1), by section.

The bodies of the Order and Trade in 6.5.5.4 and 6.5.5.5 are of a layout that no published schema
has: their headers hold, and the messages must be stepped over as unknown templates of version 3.
"""

from __future__ import annotations

from decimal import Decimal

from pregao.codecs.sbe import SbeMessageDecoder, SbeMessageEncoder, load_builtin_schema, parse_schema
from pregao.codecs.sbe.decoder import MessageHeader
from pregao.feeds.binary.packets import FRAMING_SIZE, PacketDecoder, PacketHeader, frame

PACKET_HEADER = bytes.fromhex("37000100b168de3a00c89865f4aceb15")  # 6.5.5.2

ONE_MESSAGE = PACKET_HEADER + bytes.fromhex(  # 6.5.5.4
    "480050eb3c00320002000300a4927848"
    "1700000000c89865f4aceb1520003145"
    "64000000a85ebc000000000064000000"
    "00000000d12f01000000000000000000"
    "00000000d1e10100"
)

TWO_MESSAGES = PACKET_HEADER + bytes.fromhex(  # 6.5.5.5
    "480050eb3c00320002000300a4927848"
    "17000000000000000000000080013145"
    "0a0000000061bc000000000078e00100"
    "0000000038564c050000000000c89865"
    "f4aceb1539300000400050eb34003500"
    "02000300a49278481700000000c89865"
    "f4aceb1580000145d00700000061bc00"
    "00000000000000000000000081e30100"
    "393000000400744a"
)

SEQUENCE = bytes.fromhex("100050eb0400020002000000e2c69e01")  # 6.5.6.1

INDEX_DEFINITION = bytes.fromhex(  # 6.5.6.2
    "390050EB060009030100000049424F5600001200025045545234"
    "00CCA59B06000000001855170356414C453500D09BCD02000000"
    "009D012E01"
)

INDEX_SCHEMA = b"""
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="example" id="1" version="0"
                   byteOrder="littleEndian">
  <types>
    <composite name="messageHeader">
      <type name="blockLength" primitiveType="uint16"/>
      <type name="templateId"  primitiveType="uint16"/>
      <type name="schemaId"    primitiveType="uint16"/>
      <type name="version"     primitiveType="uint16"/>
    </composite>
    <composite name="GroupSizeEncoding">
      <type name="blockLength" primitiveType="uint16"/>
      <type name="numInGroup"  primitiveType="uint8"/>
    </composite>
    <enum name="MessageType" encodingType="char"><validValue name="SecurityDefinition">d</validValue></enum>
    <type name="Symbol6" primitiveType="char" length="6" characterEncoding="ASCII"/>
    <type name="Quantity" primitiveType="uint32"/>
    <composite name="Percentage8">
      <type name="mantissa" primitiveType="int64" presence="optional"/>
      <type name="exponent" primitiveType="int8" presence="constant">-8</type>
    </composite>
  </types>
  <sbe:message name="SecurityDefinitionForIndexInstruments" id="777">
    <field name="messageType" id="35" type="MessageType" presence="constant"
           valueRef="MessageType.SecurityDefinition"/>
    <field name="symbol" id="55" type="Symbol6"/>
    <group name="noUnderLying" id="711" dimensionType="GroupSizeEncoding">
      <field name="underlyingSymbol"    id="311"   type="Symbol6"/>
      <field name="indexPct"            id="6919"  type="Percentage8"/>
      <field name="indexTheoreticalQty" id="37021" type="Quantity"/>
    </group>
  </sbe:message>
</sbe:messageSchema>
"""

INDEX_ENTRIES = [
    {"underlyingSymbol": "PETR4", "indexPct": Decimal("1.10863820"), "indexTheoreticalQty": 51860760},
    {"underlyingSymbol": "VALE5", "indexPct": Decimal("0.47029200"), "indexTheoreticalQty": 19792285},
]
INDEX_FIELDS = {"symbol": "IBOV", "noUnderLying": INDEX_ENTRIES}

EXPECTED_HEADER = PacketHeader(
    channel=55,
    sequence_version=1,
    sequence_number=987654321,
    sending_time_ns=1579546260000000000,
    reserved=0,
)


def test_packet_header() -> None:
    """6.5.5.2"""
    assert PacketHeader.decode(PACKET_HEADER) == EXPECTED_HEADER
    assert EXPECTED_HEADER.encode() == PACKET_HEADER
    assert len(PACKET_HEADER) == PacketHeader.SIZE


def test_packet_with_one_message() -> None:
    """6.5.5.4: 72 bytes with the framing header, an Order of schema version 3."""
    decoder = PacketDecoder(load_builtin_schema())
    assert list(decoder.frames(ONE_MESSAGE)) == [(0x10, 72, None)]
    packet = decoder.decode(ONE_MESSAGE)
    assert packet.header == EXPECTED_HEADER
    assert packet.damage == []
    assert [m.message.header for m in packet.messages] == [MessageHeader(60, 50, 2, 3)]
    assert [(m.message.name, m.message.fields) for m in packet.messages] == [(None, None)]


def test_packet_with_two_messages() -> None:
    """6.5.5.5: an Order of 72 bytes at 0x10 and a Trade of 64 bytes at 0x58."""
    decoder = PacketDecoder(load_builtin_schema())
    assert list(decoder.frames(TWO_MESSAGES)) == [(0x10, 72, None), (0x58, 64, None)]
    packet = decoder.decode(TWO_MESSAGES)
    assert packet.header == EXPECTED_HEADER
    assert packet.damage == []
    assert [m.offset for m in packet.messages] == [0x10, 0x58]
    assert [m.message.header for m in packet.messages] == [
        MessageHeader(60, 50, 2, 3),
        MessageHeader(52, 53, 2, 3),
    ]
    assert [m.message.fields for m in packet.messages] == [None, None]


def test_sequence_message() -> None:
    """6.5.6.1: version 0, though every other message begins at 7."""
    message = SbeMessageDecoder(load_builtin_schema()).decode(SEQUENCE, FRAMING_SIZE)
    assert message.header == MessageHeader(block_length=4, template_id=2, schema_id=2, version=0)
    assert message.name == "Sequence_2"
    assert message.fields == {"nextSeqNo": 27182818}
    assert message.leftover == 0
    encoded = SbeMessageEncoder(load_builtin_schema(), version=0).encode("Sequence_2", message.fields)
    assert frame(encoded) == SEQUENCE


def test_message_with_a_repeating_group() -> None:
    """6.5.6.2"""
    schema = parse_schema(INDEX_SCHEMA)
    message = SbeMessageDecoder(schema).decode(INDEX_DEFINITION, FRAMING_SIZE)
    assert message.header == MessageHeader(block_length=6, template_id=777, schema_id=1, version=0)
    assert message.name == "SecurityDefinitionForIndexInstruments"
    assert message.fields == INDEX_FIELDS
    assert str(message.fields["noUnderLying"]) == str(INDEX_ENTRIES)  # decimals keep all their places
    encoded = SbeMessageEncoder(schema, version=0).encode(777, INDEX_FIELDS)
    assert frame(encoded) == INDEX_DEFINITION
