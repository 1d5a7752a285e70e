"""Packets: each fault of the framing has its name and place, and the rest is still read."""

from struct import pack

import pytest

from pregao.codecs.sbe import Schema, parse_schema
from pregao.feeds.binary.packets import (
    SBE_BIG_ENDIAN,
    SBE_LITTLE_ENDIAN,
    Packet,
    PacketDecoder,
    PacketHeader,
    encode_packet,
    frame,
)
from pregao.model.errors import DecodeError, Fault

SCHEMA = """
<messageSchema package="test" id="7" version="5" byteOrder="{order}">
<types>
  <composite name="messageHeader">
    <type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
    <type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
  </composite>
  <composite name="groupSizeEncoding">
    <type name="blockLength" primitiveType="uint16"/><type name="numInGroup" primitiveType="uint8"/>
  </composite>
</types>
<message name="Tick" id="1">
  <field name="number" id="1" type="uint32"/>
  <group name="legs" id="2"><field name="leg" id="3" type="uint8"/></group>
</message>
</messageSchema>
"""
HEADER = PacketHeader(channel=60, sequence_version=3, sequence_number=1000, sending_time_ns=1 << 60)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return parse_schema(SCHEMA.format(order="littleEndian").encode())


def tick(number: int, *, schema_id: int = 7, template: int = 1, legs: bytes = b"\1\0\0") -> bytes:
    return pack("<4HI", 4, template, schema_id, 5, number) + legs


SIZE = 4 + len(tick(0))  # with its framing


def decode(schema: Schema, *parts: bytes) -> Packet:
    return PacketDecoder(schema).decode(HEADER.encode() + b"".join(parts))


def numbers(packet: Packet) -> list[object]:
    return [m.message.fields and m.message.fields["number"] for m in packet.messages]


def damage(packet: Packet) -> list[tuple[int, Fault, int]]:
    return [(d.index, d.error.fault, d.offset) for d in packet.damage]


def test_the_packet_header_there_and_back() -> None:
    raw = HEADER.encode()
    assert raw == pack("<BBHIQ", 60, 0, 3, 1000, 1 << 60)
    assert PacketHeader.decode(raw) == HEADER
    assert PacketHeader.decode(b"??" + raw, 2) == HEADER


def test_reserved_may_be_anything() -> None:
    header = PacketHeader(1, 2, 3, 4, reserved=1)
    assert PacketHeader.decode(header.encode()) == header


@pytest.mark.parametrize("length", range(16))
def test_less_than_a_packet_header(schema: Schema, length: int) -> None:
    with pytest.raises(DecodeError) as caught:
        PacketDecoder(schema).decode(HEADER.encode()[:length])
    assert (caught.value.fault, caught.value.offset) == (Fault.PACKET_TOO_SHORT, 0)


def test_a_packet_without_messages(schema: Schema) -> None:
    packet = decode(schema)
    assert packet.header == HEADER
    assert damage(packet) == [(0, Fault.PACKET_EMPTY, 16)]


def test_one_and_many_messages(schema: Schema) -> None:
    packet = PacketDecoder(schema).decode(encode_packet(HEADER, [tick(n) for n in range(80)]))
    assert numbers(packet) == list(range(80))
    assert [m.index for m in packet.messages] == list(range(80))
    assert [m.offset for m in packet.messages] == [16 + SIZE * n for n in range(80)]
    assert packet.damage == []


def test_an_unknown_template_is_stepped_over(schema: Schema) -> None:
    packet = decode(schema, frame(tick(1)), frame(tick(2, template=99)), frame(tick(3)))
    assert [m.message.name for m in packet.messages] == ["Tick", None, "Tick"]
    assert packet.damage == []


@pytest.mark.parametrize("left", range(1, 12))
def test_fewer_bytes_left_than_the_headers_need(schema: Schema, left: int) -> None:
    packet = decode(schema, frame(tick(1)), frame(tick(2))[:left])
    assert numbers(packet) == [1]
    assert damage(packet) == [(1, Fault.FRAME_TRUNCATED, 16 + SIZE)]


@pytest.mark.parametrize("length", [0, 1, 4, 11])
def test_a_message_length_smaller_than_the_headers(schema: Schema, length: int) -> None:
    wrong = pack("<HH", length, SBE_LITTLE_ENDIAN) + tick(2)
    packet = decode(schema, frame(tick(1)), wrong, frame(tick(3)))
    assert numbers(packet) == [1]
    assert damage(packet) == [(1, Fault.MESSAGE_LENGTH_TOO_SMALL, 16 + SIZE)]


