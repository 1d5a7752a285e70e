"""Small schema files for the tests, and how to make a wrong one of them."""

from decimal import Decimal
from typing import Any

from pregao.codecs.sbe import Schema, parse_schema

HEADER = """
<composite name="messageHeader">
  <type name="blockLength" primitiveType="uint16"/>
  <type name="templateId" primitiveType="uint16"/>
  <type name="schemaId" primitiveType="uint16"/>
  <type name="version" primitiveType="uint16"/>
</composite>
<composite name="groupSizeEncoding">
  <type name="blockLength" primitiveType="uint16"/>
  <type name="numInGroup" primitiveType="uint8"/>
</composite>
<composite name="varText">
  <type name="length" primitiveType="uint8" maxValue="200"/>
  <type name="varData" primitiveType="char" length="0" characterEncoding="UTF-8"/>
</composite>
<composite name="varBytes">
  <type name="length" primitiveType="uint16"/>
  <type name="varData" primitiveType="uint8" length="0"/>
</composite>
"""


def schema_text(types: str = "", messages: str = "", *, root: str = "", header: str = HEADER) -> bytes:
    """A whole file around some types and messages. `root` holds more attributes of the root."""
    attributes = {"id": 'id="7"', "version": 'version="5"'}
    more = " ".join(text for name, text in attributes.items() if f" {name}=" not in f" {root}")
    return (
        f'<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:h="urn:pregao:sbe-history"'
        f' package="test" {more} {root}>\n<types>{header}{types}</types>\n{messages}\n</sbe:messageSchema>'
    ).encode()


def load(types: str = "", messages: str = "", *, root: str = "", header: str = HEADER) -> Schema:
    return parse_schema(schema_text(types, messages, root=root, header=header), "test.xml")


def message(body: str, *, types: str = "", root: str = "", attributes: str = "") -> Schema:
    """A schema of one message called M with id 1."""
    return load(types, f'<sbe:message name="M" id="1" {attributes}>{body}</sbe:message>', root=root)


RICH_TYPES = """
<type name="Text8" primitiveType="char" length="8" characterEncoding="ISO-8859-1"/>
<type name="Wide" primitiveType="char" length="12" characterEncoding="UTF-8"/>
<type name="Letter" primitiveType="char"/>
<type name="Dash" primitiveType="char" presence="optional" nullValue="-"/>
<type name="ZeroNull" primitiveType="uint32" presence="optional" nullValue="0"/>
<type name="OptionalInt64" primitiveType="int64" presence="optional"/>
<type name="Triple" primitiveType="int16" length="3"/>
<type name="OptionalPair" primitiveType="float" length="2" presence="optional"/>
<type name="OptionalFloat" primitiveType="float" presence="optional"/>
<type name="ByteNull" primitiveType="uint8" presence="optional" nullValue="0"/>
<type name="Flag8" primitiveType="uint8" presence="optional"/>
<enum name="Side" encodingType="char">
  <validValue name="BUY">1</validValue><validValue name="SELL">2</validValue>
  <validValue name="BLANK"> </validValue>
</enum>
<enum name="Status" encodingType="uint8">
  <validValue name="OPEN">17</validValue>
  <validValue name="LATE" sinceVersion="5">18</validValue>
</enum>
<enum name="Coded" encodingType="ByteNull"><validValue name="ONE">1</validValue></enum>
<enum name="TimeUnit" encodingType="uint8">
  <validValue name="second">0</validValue><validValue name="millisecond">3</validValue>
  <validValue name="microsecond">6</validValue><validValue name="nanosecond">9</validValue>
</enum>
<set name="Marks" encodingType="uint16">
  <choice name="FIRST">0</choice><choice name="LAST">15</choice>
  <choice name="IMPLIED" sinceVersion="5">4</choice>
</set>
<set name="OptionalMarks" encodingType="Flag8"><choice name="A">0</choice></set>
<composite name="Price">
  <type name="mantissa" primitiveType="int64" presence="optional"/>
  <type name="exponent" primitiveType="int8" presence="constant">-4</type>
</composite>
<composite name="Tens">
  <type name="mantissa" primitiveType="int32"/>
  <type name="exponent" primitiveType="int8" presence="constant">1</type>
</composite>
<composite name="Floating">
  <type name="mantissa" primitiveType="int64" presence="optional"/>
  <type name="exponent" primitiveType="int8"/>
</composite>
<composite name="Micros">
  <type name="time" primitiveType="uint64" presence="optional" nullValue="0"/>
  <type name="unit" primitiveType="uint8" presence="constant" valueRef="TimeUnit.microsecond"/>
</composite>
<composite name="Engine">
  <type name="capacity" primitiveType="uint16"/>
  <type name="code" primitiveType="char" length="3" offset="4"/>
  <ref name="side" type="Side"/>
  <set name="extras" encodingType="uint8"><choice name="TURBO">1</choice></set>
  <composite name="inner">
    <ref name="price" type="Price" offset="2"/>
    <type name="axles" primitiveType="uint8" presence="optional"/>
  </composite>
</composite>
<composite name="wideDimension">
  <type name="numInGroup" primitiveType="uint32" offset="2"/>
  <type name="blockLength" primitiveType="uint8" offset="7"/>
</composite>
"""

