"""Laws: what is encoded is read back; bytes decode or raise our error; so do schema files."""

from contextlib import suppress
from decimal import Decimal
from functools import cache
from struct import pack
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.sbe import SbeMessageDecoder, SbeMessageEncoder, Schema, load_builtin_schema, parse_schema
from pregao.codecs.sbe.declarations import DataDeclaration
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, ValueKind
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader, frame
from pregao.model.errors import DecodeError, SchemaError
from tests.kits.sbe_schemas import RICH_MESSAGES, RICH_TYPES, plain_values, rich, schema_text

ORDERS = st.sampled_from(["littleEndian", "bigEndian"])
VERSIONS = st.sampled_from([0, 4, 5, 9])


@cache
def schema_of(order: str) -> Schema:
    return rich(order)


def _number(field: FieldLayout) -> st.SearchStrategy[Any]:
    low, high = int(field.primitive.minimum), int(field.primitive.maximum)
    return st.integers(low, high).filter(lambda raw: raw != field.null)


def _float(field: FieldLayout) -> st.SearchStrategy[float]:
    return st.floats(width=32 if field.primitive.size == 4 else 64, allow_nan=False)


def _text(field: FieldLayout) -> st.SearchStrategy[str]:
    codec = {"iso8859-1": "latin-1", "utf-8": "utf-8"}.get(field.encoding, "ascii")
    letters = st.characters(codec=codec, exclude_characters="\0-")  # "-" is the null of one of them
    return st.text(letters, min_size=1, max_size=field.size).filter(
        lambda text: len(text.encode(field.encoding)) <= field.size
    )


def _set(field: FieldLayout) -> st.SearchStrategy[tuple[Any, ...]]:
    """Names in the order of their bits, then the bits without a name: as the decoder gives them."""

    def chosen(raw: int) -> tuple[Any, ...]:
        bits = [bit for bit in range(8 * field.size) if raw >> bit & 1]
        names = [field.names[bit] for bit in bits if bit in field.names]
        return (*names, *(bit for bit in bits if bit not in field.names))

    return _number(field).map(chosen)


def _scaled(field: FieldLayout) -> st.SearchStrategy[Decimal]:
    mantissa, exponent = field.members
    return st.builds(lambda m, e: Decimal(m).scaleb(e), _number(mantissa), _number(exponent))


def value_of(field: FieldLayout) -> st.SearchStrategy[Any]:
    """What a decoder can give for a field of this version."""
    if not field.present:
        return st.none()
    made: dict[ValueKind, Any] = {
        ValueKind.INTEGER: lambda: _number(field),
        ValueKind.FLOAT: lambda: _float(field),
        ValueKind.STRING: lambda: _text(field),
        ValueKind.DECIMAL: lambda: _number(field).map(lambda m: Decimal(m).scaleb(field.exponent)),
        ValueKind.TIME: lambda: _number(field).map(lambda units: units * field.nanoseconds),
        ValueKind.ENUM: lambda: _number(field).map(lambda raw: field.names.get(raw, raw)),
        ValueKind.SET: lambda: _set(field),
        ValueKind.ARRAY: lambda: st.tuples(
            *[_float(field) if field.primitive.is_float else _number(field)] * field.count
        ),
        ValueKind.SCALED: lambda: _scaled(field),
        ValueKind.COMPOSITE: lambda: st.fixed_dictionaries({m.name: value_of(m) for m in field.members}),
    }
    can_be_null = field.null is not None or field.kind is ValueKind.STRING
    can_be_null = can_be_null or (field.kind is ValueKind.SCALED and field.members[0].null is not None)
    value: st.SearchStrategy[Any] = made[field.kind]()
    return st.none() | value if can_be_null else value


def data_of(data: DataDeclaration) -> st.SearchStrategy[Any]:
    if data.encoding is None:
        return st.none() | st.binary(min_size=1, max_size=300)
    return st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=50)


def values_of(layout: BlockLayout) -> st.SearchStrategy[dict[str, Any]]:
    groups = {g.name: st.lists(values_of(g), max_size=3) if g.present else st.just([]) for g in layout.groups}
    return st.fixed_dictionaries(
        {f.name: value_of(f) for f in layout.fields}
        | groups
        | {d.name: data_of(d) for d in layout.data}
        | {name: st.none() for name in layout.absent_data}
    )


