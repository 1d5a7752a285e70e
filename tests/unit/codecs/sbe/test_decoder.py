"""Decoding obeys the header, and every lie has a name and a place."""

from contextlib import suppress
from decimal import Decimal
from struct import pack, pack_into

import pytest

from pregao.codecs.sbe import MessageHeader, SbeMessage, SbeMessageDecoder, SbeMessageEncoder, Schema
from pregao.model.errors import DecodeError, Fault
from tests.kits.sbe_schemas import HEADER, load, message, plain_values, rich

BODY = (
    '<field name="a" id="1" type="uint8"/><field name="b" id="2" type="uint32" offset="2"/>'
    '<field name="c" id="3" type="uint16" presence="optional" sinceVersion="3"/>'
    '<group name="g" id="4"><field name="x" id="5" type="uint8"/>'
    '<field name="y" id="6" type="uint16"/></group>'
    '<data name="d" id="7" type="varText"/>'
)


def wire(block: bytes, rest: bytes = b"", *, template: int = 1, schema: int = 7, version: int = 5) -> bytes:
    return pack("<4H", len(block), template, schema, version) + block + rest


BLOCK = pack("<BxIH", 1, 2, 3)
EMPTY = pack("<HBB", 3, 0, 0)


@pytest.fixture(scope="module")
def small() -> Schema:
    return message(BODY)


def decode(schema: Schema, raw: bytes) -> SbeMessage:
    return SbeMessageDecoder(schema).decode(raw)


def fault(schema: Schema, raw: bytes) -> tuple[Fault, int]:
    with pytest.raises(DecodeError) as caught:
        decode(schema, raw)
    return caught.value.fault, caught.value.offset


def test_a_whole_message(small: Schema) -> None:
    raw = wire(BLOCK, pack("<HB BH BH B2s", 3, 2, 10, 11, 20, 21, 2, b"ok"))
    got = decode(small, raw)
    assert got.header == MessageHeader(8, 1, 7, 5)
    assert (got.name, got.template_id, got.version, got.leftover) == ("M", 1, 5, 0)
    assert got.fields == {
        "a": 1,
        "b": 2,
        "c": 3,
        "g": [{"x": 10, "y": 11}, {"x": 20, "y": 21}],
        "d": "ok",
    }
    assert got.raw_data == {"d": b"ok"}
    assert got.known_version


def test_a_message_in_the_middle_of_a_buffer(small: Schema) -> None:
    raw = wire(BLOCK, EMPTY)
    for buffer in (b"???" + raw + b"!!", memoryview(b"???" + raw + b"!!"), bytearray(b"???" + raw + b"!!")):
        got = SbeMessageDecoder(small).decode(buffer, 3, len(raw))
        assert got.fields is not None
        assert (got.fields["b"], got.leftover) == (2, 0)


def test_a_longer_block_is_skipped_over(small: Schema) -> None:
    for extra in (1, 2, 500):
        got = decode(small, wire(BLOCK + b"\xee" * extra, EMPTY))
        assert got.fields == {"a": 1, "b": 2, "c": 3, "g": [], "d": None}
        assert got.leftover == 0


def test_what_a_shorter_block_lacks_is_null_at_every_length() -> None:
    schema = rich()
    layout = schema.at(5).messages[1]
    full = SbeMessageEncoder(schema, 5).encode(1, plain_values())
    block, rest = full[8:168], full[168:]
    whole = decode(schema, full).fields
    assert whole is not None
    for length in range(161):
        fields = decode(schema, wire(block[:length], rest)).fields
        assert fields is not None
        for field in layout.fields:
            expected = whole[field.name] if field.offset + field.size <= length else None
            assert fields[field.name] == expected
        assert fields["legs"] == whole["legs"]


def test_a_version_without_a_field_gives_null_though_the_bytes_are_there(small: Schema) -> None:
    fields = decode(small, wire(BLOCK, EMPTY, version=2)).fields
    assert fields is not None
    assert (fields["b"], fields["c"]) == (2, None)


def test_a_group_and_data_of_a_later_version_take_no_bytes() -> None:
    schema = rich()
    old = SbeMessageEncoder(schema, 4).encode(1, {**plain_values(), "late": None, "raw": None, "later": []})
    got = decode(schema, old)
    assert got.fields is not None
    assert (got.fields["later"], got.fields["raw"], got.leftover) == ([], None, 0)


