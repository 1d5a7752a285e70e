"""Schema files: what they may say, and each contradiction refused with its line and element."""

from pathlib import Path

import pytest

from pregao.codecs.sbe import load_builtin_schema, parse_schema
from pregao.codecs.sbe.declarations import EncodedType, EnumType, Presence, SetType
from pregao.model.errors import SchemaError
from tests.kits.sbe_schemas import HEADER, load, message, rich, schema_text
from tests.unit.codecs.sbe.contradictions import CONTRADICTIONS, ENUM, GROUP, field

REFERENCE = Path(__file__).parents[5] / "shared" / "reference" / "sbe"
PUBLISHED = sorted(REFERENCE.glob("b3-market-data-messages-*.xml"))


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused_with_line_and_element(name: str) -> None:
    types, body, words, element = CONTRADICTIONS[name]
    text = schema_text("\n" + types, f'<sbe:message name="M" id="1">{body}</sbe:message>')
    with pytest.raises(SchemaError) as caught:
        parse_schema(text, "wrong.xml")
    error = caught.value
    assert words in error.reason
    assert element in error.element
    culprit = text.decode().splitlines()[error.line - 1]
    assert error.file == "wrong.xml"
    assert element.strip("<>").split(" ")[-1].replace("'", '"') in culprit or element == "M"


def test_a_field_past_the_block_names_the_line_of_the_block() -> None:
    body = '<sbe:message name="M" id="1" blockLength="3"><field name="f" id="1" type="uint32"/></sbe:message>'
    words = r"wrong.xml:\d+: M: fields reach byte 4, past blockLength 3"
    with pytest.raises(SchemaError, match=words) as caught:
        parse_schema(schema_text("", body), "wrong.xml")
    assert "message name" in schema_text("", body).decode().splitlines()[caught.value.line - 1]


def test_a_group_field_past_its_block_is_refused() -> None:
    with pytest.raises(SchemaError, match="g: fields reach byte 1, past blockLength 0"):
        message(GROUP.replace("<group", '<group blockLength="0"'))


def test_a_contradiction_of_a_later_version_only_is_refused_at_once() -> None:
    late = field("f", "uint32") + field("g", "uint8", 'offset="2" sinceVersion="4"', 2)
    with pytest.raises(SchemaError, match="lies over"):
        message(late)


@pytest.mark.parametrize("attributes", ['id="7" name="N"', 'id="8" name="M"'])
def test_duplicate_messages_are_refused(attributes: str) -> None:
    both = f'<sbe:message id="7" name="M"/>\n<sbe:message {attributes}/>'
    with pytest.raises(SchemaError, match="duplicate"):
        load("", both)