@given(st.data(), ORDERS, VERSIONS)
@settings(max_examples=150, deadline=None)
def test_what_is_encoded_is_read_back(data: st.DataObject, order: str, version: int) -> None:
    schema = schema_of(order)
    values = data.draw(values_of(schema.at(version).messages[1]))
    message = SbeMessageDecoder(schema).decode(
        SbeMessageEncoder(schema, version).encode("Everything", values)
    )
    assert message.fields == values
    assert message.leftover == 0


@given(st.data(), st.sampled_from([7, 8, 9, 10, 15, 16, 17]))
@settings(max_examples=100, deadline=None)
def test_what_is_encoded_with_our_schema_is_read_back(data: st.DataObject, version: int) -> None:
    schema = load_builtin_schema()
    layouts = sorted(schema.at(version).messages.values(), key=lambda layout: layout.id)
    layout = data.draw(st.sampled_from(layouts))
    values = data.draw(values_of(layout))
    message = SbeMessageDecoder(schema).decode(SbeMessageEncoder(schema, version).encode(layout.id, values))
    assert message.fields == values
    assert message.leftover == 0


@given(st.binary(max_size=400), ORDERS, VERSIONS, st.integers(0, 200))
@settings(max_examples=300, deadline=None)
def test_any_body_decodes_or_raises(body: bytes, order: str, version: int, block_length: int) -> None:
    schema = schema_of(order)
    raw = pack(schema.byte_order + "4H", block_length, 1, 7, version) + body
    for buffer in (raw, body):
        place = 0
        try:
            SbeMessageDecoder(schema).decode(buffer)
        except DecodeError as error:
            place = error.offset
        assert 0 <= place <= len(buffer)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_any_packet_gives_messages_and_damage(data: st.DataObject) -> None:
    schema = schema_of("littleEndian")
    sound = SbeMessageEncoder(schema, 5).encode(1, plain_values())
    payload = bytearray(PacketHeader(1, 2, 3, 4).encode() + frame(sound) + frame(sound))
    for _ in range(data.draw(st.integers(0, 6))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    payload = payload[: data.draw(st.integers(0, len(payload)))] + data.draw(st.binary(max_size=20))
    try:
        packet = PacketDecoder(schema).decode(bytes(payload))
    except DecodeError:
        assert len(payload) < PacketHeader.SIZE
        return
    assert packet.messages or packet.damage
    places = [m.offset for m in packet.messages] + [d.offset for d in packet.damage]
    assert all(PacketHeader.SIZE <= place <= len(payload) for place in places)


SOURCE = schema_text(RICH_TYPES, RICH_MESSAGES).decode()
WORDS = ["", "0", "-1", "1", "255", "65536", "999999999999", "char", "uint8", "float", "Engine", "Price"]
WORDS += ["constant", "optional", "required", "messageHeader", "varText", "Side", "Side.BUY", "ref", "group"]
WORDS += ["<", "&", '"']


def header_of(schema: Schema, layout: BlockLayout) -> bytes:
    """The header of a message of any schema, whatever its shape."""
    header = bytearray(schema.header.size)
    order: Literal["little", "big"] = "little" if schema.byte_order == "<" else "big"
    numbers = (min(layout.block_length, 160), layout.id, schema.id, 5)
    for (offset, primitive), number in zip(schema.header.members(), numbers, strict=True):
        value = min(number, int(primitive.maximum))
        header[offset : offset + primitive.size] = value.to_bytes(primitive.size, order)
    return bytes(header)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_change_of_a_schema_loads_or_is_refused(data: st.DataObject) -> None:
    """Attribute values and words are swapped: most files stay well-formed and go deep."""
    pieces = SOURCE.split('"')
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(pieces) - 1))
        other = st.sampled_from(WORDS) | st.sampled_from(pieces) | st.text(max_size=5)
        pieces[place] = data.draw(other)
    try:
        schema = parse_schema('"'.join(pieces).encode("utf-8", "replace"))
    except SchemaError:
        return
    decoder = SbeMessageDecoder(schema)
    body = data.draw(st.binary(min_size=200, max_size=300))
    for layout in schema.at(5).messages.values():
        with suppress(DecodeError):
            decoder.decode(header_of(schema, layout) + body)