def test_entries_longer_and_shorter_than_the_schemas(small: Schema) -> None:
    long = pack("<HB BH3x BH3x B", 6, 2, 1, 2, 3, 4, 0)
    short = pack("<HB B B B", 1, 2, 1, 3, 0)
    got = decode(small, wire(BLOCK, long)).fields
    assert got is not None
    assert got["g"] == [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
    got = decode(small, wire(BLOCK, short)).fields
    assert got is not None
    assert got["g"] == [{"x": 1, "y": None}, {"x": 3, "y": None}]


def test_an_unknown_template_has_no_name(small: Schema) -> None:
    got = decode(small, wire(b"whatever", b"more", template=99))
    assert (got.name, got.fields, got.template_id) == (None, None, 99)


def test_versions_beyond_the_file_are_flagged(small: Schema) -> None:
    assert not decode(small, wire(BLOCK, EMPTY, version=6)).known_version


def test_bytes_after_all_that_is_known_are_counted(small: Schema) -> None:
    assert decode(small, wire(BLOCK, EMPTY + b"12345")).leftover == 5


def test_unknown_values_in_groups_have_their_path() -> None:
    schema = rich()
    legs = [{"legSide": 57}, {"legSide": "BUY"}]
    raw = SbeMessageEncoder(schema, 5).encode(1, {**plain_values(), "legs": legs, "flags": [{"flag": (3,)}]})
    got = decode(schema, raw)
    assert got.unknown == [("maybeMarks", 7), ("legs.legSide", 57), ("flags.flag", 3)]


def test_faults_of_the_header(small: Schema) -> None:
    assert fault(small, b"") == (Fault.FRAME_TRUNCATED, 0)
    assert fault(small, wire(b"")[:7]) == (Fault.FRAME_TRUNCATED, 0)
    assert fault(small, wire(BLOCK, EMPTY, schema=8)) == (Fault.WRONG_SCHEMA_ID, 0)
    assert fault(small, wire(BLOCK)[:-1]) == (Fault.BLOCK_PAST_MESSAGE, 0)
    assert fault(small, wire(b"12345678", template=99)[:-1]) == (Fault.BLOCK_PAST_MESSAGE, 0)
    with pytest.raises(DecodeError) as caught:
        SbeMessageDecoder(small).decode(b"??" + wire(BLOCK), 2, 100)
    assert (caught.value.fault, caught.value.offset) == (Fault.FRAME_TRUNCATED, 2)


@pytest.mark.parametrize(
    ("rest", "expected", "offset"),
    [
        (b"", Fault.GROUP_HEADER_TRUNCATED, 16),
        (pack("<H", 3), Fault.GROUP_HEADER_TRUNCATED, 16),
        (pack("<HB", 3, 1), Fault.GROUP_PAST_MESSAGE, 16),
        (pack("<HB2x", 3, 1), Fault.GROUP_PAST_MESSAGE, 16),
        (pack("<HB5x", 3, 2), Fault.GROUP_PAST_MESSAGE, 16),
        (pack("<HB5x", 0xFFFF, 255), Fault.GROUP_PAST_MESSAGE, 16),
        (pack("<HB", 0, 255), Fault.GROUP_WITHOUT_BYTES, 16),
        (pack("<HB", 3, 0), Fault.DATA_HEADER_TRUNCATED, 19),
        (pack("<HBB", 3, 0, 1), Fault.DATA_PAST_MESSAGE, 19),
        (pack("<HBB254x", 3, 0, 255), Fault.DATA_PAST_MESSAGE, 19),
    ],
)
def test_faults_of_the_body(small: Schema, rest: bytes, expected: Fault, offset: int) -> None:
    assert fault(small, wire(BLOCK, rest)) == (expected, offset)


def test_endless_entries_of_a_group_whose_inner_group_came_later() -> None:
    count = 'name="numInGroup" primitiveType='
    wide = HEADER.replace(count + '"uint8"', count + '"uint64"')
    inner = '<group name="h" id="2" sinceVersion="5"><field name="x" id="3" type="uint8"/></group>'
    text = f'<sbe:message name="M" id="1"><group name="g" id="1">{inner}</group></sbe:message>'
    schema = load("", text, header=wide)
    raw = pack("<4H HQ", 0, 1, 7, 4, 0, (1 << 64) - 1)
    assert fault(schema, raw) == (Fault.GROUP_WITHOUT_BYTES, 8)
    raw = pack("<4H HQ", 0, 1, 7, 5, 0, (1 << 64) - 1)
    assert fault(schema, raw)[0] is Fault.GROUP_HEADER_TRUNCATED


def test_a_message_cut_at_every_byte_decodes_or_raises() -> None:
    schema = rich()
    raw = SbeMessageEncoder(schema, 5).encode(1, plain_values())
    for length in range(len(raw)):
        with pytest.raises(DecodeError) as caught:
            decode(schema, raw[:length])
        assert 0 <= caught.value.offset <= length
        assert caught.value.fault.label in str(caught.value)


def test_a_message_with_every_byte_changed_decodes_or_raises() -> None:
    schema = rich()
    raw = SbeMessageEncoder(schema, 5).encode(1, plain_values())
    decoder = SbeMessageDecoder(schema)
    for place in range(len(raw)):
        for byte in (0, 1, 0x7F, 0x80, 0xFF):
            with suppress(DecodeError):
                decoder.decode(raw[:place] + bytes((byte,)) + raw[place + 1 :])


EXTENDED = """
<composite name="messageHeader">
  <type name="numGroups" primitiveType="uint16"/>
  <type name="version" primitiveType="uint8"/>
  <type name="schemaId" primitiveType="uint32" offset="4"/>
  <type name="templateId" primitiveType="uint8"/>
  <type name="blockLength" primitiveType="uint32" offset="12"/>
  <type name="trailer" primitiveType="char" length="3"/>
</composite>
"""


@pytest.mark.parametrize("order", ["littleEndian", "bigEndian"])
def test_headers_with_more_members_in_any_order(order: str) -> None:
    header = EXTENDED + HEADER[HEADER.index('<composite name="groupSizeEncoding">') :]
    schema = rich(order, header)
    mark = schema.byte_order
    raw = bytearray(19)
    pack_into(mark + "B", raw, 2, 5)
    pack_into(mark + "I", raw, 4, 7)
    pack_into(mark + "B", raw, 8, 2)
    pack_into(mark + "I", raw, 12, 3)
    got = decode(schema, bytes(raw) + b"xyz!")
    assert got.header == MessageHeader(3, 2, 7, 5)
    assert (got.name, got.fields, got.leftover) == ("Empty", {}, 1)
    encoded = SbeMessageEncoder(schema, 5).encode("Everything", plain_values())
    assert encoded[:2] == b"\0\0"
    assert encoded[16:19] == b"\0\0\0"
    fields = decode(schema, encoded).fields
    assert fields is not None
    assert fields["price"] == Decimal("1.5")