@pytest.mark.parametrize("root", ['byteOrder="middle"', 'id="70000"', 'version="x"', 'headerType="nothing"'])
def test_a_wrong_root_is_refused(root: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load(root=root)
    assert caught.value.element == "<messageSchema>"


@pytest.mark.parametrize("words", ["1 two", "1" * 5000, "-1"])
def test_wrong_histories_are_refused(words: str) -> None:
    with pytest.raises(SchemaError):
        load(root=f'h:versions="{words}"')
    with pytest.raises(SchemaError):
        message("", attributes=f'h:blockLengths="{words}"')


def test_another_root_is_refused() -> None:
    with pytest.raises(SchemaError, match="must be messageSchema"):
        parse_schema(b"<schema/>")


@pytest.mark.parametrize("missing", ["blockLength", "templateId", "schemaId", "version"])
def test_a_header_without_its_members_is_refused(missing: str) -> None:
    with pytest.raises(SchemaError, match=f"no plain member '{missing}'"):
        load(header=HEADER.replace(f'name="{missing}"', 'name="other"', 1))


@pytest.mark.parametrize("kind", ["int16", "float", "double"])
def test_a_header_of_other_numbers_is_refused(kind: str) -> None:
    with pytest.raises(SchemaError, match="must be one unsigned integer"):
        load(header=HEADER.replace("uint16", kind, 1))


def _nested(depth: int) -> str:
    opening = "".join(f'<group name="g{n}" id="{n + 1}">' for n in range(depth))
    return opening + "</group>" * depth


def _multiplying_references() -> str:
    nothing = '<type name="a" primitiveType="uint8" presence="constant">1</type>'
    levels = [f'<composite name="c0">{nothing}</composite>']
    for level in range(1, 8):
        refs = "".join(f'<ref name="r{n}" type="c{level - 1}"/>' for n in range(50))
        levels.append(f'<composite name="c{level}">{refs}</composite>')
    return "".join(levels)


BOMBS = {
    "deep groups": ("", _nested(20)),
    "deep composites": ('<composite name="c">' * 20 + "</composite>" * 20, ""),
    "deep references": (
        "".join(f'<composite name="c{n}"><ref name="r" type="c{n + 1}"/></composite>' for n in range(3000)),
        "",
    ),
    "multiplying references": (_multiplying_references(), ""),
    "many versions": (
        "",
        "".join(
            field(f"f{n}", "uint8", f'sinceVersion="{n}" h:untilVersion="{n + 1}" offset="0"', n)
            for n in range(1, 9000)
        ),
    ),
    "many values in many fields": (
        '<enum name="E" encodingType="uint16">'
        + "".join(f'<validValue name="v{n}">{n}</validValue>' for n in range(20_000))
        + "</enum>",
        "".join(field(f"f{n}", "E", f'sinceVersion="{n % 99}"', n) for n in range(4000)),
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_files_that_would_grow_without_end_are_refused(name: str) -> None:
    types, body = BOMBS[name]
    with pytest.raises(SchemaError):
        message(body, types=types)


def test_a_large_plain_file_is_read() -> None:
    values = "".join(f'<validValue name="v{n}">{n}</validValue>' for n in range(20_000))
    fields = "".join(field(f"f{n}", "uint8", "", n) for n in range(5_000))
    schema = message(fields, types=f'<enum name="E" encodingType="uint16">{values}</enum>')
    assert schema.at(0).messages[1].block_length == 5_000


def test_the_root_is_read() -> None:
    schema = load(root='version="9" semanticVersion="1.2" byteOrder="bigEndian" h:versions="3 9"')
    assert (schema.package, schema.id, schema.version) == ("test", 7, 9)
    assert (schema.semantic_version, schema.byte_order) == ("1.2", ">")
    assert [version for version in range(12) if schema.knows(version)] == [3, 9]


def test_versions_up_to_the_files_own_are_known_without_a_history() -> None:
    schema = load()
    assert schema.knows(5)
    assert not schema.knows(6)


def test_types_are_read_in_any_order_and_may_have_the_name_of_a_primitive() -> None:
    types = ENUM.replace("uint8", "Later") + '<type name="Later" primitiveType="uint16"/>'
    schema = message(field("f", "uint8"), types=types + '<type name="uint8" primitiveType="int32"/>')
    enum = schema.types["E"]
    assert isinstance(enum, EnumType)
    assert enum.size == 2
    assert schema.at(0).messages[1].fields[0].primitive.name == "int32"


@pytest.mark.parametrize(
    ("text", "value"), [("A", 65), ("0", 48), (" ", 32), ("\n  A\n", 65), ("0x41", 65), ("065", 65)]
)
def test_char_values_are_characters_or_numbers(text: str, value: int) -> None:
    types = f'<enum name="E" encodingType="char"><validValue name="V">{text}</validValue></enum>'
    enum = load(types).types["E"]
    assert isinstance(enum, EnumType)
    assert enum.values[0].value == value


def test_deprecated_and_semantic_types_are_kept() -> None:
    types = '<type name="T" primitiveType="uint8" semanticType="Qty"/>'
    body = field("a", "T", 'deprecated="3"') + field("b", "T", 'semanticType="Price"', 2)
    layout = message(body, types=types, attributes='deprecated="4"').at(0).messages[1]
    assert layout.deprecated == 4
    assert [(f.deprecated, f.semantic_type) for f in layout.fields] == [(3, "Qty"), (None, "Price")]


def test_values_and_choices_have_versions() -> None:
    marks = rich().types["Marks"]
    assert isinstance(marks, SetType)
    assert {value.name: value.span.since for value in marks.values} == {"FIRST": 0, "LAST": 0, "IMPLIED": 5}
    assert marks.encoding.presence is Presence.REQUIRED


def test_our_own_schema_loads() -> None:
    assert load_builtin_schema().id == 2


@pytest.mark.skipif(not PUBLISHED, reason="B3's files are not beside this checkout")
@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_files_load(path: Path) -> None:
    schema = parse_schema(path.read_bytes(), path.name)
    assert schema.id == 2
    assert len(schema.messages) >= 28


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="B3's files are not beside this checkout")
def test_all_seven_published_files_are_here() -> None:
    versions = [parse_schema(path.read_bytes(), path.name).version for path in PUBLISHED]
    assert sorted(versions) == [7, 8, 9, 10, 15, 16, 17]


def test_the_null_of_a_char_is_the_number_zero_not_the_digit() -> None:
    kinds = '<type name="CharNull" primitiveType="char" presence="optional" nullValue="0"/>'
    text = f"""<messageSchema package="p" id="1" version="0"><types>
        <composite name="messageHeader"><type name="blockLength" primitiveType="uint16"/>
        <type name="templateId" primitiveType="uint16"/><type name="schemaId" primitiveType="uint16"/>
        <type name="version" primitiveType="uint16"/></composite>{kinds}</types></messageSchema>"""
    kind = parse_schema(text.encode()).types["CharNull"]
    assert isinstance(kind, EncodedType)
    assert kind.null_value == 0