RICH_MESSAGES = """
<sbe:message name="Everything" id="1" blockLength="160">
  <field name="kind" id="100" type="Side" presence="constant" valueRef="Side.SELL"/>
  <field name="u8" id="1" type="uint8"/>
  <field name="i8" id="2" type="int8"/>
  <field name="u16" id="3" type="uint16" presence="optional"/>
  <field name="i16" id="4" type="int16"/>
  <field name="u32" id="5" type="ZeroNull" offset="8"/>
  <field name="i32" id="6" type="int32"/>
  <field name="u64" id="7" type="uint64"/>
  <field name="i64" id="8" type="OptionalInt64"/>
  <field name="f32" id="9" type="OptionalFloat"/>
  <field name="f64" id="10" type="double"/>
  <field name="text" id="11" type="Text8"/>
  <field name="wide" id="12" type="Wide"/>
  <field name="letter" id="13" type="Letter"/>
  <field name="dash" id="14" type="Dash"/>
  <field name="triple" id="15" type="Triple"/>
  <field name="pair" id="16" type="OptionalPair"/>
  <field name="side" id="17" type="Side"/>
  <field name="status" id="18" type="Status" presence="optional"/>
  <field name="coded" id="19" type="Coded"/>
  <field name="marks" id="20" type="Marks"/>
  <field name="maybeMarks" id="21" type="OptionalMarks"/>
  <field name="price" id="22" type="Price"/>
  <field name="tens" id="23" type="Tens" presence="optional"/>
  <field name="floating" id="24" type="Floating"/>
  <field name="micros" id="25" type="Micros"/>
  <field name="engine" id="26" type="Engine"/>
  <field name="late" id="27" type="uint8" sinceVersion="5" offset="158"/>
  <group name="legs" id="40" dimensionType="wideDimension" blockLength="12">
    <field name="legPrice" id="41" type="Price"/>
    <field name="legSide" id="42" type="Side"/>
    <group name="fills" id="43">
      <field name="quantity" id="44" type="uint32"/>
      <data name="note" id="45" type="varText"/>
    </group>
    <data name="blob" id="46" type="varBytes"/>
  </group>
  <group name="flags" id="47"><field name="flag" id="48" type="Marks"/></group>
  <group name="later" id="49" sinceVersion="5"><field name="x" id="50" type="uint8"/></group>
  <data name="comment" id="60" type="varText"/>
  <data name="raw" id="61" type="varBytes" sinceVersion="5"/>
</sbe:message>
<sbe:message name="Empty" id="2"/>
"""


def rich(byte_order: str = "littleEndian", header: str = HEADER) -> Schema:
    """Every kind of value, both kinds of null, nested groups and var data."""
    return load(RICH_TYPES, RICH_MESSAGES, root=f'byteOrder="{byte_order}"', header=header)


def plain_values() -> dict[str, Any]:
    """A value for everything in the rich message that cannot be null, and for some that can."""
    return {
        "u8": 1,
        "i8": -1,
        "i16": -2,
        "i32": 3,
        "u64": 4,
        "i64": 5,
        "f64": 0.25,
        "text": "text",
        "triple": (1, 2, 3),
        "status": "OPEN",
        "marks": ("FIRST",),
        "maybeMarks": ("A", 7),
        "price": Decimal("1.5"),
        "floating": Decimal("2.50"),
        "micros": 3000,
        "engine": {"capacity": 9, "extras": ()},
        "late": 8,
        "legs": [
            {"legPrice": Decimal(7), "fills": [{"quantity": 1, "note": "n"}, {"quantity": 2}], "blob": b"b"},
            {"legSide": "SELL"},
        ],
        "flags": [{"flag": ()}],
        "later": [{"x": 1}],
        "comment": "Olá",
        "raw": b"\0\1",
    }