@pytest.mark.parametrize("length", [SIZE + 1, 0xFFFF])
def test_a_message_length_past_the_packet(schema: Schema, length: int) -> None:
    packet = decode(schema, frame(tick(1)), pack("<HH", length, SBE_LITTLE_ENDIAN) + tick(2))
    assert numbers(packet) == [1]
    assert damage(packet) == [(1, Fault.MESSAGE_LENGTH_PAST_PACKET, 16 + SIZE)]


@pytest.mark.parametrize("encoding", [0, SBE_BIG_ENDIAN, 0x50EB, 0xFFFF])
def test_a_wrong_encoding_type_loses_only_its_message(schema: Schema, encoding: int) -> None:
    packet = decode(schema, frame(tick(1)), frame(tick(2), encoding), frame(tick(3)))
    assert numbers(packet) == [1, 3]
    assert [m.index for m in packet.messages] == [0, 2]
    assert damage(packet) == [(1, Fault.WRONG_ENCODING_TYPE, 16 + SIZE)]


def test_a_wrong_schema_id_loses_only_its_message(schema: Schema) -> None:
    packet = decode(schema, frame(tick(1)), frame(tick(2, schema_id=9)), frame(tick(3)))
    assert numbers(packet) == [1, 3]
    assert damage(packet) == [(1, Fault.WRONG_SCHEMA_ID, 16 + SIZE + 4)]


@pytest.mark.parametrize(
    ("body", "fault", "offset"),
    [
        (pack("<4H", 9, 1, 7, 5) + bytes(8), Fault.BLOCK_PAST_MESSAGE, 4),
        (tick(2, legs=b"\1"), Fault.GROUP_HEADER_TRUNCATED, 16),
        (tick(2, legs=b"\1\0\2x"), Fault.GROUP_PAST_MESSAGE, 16),
        (tick(2, legs=b"\0\0\2"), Fault.GROUP_WITHOUT_BYTES, 16),
    ],
)
def test_a_wrong_body_loses_only_its_message(schema: Schema, body: bytes, fault: Fault, offset: int) -> None:
    packet = decode(schema, frame(tick(1)), frame(body), frame(tick(3)), frame(tick(4)))
    assert numbers(packet) == [1, 3, 4]
    assert damage(packet) == [(1, fault, 16 + SIZE + offset)]


def test_a_body_never_reads_into_the_next_message(schema: Schema) -> None:
    packet = decode(schema, frame(tick(1, legs=b"\1\0\1")), frame(tick(2)))
    assert numbers(packet) == [2]
    assert damage(packet) == [(0, Fault.GROUP_PAST_MESSAGE, 32)]


def test_bytes_left_over_in_a_message_are_counted(schema: Schema) -> None:
    packet = decode(schema, frame(tick(1) + b"xyz"), frame(tick(2)))
    assert [m.message.leftover for m in packet.messages] == [3, 0]


def test_several_faults_of_one_packet_are_all_told(schema: Schema) -> None:
    packet = decode(schema, frame(tick(1), 0), frame(tick(2)), frame(tick(3, schema_id=1)), b"end")
    assert numbers(packet) == [2]
    assert [fault for _, fault, _ in damage(packet)] == [
        Fault.WRONG_ENCODING_TYPE,
        Fault.WRONG_SCHEMA_ID,
        Fault.FRAME_TRUNCATED,
    ]


def test_a_packet_cut_at_every_byte_keeps_its_whole_messages(schema: Schema) -> None:
    whole = encode_packet(HEADER, [tick(n) for n in range(3)])
    for length in range(16, len(whole)):
        packet = PacketDecoder(schema).decode(whole[:length])
        assert numbers(packet) == list(range((length - 16) // SIZE))
        assert bool(packet.damage) == (length == 16 or (length - 16) % SIZE != 0)


def test_big_endian_messages_have_their_own_encoding_type() -> None:
    big = parse_schema(SCHEMA.format(order="bigEndian").encode())
    raw = pack(">4HI", 4, 1, 7, 5, 9) + b"\0\1\0"
    assert numbers(decode(big, frame(raw, SBE_BIG_ENDIAN))) == [9]
    assert damage(decode(big, frame(raw))) == [(0, Fault.WRONG_ENCODING_TYPE, 16)]
